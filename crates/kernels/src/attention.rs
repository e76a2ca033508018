//! Attention over packed sequences: each token attends to all tokens of its own sequence only.

use crate::exp::exp;
use crate::product::{COLUMNS, Left, ROWS, Right, multiply};
use crate::simd::Simd;

/// Writes softmax(q kᵀ / √(d / heads)) v to `out` [total tokens, d], one sequence of `lengths`
/// tokens after another. `qkv` [total tokens, 3 d] holds queries, keys and values side by side,
/// each d wide and split into `heads`; `bias` [3 d] is added here.
///
/// # Panics
/// When the slices do not have the sizes above, or `heads` does not divide d.
pub fn attend(qkv: &[f32], bias: &[f32], lengths: &[usize], heads: usize, out: &mut [f32]) {
    attend_with(Simd::best(), qkv, bias, lengths, heads, out);
}

/// [`attend`] on a chosen instruction set.
pub fn attend_with(simd: Simd, qkv: &[f32], bias: &[f32], lengths: &[usize], heads: usize, out: &mut [f32]) {
    let d = bias.len() / 3;
    let tokens: usize = lengths.iter().sum();
    assert!(
        qkv.len() == tokens * 3 * d
            && out.len() == tokens * d
            && heads > 0
            && d.is_multiple_of(heads)
            && bias.len() == 3 * d,
        "{tokens} tokens of width {d} in {heads} heads; this is a bug in the caller of attend"
    );
    let mut scratch = Scratch::for_longest(lengths.iter().copied().max().unwrap_or(0), d / heads);
    let (mut qkv, mut out) = (qkv, out);
    for &length in lengths.iter().filter(|length| **length > 0) {
        let (sequence, qkv_after) = qkv.split_at(length * 3 * d);
        let (result, out_after) = out.split_at_mut(length * d);
        (qkv, out) = (qkv_after, out_after);
        for head in 0..heads {
            let view = Head { qkv: sequence, bias, d, first: head * (d / heads), width: d / heads };
            attend_head(simd, view, result, &mut scratch);
        }
    }
}

/// One head's share of a sequence's queries, keys and values: columns `first..first + width` of
/// each third.
#[derive(Clone, Copy)]
struct Head<'a> {
    qkv: &'a [f32],
    bias: &'a [f32],
    d: usize,
    first: usize,
    width: usize,
}

impl<'a> Head<'a> {
    /// The head's columns of one third (0 queries, 1 keys, 2 values) for each token, and their bias.
    #[inline(always)]
    fn part(self, third: usize) -> (impl Iterator<Item = &'a [f32]>, &'a [f32]) {
        let columns = third * self.d + self.first..third * self.d + self.first + self.width;
        let bias = &self.bias[columns.clone()];
        (self.qkv.chunks_exact(3 * self.d).map(move |row| &row[columns.clone()]), bias)
    }
}

/// Copies of one head's data in the order in which the products read it, zero-padded to whole
/// tiles.
struct Scratch {
    /// [tokens, width], scaled by 1 / √width.
    queries: Vec<f32>,
    /// [width, tokens rounded up to COLUMNS]: the keys, transposed.
    keys: Vec<f32>,
    /// [tokens, width rounded up to COLUMNS].
    values: Vec<f32>,
    /// [ROWS, tokens rounded up to COLUMNS].
    scores: Vec<f32>,
}

impl Scratch {
    fn for_longest(tokens: usize, width: usize) -> Scratch {
        let columns = tokens.next_multiple_of(COLUMNS);
        let values = width.next_multiple_of(COLUMNS);
        Scratch {
            queries: vec![0.0; tokens * width],
            keys: vec![0.0; width * columns],
            values: vec![0.0; tokens * values],
            scores: vec![0.0; ROWS * columns],
        }
    }
}

/// Attention of one head, one block of queries at a time: scores against all keys, weights, then
/// the weighted sum of all values.
fn attend_head(simd: Simd, head: Head, out: &mut [f32], scratch: &mut Scratch) {
    let tokens = out.len() / head.d;
    let columns = tokens.next_multiple_of(COLUMNS);
    let values_stride = head.width.next_multiple_of(COLUMNS);
    compile_for_each!(simd, gather(head: Head, tokens: usize, scratch: &mut Scratch));
    let keys = Right { numbers: &scratch.keys, stride: columns, columns: tokens };
    let values = Right { numbers: &scratch.values, stride: values_stride, columns: head.width };
    let scores = &mut scratch.scores[..];
    for (queries, out) in scratch.queries.chunks(ROWS * head.width).zip(out.chunks_mut(ROWS * head.d)) {
        let rows = out.len() / head.d;
        let queries = Left { numbers: queries, stride: head.width, rows, inner: head.width };
        multiply(simd, queries, keys, scores, columns);
        compile_for_each!(simd, softmax(scores: &mut [f32], rows: usize, columns: usize, tokens: usize));
        let weights = Left { numbers: scores, stride: columns, rows, inner: tokens };
        multiply(simd, weights, values, &mut out[head.first..], head.d);
    }
}

