//! The only module that calls llama.cpp: weights, contexts, sequences and projectors. Its callers
//! work with tokens and rows.
//!
//! This folder relies on the following, each checked by a test in `tests/it/engine.rs`. If logits
//! must be exact, a call evaluates the prompt of only one sequence, and generated tokens of several
//! sequences share a call only if that was found to change nothing (`kv_unified = false`, see
//! `sharing`). Recurrent layers cannot be cut, so every `mark` takes a checkpoint of them, which is
//! restored before the attention layers are cut. Sliding windows are restored too, and can be cut
//! back to the length at which they were last settled (see `decoder`).

mod buffer_overrides;
mod context;
mod decoder;
pub mod devices;
mod encoder;
mod eye;
mod log;
mod lora;
mod mapping;
mod marks;
mod read_ahead;
pub mod rehearsal;
mod thread_count;
mod threads;
mod weights;

use std::ffi::{CStr, c_int};
use std::sync::OnceLock;

use llama_cpp_2::llama_backend::LlamaBackend;

pub use decoder::LlamaDecoder;
pub use encoder::Encoder;
pub use eye::Sharpness;
pub use weights::{Loading, Weights};

use crate::base::OrBug;
use crate::budget::{LoadSettings, cache};
use crate::models::{Exact, FlashAttention};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LlamaError {
    #[error("llama.cpp could not start: {0}")]
    Backend(String),
    /// A text that states the file and the fault.
    #[error("{0}")]
    Refused(String),
    #[error(
        "llama.cpp cannot load {file}: {reason}; fetch it again, or choose another model (MONOBLOC_LOG=debug shows more)"
    )]
    Load { file: String, reason: String },
    #[error("{file} cannot be tried in a separate process: {reason}; try again")]
    Untried { file: String, reason: String },
    #[error("loading {file} was cancelled")]
    Cancelled { file: String },
    #[error("llama.cpp could not read the LoRA adapter {file}: {reason}; remove it from models.toml, or name another")]
    Adapter { file: String, reason: String },
    #[error("llama.cpp could not create a context of {slots} × {context} positions: {reason}")]
    Context { slots: usize, context: usize, reason: String },
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
    /// The format with this name in models.toml.
    pub fn by_name(name: &str) -> Option<KvFormat> {
        [KvFormat::F16, KvFormat::Q8_0, KvFormat::Q4_0].into_iter().find(|kind| kind.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            KvFormat::F16 => "f16",
            KvFormat::Q8_0 => "q8_0",
            KvFormat::Q4_0 => "q4_0",
        }
    }

    fn ggml_type(self) -> llama_cpp_sys_2::ggml_type {
        match self {
            KvFormat::F16 => llama_cpp_sys_2::GGML_TYPE_F16,
            KvFormat::Q8_0 => llama_cpp_sys_2::GGML_TYPE_Q8_0,
            KvFormat::Q4_0 => llama_cpp_sys_2::GGML_TYPE_Q4_0,
        }
    }
}

/// A context's number of positions is rounded up to a multiple of this (llama.cpp pads `n_ctx` to
/// it).
const CONTEXT_BLOCK: usize = 256;

/// The size of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    pub slots: usize,
    /// Number of positions per slot.
    pub context: usize,
    pub kv: KvFormat,
    pub flash: FlashAttention,
    pub threads: usize,
    /// Maximum number of rows in one prefill call.
    pub chunk: usize,
    /// Whether slots share calls even if that changes logits, see [`Weights::sharing`].
    pub exact: Exact,
}

impl Shape {
    /// Maximum number of rows in one call.
    pub fn rows(&self) -> usize {
        self.chunk.max(self.slots)
    }

    /// The settings that determine the size of a context's caches.
    pub fn settings(&self) -> LoadSettings {
        LoadSettings {
            context: self.context as u32,
            slots: self.slots,
            kv_type: self.kv.name().to_owned(),
            flash: self.flash,
            rows: self.rows() as u32,
            outputs: self.outputs() as u32,
            ..LoadSettings::default()
        }
    }

    /// See [`cache::is_read_in_products`], which the memory estimate uses too.
    pub fn is_read_in_products(&self) -> bool {
        cache::is_read_in_products(self.kv.name(), self.flash)
    }

    /// Maximum number of rows per call whose logits can be read: one per slot, and enough to score
    /// a few tokens of a name at once. By default llama.cpp reserves logits for every row: 128 MiB
    /// per context with a vocabulary of 65,536 and 512 rows.
    pub fn outputs(&self) -> usize {
        self.slots.max(SCORED_ROWS.min(self.rows()))
    }
}

/// Maximum number of rows with logits in a scoring call; tool names nearly always have fewer
/// tokens.
const SCORED_ROWS: usize = 16;

/// llama.cpp's global state, initialised once per process and never torn down.
fn backend() -> Result<&'static LlamaBackend, LlamaError> {
    static BACKEND: OnceLock<Result<LlamaBackend, LlamaError>> = OnceLock::new();
    BACKEND
        .get_or_init(|| {
            log::start();
            LlamaBackend::init().map_err(|error| LlamaError::Backend(error.to_string()))
        })
        .as_ref()
        .map_err(Clone::clone)
}

/// The processor features that llama.cpp was built for and detected, such as `AVX512 = 1 | …`.
/// Together with [`BINDING`], this identifies the build that computed a saved state or a verdict.
pub fn system_info() -> String {
    // SAFETY: the function has no preconditions and returns a NUL-terminated string that lives as long as the process.
    let text = unsafe { CStr::from_ptr(llama_cpp_sys_2::llama_print_system_info()) };
    text.to_string_lossy().into_owned()
}

/// Ends the process without running C++ destructors, which would free data still used by a thread
/// inside a call.
pub fn exit(code: i32) -> ! {
    use std::io::Write;
    // A failed flush can no longer be reported.
    let _ = (std::io::stdout().flush(), std::io::stderr().flush());
    // SAFETY: the function has no preconditions and does not return.
    unsafe { libc::_exit(code) }
}

/// Version of the binding, which pins llama.cpp's version.
pub const BINDING: &str = "llama-cpp-2 0.1.160";

/// Converts a size or index to a C int. Sizes come from `Shape` and are far below the limit.
fn int(value: usize) -> c_int {
    c_int::try_from(value).or_bug("sizes of a context fit in 31 bits")
}
