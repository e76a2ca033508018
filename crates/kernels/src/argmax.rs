//! Finds the index of the greatest number.

use crate::simd::Simd;

/// Numbers per block: few enough that the second read comes from the L1 cache.
const BLOCK: usize = 2048;
/// Sixteen lanes, which the compiler keeps in registers.
pub(crate) const LANES: usize = 16;

/// Index of the greatest value, the first if several are equal; ignores NaN. 0 if no other values
/// exist.
pub fn argmax(values: &[f32]) -> usize {
    argmax_with(Simd::best(), values)
}

/// [`argmax`] on a chosen instruction set.
pub fn argmax_with(simd: Simd, values: &[f32]) -> usize {
    let mut found = (0, f32::NEG_INFINITY);
    let out = &mut found;
    compile_for_each!(simd, body(values: &[f32], out: &mut (usize, f32)));
    let (block, best) = found;
    let at = values[block..].iter().position(|value| *value == best);
    // If every number is minus infinity, any index will do.
    at.map_or(0, |at| block + at)
}

/// The start of the first block with the greatest value, and that value.
#[inline(always)]
fn body<const FMA: bool>(values: &[f32], out: &mut (usize, f32)) {
    for (number, block) in values.chunks(BLOCK).enumerate() {
        let greatest = greatest(block);
        if greatest > out.1 {
            *out = (number * BLOCK, greatest);
        }
    }
}

/// The greatest value of a block; minus infinity if all values are NaN.
#[inline(always)]
pub(crate) fn greatest(block: &[f32]) -> f32 {
    let (sixteens, rest) = block.as_chunks::<LANES>();
    let mut lanes = [f32::NEG_INFINITY; LANES];
    for numbers in sixteens {
        for (lane, x) in lanes.iter_mut().zip(numbers) {
            *lane = if *x > *lane { *x } else { *lane };
        }
    }
    lanes.iter().chain(rest).copied().fold(f32::NEG_INFINITY, f32::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(values: &[f32], expected: usize) {
        for simd in Simd::available() {
            assert_eq!(argmax_with(simd, values), expected, "{simd:?}");
        }
    }

    #[test]
    fn the_first_of_equals_counts_and_nan_does_not() {
        check(&[], 0);
        check(&[1.0, 3.0, 3.0], 1);
        check(&[f32::NAN, -1.0, 2.0, f32::NAN], 2);
        check(&[f32::NEG_INFINITY; 3], 0);
        check(&[f32::NAN; 20], 0);
        let mut far = vec![0.0; 3 * BLOCK + 5];
        (far[2 * BLOCK + 1], far[3 * BLOCK + 4]) = (7.0, 7.0);
        check(&far, 2 * BLOCK + 1);
    }

    proptest! {
        #[test]
        fn every_instruction_set_finds_it(values in proptest::collection::vec(-30i8..30, 1..6000)) {
            let values: Vec<f32> = values.into_iter().map(f32::from).collect();
            let greatest = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let first = values.iter().position(|value| *value == greatest).unwrap_or(0);
            check(&values, first);
        }
    }
}
