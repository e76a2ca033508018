//! Reads and checks an embedder's folder: config.json, tokenizer.json, model.safetensors and the files that sentence-transformers adds.

use std::fs;
use std::path::{Path, PathBuf};

use candle_transformers::models::bert::HiddenAct;
use sha2::{Digest, Sha256};
use tokenizers::Tokenizer;

use crate::base::{Bytes, hex};
use crate::embed::bert::Bert;
use crate::embed::dense::Dense;
use crate::embed::error::EmbedError;
use crate::embed::family::{Family, Shape};
use crate::embed::files::{self, TOKENIZER_BYTES_MAX, damaged, unreadable};
use crate::embed::handle::Options;
use crate::embed::modules::Modules;
use crate::embed::prompts::Prompts;
use crate::embed::reader::Reader;
use crate::embed::source::{Loaded, Model};
use crate::embed::stock::{Config, Encoder, Stock};
use crate::embed::weights::Weights;
use crate::models::{Pooling, digest, places};

/// An embedder's folder with its configuration read; its weights are not loaded.
pub struct Folder {
    path: PathBuf,
    family: Family,
    shape: Shape,
    config: Config,
    weights: Weights,
    pooling: Pooling,
    dense: Vec<Dense>,
    prompts: Prompts,
    /// Tokens read in one pass.
    max_tokens: usize,
    /// The content of all small files except the tokenizer's.
    read: Vec<Vec<u8>>,
}

impl Folder {
    /// Reads and checks the configuration. Passes have at most `max_tokens`, and no more than the
    /// model reads.
    pub fn open(path: &Path, max_tokens: usize) -> Result<Folder, EmbedError> {
        let config_file = path.join("config.json");
        let (config, bytes) = files::json(&config_file)?;
        let family = Family::of(&config_file, &config)?;
        let shape = family.shape(&config_file, &config)?;
        let modules = Modules::read(path, shape.width)?;
        let pooling_file = path.join("1_Pooling").join("config.json");
        let pooling = match modules.pooling {
            Some(pooling) => pooling,
            None if family.may_write() => return Err(EmbedError::Missing(pooling_file)),
            None => Pooling::Mean,
        };
        // Two special tokens frame a text, so fewer than three would leave no room for it.
        let max_tokens = max_tokens.min(modules.tokens).min(shape.positions).max(3);
        let config = Config::read(family, family.fitted(config, max_tokens))
            .map_err(|error| damaged(&config_file, error.to_string()))?;
        Ok(Folder {
            path: path.to_owned(),
            family,
            shape,
            config,
            weights: Weights::open(&path.join("model.safetensors"))?,
            pooling,
            dense: modules.dense,
            prompts: modules.prompts,
            max_tokens,
            read: std::iter::once(bytes).chain(modules.read).collect(),
        })
    }

    /// Whether our own kernels run this model.
    fn is_packed(&self) -> bool {
        matches!(&self.config, Config::Bert(config) if config.hidden_act == HiddenAct::Gelu) && self.dense.is_empty()
    }

    /// Length of every vector.
    fn dimensions(&self) -> usize {
        self.dense.last().map_or(self.shape.width, |layer| layer.outputs)
    }

    /// Tokens computed under one permit: candle's models take so much longer that a pass on each
    /// thread is enough.
    fn batch_tokens(&self, options: &Options) -> usize {
        if self.is_packed() { options.batch_tokens.max(1) } else { self.max_tokens.saturating_mul(options.lanes()) }
    }

    /// See [`super::Embedder::work`].
    fn work(&self) -> f64 {
        let Shape { width, vocabulary, .. } = self.shape;
        let numbers = (self.weights.bytes() / 4).saturating_sub((vocabulary * width) as u64);
        let slower = if self.is_packed() { 1.0 } else { STOCK_SLOWER };
        slower * (numbers as f64 / MINI_LM_NUMBERS).max(1.0)
    }

    /// The tokenizer, with any truncation in its file turned off.
    fn tokenizer(&self) -> Result<Tokenizer, EmbedError> {
        let file = self.path.join("tokenizer.json");
        let bytes = files::read(&file, TOKENIZER_BYTES_MAX)?;
        let mut tokenizer = Tokenizer::from_bytes(bytes).map_err(|error| damaged(&file, error.to_string()))?;
        // Added tokens may lie beyond the model's vocabulary, as Gemma's image token does.
        let (ours, models) = (tokenizer.get_vocab_size(false), self.shape.vocabulary);
        if ours > models {
            return Err(damaged(&file, format!("it has {ours} tokens, but the model has {models}")));
        }
        tokenizer.with_truncation(None).map_err(|error| damaged(&file, error.to_string()))?;
        tokenizer.with_padding(None);
        for prompt in self.prompts.all() {
            let tokens = tokenizer.encode_fast(prompt, true).map_err(|error| damaged(&file, error.to_string()))?.len();
            // A prompt leaves less room for every text.
            if !prompt.is_empty() && tokens > self.max_tokens / 2 {
                let reason = format!("a prompt takes {tokens} of the maximum of {} tokens", self.max_tokens);
                return Err(damaged(&self.path.join("config_sentence_transformers.json"), reason));
            }
        }
        Ok(tokenizer)
    }

