//! The embedder, with one interface for all callers, whether it runs in this process or on a server.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::error::EmbedError;
use super::handle::{Local, Options};
use super::prompts::Purpose;
use crate::base::Cancel;

/// An embedder outside this process, which adds any prompts that its model needs. Every vector has
/// unit length.
pub trait Distant: fmt::Debug + Send + Sync {
    fn dimensions(&self) -> usize;
    /// Changes whenever the vectors do.
    fn fingerprint(&self) -> &str;
    /// An estimate of the number of tokens in a text.
    fn tokens(&self, text: &str) -> usize;
    /// Like [`Embedder::embed`], whatever the purpose.
    fn embed(&self, texts: &[String], cancel: &Cancel) -> Result<Vec<Vec<f32>>, EmbedError>;
    /// Like [`Embedder::embed_heads`].
    fn embed_heads(&self, texts: &[String], cancel: &Cancel) -> Result<Vec<Vec<f32>>, EmbedError>;
}

/// Handle to an embedding model. Clones share it.
#[derive(Clone, Debug)]
pub enum Embedder {
    /// Dropping the last clone frees the weights and their memory lease.
    Here(Local),
    Away(Arc<dyn Distant>),
}

impl Embedder {
    /// Loads the embedder at `path`: a GGUF file, or a folder (config.json, tokenizer.json,
    /// model.safetensors, and the files of sentence-transformers).
    pub fn open(path: &Path, options: Options) -> Result<Embedder, EmbedError> {
        Local::open(path, options).map(Embedder::Here)
    }

    /// Length of every vector.
    pub fn dimensions(&self) -> usize {
        match self {
            Embedder::Here(local) => local.dimensions(),
            Embedder::Away(away) => away.dimensions(),
        }
    }

    /// Identifies model and options for caches; changes if the files, or the server's vectors,
    /// change.
    pub fn fingerprint(&self) -> &str {
        match self {
            Embedder::Here(local) => local.fingerprint(),
            Embedder::Away(away) => away.fingerprint(),
        }
    }

    /// The time per token as a multiple of all-MiniLM-L6-v2's, estimated from the number of
    /// weights; 1 for a server.
    pub fn work(&self) -> f64 {
        match self {
            Embedder::Here(local) => local.work(),
            Embedder::Away(_) => 1.0,
        }
    }

    /// One unit vector per text, in order. For a text too long for one pass it is the mean of its
    /// pieces, up to [`super::TOKENS_MAX`]. The model's own prompt for `purpose` precedes each
    /// text. Blocks; call it from a thread that may wait. Stops between batches if cancelled.
    pub fn embed(&self, texts: &[String], purpose: Purpose, cancel: &Cancel) -> Result<Vec<Vec<f32>>, EmbedError> {
        match self {
            Embedder::Here(local) => local.embed(texts, purpose, cancel),
            Embedder::Away(away) => away.embed(texts, cancel),
        }
    }

    /// Like [`Embedder::embed`] for documents, but reads only as much of each text as fits one
    /// pass: for chunks of code, whose beginning identifies them.
    pub fn embed_heads(&self, texts: &[String], cancel: &Cancel) -> Result<Vec<Vec<f32>>, EmbedError> {
        match self {
            Embedder::Here(local) => local.embed_heads(texts, cancel),
            Embedder::Away(away) => away.embed_heads(texts, cancel),
        }
    }

    /// The unit vector of a query. Blocks, but waits only for the batch in progress and for more
    /// urgent work.
    pub fn embed_one(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        match self {
            Embedder::Here(local) => local.embed_one(text),
            Embedder::Away(away) => Ok(away.embed(&[text.to_owned()], &Cancel::new())?.concat()),
        }
    }

    /// The number of tokens in each text, including the special tokens around it. Above
    /// [`super::TOKENS_MAX`] it may be too small; for a server it is an estimate.
    pub fn count_tokens(&self, texts: &[String], cancel: &Cancel) -> Result<Vec<usize>, EmbedError> {
        match self {
            Embedder::Here(local) => local.count_tokens(texts, cancel),
            Embedder::Away(away) => Ok(texts.iter().map(|text| away.tokens(text)).collect()),
        }
    }

    /// The text of these tokens, without special tokens. Fails if a token is not in the vocabulary.
    pub fn text_of(&self, tokens: &[u32]) -> Result<String, EmbedError> {
        match self {
            Embedder::Here(local) => local.text_of(tokens),
            Embedder::Away(_) => {
                Err(EmbedError::Failed("the embedder runs on a server, and its tokens are not known here".to_owned()))
            }
        }
    }
}
