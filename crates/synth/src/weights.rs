//! Generates random weights fast: each matrix is read from a different offset in one pool of random blocks.

use half::f16;

use crate::quant::Quant;
use crate::shape::{Fill, Planned};

/// Blocks in a pool: 2^18 - 5, a prime, so that no two of 262,139 consecutive rows (of 2, 4, …
/// blocks) start at the same offset. 4.7 MB at q4_0, 8.9 at q8_0, 14.2 at tq1_0, 17.3 at tq2_0.
const POOL_BLOCKS: usize = 262_139;

/// Random matrices of one quantisation; the same seed gives the same bytes.
pub struct Weights {
    quant: Quant,
    random: fastrand::Rng,
    /// One pool per quantisation and row length, because the scale of the values depends on them.
    pools: Vec<(Quant, u64, Vec<u8>)>,
}

impl Weights {
    pub fn new(quant: Quant, seed: u64) -> Weights {
        Weights { quant, random: fastrand::Rng::with_seed(seed), pools: Vec::new() }
    }

    /// Passes the bytes of `tensor` to `out` in pieces; stops at its first error.
    pub fn write<E>(&mut self, tensor: &Planned, mut out: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let scale = row_scale(tensor.shape[0]);
        let small = |value: &mut dyn FnMut() -> f32| -> Vec<u8> {
            (0..tensor.parameters()).flat_map(|_| value().to_le_bytes()).collect()
        };
        match tensor.fill {
            Fill::Ones => out(&small(&mut || 1.0)),
            Fill::Zeros => out(&small(&mut || 0.0)),
            Fill::Decays => {
                let random = &mut self.random;
                out(&small(&mut || -0.5 - random.f32()))
            }
            Fill::Uniform => {
                let random = &mut self.random;
                // A uniform distribution has the standard deviation `scale` if its range is ±√3
                // times that.
                out(&small(&mut || (random.f32() * 2.0 - 1.0) * scale * 3f32.sqrt()))
            }
            Fill::Quantised => self.quantised(tensor, out),
        }
    }

    fn quantised<E>(&mut self, tensor: &Planned, mut out: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let quant = tensor.quant(self.quant);
        let kind = quant.kind();
        let mut left = (tensor.parameters() / kind.block) as usize;
        let mut from = self.random.usize(..POOL_BLOCKS);
        let block_bytes = kind.block_bytes as usize;
        let pool = self.pool(quant, tensor.shape[0]);
        while left > 0 {
            let blocks = left.min(POOL_BLOCKS - from);
            out(&pool[from * block_bytes..(from + blocks) * block_bytes])?;
            left -= blocks;
            from = 0;
        }
        Ok(())
    }

    fn pool(&mut self, quant: Quant, row: u64) -> &[u8] {
        let index = match self.pools.iter().position(|pool| (pool.0, pool.1) == (quant, row)) {
            Some(index) => index,
            None => {
                let pool = fill_pool(&mut self.random, quant, row_scale(row));
                self.pools.push((quant, row, pool));
                self.pools.len() - 1
            }
        };
        &self.pools[index].2
    }
}

/// Blocks of random integers, each with an f16 scale, so that values have a standard deviation of
/// about `deviation`.
fn fill_pool(random: &mut fastrand::Rng, quant: Quant, deviation: f32) -> Vec<u8> {
    let bytes = quant.kind().block_bytes as usize;
    let mut pool = vec![0; POOL_BLOCKS * bytes];
    random.fill(&mut pool);
    // Standard deviation of the integers, and the offset of the scale in a block (ggml-common.h).
    let (spread, scale_at) = match quant {
        // Nibbles from -8 to 7; the scale comes first.
        Quant::Q4_0 => ((256f32 / 12.0).sqrt(), 0),
        Quant::Q8_0 => ((65536f32 / 12.0).sqrt(), 0),
        // -1, 0 and 1, equally often; the scale comes last.
        Quant::Tq1_0 | Quant::Tq2_0 => ((2f32 / 3.0).sqrt(), bytes - 2),
    };
    for block in pool.chunks_exact_mut(bytes) {
        let scale = f16::from_f32(deviation / spread * (0.75 + 0.5 * random.f32()));
        block[scale_at..scale_at + 2].copy_from_slice(&scale.to_le_bytes());
        match quant {
            Quant::Q4_0 | Quant::Q8_0 => {}
            Quant::Tq1_0 => block[..TQ1_BYTES].iter_mut().for_each(|byte| *byte = five_trits(*byte)),
            Quant::Tq2_0 => block[..scale_at].iter_mut().for_each(|byte| *byte = four_trits(*byte)),
        }
    }
    pool
}

/// Bytes of a TQ1_0 block that contain weights: 48 bytes of five weights and 4 bytes of four.
const TQ1_BYTES: usize = 52;

/// A random byte with five base-3 digits as packed in TQ1_0: their number `n` below 243 as
/// `n * 256 / 243`, rounded up. The last four bytes of a block contain four digits; their fifth is
/// not read.
fn five_trits(random: u8) -> u8 {
    (((u16::from(random) * 243) >> 8) * 256).div_ceil(243) as u8
}

/// A random byte with four two-bit numbers from 0 to 2, as packed in TQ2_0.
fn four_trits(random: u8) -> u8 {
    let random = ((u16::from(random) * 81) >> 8) as u8;
    [1, 3, 9, 27].iter().rev().fold(0, |packed, power| (packed << 2) | (random / power % 3))
}

/// Standard deviation of weights that keeps outputs about as large as inputs: 1 / √row.
fn row_scale(row: u64) -> f32 {
    1.0 / (row as f32).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(quant: Quant, shape: &[u64], fill: Fill) -> Vec<u8> {
        let tensor = Planned { name: "t".into(), shape: shape.to_vec(), fill };
        let mut all = Vec::new();
        let done: Result<(), ()> = Weights::new(quant, 7).write(&tensor, |piece| {
            all.extend_from_slice(piece);
            Ok(())
        });
        done.unwrap();
        assert_eq!(all.len() as u64, tensor.kind(quant).bytes(tensor.parameters()).unwrap());
        all
    }

    #[test]
    fn scales_are_small_and_finite_and_rows_differ() {
        for (quant, block, at) in
            [(Quant::Q4_0, 18, 0), (Quant::Q8_0, 34, 0), (Quant::Tq1_0, 54, 52), (Quant::Tq2_0, 66, 64)]
        {
            let all = bytes(quant, &[256, 40_000], Fill::Quantised);
            for block in all.chunks_exact(block) {
                let scale = f16::from_le_bytes([block[at], block[at + 1]]);
                assert!(scale.is_normal() && scale.is_sign_positive() && scale < f16::from_f32(0.1), "{scale}");
            }
            let rows: std::collections::HashSet<&[u8]> = all.chunks_exact(all.len() / 40_000).collect();
            assert_eq!(rows.len(), 40_000);
        }
    }
}