/// Fills queries, keys and values from the packed rows, with the bias added.
#[inline(always)]
fn gather<const FMA: bool>(head: Head, tokens: usize, scratch: &mut Scratch) {
    let scale = 1.0 / (head.width as f32).sqrt();
    let (queries, bias) = head.part(0);
    for (to, from) in scratch.queries.chunks_exact_mut(head.width).zip(queries) {
        for ((to, from), bias) in to.iter_mut().zip(from).zip(bias) {
            *to = (from + bias) * scale;
        }
    }
    let columns = tokens.next_multiple_of(COLUMNS);
    let (keys, bias) = head.part(1);
    for (token, from) in keys.enumerate() {
        for (dimension, (from, bias)) in from.iter().zip(bias).enumerate() {
            scratch.keys[dimension * columns + token] = from + bias;
        }
    }
    let value_width = head.width.next_multiple_of(COLUMNS);
    let (values, bias) = head.part(2);
    for (to, from) in scratch.values.chunks_exact_mut(value_width).zip(values) {
        for ((to, from), bias) in to.iter_mut().zip(from).zip(bias) {
            *to = from + bias;
        }
    }
}

/// Turns the first `tokens` scores of each of `rows` rows, `columns` apart, into weights that sum to one.
#[inline(always)]
fn softmax<const FMA: bool>(scores: &mut [f32], rows: usize, columns: usize, tokens: usize) {
    // Rows are padded to whole registers with minus infinity, which gets weight 0.
    let padded = tokens.next_multiple_of(LANES);
    // A loop instead of a closure: only code inlined here is compiled with the caller's instruction set.
    for row in scores.chunks_exact_mut(columns).take(rows) {
        row[tokens..padded].fill(f32::NEG_INFINITY);
        softmax_row::<FMA>(&mut row[..padded]);
    }
}

/// Number of values added and compared side by side; divides `COLUMNS`.
const LANES: usize = 16;

/// Softmax of one row, whose length is a multiple of `LANES`.
#[inline(always)]
fn softmax_row<const FMA: bool>(row: &mut [f32]) {
    let blocks = row.as_chunks_mut::<LANES>().0;
    let mut lanes = [f32::NEG_INFINITY; LANES];
    for block in blocks.iter() {
        for (lane, x) in lanes.iter_mut().zip(block) {
            *lane = if *x > *lane { *x } else { *lane };
        }
    }
    let highest = lanes.iter().fold(f32::NEG_INFINITY, |a, b| if *b > a { *b } else { a });
    let mut sums = [0.0f32; LANES];
    for block in blocks.iter_mut() {
        for (sum, x) in sums.iter_mut().zip(block) {
            *x = exp::<FMA>(*x - highest);
            *sum += *x;
        }
    }
    let scale = 1.0 / sums.iter().sum::<f32>();
    for x in blocks.as_flattened_mut() {
        *x *= scale;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::check_close;
    use proptest::prelude::*;

    /// Attention computed literally from its formula, in f64, one token at a time.
    fn by_the_formula(qkv: &[f32], bias: &[f32], lengths: &[usize], heads: usize) -> Vec<f32> {
        let d = bias.len() / 3;
        let width = d / heads;
        let at = |token: usize, column: usize| f64::from(qkv[token * 3 * d + column]) + f64::from(bias[column]);
        let mut out = vec![0.0; qkv.len() / 3];
        let mut first = 0;
        for length in lengths {
            for token in first..first + length {
                for column in 0..d {
                    let head = column / width * width;
                    let scores: Vec<f64> = (first..first + length)
                        .map(|other| (head..head + width).map(|i| at(token, i) * at(other, d + i)).sum::<f64>())
                        .map(|score| (score / (width as f64).sqrt()).exp())
                        .collect();
                    let mixed: f64 = scores.iter().enumerate().map(|(i, s)| s * at(first + i, 2 * d + column)).sum();
                    out[token * d + column] = (mixed / scores.iter().sum::<f64>()) as f32;
                }
            }
            first += length;
        }
        out
    }

    fn check(qkv: &[f32], bias: &[f32], lengths: &[usize], heads: usize) {
        let expected = by_the_formula(qkv, bias, lengths, heads);
        for simd in Simd::available() {
            // A value that is never written stays NaN and fails the comparison.
            let mut found = vec![f32::NAN; expected.len()];
            attend_with(simd, qkv, bias, lengths, heads, &mut found);
            check_close(simd, &found, &expected, 1e-5);
        }
    }

    #[test]
    fn a_lone_token_gets_its_own_value() {
        check(&[0.3, -0.2, 5.0], &[0.1, 0.1, 0.5], &[1], 1);
        let mut out = [0.0];
        attend(&[0.3, -0.2, 5.0], &[0.0, 0.0, 0.5], &[1], 1, &mut out);
        assert_eq!(out, [5.5]);
    }

    #[test]
    fn sequences_do_not_see_each_other() {
        let qkv: Vec<f32> = (0..5 * 12).map(|i| (i as f32 * 0.7).sin()).collect();
        let bias = [0.0; 12];
        let (mut together, mut alone) = ([0.0; 20], [0.0; 8]);
        attend(&qkv, &bias, &[3, 2], 2, &mut together);
        attend(&qkv[3 * 12..], &bias, &[2], 2, &mut alone);
        assert_eq!(together[12..], alone);
    }

    proptest! {
        #[test]
        fn every_instruction_set_follows_the_formula(
            (qkv, bias, lengths, heads) in (1usize..4, 1usize..40, proptest::collection::vec(0usize..40, 0..4))
                .prop_flat_map(|(heads, width, lengths)| {
                    let d = heads * width;
                    let tokens: usize = lengths.iter().sum();
                    let number = -1.0f32..1.0;
                    (
                        proptest::collection::vec(number.clone(), tokens * 3 * d),
                        proptest::collection::vec(number, 3 * d),
                        Just(lengths),
                        Just(heads),
                    )
                })
        ) {
            check(&qkv, &bias, &lengths, heads);
        }
    }
}
