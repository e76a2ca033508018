//! Narrows a distribution to the tokens worth drawing from: top-k, top-p, min-p.

use std::cmp::Ordering;

/// A token that may be drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    pub index: usize,
    pub logit: f32,
}

/// In order of likelihood; ties go to the lower index, so that equal logits give equal draws.
fn by_likelihood(a: &Candidate, b: &Candidate) -> Ordering {
    b.logit.total_cmp(&a.logit).then(a.index.cmp(&b.index))
}

/// The `k` most likely tokens in no particular order; all if `k` is 0. Logits of minus infinity and
/// NaN are left out.
pub fn top_k(logits: &[f32], k: usize) -> Vec<Candidate> {
    let k = if k == 0 { logits.len() } else { k.min(logits.len()) };
    let room = (2 * k).min(logits.len());
    let mut kept: Vec<Candidate> = Vec::with_capacity(room);
    // A logit not above the k-th best so far cannot be among the k best, because ties go to the
    // lower index.
    let mut floor = f32::NEG_INFINITY;
    for (index, &logit) in logits.iter().enumerate() {
        if logit > floor {
            kept.push(Candidate { index, logit });
            if kept.len() == room && room > k {
                keep_best(&mut kept, k);
                floor = kept[k - 1].logit;
            }
        }
    }
    keep_best(&mut kept, k);
    kept
}

/// Keeps the `k` most likely, with the k-th of them at index `k - 1`.
fn keep_best(candidates: &mut Vec<Candidate>, k: usize) {
    if k > 0 && candidates.len() > k {
        candidates.select_nth_unstable_by(k - 1, by_likelihood);
        candidates.truncate(k);
    }
}

/// The first guess at how many candidates top-p keeps; each further attempt quadruples it.
const GUESS: usize = 64;

/// Keeps the smallest set of most likely candidates whose probabilities, among all candidates, sum
/// to at least `p`.
pub fn top_p(candidates: &mut Vec<Candidate>, p: f32) {
    if p >= 1.0 {
        return;
    }
    let greatest = greatest(candidates);
    let weight = |candidate: &Candidate| f64::from(candidate.logit - greatest).exp();
    let wanted = f64::from(p) * candidates.iter().map(weight).sum::<f64>();
    let mut sorted = GUESS.min(candidates.len());
    // Terminates: the sum over all candidates is at least `wanted`, and `sorted` grows until it covers them all.
    loop {
        if sorted < candidates.len() {
            candidates.select_nth_unstable_by(sorted - 1, by_likelihood);
        }
        candidates[..sorted].sort_unstable_by(by_likelihood);
        let mut sum = 0.0;
        let reached = candidates[..sorted].iter().position(|candidate| {
            sum += weight(candidate);
            sum >= wanted
        });
        match reached {
            Some(last) => return candidates.truncate(last + 1),
            None if sorted == candidates.len() => return,
            None => sorted = (4 * sorted).min(candidates.len()),
        }
    }
}

/// Keeps the candidates at least `p` times as likely as the most likely one.
pub fn min_p(candidates: &mut Vec<Candidate>, p: f32) {
    if p > 0.0 {
        let least = greatest(candidates) + p.ln();
        candidates.retain(|candidate| candidate.logit >= least);
    }
}

/// The logit of the most likely candidate.
pub fn greatest(candidates: &[Candidate]) -> f32 {
    candidates.iter().map(|candidate| candidate.logit).fold(f32::NEG_INFINITY, f32::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sorted(mut candidates: Vec<Candidate>) -> Vec<Candidate> {
        candidates.sort_unstable_by(by_likelihood);
        candidates
    }

    fn check(candidates: Vec<Candidate>, expected: &[usize]) {
        let found: Vec<usize> = sorted(candidates).iter().map(|candidate| candidate.index).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn top_k_takes_the_lower_index_of_equals() {
        check(top_k(&[1.0, 3.0, 2.0, 3.0, 2.0], 3), &[1, 3, 2]);
        check(top_k(&[1.0, f32::NEG_INFINITY, f32::NAN], 3), &[0]);
        check(top_k(&[2.0, 1.0], 0), &[0, 1]);
        check(top_k(&[], 4), &[]);
    }

    #[test]
    fn top_p_of_a_half_takes_one_side_of_a_coin() {
        let cases: [(f32, &[usize]); 3] = [(0.5, &[0]), (0.51, &[0, 1]), (1.0, &[0, 1])];
        for (p, expected) in cases {
            let mut coin = top_k(&[0.0, 0.0], 0);
            top_p(&mut coin, p);
            check(coin, expected);
        }
    }

    proptest! {
        #[test]
        fn top_k_is_the_head_of_the_sorted_row(logits in proptest::collection::vec(-9i8..9, 1..300), k in 1usize..40) {
            let logits: Vec<f32> = logits.into_iter().map(f32::from).collect();
            let all = sorted(top_k(&logits, 0));
            prop_assert_eq!(all.len(), logits.len());
            prop_assert_eq!(sorted(top_k(&logits, k)), &all[..k.min(all.len())]);
        }

        #[test]
        fn top_p_keeps_the_smallest_set_that_reaches_it(
            logits in proptest::collection::vec(-9.0f32..9.0, 1..600), p in 0.01f32..0.999
        ) {
            let all = sorted(top_k(&logits, 0));
            let weights: Vec<f64> = all.iter().map(|one| f64::from(one.logit - all[0].logit).exp()).collect();
            let whole: f64 = weights.iter().sum();
            let mut kept = top_k(&logits, 0);
            top_p(&mut kept, p);
            let kept = sorted(kept);
            prop_assert_eq!(&kept[..], &all[..kept.len()]);
            let share = |count: usize| weights[..count].iter().sum::<f64>() / whole;
            prop_assert!(share(kept.len()) >= f64::from(p) - 1e-9);
            prop_assert!(share(kept.len() - 1) < f64::from(p) + 1e-9);
        }

        #[test]
        fn min_p_keeps_exactly_what_is_likely_enough(
            logits in proptest::collection::vec(-9.0f32..9.0, 1..100), p in 0.001f32..1.0
        ) {
            let mut kept = top_k(&logits, 0);
            let highest = greatest(&kept);
            min_p(&mut kept, p);
            prop_assert!(!kept.is_empty());
            for (index, &logit) in logits.iter().enumerate() {
                let share = f64::from(logit - highest).exp() / f64::from(p);
                if (share - 1.0).abs() > 1e-4 {
                    prop_assert_eq!(kept.iter().any(|one| one.index == index), share > 1.0);
                }
            }
        }
    }
}
