//! Errors while loading and unloading models, each with a remedy.

use super::release;
use crate::budget::Refused;
use crate::engine::llama::LlamaError;
use crate::engine::request::EngineError;
use crate::models::{ModelsError, PictureError};

#[derive(Debug, Clone, thiserror::Error)]
pub enum PoolError {
    #[error(transparent)]
    Models(#[from] ModelsError),
    #[error("{refused}{}", held(.loaded))]
    Memory { refused: Box<Refused>, loaded: String },
    #[error("{model} would be one more than --max-loaded {max} allows; raise it, or unload one{}", held(.loaded))]
    Full { model: String, max: usize, loaded: String },
    #[error("{name} is not loaded{}", held(.there))]
    NotLoaded { name: String, there: String },
    #[error("{name} is ambiguous: it may be any of {files}; give more of the name")]
    Several { name: String, files: String },
    #[error("{0} is in use; wait for the running request, or cancel it")]
    InUse(String),
    #[error("{0} is pinned; unpin it first")]
    Pinned(String),
    #[error("{file} has not released its memory within {} s; try again", release::RELEASE_MAX.as_secs())]
    NotReleased { file: String },
    #[error("{reason}; {from} is loaded again")]
    SwappedBack { from: String, reason: String },
    #[error("{reason}; {from} could not be loaded again: {why}")]
    SwapLost { from: String, reason: String, why: String },
    #[error(transparent)]
    Llama(#[from] LlamaError),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("kv_type = \"{0}\" in models.toml is not known; write f16, q8_0 or q4_0")]
    KvType(String),
    #[error(
        "only flash attention reads {0} keys and values; set flash_attention = \"auto\", or kv_cache_type = \"f16\""
    )]
    NeedsFlash(String),
    #[error(transparent)]
    Picture(#[from] PictureError),
    #[error("{model} cannot see pictures: {why}")]
    Blind { model: String, why: String },
    #[error("no model plays {0} here")]
    Absent(String),
}

fn held(loaded: &str) -> String {
    if loaded.is_empty() { String::new() } else { format!(". In memory: {loaded}") }
}
