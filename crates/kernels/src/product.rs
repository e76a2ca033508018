//! Multiplies two matrices in tiles kept in registers; used by `attention`.

use crate::simd::{Level, Simd, multiply_add};

/// Columns of one block of the right matrix. Its rows are padded to whole blocks; the values of the
/// padding do not matter.
pub(crate) const COLUMNS: usize = 32;

/// Rows of a tile: 8 x 32 sums fill half of AVX-512's registers and keep both of its multipliers
/// busy.
pub(crate) const ROWS: usize = 8;

/// The left matrix: `rows` rows, `stride` numbers apart, of which the first `inner` numbers are
/// used.
#[derive(Clone, Copy)]
pub(crate) struct Left<'a> {
    pub numbers: &'a [f32],
    pub stride: usize,
    pub rows: usize,
    pub inner: usize,
}

/// The right matrix: rows `stride` numbers apart, at least as many as the left has columns; the
/// first `columns` of each are used.
#[derive(Clone, Copy)]
pub(crate) struct Right<'a> {
    pub numbers: &'a [f32],
    pub stride: usize,
    pub columns: usize,
}

/// Writes left times right to the first `right.columns` numbers of `out`'s rows, which are `stride` numbers apart.
pub(crate) fn multiply(simd: Simd, left: Left, right: Right, out: &mut [f32], stride: usize) {
    for column in (0..right.columns).step_by(COLUMNS) {
        let block = &right.numbers[column..];
        let width = COLUMNS.min(right.columns - column);
        let mut row = 0;
        while row < left.rows {
            let numbers = &left.numbers[row * left.stride..];
            let out = &mut out[row * stride + column..];
            row += match left.rows - row {
                ROWS.. => store(tile::<ROWS>(simd, numbers, left, block, right.stride), out, stride, width),
                4.. => store(tile::<4>(simd, numbers, left, block, right.stride), out, stride, width),
                _ => store(tile::<1>(simd, numbers, left, block, right.stride), out, stride, width),
            };
        }
    }
}

/// Copies the first `width` columns of each row to `out`; returns the number of rows.
#[inline(always)]
fn store<const R: usize>(sums: [[f32; COLUMNS]; R], out: &mut [f32], stride: usize, width: usize) -> usize {
    for (out, sums) in out.chunks_mut(stride).zip(&sums) {
        out[..width].copy_from_slice(&sums[..width]);
    }
    R
}

/// The product of R rows that begin with `numbers` and one block of columns.
#[inline(always)]
fn tile<const R: usize>(simd: Simd, numbers: &[f32], left: Left, block: &[f32], stride: usize) -> [[f32; COLUMNS]; R] {
    let rows: [&[f32]; R] = std::array::from_fn(|row| &numbers[row * left.stride..][..left.inner]);
    match simd.level() {
        Level::Portable => plain::<false, R>(rows, block, stride),
        // SAFETY: a `Simd` of this level exists only if the processor has AVX2 and FMA.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { avx2(rows, block, stride) },
        // SAFETY: a `Simd` of this level exists only if the processor has AVX-512F.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { avx512(rows, block, stride) },
        #[cfg(target_arch = "aarch64")]
        Level::Neon => plain::<true, R>(rows, block, stride),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2<const R: usize>(rows: [&[f32]; R], block: &[f32], stride: usize) -> [[f32; COLUMNS]; R] {
    plain::<true, R>(rows, block, stride)
}

/// Four rows by sixteen columns at a time: as many sums as sixteen registers can hold.
#[inline(always)]
fn plain<const FMA: bool, const R: usize>(rows: [&[f32]; R], block: &[f32], stride: usize) -> [[f32; COLUMNS]; R] {
    let mut product = [[0.0; COLUMNS]; R];
    for (rows, product) in rows.chunks(4).zip(product.chunks_mut(4)) {
        for half in [0, COLUMNS / 2] {
            if let (Ok(rows), [a, b, c, d]) = (<[&[f32]; 4]>::try_from(rows), &mut *product) {
                let sums = sixteen::<FMA, 4>(rows, &block[half..], stride);
                for (to, sums) in [a, b, c, d].into_iter().zip(&sums) {
                    to[half..half + COLUMNS / 2].copy_from_slice(sums);
                }
            } else {
                for (row, to) in rows.iter().zip(product.iter_mut()) {
                    let [sums] = sixteen::<FMA, 1>([row], &block[half..], stride);
                    to[half..half + COLUMNS / 2].copy_from_slice(&sums);
                }
            }
        }
    }
    product
}

/// The product of R rows and the first sixteen columns of `block`.
#[inline(always)]
fn sixteen<const FMA: bool, const R: usize>(rows: [&[f32]; R], block: &[f32], stride: usize) -> [[f32; 16]; R] {
    let mut sums = [[0.0f32; 16]; R];
    for (i, right) in block.chunks(stride).take(rows[0].len()).enumerate() {
        let Some((right, _)) = right.split_first_chunk::<16>() else { break };
        for (sums, row) in sums.iter_mut().zip(rows) {
            let factor = row[i];
            for (sum, right) in sums.iter_mut().zip(right) {
                *sum = multiply_add::<FMA>(factor, *right, *sum);
            }
        }
    }
    sums
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn avx512<const R: usize>(rows: [&[f32]; R], block: &[f32], stride: usize) -> [[f32; COLUMNS]; R] {
    use std::arch::x86_64::*;
    let mut sums = [[_mm512_setzero_ps(); 2]; R];
    for (i, right) in block.chunks(stride).take(rows[0].len()).enumerate() {
        let Some((right, _)) = right.split_first_chunk::<COLUMNS>() else { break };
        // SAFETY: `right` has thirty-two floats, and the loads require no alignment.
        let right = unsafe { [_mm512_loadu_ps(right.as_ptr()), _mm512_loadu_ps(right[16..].as_ptr())] };
        for (sums, row) in sums.iter_mut().zip(rows) {
            // SAFETY: all rows are as long as the first one, and `i` is below its length.
            let factor = _mm512_set1_ps(unsafe { *row.get_unchecked(i) });
            sums[0] = _mm512_fmadd_ps(factor, right[0], sums[0]);
            sums[1] = _mm512_fmadd_ps(factor, right[1], sums[1]);
        }
    }
    let mut product = [[0.0; COLUMNS]; R];
    for (product, sums) in product.iter_mut().zip(sums) {
        // SAFETY: `product` has thirty-two floats, and the stores require no alignment.
        unsafe {
            _mm512_storeu_ps(product.as_mut_ptr(), sums[0]);
            _mm512_storeu_ps(product[16..].as_mut_ptr(), sums[1]);
        }
    }
    product
}
