//! Measures how fast this machine reads memory, which limits the speed of decoding one token at a time.

use crate::base::OrBug;
use std::hint::black_box;
use std::thread;
use std::time::Instant;

/// Far larger than any CPU cache, and small enough for every machine that runs a model.
const BYTES: usize = 256 << 20;
const ROUNDS: usize = 3;

/// Bytes per second at which `threads` threads together read a buffer; the best of three rounds.
pub fn read_bytes_per_s(threads: usize) -> f64 {
    let buffer = vec![1u64; BYTES / size_of::<u64>()];
    let share = buffer.len().div_ceil(threads.max(1));
    let round = || {
        let from = Instant::now();
        let sum: u64 = thread::scope(|scope| {
            let parts: Vec<_> = buffer.chunks(share).map(|part| scope.spawn(|| sum(part))).collect();
            parts.into_iter().map(|part| part.join().or_bug("summation does not panic")).sum()
        });
        black_box(sum);
        BYTES as f64 / from.elapsed().as_secs_f64()
    };
    (0..ROUNDS).map(|_| round()).fold(0.0, f64::max)
}

/// Keeps eight independent sums, so that the bottleneck is reading memory rather than adding.
fn sum(part: &[u64]) -> u64 {
    let mut sums = [0u64; 8];
    for eight in part.chunks_exact(8) {
        for (sum, value) in sums.iter_mut().zip(eight) {
            *sum = sum.wrapping_add(*value);
        }
    }
    sums.into_iter().fold(0, u64::wrapping_add)
}
