//! `monobloc bench retrieval`: measures the cost of finding code in a project.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;

use crate::app::App;
use crate::measure::bench::retrieval;

/// Measure embedding, indexing, an edit, searches and call-graph lookups on a copy of a project
#[derive(Args)]
pub struct Retrieval {
    /// Project folder [default: the project]
    dir: Option<PathBuf>,
    /// Print the figures as one JSON object
    #[arg(long)]
    json: bool,
}

impl Retrieval {
    pub fn run(self, app: &App) -> Result<()> {
        let dir = self.dir.unwrap_or_else(|| app.config.project.clone());
        if !dir.is_dir() {
            bail!("{} is not a folder; name the folder of a project", dir.display());
        }
        let embedders = embedders(app);
        let figures = retrieval::measure(&dir, &embedders, &app.cancel)?;
        if self.json {
            putln!("{}", serde_json::json!(figures.json));
        } else {
            super::print(&figures);
        }
        Ok(())
    }
}

/// The embedder with one thread and with all threads; prints a note if there is no embedder.
fn embedders(app: &App) -> Vec<(usize, crate::embed::Embedder)> {
    let threads = if app.threads() > 1 { vec![1, app.threads()] } else { vec![1] };
    let with = |threads: usize| {
        let mut app = app.clone();
        app.config.threads = threads;
        Some((threads, crate::ui::cli::embedder(&app)?))
    };
    threads.into_iter().filter_map(with).collect()
}
