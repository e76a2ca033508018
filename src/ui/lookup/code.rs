//! Finds code by words, vectors and graph: as a list of hits, or packed into a token budget.

use anyhow::Result;
use console::style;
use serde_json::{Value, json};

use crate::base::{Cancel, visible};
use crate::embed::Embedder;
use crate::index::Index;
use crate::retrieve::{self, Hits, Pack};

/// Number of lines in a snippet.
const SNIPPET_LINES: usize = 4;
/// Number of search hits considered for a pack; in a budget of a few thousand tokens, only the
/// names of the last ones fit.
const PACKED_HITS: usize = 40;

/// Place, symbol, score and first lines of each hit; with `explain` also the components of its
/// score.
pub fn text(found: &Hits, explain: bool) -> String {
    let mut text = String::new();
    for hit in &found.hits {
        let symbol = visible(hit.symbol.as_deref().unwrap_or(""));
        let place = style(format!("{}:{}", visible(&hit.path), hit.start)).cyan();
        text += &format!("{place} {symbol} {}\n", style(format!("{:.3}", hit.score)).dim());
        visible(&hit.snippet).lines().take(SNIPPET_LINES).for_each(|line| text += &format!("    {line}\n"));
        if explain {
            let shown: Vec<String> = hit.parts.iter().map(|(name, value)| format!("{name} {value:.3}")).collect();
            text += &format!("    {}\n", style(shown.join(", ")).dim());
        }
    }
    text
}

/// Code that answers a question, within a token budget.
pub struct Packed {
    pub pack: Pack,
    pub notes: Vec<String>,
}

/// Bodies of the best hits for `question`, else signatures or names, in at most `tokens`.
pub fn context(
    index: &Index,
    embedder: Option<&Embedder>,
    question: &str,
    tokens: u32,
    cancel: &Cancel,
) -> Result<Packed> {
    let found = retrieve::answer(index, embedder, question, PACKED_HITS, cancel)?;
    let pack = retrieve::pack(&found.hits, tokens as usize, &retrieve::tokens);
    let mut notes = found.notes;
    if found.hits.len() == PACKED_HITS {
        notes.push(format!("only the {PACKED_HITS} likeliest places were considered"));
    }
    if pack.items.is_empty() && !found.hits.is_empty() {
        notes.push(format!("not even one name fits into {tokens} tokens; raise --tokens"));
    }
    Ok(Packed { pack, notes })
}

impl Packed {
    pub fn json(&self) -> Value {
        let mut value = json!(self.pack);
        value["notes"] = json!(self.notes);
        value
    }

    /// The number of places shown, and of tokens in them.
    pub fn size(&self) -> String {
        let Pack { items, tokens, left_out, .. } = &self.pack;
        format!("{} places in about {tokens} tokens, {left_out} left out", items.len())
    }
}
