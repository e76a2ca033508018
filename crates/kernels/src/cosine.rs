//! Cosine similarity of one query vector with many rows, and selection of the best scores.

use std::cmp::Ordering;

use crate::simd::{Simd, multiply_add};

/// Cosine of `query` `[d]` against every row of `vectors` `[n, d]`, in order: n scores in -1..=1.
///
/// The vectors need not have unit length. A vector of length zero scores 0.
///
/// # Panics
/// When `vectors` is not a whole number of rows as long as the query.
pub fn cosine(query: &[f32], vectors: &[f32]) -> Vec<f32> {
    cosine_with(Simd::best(), query, vectors)
}

/// [`cosine`] on a chosen instruction set.
pub fn cosine_with(simd: Simd, query: &[f32], vectors: &[f32]) -> Vec<f32> {
    if query.is_empty() {
        assert!(vectors.is_empty(), "vectors without length have no rows; this is a bug in the caller of cosine");
        return Vec::new();
    }
    assert_eq!(vectors.len() % query.len(), 0, "rows as long as the query; this is a bug in the caller of cosine");
    let mut all = vec![0.0; vectors.len() / query.len()];
    let scores = &mut all[..];
    compile_for_each!(simd, body(query: &[f32], vectors: &[f32], scores: &mut [f32]));
    all
}

#[inline(always)]
fn body<const FMA: bool>(query: &[f32], vectors: &[f32], scores: &mut [f32]) {
    for (row, to) in vectors.chunks_exact(query.len()).zip(scores) {
        *to = score(query, row, sums::<FMA>(query, row));
    }
}

/// The `k` best scores as (row, score), best first; equal scores in row order. NaN scores are
/// omitted.
pub fn top_k(scores: &[f32], k: usize) -> Vec<(usize, f32)> {
    let better = |a: &(usize, f32), b: &(usize, f32)| -> Ordering { b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)) };
    let mut best: Vec<(usize, f32)> = scores.iter().copied().enumerate().filter(|(_, score)| !score.is_nan()).collect();
    if k == 0 {
        return Vec::new();
    }
    if best.len() > k {
        best.select_nth_unstable_by(k - 1, better);
        best.truncate(k);
    }
    best.sort_unstable_by(better);
    best
}

/// The three sums of a cosine: the product of both vectors, and the square of each.
#[derive(Clone, Copy)]
struct Sums {
    dot: f32,
    left: f32,
    right: f32,
}

/// Squares outside this range lose digits, overflow or vanish in f32; such rows are computed again in f64.
const SAFE_SQUARES: std::ops::Range<f32> = 1e-20..1e30;

fn score(query: &[f32], row: &[f32], sums: Sums) -> f32 {
    if SAFE_SQUARES.contains(&sums.left) && SAFE_SQUARES.contains(&sums.right) {
        return (sums.dot / (sums.left.sqrt() * sums.right.sqrt())).clamp(-1.0, 1.0);
    }
    let sum = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    let lengths = sum(query, query).sqrt() * sum(row, row).sqrt();
    if lengths == 0.0 { 0.0 } else { (sum(query, row) / lengths).clamp(-1.0, 1.0) as f32 }
}

/// Running sums side by side, which the compiler keeps in registers.
const LANES: usize = 16;

#[inline(always)]
fn sums<const FMA: bool>(a: &[f32], b: &[f32]) -> Sums {
    let mut lanes = [[0.0f32; LANES]; 3];
    let (a_lanes, a_rest) = a.as_chunks::<LANES>();
    let (b_lanes, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a_lanes.iter().zip(b_lanes) {
        for i in 0..LANES {
            lanes[0][i] = multiply_add::<FMA>(a[i], b[i], lanes[0][i]);
            lanes[1][i] = multiply_add::<FMA>(a[i], a[i], lanes[1][i]);
            lanes[2][i] = multiply_add::<FMA>(b[i], b[i], lanes[2][i]);
        }
    }
    let mut sums = Sums { dot: total(lanes[0]), left: total(lanes[1]), right: total(lanes[2]) };
    for (a, b) in a_rest.iter().zip(b_rest) {
        sums = Sums { dot: sums.dot + a * b, left: sums.left + a * a, right: sums.right + b * b };
    }
    sums
}

/// The sum of all lanes, halved each time to shorten the chain of dependent additions.
#[inline(always)]
fn total(mut lanes: [f32; LANES]) -> f32 {
    for half in [8, 4, 2, 1] {
        for i in 0..half {
            lanes[i] += lanes[i + half];
        }
    }
    lanes[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::check_close;
    use proptest::prelude::*;

    /// If only the order of summation differs, sums of at most 200 products of numbers below 10
    /// differ by much less than this.
    const TOLERANCE: f32 = 1e-5;

    fn check(query: &[f32], row: &[f32], expected: f32) {
        for simd in Simd::available() {
            check_close(simd, &cosine_with(simd, query, row), &[expected], TOLERANCE);
        }
    }

    #[test]
    fn the_cosine_measures_direction_alone() {
        check(&[1.0, 0.0], &[1.0, 0.0], 1.0);
        check(&[1.0, 0.0], &[0.0, 5.0], 0.0);
        check(&[2.0, 0.0], &[-7.0, 0.0], -1.0);
        check(&[3.0, 4.0], &[30.0, 0.0], 0.6);
    }

    #[test]
    fn huge_tiny_and_empty_vectors_have_a_cosine_too() {
        check(&[1e30, 1e30], &[1e-30, 1e-30], 1.0);
        check(&[1e-25, 0.0], &[1e25, 0.0], 1.0);
        check(&[1.0, 1.0], &[0.0, 0.0], 0.0);
        assert!(cosine(&[], &[]).is_empty());
        assert!(cosine(&[1.0, 2.0], &[]).is_empty());
    }

    #[test]
    fn the_best_come_first_and_equals_keep_their_order() {
        let scores = [0.1, 0.9, f32::NAN, 0.9, -0.5];
        assert_eq!(top_k(&scores, 3), [(1, 0.9), (3, 0.9), (0, 0.1)]);
        assert_eq!(top_k(&scores, 0), []);
        assert_eq!(top_k(&scores, 99).len(), 4);
        assert_eq!(top_k(&[], 5), []);
    }

    fn query_and_rows() -> impl Strategy<Value = (Vec<f32>, Vec<f32>)> {
        (1usize..200, 0usize..6).prop_flat_map(|(d, n)| {
            let number = -10.0f32..10.0;
            (proptest::collection::vec(number.clone(), d), proptest::collection::vec(number, n * d))
        })
    }

    proptest! {
        #[test]
        fn every_instruction_set_gives_the_portable_cosine((query, rows) in query_and_rows()) {
            let expected = cosine_with(Simd::PORTABLE, &query, &rows);
            prop_assert_eq!(expected.len() * query.len(), rows.len());
            for simd in Simd::available() {
                check_close(simd, &cosine_with(simd, &query, &rows), &expected, TOLERANCE);
            }
        }

        #[test]
        fn the_top_k_are_the_head_of_the_sorted_scores(scores in proptest::collection::vec(-1.0f32..1.0, 0..50), k in 0usize..60) {
            let mut sorted: Vec<(usize, f32)> = scores.iter().copied().enumerate().collect();
            sorted.sort_by(|a, b| b.1.total_cmp(&a.1));
            sorted.truncate(k);
            prop_assert_eq!(top_k(&scores, k), sorted);
        }
    }
}
