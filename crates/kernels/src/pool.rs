//! Mean pooling: one vector per text, the mean of its tokens' hidden states scaled to unit length.

use crate::simd::Simd;

/// Mean of each sequence's rows, L2-normalised: [n, d] from `hidden` [total tokens, d], packed
/// without padding, and the sequences' `lengths` in tokens. An empty sequence, or one whose mean is
/// zero, gives zeros.
///
/// # Panics
/// When the number of rows of `hidden` is not the sum of `lengths`.
pub fn mean_pool(hidden: &[f32], d: usize, lengths: &[usize]) -> Vec<f32> {
    mean_pool_with(Simd::best(), hidden, d, lengths)
}

/// [`mean_pool`] on a chosen instruction set.
pub fn mean_pool_with(simd: Simd, hidden: &[f32], d: usize, lengths: &[usize]) -> Vec<f32> {
    let tokens: usize = lengths.iter().sum();
    assert_eq!(hidden.len(), tokens * d, "{tokens} rows of {d}; this is a bug in the caller of mean_pool");
    let mut pooled = vec![0.0; lengths.len() * d];
    if d == 0 {
        return pooled;
    }
    let mut rest = hidden;
    for (length, out) in lengths.iter().zip(pooled.chunks_exact_mut(d)) {
        let (rows, after) = rest.split_at(length * d);
        rest = after;
        compile_for_each!(simd, add_rows(rows: &[f32], out: &mut [f32]));
        normalise(out);
    }
    pooled
}

/// Scales to unit length. Works on the sum of the rows, which has the same direction as their mean.
fn normalise(vector: &mut [f32]) {
    let square: f64 = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
    if square > 0.0 {
        let scale = 1.0 / square.sqrt();
        vector.iter_mut().for_each(|x| *x = (f64::from(*x) * scale) as f32);
    }
}

/// Adds the rows `[_, d]` to `out` `[d]`.
#[inline(always)]
fn add_rows<const FMA: bool>(rows: &[f32], out: &mut [f32]) {
    for row in rows.chunks_exact(out.len()) {
        for (sum, x) in out.iter_mut().zip(row) {
            *sum += x;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::check_close;
    use proptest::prelude::*;

    /// For components of unit vectors, from sums of at most 40 numbers below 100.
    const TOLERANCE: f32 = 1e-6;

    fn check(hidden: &[f32], d: usize, lengths: &[usize], expected: &[f32]) {
        for simd in Simd::available() {
            check_close(simd, &mean_pool_with(simd, hidden, d, lengths), expected, TOLERANCE);
        }
    }

    #[test]
    fn each_sequence_becomes_the_direction_of_its_mean() {
        check(&[3.0, 4.0], 2, &[1], &[0.6, 0.8]);
        check(&[1.0, 0.0, 0.0, 1.0, 0.0, -2.0], 2, &[2, 1], &[0.5f32.sqrt(), 0.5f32.sqrt(), 0.0, -1.0]);
    }

    #[test]
    fn empty_sequences_and_zero_means_stay_zero() {
        check(&[], 3, &[], &[]);
        check(&[0.0, 2.0], 2, &[0, 1, 0], &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
        check(&[1.0, -1.0], 1, &[2], &[0.0]);
    }

    fn packed() -> impl Strategy<Value = (Vec<f32>, usize, Vec<usize>)> {
        (1usize..150, proptest::collection::vec(0usize..10, 0..5)).prop_flat_map(|(d, lengths)| {
            let tokens: usize = lengths.iter().sum();
            (proptest::collection::vec(1.0f32..100.0, tokens * d), Just(d), Just(lengths))
        })
    }

    proptest! {
        #[test]
        fn every_instruction_set_gives_the_portable_mean((hidden, d, lengths) in packed()) {
            let expected = mean_pool_with(Simd::PORTABLE, &hidden, d, &lengths);
            check(&hidden, d, &lengths, &expected);
            for (vector, length) in expected.chunks_exact(d).zip(&lengths) {
                let square: f32 = vector.iter().map(|x| x * x).sum();
                prop_assert!(*length == 0 && square == 0.0 || (square - 1.0).abs() < 1e-5);
            }
        }
    }
}
