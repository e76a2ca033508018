//! Entropy and varentropy of the softmax of a row of logits, in one pass: how certain a model is of its next token.

use crate::argmax::{LANES, greatest};
use crate::exp::exp;
use crate::simd::{Simd, multiply_add};

/// Mean and variance of the surprisals `-ln p` of a distribution.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Entropy {
    /// In nats: 0 when one outcome is certain, `ln n` when `n` are equally likely.
    pub entropy: f32,
    /// In nats squared: 0 when all possible outcomes are equally likely.
    pub varentropy: f32,
}

/// Entropy and varentropy of `softmax(logits)`. Ignores minus infinity and NaN; both results are 0
/// if no other values exist.
///
/// With `d = x - max`, `s = sum e^d`, `a = sum d e^d / s` and `b = sum d² e^d / s` the surprisal of
/// an entry is `ln s - d`, so entropy is `ln s - a` and varentropy `b - a²`. The maximum is only
/// known at the end: sums made with an earlier maximum are converted to the new one (see
/// [`Sums::moved`]), as in online softmax (Milakov and Gimelshein, 2018).
pub fn entropy(logits: &[f32]) -> Entropy {
    entropy_with(Simd::best(), logits)
}

/// [`entropy`] on a chosen instruction set.
pub fn entropy_with(simd: Simd, logits: &[f32]) -> Entropy {
    let mut sums = Sums::default();
    let out = &mut sums;
    compile_for_each!(simd, body(logits: &[f32], out: &mut Sums));
    sums.entropy()
}

/// Logits per block: few enough that the second read comes from the L1 cache, enough that sums are
/// rarely converted.
const BLOCK: usize = 2048;
/// `e^d` below this `d` is lost in an f32 sum that holds `e^0`; it also keeps minus infinity out of `d e^d`.
const LOWEST: f32 = -87.0;

/// Sums of `e^d`, `d e^d` and `d² e^d` over the values read so far, where `d` is the distance to
/// the greatest of them.
struct Sums {
    greatest: f32,
    zeroth: f64,
    first: f64,
    second: f64,
}

impl Default for Sums {
    fn default() -> Sums {
        Sums { greatest: f32::NEG_INFINITY, zeroth: 0.0, first: 0.0, second: 0.0 }
    }
}

impl Sums {
    /// The same sums for a greater maximum: every `d` becomes `d - by`, and every `e^d` becomes
    /// `e^d e^-by`.
    fn moved(&self, greatest: f32) -> Sums {
        if self.zeroth == 0.0 {
            return Sums { greatest, ..Sums::default() };
        }
        let by = f64::from(greatest) - f64::from(self.greatest);
        let factor = (-by).exp();
        Sums {
            greatest,
            zeroth: factor * self.zeroth,
            first: factor * (self.first - by * self.zeroth),
            second: factor * (self.second - 2.0 * by * self.first + by * by * self.zeroth),
        }
    }

    fn entropy(&self) -> Entropy {
        if self.zeroth == 0.0 {
            return Entropy::default();
        }
        let mean = self.first / self.zeroth;
        // Rounding may make either result slightly negative.
        let entropy = (self.zeroth.ln() - mean).max(0.0);
        let varentropy = (self.second / self.zeroth - mean * mean).max(0.0);
        Entropy { entropy: entropy as f32, varentropy: varentropy as f32 }
    }
}

#[inline(always)]
fn body<const FMA: bool>(logits: &[f32], out: &mut Sums) {
    for block in logits.chunks(BLOCK) {
        let greatest = greatest(block);
        if greatest == f32::NEG_INFINITY {
            continue;
        }
        if greatest > out.greatest {
            *out = out.moved(greatest);
        }
        let [zeroth, first, second] = powers::<FMA>(block, out.greatest);
        out.zeroth += zeroth;
        out.first += first;
        out.second += second;
    }
}

