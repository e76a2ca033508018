//! How much a file counts in its project: who refers to it, and whether a newer version stands beside it.

use std::collections::{HashMap, HashSet};

use super::paths::{self, Sort};

/// Share of importance that flows along links (Brin and Page); the rest is spread evenly.
const DAMPING: f64 = 0.85;
/// Rounds of the iteration. The error shrinks by `DAMPING` a round, to a few thousandths of the largest value.
const ROUNDS: usize = 40;

/// Importance and age of every file.
#[derive(Debug, Default)]
pub struct Standing {
    importance: HashMap<String, f64>,
    superseded: HashSet<String>,
}

impl Standing {
    /// From links between files (source, target, weight): PageRank, links of tests and examples left out. Links stand for resolved
    /// references, so what a barrel hands on counts for the file that defines it.
    pub fn new(files: &[&str], links: &[(&str, &str, f64)]) -> Standing {
        let at: HashMap<&str, usize> = files.iter().enumerate().map(|(n, file)| (*file, n)).collect();
        let speaks: Vec<bool> = files
            .iter()
            .map(|file| !paths::sorts(file).iter().any(|sort| matches!(sort, Sort::Test | Sort::Example)))
            .collect();
        let mut weights: HashMap<(usize, usize), f64> = HashMap::new();
        for (source, target, weight) in links {
            if let (Some(&source), Some(&target)) = (at.get(source), at.get(target))
                && source != target
                && speaks[source]
            {
                *weights.entry((source, target)).or_default() += weight;
            }
        }
        // In a fixed order, so that sums come out the same every time; many references say little more than some.
        let mut flows: Vec<(usize, usize, f64)> = weights.into_iter().map(|((s, t), w)| (s, t, w.ln_1p())).collect();
        flows.sort_by_key(|(source, target, _)| (*source, *target));
        let mut out = vec![0.0; files.len()];
        flows.iter().for_each(|(source, _, weight)| out[*source] += weight);
        let count = files.len().max(1) as f64;
        let mut rank = vec![1.0 / count; files.len()];
        for _ in 0..ROUNDS {
            let stuck: f64 = rank.iter().zip(&out).filter(|(_, out)| **out == 0.0).map(|(rank, _)| rank).sum();
            let mut next = vec![(1.0 - DAMPING) / count + DAMPING * stuck / count; files.len()];
            for (source, target, weight) in &flows {
                next[*target] += DAMPING * rank[*source] * weight / out[*source];
            }
            rank = next;
        }
        let best = rank.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let importance = files.iter().zip(rank).map(|(file, rank)| ((*file).to_owned(), rank / best)).collect();
        Standing { importance, superseded: paths::superseded(files.iter().copied()) }
    }

    /// From 0 to 1, the most important file of the project; 0 for a file that is not known.
    pub fn importance(&self, path: &str) -> f64 {
        self.importance.get(path).copied().unwrap_or(0.0)
    }

    /// Whether a newer version of it stands in the project.
    pub fn is_superseded(&self, path: &str) -> bool {
        self.superseded.contains(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_many_refer_to_counts_most_and_tests_have_no_say() {
        let files = ["core.ts", "a.ts", "b.ts", "a.test.ts", "b.test.ts", "helper.ts"];
        let links = [
            ("a.ts", "core.ts", 1.0),
            ("b.ts", "core.ts", 1.0),
            ("a.test.ts", "helper.ts", 9.0),
            ("b.test.ts", "helper.ts", 9.0),
            ("core.ts", "core.ts", 9.0),
            ("gone.ts", "a.ts", 9.0),
        ];
        let standing = Standing::new(&files, &links);
        assert_eq!(standing.importance("core.ts"), 1.0);
        assert!(standing.importance("helper.ts") < 0.6 && standing.importance("a.ts") < 0.6, "{standing:?}");
        assert_eq!(standing.importance("nowhere.ts"), 0.0);
    }
}
