//! How large a model's context and its calls are to be, from its settings, its header and the machine.

use super::{PoolError, PoolOptions};
use crate::base::Bytes;
use crate::budget::Wanted;
use crate::budget::machine::Machine;
use crate::engine::llama::{KvFormat, MARKS_MAX, Shape};
use crate::models::ModelSpec;
use crate::models::gguf::Header;

/// The context a role's settings ask for, as far as the model and the run allow it.
pub fn of(spec: &ModelSpec, options: &PoolOptions) -> Result<Shape, PoolError> {
    let kv = KvFormat::by_name(&spec.kv_type).ok_or_else(|| PoolError::KvType(spec.kv_type.clone()))?;
    let context = (spec.context as usize).min(trained(&spec.header));
    let threads = options.threads;
    let slots = spec.slots.min(options.slots).max(1);
    Ok(Shape { slots, context, kv, threads, chunk: chunk_rows(&spec.header, kv, context) })
}

/// What `shape` asks of memory.
pub fn wanted(spec: &ModelSpec, shape: &Shape, options: &PoolOptions, machine: &Machine) -> Wanted {
    Wanted {
        context: shape.context as u32,
        slots: shape.slots,
        kv_type: spec.kv_type.clone(),
        rows: shape.rows() as u32,
        outputs: shape.outputs() as u32,
        // Beside an accelerator llama.cpp keeps matrices of the host where the accelerator can fetch them.
        repack: options.repack && (spec.gpu_layers == Some(0) || machine.accelerator.is_none()),
        marks: if spec.header.recurrent_layers() > 0 { MARKS_MAX as u32 } else { 0 },
        swa_full: true,
    }
}

/// Positions a model was trained on; 0 in a header means it does not say.
fn trained(header: &Header) -> usize {
    match header.context_train as usize {
        0 => usize::MAX,
        trained => trained,
    }
}

/// Rows of a prefill call. A call reads every weight once, whatever its rows, so more rows are faster until a row costs
/// only its arithmetic. A call that nobody wants any more is stopped in its middle, so its length costs no waiting; only
/// answers of other slots wait for its end.
const CHUNK_ROWS: usize = 256;
/// Fewest rows where memory is what decides; from here on attention is computed in tiles of 64 rows.
const CHUNK_ROWS_MIN: usize = 64;
/// Most that a call's attention scores may take.
const SCORES_MAX: Bytes = Bytes::mib(256);

/// Rows of a prefill call: from the model and its context alone, never from a stopwatch, because the size of chunks shows
/// in the last bits of the logits and a run must give the same tokens as the one before. Where attention is computed in
/// products, every head keeps the scores of each row with all cells, and long contexts take fewer rows.
pub fn chunk_rows(header: &Header, kv: KvFormat, context: usize) -> usize {
    let scores_of = |rows: usize| match kv.is_read_in_products() {
        true => Bytes(SCORE_BYTES * u64::from(header.heads) * rows as u64 * context as u64),
        false => Bytes::ZERO,
    };
    let halves = std::iter::successors(Some(CHUNK_ROWS), |rows| Some(rows / 2));
    halves
        .take_while(|rows| *rows >= CHUNK_ROWS_MIN)
        .find(|rows| scores_of(*rows) <= SCORES_MAX)
        .unwrap_or(CHUNK_ROWS_MIN)
}

/// A score in f32 and its copy in f16 (`budget::estimate`).
const SCORE_BYTES: u64 = 6;
