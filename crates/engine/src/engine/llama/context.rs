//! Owns a llama.cpp context.
//!
//! The binding's own type is not used, because it hides the abort callback, the number of outputs
//! and the bytes of a sequence's state.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Instant;

use llama_cpp_2::model::LlamaModel;
use llama_cpp_sys_2 as sys;

use super::lora::Overlay;
use super::threads::Threads;
use super::{Shape, int};
use crate::engine::decoder::{DecodeError, Row, Stop};
use crate::models::FlashAttention;

/// A context. It borrows the model that it was created from.
pub(super) struct Context<'w> {
    raw: NonNull<sys::llama_context>,
    memory: sys::llama_memory_t,
    batch: sys::llama_batch,
    rows_max: usize,
    vocabulary: usize,
    /// A `*const Stop` during a call, otherwise null. Boxed, because llama.cpp keeps its address.
    stop: Box<AtomicPtr<c_void>>,
    /// Dropped after the context, which `Drop` frees first; so is `threads`.
    overlay: Option<Overlay<'w>>,
    threads: Threads,
    _model: PhantomData<&'w LlamaModel>,
}

// SAFETY: a context may be used from any thread, one at a time; it is not bound to the thread that
// created it.
unsafe impl Send for Context<'_> {}

impl<'w> Context<'w> {
    /// Creates a context with `context` positions per slot; `None` if llama.cpp refuses. Create the
    /// contexts of a model one at a time, because each call changes the model. `undo`: number of
    /// rows of a call that recurrent layers must be able to undo. `windows`: whether layers with a
    /// sliding window keep only the cells of their window; otherwise they can be cut anywhere.
    pub fn new(model: &'w LlamaModel, shape: &Shape, context: usize, undo: u32, windows: bool) -> Option<Context<'w>> {
        let stop = Box::new(AtomicPtr::new(std::ptr::null_mut()));
        let threads = Threads::new(shape.threads)?;
        // SAFETY: the call returns a plain structure.
        let mut params = unsafe { sys::llama_context_default_params() };
        params.n_ctx = int(context * shape.slots) as u32;
        params.n_seq_max = int(shape.slots) as u32;
        params.n_batch = int(shape.rows()) as u32;
        params.n_ubatch = int(shape.rows()) as u32;
        params.n_outputs_max = int(shape.outputs()) as u32;
        params.n_threads = int(shape.threads);
        params.n_threads_batch = int(shape.threads);
        params.type_k = shape.kv.ggml_type();
        params.type_v = shape.kv.ggml_type();
        if shape.is_read_in_products() {
            params.flash_attn_type = sys::LLAMA_FLASH_ATTN_TYPE_DISABLED;
        } else if shape.flash == FlashAttention::On {
            params.flash_attn_type = sys::LLAMA_FLASH_ATTN_TYPE_ENABLED;
        }
        params.kv_unified = false;
        params.swa_full = !windows;
        // These rows and one more must be in the same micro-batch (`llama-memory-recurrent.cpp`).
        params.n_rs_seq = undo.min(params.n_ubatch.saturating_sub(2));
        params.no_perf = true;
        params.abort_callback = Some(asked_to_stop);
        params.abort_callback_data = (&raw const *stop).cast_mut().cast();
        // SAFETY: the model outlives the context (`'w`), and the callback's data outlives it too (`Drop` frees the
        // context first).
        let raw = NonNull::new(unsafe { sys::llama_init_from_model(pointer(model), params) })?;
        // SAFETY: `raw` is a live context, and the pool outlives it.
        let memory = unsafe {
            sys::llama_attach_threadpool(raw.as_ptr(), threads.pool(), threads.pool());
            sys::llama_get_memory(raw.as_ptr())
        };
        // SAFETY: allocates a batch of that many rows of one sequence each; freed in `Drop`.
        let batch = unsafe { sys::llama_batch_init(int(shape.rows()), 0, 1) };
        let vocabulary = model.n_vocab() as usize;
        Some(Context {
            raw,
            memory,
            batch,
            rows_max: shape.rows(),
            vocabulary,
            stop,
            overlay: None,
            threads,
            _model: PhantomData,
        })
    }

    /// Applies these adapters to the context. False if llama.cpp refuses them.
    pub fn lay_over(&mut self, mut overlay: Overlay<'w>) -> bool {
        let taken = overlay.lay_over(self.raw);
        self.overlay = Some(overlay);
        taken
    }

    /// Evaluates `rows` in one call. After an error, the sequences of the rows must be cut.
    pub fn decode(&mut self, rows: &[Row], stop: Stop<'_>) -> Result<(), DecodeError> {
        if rows.len() > self.rows_max {
            let reason = "no room for them in its memory".to_owned();
            return Err(DecodeError::Failed { rows: rows.len(), reason });
        }
        self.batch.n_tokens = int(rows.len());
        for (index, row) in rows.iter().enumerate() {
            // SAFETY: the batch was made for `rows_max` rows of one sequence each, and `index` is below that.
            unsafe {
                *self.batch.token.add(index) = row.token.0;
                *self.batch.pos.add(index) = int(row.position);
                *self.batch.n_seq_id.add(index) = 1;
                **self.batch.seq_id.add(index) = int(row.sequence);
                *self.batch.logits.add(index) = i8::from(row.logits);
            }
        }
        self.call(self.batch, stop)
    }

    /// Evaluates projector vectors in one call; each is as wide as the model's input. `positions`
    /// consists of blocks with one number per vector, as many blocks as the model has numbers per
    /// position. After an error, the sequence must be cut.
    pub fn decode_vectors(
        &mut self,
        sequence: usize,
        vectors: &[f32],
        positions: &mut [i32],
        rows: usize,
        wanted: bool,
        stop: Stop<'_>,
    ) -> Result<(), DecodeError> {
        if rows > self.rows_max {
            let reason = format!("a call has at most {} rows", self.rows_max);
            return Err(DecodeError::Failed { rows, reason });
        }
        let mut of_one = [int(sequence)];
        let mut sequences = vec![of_one.as_mut_ptr(); rows];
        let (mut counts, mut logits) = (vec![1; rows], vec![0; rows]);
        if let Some(last) = logits.last_mut() {
            *last = i8::from(wanted);
        }
        let batch = sys::llama_batch {
            n_tokens: int(rows),
            token: std::ptr::null_mut(),
            embd: vectors.as_ptr().cast_mut(),
            pos: positions.as_mut_ptr(),
            n_seq_id: counts.as_mut_ptr(),
            seq_id: sequences.as_mut_ptr(),
            logits: logits.as_mut_ptr(),
        };
        self.call(batch, stop)
    }

    /// Sets whether rows attend only to earlier rows, as in text.
    pub fn set_causal(&mut self, is_causal: bool) {
        // SAFETY: the context is live.
        unsafe { sys::llama_set_causal_attn(self.raw.as_ptr(), is_causal) }
    }

    /// Maximum number of rows in a call.
    pub fn rows_max(&self) -> usize {
        self.rows_max
    }

    /// Evaluates a batch whose arrays hold as many rows as it declares.
    fn call(&mut self, batch: sys::llama_batch, stop: Stop<'_>) -> Result<(), DecodeError> {
        let rows = batch.n_tokens as usize;
        // The callback gets a thin pointer to the fat one, which is cleared before `stop` goes out
        // of scope.
        self.stop.store((&raw const stop).cast_mut().cast(), Ordering::Release);
        let threads = int(self.threads.for_call());
        let begun = Instant::now();
        // SAFETY: the context is live, and so are the batch's arrays, which its creators sized.
        let answer = unsafe {
            sys::llama_set_n_threads(self.raw.as_ptr(), threads, threads);
            sys::llama_decode(self.raw.as_ptr(), batch)
        };
        self.threads.called(begun.elapsed());
        self.stop.store(std::ptr::null_mut(), Ordering::Release);
        let failed = |reason: String| Err(DecodeError::Failed { rows, reason });
        match answer {
            0 => Ok(()),
            1 => failed("no room for them in its memory".to_owned()),
            2 => Err(DecodeError::Stopped),
            other => failed(format!("llama_decode answered {other}")),
        }
    }

    /// Logits after row `row` of the last call; empty if that row did not request them.
    pub fn logits(&self, row: usize) -> &[f32] {
        // SAFETY: a non-null result points to one float per vocabulary entry; they live until the
        // next call, which needs `&mut self`.
        unsafe {
            let first = sys::llama_get_logits_ith(self.raw.as_ptr(), int(row));
            if first.is_null() { &[] } else { std::slice::from_raw_parts(first, self.vocabulary) }
        }
    }

    /// Removes positions from `from` on. False if llama.cpp reports that it cannot.
    pub fn remove(&mut self, sequence: usize, from: usize) -> bool {
        // SAFETY: `memory` belongs to the live context; any sequence and position is allowed.
        unsafe { sys::llama_memory_seq_rm(self.memory, int(sequence), int(from), -1) }
    }

    /// Number of rows at the end of a call that recurrent layers can undo; 0 if none.
    pub fn undo_rows(&self) -> usize {
        // SAFETY: the context is live.
        unsafe { sys::llama_n_rs_seq(self.raw.as_ptr()) as usize }
    }

    /// Number of positions in a sequence.
    pub fn length(&self, sequence: usize) -> usize {
        // SAFETY: as in `remove`. The result is -1 for an empty sequence.
        let last = unsafe { sys::llama_memory_seq_pos_max(self.memory, int(sequence)) };
        usize::try_from(last + 1).unwrap_or(0)
    }

    /// Writes a sequence's state to `bytes`: all layers, or only those that cannot be cut. False if
    /// llama.cpp fails.
    pub fn state_into(&mut self, sequence: usize, part: Part, bytes: &mut Vec<u8>) -> bool {
        // SAFETY: the context is live, and the buffer has the size that llama.cpp requested.
        unsafe {
            let size = sys::llama_state_seq_get_size_ext(self.raw.as_ptr(), int(sequence), part.flags());
            bytes.clear();
            bytes.reserve_exact(size);
            let written = sys::llama_state_seq_get_data_ext(
                self.raw.as_ptr(),
                bytes.as_mut_ptr(),
                size,
                int(sequence),
                part.flags(),
            );
            bytes.set_len(written.min(size));
            written > 0 && written <= size
        }
    }

    /// Restores a state; true if llama.cpp consumed all of it. The bytes must come from
    /// [`Context::state_into`] of a context of the same model and KV format, which
    /// `prefix::Fingerprint` ensures.
    pub fn set_state(&mut self, sequence: usize, state: &[u8], part: Part) -> bool {
        // SAFETY: the context is live; llama.cpp reads at most `len` bytes and checks sizes as it
        // goes.
        let read = unsafe {
            sys::llama_state_seq_set_data_ext(
                self.raw.as_ptr(),
                state.as_ptr(),
                state.len(),
                int(sequence),
                part.flags(),
            )
        };
        read == state.len()
    }
}

impl Drop for Context<'_> {
    fn drop(&mut self) {
        // SAFETY: both were created in `new` and are freed once; the model and the callback's data
        // are still alive.
        unsafe {
            sys::llama_batch_free(self.batch);
            sys::llama_free(self.raw.as_ptr());
        }
    }
}