    /// A hash of everything that determines vectors: the small files, the checksums of the weights,
    /// the tokens in a pass, and the arithmetic used. The checksums are cached; a copied or renamed
    /// model keeps its vectors.
    pub fn fingerprint(&self) -> Result<String, EmbedError> {
        let sum = |weights: &Weights| {
            let file = weights.file();
            digest::sha256(file, &places::sha256_memory()).map_err(|error| unreadable(file, &error))
        };
        let mut hash = Sha256::new();
        let (config, others) = self.read.split_at(1);
        config.iter().for_each(|bytes| hash.update(bytes));
        hash.update(files::read(&self.path.join("tokenizer.json"), TOKENIZER_BYTES_MAX)?);
        others.iter().for_each(|bytes| hash.update(bytes));
        hash.update(self.max_tokens.to_le_bytes());
        hash.update(if self.is_packed() { ARITHMETIC } else { STOCK_ARITHMETIC });
        hash.update(sum(&self.weights)?);
        for layer in &self.dense {
            hash.update(sum(&layer.weights)?);
        }
        Ok(hex(&hash.finalize()[..16]))
    }

    pub fn load(mut self, options: &Options) -> Result<Loaded, EmbedError> {
        Ok(Loaded {
            reader: Reader::Tokenizer { tokenizer: Box::new(self.tokenizer()?), vocabulary: self.shape.vocabulary },
            prompts: std::mem::take(&mut self.prompts),
            dimensions: self.dimensions(),
            work: self.work(),
            fingerprint: self.fingerprint()?,
            max_tokens: self.max_tokens,
            batch_tokens: self.batch_tokens(options),
            model: self.model(options)?,
        })
    }

    /// The weights, copied from the mapped files into the layout in which they are used.
    fn model(self, options: &Options) -> Result<Model, EmbedError> {
        let root = self.family.root();
        match (&self.config, self.is_packed()) {
            (Config::Bert(config), true) => {
                Ok(Model::Packed(self.weights.load(root, |weights| Bert::load(weights, config, self.pooling))?))
            }
            (config, _) => Ok(Model::Stock(Box::new(Stock {
                dimensions: self.dimensions(),
                pooling: self.pooling,
                threads: Stock::threads(options.lanes()).map_err(EmbedError::Failed)?,
                encoder: self.weights.load(root, |weights| Encoder::load(config, weights))?,
                dense: self.dense.into_iter().map(Dense::load).collect::<Result<_, _>>()?,
            }))),
        }
    }

    /// Maximum memory in use once it is loaded: weights in f32, the tokenizer, and one layer's
    /// activations for a batch.
    pub fn memory(&self, options: &Options) -> Result<Bytes, EmbedError> {
        let size = |file: &Path| fs::metadata(file).map(|about| about.len()).map_err(|error| unreadable(file, &error));
        let Shape { width, heads, attention, kept, wide, .. } = self.shape;
        let numbers = if self.is_packed() {
            // Held at the same time, per token: a layer's input, mixed values and output, and
            // either queries, keys and values or the wide activation.
            options.batch_tokens.max(self.max_tokens) * (4 * width + (3 * width).max(wide))
        } else {
            // candle keeps every step of a layer until the layer is done: about sixteen vectors and
            // four wide ones per token, and six scores for each head per pair of tokens. JinaBERT's
            // table of distances is one more.
            let tokens = self.max_tokens;
            options.lanes() * tokens * (16 * width.max(attention) + 4 * wide + kept + 7 * heads * tokens)
        };
        // In memory, a vocabulary takes about fourteen times the size of its JSON (measured with
        // MiniLM: 6.4 MB for 0.47 MB).
        let tokenizer = size(&self.path.join("tokenizer.json"))? * 14;
        let weights =
            self.dense.iter().fold(self.weights.bytes(), |sum, layer| sum.saturating_add(layer.weights.bytes()));
        Ok(Bytes(weights.saturating_add(tokenizer).saturating_add(4 * numbers as u64)))
    }
}

/// Names of the arithmetic that computes vectors, with our own kernels and with candle. Changing
/// one changes fingerprints, so that old vectors are not mixed with new ones.
const ARITHMETIC: &[u8] = b"int8 rows 1";
const STOCK_ARITHMETIC: &[u8] = b"candle f32 1";

/// Number of weights in all-MiniLM-L6-v2 without its vocabulary.
pub(super) const MINI_LM_NUMBERS: f64 = 11_000_000.0;
/// candle's time for all-MiniLM-L6-v2 relative to our own kernels (texts of 256 tokens on two busy
/// cores: 1,200 and 4,700 tokens a second).
const STOCK_SLOWER: f64 = 4.0;
