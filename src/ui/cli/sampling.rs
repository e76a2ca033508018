//! The flags that say how tokens are chosen.

use clap::Args;

use crate::measure::{Dry, Sampling, SamplingError};

/// Off or neutral by default, but for the truncations, which only matter to draws and are llama.cpp's.
#[derive(Args)]
#[command(next_help_heading = "Sampling")]
pub struct SamplingFlags {
    /// 0 takes the likeliest token every time
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
    /// Divides the logits of the last 64 generated tokens; 1 leaves them alone
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    repetition_penalty: f32,
    /// Strength of the DRY penalty on going on with a repetition, 0.8 say; 0 is off
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    dry_multiplier: f32,
    /// Let entropy decide: sure tokens are taken as they are, unsure ones drawn at a higher temperature
    #[arg(long)]
    adaptive: bool,
    /// Makes draws repeatable
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
