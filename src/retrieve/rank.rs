//! Puts the candidates of a search in order: base score from words and meaning, signals on top, files not repeated.

use std::collections::HashMap;

use super::query::Query;
use super::{Hit, signals};
use crate::index::{ChunkRow, SymbolRow};

/// Weights of the full-text columns: name, path, signature, doc, body.
pub const COLUMN_WEIGHTS: [f64; 5] = [3.0, 2.0, 1.5, 1.0, 1.0];
/// Share of meaning in the base score: names are better found by words.
const MEANING_FOR_SYMBOL: f64 = 0.3;
const MEANING_FOR_PROSE: f64 = 0.5;
/// What the best file as a whole lends to each of its chunks.
const COHERENCE: f64 = 0.2;
/// What the best neighbour of a good hit gains, one step away; halved with every further step.
const NEIGHBOUR: f64 = 0.15;
/// Each further chunk of a file that is already listed counts this much of the one before.
const REPEAT: f64 = 0.5;

struct Candidate {
    id: i64,
    row: Option<ChunkRow>,
    /// Summands of the score, then factors.
    sums: Vec<(&'static str, f64)>,
    factors: Vec<(&'static str, f64)>,
}

impl Candidate {
    fn score(&self) -> f64 {
        self.sums.iter().map(|(_, v)| v).sum::<f64>() * self.factors.iter().map(|(_, v)| v).product::<f64>()
    }

    fn path(&self) -> &str {
        self.row.as_ref().map_or("", |r| r.path.as_str())
    }
}

/// Candidates on their way to a ranked list.
pub struct Ranking<'q> {
    query: &'q Query,
    candidates: Vec<Candidate>,
    at: HashMap<i64, usize>,
}

impl<'q> Ranking<'q> {
    /// Starts from the chunks found by words (BM25) and by meaning (cosine), both best first.
    pub fn new(query: &'q Query, lexical: &[(i64, f64)], dense: &[(i64, f32)]) -> Ranking<'q> {
        let mut ranking = Ranking { query, candidates: Vec::new(), at: HashMap::new() };
        let meaning = match (dense.is_empty(), lexical.is_empty()) {
            (true, _) => 0.0,
            (_, true) => 1.0,
            _ if query.is_symbol => MEANING_FOR_SYMBOL,
            _ => MEANING_FOR_PROSE,
        };
        let best = lexical.first().map_or(1.0, |l| l.1).max(f64::MIN_POSITIVE);
        for (id, score) in lexical {
            ranking.candidate(*id).sums.push(("words", (1.0 - meaning) * score / best));
        }
        // Cosines crowd together; what separates them is their place between the best and the last candidate.
        let (top, last) = (dense.first().map_or(1.0, |d| d.1), dense.last().map_or(0.0, |d| d.1));
        for (id, cosine) in dense {
            let place = f64::from((cosine - last) / (top - last).max(1e-6));
            ranking.candidate(*id).sums.push(("meaning", meaning * place));
        }
        ranking
    }

    fn candidate(&mut self, id: i64) -> &mut Candidate {
        let next = self.candidates.len();
        let at = *self.at.entry(id).or_insert(next);
        if at == next {
            self.candidates.push(Candidate { id, row: None, sums: Vec::new(), factors: Vec::new() });
        }
        &mut self.candidates[at]
    }

    /// Takes further chunks in, without any score yet.
    pub fn admit(&mut self, ids: impl Iterator<Item = i64>) {
        for id in ids {
            self.candidate(id);
        }
    }

    /// Candidates whose rows are still to be read.
    pub fn missing(&self) -> Vec<i64> {
        self.candidates.iter().filter(|c| c.row.is_none()).map(|c| c.id).collect()
    }

    pub fn fill(&mut self, rows: Vec<ChunkRow>) {
        for row in rows {
            let id = row.id;
            let factors = signals::penalties(self.query.asks, &row.path, &row.language, row.symbol.as_deref());
            let candidate = self.candidate(id);
            candidate.factors = factors;
            candidate.row = Some(row);
        }
    }

    /// Adds what definitions, paths and files say. `defined`: definitions of the query's names.
    pub fn weigh(&mut self, defined: &[SymbolRow]) {
        for candidate in &mut self.candidates {
            let Some(row) = &candidate.row else { continue };
            candidate.sums.push(("definition", signals::definition(self.query, row, defined)));
            candidate.sums.push(("path", signals::path(self.query, &row.path)));
        }
        let mut files: HashMap<String, f64> = HashMap::new();
        for candidate in &self.candidates {
            *files.entry(candidate.path().to_owned()).or_default() += candidate.score();
        }
        let best = files.values().copied().fold(0.0, f64::max).max(f64::MIN_POSITIVE);
        for candidate in &mut self.candidates {
            let share = files.get(candidate.path()).copied().unwrap_or(0.0) / best;
            candidate.sums.push(("file", COHERENCE * share));
        }
    }

    /// The best chunks so far.
    pub fn best(&self, count: usize) -> Vec<i64> {
        let mut all: Vec<&Candidate> = self.candidates.iter().collect();
        all.sort_by(|a, b| b.score().total_cmp(&a.score()).then(a.id.cmp(&b.id)));
        all.into_iter().take(count).map(|c| c.id).collect()
    }

    /// Adds what closeness in the graph to the best hits says: chunk and distance in steps.
    pub fn weigh_neighbours(&mut self, near: &[(i64, usize)]) {
        for (id, steps) in near {
            let gain = NEIGHBOUR * 0.5f64.powi(*steps as i32 - 1);
            self.candidate(*id).sums.push(("graph", gain));
        }
    }

    /// The `k` best, taking one after another; every further chunk of a file counts half of the one before.
    pub fn finish(self, k: usize) -> Vec<Hit> {
        let mut waiting: Vec<(f64, Candidate)> = self
            .candidates
            .into_iter()
            .filter(|c| c.row.is_some())
            .map(|c| (c.score(), c))
            .filter(|(s, _)| *s > 0.0)
            .collect();
        waiting.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.id.cmp(&b.1.id)));
        let mut taken: HashMap<String, i32> = HashMap::new();
        let mut hits = Vec::new();
        while hits.len() < k && !waiting.is_empty() {
            let now = |(score, c): &(f64, Candidate)| score * REPEAT.powi(taken.get(c.path()).copied().unwrap_or(0));
            // The first of equals is the earlier one, so the order is the same every time.
            let best =
                (0..waiting.len()).reduce(|a, b| if now(&waiting[b]) > now(&waiting[a]) { b } else { a }).unwrap_or(0);
            let score = now(&waiting[best]);
            let (before, candidate) = waiting.remove(best);
            *taken.entry(candidate.path().to_owned()).or_default() += 1;
            let mut parts: Vec<(&'static str, f64)> = candidate.sums.into_iter().filter(|(_, v)| *v != 0.0).collect();
            parts.extend(candidate.factors);
            if score < before {
                parts.push(("×repeat", score / before));
            }
            hits.extend(candidate.row.map(|row| Hit::new(row, score, parts)));
        }
        hits
    }
}
