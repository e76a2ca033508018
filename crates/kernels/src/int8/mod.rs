//! Matrix products with fixed weights in eight bits.
//!
//! They take a quarter of the memory of f32, and one instruction computes four to eight times as
//! many products. Both sides are quantised symmetrically: a weight is `q * scale of its output`, an
//! activation `q * scale of its row`,
//! |q| <= 127. Sums of eight-bit products are whole numbers, so every instruction set gives the same bits.

mod dot;

pub use dot::Dot;

use crate::simd::{Simd, multiply_add};
use dot::{GROUP, PANEL, Tile};

/// A weight matrix `[outputs, inputs]` in panels of 16 outputs: `[inputs / 4][16][4]`, padded with zeros.
#[derive(Clone, Debug)]
pub struct Weights {
    inputs: usize,
    outputs: usize,
    panels: Vec<i8>,
    /// The scale of each output, padded like the panels.
    scales: Vec<f32>,
    /// 128 times the sum of each output's weights: what the activations' offset of 128 adds to its
    /// result.
    excess: Vec<i32>,
}

impl Weights {
    /// Quantises `rows` [outputs, inputs], scaling each output by its own largest weight.
    ///
    /// # Panics
    /// When `rows` has another size.
    pub fn new(rows: &[f32], outputs: usize, inputs: usize) -> Weights {
        assert_eq!(
            rows.len(),
            outputs * inputs,
            "{outputs} rows of {inputs}; this is a bug in the caller of Weights::new"
        );
        let (groups, padded) = (inputs.div_ceil(GROUP), outputs.next_multiple_of(PANEL));
        let mut weights = Weights {
            inputs,
            outputs,
            panels: vec![0; padded * groups * GROUP],
            scales: vec![0.0; padded],
            excess: vec![0; padded],
        };
        let quantised = if inputs == 0 { Activations::default() } else { Activations::new(rows, inputs) };
        for (output, row) in quantised.numbers.chunks_exact((groups * GROUP).max(1)).enumerate() {
            let panel = &mut weights.panels[output / PANEL * PANEL * groups * GROUP..];
            let mut sum = 0;
            for (group, four) in row.as_chunks::<GROUP>().0.iter().enumerate() {
                let signed = four.map(|moved| (moved ^ 128) as i8);
                panel[(group * PANEL + output % PANEL) * GROUP..][..GROUP].copy_from_slice(&signed);
                sum += signed.iter().map(|weight| i32::from(*weight)).sum::<i32>();
            }
            weights.scales[output] = quantised.scales[output];
            weights.excess[output] = 128 * sum;
        }
        weights
    }

    pub fn inputs(&self) -> usize {
        self.inputs
    }

    pub fn outputs(&self) -> usize {
        self.outputs
    }
}

/// Rows of numbers quantised to eight bits.
#[derive(Clone, Debug, Default)]
pub struct Activations {
    /// q + 128 of each number; every row is padded with 128 to whole groups of four.
    numbers: Vec<u8>,
    /// The scale of each row.
    scales: Vec<f32>,
}

impl Activations {
    /// Quantises `rows` [_, width], scaling each row by its own largest number.
    ///
    /// # Panics
    /// When `rows` is not a whole number of rows of a positive `width`.
    pub fn new(rows: &[f32], width: usize) -> Activations {
        Activations::with(Simd::best(), rows, width)
    }

    /// [`Activations::new`] on a chosen instruction set.
    pub fn with(simd: Simd, rows: &[f32], width: usize) -> Activations {
        assert!(
            width > 0 && rows.len().is_multiple_of(width),
            "{} numbers in rows of {width}; this is a bug in the caller of Activations::new",
            rows.len()
        );
        let (count, stride) = (rows.len() / width, width.next_multiple_of(GROUP));
        let mut activations = Activations { numbers: vec![128; count * stride], scales: vec![0.0; count] };
        let (numbers, scales) = (&mut activations.numbers[..], &mut activations.scales[..]);
        compile_for_each!(simd, round(rows: &[f32], width: usize, numbers: &mut [u8], scales: &mut [f32]));
        activations
    }
}

#[inline(always)]
fn round<const FMA: bool>(rows: &[f32], width: usize, numbers: &mut [u8], scales: &mut [f32]) {
    let stride = width.next_multiple_of(GROUP);
    for ((row, out), scale) in rows.chunks_exact(width).zip(numbers.chunks_exact_mut(stride)).zip(scales) {
        *scale = round_row::<FMA>(row, out);
    }
}

/// Writes q + 128 of each number to `out`; returns the scale. A row of zeros has scale 0, and a row
/// with an infinite number has an infinite scale. NaN counts as 0, as does every number of an
/// infinite row.
#[inline(always)]
fn round_row<const FMA: bool>(row: &[f32], out: &mut [u8]) -> f32 {
    const LANES: usize = 16;
    /// 1.5 * 2^23, where neighbouring floats differ by one, plus 128: adding it leaves the rounded
    /// number plus 128 in the lowest byte.
    const MOVED: f32 = 12_582_912.0 + 128.0;
    let (blocks, rest) = row.as_chunks::<LANES>();
    let mut lanes = [0.0f32; LANES];
    for block in blocks {
        for (lane, x) in lanes.iter_mut().zip(block) {
            let x = x.abs();
            *lane = if x > *lane { x } else { *lane };
        }
    }
    let largest = lanes.iter().chain(rest).fold(0.0f32, |largest, x| if x.abs() > largest { x.abs() } else { largest });
    // Below this the inverse would overflow; such a row is treated as zeros.
    let scale = if largest > 1e-30 { largest / 127.0 } else { 0.0 };
    let inverse = if scale > 0.0 { 1.0 / scale } else { 0.0 };
    for (x, out) in row.iter().zip(out.iter_mut()) {
        let moved = multiply_add::<FMA>(*x, inverse, MOVED);
        let moved = if moved.is_nan() { MOVED } else { moved };
        *out = moved.to_bits() as u8;
    }
    out[row.len()..].fill(128);
    scale
}

/// Multiplies `x` [n, inputs] by the transposed weights and writes [n, outputs] to `out`.
///
/// # Panics
/// When the rows of `x` have another width, or `out` another size.
pub fn matmul(x: &Activations, weights: &Weights, out: &mut [f32]) {
    matmul_with(Dot::best(), x, weights, out);
}

/// [`matmul`] on a chosen instruction set.
pub fn matmul_with(dot: Dot, x: &Activations, weights: &Weights, out: &mut [f32]) {
    let stride = weights.inputs.next_multiple_of(GROUP);
    let rows = x.scales.len();
    assert!(
        x.numbers.len() == rows * stride && out.len() == rows * weights.outputs,
        "{} numbers in {rows} rows of {stride} for {} outputs of {}; this is a bug in the caller of int8::matmul",
        x.numbers.len(),
        out.len(),
        weights.outputs
    );
    if stride == 0 || out.is_empty() {
        return out.fill(0.0);
    }
    let tile = Tile {
        numbers: &x.numbers,
        row_scales: &x.scales,
        stride,
        panels: &weights.panels,
        scales: &weights.scales,
        excess: &weights.excess,
    };
    dot::multiply(dot, tile, out, weights.outputs);
}

#[cfg(test)]
mod tests;
