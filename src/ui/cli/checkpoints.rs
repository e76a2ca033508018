//! `monobloc checkpoints`: lists the checkpoints of the project.

use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};

use super::output::counted;
use crate::app::App;
use crate::base::Bytes;
use crate::checkpoint::{Checkpoint, Store, Summary};

pub const NONE: &str = "no checkpoint yet; the first is made before the first change";
/// Most paths without checkpoints that are listed.
const UNCOVERED_SHOWN: usize = 20;

/// List the states this project can go back to
#[derive(Args)]
pub struct Checkpoints {
    /// Print one JSON object per checkpoint
    #[arg(long)]
    json: bool,
}

impl Checkpoints {
    pub fn run(self, app: &App) -> Result<()> {
        for note in app.recover()? {
            eprintln!("monobloc: note: {note}");
        }
        let Some(store) = Store::existing(&app.project()?)? else {
            if !self.json {
                println!("{NONE}");
            }
            return Ok(());
        };
        for checkpoint in store.checkpoints()? {
            let files = store.summary(checkpoint.id)?;
            if self.json {
                println!("{}", row(&checkpoint, &files));
            } else {
                println!("{}", line(&checkpoint, &files));
            }
        }
        if self.json {
            return Ok(());
        }
        println!("{} of contents; not covered: ignored files, .git, owners and times", Bytes(store.blob_bytes()?));
        let uncovered = store.uncovered()?;
        for (path, why) in uncovered.iter().take(UNCOVERED_SHOWN) {
            println!("  not covered: {}: {why}", path.display());
        }
        if uncovered.len() > UNCOVERED_SHOWN {
            println!("  not covered: {} more", uncovered.len() - UNCOVERED_SHOWN);
        }
        Ok(())
    }
}

/// A checkpoint as JSON, with the numbers of files changed after it.
pub fn row(checkpoint: &Checkpoint, files: &Summary) -> Value {
    json!({
        "checkpoint": format!("c{}", checkpoint.id), "time": checkpoint.time, "before": checkpoint.reason,
        "request": checkpoint.request, "conversation": checkpoint.conversation,
        "created": files.created, "changed": files.changed, "deleted": files.deleted,
    })
}

/// A checkpoint as one line of text.
pub fn line(checkpoint: &Checkpoint, files: &Summary) -> String {
    let what = match checkpoint.reason.as_str() {
        "turn" => counted(files.created, files.changed, files.deleted),
        _ => "before going back".to_owned(),
    };
    let (name, request) = (format!("c{}", checkpoint.id), checkpoint.request.chars().take(60).collect::<String>());
    format!("{name:>5}  {}  {what:<32}  {request}", checkpoint.time)
}
