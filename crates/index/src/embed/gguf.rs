//! An embedder in a GGUF file, which llama.cpp runs on the processor.

use std::path::Path;
use std::sync::{Arc, Mutex};

use sha2::{Digest, Sha256};

use super::error::EmbedError;
use super::files::unreadable;
use super::folder::MINI_LM_NUMBERS;
use super::handle::Options;
use super::pieces::Tokens;
use super::prompts::Prompts;
use super::reader::Reader;
use super::source::{Loaded, Model};
use crate::base::{Bytes, hex, lock};
use crate::budget::{Estimate, repack};
use crate::engine::llama::{Encoder, LlamaError, Loading, Weights};
use crate::engine::{Token, Vocabulary};
use crate::models::gguf::{self, Header};
use crate::models::{Pooling, digest, places};

/// A GGUF file whose header has been read.
pub struct Gguf {
    header: Header,
    pooling: Pooling,
    prompts: Prompts,
    max_tokens: usize,
}

/// The loaded model.
pub struct Llama {
    file: String,
    encoder: Mutex<Encoder>,
    weights: Arc<Weights>,
    /// The special tokens before and after a text.
    before: Vec<u32>,
    after: Vec<u32>,
    dimensions: usize,
}

/// Tokens per call, unless a text may have more. A call's texts are compared with each other and
/// the results masked, so with more tokens, each takes longer.
const CALL_TOKENS: usize = 512;
/// Name of the arithmetic, see `folder::ARITHMETIC`.
const ARITHMETIC: &[u8] = b"llama.cpp 1";
/// llama.cpp's time for all-MiniLM-L6-v2 relative to our own kernels.
const SLOWER: f64 = 2.0;

impl Gguf {
    /// Reads and checks the header. Passes have at most `max_tokens` of the options, and no more
    /// than the model reads.
    pub fn open(path: &Path, options: &Options) -> Result<Gguf, EmbedError> {
        let refused = |why: String| EmbedError::Refused(format!("{} {why}", path.display()));
        let header = gguf::inspect(path).map_err(|error| EmbedError::Refused(error.to_string()))?;
        if let Some(wanted) = &options.wishes.sha256 {
            let found = digest::sha256(path, &places::sha256_memory()).map_err(|error| unreadable(path, &error))?;
            if found != *wanted {
                let why = format!(
                    "has the sha256 {found}, but models.toml says {wanted}; fetch it again, or correct models.toml"
                );
                return Err(refused(why));
            }
        }
        let pooling = Pooling::of(&header, options.wishes.pooling).map_err(refused)?;
        let positions = match header.context_train {
            0 => return Err(refused(format!("has no {}.context_length; fetch it again", header.architecture))),
            // Two special tokens frame a text, so fewer than three would leave no room for it.
            positions @ (1 | 2) => {
                let arch = &header.architecture;
                return Err(refused(format!(
                    "has {arch}.context_length {positions}; a text takes at least 3; fetch it again"
                )));
            }
            positions => positions as usize,
        };
        let prompts = match &options.wishes.prompts {
            Some(table) => Prompts::of_table(table),
            None => Prompts::of_family(&header),
        };
        let max_tokens = options.max_tokens.min(positions).max(3);
        Ok(Gguf { header, pooling, prompts, max_tokens })
    }

    /// Tokens per call.
    fn rows(&self) -> usize {
        self.max_tokens.max(CALL_TOKENS)
    }

    /// Memory for weights, vocabulary, graph, and the results of a call.
    pub fn memory(&self) -> Bytes {
        Estimate::of_embedder(&self.header, self.rows() as u32).total()
    }

    /// A hash of everything that determines vectors. The file's checksum is cached.
    pub fn fingerprint(&self) -> Result<String, EmbedError> {
        let mut hash = Sha256::new();
        for file in &self.header.files {
            let sum = digest::sha256(file, &places::sha256_memory()).map_err(|error| unreadable(file, &error))?;
            hash.update(sum);
        }
        hash.update(self.pooling.number().to_le_bytes());
        for prompt in self.prompts.all() {
            hash.update((prompt.len() as u64).to_le_bytes());
            hash.update(prompt);
        }
        hash.update(self.max_tokens.to_le_bytes());
        hash.update(ARITHMETIC);
        Ok(hex(&hash.finalize()[..16]))
    }

