//! Reads and checks the folder of an embedder: config.json, tokenizer.json, model.safetensors.

use std::fs;
use std::path::{Path, PathBuf};

use candle_core::{DType, Device};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::{Config, HiddenAct};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokenizers::Tokenizer;

use crate::base::{Bytes, hex};
use crate::embed::bert::Bert;
use crate::embed::error::EmbedError;
use crate::embed::handle::Options;
use crate::models::{digest, places};

/// The folder of an embedder with its configuration read; its weights are not loaded.
pub struct Folder {
    path: PathBuf,
    config: Config,
    weights: PathBuf,
}

impl Folder {
    /// Reads and checks the configuration; fails for models other than BERT with mean pooling.
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
        if config.hidden_act != HiddenAct::Gelu {
            return Err(unsupported("bert with another activation than gelu"));
        }
        let heads = config.num_attention_heads;
        if config.hidden_size == 0
            || heads == 0
            || !config.hidden_size.is_multiple_of(heads)
            || config.type_vocab_size == 0
        {
            return Err(damaged(format!("a width of {} cannot be cut into {heads} heads", config.hidden_size)));
        }
        let weights = path.join("model.safetensors");
        if !weights.is_file() {
            return Err(EmbedError::Missing(weights));
        }
        Ok(Folder { path: path.to_owned(), config, weights })
    }

    /// `max_tokens`, but at most the model's number of positions. Two special tokens frame every
    /// text, so fewer than three would leave no room for it.
    pub fn readable(&self, max_tokens: usize) -> usize {
        max_tokens.clamp(3, self.config.max_position_embeddings.max(3))
    }

    /// The tokenizer, with any truncation in its file turned off.
    pub fn tokenizer(&self) -> Result<Tokenizer, EmbedError> {
        let file = self.path.join("tokenizer.json");
        let damaged = |reason: String| EmbedError::Damaged { file: file.clone(), reason };
        let mut tokenizer = Tokenizer::from_bytes(read(&file)?).map_err(|error| damaged(error.to_string()))?;
        let (ours, models) = (tokenizer.get_vocab_size(true), self.config.vocab_size);
        if ours > models {
            return Err(damaged(format!("it has {ours} tokens, the model {models}")));
        }
        tokenizer.with_truncation(None).map_err(|error| damaged(error.to_string()))?;
        tokenizer.with_padding(None);
        Ok(tokenizer)
    }

    /// The weights, copied from the mapped file into the layout in which they are used.
    pub fn load(&self) -> Result<Bert, EmbedError> {
        let damaged =
            |error: candle_core::Error| EmbedError::Damaged { file: self.weights.clone(), reason: first_line(&error) };
        // SAFETY: a mapped file must not change while it is read. Model files are replaced by
        // renaming, which does not affect a mapping, and the map is dropped at the end of this
        // function: all tensors on the CPU are copies.
        let weights = unsafe { VarBuilder::from_mmaped_safetensors(&[&self.weights], DType::F32, &Device::Cpu) };
        Bert::load(weights.map_err(damaged)?, &self.config).map_err(damaged)
    }

    /// A hash of everything that determines vectors: the small files, the checksum of the weights,
    /// `max_tokens`, and the arithmetic used. The checksum is cached; a copied or renamed model
    /// keeps its vectors.
    pub fn fingerprint(&self, max_tokens: usize) -> Result<String, EmbedError> {
        let weights = digest::sha256(&self.weights, &places::sha256_memory())
            .map_err(|error| unreadable(&self.weights, &error))?;
        let mut hash = Sha256::new();
        hash.update(read(&self.path.join("config.json"))?);
        hash.update(read(&self.path.join("tokenizer.json"))?);
        hash.update(max_tokens.to_le_bytes());
        hash.update(ARITHMETIC);
        hash.update(weights);
        Ok(hex(&hash.finalize()[..16]))
    }
}

/// Name of the arithmetic that computes vectors. Changing it changes fingerprints, so that old
/// vectors are not mixed with new ones.
const ARITHMETIC: &[u8] = b"int8 rows 1";

/// The fingerprint that an embedder opened with these options would have, without loading it.
pub fn fingerprint(folder: &Path, options: &Options) -> Result<String, EmbedError> {
    Folder::open(folder)?.fingerprint(options.max_tokens)
}

/// Maximum memory that an embedder will need: weights in f32, the tokenizer, and one layer's
/// activations for a batch.
pub fn memory(folder: &Path, options: &Options) -> Result<Bytes, EmbedError> {
    let Folder { path, config, weights } = Folder::open(folder)?;
    let size = |file: &Path| fs::metadata(file).map(|about| about.len()).map_err(|error| unreadable(file, &error));
    let (d, wide) = (config.hidden_size as u64, config.intermediate_size as u64);
    // Held at the same time, per token: a layer's input, mixed values and output; queries, keys and
    // values or the wide activation.
    let activations = options.batch_tokens.max(options.max_tokens) as u64 * (4 * d + (3 * d).max(wide)) * 4;
    // In memory, a vocabulary takes about fourteen times the size of its JSON (measured with
    // MiniLM: 6.4 MB for 0.47 MB).
    let tokenizer = size(&path.join("tokenizer.json"))? * 14;
    Ok(Bytes(size(&weights)? + tokenizer + activations))
}

/// Whether the model uses mean pooling, according to the sentence-transformers configuration next
/// to it; true if there is none.
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

