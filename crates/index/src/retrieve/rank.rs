//! Ranks the candidates of a search: base score from words and vectors, plus signals, reduced for repeated files.

use std::collections::HashMap;

use super::query::{Query, Rarity};
use super::signals;
use crate::index::{ChunkPlace, FileImportance};

/// Weights of the full-text columns: name, path, signature, doc, body.
pub const COLUMN_WEIGHTS: [f64; 5] = [3.0, 2.0, 1.5, 1.0, 1.0];
/// Vectors' share of the base score; lower for names, which words find better.
const MEANING_FOR_SYMBOL: f64 = 0.3;
const MEANING_FOR_PROSE: f64 = 0.4;
/// Bonus for chunks of the file with the highest total score; proportionally less for other files.
const COHERENCE: f64 = 0.15;
/// Bonus for a direct neighbour of a good hit in the graph; halved with every further step.
const NEIGHBOUR: f64 = 0.15;
/// Factor for each further chunk of a file, relative to the one before.
const REPEAT: f64 = 0.35;

struct Candidate {
    id: i64,
    /// `None` until it is read, and for a chunk that has since been removed.
    place: Option<ChunkPlace>,
    /// `File::number` of its file.
    file: usize,
    /// Summands of the score; their sum is multiplied by the factors.
    sums: Vec<(&'static str, f64)>,
    factors: Vec<(&'static str, f64)>,
}

impl Candidate {
    fn score(&self) -> f64 {
        self.sums.iter().map(|(_, v)| v).sum::<f64>() * self.factors.iter().map(|(_, v)| v).product::<f64>()
    }
}

/// The signals of a file.
struct File {
    /// Position in the order in which files were added.
    number: usize,
    /// Bonus for query words in its path.
    gain: f64,
    factors: Vec<(&'static str, f64)>,
}

/// A chunk with its final score and the score's parts: summands first, then factors.
pub type Ranked = (i64, f64, Vec<(&'static str, f64)>);

/// The candidates of a search with their scores so far.
pub struct Ranking<'q> {
    query: &'q Query,
    rarity: &'q Rarity,
    importance: &'q FileImportance,
    candidates: Vec<Candidate>,
    /// Position in `candidates` by chunk.
    at: HashMap<i64, usize>,
    files: HashMap<String, File>,
    /// By chunk: bonuses for defining and for re-exporting names in the query.
    definitions: HashMap<i64, [f64; 2]>,
}

impl<'q> Ranking<'q> {
    /// An empty ranking. `definitions` comes from [`signals::definitions`]; [`Ranking::gather`] adds its chunks.
    pub fn new(
        query: &'q Query,
        rarity: &'q Rarity,
        importance: &'q FileImportance,
        definitions: HashMap<i64, [f64; 2]>,
    ) -> Ranking<'q> {
        Ranking {
            query,
            rarity,
            importance,
            candidates: Vec::new(),
            at: HashMap::new(),
            files: HashMap::new(),
            definitions,
        }
    }

    /// Adds the chunks found by words (with BM25 scores) and by vectors (with cosines), both best
    /// first, and the `most` best chunks of `definitions`.
    pub fn gather(&mut self, lexical: &[(i64, f64)], dense: &[(i64, f32)], most: usize) {
        let meaning = match (dense.is_empty(), lexical.is_empty()) {
            (true, _) => 0.0,
            (_, true) => 1.0,
            _ if self.query.is_symbol => MEANING_FOR_SYMBOL,
            _ => MEANING_FOR_PROSE,
        };
        let best = lexical.first().map_or(1.0, |l| l.1).max(f64::MIN_POSITIVE);
        for (id, score) in lexical {
            self.candidate(*id).sums.push(("words", (1.0 - meaning) * score / best));
        }
        // Cosines differ little, so they are scaled to the range from the last to the best candidate.
        let (top, last) = (dense.first().map_or(1.0, |d| d.1), dense.last().map_or(0.0, |d| d.1));
        for (id, cosine) in dense {
            let place = f64::from((cosine - last) / (top - last).max(1e-6));
            self.candidate(*id).sums.push(("meaning", meaning * place));
        }
        let mut defining: Vec<(i64, f64)> = self.definitions.iter().map(|(id, [a, b])| (*id, a + b)).collect();
        defining.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        self.admit(defining.into_iter().take(most).map(|(id, _)| id));
    }

    fn candidate(&mut self, id: i64) -> &mut Candidate {
        let next = self.candidates.len();
        let at = *self.at.entry(id).or_insert(next);
        if at == next {
            self.candidates.push(Candidate { id, place: None, file: 0, sums: Vec::new(), factors: Vec::new() });
        }
        &mut self.candidates[at]
    }

    /// Adds further chunks as candidates, without scores.
    pub fn admit(&mut self, ids: impl Iterator<Item = i64>) {
        for id in ids {
            self.candidate(id);
        }
    }

    /// Candidates without a place.
    pub fn missing(&self) -> Vec<i64> {
        self.candidates.iter().filter(|c| c.place.is_none()).map(|c| c.id).collect()
    }

    /// Adds the places of candidates, with the signals of their names and files.
    pub fn fill(&mut self, places: Vec<ChunkPlace>) {
        for place in places {
            let number = self.files.len();
            let file = self.files.entry(place.path.clone()).or_insert_with(|| File {
                number,
                gain: signals::path(self.query, self.rarity, &place.path),
                factors: signals::factors(self.query, self.importance, &place.path),
            });
            let [defines, hands_on] = self.definitions.get(&place.id).copied().unwrap_or_default();
            let mut factors = file.factors.clone();
            factors.extend(signals::test_inside(self.query, &file.factors, place.symbol.as_deref()));
            let (number, gain) = (file.number, file.gain);
            let candidate = self.candidate(place.id);
            candidate.sums.extend([("definition", defines), ("handed on", hands_on), ("path", gain)]);
            (candidate.file, candidate.factors, candidate.place) = (number, factors, Some(place));
        }
    }

    /// Adds to every chunk a bonus based on the sum of scores in its file.
    pub fn weigh_files(&mut self) {
        let mut files = vec![0.0; self.files.len()];
        for candidate in self.candidates.iter().filter(|c| c.place.is_some()) {
            files[candidate.file] += candidate.score();
        }
        let best = files.iter().copied().fold(0.0, f64::max).max(f64::MIN_POSITIVE);
        for candidate in self.candidates.iter_mut().filter(|c| c.place.is_some()) {
            candidate.sums.push(("file", COHERENCE * files[candidate.file] / best));
        }
    }

    /// The `count` best chunks so far.
    pub fn best(&self, count: usize) -> Vec<i64> {
        let mut all: Vec<(f64, i64)> = self.candidates.iter().map(|c| (c.score(), c.id)).collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        all.into_iter().take(count).map(|(_, id)| id).collect()
    }

    /// Adds the bonuses for neighbours in the graph, given as chunk and distance in steps.
    pub fn weigh_neighbours(&mut self, near: &[(i64, usize)]) {
        for (id, steps) in near {
            let gain = NEIGHBOUR * 0.5f64.powi(*steps as i32 - 1);
            self.candidate(*id).sums.push(("graph", gain));
        }
    }

    /// The `k` best chunks, chosen one by one; each further chunk of a file counts about a third as
    /// much as the previous one.
    pub fn finish(self, k: usize) -> Vec<Ranked> {
        let mut waiting: Vec<(f64, Candidate)> =
            self.candidates.into_iter().filter(|c| c.place.is_some()).map(|c| (c.score(), c)).collect();
        waiting.retain(|(score, _)| *score > 0.0);
        waiting.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.id.cmp(&b.1.id)));
        // The factor for the next chunk of each file.
        let mut left = vec![1.0; self.files.len()];
        let mut ranked = Vec::new();
        while ranked.len() < k && !waiting.is_empty() {
            let now = |(score, c): &(f64, Candidate)| score * left[c.file];
            // Ties go to the earlier candidate, so that the order is deterministic.
            let best =
                (0..waiting.len()).reduce(|a, b| if now(&waiting[b]) > now(&waiting[a]) { b } else { a }).unwrap_or(0);
            let score = now(&waiting[best]);
            let (before, candidate) = waiting.remove(best);
            left[candidate.file] *= REPEAT;
            let mut parts: Vec<(&'static str, f64)> = candidate.sums.into_iter().filter(|(_, v)| *v != 0.0).collect();
            parts.extend(candidate.factors);
            if score < before {
                parts.push(("×repeat", score / before));
            }
            ranked.push((candidate.id, score, parts));
        }
        ranked
    }
}
