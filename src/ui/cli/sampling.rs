//! The command-line flags for sampling.

use clap::Args;

use crate::measure::{Dry, Sampling, SamplingError};

/// All are off or neutral by default except the truncations, which have llama.cpp's defaults and matter only to draws.
#[derive(Args)]
#[command(next_help_heading = "Sampling")]
pub struct SamplingFlags {
    /// Temperature of the draw; 0 always takes the likeliest token
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    temperature: f32,
    /// Draw from this many of the likeliest tokens; 0 for all
    #[arg(long, default_value_t = 40)]
    top_k: usize,
    /// Draw from the fewest likeliest tokens whose probabilities reach this sum; 1 for all
    #[arg(long, default_value_t = 0.95, allow_negative_numbers = true)]
    top_p: f32,
    /// Draw from tokens at least this share as likely as the likeliest; 0 for all
    #[arg(long, default_value_t = 0.05, allow_negative_numbers = true)]
    min_p: f32,
    /// Penalty on the last 64 generated tokens, which divides their logits; 1 is off
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    repetition_penalty: f32,
    /// Strength of the DRY penalty on continuing a repetition, for example 0.8; 0 is off
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    dry_multiplier: f32,
    /// Adapt to the model's certainty: take the likeliest token at low entropy, double the temperature at high entropy
    #[arg(long)]
    adaptive: bool,
    /// Seed of the draws, which makes them repeatable
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

impl SamplingFlags {
    pub fn read(self) -> Result<Sampling, SamplingError> {
        Sampling {
            temperature: self.temperature,
            top_k: self.top_k,
            top_p: self.top_p,
            min_p: self.min_p,
            repetition_penalty: self.repetition_penalty,
            dry: (self.dry_multiplier != 0.0).then(|| Dry::new(self.dry_multiplier)),
            adaptive: self.adaptive,
            seed: self.seed,
            ..Sampling::greedy()
        }
        .checked()
    }
}
