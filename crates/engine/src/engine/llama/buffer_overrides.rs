//! Overrides where llama.cpp stores some matrices.
//!
//! Two kinds are overridden: experts that stay on the host while their layers are on an
//! accelerator, and matrices that must not be stored in AMX tiles, so that sequences can share a
//! call in recurrent layers (see [`repack::untiled`]).

use std::ffi::{CStr, CString, c_void};
use std::ptr::{self, NonNull};

use llama_cpp_sys_2 as sys;

use crate::budget::repack::{self, Lies};
use crate::models::gguf::{Header, Tensor};

type BufferType = sys::ggml_backend_buffer_type_t;

/// Regular expressions for tensor names, each with the buffer type of the matching tensors.
#[derive(Default)]
pub(super) struct BufferOverrides(Vec<(CString, BufferType)>);

impl BufferOverrides {
    /// Keeps the experts of the first `layers` layers on the host.
    pub fn experts(layers: u32) -> BufferOverrides {
        if layers == 0 {
            return BufferOverrides::default();
        }
        let numbers: Vec<String> = (0..layers).map(|layer| layer.to_string()).collect();
        let names = CString::new(format!("^blk\\.({})\\..*_exps", numbers.join("|")));
        // SAFETY: the function has no preconditions; the type is static.
        let host = unsafe { sys::ggml_backend_cpu_buffer_type() };
        BufferOverrides(names.into_iter().map(|names| (names, host)).collect())
    }

    /// Adds the model's matrices that must stay out of AMX tiles; returns whether there are any.
    /// Adds none if the machine has no tiles, or if layers may be placed on an accelerator, because
    /// the override would keep them off it.
    pub fn untile(&mut self, header: &Header, on_gpu: bool) -> bool {
        if !repack::has_tiles() || on_gpu {
            return false;
        }
        let untiled = untiled(&repack::untiled(header)).unwrap_or_default();
        let any = !untiled.is_empty();
        self.0.extend(untiled);
        any
    }

    /// The overrides in llama.cpp's format for a load: terminated by an empty entry, valid as long
    /// as `self`.
    pub fn entries(&self) -> Vec<sys::llama_model_tensor_buft_override> {
        let entry = |pattern, buft| sys::llama_model_tensor_buft_override { pattern, buft };
        let end = entry(ptr::null(), ptr::null_mut());
        self.0.iter().map(|(names, kind)| entry(names.as_ptr(), *kind)).chain([end]).collect()
    }
}

/// Overrides that keep all of `matrices` out of tiles; `None` if a buffer type is missing.
fn untiled(matrices: &[(&Tensor, Lies)]) -> Option<Vec<(CString, BufferType)>> {
    let names = |lies: Lies| {
        let matching = matrices.iter().filter(|(_, one)| *one == lies);
        matching.map(|(tensor, _)| tensor.name.replace('.', "\\.")).collect::<Vec<_>>()
    };
    let (in_rows, as_in_file) = (names(Lies::InRows), names(Lies::AsInFile));
    let mut untiled = Vec::new();
    for (names, kind) in [(in_rows, repack_type as fn() -> Option<BufferType>), (as_in_file, plain_type)] {
        if !names.is_empty() {
            untiled.push((CString::new(format!("^({})$", names.join("|"))).ok()?, kind()?));
        }
    }
    Some(untiled)
}

/// The buffer type of ggml's kernels for interleaved rows.
fn repack_type() -> Option<BufferType> {
    const GET: &CStr = c"ggml_backend_dev_get_extra_bufts";
    // SAFETY: devices and their buffer types are static; the function looked up by this name has
    // this type (`ggml_backend_dev_get_extra_bufts_t`) and returns a null-terminated list.
    unsafe {
        let device = sys::ggml_backend_dev_by_type(sys::GGML_BACKEND_DEVICE_TYPE_CPU);
        let get = sys::ggml_backend_reg_get_proc_address(sys::ggml_backend_dev_backend_reg(device), GET.as_ptr());
        if get.is_null() {
            return None;
        }
        type Get = unsafe extern "C" fn(sys::ggml_backend_dev_t) -> *const BufferType;
        let mut kinds = std::mem::transmute::<*mut c_void, Get>(get)(device);
        while !kinds.is_null() && !(*kinds).is_null() {
            if CStr::from_ptr(sys::ggml_backend_buft_name(*kinds)) == c"CPU_REPACK" {
                return Some(*kinds);
            }
            kinds = kinds.add(1);
        }
        None
    }
}

/// The buffer type of mapped files: plain memory. llama.cpp interprets its default host type as a
/// request for the fastest type.
fn plain_type() -> Option<BufferType> {
    #[repr(align(64))]
    struct Place([u8; 64]);
    static PLACE: Place = Place([0; 64]);
    let place = PLACE.0.as_ptr().cast_mut().cast::<c_void>();
    // SAFETY: only the buffer's type is read, and nothing is written; freeing the buffer does not
    // free the memory, because the buffer does not own it.
    unsafe {
        let buffer = NonNull::new(sys::ggml_backend_cpu_buffer_from_ptr(place, PLACE.0.len()))?;
        let kind = sys::ggml_backend_buffer_get_type(buffer.as_ptr());
        sys::ggml_backend_buffer_free(buffer.as_ptr());
        Some(kind)
    }
}
