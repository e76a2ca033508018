//! Loads LoRA adapters and applies them to one context; other contexts with the same weights are unaffected.

use crate::base::lock;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::Mutex;

use llama_cpp_2::model::LlamaModel;
use llama_cpp_sys_2 as sys;

use super::LlamaError;
use super::context::pointer;

/// The adapters of one context. The model keeps them until this is dropped, which must be after the
/// context is freed.
pub(super) struct Overlay<'w> {
    adapters: Vec<NonNull<sys::llama_adapter_lora>>,
    scales: Vec<f32>,
    /// Held during changes to the model: loading or freeing an adapter, or creating a context.
    model_lock: &'w Mutex<()>,
}

// SAFETY: adapters are read only by the thread that owns their context; the model's list of them
// changes only under `model_lock`.
unsafe impl Send for Overlay<'_> {}

impl<'w> Overlay<'w> {
    /// Reads `files`, each with its scale. Call this before creating the context: llama.cpp sizes
    /// the context's graph by the loaded adapters (`graph_max_nodes`).
    pub fn read(
        model: &'w LlamaModel,
        model_lock: &'w Mutex<()>,
        files: &[(PathBuf, f32)],
    ) -> Result<Overlay<'w>, LlamaError> {
        let mut overlay = Overlay { adapters: Vec::new(), scales: Vec::new(), model_lock };
        for (file, scale) in files {
            overlay.adapters.push(read_adapter(model, model_lock, file)?);
            overlay.scales.push(*scale);
        }
        Ok(overlay)
    }

    /// Applies all adapters to `context`, which must belong to the model they were read for. False
    /// if llama.cpp refuses.
    pub fn lay_over(&mut self, context: NonNull<sys::llama_context>) -> bool {
        let count = self.adapters.len();
        let adapters = self.adapters.as_mut_ptr().cast::<*mut sys::llama_adapter_lora>();
        // SAFETY: `NonNull<T>` has the layout of `*mut T`; context and adapters are live, and
        // llama.cpp copies both lists.
        let answer =
            unsafe { sys::llama_set_adapters_lora(context.as_ptr(), adapters, count, self.scales.as_mut_ptr()) };
        answer == 0
    }
}

fn read_adapter(
    model: &LlamaModel,
    model_lock: &Mutex<()>,
    file: &Path,
) -> Result<NonNull<sys::llama_adapter_lora>, LlamaError> {
    let failed = |reason: &str| LlamaError::Adapter { file: file.display().to_string(), reason: reason.to_owned() };
    let path = CString::new(file.as_os_str().as_bytes()).map_err(|_| failed("its path has a zero byte"))?;
    let _held = lock(model_lock);
    // SAFETY: the model is live, and nothing else changes it during the call; the path ends with a
    // NUL.
    let adapter = unsafe { sys::llama_adapter_lora_init(pointer(model), path.as_ptr()) };
    NonNull::new(adapter).ok_or_else(|| failed("its shapes do not fit the model, or the file is damaged"))
}

impl Drop for Overlay<'_> {
    fn drop(&mut self) {
        let _held = lock(self.model_lock);
        for adapter in &self.adapters {
            // SAFETY: each was read once and is freed once, before its model; no context uses it
            // any more.
            unsafe { sys::llama_adapter_lora_free(adapter.as_ptr()) };
        }
    }
}
