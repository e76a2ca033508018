//! Finds models and assigns them to roles, reads their headers, downloads them, and handles their chat formats.

pub mod adapter;
pub mod architectures;
pub mod capability;
pub mod dialect;
pub mod digest;
pub mod endpoint;
mod error;
pub mod gguf;
pub mod manifest;
pub mod picture;
mod pooling;
pub mod projector;
pub mod pull;
mod ranking;
pub mod registry;
pub mod role_table;
pub mod sampling;
mod sampling_wish;
mod scan;
mod settings;
pub mod speed;
mod stores;
mod think;
pub mod thinking;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use crate::base::places;
pub use adapter::Adapter;
pub use capability::{Measured, ModelCapability, Tier};
pub use endpoint::{Endpoint, Key};
pub use error::ModelsError;
pub use manifest::PromptTable;
pub use picture::{Picture, PictureError};
pub use pooling::Pooling;
pub use projector::Projector;
pub use ranking::{Ranking, RankingPart};
pub use registry::{EmbedderSpec, EmbedderWishes, Found, ModelSpec, Registry, RerankerSpec, RoleWishes};
pub use sampling_wish::SamplingWish;
pub use settings::{Exact, FlashAttention, KV_TYPES, ModelSettings};
pub use think::Think;

/// The purpose of a model. One file may take several roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Plans, and writes answers and changes.
    Planner,
    /// Scores small questions, such as which words are a person's name; may word answers
    /// (`cognitive_model`).
    Router,
    /// Turns text into vectors.
    Embedder,
    /// Replaces the planner for simple requests, if set.
    Quick,
    /// Replaces the planner for the hardest requests, if set.
    Thinker,
    /// Judges answers instead of the model that words them, if set.
    Verifier,
    /// Looks at pictures instead of the planner, if set.
    Vision,
    /// Scores how well the first hits of a search answer its question, if set.
    Reranker,
}

impl Role {
    pub const ALL: [Role; 8] = [
        Role::Planner,
        Role::Router,
        Role::Embedder,
        Role::Quick,
        Role::Thinker,
        Role::Verifier,
        Role::Vision,
        Role::Reranker,
    ];
    /// The roles of models that write text.
    pub const TEXT: [Role; 6] = [Role::Planner, Role::Router, Role::Quick, Role::Thinker, Role::Verifier, Role::Vision];
    /// The roles that have no model unless models.toml sets one; the planner then does their work.
    pub const EXTRA: [Role; 4] = [Role::Quick, Role::Thinker, Role::Verifier, Role::Vision];
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::Planner => "planner",
            Role::Router => "router",
            Role::Embedder => "embedder",
            Role::Quick => "quick",
            Role::Thinker => "thinker",
            Role::Verifier => "verifier",
            Role::Vision => "vision",
            Role::Reranker => "reranker",
        })
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(name: &str) -> Result<Role, String> {
        let named = Role::ALL.into_iter().find(|role| role.to_string() == name);
        named.ok_or_else(|| {
            format!(
                "`{name}` is not a role; write planner, router, embedder, quick, thinker, verifier, vision or reranker"
            )
        })
    }
}