/// Which layers a state covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Whole,
    /// Only layers that cannot be cut: recurrent layers and sliding windows.
    Uncuttable,
}

impl Part {
    fn flags(self) -> sys::llama_state_seq_flags {
        match self {
            Part::Whole => 0,
            // `LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY` in llama.h, a macro that the binding does not
            // expose.
            Part::Uncuttable => 1,
        }
    }
}

/// The abort callback. llama.cpp's threads call it between graph nodes (CPU) or command buffers
/// (Metal); CUDA does not call it.
unsafe extern "C" fn asked_to_stop(data: *mut c_void) -> bool {
    // SAFETY: `data` is the address of the context's `stop`, which outlives the context.
    let slot = unsafe { &*data.cast::<AtomicPtr<c_void>>() };
    let stop = slot.load(Ordering::Acquire).cast::<Stop<'_>>();
    // SAFETY: a non-null pointer was stored by `call`, which waits for every thread before it clears it.
    !stop.is_null() && unsafe { (*stop)() }
}

/// The model's pointer inside the binding's wrapper.
pub(super) fn pointer(model: &LlamaModel) -> *mut sys::llama_model {
    // SAFETY: `LlamaModel` and the pointer type inside are both `repr(transparent)` in the version
    // pinned in Cargo.toml, so the wrapper *is* the pointer; `tests::the_wrapper_is_the_pointer`
    // would detect a change.
    unsafe { std::mem::transmute_copy::<LlamaModel, *mut sys::llama_model>(model) }
}

