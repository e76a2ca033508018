//! How large a model's context and its calls are to be, from its settings, its header and the machine.

use super::{PoolError, PoolOptions};
use crate::budget::Wanted;
use crate::engine::llama::{KvFormat, MARKS_MAX, Shape};
use crate::models::ModelSpec;
use crate::models::gguf::Header;

/// The context a role's settings ask for, as far as the model and the run allow it.
pub fn of(spec: &ModelSpec, options: &PoolOptions) -> Result<Shape, PoolError> {
    let kv = KvFormat::by_name(&spec.kv_type).ok_or_else(|| PoolError::KvType(spec.kv_type.clone()))?;
    let context = (spec.context as usize).min(trained(&spec.header));
    let threads = options.threads;
    let slots = spec.slots.min(options.slots).max(1);
    Ok(Shape { slots, context, kv, threads, chunk: chunk_rows(&spec.header, threads) })
}

/// What `shape` asks of memory.
pub fn wanted(spec: &ModelSpec, shape: &Shape, options: &PoolOptions) -> Wanted {
    Wanted {
        context: shape.context as u32,
        slots: shape.slots,
        kv_type: spec.kv_type.clone(),
        rows: shape.rows() as u32,
        outputs: shape.outputs() as u32,
        repack: options.repack && (spec.gpu_layers == Some(0) || !cfg!(any(feature = "cuda", feature = "metal"))),
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

/// Operations a core does in a second on quantised weights in small chunks. Measured on two virtual cores of 2 GHz: 135M at
/// 470 and 1.2B at 42 prompt tokens a second are 63 and 49 billion a core. Chunks of 64 rows instead of 32 take a fifth
/// less time a row on the 135M; 128 gain 5 % more.
const OPERATIONS_PER_CORE: f64 = 50e9;
/// Time one prefill chunk should take; a cancelled prompt stops after one chunk. At the least size the 24B takes longer.
const CHUNK_SECONDS: f64 = 0.2;
const CHUNK_ROWS_MIN: usize = 8;
const CHUNK_ROWS_MAX: usize = 256;

/// Rows of a prefill call: a power of two from the model's size and the number of cores alone, never from a stopwatch,
/// because the size of chunks shows in the last bits of the logits and a run must give the same tokens as the one before.
pub fn chunk_rows(header: &Header, threads: usize) -> usize {
    let operations_a_row = 2.0 * active_parameters(header) as f64;
    let rows = CHUNK_SECONDS * OPERATIONS_PER_CORE * threads.max(1) as f64 / operations_a_row.max(1.0);
    let power = (rows.max(1.0) as usize).next_power_of_two() / 2;
    power.clamp(CHUNK_ROWS_MIN, CHUNK_ROWS_MAX)
}

/// Parameters that one token passes through: of the experts only those that are used.
fn active_parameters(header: &Header) -> u64 {
    let experts: u64 =
        header.tensors.iter().filter(|tensor| tensor.name.contains("_exps")).map(|tensor| tensor.parameters()).sum();
    let share = match (header.experts_used, header.experts) {
        (used, all) if all > 0 => experts * u64::from(used) / u64::from(all),
        _ => experts,
    };
    header.parameters - experts + share
}
