//! Loads the model that a benchmark of time measures, and makes prompts of exact length for it.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde::Serialize;

use crate::base::Cancel;
use crate::budget::permit::Priority;
use crate::engine::llama::devices;
use crate::engine::pool::Pool;
use crate::engine::slot::Reuse;
use crate::engine::{Engine, Piece, Request, Tally, Token};
use crate::measure::complete;
use crate::models::ModelSpec;
use crate::models::dialect::Prompt;
use crate::models::gguf::Header;

/// The model to measure, and how it is loaded.
#[derive(Clone, Debug)]
pub struct Setting {
    pub file: PathBuf,
    pub context: u32,
    pub slots: usize,
    pub kv_type: String,
}

/// What was measured, as every table shows it.
#[derive(Clone, Debug, Serialize)]
pub struct About {
    pub file: PathBuf,
    pub model: String,
    pub quantisation: &'static str,
    /// Written by `synth`: its text is noise; time and memory are those of the real model.
    pub random_weights: bool,
    pub device: String,
    pub threads: usize,
    pub context: u32,
    pub slots: usize,
    pub kv_type: String,
    /// What was given up to fit into memory, or `as asked`.
    pub rung: String,
}

/// A loaded model.
pub struct Subject {
    pub about: About,
    pub spec: ModelSpec,
    pub engine: Engine,
    pub load_ms: u64,
}

impl Subject {
    pub async fn load(pool: &Pool, setting: &Setting, threads: usize, cancel: &Cancel) -> Result<Subject> {
        let spec = complete::model(&setting.file, setting.slots, setting.context, &setting.kv_type)?;
        let from = Instant::now();
        let model = complete::load(pool, &spec, cancel).await?;
        let engine = model.engine.clone();
        let load_ms = from.elapsed().as_millis() as u64;
        let about = About {
            file: setting.file.clone(),
            model: spec.header.name.clone(),
            quantisation: spec.header.quantisation(),
            random_weights: is_random(&spec.header),
            device: device(),
            threads,
            context: engine.limits().context as u32,
            slots: engine.limits().sequences,
            kv_type: setting.kv_type.clone(),
            rung: model.rung.clone().unwrap_or_else(|| "as asked".to_owned()),
        };
        Ok(Subject { about, spec, engine, load_ms })
    }

    /// A prompt of exactly `length` tokens; prompts of different seeds differ from the second word on.
    pub fn prompt(&self, seed: usize, length: usize) -> Result<Vec<Token>> {
        let words = format!(
            "Report {seed}. {}",
            "The box on the left is blue and the lamp behind it is green. ".repeat(length / 8 + 2)
        );
        let mut tokens = self.engine.tokenize(&Prompt::default().text(words));
        if tokens.len() < length {
            bail!("{}: a prompt of {length} tokens could not be made", self.about.file.display());
        }
        tokens.truncate(length);
        Ok(tokens)
    }
}

/// One generation, with times from the request on.
#[derive(Clone, Debug)]
pub struct Run {
    pub first_token: Duration,
    pub whole: Duration,
    pub tally: Tally,
    pub tokens: Vec<Token>,
}

/// Runs `prompt` and generates exactly `tokens` tokens, even if the model would end earlier.
pub async fn run(engine: &Engine, prompt: Vec<Token>, tokens: usize, priority: Priority, reuse: Reuse) -> Result<Run> {
    let request = Request { ignore_end: true, priority, reuse, ..Request::new(prompt, tokens) };
    let from = Instant::now();
    let mut generation = engine.generate(request)?;
    let mut first_token = None;
    while let Some(piece) = generation.next().await? {
        if first_token.is_none() && !generation.tokens().is_empty() {
            first_token = Some(from.elapsed());
        }
        if let Piece::Finished { tally, .. } = piece {
            let whole = from.elapsed();
            let tokens = generation.tokens().to_vec();
            return Ok(Run { first_token: first_token.unwrap_or(whole), whole, tally, tokens });
        }
    }
    bail!("the generation ended without saying so; this is a bug in the engine")
}

/// Whether the weights are random: `synth` writes that into the model's name.
fn is_random(header: &Header) -> bool {
    header.name.contains("random weights")
}

fn device() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let gpu = devices::accelerator().map(|gpu| format!("{}, ", gpu.kind)).unwrap_or_default();
    format!("{gpu}CPU {} with {cores} cores", std::env::consts::ARCH)
}
