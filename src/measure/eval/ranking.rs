//! Scores a ranked list against the places it should contain: nDCG, reciprocal rank, recall.

use serde_json::{Value, json};

use super::{percentile, share_of};

/// Number of top places that count for nDCG.
const NDCG_PLACES: usize = 10;
const RECALL_PLACES: [usize; 3] = [1, 5, 10];

/// An expected entry of a list: a file, or a line of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    pub path: String,
    pub line: Option<usize>,
}

#[derive(Clone, Debug)]
pub struct Place {
    pub path: String,
    /// First and last line, counted from 1.
    pub start: usize,
    pub end: usize,
}

impl Place {
    fn covers(&self, target: &Target) -> bool {
        self.path == target.path && target.line.is_none_or(|line| (self.start..=self.end).contains(&line))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// As in the semble benchmark: each target counts at the rank of the first place that covers
    /// it.
    pub ndcg: f64,
    pub reciprocal_rank: f64,
    /// Share of targets within the first [`RECALL_PLACES`] places.
    pub recall: [f64; RECALL_PLACES.len()],
}

/// Scores a list, best first. Without targets, all scores are 0.
pub fn score(ranked: &[Place], targets: &[Target]) -> Score {
    let rank = |target: &Target| Some(ranked.iter().position(|place| place.covers(target))? + 1);
    let ranks: Vec<usize> = targets.iter().filter_map(rank).collect();
    let gain = |rank: usize| 1.0 / ((rank + 1) as f64).log2();
    let ideal: f64 = (1..=targets.len().min(NDCG_PLACES)).map(gain).sum();
    let gained: f64 = ranks.iter().filter(|rank| **rank <= NDCG_PLACES).map(|rank| gain(*rank)).sum();
    let share = |hits: usize| hits as f64 / targets.len().max(1) as f64;
    Score {
        ndcg: if ideal > 0.0 { gained / ideal } else { 0.0 },
        reciprocal_rank: ranks.iter().min().map_or(0.0, |best| 1.0 / *best as f64),
        recall: RECALL_PLACES.map(|places| share(ranks.iter().filter(|rank| **rank <= places).count())),
    }
}

#[derive(Default)]
pub struct Scores {
    all: Vec<(String, Score)>,
    ms: Vec<f64>,
}

impl Scores {
    pub fn add(&mut self, category: &str, score: Score, ms: f64) {
        self.all.push((category.to_owned(), score));
        self.ms.push(ms);
    }

    /// Means over all lists, as one JSON object.
    pub fn figures(mut self) -> Value {
        let of = |get: &dyn Fn(&Score) -> f64| mean(self.all.iter().map(|(_, score)| get(score)));
        let mut categories: Vec<&String> = self.all.iter().map(|(category, _)| category).collect();
        categories.sort();
        categories.dedup();
        let by_category: serde_json::Map<String, Value> = categories
            .into_iter()
            .map(|category| {
                let own: Vec<&Score> = self.all.iter().filter(|(c, _)| c == category).map(|(_, s)| s).collect();
                let figures = json!({ "cases": own.len(), "ndcg_at_10": mean(own.iter().map(|s| s.ndcg)),
                                      "mrr": mean(own.iter().map(|s| s.reciprocal_rank)) });
                (category.clone(), figures)
            })
            .collect();
        let mut figures = json!({
            "cases": self.all.len(), "ndcg_at_10": of(&|s| s.ndcg), "mrr": of(&|s| s.reciprocal_rank),
            "recall_at_1": of(&|s| s.recall[0]), "recall_at_5": of(&|s| s.recall[1]), "recall_at_10": of(&|s| s.recall[2]),
            "by_category": by_category,
        });
        for (name, share) in [("ms_p50", 0.5), ("ms_p95", 0.95)] {
            figures[name] = json!((percentile(&mut self.ms, share) * 100.0).round() / 100.0);
        }
        figures
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Value {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    share_of(sum, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ranked: &[&str], targets: &[&str], ndcg: f64, reciprocal_rank: f64, recall: [f64; 3]) {
        let place = |path: &&str| Place { path: (*path).to_owned(), start: 1, end: 9 };
        let target = |path: &&str| Target { path: (*path).to_owned(), line: None };
        let ranked: Vec<Place> = ranked.iter().map(place).collect();
        let found = score(&ranked, &targets.iter().map(target).collect::<Vec<_>>());
        assert!((found.ndcg - ndcg).abs() < 1e-3, "{found:?}");
        assert_eq!((found.reciprocal_rank, found.recall), (reciprocal_rank, recall));
    }

    #[test]
    fn each_target_counts_at_the_first_place_that_covers_it() {
        check(&["a", "b", "c"], &["a"], 1.0, 1.0, [1.0; 3]);
        check(&["x", "a", "a"], &["a"], 0.631, 0.5, [0.0, 1.0, 1.0]);
        check(&["a", "x", "b"], &["a", "b"], 0.920, 1.0, [0.5, 1.0, 1.0]);
        check(&["x", "x", "x", "x", "x", "x", "x", "x", "x", "x", "a"], &["a"], 0.0, 1.0 / 11.0, [0.0; 3]);
        check(&[], &["a"], 0.0, 0.0, [0.0; 3]);
        check(&["a"], &[], 0.0, 0.0, [0.0; 3]);
    }

    #[test]
    fn a_line_is_covered_only_by_the_place_around_it() {
        let places = [(1, 9), (10, 20)].map(|(start, end)| Place { path: "a".into(), start, end });
        assert_eq!(score(&places, &[Target { path: "a".into(), line: Some(10) }]).reciprocal_rank, 0.5);
    }
}
