//! The errors of an embedder; each message names the file and a remedy.

use std::path::PathBuf;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    #[error("embedding was cancelled")]
    Cancelled,
    #[error("{} is missing: run scripts/fetch-models, or name another folder for the embedder in models.toml", .0.display())]
    Missing(PathBuf),
    #[error("{} cannot be read: {reason}", file.display())]
    Unreadable { file: PathBuf, reason: String },
    #[error("{} is damaged or does not belong to this model: {reason}; delete it and run scripts/fetch-models", file.display())]
    Damaged { file: PathBuf, reason: String },
    #[error(
        "the embedder in {} is a `{found}` model; supported are `bert` encoders with mean pooling, such as \
         all-MiniLM-L6-v2: name another folder for the embedder in models.toml",
        folder.display()
    )]
    Unsupported { folder: PathBuf, found: String },
    #[error("text {index} could not be cut into tokens: {reason}")]
    Tokens { index: usize, reason: String },
    /// The embedding server could not be queried.
    #[error("{0}")]
    Away(String),
    #[error("these texts could not be embedded: {0}")]
    Failed(String),
}
