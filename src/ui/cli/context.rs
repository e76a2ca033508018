//! `monobloc context`: prints the code that answers a question, within a token budget.

use anyhow::Result;
use clap::Args;

use crate::app::App;
use crate::retrieve::{self, Form};

/// Print the code that answers a question within a token budget: bodies of the best hits, else signatures or names
#[derive(Args)]
pub struct Context {
    question: String,
    /// Most tokens to print, estimated without a tokenizer: real counts differ by a few percent
    #[arg(long, value_name = "N", default_value_t = 4_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    tokens: u32,
    /// Print one JSON object: {items: [{path, start, end, form, text}], tokens, left_out, notes}
    #[arg(long)]
    json: bool,
}

/// Search hits that are considered; with a budget of some thousand tokens only names of the last ones fit.
const HITS: usize = 40;

impl Context {
    pub fn run(self, app: &App) -> Result<()> {
        let embedder = super::embedder(app);
        let index = super::index::opened(app, embedder.as_ref(), !self.json)?;
        let found = retrieve::Cache::default().search(&index, embedder.as_ref(), &self.question, HITS)?;
        let pack = retrieve::pack(&found.hits, self.tokens as usize, &retrieve::tokens);
        let mut notes = found.notes;
        if pack.items.is_empty() && !found.hits.is_empty() {
            notes.push(format!("not even one name fits into {} tokens; raise --tokens", self.tokens));
        }
        if self.json {
            let items: Vec<_> = pack
                .items
                .iter()
                .map(|item| {
                    serde_json::json!({
                        "path": item.path, "start": item.start, "end": item.end, "form": form(item.form), "text": item.text,
                    })
                })
                .collect();
            let answer =
                serde_json::json!({ "items": items, "tokens": pack.tokens, "left_out": pack.left_out, "notes": notes });
            println!("{answer}");
            return Ok(());
        }
        notes.iter().for_each(|note| eprintln!("monobloc: note: {note}"));
        print!("{}", pack.text());
        eprintln!("monobloc: {} places in about {} tokens, {} left out", pack.items.len(), pack.tokens, pack.left_out);
        Ok(())
    }
}

fn form(form: Form) -> &'static str {
    match form {
        Form::Name => "name",
        Form::Signature => "signature",
        Form::Body => "body",
    }
}