/// The sums of `e^d`, `d e^d` and `d² e^d` over a block.
#[inline(always)]
fn powers<const FMA: bool>(block: &[f32], greatest: f32) -> [f64; 3] {
    let (sixteens, rest) = block.as_chunks::<LANES>();
    let mut lanes = [[0.0f32; LANES]; 3];
    for numbers in sixteens {
        for (lane, x) in numbers.iter().enumerate() {
            add::<FMA>(&mut lanes, lane, x - greatest);
        }
    }
    for (lane, x) in rest.iter().enumerate() {
        add::<FMA>(&mut lanes, lane, x - greatest);
    }
    // In f64, because in f32 a thousand unlikely entries could be lost next to a dominant entry of
    // 1.
    lanes.map(|lanes| lanes.iter().map(|&sum| f64::from(sum)).sum())
}

#[inline(always)]
fn add<const FMA: bool>(lanes: &mut [[f32; LANES]; 3], lane: usize, distance: f32) {
    let distance = distance.max(LOWEST);
    let weight = exp::<FMA>(distance);
    let weighted = weight * distance;
    lanes[0][lane] += weight;
    lanes[1][lane] += weighted;
    lanes[2][lane] = multiply_add::<FMA>(weighted, distance, lanes[2][lane]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reference in f64, in two passes.
    fn reference(logits: &[f32]) -> (f64, f64) {
        let possible: Vec<f64> = logits.iter().filter(|x| **x > f32::NEG_INFINITY).map(|x| f64::from(*x)).collect();
        let greatest = possible.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = possible.iter().map(|x| (x - greatest).exp()).sum();
        let surprisals = possible.iter().map(|x| sum.ln() - (x - greatest));
        let entropy: f64 = surprisals.clone().map(|surprisal| (-surprisal).exp() * surprisal).sum();
        (entropy, surprisals.map(|surprisal| (-surprisal).exp() * (surprisal - entropy).powi(2)).sum())
    }

    fn check(logits: &[f32], (entropy, varentropy): (f64, f64)) {
        for simd in Simd::available() {
            let found = entropy_with(simd, logits);
            let near = |found: f32, expected: f64| (f64::from(found) - expected).abs() < 1e-4 * (1.0 + expected);
            let fits = near(found.entropy, entropy) && near(found.varentropy, varentropy);
            assert!(fits, "{simd:?}: {found:?}, expected {entropy} and {varentropy}");
        }
    }

    #[test]
    fn known_distributions_have_their_entropy() {
        let never = f32::NEG_INFINITY;
        check(&[], (0.0, 0.0));
        check(&[never, never], (0.0, 0.0));
        check(&[3.0], (0.0, 0.0));
        check(&[never, -40.0, f32::NAN], (0.0, 0.0));
        check(&[1.0, never, 1.0], (2f64.ln(), 0.0));
        check(&vec![-7.5; 65_536], (65_536f64.ln(), 0.0));
        // A biased coin that lands on one side three times out of four.
        let (often, seldom) = ((0.75f64).ln(), (0.25f64).ln());
        let mean = -0.75 * often - 0.25 * seldom;
        check(&[often as f32, seldom as f32], (mean, 0.75 * often * often + 0.25 * seldom * seldom - mean * mean));
    }

    #[test]
    fn a_greater_value_in_a_later_block_gives_the_right_entropy() {
        let rising: Vec<f32> = (0..5 * BLOCK + 3).map(|n| n as f32 / 100.0).collect();
        check(&rising, reference(&rising));
        let masked: Vec<f32> = (0..3 * BLOCK).map(|n| if n < 2 * BLOCK { f32::NEG_INFINITY } else { 0.5 }).collect();
        check(&masked, ((BLOCK as f64).ln(), 0.0));
    }

    proptest! {
        #[test]
        fn every_instruction_set_gives_the_numbers_of_f64(
            logits in proptest::collection::vec(prop_oneof![8 => -30.0f32..30.0, 1 => Just(f32::NEG_INFINITY)], 1..6000)
        ) {
            prop_assume!(logits.iter().any(|x| x.is_finite()));
            check(&logits, reference(&logits));
        }
    }
}
