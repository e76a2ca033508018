//! `monobloc complete`: runs raw prompts through one model.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, value_parser};

use crate::app::App;
use crate::config::SamplingWish;
use crate::measure::{Dry, Sampling, SamplingError, complete};
use crate::models::manifest::KV_TYPES;
use crate::models::{ModelSpec, Role};

/// Complete raw prompts, without a chat template, for benchmarks and checks
#[derive(Args)]
pub struct Complete {
    /// File of prompts, with one JSON object per line: {"id", "prompt"}
    #[arg(long, value_name = "FILE")]
    prompts: PathBuf,
    /// Number of prompts to run at the same time; 1 keeps their order
    #[arg(long, default_value_t = 1, value_parser = value_parser!(u8).range(1..=16))]
    slots: u8,
    /// Number of tokens to generate for each prompt
    #[arg(long, default_value_t = 64)]
    max_tokens: usize,
    /// A GGUF file [default: the planner]
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// Tokens per slot
    #[arg(long, default_value_t = 4096)]
    context: u32,
    /// KV cache type [default: the model's type in models.toml, else f16, or q8_0 in a build for an
    /// accelerator]
    #[arg(long, value_parser = KV_TYPES)]
    kv_type: Option<String>,
    /// Continue after end-of-text tokens until all tokens are generated
    #[arg(long)]
    ignore_eos: bool,
    /// Guess tokens from the text so far and verify several per call: faster if the answer repeats
    /// parts of its prompt
    #[arg(long)]
    lookup: bool,
    #[command(flatten)]
    sampling: SamplingFlags,
    /// Print one JSON object per prompt, as each finishes
    #[arg(long)]
    json: bool,
}

impl Complete {
    pub async fn run(self, app: &App) -> Result<()> {
        let prompts = complete::read(&self.prompts)?;
        let slots = usize::from(self.slots);
        let kv_type = |file: &Path| app.kv_type(self.kv_type.as_deref(), file);
        let spec = match &self.model {
            Some(file) => complete::model(file, slots, self.context, &kv_type(file)?)?,
            None => {
                let planner = app.registry()?.get(Role::Planner)?.clone();
                ModelSpec { slots, context: self.context, kv_type: kv_type(&planner.path)?, ..planner }
            }
        };
        let options = complete::Options {
            slots,
            max_tokens: self.max_tokens,
            ignore_end: self.ignore_eos,
            lookup: self.lookup,
            sampling: self.sampling.read(app.config.sampling)?,
        };
        let pool = app.empty_pool();
        let json = self.json;
        complete::run(&pool, &spec, prompts, &options, &app.cancel, &mut |line| {
            if json {
                putln!("{}", serde_json::json!(line));
            } else {
                say!("{}: {}", line.id.as_str().unwrap_or(&line.id.to_string()), line.text);
            }
        })
        .await
    }
}

/// The options only for raw prompts; the rest are settings.
#[derive(Args)]
#[command(next_help_heading = "Sampling")]
struct SamplingFlags {
    /// Strength of the DRY penalty for continuing a repetition, for example 0.8; 0 turns it off
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    dry_multiplier: f32,
    /// Adapt to the model's certainty: take the most likely token at low entropy, double the temperature at high entropy
    #[arg(long)]
    adaptive: bool,
}

impl SamplingFlags {
    /// Greedy except for the user's values: a raw prompt is not a chat, so the maker's values do
    /// not apply.
    fn read(self, wish: SamplingWish) -> Result<Sampling, SamplingError> {
        let dry = (self.dry_multiplier != 0.0).then(|| Dry::new(self.dry_multiplier));
        Sampling { dry, adaptive: self.adaptive, ..Sampling::greedy().wished(wish) }.checked()
    }
}
