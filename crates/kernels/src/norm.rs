//! Adds bias and residual to rows and normalises them in place, after each half of a transformer layer.

use crate::simd::{Simd, multiply_add};

/// The parameters of [`add_norm`], each slice `[d]`.
#[derive(Clone, Copy, Debug)]
pub struct Norm<'a> {
    /// Bias of the preceding matrix product.
    pub bias: &'a [f32],
    pub weight: &'a [f32],
    pub shift: &'a [f32],
    /// Added to the variance, so that a row of equal numbers does not divide by zero.
    pub epsilon: f32,
}

/// `x = layer_norm(x + bias + residual) * weight + shift` for every row of `rows` and `residual`,
/// both [_, d].
///
/// # Panics
/// When the sizes of rows, residual and parameters do not match.
pub fn add_norm(rows: &mut [f32], residual: &[f32], norm: Norm) {
    add_norm_with(Simd::best(), rows, residual, norm);
}

/// [`add_norm`] on a chosen instruction set.
pub fn add_norm_with(simd: Simd, rows: &mut [f32], residual: &[f32], norm: Norm) {
    let d = norm.bias.len();
    assert!(
        rows.len() == residual.len() && norm.weight.len() == d && norm.shift.len() == d && rows.len().is_multiple_of(d),
        "rows, residual and parameters of one width; this is a bug in the caller of add_norm"
    );
    if d > 0 {
        compile_for_each!(simd, body(rows: &mut [f32], residual: &[f32], norm: Norm));
    }
}

#[inline(always)]
fn body<const FMA: bool>(rows: &mut [f32], residual: &[f32], norm: Norm) {
    let d = norm.bias.len();
    for (row, residual) in rows.chunks_exact_mut(d).zip(residual.chunks_exact(d)) {
        for ((x, residual), bias) in row.iter_mut().zip(residual).zip(norm.bias) {
            *x += residual + bias;
        }
        let mean = sum::<FMA>(row, |x| x) / d as f32;
        let variance = sum::<FMA>(row, |x| (x - mean) * (x - mean)) / d as f32;
        let scale = 1.0 / (variance + norm.epsilon).sqrt();
        for ((x, weight), shift) in row.iter_mut().zip(norm.weight).zip(norm.shift) {
            *x = multiply_add::<FMA>((*x - mean) * scale, *weight, *shift);
        }
    }
}

/// The sum of `f` over a row in sixteen lanes, which the compiler keeps in registers.
#[inline(always)]
fn sum<const FMA: bool>(row: &[f32], f: impl Fn(f32) -> f32) -> f32 {
    const LANES: usize = 16;
    let (blocks, rest) = row.as_chunks::<LANES>();
    let mut lanes = [0.0f32; LANES];
    for block in blocks {
        for (lane, x) in lanes.iter_mut().zip(block) {
            *lane += f(*x);
        }
    }
    lanes.iter().sum::<f32>() + rest.iter().map(|x| f(*x)).sum::<f32>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::check_close;
    use proptest::prelude::*;

    fn check(row: &[f32], residual: &[f32], bias: &[f32], expected: &[f32]) {
        let ones = vec![1.0; row.len()];
        let zeros = vec![0.0; row.len()];
        for simd in Simd::available() {
            let mut found = row.to_vec();
            let norm = Norm { bias, weight: &ones, shift: &zeros, epsilon: 1e-12 };
            add_norm_with(simd, &mut found, residual, norm);
            check_close(simd, &found, expected, 1e-5);
        }
    }

    #[test]
    fn a_row_gets_mean_zero_and_deviation_one_after_the_additions() {
        check(&[1.0, 3.0], &[0.0, 0.0], &[0.0, 0.0], &[-1.0, 1.0]);
        check(&[0.0, 0.0], &[1.0, 0.0], &[0.0, 3.0], &[-1.0, 1.0]);
        check(&[5.0, 5.0, 5.0], &[0.0; 3], &[0.0; 3], &[0.0, 0.0, 0.0]);
    }

    proptest! {
        #[test]
        fn every_instruction_set_gives_the_portable_norm(
            (rows, residual, parameters) in (2usize..90, 0usize..4).prop_flat_map(|(d, n)| (
                proptest::collection::vec(-5.0f32..5.0, n * d),
                proptest::collection::vec(-5.0f32..5.0, n * d),
                proptest::collection::vec(-2.0f32..2.0, 3 * d),
            ))
        ) {
            let d = parameters.len() / 3;
            let norm = Norm {
                bias: &parameters[..d],
                weight: &parameters[d..2 * d],
                shift: &parameters[2 * d..],
                epsilon: 1e-3,
            };
            let mut expected = rows.clone();
            add_norm_with(Simd::PORTABLE, &mut expected, &residual, norm);
            for simd in Simd::available() {
                let mut found = rows.clone();
                add_norm_with(simd, &mut found, &residual, norm);
                check_close(simd, &found, &expected, 1e-3);
            }
        }
    }
}
