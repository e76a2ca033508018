//! Finds which files are important (PageRank over references), superseded by a newer version, or copies.

use std::collections::{HashMap, HashSet};

use super::paths::{self, Sort};

/// PageRank's damping factor (Brin and Page): the share of importance that flows along links; the
/// rest is distributed evenly.
const DAMPING: f64 = 0.85;
/// Number of iterations. Each multiplies the error by `DAMPING`, leaving a few thousandths of the
/// largest value.
const ROUNDS: usize = 40;

/// Importance of every file, and the superseded files.
#[derive(Debug, Default)]
pub struct FileImportance {
    importance: HashMap<String, f64>,
    superseded: HashSet<String>,
    copies: HashSet<String>,
}

impl FileImportance {
    /// PageRank from links between files (source, target, weight). Links from tests and examples
    /// are ignored. Links are resolved references, so a use of a re-exported name counts towards
    /// the file that defines it.
    pub fn new(files: &[&str], links: &[(&str, &str, f64)], copies: &HashSet<String>) -> FileImportance {
        let at: HashMap<&str, usize> = files.iter().enumerate().map(|(n, file)| (*file, n)).collect();
        let is_regular: Vec<bool> = files
            .iter()
            .map(|file| !paths::sorts(file).iter().any(|sort| matches!(sort, Sort::Test | Sort::Example)))
            .collect();
        let mut weights: HashMap<(usize, usize), f64> = HashMap::new();
        for (source, target, weight) in links {
            if let (Some(&source), Some(&target)) = (at.get(source), at.get(target))
                && source != target
                && is_regular[source]
            {
                *weights.entry((source, target)).or_default() += weight;
            }
        }
        // Sorted, so that sums are deterministic; logarithmic, because many references mean little
        // more than a few.
        let mut edges: Vec<(usize, usize, f64)> = weights.into_iter().map(|((s, t), w)| (s, t, w.ln_1p())).collect();
        edges.sort_by_key(|(source, target, _)| (*source, *target));
        let mut out = vec![0.0; files.len()];
        edges.iter().for_each(|(source, _, weight)| out[*source] += weight);
        let count = files.len().max(1) as f64;
        let mut rank = vec![1.0 / count; files.len()];
        for _ in 0..ROUNDS {
            let dangling: f64 = rank.iter().zip(&out).filter(|(_, out)| **out == 0.0).map(|(rank, _)| rank).sum();
            let mut next = vec![(1.0 - DAMPING) / count + DAMPING * dangling / count; files.len()];
            for (source, target, weight) in &edges {
                next[*target] += DAMPING * rank[*source] * weight / out[*source];
            }
            rank = next;
        }
        let best = rank.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let importance = files.iter().zip(rank).map(|(file, rank)| ((*file).to_owned(), rank / best)).collect();
        let superseded = paths::superseded(files.iter().copied());
        FileImportance { importance, superseded, copies: copies.clone() }
    }

    /// Importance from 0 to 1, where 1 is the most important file; 0 for an unknown file.
    pub fn importance(&self, path: &str) -> f64 {
        self.importance.get(path).copied().unwrap_or(0.0)
    }

    /// Whether most of the file's lines also occur in other files that look more like the source.
    pub fn is_copy(&self, path: &str) -> bool {
        self.copies.contains(path)
    }

    /// Whether the project has a newer version of the file.
    pub fn is_superseded(&self, path: &str) -> bool {
        self.superseded.contains(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_referenced_file_ranks_first_and_links_from_tests_are_ignored() {
        let files = ["core.ts", "a.ts", "b.ts", "a.test.ts", "b.test.ts", "helper.ts"];
        let links = [
            ("a.ts", "core.ts", 1.0),
            ("b.ts", "core.ts", 1.0),
            ("a.test.ts", "helper.ts", 9.0),
            ("b.test.ts", "helper.ts", 9.0),
            ("core.ts", "core.ts", 9.0),
            ("gone.ts", "a.ts", 9.0),
        ];
        let importance = FileImportance::new(&files, &links, &HashSet::new());
        assert_eq!(importance.importance("core.ts"), 1.0);
        assert!(importance.importance("helper.ts") < 0.6 && importance.importance("a.ts") < 0.6, "{importance:?}");
        assert_eq!(importance.importance("nowhere.ts"), 0.0);
    }
}
