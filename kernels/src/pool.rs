//! Mean pooling: one vector for each text, the mean of its tokens' hidden states scaled to unit length.

use crate::simd::{Level, Simd};

/// Mean of each sequence's rows, then L2-normalised: `hidden` [total tokens, d] packed without padding and the
/// sequences' `lengths` in tokens give [n, d]. An empty sequence, or one whose mean is zero, stays zero.
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
        add_rows(simd, rows, out);
        normalise(out);
    }
    pooled
}

/// Scales to unit length. It takes the sum of the rows, which has the same direction as their mean.
fn normalise(vector: &mut [f32]) {
    let square: f64 = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
    if square > 0.0 {
        let scale = 1.0 / square.sqrt();
        vector.iter_mut().for_each(|x| *x = (f64::from(*x) * scale) as f32);
    }
}

/// Adds the rows [_, d] to `out` [d].
fn add_rows(simd: Simd, rows: &[f32], out: &mut [f32]) {
    match simd.level() {
        Level::Portable => portable(rows, out),
        // SAFETY: a `Simd` of this level exists only after the processor was seen to have AVX2 and FMA.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { avx2(rows, out) },
        // SAFETY: a `Simd` of this level exists only after the processor was seen to have AVX-512F.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { avx512(rows, out) },
        // SAFETY: a `Simd` of this level exists only after the processor was seen to have NEON.
        #[cfg(target_arch = "aarch64")]
        Level::Neon => unsafe { neon(rows, out) },
    }
}

fn portable(rows: &[f32], out: &mut [f32]) {
    for row in rows.chunks_exact(out.len()) {
        out.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
    }
}

/// Adds the columns from `first` on, which do not fill the registers of a whole block.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn add_columns(rows: &[f32], out: &mut [f32], first: usize) {
    for row in rows.chunks_exact(out.len()) {
        out[first..].iter_mut().zip(&row[first..]).for_each(|(sum, x)| *sum += x);
    }
}

/// The sums of one block of columns stay in registers while all rows pass, so each value is read once and `out` is
/// written once. The block is four registers wide: enough sums in flight to hide an addition's latency.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2(rows: &[f32], out: &mut [f32]) {
    use std::arch::x86_64::*;
    let d = out.len();
    let whole = d / 32 * 32;
    for column in (0..whole).step_by(32) {
        let mut sums = [_mm256_setzero_ps(); 4];
        for row in rows.chunks_exact(d) {
            for (sum, block) in sums.iter_mut().zip(row[column..column + 32].as_chunks::<8>().0) {
                // SAFETY: the block is eight floats long, and the unaligned load asks for no alignment.
                *sum = _mm256_add_ps(*sum, unsafe { _mm256_loadu_ps(block.as_ptr()) });
            }
        }
        for (sum, block) in sums.iter().zip(out[column..column + 32].as_chunks_mut::<8>().0) {
            // SAFETY: the block is eight floats long, and the unaligned store asks for no alignment.
            unsafe { _mm256_storeu_ps(block.as_mut_ptr(), *sum) };
        }
    }
    add_columns(rows, out, whole);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn avx512(rows: &[f32], out: &mut [f32]) {
    use std::arch::x86_64::*;
    let d = out.len();
    let whole = d / 64 * 64;
    for column in (0..whole).step_by(64) {
        let mut sums = [_mm512_setzero_ps(); 4];
        for row in rows.chunks_exact(d) {
            for (sum, block) in sums.iter_mut().zip(row[column..column + 64].as_chunks::<16>().0) {
                // SAFETY: the block is sixteen floats long, and the unaligned load asks for no alignment.
                *sum = _mm512_add_ps(*sum, unsafe { _mm512_loadu_ps(block.as_ptr()) });
            }
        }
        for (sum, block) in sums.iter().zip(out[column..column + 64].as_chunks_mut::<16>().0) {
            // SAFETY: the block is sixteen floats long, and the unaligned store asks for no alignment.
            unsafe { _mm512_storeu_ps(block.as_mut_ptr(), *sum) };
        }
    }
    add_columns(rows, out, whole);
}

#[cfg(target_arch = "aarch64")]
#[target_feature(enable = "neon")]
fn neon(rows: &[f32], out: &mut [f32]) {
    use std::arch::aarch64::*;
    let d = out.len();
    let whole = d / 16 * 16;
    for column in (0..whole).step_by(16) {
        let mut sums = [vdupq_n_f32(0.0); 4];
        for row in rows.chunks_exact(d) {
            for (sum, block) in sums.iter_mut().zip(row[column..column + 16].as_chunks::<4>().0) {
                // SAFETY: the block is four floats long, and the load asks only for the alignment of a float.
                *sum = vaddq_f32(*sum, unsafe { vld1q_f32(block.as_ptr()) });
            }
        }
        for (sum, block) in sums.iter().zip(out[column..column + 16].as_chunks_mut::<4>().0) {
            // SAFETY: the block is four floats long, and the store asks only for the alignment of a float.
            unsafe { vst1q_f32(block.as_mut_ptr(), *sum) };
        }
    }
    add_columns(rows, out, whole);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Components of unit vectors: the sums below them are of at most 40 numbers, each below 100.
    const TOLERANCE: f32 = 1e-6;

    fn check(hidden: &[f32], d: usize, lengths: &[usize], expected: &[f32]) {
        for simd in Simd::available() {
            let found = mean_pool_with(simd, hidden, d, lengths);
            assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() < TOLERANCE, "{simd:?}: {found} is not {expected}");
            }
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
