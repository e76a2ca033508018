//! `monobloc search`: finds code by full text, vectors and graph.

use anyhow::Result;
use clap::Args;

use crate::app::App;
use crate::retrieve;
use crate::ui::lookup::code;

/// Find the code that answers a question or defines a name
#[derive(Args)]
pub struct Search {
    query: String,
    /// Hits to show
    #[arg(short = 'n', long, default_value_t = 10)]
    limit: usize,
    /// Show the components of each score
    #[arg(long)]
    explain: bool,
    /// Print one JSON object per hit
    #[arg(long)]
    json: bool,
}

impl Search {
    pub fn run(self, app: &App) -> Result<()> {
        let embedder = super::embedder(app);
        let index = super::index::opened(app, embedder.as_ref(), !self.json)?;
        let found = retrieve::answer(&index, embedder.as_ref(), &self.query, self.limit, &app.cancel)?;
        found.notes.iter().for_each(super::warn);
        if self.json {
            found.hits.iter().for_each(|hit| putln!("{}", hit.row()));
        } else {
            put!("{}", code::text(&found, self.explain));
            if found.hits.len() == self.limit {
                super::warn(format!("the {} likeliest places; --limit shows more", self.limit));
            }
        }
        Ok(())
    }
}
