//! Finds the accelerator that llama.cpp can use, and its current memory.

use std::ptr::{NonNull, null_mut};

use llama_cpp_2::{LlamaBackendDeviceType, list_llama_ggml_backend_devices};
use llama_cpp_sys_2 as sys;

use crate::base::{ACCELERATED, Bytes};
use crate::budget::machine::{Accelerator, Kind};

/// The first graphics card that this build supports, with its memory; `None` if there is none.
/// Querying the memory starts the driver, so the driver's own memory is already deducted.
pub fn accelerator() -> Option<Accelerator> {
    if !ACCELERATED {
        return None;
    }
    // Once started, llama.cpp logs the devices that it finds.
    super::backend().ok()?;
    list_llama_ggml_backend_devices().into_iter().find_map(|device| {
        let is_part_of_host = match device.device_type {
            LlamaBackendDeviceType::Gpu => false,
            LlamaBackendDeviceType::IntegratedGpu => true,
            _ => return None,
        };
        let (kind, shared) = match device.backend.as_str() {
            "CUDA" => (Kind::Cuda, is_part_of_host),
            // On Metal the total is the working set, the maximum that one program may use.
            "Metal" | "MTL" => (Kind::Metal, true),
            "Vulkan" => (Kind::Vulkan, is_part_of_host),
            _ => return None,
        };
        let (total, free) = (Bytes(device.memory_total as u64), Bytes(device.memory_free as u64));
        Some(Accelerator::found(kind, shared, total, free))
    })
}

/// Number of tensors in the query of [`has_flash_attention`]: three operands and the result.
const OPERANDS: usize = 4;

/// Whether the accelerator computes flash attention over `patches` patches with heads of `head`
/// numbers, in the form that a projector uses: keys and values in f16, no mask. False if there is
/// no accelerator.
pub fn has_flash_attention(head: u32, patches: u64) -> bool {
    if !ACCELERATED || super::backend().is_err() {
        return false;
    }
    // SAFETY: the context holds only tensor descriptions (`no_alloc`), has room for them, and is
    // freed once, after their last use. The device lives as long as the process.
    unsafe {
        let mem_size = OPERANDS * sys::ggml_tensor_overhead();
        let params = sys::ggml_init_params { mem_size, mem_buffer: null_mut(), no_alloc: true };
        let Some(context) = NonNull::new(sys::ggml_init(params)) else { return false };
        let patches = i64::try_from(patches).unwrap_or(i64::MAX);
        let tensor = |kind| sys::ggml_new_tensor_4d(context.as_ptr(), kind, i64::from(head), patches, 1, 1);
        let (queries, keys, values) =
            (tensor(sys::GGML_TYPE_F32), tensor(sys::GGML_TYPE_F16), tensor(sys::GGML_TYPE_F16));
        let asked = sys::ggml_flash_attn_ext(context.as_ptr(), queries, keys, values, null_mut(), 1.0, 0.0, 0.0);
        let kinds = [sys::GGML_BACKEND_DEVICE_TYPE_GPU, sys::GGML_BACKEND_DEVICE_TYPE_IGPU];
        let device = kinds.into_iter().map(|kind| sys::ggml_backend_dev_by_type(kind)).find(|device| !device.is_null());
        let can = device.is_some_and(|device| sys::ggml_backend_dev_supports_op(device, asked));
        sys::ggml_free(context.as_ptr());
        can
    }
}
