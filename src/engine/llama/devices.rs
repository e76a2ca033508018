//! The accelerator that llama.cpp finds, and the memory it has now.

use llama_cpp_2::{LlamaBackendDeviceType, list_llama_ggml_backend_devices};

use crate::base::Bytes;
use crate::budget::machine::{Accelerator, Kind};

/// The first graphics card of this machine that this program was built for; `None` on others. Asking for its memory
/// wakes its driver, so what that takes is no longer free.
pub fn accelerator() -> Option<Accelerator> {
    list_llama_ggml_backend_devices().into_iter().find_map(|device| {
        let is_card = matches!(device.device_type, LlamaBackendDeviceType::Gpu | LlamaBackendDeviceType::IntegratedGpu);
        let kind = match device.backend.as_str() {
            "CUDA" => Kind::Cuda,
            // Total is the working set here: what Metal lets one program hold.
            "Metal" | "MTL" => Kind::Metal,
            _ => return None,
        };
        let (total, free) = (Bytes(device.memory_total as u64), Bytes(device.memory_free as u64));
        is_card.then(|| Accelerator::found(kind, total, free))
    })
}
