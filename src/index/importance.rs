//! Which chunks get their vectors first: those of symbols that much of the project leads to.

use std::collections::HashMap;

use super::{IndexError, store::Store};

/// Share of its rank that a symbol hands on, and rounds after which ranks hardly move: PageRank's own values.
const HANDED_ON: f64 = 0.85;
const ROUNDS: usize = 20;

/// The rank of every chunk that a symbol begins in.
pub fn of_chunks(store: &Store) -> Result<HashMap<i64, f64>, IndexError> {
    let symbols = store.symbol_chunks()?;
    let at: HashMap<i64, usize> = symbols.iter().enumerate().map(|(at, (symbol, _))| (*symbol, at)).collect();
    let links: Vec<(usize, usize, f64)> = store
        .links()?
        .into_iter()
        .filter_map(|(source, target, confidence)| Some((*at.get(&source)?, *at.get(&target)?, confidence)))
        .collect();
    let mut chunks = HashMap::new();
    for ((_, chunk), rank) in symbols.iter().zip(ranks(symbols.len(), &links)) {
        chunk.iter().for_each(|chunk| *chunks.entry(*chunk).or_default() += rank);
    }
    Ok(chunks)
}

/// PageRank over links (from, to, weight); what nobody leads to keeps its base. Ranks sum to at most one.
fn ranks(nodes: usize, links: &[(usize, usize, f64)]) -> Vec<f64> {
    let base = (1.0 - HANDED_ON) / nodes.max(1) as f64;
    let mut out = vec![0.0; nodes];
    links.iter().for_each(|(from, _, weight)| out[*from] += weight);
    let mut ranks = vec![base; nodes];
    for _ in 0..ROUNDS {
        let mut next = vec![base; nodes];
        for (from, to, weight) in links.iter().filter(|(from, _, _)| out[*from] > 0.0) {
            next[*to] += HANDED_ON * ranks[*from] * weight / out[*from];
        }
        ranks = next;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_much_leads_to_ranks_first_and_doubt_counts_less() {
        let ranks = ranks(5, &[(0, 3, 1.0), (1, 3, 1.0), (2, 3, 0.5), (2, 4, 0.1), (3, 3, 1.0)]);
        assert!(ranks[3] > ranks[4] && ranks[4] > ranks[0], "{ranks:?}");
        assert_eq!(ranks[0], ranks[1]);
        assert!(ranks.iter().sum::<f64>() <= 1.0);
        assert!(super::ranks(0, &[]).is_empty());
    }
}
