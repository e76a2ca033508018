//! The errors of an embedder; each message names the file and a remedy.

use std::path::PathBuf;

use crate::base::Bytes;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    #[error("embedding was cancelled")]
    Cancelled,
    #[error("{} is missing: run scripts/fetch-models, or name another folder for the embedder in models.toml", .0.display())]
    Missing(PathBuf),
    #[error("{} cannot be read: {reason}", file.display())]
    Unreadable { file: PathBuf, reason: String },
    #[error("{} is damaged or does not belong to this model: {reason}; fetch the model's files again", file.display())]
    Damaged { file: PathBuf, reason: String },
    #[error("{} is larger than the limit of {limit}; fetch the model's files again", file.display())]
    TooLarge { file: PathBuf, limit: Bytes },
    #[error(
        "{}: `{field}` is {found}; supported: {supported}. Name another folder for the embedder in models.toml, or a \
         server that has this model",
        file.display()
    )]
    Unsupported { file: PathBuf, field: String, found: String, supported: String },
    /// A message with the file, the fault and the remedy.
    #[error("{0}")]
    Refused(String),
    #[error(
        "{file} gives {what} as the vector of a text of {tokens} tokens; fetch it again, or name another embedder in \
         models.toml"
    )]
    NoVector { file: String, what: &'static str, tokens: usize },
    #[error("text {index} could not be cut into tokens: {reason}")]
    Tokens { index: usize, reason: String },
    /// The embedding server could not be queried.
    #[error("{0}")]
    Away(String),
    #[error("these texts could not be embedded: {0}")]
    Failed(String),
}
