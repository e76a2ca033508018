//! `monobloc telemetry`: what the last turns took.

use anyhow::{Context as _, Result};
use clap::Args;

use crate::app::{self, App};
use crate::base::Bytes;
use crate::session::Journal;

/// Show what the last turns on this project took
#[derive(Args)]
pub struct Telemetry {
    /// Turns to show
    #[arg(short = 'n', long, default_value_t = 10)]
    turns: usize,
    /// One JSON object a turn
    #[arg(long)]
    json: bool,
}

impl Telemetry {
    pub fn run(self, app: &App) -> Result<()> {
        let project = &app.config.project;
        let journal = Journal::existing(&app::journal(project))?.with_context(|| {
            format!("no turn was recorded in {}; run `monobloc ask` there first", project.display())
        })?;
        let turns = journal.turns(self.turns)?;
        if self.json {
            for turn in turns {
                println!("{}", serde_json::json!({ "time": turn.time, "request": turn.request, "usage": turn.usage }));
            }
            return Ok(());
        }
        println!(
            "{:>8} {:>6} {:>8} {:>8} {:>10} {:>12}  request",
            "wall", "calls", "prompt", "cached", "generated", "peak memory"
        );
        for turn in turns {
            let usage = turn.usage;
            let request: String = turn.request.chars().take(60).collect();
            println!(
                "{:>6.1} s {:>6} {:>8} {:>8} {:>10} {:>12}  {request}",
                usage.wall_ms as f64 / 1000.0,
                usage.model_calls,
                usage.prompt_tokens,
                usage.cached_tokens,
                usage.generated_tokens,
                Bytes(usage.peak_memory_bytes).to_string()
            );
        }
        Ok(())
    }
}
