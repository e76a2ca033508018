//! Answers "where in this project is …" by words, vectors and the symbol graph, with the parts of each hit's score; a re-ranker may
//! put the first hits in another order.

mod judged;
mod known;
mod pack;
mod query;
mod rank;
mod signals;
mod tokens;

pub use judged::{Judged, judged};
pub use known::{answer, known};
pub use pack::{Pack, pack};
pub use tokens::tokens;

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::index::{ChunkRow, Index, IndexError};
use query::{Query, Rarity};
use rank::Ranking;

/// Number of candidates from the vector search, and maximum number of chunks that define names in
/// the query.
const CANDIDATES: usize = 150;
/// Number of candidates from the full-text search: in a whole repository, up to half of them are
/// copies and tests.
const WORDS_CANDIDATES: usize = 300;
/// Number of hits whose neighbours in the graph become candidates, number of steps walked from
/// them, and maximum number of neighbours.
const GRAPH: (usize, usize, usize) = (5, 2, 40);

/// A chunk of a file that answers the query.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    pub chunk: i64,
    pub path: String,
    /// First and last line, counted from 1.
    pub start: usize,
    pub end: usize,
    /// Name of the symbol that the chunk defines, if any.
    pub symbol: Option<String>,
    pub kind: Option<String>,
    pub signature: String,
    pub doc: String,
    /// The text of the lines.
    pub snippet: String,
    pub score: f64,
    /// The parts of the score: summands first (`words`, `meaning`, `definition`, …), then factors
    /// (`×test`, `×repeat`).
    pub parts: Vec<(Cow<'static, str>, f64)>,
}

/// Hits, best first, with notes for the user on how they were found.
#[derive(Clone, Debug, Default)]
pub struct Hits {
    pub hits: Vec<Hit>,
    pub notes: Vec<String>,
}

/// The `k` chunks of the project that best answer `query`. `query_vector` must come from the model
/// that made the index's vectors.
pub fn search(index: &Index, query: &str, query_vector: Option<&[f32]>, k: usize) -> Result<Hits, IndexError> {
    let query = Query::read(query);
    let mut notes = Vec::new();
    let (chunks, with) = index.chunks_with(&query.words)?;
    let rarity = Rarity::new(&query, chunks, &with);
    let words: Vec<String> = query.words.iter().chain(&query.forms).cloned().collect();
    let lexical = index.by_words(&words, rank::COLUMN_WEIGHTS, WORDS_CANDIDATES)?;
    let dense = by_meaning(index, query_vector, &mut notes);
    let keys = query.keys();
    let definitions = signals::definitions(&query, &rarity, &index.symbols_keyed(&keys)?, &index.handed_on(&keys)?);
    let graph = index.graph()?;
    let mut ranking = Ranking::new(&query, &rarity, graph.importance(), definitions);
    ranking.gather(&lexical, &dense, CANDIDATES);
    ranking.fill(index.places(&ranking.missing())?);
    ranking.weigh_files();
    let (sources, steps, most) = GRAPH;
    let near = graph.near(&ranking.best(sources), steps, most);
    ranking.admit(near.iter().map(|(chunk, _)| *chunk));
    ranking.fill(index.places(&ranking.missing())?);
    ranking.weigh_neighbours(&near);
    let ranked = ranking.finish(k);
    let ids: Vec<i64> = ranked.iter().map(|(chunk, ..)| *chunk).collect();
    let mut rows: HashMap<i64, ChunkRow> = index.chunks(&ids)?.into_iter().map(|row| (row.id, row)).collect();
    let hits: Vec<Hit> = ranked
        .into_iter()
        .filter_map(|(chunk, score, parts)| {
            let parts = parts.into_iter().map(|(name, value)| (Cow::Borrowed(name), value)).collect();
            Some(Hit::new(rows.remove(&chunk)?, score, parts))
        })
        .collect();
    if query.is_cut {
        notes.push("the question is long; only its beginning was used".into());
    }
    if hits.is_empty() {
        notes.push(why_nothing(index, &query)?);
        notes.extend(index.gaps()?);
    } else {
        // A part of the project that was not searched affects every answer.
        notes.extend(index.gaps()?.filter(|gaps| gaps.contains("too many files") || gaps.contains("too much text")));
        if lexical.is_empty() {
            notes.push("none of the words occurs in the project; found by meaning or name".into());
        }
    }
    match index.hidden()? {
        0 => {}
        1 => notes.push("1 indexed file is left out by a rule".into()),
        files => notes.push(format!("{files} indexed files are left out by a rule")),
    }
    Ok(Hits { hits, notes })
}

/// Nearest chunks by vector, with their cosines. If that is impossible, returns none and adds a
/// note.
fn by_meaning(index: &Index, query_vector: Option<&[f32]>, notes: &mut Vec<String>) -> Vec<(i64, f32)> {
    let Some(vector) = query_vector else {
        notes.push("lexical only: no embedder".into());
        return Vec::new();
    };
    if index.vector_count() == 0 {
        notes.push("lexical only: no vectors computed yet".into());
        return Vec::new();
    }
    index.by_vector(vector, CANDIDATES).unwrap_or_else(|error| {
        notes.push(format!("lexical only: {error}"));
        Vec::new()
    })
}

/// A note on why nothing was found.
fn why_nothing(index: &Index, query: &Query) -> Result<String, IndexError> {
    Ok(match index.paths()?.len() {
        _ if query.words.is_empty() => "nothing found: the query has no word to look for".into(),
        0 => "nothing found: the index is empty; run `monobloc index`".into(),
        files => format!("nothing found: none of {} occurs in the {files} indexed files", query.words.join(", ")),
    })
}

impl Hit {
    /// The hit as front ends print it in JSON.
    pub fn row(&self) -> Value {
        let parts: Map<String, Value> =
            self.parts.iter().map(|(name, value)| (name.clone().into_owned(), json!(value))).collect();
        json!({
            "path": self.path, "start": self.start, "end": self.end, "symbol": self.symbol, "kind": self.kind,
            "score": self.score, "snippet": self.snippet, "parts": parts,
        })
    }

    fn new(row: ChunkRow, score: f64, parts: Vec<(Cow<'static, str>, f64)>) -> Hit {
        Hit {
            chunk: row.id,
            path: row.path,
            start: row.start,
            end: row.end,
            symbol: row.symbol,
            kind: row.kind,
            signature: row.signature,
            doc: row.doc,
            snippet: row.content,
            score,
            parts,
        }
    }
}

#[cfg(test)]
mod tests;
