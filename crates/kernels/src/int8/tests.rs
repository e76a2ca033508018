//! Tests of the eight-bit product.

use proptest::prelude::*;

use super::*;

/// The product in f64 of the unrounded numbers.
fn exact(x: &[f32], rows: &[f32], inputs: usize) -> Vec<f64> {
    let product = |x: &[f32], row: &[f32]| x.iter().zip(row).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
    x.chunks_exact(inputs).flat_map(|x| rows.chunks_exact(inputs).map(move |row| product(x, row))).collect()
}

fn largest(numbers: &[f32]) -> f64 {
    numbers.iter().fold(0.0, |largest, x| f64::from(x.abs()).max(largest))
}

fn check(x: &[f32], rows: &[f32], outputs: usize, inputs: usize) {
    let (weights, activations) = (Weights::new(rows, outputs, inputs), Activations::new(x, inputs));
    let count = x.len() / inputs;
    let mut reference = vec![f32::NAN; count * outputs];
    matmul_with(Dot::PORTABLE, &activations, &weights, &mut reference);
    for dot in Dot::available() {
        // A value that is never written stays NaN and fails the comparison.
        let mut found = vec![f32::NAN; count * outputs];
        matmul_with(dot, &activations, &weights, &mut found);
        assert_eq!(found, reference, "{dot:?}");
    }
    let expected = exact(x, rows, inputs);
    for (at, (found, expected)) in reference.iter().zip(expected).enumerate() {
        let (x, row) = (&x[at / outputs * inputs..][..inputs], &rows[at % outputs * inputs..][..inputs]);
        // Each factor is off by at most half a quantisation step, which is 1 / 254 of its largest
        // number.
        let bound = largest(x) * largest(row) * inputs as f64 * (2.0 / 254.0 + 1.0 / 254.0 / 254.0) + 1e-6;
        assert!((f64::from(*found) - expected).abs() <= bound, "place {at}: {found} is not {expected} ± {bound}");
    }
}

#[test]
fn each_row_is_multiplied_with_every_output() {
    check(&[1.0, 2.0], &[1.0, 0.0, 0.0, 1.0, 1.0, 1.0], 3, 2);
    check(&[-127.0, 127.0, 0.0, 5.0, 64.0], &[-1.0, 1.0, 1.0, -1.0, 1.0], 1, 5);
}

#[test]
fn whole_numbers_up_to_127_are_exact() {
    let rows: Vec<f32> = (0..40 * 12).map(|i| (i * 37 % 255) as f32 - 127.0).collect();
    let mut x: Vec<f32> = (0..13 * 12).map(|i| (i * 91 % 255) as f32 - 127.0).collect();
    x.chunks_exact_mut(12).for_each(|row| row[3] = 127.0);
    let rows: Vec<f32> = rows.chunks_exact(12).flat_map(|row| [&row[..11], &[-127.0]].concat()).collect();
    let mut found = vec![0.0; 13 * 40];
    matmul(&Activations::new(&x, 12), &Weights::new(&rows, 40, 12), &mut found);
    assert_eq!(found.iter().map(|x| f64::from(*x).round()).collect::<Vec<_>>(), exact(&x, &rows, 12));
}

#[test]
fn rows_of_zeros_and_empty_inputs_work() {
    check(&[0.0; 6], &[1.0, 2.0, 3.0], 1, 3);
    check(&[1.0, 2.0, 3.0], &[0.0; 6], 2, 3);
    check(&[], &[1.0, 2.0, 3.0], 1, 3);
    check(&[1e-35, 1e-36], &[1.0, 1.0], 1, 2);
}

#[test]
fn every_instruction_set_rounds_alike() {
    let rows: Vec<f32> = (0..37 * 9).map(|i| (i as f32 * 0.37).sin() * 3.0).collect();
    let filled = |simd| Activations::with(simd, &rows, 37);
    let reference = filled(Simd::PORTABLE);
    for simd in Simd::available() {
        let found = filled(simd);
        assert_eq!(found.scales, reference.scales, "{simd:?}");
        for (found, expected) in found.numbers.iter().zip(&reference.numbers) {
            // With or without FMA, a number halfway between two integers may be rounded up or down.
            assert!(found.abs_diff(*expected) <= 1, "{simd:?}: {found} is not {expected}");
        }
    }
}

#[test]
fn a_number_that_is_none_counts_as_zero() {
    let mut row = [f32::NAN; 33];
    row[32] = 2.0;
    for simd in Simd::available() {
        let activations = Activations::with(simd, &row, 33);
        assert_eq!(activations.numbers, [vec![128; 32], vec![255, 128, 128, 128]].concat(), "{simd:?}");
    }
}

proptest! {
    #[test]
    fn every_instruction_set_gives_the_same_sums(
        (x, rows, outputs, inputs) in (0usize..30, 1usize..80, 1usize..70).prop_flat_map(|(n, outputs, inputs)| (
            proptest::collection::vec(-1.0f32..1.0, n * inputs),
            proptest::collection::vec(-1.0f32..1.0, outputs * inputs),
            Just(outputs),
            Just(inputs),
        ))
    ) {
        check(&x, &rows, outputs, inputs);
    }
}
