//! Cosine similarity of one query vector with many rows, and the choice of the best scores.

use std::cmp::Ordering;

use crate::simd::{Level, Simd};

/// Cosine of `query` [d] against every row of `vectors` [n, d], in order: n scores in -1..=1.
///
/// The vectors need not be of unit length. With a vector of length zero the score is 0.
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
    vectors.chunks_exact(query.len()).map(|row| score(query, row, sums(simd, query, row))).collect()
}

/// The `k` best scores as (row, score), best first; of equal scores the earlier row. NaN scores are left out.
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

fn sums(simd: Simd, a: &[f32], b: &[f32]) -> Sums {
    match simd.level() {
        Level::Portable => portable(a, b),
        // SAFETY: a `Simd` of this level exists only after the processor was seen to have AVX2 and FMA.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { avx2(a, b) },
        // SAFETY: a `Simd` of this level exists only after the processor was seen to have AVX-512F.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { avx512(a, b) },
        // SAFETY: a `Simd` of this level exists only after the processor was seen to have NEON.
        #[cfg(target_arch = "aarch64")]
        Level::Neon => unsafe { neon(a, b) },
    }
}

/// Eight running sums, so that rounding stays as small as in the vector versions.
fn portable(a: &[f32], b: &[f32]) -> Sums {
    const LANES: usize = 8;
    let mut lanes = [[0.0f32; LANES]; 3];
    let (a_lanes, a_rest) = a.as_chunks::<LANES>();
    let (b_lanes, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a_lanes.iter().zip(b_lanes) {
        for i in 0..LANES {
            lanes[0][i] += a[i] * b[i];
            lanes[1][i] += a[i] * a[i];
            lanes[2][i] += b[i] * b[i];
        }
    }
    let [dot, left, right] = lanes.map(|sums| sums.iter().sum());
    with_rest(Sums { dot, left, right }, a_rest, b_rest)
}

fn with_rest(sums: Sums, a: &[f32], b: &[f32]) -> Sums {
    a.iter().zip(b).fold(sums, |s, (a, b)| Sums { dot: s.dot + a * b, left: s.left + a * a, right: s.right + b * b })
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2(a: &[f32], b: &[f32]) -> Sums {
    use std::arch::x86_64::*;
    #[target_feature(enable = "avx2,fma")]
    fn total(v: __m256) -> f32 {
        let half = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
        let pair = _mm_add_ps(half, _mm_movehl_ps(half, half));
        _mm_cvtss_f32(_mm_add_ss(pair, _mm_shuffle_ps::<1>(pair, pair)))
    }
    let [mut dot, mut left, mut right] = [_mm256_setzero_ps(); 3];
    let (a_lanes, a_rest) = a.as_chunks::<8>();
    let (b_lanes, b_rest) = b.as_chunks::<8>();
    for (a, b) in a_lanes.iter().zip(b_lanes) {
        // SAFETY: each chunk is eight floats long, and the unaligned load asks for no alignment.
        let (a, b) = unsafe { (_mm256_loadu_ps(a.as_ptr()), _mm256_loadu_ps(b.as_ptr())) };
        dot = _mm256_fmadd_ps(a, b, dot);
        left = _mm256_fmadd_ps(a, a, left);
        right = _mm256_fmadd_ps(b, b, right);
    }
    with_rest(Sums { dot: total(dot), left: total(left), right: total(right) }, a_rest, b_rest)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn avx512(a: &[f32], b: &[f32]) -> Sums {
    use std::arch::x86_64::*;
    let [mut dot, mut left, mut right] = [_mm512_setzero_ps(); 3];
    let (a_lanes, a_rest) = a.as_chunks::<16>();
    let (b_lanes, b_rest) = b.as_chunks::<16>();
    for (a, b) in a_lanes.iter().zip(b_lanes) {
        // SAFETY: each chunk is sixteen floats long, and the unaligned load asks for no alignment.
        let (a, b) = unsafe { (_mm512_loadu_ps(a.as_ptr()), _mm512_loadu_ps(b.as_ptr())) };
        dot = _mm512_fmadd_ps(a, b, dot);
        left = _mm512_fmadd_ps(a, a, left);
        right = _mm512_fmadd_ps(b, b, right);
    }
    let total = |v| _mm512_reduce_add_ps(v);
    with_rest(Sums { dot: total(dot), left: total(left), right: total(right) }, a_rest, b_rest)
}

#[cfg(target_arch = "aarch64")]
#[target_feature(enable = "neon")]
fn neon(a: &[f32], b: &[f32]) -> Sums {
    use std::arch::aarch64::*;
    let [mut dot, mut left, mut right] = [vdupq_n_f32(0.0); 3];
    let (a_lanes, a_rest) = a.as_chunks::<4>();
    let (b_lanes, b_rest) = b.as_chunks::<4>();
    for (a, b) in a_lanes.iter().zip(b_lanes) {
        // SAFETY: each chunk is four floats long, and the load asks only for the alignment of a float.
        let (a, b) = unsafe { (vld1q_f32(a.as_ptr()), vld1q_f32(b.as_ptr())) };
        dot = vfmaq_f32(dot, a, b);
        left = vfmaq_f32(left, a, a);
        right = vfmaq_f32(right, b, b);
    }
    with_rest(Sums { dot: vaddvq_f32(dot), left: vaddvq_f32(left), right: vaddvq_f32(right) }, a_rest, b_rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Sums of at most 200 products of numbers below 10 differ by their order alone: far less than this.
    const TOLERANCE: f32 = 1e-5;

    fn check(query: &[f32], row: &[f32], expected: f32) {
        for simd in Simd::available() {
            let scores = cosine_with(simd, query, row);
            assert!((scores[0] - expected).abs() < TOLERANCE, "{simd:?} gives {scores:?}, expected {expected}");
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
                let found = cosine_with(simd, &query, &rows);
                for (found, expected) in found.iter().zip(&expected) {
                    prop_assert!((found - expected).abs() < TOLERANCE, "{:?}: {} is not {}", simd, found, expected);
                }
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
