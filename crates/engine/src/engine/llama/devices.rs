//! Finds the accelerator that llama.cpp can use, and its present memory.

use llama_cpp_2::{LlamaBackendDeviceType, list_llama_ggml_backend_devices};

use crate::base::{ACCELERATED, Bytes};
use crate::budget::machine::{Accelerator, Kind};

/// The first graphics card that this build supports, with its memory; `None` if there is none.
/// Asking for the memory starts the driver, so the driver's own memory is already deducted.
pub fn accelerator() -> Option<Accelerator> {
    if !ACCELERATED {
        return None;
    }
    // Once started, llama.cpp logs what it finds.
    super::backend().ok()?;
    list_llama_ggml_backend_devices().into_iter().find_map(|device| {
        let is_part_of_host = match device.device_type {
            LlamaBackendDeviceType::Gpu => false,
            LlamaBackendDeviceType::IntegratedGpu => true,
            _ => return None,
        };
        let (kind, shared) = match device.backend.as_str() {
            "CUDA" => (Kind::Cuda, is_part_of_host),
            // On Metal the total is the working set, the most that one program may use.
            "Metal" | "MTL" => (Kind::Metal, true),
            "Vulkan" => (Kind::Vulkan, is_part_of_host),
            _ => return None,
        };
        let (total, free) = (Bytes(device.memory_total as u64), Bytes(device.memory_free as u64));
        Some(Accelerator::found(kind, shared, total, free))
    })
}
