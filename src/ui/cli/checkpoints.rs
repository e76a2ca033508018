//! `monobloc checkpoints`: the states that can be gone back to.

use anyhow::Result;
use clap::Args;
use serde_json::json;

use super::output::counted;
use crate::app::App;
use crate::base::Bytes;
use crate::checkpoint::{Checkpoint, Store};

/// List the states this project can go back to
#[derive(Args)]
pub struct Checkpoints {
    /// One JSON object a checkpoint
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
                println!("no checkpoint yet; the first is made before the first change");
            }
            return Ok(());
        };
        for checkpoint in store.checkpoints()? {
            let files = store.summary(checkpoint.id)?;
            let name = format!("c{}", checkpoint.id);
            if self.json {
                println!(
                    "{}",
                    json!({
                        "checkpoint": name, "time": checkpoint.time, "before": checkpoint.reason,
                        "request": checkpoint.request, "conversation": checkpoint.conversation,
                        "created": files.created, "changed": files.changed, "deleted": files.deleted,
                    })
                );
                continue;
            }
            println!("{}", line(&checkpoint, files.created, files.changed, files.deleted));
        }
        if self.json {
            return Ok(());
        }
        println!("{} of contents; not covered: ignored files, .git, owners and times", Bytes(store.blob_bytes()?));
        for (path, why) in store.uncovered()?.iter().take(20) {
            println!("  not covered: {}: {why}", path.display());
        }
        Ok(())
    }
}

/// A checkpoint on a line, with what came after it.
pub fn line(checkpoint: &Checkpoint, created: usize, changed: usize, deleted: usize) -> String {
    let what = match checkpoint.reason.as_str() {
        "turn" => counted(created, changed, deleted),
        _ => "before going back".to_owned(),
    };
    let (name, request) = (format!("c{}", checkpoint.id), checkpoint.request.chars().take(60).collect::<String>());
    format!("{name:>5}  {}  {what:<32}  {request}", checkpoint.time)
}
