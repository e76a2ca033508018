//! Finds models and assigns them to roles, reads their headers, downloads them, and has the chat format of each family.

pub(crate) mod adapter;
pub(crate) mod architectures;
pub(crate) mod capability;
pub mod dialect;
pub mod digest;
pub(crate) mod endpoint;
mod error;
pub mod gguf;
pub(crate) mod manifest;
pub(crate) mod pull;
pub(crate) mod registry;
pub(crate) mod role_table;
pub(crate) mod sampling;
mod scan;
pub(crate) mod speed;
mod stores;
pub(crate) mod thinking;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use crate::base::places;
pub use adapter::Adapter;
pub use capability::{Measured, ModelCapability, Tier};
pub use endpoint::{Endpoint, Key};
pub use error::ModelsError;
pub use registry::{EmbedderSpec, Found, ModelSpec, Registry, RoleWishes};

/// The use of a model. One file may play several roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Plans, writes answers and changes.
    Planner,
    /// Scores small questions, such as which words name a person; may word answers (`cognitive_model`).
    Router,
    /// Turns text into vectors.
    Embedder,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::Planner => "planner",
            Role::Router => "router",
            Role::Embedder => "embedder",
        })
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(name: &str) -> Result<Role, String> {
        let named = [Role::Planner, Role::Router, Role::Embedder].into_iter().find(|role| role.to_string() == name);
        named.ok_or_else(|| format!("`{name}` is not a role; write planner, router or embedder"))
    }
}
