//! Computes the size of a model's context and calls from its settings, its header and the machine.

use super::{PoolError, PoolOptions};
use crate::base::Bytes;
use crate::budget::machine::Machine;
use crate::budget::{LoadSettings, cache};
use crate::engine::llama::{KvFormat, Shape};
use crate::models::ModelSpec;
use crate::models::gguf::Header;

/// The context that a role's settings request, limited by the model and the run.
pub fn of(spec: &ModelSpec, options: &PoolOptions, machine: &Machine) -> Result<Shape, PoolError> {
    let kv = KvFormat::by_name(&spec.kv_type).ok_or_else(|| PoolError::KvType(spec.kv_type.clone()))?;
    if !cache::is_readable(&spec.kv_type, options.flash) {
        return Err(PoolError::NeedsFlash(spec.kv_type.clone()));
    }
    let context = (spec.context as usize).min(trained(&spec.header));
    let threads = options.threads;
    let slots = spec.slots.min(options.slots).max(1);
    let on_gpu = machine.accelerator.is_some() && spec.gpu_layers != Some(0);
    let most = if on_gpu { CHUNK_ROWS_GPU } else { CHUNK_ROWS };
    let shape =
        Shape { slots, context, kv, flash: options.flash, threads, chunk: most.min(context), exact: options.exact };
    Ok(Shape { chunk: chunk_rows(&spec.header, &shape), ..shape })
}

/// The settings used to estimate the memory of `shape`.
pub fn wanted(spec: &ModelSpec, shape: &Shape, options: &PoolOptions, machine: &Machine) -> LoadSettings {
    let settings = shape.settings();
    LoadSettings {
        // With an accelerator, llama.cpp keeps host matrices unrepacked if the accelerator can read
        // them.
        repack: options.repack && (spec.gpu_layers == Some(0) || machine.accelerator.is_none()),
        marks: cache::own_marks(&spec.header, &settings),
        ..settings
    }
}

/// Number of positions in training; unlimited if the header has 0, which means unknown.
fn trained(header: &Header) -> usize {
    match header.context_train as usize {
        0 => usize::MAX,
        trained => trained,
    }
}

/// Maximum number of rows in a prefill call. A call reads every weight once, regardless of its
/// number of rows, so more rows are faster until a row costs only its arithmetic. A call that is no
/// longer wanted is stopped midway, so only answers in other slots wait for its end.
pub const CHUNK_ROWS: usize = 256;
/// The same on a GPU: 15,000 prompt tokens per second instead of 9,000 with 256 rows (H200, the
/// 24B's shape), and 4,400 instead of 1,900 with half of its experts on the host, whose matrices
/// are copied to the GPU for each call.
const CHUNK_ROWS_GPU: usize = 1024;
/// Minimum number of rows if memory is the limit; from 64 rows on, attention is computed in tiles
/// of 64 rows.
const CHUNK_ROWS_MIN: usize = 64;
/// Maximum memory that a call's attention scores may take.
const SCORES_MAX: Bytes = Bytes::mib(256);

/// The shape of a model whose layers have been placed: if no layer is on a GPU, prefill calls have
/// as many rows as on a CPU.
pub fn placed(shape: Shape, settings: &LoadSettings, header: &Header) -> Shape {
    let chunk = if settings.gpu_layers(header) == 0 { shape.chunk.min(CHUNK_ROWS) } else { shape.chunk };
    Shape { chunk, ..shape }
}

/// Number of rows in a prefill call, at most the chunk of `shape`. Computed from the model and its
/// context, never from measured times: the chunk size changes the last bits of the logits, and
/// every run must give the same tokens. If attention is computed as matrix products, every head
/// keeps each row's scores against all cells, so long contexts get fewer rows.
pub fn chunk_rows(header: &Header, shape: &Shape) -> usize {
    let (most, products) = (shape.chunk, shape.is_read_in_products());
    let scores_of = |rows: usize| {
        if products {
            Bytes(SCORE_BYTES * u64::from(header.heads) * rows as u64 * shape.context as u64)
        } else {
            Bytes::ZERO
        }
    };
    let halves = std::iter::successors(Some(most), |rows| Some(rows / 2));
    halves
        .take_while(|rows| *rows >= CHUNK_ROWS_MIN)
        .find(|rows| scores_of(*rows) <= SCORES_MAX)
        .unwrap_or(CHUNK_ROWS_MIN)
}

/// Bytes per score: in f32, plus a copy in f16 (`budget::estimate`).
const SCORE_BYTES: u64 = 6;
