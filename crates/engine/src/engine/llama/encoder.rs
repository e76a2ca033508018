//! Computes vectors or scores of texts: each text in a call is a separate sequence, and llama.cpp pools its tokens' vectors.

use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Instant;

use llama_cpp_sys_2 as sys;

use super::context::pointer;
use super::threads::Threads;
use super::{CONTEXT_BLOCK, LlamaError, Weights, int, log};
use crate::engine::decoder::DecodeError;
use crate::models::Pooling;

/// Maximum number of texts in a call.
pub const TEXTS_MAX: usize = 64;

/// `LLAMA_POOLING_TYPE_RANK` in llama.h: the pooled vector goes through the classification head.
const RANK: u32 = 4;

/// A context that produces vectors or scores instead of logits, with its model.
pub struct Encoder {
    raw: NonNull<sys::llama_context>,
    /// Null for models whose tokens attend in both directions: they keep no state.
    memory: sys::llama_memory_t,
    batch: sys::llama_batch,
    rows_max: usize,
    width: usize,
    /// Dropped after the context, which `Drop` frees first; so is `_weights`.
    threads: Threads,
    _weights: Arc<Weights>,
}

// SAFETY: a context may be used from any thread, one at a time; it is not bound to the thread that
// created it.
unsafe impl Send for Encoder {}

impl Encoder {
    /// Creates a context on the CPU with `threads` threads, whose calls have at most `rows` tokens
    /// in total.
    pub fn new(weights: Arc<Weights>, pooling: Pooling, rows: usize, threads: usize) -> Result<Encoder, LlamaError> {
        Encoder::pooling(weights, pooling.number(), rows, threads)
    }

    /// The same for a re-ranker: the vector of a text has the outputs of its classification head.
    pub fn ranking(weights: Arc<Weights>, rows: usize, threads: usize) -> Result<Encoder, LlamaError> {
        Encoder::pooling(weights, RANK, rows, threads)
    }

    fn pooling(weights: Arc<Weights>, pooling: u32, rows: usize, threads: usize) -> Result<Encoder, LlamaError> {
        let failed = |reason: Option<String>| {
            let reason = reason.unwrap_or_else(|| "it refused; MONOBLOC_LOG=debug shows its own messages".to_owned());
            LlamaError::Context { slots: 1, context: rows, reason }
        };
        // llama.cpp splits the calls of such a model, and would keep only the last part of a text.
        if weights.recurs() {
            return Err(failed(Some(
                "a recurrent model is not supported as an embedder or re-ranker; choose another".to_owned(),
            )));
        }
        let threads = Threads::new(threads).ok_or_else(|| failed(Some("it got no threads".to_owned())))?;
        let model = pointer(weights.model());
        // SAFETY: the call returns a plain structure.
        let mut params = unsafe { sys::llama_context_default_params() };
        params.n_ctx = int(rows.next_multiple_of(CONTEXT_BLOCK)) as u32;
        params.n_seq_max = int(TEXTS_MAX.min(rows)) as u32;
        // A text is pooled within one micro-batch.
        params.n_batch = int(rows) as u32;
        params.n_ubatch = int(rows) as u32;
        params.n_outputs_max = 0;
        params.n_threads = int(threads.most());
        params.n_threads_batch = int(threads.most());
        params.embeddings = true;
        params.pooling_type = int(pooling as usize);
        params.flash_attn_type = sys::LLAMA_FLASH_ATTN_TYPE_DISABLED;
        // In a model that keeps state, all texts of a call share its cells.
        params.kv_unified = true;
        params.swa_full = true;
        params.no_perf = true;
        let held = weights.alone();
        log::forget();
        // SAFETY: the model outlives the context: `_weights` is dropped after it.
        let raw = NonNull::new(unsafe { sys::llama_init_from_model(model, params) });
        drop(held);
        let raw = raw.ok_or_else(|| failed(log::reason()))?;
        // SAFETY: `raw` and the model are live, and the pool outlives the context. The batch is
        // allocated for that many rows of one sequence each, and freed in `Drop`.
        let (memory, width, batch) = unsafe {
            sys::llama_attach_threadpool(raw.as_ptr(), threads.pool(), threads.pool());
            let width = match pooling {
                RANK => sys::llama_model_n_cls_out(model) as usize,
                _ => usize::try_from(sys::llama_model_n_embd_out(model)).unwrap_or(0),
            };
            (sys::llama_get_memory(raw.as_ptr()), width, sys::llama_batch_init(int(rows), 0, 1))
        };
        Ok(Encoder { raw, memory, batch, rows_max: rows, width, threads, _weights: weights })
    }

    /// Length of every vector.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The vector of each text, not scaled. Texts must not be empty, and together they must fit in
    /// one call.
    pub fn encode(&mut self, texts: &[&[u32]]) -> Result<Vec<Vec<f32>>, DecodeError> {
        let mut vectors = Vec::with_capacity(texts.len());
        for texts in texts.chunks(TEXTS_MAX.min(self.rows_max)) {
            vectors.extend(self.call(texts)?);
        }
        Ok(vectors)
    }

    fn call(&mut self, texts: &[&[u32]]) -> Result<Vec<Vec<f32>>, DecodeError> {
        let rows = texts.iter().map(|text| text.len()).sum();
        let failed = |reason: String| DecodeError::Failed { rows, reason };
        if rows > self.rows_max || texts.iter().any(|text| text.is_empty()) {
            return Err(failed(format!("a call takes 1 to {} rows, and no empty text", self.rows_max)));
        }
        self.batch.n_tokens = int(rows);
        let placed = texts.iter().enumerate().flat_map(|(text, tokens)| {
            tokens.iter().enumerate().map(move |(position, token)| (text, position, *token))
        });
        for (index, (text, position, token)) in placed.enumerate() {
            // SAFETY: the batch was made for `rows_max` rows of one sequence each, and `index` is below that.
            unsafe {
                *self.batch.token.add(index) = int(token as usize);
                *self.batch.pos.add(index) = int(position);
                *self.batch.n_seq_id.add(index) = 1;
                **self.batch.seq_id.add(index) = int(text);
                *self.batch.logits.add(index) = 1;
            }
        }
        let threads = int(self.threads.for_call());
        let begun = Instant::now();
        log::forget();
        // SAFETY: the context is live, and so are the batch's arrays; the memory belongs to the
        // context or is null.
        let answer = unsafe {
            if !self.memory.is_null() {
                sys::llama_memory_clear(self.memory, false);
            }
            sys::llama_set_n_threads(self.raw.as_ptr(), threads, threads);
            sys::llama_decode(self.raw.as_ptr(), self.batch)
        };
        self.threads.called(begun.elapsed());
        if answer != 0 {
            return Err(failed(log::reason().unwrap_or_else(|| format!("llama_decode answered {answer}"))));
        }
        let vector = |text: usize| {
            // SAFETY: a non-null result points to `width` floats that live until the next call,
            // which needs `&mut self`.
            unsafe {
                let first = sys::llama_get_embeddings_seq(self.raw.as_ptr(), int(text));
                (!first.is_null()).then(|| std::slice::from_raw_parts(first, self.width).to_vec())
            }
        };
        let vectors: Option<Vec<Vec<f32>>> = (0..texts.len()).map(vector).collect();
        vectors.ok_or_else(|| failed("it returned no vector for a text".to_owned()))
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        // SAFETY: both were created in `new` and are freed once; the model and the threads are
        // still alive.
        unsafe {
            sys::llama_batch_free(self.batch);
            sys::llama_free(self.raw.as_ptr());
        }
    }
}
