//! `monobloc index`: brings a project's index up to date.

use anyhow::Result;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use crate::app::App;
use crate::embed::Embedder;
use crate::index::{Index as ProjectIndex, Progress, Skipped, by_reason};

/// Skipped files that are listed; the rest is counted.
const SKIPPED_SHOWN: usize = 20;

/// Index a project: words, symbols, graph and vectors; only what changed is read again
#[derive(Args)]
pub struct Index {
    /// Folder to index [default: the project]
    dir: Option<std::path::PathBuf>,
    /// The report as one JSON object
    #[arg(long)]
    json: bool,
}

impl Index {
    pub fn run(self, app: &App) -> Result<()> {
        let index = match &self.dir {
            Some(dir) => ProjectIndex::open(dir)?,
            None => app.index()?,
        };
        if let Some(note) = index.note() {
            eprintln!("monobloc: note: {note}");
        }
        let embedder =
            match app.registry().map_err(|error| error.to_string()).and_then(|registry| app.embedder(&registry)) {
                Ok(embedder) => Some(embedder),
                Err(reason) => {
                    eprintln!("monobloc: note: {reason}");
                    None
                }
            };
        let bar = bar(!self.json);
        let report = app.refresh(&index, embedder.as_ref(), &mut |progress| show(&bar, progress))?;
        bar.finish_and_clear();
        if self.json {
            let listed = |all: &[Skipped]| -> Vec<_> {
                all.iter().map(|one| serde_json::json!({ "path": one.path, "reason": one.reason })).collect()
            };
            println!(
                "{}",
                serde_json::json!({
                    "files": report.files, "parsed": report.parsed, "removed": report.removed, "chunks": report.chunks,
                    "chunks_with_vector": report.chunks_with_vector, "symbols": report.symbols, "edges": report.edges,
                    "skipped": listed(&report.skipped), "partial": listed(&report.partial), "ms": report.ms,
                })
            );
            return Ok(());
        }
        println!(
            "{} files ({} read, {} gone), {} chunks ({} with vectors), {} symbols, {} edges, {} ms",
            report.files,
            report.parsed,
            report.removed,
            report.chunks,
            report.chunks_with_vector,
            report.symbols,
            report.edges,
            report.ms
        );
        summary("skipped", &report.skipped);
        summary("read in part", &report.partial);
        Ok(())
    }
}

/// How many files for which reason, then the first of them; `--json` lists all.
fn summary(what: &str, files: &[Skipped]) {
    if files.is_empty() {
        return;
    }
    let reasons: Vec<String> = by_reason(files).iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    println!("{} {what}: {}", files.len(), reasons.join("; "));
    for one in files.iter().take(SKIPPED_SHOWN) {
        println!("  {}: {}", if one.path.is_empty() { "." } else { &one.path }, one.reason);
    }
    if files.len() > SKIPPED_SHOWN {
        println!("  … {} more; --json lists them", files.len() - SKIPPED_SHOWN);
    }
}

/// The project's index for a request: words and graph up to date, meaning as far as `monobloc index` has come.
pub fn opened(app: &App, embedder: Option<&Embedder>, visible: bool) -> Result<ProjectIndex> {
    let index = app.index()?;
    let bar = bar(visible);
    let missing = app.refresh_for_turn(&index, embedder, &mut |progress| show(&bar, progress))?;
    bar.finish_and_clear();
    if missing > 0 {
        eprintln!("monobloc: note: {missing} places are found by words only; `monobloc index` adds their meaning");
    }
    Ok(index)
}

fn bar(visible: bool) -> ProgressBar {
    let bar = if visible { ProgressBar::new(1) } else { ProgressBar::hidden() };
    if let Ok(style) = ProgressStyle::with_template("index: {msg} {bar:30} {pos}/{len}") {
        bar.set_style(style);
    }
    bar
}

fn show(bar: &ProgressBar, progress: Progress) {
    bar.set_length(progress.total as u64);
    bar.set_position(progress.done as u64);
    bar.set_message(progress.stage.name());
}
