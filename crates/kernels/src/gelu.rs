//! The activation between the two matrices of a feed-forward layer: bias, then GELU, in place.

use crate::exp::exp;
use crate::simd::{Simd, multiply_add};

/// `x = gelu(x + bias)` for every row of `rows` `[_, d]`, with `bias` `[d]`; GELU in its exact
/// form, `x * (1 + erf(x / √2)) / 2`.
///
/// # Panics
/// When `rows` is not a whole number of rows as long as the bias.
pub fn bias_gelu(rows: &mut [f32], bias: &[f32]) {
    bias_gelu_with(Simd::best(), rows, bias);
}

/// [`bias_gelu`] on a chosen instruction set.
pub fn bias_gelu_with(simd: Simd, rows: &mut [f32], bias: &[f32]) {
    if bias.is_empty() {
        return;
    }
    assert_eq!(rows.len() % bias.len(), 0, "rows as long as the bias; this is a bug in the caller of bias_gelu");
    compile_for_each!(simd, body(rows: &mut [f32], bias: &[f32]));
}

#[inline(always)]
fn body<const FMA: bool>(rows: &mut [f32], bias: &[f32]) {
    for row in rows.chunks_exact_mut(bias.len()) {
        for (x, bias) in row.iter_mut().zip(bias) {
            *x = gelu::<FMA>(*x + bias);
        }
    }
}

/// GELU with the error function from formula 7.1.26 of Abramowitz and Stegun. Its error is at most
/// 1.5e-7, so that of the result is at most 1e-7 times |x|.
#[inline(always)]
fn gelu<const FMA: bool>(x: f32) -> f32 {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / multiply_add::<FMA>(z, 0.327_591_1, 1.0);
    let mut series = 1.061_405_4;
    for coefficient in [-1.453_152, 1.421_413_7, -0.284_496_74, 0.254_829_6] {
        series = multiply_add::<FMA>(series, t, coefficient);
    }
    let erf = 1.0 - series * t * exp::<FMA>(-z * z);
    0.5 * x * (1.0 + erf.copysign(x))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::check_close;
    use proptest::prelude::*;

    fn check(x: f32, expected: f32) {
        for simd in Simd::available() {
            let mut row = [x];
            bias_gelu_with(simd, &mut row, &[0.0]);
            check_close(simd, &row, &[expected], 1e-6);
        }
    }

    #[test]
    fn gelu_has_its_published_values() {
        check(0.0, 0.0);
        check(1.0, 0.841_344_7);
        check(-1.0, -0.158_655_3);
        check(2.0, 1.954_499_7);
        check(-3.0, -0.004_049_7);
        check(30.0, 30.0);
        check(-30.0, 0.0);
    }

    proptest! {
        #[test]
        fn every_instruction_set_gives_the_portable_gelu(
            (bias, rows) in (1usize..70, 0usize..4).prop_flat_map(|(d, n)| (
                proptest::collection::vec(-5.0f32..5.0, d),
                proptest::collection::vec(-10.0f32..10.0, n * d),
            ))
        ) {
            let mut expected = rows.clone();
            bias_gelu_with(Simd::PORTABLE, &mut expected, &bias);
            for simd in Simd::available() {
                let mut found = rows.clone();
                bias_gelu_with(simd, &mut found, &bias);
                check_close(simd, &found, &expected, 5e-6);
            }
        }
    }
}
