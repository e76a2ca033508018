//! Model settings that a program may leave to its user; a model's table in models.toml takes precedence.

use std::path::PathBuf;

use serde::Deserialize;

use super::sampling_wish::SamplingWish;
use super::think::Think;

/// Types of the KV cache that llama.cpp supports on CPU, CUDA and Metal.
pub const KV_TYPES: [&str; 3] = ["f16", "q8_0", "q4_0"];

/// Where models are looked for, and the defaults for values that models.toml does not set.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelSettings {
    /// Folder with the models; `None` means the user's data directory.
    pub model_dir: Option<PathBuf>,
    /// The `models.toml` to use; `None` means the one in `model_dir`, else the one built into the program.
    pub models_file: Option<PathBuf>,
    /// The server whose model is planner or router; `None` leaves it to models.toml.
    pub planner_url: Option<String>,
    pub router_url: Option<String>,
    /// Send placeholders for private data to the roles' servers.
    pub mask_prompts: bool,
    /// Open no connection.
    pub offline: bool,
    /// Context window in tokens per slot.
    pub context: u32,
    /// Inference slots per model.
    pub slots: usize,
    /// Type of the KV cache (one of [`KV_TYPES`]); `None` chooses by model and device.
    pub kv_type: Option<String>,
    pub flash_attention: FlashAttention,
    /// Seconds that an unused model stays in memory.
    pub keep_alive_s: u64,
    /// How far models think; `None` leaves it to models.toml.
    pub think: Option<Think>,
    /// Sampling values that the user sets instead of the model maker's.
    pub sampling: SamplingWish,
}

impl Default for ModelSettings {
    fn default() -> ModelSettings {
        ModelSettings {
            model_dir: None,
            models_file: None,
            planner_url: None,
            router_url: None,
            mask_prompts: false,
            offline: false,
            context: 8_192,
            slots: 2,
            kv_type: None,
            flash_attention: FlashAttention::Auto,
            keep_alive_s: 300,
            think: None,
            sampling: SamplingWish::default(),
        }
    }
}

/// Whether the bits of an answer are independent of everything computed alongside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exact {
    /// On for a CPU; off if layers are on a GPU.
    #[default]
    Auto,
    On,
    Off,
}

/// Whether attention is computed by flash kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlashAttention {
    /// Whichever is faster for the KV type and the device.
    #[default]
    Auto,
    On,
    /// Never: this rules out quantised keys and values, which need it.
    Off,
}
