//! Runs raw prompts through one model, for `monobloc complete`.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};

use super::jsonl;
use crate::base::Cancel;
use crate::budget::permit::Priority;
use crate::config::{SamplingWish, Think};
use crate::engine::pool::{Leased, Pool};
use crate::engine::{Engine, Finish, Request, Sampling};
use crate::models::dialect::Prompt;
use crate::models::projector::Beside;
use crate::models::{ModelSpec, Role, gguf};

#[derive(Clone, Debug)]
pub struct Options {
    pub slots: usize,
    pub max_tokens: usize,
    pub ignore_end: bool,
    /// See [`Request::lookup`].
    pub lookup: bool,
    pub sampling: Sampling,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Line {
    pub id: serde_json::Value,
    pub prompt: String,
    /// Whether names of control tokens in the prompt, such as `<|im_start|>`, become these tokens
    /// or stay text.
    #[serde(default)]
    pub special: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct Completed {
    pub id: serde_json::Value,
    pub tokens: Vec<i32>,
    pub text: String,
    pub prompt_tokens: usize,
    pub cached_tokens: usize,
    /// Generated tokens that `--lookup` guessed correctly.
    pub guessed_tokens: usize,
    pub prompt_ms: u64,
    pub decode_ms: u64,
    /// Mean entropy, in nats, of the distributions from which the tokens were drawn; absent without
    /// tokens.
    pub entropy: Option<f32>,
    /// `end`, `max-tokens`, `context-full` or `repetition`.
    pub finish: Finish,
}

pub fn read(file: &Path) -> Result<Vec<Line>> {
    jsonl::read(file, r#"{"id", "prompt"}"#)
}

/// Describes the model in `file`, with `slots` slots of `context` tokens each. Fails if its header
/// is unreadable.
pub fn model(file: &Path, slots: usize, context: u32, kv_type: &str) -> Result<ModelSpec> {
    Ok(ModelSpec {
        role: Role::Planner,
        header: Arc::new(gguf::inspect(file)?),
        path: file.to_owned(),
        dialect: "auto".to_owned(),
        context,
        slots,
        kv_type: kv_type.to_owned(),
        gpu_layers: None,
        keep_alive: std::time::Duration::ZERO,
        pinned: false,
        capable: None,
        tier: None,
        think: Think::default(),
        sampling: SamplingWish::default(),
        lora: Vec::new(),
        sha256: None,
        beside: Beside::default(),
    })
}

/// Runs every prompt, at most `slots` at once, and calls `done` with each result as it finishes.
pub async fn run(
    pool: &Pool,
    spec: &ModelSpec,
    prompts: Vec<Line>,
    options: &Options,
    cancel: &Cancel,
    done: &mut dyn FnMut(Completed),
) -> Result<()> {
    let engine = load(pool, spec, cancel).await?.engine.clone();
    let mut running = tokio::task::JoinSet::new();
    let mut prompts = prompts.into_iter();
    loop {
        while running.len() < options.slots
            && let Some(line) = prompts.next()
        {
            running.spawn(one(engine.clone(), line, options.clone()));
        }
        let finished = tokio::select! {
            finished = running.join_next() => finished,
            () = cancel.cancelled() => bail!("cancelled"),
        };
        match finished {
            Some(completed) => done(completed??),
            None => return Ok(()),
        }
    }
}

pub async fn load(pool: &Pool, spec: &ModelSpec, cancel: &Cancel) -> Result<Leased> {
    let (pool, spec, cancel) = (pool.clone(), spec.clone(), cancel.clone());
    let loaded = tokio::task::spawn_blocking(move || pool.open_alone(&spec, move |_, _| !cancel.is_cancelled()));
    Ok(loaded.await??)
}

async fn one(engine: Engine, line: Line, options: Options) -> Result<Completed> {
    let prompt = Prompt::default();
    let prompt = if line.special { prompt.special(line.prompt) } else { prompt.text(line.prompt) };
    let prompt = engine.tokenize(&prompt);
    let request = Request {
        priority: Priority::User,
        ignore_end: options.ignore_end,
        lookup: options.lookup,
        sampling: options.sampling,
        ..Request::new(prompt, options.max_tokens)
    };
    let output = engine
        .generate(request)
        .with_context(|| format!("prompt {}", line.id))?
        .collect()
        .await
        .with_context(|| format!("prompt {}", line.id))?;
    Ok(Completed {
        id: line.id,
        tokens: output.tokens.iter().map(|token| token.0).collect(),
        text: output.text,
        prompt_tokens: output.tally.prompt_tokens,
        cached_tokens: output.tally.cached_tokens,
        guessed_tokens: output.tally.guessed_tokens,
        prompt_ms: output.tally.prompt_ms,
        decode_ms: output.tally.decode_ms,
        entropy: output.entropy,
        finish: output.finish,
    })
}
