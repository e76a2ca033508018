//! A fixed weight matrix times many rows: the weights are laid out once in the order the product reads them.

use crate::product::{COLUMNS, Left, Right, multiply};
use crate::simd::Simd;

/// A weight matrix [outputs, inputs] as blocks of 32 outputs, each block [inputs, 32], the last one padded with zeros.
#[derive(Clone, Debug)]
pub struct Weights {
    inputs: usize,
    outputs: usize,
    blocks: Vec<f32>,
}

impl Weights {
    /// Lays out `rows` [outputs, inputs].
    ///
    /// # Panics
    /// When `rows` has another size.
    pub fn new(rows: &[f32], outputs: usize, inputs: usize) -> Weights {
        assert_eq!(
            rows.len(),
            outputs * inputs,
            "{outputs} rows of {inputs}; this is a bug in the caller of Weights::new"
        );
        let mut blocks = vec![0.0; outputs.next_multiple_of(COLUMNS) * inputs];
        for output in 0..outputs {
            let block = &mut blocks[output / COLUMNS * COLUMNS * inputs..];
            for (input, weight) in rows[output * inputs..(output + 1) * inputs].iter().enumerate() {
                block[input * COLUMNS + output % COLUMNS] = *weight;
            }
        }
        Weights { inputs, outputs, blocks }
    }

    pub fn inputs(&self) -> usize {
        self.inputs
    }

    pub fn outputs(&self) -> usize {
        self.outputs
    }
}

/// `x` [n, inputs] times the transposed weights: [n, outputs].
///
/// # Panics
/// When `x` is not a whole number of rows.
pub fn matmul(x: &[f32], weights: &Weights) -> Vec<f32> {
    matmul_with(Simd::best(), x, weights)
}

/// [`matmul`] on a chosen instruction set.
pub fn matmul_with(simd: Simd, x: &[f32], weights: &Weights) -> Vec<f32> {
    let Weights { inputs, outputs, ref blocks } = *weights;
    if inputs == 0 || outputs == 0 {
        return Vec::new();
    }
    assert_eq!(x.len() % inputs, 0, "rows of {inputs}; this is a bug in the caller of matmul");
    let rows = x.len() / inputs;
    let mut out = vec![0.0; rows * outputs];
    if rows == 0 {
        return out;
    }
    let left = Left { numbers: x, stride: inputs, rows, inner: inputs };
    for (block, numbers) in blocks.chunks_exact(COLUMNS * inputs).enumerate() {
        let first = block * COLUMNS;
        let right = Right { numbers, stride: COLUMNS, columns: COLUMNS.min(outputs - first) };
        multiply(simd, left, right, &mut out[first..], outputs);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(x: &[f32], rows: &[f32], outputs: usize, inputs: usize) {
        let weights = Weights::new(rows, outputs, inputs);
        for simd in Simd::available() {
            let found = matmul_with(simd, x, &weights);
            assert_eq!(found.len(), x.len() / inputs * outputs);
            for (i, found) in found.iter().enumerate() {
                let (row, output) = (&x[i / outputs * inputs..], &rows[i % outputs * inputs..]);
                let expected: f32 = row.iter().zip(output).take(inputs).map(|(a, b)| a * b).sum();
                assert!((found - expected).abs() < 1e-4, "{simd:?}, place {i}: {found} is not {expected}");
            }
        }
    }

    #[test]
    fn a_row_meets_every_output() {
        check(&[1.0, 2.0], &[1.0, 0.0, 0.0, 1.0, 1.0, 1.0], 3, 2);
        assert!(matmul(&[], &Weights::new(&[1.0, 2.0], 1, 2)).is_empty());
    }

    proptest! {
        #[test]
        fn every_instruction_set_gives_the_sums_of_products(
            (x, rows, outputs, inputs) in (0usize..22, 1usize..80, 1usize..70).prop_flat_map(|(n, outputs, inputs)| (
                proptest::collection::vec(-1.0f32..1.0, n * inputs),
                proptest::collection::vec(-1.0f32..1.0, outputs * inputs),
                Just(outputs),
                Just(inputs),
            ))
        ) {
            check(&x, &rows, outputs, inputs);
        }
    }
}
