//! The embedder for every caller, whether it runs in this process or on a server.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::error::EmbedError;
use super::handle::{Local, Options};
use crate::base::Cancel;

/// An embedder outside of this process. Every vector has unit length.
pub trait Distant: fmt::Debug + Send + Sync {
    fn dimensions(&self) -> usize;
    /// Changes with the vectors.
    fn fingerprint(&self) -> &str;
    /// How many tokens a text has, guessed.
    fn tokens(&self, text: &str) -> usize;
    /// As [`Embedder::embed`].
    fn embed(&self, texts: &[String], cancel: &Cancel) -> Result<Vec<Vec<f32>>, EmbedError>;
    /// As [`Embedder::embed_heads`].
    fn embed_heads(&self, texts: &[String], cancel: &Cancel) -> Result<Vec<Vec<f32>>, EmbedError>;
}

/// Handle to an embedding model. Clones share it.
#[derive(Clone, Debug)]
pub enum Embedder {
    /// Dropping the last clone frees the weights and the lease of their memory.
    Here(Local),
    Away(Arc<dyn Distant>),
}

impl Embedder {
    /// Loads the embedder in `folder` (config.json, tokenizer.json, model.safetensors).
    pub fn open(folder: &Path, options: Options) -> Result<Embedder, EmbedError> {
        Local::open(folder, options).map(Embedder::Here)
    }

    /// Length of every vector.
    pub fn dimensions(&self) -> usize {
        match self {
            Embedder::Here(local) => local.dimensions(),
            Embedder::Away(away) => away.dimensions(),
        }
    }

    /// Identifies model and options for caches; changes if the files change, or the vectors of the server.
    pub fn fingerprint(&self) -> &str {
        match self {
            Embedder::Here(local) => local.fingerprint(),
            Embedder::Away(away) => away.fingerprint(),
        }
    }

    /// One unit vector per text, in order: of a text that is too long to be read at once the mean of its pieces, up to
    /// [`super::TOKENS_MAX`]. Blocks; call it from a thread that may wait. Ends between two batches if cancelled.
    pub fn embed(&self, texts: &[String], cancel: &Cancel) -> Result<Vec<Vec<f32>>, EmbedError> {
        match self {
            Embedder::Here(local) => local.embed(texts, cancel),
            Embedder::Away(away) => away.embed(texts, cancel),
        }
    }

    /// Like [`Embedder::embed`], but only of the part of each text that can be read at once: for chunks of code, whose beginning
    /// says what they are.
    pub fn embed_heads(&self, texts: &[String], cancel: &Cancel) -> Result<Vec<Vec<f32>>, EmbedError> {
        match self {
            Embedder::Here(local) => local.embed_heads(texts, cancel),
            Embedder::Away(away) => away.embed_heads(texts, cancel),
        }
    }

    /// The unit vector of a query. Blocks, but only waits for the batch in progress and more urgent work.
    pub fn embed_one(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        match self {
            Embedder::Here(local) => local.embed_one(text),
            Embedder::Away(away) => Ok(away.embed(&[text.to_owned()], &Cancel::new())?.concat()),
        }
    }

    /// The number of tokens of each text, including the special ones around it. Above [`super::TOKENS_MAX`] it may be
    /// too small; guessed for a server.
    pub fn count_tokens(&self, texts: &[String], cancel: &Cancel) -> Result<Vec<usize>, EmbedError> {
        match self {
            Embedder::Here(local) => local.count_tokens(texts, cancel),
            Embedder::Away(away) => Ok(texts.iter().map(|text| away.tokens(text)).collect()),
        }
    }

    /// The text of these tokens, without special ones. Errors if one is not of this vocabulary.
    pub fn text_of(&self, tokens: &[u32]) -> Result<String, EmbedError> {
        match self {
            Embedder::Here(local) => local.text_of(tokens),
            Embedder::Away(_) => {
                Err(EmbedError::Failed("the embedder is a server's, whose tokens are not known here".to_owned()))
            }
        }
    }
}
