//! `monobloc index`: refreshes a project's index, once or whenever files change.

mod lazy;
mod status;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};
use indicatif::ProgressBar;

use crate::app::{self, App};
use crate::embed::Embedder;
use crate::index::{Index as ProjectIndex, Progress, Report, Skipped, Watch, by_reason};
use lazy::Lazy;

/// Number of skipped files listed; others are only counted.
const SKIPPED_SHOWN: usize = 20;

/// Index a project: words, symbols, graph and vectors; only changes are read again
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Index {
    #[command(subcommand)]
    command: Option<Command>,
    /// Folder to index [default: the project]
    dir: Option<PathBuf>,
    /// Keep running and refresh the index whenever files change, until Ctrl-C
    #[arg(long)]
    watch: bool,
    /// Print the report as one JSON object, with --watch one per refresh
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum Command {
    Status(status::Status),
}

impl Index {
    pub fn run(self, app: &App) -> Result<()> {
        if let Some(Command::Status(status)) = self.command {
            return status.run(app);
        }
        let index = ProjectIndex::open(self.dir.as_deref().unwrap_or(&app.config.project))?;
        if let Some(note) = index.note() {
            super::warn(note);
        }
        // Start watching before the first refresh, so that no change in between is missed.
        let watch = if self.watch { Some(Watch::new(index.project())?) } else { None };
        let mut lazy = Lazy::new(&app.on(index.project()));
        let report = refreshed(&index, &mut lazy, app, !self.json)?;
        print(&report, self.json);
        let Some(watch) = watch else { return Ok(()) };
        if !self.json {
            tell!("monobloc: watching {}; Ctrl-C ends it", index.project().display());
        }
        while watch.wait(&app.cancel) {
            match refreshed(&index, &mut lazy, app, !self.json) {
                Ok(report) if report.parsed + report.removed > 0 => print(&report, self.json),
                Ok(_) => {}
                Err(error) if app.cancel.is_cancelled() => return Err(error),
                // The next change triggers another attempt: a file may have been half written, or
                // the database locked.
                Err(error) => super::warn(format!("{error}; the index stays as it was")),
            }
        }
        Ok(())
    }
}

/// Refreshes full text, symbols and graph first, then vectors; loads the embedder only if a vector
/// is missing.
fn refreshed(index: &ProjectIndex, lazy: &mut Lazy, app: &App, visible: bool) -> Result<Report> {
    let bar = bar(visible);
    let begun = std::time::Instant::now();
    let mut report = index.refresh_lexical(&mut |progress| show(&bar, progress), &app.cancel)?;
    let usable = |missing: usize| {
        if visible && missing > 0 {
            let line =
                format!("usable after {} ms; {missing} vectors follow, the most referenced first", report.usable_ms);
            bar.suspend(|| tell!("monobloc: {line}"));
        }
    };
    let with_vector = lazy.vectors(index, app, usable, &mut |progress| show(&bar, progress))?;
    bar.finish_and_clear();
    report.chunks_with_vector = with_vector;
    report.ms = begun.elapsed().as_millis() as u64;
    Ok(report)
}

fn print(report: &Report, json: bool) {
    if json {
        putln!("{}", serde_json::json!(report));
        return;
    }
    let Report { files, parsed, removed, chunks, chunks_with_vector, symbols, edges, usable_ms, ms, .. } = report;
    putln!(
        "{files} files ({parsed} read, {removed} gone), {chunks} chunks ({chunks_with_vector} with vectors), {symbols} symbols, \
         {edges} edges; usable after {usable_ms} ms, complete after {ms} ms"
    );
    summary("skipped", &report.skipped);
    summary("read in part", &report.partial);
}

/// Prints the number of files for each reason, then the first few files; `--json` lists all.
fn summary(what: &str, files: &[Skipped]) {
    if files.is_empty() {
        return;
    }
    let reasons: Vec<String> = by_reason(files).iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    putln!("{} {what}: {}", files.len(), reasons.join("; "));
    for one in files.iter().take(SKIPPED_SHOWN) {
        say!("  {}: {}", if one.path.is_empty() { "." } else { &one.path }, one.reason);
    }
    if files.len() > SKIPPED_SHOWN {
        putln!("  … {} more; --json lists them", files.len() - SKIPPED_SHOWN);
    }
}

/// Opens and refreshes the project's index for a request; prints a note if many vectors are still
/// missing.
pub fn opened(app: &App, embedder: Option<&Embedder>, visible: bool) -> Result<ProjectIndex> {
    let index = app.index()?;
    if let Some(note) = index.note() {
        super::warn(note);
    }
    let bar = bar(visible);
    let missing = app.refresh_for_turn(&index, embedder, &mut |progress| show(&bar, progress))?;
    bar.finish_and_clear();
    if let Some(note) = app::without_vectors(missing) {
        super::warn(note);
    }
    Ok(index)
}

/// A progress bar for a refresh, on standard error if `visible`.
pub fn bar(visible: bool) -> ProgressBar {
    if visible { super::bar("index: {msg} {bar:30} {pos}/{len}") } else { ProgressBar::hidden() }
}

/// Shows the progress of a refresh.
pub fn show(bar: &ProgressBar, progress: Progress) {
    bar.set_length(progress.total as u64);
    bar.set_position(progress.done as u64);
    bar.set_message(progress.stage.name());
}
