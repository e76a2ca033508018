//! Picks the tool for one step where its form says none: what retrieval ranks first, or what worked before.

use crate::tools::Ranked;

/// Nats that a tool loses for having made what the step goes on from.
const MADE_IT: f32 = 3.0;
/// Candidates that a lesson may choose among; the right tool is seldom further down.
const CANDIDATES: usize = 5;
/// Two best candidates further apart than this, in nats of retrieval, leave no doubt.
const SURE_MARGIN: f32 = 0.6;

/// The tool a step goes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Place in the catalogue.
    pub tool: usize,
    /// Distance to the second best, squashed to 0–1.
    pub confidence: f64,
    /// The logarithm of the odds that the step needs this tool, as [`Ranked::fits`].
    pub fits: f32,
    /// Candidates, best first.
    pub order: Vec<usize>,
}

/// Whether retrieval alone decides.
pub fn is_sure(ranked: &[Ranked]) -> bool {
    ranked.get(1).is_none_or(|second| ranked[0].score - second.score >= SURE_MARGIN)
}

/// The choice of a tool that worked for a step like this one, if it is among the best.
pub fn known(ranked: &[Ranked], is: impl Fn(usize) -> bool, confidence: f64) -> Option<Choice> {
    let place = ranked.iter().take(CANDIDATES).position(|one| is(one.index))?;
    let mut order: Vec<usize> = ranked.iter().map(|one| one.index).collect();
    order[..=place].rotate_right(1);
    Some(Choice { tool: ranked[place].index, fits: f32::INFINITY, confidence, order })
}

/// Sets back the tools that made what a step goes on from: with a result one seldom does once more what gave it.
pub fn set_back(ranked: &mut [Ranked], made_it: impl Fn(usize) -> bool) {
    for one in ranked.iter_mut().filter(|one| made_it(one.index)) {
        one.score -= MADE_IT;
    }
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
}

/// The best of `ranked`; `None` when there is nothing to choose from.
pub fn choose(ranked: &[Ranked]) -> Option<Choice> {
    let best = ranked.first()?;
    let distance = ranked.get(1).map_or(f64::INFINITY, |second| f64::from(best.score - second.score));
    let order = ranked.iter().map(|one| one.index).collect();
    Some(Choice { tool: best.index, fits: best.fits, confidence: 1.0 - (-distance).exp(), order })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_made_a_result_gives_way_to_a_near_rival_and_not_to_a_far_one() {
        let ranked = |scores: [f32; 3]| -> Vec<Ranked> {
            let one = |(index, score)| Ranked { index, score, dense: 0.0, fits: 0.0 };
            scores.into_iter().enumerate().map(one).collect()
        };
        let check = |scores, made_it: usize, expected: [usize; 3]| {
            let mut ranked = ranked(scores);
            set_back(&mut ranked, |index| index == made_it);
            assert_eq!(ranked.iter().map(|one| one.index).collect::<Vec<_>>(), expected, "{scores:?}");
        };
        check([6.0, 5.5, 1.0], 0, [1, 0, 2]);
        check([9.0, 2.0, 1.0], 0, [0, 1, 2]);
        check([6.0, 5.5, 1.0], 7, [0, 1, 2]);
    }
}