/// Wraps a model loaded with options that the binding does not offer. The wrapper frees the model
/// when dropped.
pub(super) fn wrapped(model: NonNull<sys::llama_model>) -> LlamaModel {
    // SAFETY: as in `pointer`.
    unsafe { std::mem::transmute::<NonNull<sys::llama_model>, LlamaModel>(model) }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use llama_cpp_2::model::params::LlamaModelParams;

    use super::super::{KvFormat, backend};
    use super::*;
    use crate::engine::Token;
    use crate::models::Exact;

    const CHUNK: usize = 64;
    const PROMPT: usize = 300;
    const GENERATED: usize = 4;

    /// The bits of all logits read; each call uses `number(call)` of two threads.
    fn logits(model: &LlamaModel, kv: KvFormat, number: impl Fn(usize) -> usize) -> Vec<u32> {
        let shape = Shape {
            slots: 1,
            context: 512,
            kv,
            flash: FlashAttention::Auto,
            threads: 2,
            chunk: CHUNK,
            exact: Exact::Auto,
        };
        let mut context = Context::new(model, &shape, shape.context, 0, true).expect("a context");
        let mut bits = Vec::new();
        let mut from = 0;
        for call in 0.. {
            let rows = CHUNK.min(PROMPT.saturating_sub(from)).max(1);
            let row = |at: usize| Row {
                sequence: 0,
                position: at,
                token: Token((100 + at * 37 % 5_000) as i32),
                logits: at + 1 == from + rows,
            };
            let rows: Vec<Row> = (from..from + rows).map(row).collect();
            context.threads.pin(number(call));
            context.decode(&rows, &|| false).expect("decoded");
            bits.extend(context.logits(rows.len() - 1).iter().map(|logit| logit.to_bits()));
            from += rows.len();
            if from >= PROMPT + GENERATED {
                return bits;
            }
        }
        unreachable!("the prompt ends")
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let models = std::env::var_os("MONOBLOC_TEST_MODELS").map(PathBuf::from);
        let models = models.unwrap_or_else(crate::models::places::model_dir);
        for file in ["SmolLM2-135M-Instruct.Q4_1.gguf", "gemma-3-270m.Q4_K_M.gguf"] {
            let model = LlamaModel::load_from_file(
                backend().expect("a backend"),
                models.join(file),
                &LlamaModelParams::default(),
            )
            .expect("a model");
            for kv in [KvFormat::F16, KvFormat::Q8_0] {
                let alone = logits(&model, kv, |_| 1);
                assert!(alone.len() > PROMPT / CHUNK && alone.iter().any(|bits| *bits != 0), "{file}");
                assert!(logits(&model, kv, |_| 2) == alone, "{file}, {kv:?}: two threads");
                assert!(logits(&model, kv, |call| 1 + call % 2) == alone, "{file}, {kv:?}: one and two by turns");
            }
        }
    }
}
