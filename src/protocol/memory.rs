//! Describes the models in memory and those that could be loaded.

use serde::{Deserialize, Serialize};

use crate::base::Bytes;

/// What is in memory, and how much memory is left.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Memory {
    pub models: Vec<ModelRow>,
    /// Memory of other holders, such as the embedder.
    pub others: Vec<(String, Bytes)>,
    /// The load that is in progress.
    pub loading: Option<LoadingRow>,
    pub budget_bytes: Bytes,
    pub free_bytes: Bytes,
}

/// A model in memory with one context.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct ModelRow {
    pub roles: Vec<String>,
    pub file: String,
    pub slots: usize,
    /// Context window in tokens per slot.
    pub context: usize,
    pub kv_type: String,
    pub bytes: Bytes,
    /// `bytes` by purpose, such as `weights`.
    pub parts: Vec<(String, Bytes)>,
    /// Its weights are counted with another context of the same file.
    pub shares_weights: bool,
    /// LoRA adapters.
    pub lora: Vec<String>,
    /// Seconds since its last use; `None` while it is in use.
    pub idle_s: Option<u64>,
    /// It is never evicted.
    pub pinned: bool,
    /// Which settings were reduced so that it fits; `None` if none were.
    pub rung: Option<String>,
}

/// A load in progress.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct LoadingRow {
    pub file: String,
    /// The part that is done, from 0 to 1.
    pub share: f32,
}

/// A model file that could be loaded.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct ModelFile {
    pub file: String,
    /// Roles that models.toml or a swap gives it.
    pub roles: Vec<String>,
    pub loaded: bool,
    /// Memory that a load would need in addition to what is in use; `None` if it cannot be loaded.
    pub needs_bytes: Option<Bytes>,
    /// The parts of `needs_bytes`, or why it cannot be loaded.
    pub detail: String,
}
