//! Random weights, fast: a pool of random blocks that every matrix reads from another place.

use half::f16;

use super::shape::{Fill, Planned, Quant};

/// Blocks in a pool: 2^18 - 5, a prime, so that rows (of 2, 4, … blocks) never fall on the same place in it twice
/// before 262,139 of them have passed. 4.7 MB at q4_0, 8.9 MB at q8_0.
const POOL_BLOCKS: usize = 262_139;

/// Random matrices of one quantisation; the same seed gives the same bytes.
pub struct Weights {
    quant: Quant,
    random: fastrand::Rng,
    /// One pool a row length, because the scale of the values depends on it.
    pools: Vec<(u64, Vec<u8>)>,
}

impl Weights {
    pub fn new(quant: Quant, seed: u64) -> Weights {
        Weights { quant, random: fastrand::Rng::with_seed(seed), pools: Vec::new() }
    }

    /// Hands the bytes of `tensor` to `out`, piece by piece, until one of its answers is an error.
    pub fn write<E>(&mut self, tensor: &Planned, mut out: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let scale = row_scale(tensor.shape[0]);
        let small = |value: &mut dyn FnMut() -> f32| -> Vec<u8> {
            (0..tensor.parameters()).flat_map(|_| value().to_le_bytes()).collect()
        };
        match tensor.fill {
            Fill::Ones => out(&small(&mut || 1.0)),
            Fill::Zeros => out(&small(&mut || 0.0)),
            Fill::Uniform => {
                let random = &mut self.random;
                // A uniform distribution of standard deviation `scale` reaches √3 times as far.
                out(&small(&mut || (random.f32() * 2.0 - 1.0) * scale * 3f32.sqrt()))
            }
            Fill::Quantised => self.quantised(tensor, out),
        }
    }

    fn quantised<E>(&mut self, tensor: &Planned, mut out: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let kind = tensor.kind(self.quant);
        let mut left = (tensor.parameters() / kind.block) as usize;
        let mut from = self.random.usize(..POOL_BLOCKS);
        let block_bytes = kind.block_bytes as usize;
        let pool = self.pool(tensor.shape[0]);
        while left > 0 {
            let blocks = left.min(POOL_BLOCKS - from);
            out(&pool[from * block_bytes..(from + blocks) * block_bytes])?;
            left -= blocks;
            from = 0;
        }
        Ok(())
    }

    fn pool(&mut self, row: u64) -> &[u8] {
        let index = match self.pools.iter().position(|(length, _)| *length == row) {
            Some(index) => index,
            None => {
                let pool = self.fill_pool(row_scale(row));
                self.pools.push((row, pool));
                self.pools.len() - 1
            }
        };
        &self.pools[index].1
    }

    /// Blocks of an f16 scale and random whole numbers: sixteen bytes of two nibbles (q4_0, -8 to 7), or 32 of one (q8_0).
    fn fill_pool(&mut self, deviation: f32) -> Vec<u8> {
        let (bytes, spread) = match self.quant {
            Quant::Q4_0 => (16, (256f32 / 12.0).sqrt()),
            Quant::Q8_0 => (32, (65536f32 / 12.0).sqrt()),
        };
        let mut pool = vec![0; POOL_BLOCKS * (2 + bytes)];
        self.random.fill(&mut pool);
        for block in pool.chunks_exact_mut(2 + bytes) {
            let scale = f16::from_f32(deviation / spread * (0.75 + 0.5 * self.random.f32()));
            block[..2].copy_from_slice(&scale.to_le_bytes());
        }
        pool
    }
}

/// Standard deviation that keeps a product with a row about as large as what goes in.
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
        for (quant, block) in [(Quant::Q4_0, 18), (Quant::Q8_0, 34)] {
            let all = bytes(quant, &[256, 40_000], Fill::Quantised);
            for scale in all.chunks_exact(block) {
                let scale = f16::from_le_bytes([scale[0], scale[1]]);
                assert!(scale.is_normal() && scale.is_sign_positive() && scale < f16::from_f32(0.05), "{scale}");
            }
            let rows: std::collections::HashSet<&[u8]> = all.chunks_exact(8 * block).collect();
            assert_eq!(rows.len(), 40_000);
        }
    }

    #[test]
    fn the_same_seed_writes_the_same_bytes() {
        assert_eq!(bytes(Quant::Q4_0, &[64, 8], Fill::Quantised), bytes(Quant::Q4_0, &[64, 8], Fill::Quantised));
    }

    #[test]
    fn norms_are_one() {
        assert_eq!(bytes(Quant::Q8_0, &[2], Fill::Ones), [0, 0, 128, 63, 0, 0, 128, 63]);
    }
}
