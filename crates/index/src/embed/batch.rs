//! Groups texts into batches of similar length within a token limit, and splits batches for threads.

/// Batches of indices of `lengths`, each of at most `tokens` tokens, longest texts first. A longer
/// text gets a batch of its own, shared only with empty texts. Every index occurs exactly once.
pub fn batches(lengths: &[usize], tokens: usize) -> Vec<Vec<usize>> {
    let mut places: Vec<usize> = (0..lengths.len()).collect();
    places.sort_by_key(|place| std::cmp::Reverse(lengths[*place]));
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut room = 0;
    for place in places {
        match batches.last_mut() {
            Some(batch) if lengths[place] <= room => {
                batch.push(place);
                room -= lengths[place];
            }
            _ => {
                batches.push(vec![place]);
                room = tokens.saturating_sub(lengths[place]);
            }
        }
    }
    batches
}

/// Splits a batch into at most `parts` ranges of about equally many tokens. No range is empty.
pub fn split(lengths: &[usize], parts: usize) -> Vec<std::ops::Range<usize>> {
    let total: usize = lengths.iter().sum();
    let mut runs = Vec::new();
    let (mut first, mut before) = (0, 0);
    for (place, length) in lengths.iter().enumerate() {
        before += length;
        let last = place + 1 == lengths.len();
        if last || before * parts >= total * (runs.len() + 1) && runs.len() + 1 < parts {
            runs.push(first..place + 1);
            first = place + 1;
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn texts_of_similar_length_share_a_batch_which_is_split_into_ranges_of_similar_token_counts() {
        let check = |lengths: &[usize], tokens, expected: &[&[usize]]| assert_eq!(batches(lengths, tokens), expected);
        check(&[], 10, &[]);
        check(&[3, 9, 1, 8], 10, &[&[1], &[3], &[0, 2]]);
        check(&[5, 5, 5], 10, &[&[0, 1], &[2]]);
        check(&[99, 1], 10, &[&[0], &[1]]);
        assert_eq!(split(&[4, 4, 4, 4], 2), [0..2, 2..4]);
        assert_eq!(split(&[9, 1, 1, 1], 2), [0..1, 1..4]);
        assert_eq!(split(&[7], 4), vec![0..1; 1]);
        assert!(split(&[], 2).is_empty());
    }

    proptest! {
        #[test]
        fn every_text_comes_once_and_no_batch_is_too_large(lengths in proptest::collection::vec(0usize..20, 0..60), tokens in 1usize..50) {
            let batches = batches(&lengths, tokens);
            let mut places = batches.concat();
            places.sort_unstable();
            prop_assert_eq!(places, (0..lengths.len()).collect::<Vec<_>>());
            for batch in batches {
                let sum: usize = batch.iter().map(|place| lengths[*place]).sum();
                let texts = batch.iter().filter(|place| lengths[**place] > 0).count();
                prop_assert!(texts <= 1 || sum <= tokens);
            }
        }

        #[test]
        fn a_split_covers_the_batch_in_order(lengths in proptest::collection::vec(0usize..20, 0..40), parts in 1usize..6) {
            let runs = split(&lengths, parts);
            prop_assert!(runs.len() <= parts && runs.iter().all(|run| !run.is_empty()));
            prop_assert_eq!(runs.into_iter().flatten().collect::<Vec<_>>(), (0..lengths.len()).collect::<Vec<_>>());
        }
    }
}
