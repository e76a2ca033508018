//! The one door to llama.cpp: loads weights, owns contexts, evaluates rows.
//!
//! Facts this file rests on, each held by a test in `tests/it/engine.rs`: a prompt is evaluated one sequence a call,
//! generated tokens may share calls (`kv_unified = false`); sliding-window models share nothing; recurrent layers
//! cannot be cut, so a checkpoint of them is taken at every [`Decoder::mark`] and put back before the attention
//! layers are cut.

pub mod mapping;

use std::num::NonZeroU32;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::params::{KvCacheType, LlamaContextParams};
use llama_cpp_2::context::session::{LlamaStateSeqFlags, SeqState};
use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::{LogOptions, send_logs_to_tracing};

use super::decoder::{DecodeError, Decoder, Limits, Row, Token, Vocabulary};
use crate::models::dialect::{Piece, Prompt};

/// Positions in a context are allotted in blocks of this size (llama.cpp pads `n_ctx` to it).
const CONTEXT_BLOCK: usize = 256;
/// Checkpoints kept a sequence. The 24B's are 480 KiB each, so a full set is 15 MiB.
pub const MARKS_MAX: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LlamaError {
    #[error("llama.cpp could not start: {0}")]
    Backend(String),
    #[error("llama.cpp could not load {file}: {reason}; MONOBLOC_LOG=debug shows its own messages")]
    Load { file: String, reason: String },
    #[error("loading {file} was cancelled")]
    Cancelled { file: String },
    #[error("llama.cpp could not make a context of {slots} × {context} positions: {reason}")]
    Context { slots: usize, context: usize, reason: String },
}

/// The library's global state, started once a process and never stopped.
fn backend() -> Result<&'static LlamaBackend, LlamaError> {
    static BACKEND: OnceLock<Result<LlamaBackend, LlamaError>> = OnceLock::new();
    BACKEND
        .get_or_init(|| {
            send_logs_to_tracing(LogOptions::default());
            LlamaBackend::init().map_err(|error| LlamaError::Backend(error.to_string()))
        })
        .as_ref()
        .map_err(Clone::clone)
}

/// What the library was built for and finds here, `AVX512 = 1 | …`.
pub fn system_info() -> String {
    // SAFETY: the function has no preconditions and returns a NUL-terminated string that lives as long as the process.
    let text = unsafe { std::ffi::CStr::from_ptr(llama_cpp_sys_2::llama_print_system_info()) };
    text.to_string_lossy().into_owned()
}

/// The weights of one model file, shared by every context made from them.
pub struct Weights {
    model: LlamaModel,
    tokens: Vec<TokenText>,
    /// Making a context changes the model, so one is made at a time (llama-cpp-2 says the same).
    making: Mutex<()>,
}

struct TokenText {
    bytes: Vec<u8>,
    control: Option<Vec<u8>>,
    end: bool,
}

impl Weights {
    /// Reads `file`. `progress` is told the share that is done, 0 to 1, and ends the load by answering false.
    pub fn load(
        file: &Path,
        gpu_layers: u32,
        mut progress: impl FnMut(f32) -> bool + 'static,
    ) -> Result<Weights, LlamaError> {
        let name = file.display().to_string();
        let cancelled = Arc::new(Mutex::new(false));
        let flag = cancelled.clone();
        let params = LlamaModelParams::default().with_n_gpu_layers(gpu_layers).with_progress_callback(move |share| {
            let go_on = progress(share);
            *flag.lock().unwrap_or_else(PoisonError::into_inner) = !go_on;
            go_on
        });
        let model = LlamaModel::load_from_file(backend()?, file, &params).map_err(|error| {
            match *cancelled.lock().unwrap_or_else(PoisonError::into_inner) {
                true => LlamaError::Cancelled { file: name.clone() },
                false => LlamaError::Load { file: name.clone(), reason: error.to_string() },
            }
        })?;
        let tokens = token_texts(&model);
        Ok(Weights { model, tokens, making: Mutex::new(()) })
    }

