//! `monobloc bench retrieval`: measures what finding code in a project costs.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;

use crate::app::App;
use crate::base::Bytes;
use crate::measure::bench::retrieval::{self, Spread};

/// Measure embedding, indexing, an edit, searches and call-graph lookups on a copy of a project
#[derive(Args)]
pub struct Retrieval {
    /// Folder of a project [default: the project]
    dir: Option<PathBuf>,
    /// Print the figures as one JSON object
    #[arg(long)]
    json: bool,
}

impl Retrieval {
    pub fn run(self, app: &App) -> Result<()> {
        let dir = self.dir.unwrap_or_else(|| app.config.project.clone());
        if !dir.is_dir() {
            bail!("{} is no folder; name the folder of a project", dir.display());
        }
        let embedders = embedders(app);
        let figures = retrieval::measure(&dir, &embedders, &app.cancel)?;
        if self.json {
            println!("{}", serde_json::json!(figures));
        } else {
            print(&figures);
        }
        Ok(())
    }
}

/// The embedder with one thread and with all threads; prints a note if there is none.
fn embedders(app: &App) -> Vec<(usize, crate::embed::Embedder)> {
    let threads = if app.threads() > 1 { vec![1, app.threads()] } else { vec![1] };
    let with = |threads: usize| {
        let mut app = app.clone();
        app.config.threads = threads;
        Some((threads, crate::ui::cli::embedder(&app)?))
    };
    threads.into_iter().filter_map(with).collect()
}

fn print(figures: &retrieval::Retrieval) {
    println!("{} files, {} lines, {} chunks", figures.files, figures.lines, figures.chunks);
    let line = |what: &str, value: String| println!("  {what:<48} {value:>22}");
    let spread = |spread: &Spread| format!("{:.2} / {:.2} ms", spread.p50, spread.p95);
    for (threads, rate) in &figures.embed_tokens_per_s {
        line(&format!("embedding, {threads} threads"), format!("{rate:.0} tokens/s"));
    }
    figures.query_embed_ms.iter().for_each(|ms| line("embedding a query, p50 / p95", spread(ms)));
    line("index until usable", format!("{:.2} s", figures.index_usable_s));
    figures.index_complete_s.iter().for_each(|seconds| line("index until complete", format!("{seconds:.2} s")));
    line("after one edit", format!("{:.1} ms", figures.edit_ms));
    line("with nothing changed", format!("{:.1} ms", figures.unchanged_ms));
    line("search with its embedding, p50 / p95", spread(&figures.search_ms));
    line("callers and callees, p50 / p95", spread(&figures.graph_ms));
    figures.peak_memory_bytes.iter().for_each(|bytes| line("most memory", Bytes(*bytes).to_string()));
}
