//! `monobloc index status`: shows what the index covers and which files have changed since.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;

use super::lazy::Lazy;
use crate::app::App;
use crate::base::Bytes;
use crate::index::{Index, Skipped, Status as State};

/// Changed files that are listed; the others are only counted.
const CHANGED_SHOWN: usize = 10;

/// Show what the index covers, files changed since, skipped files with reasons, sizes and model; changes nothing
#[derive(Args)]
pub struct Status {
    /// Folder of the project [default: the project]
    dir: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Status {
    pub fn run(self, app: &App) -> Result<()> {
        let dir = self.dir.unwrap_or_else(|| app.config.project.clone());
        if !dir.is_dir() {
            bail!("{} is no folder; name the folder of a project", dir.display());
        }
        if !Index::exists(&dir) {
            bail!("{0} has no index yet; make one with `monobloc index {0}`", dir.display());
        }
        let index = Index::open(&dir)?;
        if let Some(note) = index.note() {
            eprintln!("monobloc: note: {note}");
        }
        let model = Lazy::new(app).fingerprint().map(str::to_owned);
        let status = index.status(model.as_deref())?;
        if self.json {
            println!("{}", as_json(&status, model.as_deref()));
        } else {
            print(&status, model.as_deref());
        }
        Ok(())
    }
}

fn as_json(status: &State, model: Option<&str>) -> serde_json::Value {
    let listed = |all: &[Skipped]| -> Vec<_> {
        all.iter().map(|one| json!({ "path": one.path, "reason": one.reason })).collect()
    };
    let languages: serde_json::Map<String, serde_json::Value> =
        status.languages.iter().map(|(name, files)| (name.clone(), json!(files))).collect();
    let models: Vec<_> =
        status.models.iter().map(|(model, vectors)| json!({ "model": model, "vectors": vectors })).collect();
    json!({
        "files": status.files, "languages": languages, "chunks": status.chunks,
        "chunks_with_vector": status.chunks_with_vector, "symbols": status.symbols, "edges": status.edges,
        "unresolved": status.unresolved, "changed": status.changed, "gone": status.gone,
        "unfinished": status.unfinished, "skipped": listed(&status.skipped), "partial": listed(&status.partial),
        "database_bytes": status.database_bytes, "vector_file_bytes": status.vector_file_bytes,
        "model": model, "models": models,
    })
}

fn print(status: &State, model: Option<&str>) {
    let languages: Vec<String> = status.languages.iter().map(|(name, files)| format!("{name} {files}")).collect();
    println!("files      {} ({})", status.files, languages.join(", "));
    println!(
        "code       {} chunks, {} symbols, {} edges, {} references whose target is not known",
        status.chunks, status.symbols, status.edges, status.unresolved
    );
    let share = 100.0 * status.chunks_with_vector as f64 / status.chunks.max(1) as f64;
    match model {
        Some(model) => println!(
            "vectors    {} of {} chunks ({share:.0} %), model {model}",
            status.chunks_with_vector, status.chunks
        ),
        None => println!("vectors    none can be used without an embedder; search goes by words and graph"),
    }
    println!("on disk    {} database, {} vectors", Bytes(status.database_bytes), Bytes(status.vector_file_bytes));
    match (status.changed.len(), status.gone.len(), status.unfinished) {
        (0, 0, false) => println!("state      as the files are"),
        (changed, gone, unfinished) => {
            let note = if unfinished { "; the last run did not come to its end" } else { "" };
            println!(
                "state      {changed} files new or changed, {gone} gone{note}; `monobloc index` brings it up to date"
            );
        }
    }
    let behind: Vec<&String> = status.changed.iter().chain(&status.gone).collect();
    behind.iter().take(CHANGED_SHOWN).for_each(|path| println!("  behind {path}"));
    if behind.len() > CHANGED_SHOWN {
        println!("  … {} more behind", behind.len() - CHANGED_SHOWN);
    }
    super::summary("skipped", &status.skipped);
    super::summary("read in part", &status.partial);
}
