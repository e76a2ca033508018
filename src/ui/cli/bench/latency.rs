//! `monobloc bench latency`: measures how long a single user waits.

use anyhow::Result;
use clap::Args;

use crate::app::App;
use crate::measure::bench::latency::{self, Effort};
use crate::measure::bench::subject::Setting;

/// Measure load time, time to the first token (cold, warm, next turn) and tokens per second
#[derive(Args)]
pub struct Latency {
    #[command(flatten)]
    models: super::Models,
    /// Length of the prompt, in tokens
    #[arg(long, value_name = "TOKENS", default_value_t = 256, value_parser = clap::value_parser!(u32).range(32..=65536))]
    prompt: u32,
    /// Tokens to generate
    #[arg(long, value_name = "TOKENS", default_value_t = 64, value_parser = clap::value_parser!(u32).range(2..=4096))]
    generate: u32,
    /// Number of rounds, of which the figures are medians
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=20))]
    rounds: u8,
    /// Also measure the decoder alone, to show the engine's overhead per token
    #[arg(long)]
    bare: bool,
}

impl Latency {
    pub async fn run(self, app: &App) -> Result<()> {
        let effort = Effort {
            prompt_tokens: self.prompt as usize,
            generated_tokens: self.generate as usize,
            rounds: usize::from(self.rounds),
            bare: self.bare,
        };
        // Room for the prompt, the answer and the second turn's question.
        let context = self.prompt + self.prompt / 10 + self.generate + 64;
        let measure = async |file, kv_type| {
            let setting = Setting { file, context, slots: 1, kv_type, flash: app.config.flash_attention };
            latency::measure(&app.empty_pool(), &setting, effort, app.threads(), &app.cancel).await
        };
        self.models.each(app, measure).await
    }
}
