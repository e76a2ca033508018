//! The accelerator that llama.cpp finds, and the memory it has now.

use llama_cpp_2::{LlamaBackendDeviceType, list_llama_ggml_backend_devices};

use crate::base::{ACCELERATED, Bytes};
use crate::budget::machine::{Accelerator, Kind};

/// The first graphics card of this machine that this program was built for; `None` on others. Asking for its memory
/// wakes its driver, so what that takes is no longer free.
pub fn accelerator() -> Option<Accelerator> {
    if !ACCELERATED {
        return None;
    }
    list_llama_ggml_backend_devices().into_iter().find_map(|device| {
        let is_part_of_host = match device.device_type {
            LlamaBackendDeviceType::Gpu => false,
            LlamaBackendDeviceType::IntegratedGpu => true,
            _ => return None,
        };
        let (kind, shared) = match device.backend.as_str() {
            "CUDA" => (Kind::Cuda, is_part_of_host),
            // Total is the working set here: what Metal lets one program hold.
            "Metal" | "MTL" => (Kind::Metal, true),
            "Vulkan" => (Kind::Vulkan, is_part_of_host),
            _ => return None,
        };
        let (total, free) = (Bytes(device.memory_total as u64), Bytes(device.memory_free as u64));
        Some(Accelerator::found(kind, shared, total, free))
    })
}
