//! `monobloc checkpoints`: lists the project's checkpoints.

use anyhow::Result;
use clap::Args;

use crate::app::{App, CheckpointRow};
use crate::base::Bytes;
use crate::checkpoint::Store;
use crate::ui::words;

pub const NONE: &str = "no checkpoint yet; the first is made before the first change";
/// Maximum number of listed paths without checkpoints.
const UNCOVERED_SHOWN: usize = 20;

/// List the states that this project can go back to
#[derive(Args)]
pub struct Checkpoints {
    /// Print one JSON object per checkpoint
    #[arg(long)]
    json: bool,
}

impl Checkpoints {
    pub fn run(self, app: &App) -> Result<()> {
        for note in app.recover()? {
            super::warn(note);
        }
        let Some(store) = Store::existing(&app.project()?)? else {
            if !self.json {
                putln!("{NONE}");
            }
            return Ok(());
        };
        for row in app.checkpoints(usize::MAX)?.unwrap_or_default() {
            if self.json {
                putln!("{}", serde_json::to_string(&row)?);
            } else {
                say!("{}", line(&row));
            }
        }
        if self.json {
            return Ok(());
        }
        putln!("{} of content; not covered: ignored files, .git and times", Bytes(store.blob_bytes()?));
        let uncovered = store.uncovered()?;
        for (path, why) in uncovered.iter().take(UNCOVERED_SHOWN) {
            say!("  not covered: {}: {why}", path.display());
        }
        if uncovered.len() > UNCOVERED_SHOWN {
            putln!("  not covered: {} more", uncovered.len() - UNCOVERED_SHOWN);
        }
        Ok(())
    }
}

/// A checkpoint as one line of text.
pub fn line(row: &CheckpointRow) -> String {
    let what = match row.before.as_str() {
        "turn" => words::counted(row.created, row.changed, row.deleted),
        _ => "before going back".to_owned(),
    };
    let request = row.request.chars().take(60).collect::<String>();
    format!("{:>5}  {}  {what:<32}  {request}", row.checkpoint, row.time)
}
