//! The exponential function from a few additions and multiplications, so that it vectorises.

use crate::simd::multiply_add;

/// `e^x` with a relative error below 3e-7. `x` is clamped to -87..=88, so the result is finite and above zero.
///
/// `x = n ln 2 + r` with integer `n` and `|r| <= ln 2 / 2`; `e^r` is its Taylor series to the sixth
/// power, and `2^n` is written into the exponent bits. Adding and subtracting 1.5 * 2^23 rounds to
/// an integer, because every f32 of that size is one.
#[inline(always)]
pub(crate) fn exp<const FMA: bool>(x: f32) -> f32 {
    const ROUND: f32 = 12_582_912.0;
    // ln 2 in two parts; the first is short enough that n times it is exact (Cody and Waite's
    // reduction).
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let x = x.clamp(-87.0, 88.0);
    let rounded = multiply_add::<FMA>(x, std::f32::consts::LOG2_E, ROUND);
    let n = rounded - ROUND;
    let r = multiply_add::<FMA>(n, -LN2_LOW, multiply_add::<FMA>(n, -LN2_HIGH, x));
    let mut series = 1.0 / 720.0;
    for coefficient in [1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        series = multiply_add::<FMA>(series, r, coefficient);
    }
    let power = f32::from_bits((rounded.to_bits() << 23).wrapping_add(1.0f32.to_bits()));
    series * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(x: f32) {
        let expected = f64::from(x).exp();
        for found in [exp::<false>(x), exp::<true>(x)] {
            let error = (f64::from(found) - expected).abs() / expected;
            assert!(error < 3e-7, "exp({x}) = {found}, expected {expected}, relative error {error:e}");
        }
    }

    #[test]
    fn the_series_follows_the_exponential_over_its_whole_range() {
        (-8700..8800).for_each(|i| check(i as f32 / 100.0));
        (-1000..1000).for_each(|i| check(i as f32 / 1e5));
        check(0.0);
    }

    #[test]
    fn outside_its_range_it_stays_finite() {
        assert!(exp::<false>(-1e9) < 2e-38);
        assert!(exp::<true>(f32::NEG_INFINITY) < 2e-38);
        assert!(exp::<false>(1e9).is_finite());
    }
}
