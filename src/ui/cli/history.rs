//! `monobloc history`: lists the project's turns and their calls.

use anyhow::{Context as _, Result};
use clap::Args;

use crate::app::App;
use crate::session::CallRecord;
use crate::ui::words;

/// Show the requests and actions in this project, turn by turn
#[derive(Args)]
pub struct History {
    /// Turns to show
    #[arg(short = 'n', long, default_value_t = 10)]
    turns: usize,
    /// Print one JSON object per turn
    #[arg(long)]
    json: bool,
}

impl History {
    pub fn run(self, app: &App) -> Result<()> {
        let project = app.project()?;
        let history = app.history()?.with_context(|| {
            format!("nothing was recorded in {}; run `monobloc ask` there first", project.display())
        })?;
        let turns = history.turns;
        for turn in turns.iter().skip(turns.len().saturating_sub(self.turns)) {
            if self.json {
                putln!("{}", serde_json::to_string(turn)?);
                continue;
            }
            let (created, changed, deleted) = turn.files;
            let undone = if turn.undone { " (taken back)" } else { "" };
            say!("t{} {} {}{undone}", turn.seq, turn.time, turn.request);
            for CallRecord { report: call, decision } in &turn.calls {
                let (status, ms) = (words::status(call.status), call.wall_ms);
                say!("    {} {status} ({decision}) {ms} ms: {}", call.tool, call.summary);
            }
            if let Some(checkpoint) = &turn.checkpoint {
                say!("    {checkpoint}: {}", words::counted(created, changed, deleted));
            }
            if turn.answer.is_none() {
                putln!("    it did not finish");
            }
        }
        Ok(())
    }
}