/// The first line of candle's error, which may contain a backtrace.
fn first_line(error: &candle_core::Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use candle_core::Tensor;
    use tokenizers::models::wordpiece::WordPiece;

    use super::*;
    use crate::embed::Embedder;

    const CONFIG: &str = r#"{"model_type": "bert", "vocab_size": 8, "hidden_size": 4, "num_hidden_layers": 1,
        "num_attention_heads": 2, "intermediate_size": 6, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
        "max_position_embeddings": 16, "type_vocab_size": 2, "initializer_range": 0.02, "layer_norm_eps": 1e-12,
        "pad_token_id": 0}"#;

    /// A complete embedder of 4 dimensions with random weights.
    fn tiny() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join("config.json"), CONFIG).unwrap();
        let vocabulary = [("[UNK]", 0), ("[CLS]", 1), ("[SEP]", 2), ("a", 3), ("b", 4)];
        let words = WordPiece::builder().vocab(vocabulary.map(|(token, id)| (token.to_owned(), id)));
        let words = words.unk_token("[UNK]".into());
        Tokenizer::new(words.build().unwrap()).save(folder.path().join("tokenizer.json"), false).unwrap();
        let mut tensors = HashMap::new();
        let mut add = |name: &str, shape: &[usize]| {
            tensors.insert(name.to_owned(), Tensor::randn(0f32, 1.0, shape, &Device::Cpu).unwrap());
        };
        for (name, rows) in [("word", 8), ("position", 16), ("token_type", 2)] {
            add(&format!("embeddings.{name}_embeddings.weight"), &[rows, 4]);
        }
        for at in ["embeddings", "encoder.layer.0.attention.output", "encoder.layer.0.output"] {
            add(&format!("{at}.LayerNorm.weight"), &[4]);
            add(&format!("{at}.LayerNorm.bias"), &[4]);
        }
        for (name, out, inputs) in [
            ("attention.self.query", 4, 4),
            ("attention.self.key", 4, 4),
            ("attention.self.value", 4, 4),
            ("attention.output.dense", 4, 4),
            ("intermediate.dense", 6, 4),
            ("output.dense", 4, 6),
        ] {
            add(&format!("encoder.layer.0.{name}.weight"), &[out, inputs]);
            add(&format!("encoder.layer.0.{name}.bias"), &[out]);
        }
        candle_core::safetensors::save(&tensors, folder.path().join("model.safetensors")).unwrap();
        folder
    }

    /// Damages one file (`None` removes it) and checks that the error contains `expected`.
    fn check(file: &str, content: Option<&[u8]>, expected: &[&str]) {
        let folder = tiny();
        let path = folder.path().join(file);
        match content {
            Some(content) => fs::write(&path, content).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        let error =
            Embedder::open(folder.path(), Options::default()).expect_err("a broken folder was opened").to_string();
        for part in expected {
            assert!(error.contains(part), "{error:?} does not say {part:?}");
        }
    }

    #[test]
    fn a_whole_folder_opens_and_embeds() {
        let folder = tiny();
        let embedder = Embedder::open(folder.path(), Options::default()).unwrap();
        assert_eq!(embedder.dimensions(), 4);
        assert_eq!(embedder.embed_one("a").unwrap().len(), 4);
        assert_eq!(embedder.embed_one("").unwrap(), [0.0; 4], "no token, no vector");
    }

    #[test]
    fn a_file_that_is_missing_damaged_or_of_another_model_is_named_with_the_way_out() {
        for file in ["config.json", "tokenizer.json", "model.safetensors"] {
            check(file, None, &[file, "missing", "scripts/fetch-models"]);
        }
        check("config.json", Some(b"{ not json"), &["config.json", "damaged"]);
        check("config.json", Some(br#"{"model_type": "bert"}"#), &["config.json", "missing field"]);
        check("tokenizer.json", Some(b"{}"), &["tokenizer.json", "damaged"]);
        let whole = fs::read(tiny().path().join("model.safetensors")).unwrap();
        for weights in [&whole[..whole.len() - 40], b"too short", &[0xff; 4096], b""] {
            check("model.safetensors", Some(weights), &["model.safetensors", "damaged"]);
        }
        let of_other_models: [(&str, &str, &[&str]); 6] = [
            ("\"hidden_size\": 4", "\"hidden_size\": 6", &["model.safetensors", "shape mismatch"]),
            ("\"vocab_size\": 8", "\"vocab_size\": 3", &["tokenizer.json", "5 tokens", "the model 3"]),
            ("\"num_attention_heads\": 2", "\"num_attention_heads\": 3", &["config.json", "3 heads"]),
            ("\"bert\"", "\"nomic_bert\"", &["`nomic_bert`", "supported are `bert`"]),
            ("\"model_type\"", "\"kind\"", &["`unknown`"]),
            ("\"gelu\"", "\"relu\"", &["activation"]),
        ];
        for (has, instead, expected) in of_other_models {
            check("config.json", Some(CONFIG.replacen(has, instead, 1).as_bytes()), expected);
        }
    }

    #[test]
    fn another_pooling_is_refused() {
        let folder = tiny();
        fs::create_dir(folder.path().join("1_Pooling")).unwrap();
        let file = folder.path().join("1_Pooling").join("config.json");
        fs::write(&file, r#"{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}"#).unwrap();
        let error = Embedder::open(folder.path(), Options::default()).unwrap_err().to_string();
        assert!(error.contains("mean pooling"), "{error}");
    }

    #[test]
    fn the_memory_covers_weights_and_grows_with_the_batch() {
        let folder = tiny();
        let weights = fs::metadata(folder.path().join("model.safetensors")).unwrap().len();
        let need = |batch_tokens| memory(folder.path(), &Options { batch_tokens, ..Options::default() }).unwrap();
        assert!(need(256) > Bytes(weights));
        assert_eq!(need(1256) - need(256), Bytes(1000 * (4 * 4 + 3 * 4) * 4));
    }
}