    /// See [`super::Embedder::work`].
    fn work(&self) -> f64 {
        let Header { parameters, vocabulary, embedding_length, .. } = self.header;
        let numbers = parameters.saturating_sub(u64::from(vocabulary) * u64::from(embedding_length));
        SLOWER * (numbers as f64 / MINI_LM_NUMBERS).max(1.0)
    }

    pub fn load(self, options: &Options) -> Result<Loaded, EmbedError> {
        let (fingerprint, work, rows) = (self.fingerprint()?, self.work(), self.rows());
        let Gguf { header, pooling, prompts, max_tokens } = self;
        let llama = Arc::new(Llama::load(&header, pooling, rows, options)?);
        for prompt in prompts.all() {
            let tokens = llama.tokens(prompt).count();
            // A prompt leaves less room for every text.
            if !prompt.is_empty() && tokens > max_tokens / 2 {
                return Err(EmbedError::Refused(format!(
                    "{}: the prompt {prompt:?} takes {tokens} of the {max_tokens} tokens that the model reads at once; \
                     set a shorter one as `prompts` of [embedder] in models.toml",
                    header.path.display()
                )));
            }
        }
        Ok(Loaded {
            reader: Reader::Llama(llama.clone()),
            prompts,
            dimensions: llama.dimensions,
            work,
            fingerprint,
            max_tokens,
            batch_tokens: rows,
            model: Model::Llama(llama),
        })
    }
}

impl Llama {
    fn load(header: &Header, pooling: Pooling, rows: usize, options: &Options) -> Result<Llama, EmbedError> {
        if let Some(trial) = &options.trial {
            trial.run(header, &mut || true)?;
        }
        let loading = Loading { gpu_layers: 0, experts_on_host: 0, repack: true, mapped: !repack::copies(header) };
        let weights = Arc::new(Weights::load(header, loading, |_| true)?);
        let encoder = Encoder::new(weights.clone(), pooling, rows, options.lanes())?;
        // Every text is framed by the same tokens as this one.
        let (bare, framed) = (weights.words("a", false), weights.words("a", true));
        let before = (0..framed.len()).find(|at| framed[*at..].starts_with(&bare)).unwrap_or(0);
        let after = framed.get(before + bare.len()..).unwrap_or_default().to_vec();
        let file = header.path.display().to_string();
        let (before, dimensions) = (framed[..before].to_vec(), encoder.width());
        Ok(Llama { file, encoder: Mutex::new(encoder), weights, before, after, dimensions })
    }

    pub fn vocabulary(&self) -> usize {
        self.weights.size()
    }

    pub fn tokens(&self, text: &str) -> Tokens {
        let (before, after) = (self.before.clone(), self.after.clone());
        Tokens { before, text: self.weights.words(text, false), after }
    }

    /// The text of tokens below [`Llama::vocabulary`], without special tokens.
    pub fn text_of(&self, tokens: &[u32]) -> String {
        let bytes: Vec<u8> =
            tokens.iter().flat_map(|token| self.weights.bytes(Token(*token as i32)).iter().copied()).collect();
        String::from_utf8_lossy(&bytes).trim_start().to_owned()
    }

    /// The unit vectors of `sequences`, in order; together they have at most the tokens of one
    /// call. A sequence without tokens gives zeros.
    pub fn embed(&self, sequences: &[&[u32]]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let texts: Vec<&[u32]> = sequences.iter().copied().filter(|tokens| !tokens.is_empty()).collect();
        let made = lock(&self.encoder).encode(&texts);
        let mut made = made.map_err(|error| EmbedError::Failed(format!("{}: {error}", self.file)))?.into_iter();
        let vector = |tokens: &&[u32]| match tokens.len() {
            0 => Ok(vec![0.0; self.dimensions]),
            count => self.unit(made.next().unwrap_or_default(), count),
        };
        sequences.iter().map(vector).collect()
    }

    /// The vector scaled to unit length; fails if it has no direction.
    fn unit(&self, mut vector: Vec<f32>, tokens: usize) -> Result<Vec<f32>, EmbedError> {
        let length = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
        if !length.is_finite() || length == 0.0 {
            let what = if length == 0.0 { "only zeros" } else { "numbers that are not finite" };
            return Err(EmbedError::NoVector { file: self.file.clone(), what, tokens });
        }
        vector.iter_mut().for_each(|x| *x = (f64::from(*x) / length) as f32);
        Ok(vector)
    }
}

impl From<LlamaError> for EmbedError {
    fn from(error: LlamaError) -> EmbedError {
        EmbedError::Refused(error.to_string())
    }
}
