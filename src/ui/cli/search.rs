//! `monobloc search`: finds code by full text, vectors and graph.

use anyhow::Result;
use clap::Args;
use console::style;

use crate::app::App;
use crate::retrieve;

/// Find the code that answers a question or defines a name
#[derive(Args)]
pub struct Search {
    query: String,
    /// Hits to show
    #[arg(short = 'n', long, default_value_t = 10)]
    limit: usize,
    /// Show the parts of each score
    #[arg(long)]
    explain: bool,
    /// Print one JSON object per hit
    #[arg(long)]
    json: bool,
}

/// Lines of a snippet that are printed.
const SNIPPET_LINES: usize = 4;

impl Search {
    pub fn run(self, app: &App) -> Result<()> {
        let embedder = super::embedder(app);
        let index = super::index::opened(app, embedder.as_ref(), !self.json)?;
        let found = retrieve::Cache::default().search(&index, embedder.as_ref(), &self.query, self.limit)?;
        for note in &found.notes {
            eprintln!("monobloc: note: {note}");
        }
        for hit in &found.hits {
            if self.json {
                println!("{}", hit.row());
                continue;
            }
            let symbol = hit.symbol.as_deref().unwrap_or("");
            println!(
                "{} {symbol} {}",
                style(format!("{}:{}", hit.path, hit.start)).cyan(),
                style(format!("{:.3}", hit.score)).dim()
            );
            for line in hit.snippet.lines().take(SNIPPET_LINES) {
                println!("    {line}");
            }
            if self.explain {
                let shown: Vec<String> = hit.parts.iter().map(|(name, value)| format!("{name} {value:.3}")).collect();
                println!("    {}", style(shown.join(", ")).dim());
            }
        }
        Ok(())
    }
}
