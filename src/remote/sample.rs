//! Stores a vector from a server's embedder, which gives a run the vector length and reveals another model.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::base::{file, hex};
use crate::models::Endpoint;

/// The text whose vector is stored.
pub const PROBE: &str = "a small function that reads a file";

/// The embedder on a server as it was when first asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Its name on the server.
    pub model: String,
    /// The vector that the server gave for [`PROBE`].
    pub vector: Vec<f32>,
}

impl Sample {
    /// The sample stored below `folder` for the server.
    pub fn kept(endpoint: &Endpoint, folder: &Path) -> Option<Sample> {
        file::read_json::<Sample>(&place(endpoint, folder)).filter(|sample| !sample.vector.is_empty())
    }

    pub(super) fn keep(&self, endpoint: &Endpoint, folder: &Path) {
        if let Err(error) = file::replace_json(&place(endpoint, folder), self) {
            tracing::warn!(%error, "the length of a server's vectors cannot be stored, and is asked for again next time");
        }
    }
}

fn place(endpoint: &Endpoint, folder: &Path) -> PathBuf {
    let name = format!("vectors {} {}", endpoint.url(), endpoint.model.as_deref().unwrap_or_default());
    folder.join(format!("{}.json", hex(&Sha256::digest(name.as_bytes())[..16])))
}
