//! Describes the models in memory and those that could be loaded.

use serde::{Deserialize, Serialize};

use crate::base::Bytes;

/// Models and other holders of memory, and free memory.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Memory {
    pub models: Vec<ModelRow>,
    /// Memory of other holders, such as the embedder.
    pub others: Vec<(String, Bytes)>,
    /// The servers that fill roles; they need no memory here.
    #[serde(default)]
    pub servers: Vec<ServerRow>,
    /// The load in progress.
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
    /// Whether its weights are already counted with another context of the same file.
    pub shares_weights: bool,
    /// LoRA adapters.
    pub lora: Vec<String>,
    /// Seconds since its last use; `None` while it is in use.
    pub idle_s: Option<u64>,
    /// Whether it is never evicted.
    pub pinned: bool,
    /// The settings that were reduced to make it fit; `None` if none were reduced.
    pub rung: Option<String>,
}

/// A model on a server that fills roles.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct ServerRow {
    pub roles: Vec<String>,
    /// Its name on the server; `None` if unknown before the first request.
    pub model: Option<String>,
    /// Host and port.
    pub host: String,
    /// `answers`, `away`, `refused` (by the user) or `not asked yet`.
    pub state: String,
    /// Maximum number of tokens in a request and its answer together.
    pub context: Option<usize>,
    /// Number of this process's answered requests, and of their tokens.
    pub calls: usize,
    pub prompt_tokens: usize,
    pub generated_tokens: usize,
    /// Time until the first piece of the last answer.
    pub first_ms: u64,
}

impl ServerRow {
    /// A line with its name, its location, and its cost so far.
    pub fn told(&self) -> String {
        let model = self.model.as_deref().map(|model| format!("{model} at ")).unwrap_or_default();
        let context = self.context.map(|context| format!(", context {context}")).unwrap_or_default();
        let ServerRow { calls, prompt_tokens, generated_tokens, first_ms, .. } = self;
        let spent = match calls {
            0 => String::new(),
            _ => format!(
                "; {calls} answers, {prompt_tokens} tokens sent, {generated_tokens} received, the last began after {first_ms} ms"
            ),
        };
        format!("{}: {model}{} ({}{context}{spent})", self.roles.join("+"), self.host, self.state)
    }
}

/// A load in progress.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct LoadingRow {
    pub file: String,
    /// The part read so far, from 0 to 1.
    pub share: f32,
}

/// A model file that could be loaded.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct ModelFile {
    pub file: String,
    /// Roles assigned by models.toml or a swap.
    pub roles: Vec<String>,
    pub loaded: bool,
    /// Memory required for a load in addition to the memory in use; `None` if it cannot be loaded.
    pub needs_bytes: Option<Bytes>,
    /// The components of `needs_bytes`, or the reason it cannot be loaded.
    pub detail: String,
}
