//! Loads the model for a timing benchmark, and creates prompts of exact length for it.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::json;

use super::Figures;
use crate::base::Cancel;
use crate::budget::permit::Priority;
use crate::config::FlashAttention;
use crate::engine::llama::devices;
use crate::engine::pool::Pool;
use crate::engine::slot::Reuse;
use crate::engine::{Engine, Piece, Request, Tally, Token};
use crate::measure::complete;
use crate::models::ModelSpec;
use crate::models::dialect::Prompt;

#[derive(Clone, Debug)]
pub struct Setting {
    pub file: PathBuf,
    pub context: u32,
    pub slots: usize,
    pub kv_type: String,
    pub flash: FlashAttention,
}

pub struct Subject {
    /// The measurements so far.
    pub figures: Figures,
    pub spec: ModelSpec,
    pub engine: Engine,
}

impl Subject {
    pub async fn load(pool: &Pool, setting: &Setting, threads: usize, cancel: &Cancel) -> Result<Subject> {
        let spec = complete::model(&setting.file, setting.slots, setting.context, &setting.kv_type)?;
        let from = Instant::now();
        let loaded = complete::load(pool, &spec, cancel).await?;
        let engine = loaded.engine.clone();
        let (load_ms, device, kv_type) = (from.elapsed().as_millis() as u64, device(), &setting.kv_type);
        let (header, limits) = (&spec.header, engine.limits());
        let rung = loaded.rung.clone().unwrap_or_else(|| "as asked".to_owned());
        let (model, quantisation) = (&header.name, header.quantisation());
        let (slots, context) = (limits.sequences, limits.context);
        // Written by `synth`: its text is noise, but its time and memory are those of the real
        // model.
        let is_random = model.contains("random weights");
        let random = if is_random { ", RANDOM WEIGHTS: times are real, words are not" } else { "" };
        let heading = format!(
            "{model} {quantisation}{random}\n  {device}, {threads} threads; {slots} × {context} tokens, KV {kv_type}; \
             rung: {rung}; loaded in {load_ms} ms"
        );
        let json = json!({
            "file": setting.file, "model": model, "quantisation": quantisation, "random_weights": is_random, "device": device,
            "threads": threads, "context": context, "slots": slots, "kv_type": kv_type, "rung": rung, "load_ms": load_ms,
        });
        let json = json.as_object().cloned().unwrap_or_default();
        let figures = Figures { heading, json, lines: Vec::new() };
        Ok(Subject { figures, spec, engine })
    }

    /// A prompt of exactly `length` tokens; prompts with different seeds differ from the second
    /// word on.
    pub fn prompt(&self, seed: usize, length: usize) -> Result<Vec<Token>> {
        let words = format!(
            "Report {seed}. {}",
            "The box on the left is blue and the lamp behind it is green. ".repeat(length / 8 + 2)
        );
        let mut tokens = self.engine.tokenize(&Prompt::default().text(words));
        if tokens.len() < length {
            bail!("{}: a prompt of {length} tokens could not be created", self.spec.path.display());
        }
        tokens.truncate(length);
        Ok(tokens)
    }
}

/// One generation, with times measured from the request.
#[derive(Clone, Debug)]
pub struct Run {
    pub first_token: Duration,
    pub whole: Duration,
    pub tally: Tally,
    pub tokens: Vec<Token>,
}

/// Runs `prompt` and generates exactly `tokens` tokens, even if the model would stop earlier.
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
    bail!("the generation ended without an end event; this is a bug in the engine")
}

fn device() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let gpu = devices::accelerator().map(|gpu| format!("{}, ", gpu.kind)).unwrap_or_default();
    format!("{gpu}CPU {} with {cores} cores", std::env::consts::ARCH)
}
