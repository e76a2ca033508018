//! The folder of an embedder: config.json, tokenizer.json, model.safetensors, each checked before it is believed.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use candle_core::{DType, Device};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::Config;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokenizers::{Tokenizer, TruncationParams};

use crate::base::Bytes;
use crate::embed::bert::Bert;
use crate::embed::error::EmbedError;
use crate::embed::handle::Options;

/// An embedder as it lies on disk: read and understood, weights not yet loaded.
pub struct Folder {
    path: PathBuf,
    config: Config,
    weights: PathBuf,
}

impl Folder {
    pub fn open(path: &Path) -> Result<Folder, EmbedError> {
        let config_file = path.join("config.json");
        let text = read(&config_file)?;
        let damaged = |reason: String| EmbedError::Damaged { file: config_file.clone(), reason };
        let value: Value = serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        let kind = value.get("model_type").and_then(Value::as_str).unwrap_or("unknown");
        let unsupported = |found: &str| EmbedError::Unsupported { folder: path.to_owned(), found: found.to_owned() };
        if kind != "bert" {
            return Err(unsupported(kind));
        }
        if !pools_by_mean(path)? {
            return Err(unsupported("bert with other than mean pooling"));
        }
        let config: Config = serde_json::from_value(value).map_err(|error| damaged(error.to_string()))?;
        let heads = config.num_attention_heads;
        if config.hidden_size == 0 || heads == 0 || config.hidden_size % heads != 0 || config.type_vocab_size == 0 {
            return Err(damaged(format!("a width of {} cannot be cut into {heads} heads", config.hidden_size)));
        }
        let weights = path.join("model.safetensors");
        if !weights.is_file() {
            return Err(EmbedError::Missing(weights));
        }
        Ok(Folder { path: path.to_owned(), config, weights })
    }

    /// The tokenizer, cutting at `max_tokens` or at the model's last position, whichever comes first.
    pub fn tokenizer(&self, max_tokens: usize) -> Result<Tokenizer, EmbedError> {
        let file = self.path.join("tokenizer.json");
        let damaged = |reason: String| EmbedError::Damaged { file: file.clone(), reason };
        let mut tokenizer = Tokenizer::from_bytes(read(&file)?).map_err(|error| damaged(error.to_string()))?;
        let (ours, models) = (tokenizer.get_vocab_size(true), self.config.vocab_size);
        if ours > models {
            return Err(damaged(format!("it has {ours} tokens, the model {models}")));
        }
        // Two tokens frame every text, so less than three would leave nothing of it.
        let max_length = max_tokens.clamp(3, self.config.max_position_embeddings.max(3));
        let truncation = TruncationParams { max_length, ..TruncationParams::default() };
        tokenizer.with_truncation(Some(truncation)).map_err(|error| damaged(error.to_string()))?;
        tokenizer.with_padding(None);
        Ok(tokenizer)
    }

    /// The weights, copied out of the mapped file into the order they are used in.
    pub fn load(&self) -> Result<Bert, EmbedError> {
        let damaged =
            |error: candle_core::Error| EmbedError::Damaged { file: self.weights.clone(), reason: first_line(&error) };
        // SAFETY: a mapped file must not change while it is read. Model files are replaced by renaming, which leaves the
        // mapped one alone, and the mapping ends with this function: everything on the CPU is a copy.
        let weights = unsafe { VarBuilder::from_mmaped_safetensors(&[&self.weights], DType::F32, &Device::Cpu) };
        Bert::load(weights.map_err(damaged)?, &self.config).map_err(damaged)
    }

    /// Hash over the small files, and size, time, header and sampled blocks of the weights; with what else decides vectors.
    pub fn fingerprint(&self, max_tokens: usize) -> Result<String, EmbedError> {
        const SAMPLES: u64 = 64;
        const BLOCK: u64 = 4096;
        let mut hash = Sha256::new();
        hash.update(read(&self.path.join("config.json"))?);
        hash.update(read(&self.path.join("tokenizer.json"))?);
        hash.update(max_tokens.to_le_bytes());
        let unreadable = |error: std::io::Error| unreadable(&self.weights, &error);
        let mut file = File::open(&self.weights).map_err(unreadable)?;
        let about = file.metadata().map_err(unreadable)?;
        let modified = about.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        hash.update(about.len().to_le_bytes());
        hash.update(modified.map_or(0, |time| time.as_nanos()).to_le_bytes());
        for sample in 0..SAMPLES {
            let mut block = Vec::new();
            file.seek(SeekFrom::Start(about.len().saturating_sub(BLOCK) / SAMPLES * sample)).map_err(unreadable)?;
            (&mut file).take(BLOCK).read_to_end(&mut block).map_err(unreadable)?;
            hash.update(&block);
        }
        Ok(hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect())
    }
}

/// What an embedder will need at most: weights in f32, the tokenizer, and a batch on its way through a layer.
pub fn memory(folder: &Path, options: &Options) -> Result<Bytes, EmbedError> {
    let Folder { path, config, weights } = Folder::open(folder)?;
    let size = |file: &Path| fs::metadata(file).map(|about| about.len()).map_err(|error| unreadable(file, &error));
    let (d, wide) = (config.hidden_size as u64, config.intermediate_size as u64);
    // Of each token at once: input, mixture and output of a layer; queries, keys and values; the wide activation.
    let activations = options.batch_tokens.max(options.max_tokens) as u64 * (4 * d + (3 * d).max(wide)) * 4;
    // A vocabulary in maps of strings takes about twelve times the size of its JSON (measured: MiniLM, 5.7 MB for 0.47).
    let tokenizer = size(&path.join("tokenizer.json"))? * 12;
    Ok(Bytes(size(&weights)? + tokenizer + activations))
}

/// sentence-transformers writes the pooling beside the model; where it is not said, it is the mean.
fn pools_by_mean(folder: &Path) -> Result<bool, EmbedError> {
    let file = folder.join("1_Pooling").join("config.json");
    if !file.is_file() {
        return Ok(true);
    }
    let value: Value = serde_json::from_slice(&read(&file)?)
        .map_err(|error| EmbedError::Damaged { file: file.clone(), reason: error.to_string() })?;
    Ok(value.get("pooling_mode_mean_tokens").and_then(Value::as_bool).unwrap_or(true))
}

fn read(file: &Path) -> Result<Vec<u8>, EmbedError> {
    fs::read(file).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => EmbedError::Missing(file.to_owned()),
        _ => unreadable(file, &error),
    })
}

fn unreadable(file: &Path, error: &std::io::Error) -> EmbedError {
    EmbedError::Unreadable { file: file.to_owned(), reason: error.to_string() }
}

/// candle's errors may carry a backtrace below their first line.
fn first_line(error: &candle_core::Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}