    /// Whether a sequence can only be restored from checkpoints: recurrent layers or a sliding attention window.
    fn rewind(&self) -> Rewind {
        if self.model.is_hybrid() || self.model.is_recurrent() || self.sliding_window() {
            Rewind::Checkpoint
        } else {
            Rewind::Cut
        }
    }

    fn sliding_window(&self) -> bool {
        let architecture = self.model.meta_val_str("general.architecture").unwrap_or_default();
        self.model
            .meta_val_str(&format!("{architecture}.attention.sliding_window"))
            .is_ok_and(|window| window.parse::<u64>().is_ok_and(|window| window > 0))
    }

    /// A context with `shape`; it borrows the weights.
    pub fn context(&self, shape: &Shape) -> Result<LlamaDecoder<'_>, LlamaError> {
        let context = shape.context.next_multiple_of(CONTEXT_BLOCK);
        let failed = |reason: String| LlamaError::Context { slots: shape.slots, context, reason };
        let positions = u32::try_from(context * shape.slots).map_err(|error| failed(error.to_string()))?;
        let rows = shape.chunk.max(shape.slots) as u32;
        let params = LlamaContextParams::default()
            .with_n_ctx(NonZeroU32::new(positions))
            .with_n_seq_max(shape.slots as u32)
            .with_n_batch(rows)
            .with_n_ubatch(rows)
            .with_n_threads(shape.threads as i32)
            .with_n_threads_batch(shape.threads as i32)
            .with_type_k(shape.kv.cache_type())
            .with_type_v(shape.kv.cache_type())
            .with_kv_unified(false)
            .with_no_perf(true);
        let making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        let inner = self.model.new_context(backend()?, params).map_err(|error| failed(error.to_string()))?;
        drop(making);
        let limits = Limits {
            sequences: shape.slots,
            context,
            chunk: shape.chunk,
            vocabulary: self.tokens.len(),
            co_batch: !self.sliding_window(),
        };
        Ok(LlamaDecoder {
            context: inner,
            batch: LlamaBatch::new(rows as usize, 1),
            limits,
            rewind: self.rewind(),
            sequences: (0..shape.slots).map(|_| Sequence::default()).collect(),
        })
    }
}

fn token_texts(model: &LlamaModel) -> Vec<TokenText> {
    let vocab = model.vocab();
    vocab
        .tokens()
        .map(|token| {
            let control = vocab.is_control(token) || vocab.is_eog(token);
            TokenText {
                bytes: if control { Vec::new() } else { vocab.token_to_piece(token, false, None) },
                control: control.then(|| vocab.token_to_piece(token, true, None)),
                end: vocab.is_eog(token),
            }
        })
        .collect()
}

impl Vocabulary for Weights {
    fn size(&self) -> usize {
        self.tokens.len()
    }

    fn tokenize(&self, prompt: &Prompt) -> Vec<Token> {
        let vocab = self.model.vocab();
        let mut tokens = Vec::new();
        for piece in &prompt.0 {
            match piece {
                Piece::Special(text) => vocab.tokenize_into(text.as_bytes(), &mut tokens, false, true),
                Piece::Text(text) => vocab.tokenize_into(text.as_bytes(), &mut tokens, false, false),
            }
        }
        let begin = vocab.bos();
        if vocab.should_add_bos() && tokens.first() != Some(&begin) {
            tokens.insert(0, begin);
        }
        tokens.into_iter().map(|token| Token(token.0)).collect()
    }

    fn bytes(&self, token: Token) -> &[u8] {
        self.tokens.get(token.0 as usize).map_or(&[], |text| &text.bytes)
    }

    fn control(&self, token: Token) -> Option<&[u8]> {
        self.tokens.get(token.0 as usize)?.control.as_deref()
    }

    fn is_end(&self, token: Token) -> bool {
        self.tokens.get(token.0 as usize).is_some_and(|text| text.end)
    }
}

/// Number format of cached keys and values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KvFormat {
    F16,
    #[default]
    Q8_0,
    Q4_0,
}

impl KvFormat {
    fn cache_type(self) -> KvCacheType {
        match self {
            KvFormat::F16 => KvCacheType::F16,
            KvFormat::Q8_0 => KvCacheType::Q8_0,
            KvFormat::Q4_0 => KvCacheType::Q4_0,
        }
    }
}

