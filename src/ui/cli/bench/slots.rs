//! `monobloc bench slots`: measures how concurrent requests affect each other.

use anyhow::Result;
use clap::Args;

use crate::app::App;
use crate::measure::bench::slots::{self, Effort};
use crate::measure::bench::subject::Setting;

/// Measure concurrent requests: tokens per second, agents with a shared preamble, a user alongside background jobs
#[derive(Args)]
pub struct Slots {
    #[command(flatten)]
    models: super::Models,
    /// Number of slots of the model
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=16))]
    slots: u8,
    /// Length of the agents' shared preamble, in tokens
    #[arg(long, value_name = "TOKENS", default_value_t = 96, value_parser = clap::value_parser!(u32).range(8..=8192))]
    preamble: u32,
    /// Length of each agent's own prompt after the preamble, in tokens
    #[arg(long, value_name = "TOKENS", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=8192))]
    own: u32,
    /// Number of tokens each agent generates
    #[arg(long, value_name = "TOKENS", default_value_t = 48, value_parser = clap::value_parser!(u32).range(2..=4096))]
    generate: u32,
    /// Number of rounds, of which the figures are medians
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=20))]
    rounds: u8,
}

impl Slots {
    pub async fn run(self, app: &App) -> Result<()> {
        let effort = Effort {
            preamble_tokens: self.preamble as usize,
            own_tokens: self.own as usize,
            generated_tokens: self.generate as usize,
            rounds: usize::from(self.rounds),
        };
        let context = (self.preamble + self.own + self.generate + 64).max(512);
        let measure = async |file, kv_type| {
            let setting =
                Setting { file, context, slots: usize::from(self.slots), kv_type, flash: app.config.flash_attention };
            slots::measure(&app.empty_pool(), &setting, effort, app.threads(), &app.cancel).await
        };
        self.models.each(app, measure).await
    }
}
