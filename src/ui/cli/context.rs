//! `monobloc context`: prints the code that answers a question, within a token budget.

use anyhow::Result;
use clap::Args;

use crate::app::App;
use crate::base::visible;
use crate::ui::lookup::code;

/// Print the code that answers a question, within a token budget: bodies of the best hits, else
/// signatures or names
#[derive(Args)]
pub struct Context {
    question: String,
    /// Maximum number of tokens to print, estimated without a tokenizer: real counts differ by a few percent
    #[arg(long, value_name = "N", default_value_t = 4_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    tokens: u32,
    /// Print one JSON object: {items: [{path, start, end, form, text}], tokens, left_out, notes}
    #[arg(long)]
    json: bool,
}

impl Context {
    pub fn run(self, app: &App) -> Result<()> {
        let embedder = super::embedder(app);
        let index = super::index::opened(app, embedder.as_ref(), !self.json)?;
        let packed = code::context(&index, embedder.as_ref(), &self.question, self.tokens, &app.cancel)?;
        if self.json {
            putln!("{}", packed.json());
            return Ok(());
        }
        packed.notes.iter().for_each(super::warn);
        put!("{}", visible(&packed.pack.text()));
        tell!("monobloc: {}", packed.size());
        Ok(())
    }
}