/// How large a context is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    pub slots: usize,
    /// Positions of each slot.
    pub context: usize,
    pub kv: KvFormat,
    pub threads: usize,
    /// Rows of one prefill call.
    pub chunk: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rewind {
    Cut,
    Checkpoint,
}

#[derive(Default)]
struct Sequence {
    length: usize,
    /// Checkpoints by length, shortest first.
    marks: Vec<(usize, SeqState)>,
}

/// One context of one model.
pub struct LlamaDecoder<'w> {
    context: LlamaContext<'w>,
    batch: LlamaBatch<'static>,
    limits: Limits,
    rewind: Rewind,
    sequences: Vec<Sequence>,
}

impl LlamaDecoder<'_> {
    fn clear(&mut self, sequence: usize) -> usize {
        // Removing a whole sequence cannot fail.
        let _ = self.context.clear_kv_cache_seq(Some(sequence as u32), None, None);
        self.sequences[sequence] = Sequence::default();
        0
    }

    fn cut(&mut self, sequence: usize, length: usize) -> bool {
        let removed = self.context.clear_kv_cache_seq(Some(sequence as u32), Some(length as u32), None);
        let end = self.context.kv_cache_seq_pos_max(sequence as i32);
        matches!(removed, Ok(true)) && end + 1 == length as i32
    }

    /// Puts the latest checkpoint not after `wanted` back, then cuts the attention layers to it.
    fn restore(&mut self, sequence: usize, wanted: usize) -> Option<usize> {
        let marks = &mut self.sequences[sequence].marks;
        marks.retain(|(length, _)| *length <= wanted);
        let (length, state) = marks.last()?;
        let length = *length;
        self.context.state_seq_set(state, sequence as i32).ok()?;
        self.cut(sequence, length).then_some(length)
    }
}

impl Decoder for LlamaDecoder<'_> {
    fn limits(&self) -> Limits {
        self.limits
    }

    fn decode(&mut self, rows: &[Row]) -> Result<(), DecodeError> {
        let failed = |reason: String| DecodeError { rows: rows.len(), reason };
        self.batch.clear();
        for row in rows {
            self.batch
                .add(LlamaToken(row.token.0), row.position as i32, &[row.sequence as i32], row.logits)
                .map_err(|error| failed(error.to_string()))?;
        }
        self.context.decode(&mut self.batch).map_err(|error| failed(error.to_string()))?;
        for row in rows {
            self.sequences[row.sequence].length = row.position + 1;
        }
        Ok(())
    }

    fn logits(&self, row: usize) -> &[f32] {
        self.context.get_logits_ith(row as i32)
    }

    fn mark(&mut self, sequence: usize) {
        if self.rewind == Rewind::Cut {
            return;
        }
        let length = self.sequences[sequence].length;
        let Ok(state) = self.context.state_seq_get(sequence as i32, LlamaStateSeqFlags::PARTIAL_ONLY) else { return };
        let marks = &mut self.sequences[sequence].marks;
        marks.retain(|(earlier, _)| *earlier < length);
        marks.push((length, state));
        if marks.len() > MARKS_MAX {
            // Thin out the older half: a rewind far back then costs a few chunks more, never a whole prompt.
            let mut number = 0;
            let half = MARKS_MAX / 2;
            marks.retain(|_| {
                number += 1;
                number > half || number % 2 == 1
            });
        }
    }

    fn keep(&mut self, sequence: usize, wanted: usize) -> usize {
        let length = self.sequences[sequence].length;
        if wanted >= length {
            return length;
        }
        if wanted == 0 {
            return self.clear(sequence);
        }
        let kept = match self.rewind {
            Rewind::Cut => self.cut(sequence, wanted).then_some(wanted),
            Rewind::Checkpoint => self.restore(sequence, wanted),
        };
        match kept {
            Some(kept) => {
                self.sequences[sequence].length = kept;
                kept
            }
            None => self.clear(sequence),
        }
    }
}
