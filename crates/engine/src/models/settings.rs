//! The settings of models that a program may leave to its user; a model's table in models.toml is asked first.

use std::path::PathBuf;

use serde::Deserialize;

use super::sampling_wish::SamplingWish;
use super::think::Think;

/// Types of the KV cache that llama.cpp supports on CPU, CUDA and Metal.
pub const KV_TYPES: [&str; 3] = ["f16", "q8_0", "q4_0"];

/// Where models are looked for, and the values that hold where models.toml does not say.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelSettings {
    /// Folder with the models; `None` means the user's data directory.
    pub model_dir: Option<PathBuf>,
    /// The `models.toml` to use; `None` means the one in `model_dir`, else the one built into the program.
    pub models_file: Option<PathBuf>,
    /// The server whose model plays the planner or the router; `None` leaves it to models.toml.
    pub planner_url: Option<String>,
    pub router_url: Option<String>,
    /// Send placeholders for private data to servers that play roles.
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
    /// How tokens are chosen, where the user wishes other values than the model's maker.
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

/// Whether the bits of an answer depend on nothing that is computed beside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exact {
    /// On a processor; not where layers are on a GPU.
    #[default]
    Auto,
    On,
    Off,
}

/// Whether attention is computed by flash kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlashAttention {
    /// By what is faster for the KV type and the device.
    #[default]
    Auto,
    On,
    /// Never: quantised keys and values, which need it, are then ruled out.
    Off,
}
