//! Reads and checks an embedder's files, a folder or a GGUF, and loads the model with their settings.

use std::path::Path;
use std::sync::Arc;

use super::bert::Bert;
use super::error::EmbedError;
use super::folder::Folder;
use super::gguf::{Gguf, Llama};
use super::handle::Options;
use super::prompts::Prompts;
use super::reader::Reader;
use super::stock::Stock;
use crate::base::Bytes;
use crate::models::EmbedderWishes;

/// An embedder that is not loaded yet.
pub enum Source {
    Folder(Box<Folder>),
    Gguf(Box<Gguf>),
}

/// A loaded model with the settings from its files.
pub struct Loaded {
    pub model: Model,
    pub reader: Reader,
    pub prompts: Prompts,
    /// Length of every vector.
    pub dimensions: usize,
    /// See [`super::Embedder::work`].
    pub work: f64,
    pub fingerprint: String,
    /// Tokens read in one pass.
    pub max_tokens: usize,
    /// Tokens computed under one permit.
    pub batch_tokens: usize,
}

/// A model with all steps up to one vector per text.
pub enum Model {
    /// Our own kernels, in eight bits.
    Packed(Bert),
    Stock(Box<Stock>),
    Llama(Arc<Llama>),
}

impl Source {
    /// Reads and checks the configuration of the folder or file at `path`.
    pub fn open(path: &Path, options: &Options) -> Result<Source, EmbedError> {
        if path.is_file() {
            return Gguf::open(path, options).map(|gguf| Source::Gguf(Box::new(gguf)));
        }
        if options.wishes != EmbedderWishes::default() {
            return Err(EmbedError::Refused(format!(
                "{}: `pooling`, `prompts` and `sha256` of [embedder] in models.toml are for a GGUF file; a folder states its own in \
                 1_Pooling/config.json and config_sentence_transformers.json",
                path.display()
            )));
        }
        Folder::open(path, options.max_tokens).map(|folder| Source::Folder(Box::new(folder)))
    }

    fn fingerprint(&self) -> Result<String, EmbedError> {
        match self {
            Source::Folder(folder) => folder.fingerprint(),
            Source::Gguf(gguf) => gguf.fingerprint(),
        }
    }

    pub fn load(self, options: &Options) -> Result<Loaded, EmbedError> {
        match self {
            Source::Folder(folder) => folder.load(options),
            Source::Gguf(gguf) => gguf.load(options),
        }
    }
}

/// The fingerprint that an embedder opened with these options would have, without loading it.
pub fn fingerprint(path: &Path, options: &Options) -> Result<String, EmbedError> {
    Source::open(path, options)?.fingerprint()
}

/// Maximum memory that an embedder will need, known from the headers of its files.
pub fn memory(path: &Path, options: &Options) -> Result<Bytes, EmbedError> {
    match Source::open(path, options)? {
        Source::Folder(folder) => folder.memory(options),
        Source::Gguf(gguf) => Ok(gguf.memory()),
    }
}
