//! Model settings that a program may leave to its user; a model's table in models.toml takes precedence.

use std::path::PathBuf;

use serde::Deserialize;

use super::sampling_wish::SamplingWish;
use super::think::Think;

/// Types of the KV cache that llama.cpp supports on CPU, CUDA and Metal.
pub const KV_TYPES: [&str; 3] = ["f16", "q8_0", "q4_0"];

/// Where to look for models, and the defaults for values not set in models.toml.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelSettings {
    /// Folder with the models; `None` means the one in the user's data directory.
    pub model_dir: Option<PathBuf>,
    /// The `models.toml` to use; `None` means the one in `model_dir`, or else the built-in one.
    pub models_file: Option<PathBuf>,
    /// The server whose model is the planner or router; `None` leaves this to models.toml.
    pub planner_url: Option<String>,
    pub router_url: Option<String>,
    /// Whether to send placeholders instead of private data to the roles' servers.
    pub mask_prompts: bool,
    /// Open no connection.
    pub offline: bool,
    /// Context window in tokens per slot.
    pub context: u32,
    /// Number of inference slots per model.
    pub slots: usize,
    /// Type of the KV cache (one of [`KV_TYPES`]); `None` chooses by model and device.
    pub kv_type: Option<String>,
    pub flash_attention: FlashAttention,
    /// Seconds that an unused model stays in memory.
    pub keep_alive_s: u64,
    /// How much models think; `None` leaves this to models.toml.
    pub think: Option<Think>,
    /// The user's sampling values, which override the model maker's.
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
