//! The cloneable handle to the embedding worker.

use std::any::Any;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tokenizers::Tokenizer;

use crate::base::Cancel;
use crate::embed::batch;
use crate::embed::bert::Bert;
use crate::embed::folder::Folder;
use crate::embed::worker::{self, Encoder, Gate, Queue, Urgency};

pub use crate::embed::error::EmbedError;

/// How an embedder works. `Options::default()` needs no device permit and holds no memory lease.
pub struct Options {
    /// Tokens of a text that count; the rest is cut off. At most the model's positions.
    pub max_tokens: usize,
    /// Tokens computed under one permit. 2,048 take about a quarter of a second of two cores with MiniLM.
    pub batch_tokens: usize,
    /// Threads a batch is spread over; 0 means every core.
    pub threads: usize,
    /// Taken for every batch.
    pub gate: Gate,
    /// Held until the weights are freed: the right to the memory that [`crate::embed::memory`] names.
    pub lease: Option<Box<dyn Any + Send + Sync>>,
}

impl Default for Options {
    fn default() -> Options {
        Options { max_tokens: 256, batch_tokens: 2048, threads: 0, gate: Arc::new(|_| Box::new(())), lease: None }
    }
}

/// Handle to one loaded embedding model. Clones share it; the last one dropped frees weights and memory.
#[derive(Clone)]
pub struct Embedder {
    shared: Arc<Shared>,
}

/// Dropped with the last handle: the thread ends and frees the weights, then the lease returns the memory.
struct Shared {
    queue: Arc<Queue>,
    thread: Option<JoinHandle<()>>,
    tokenizer: Tokenizer,
    dimensions: usize,
    fingerprint: String,
    max_tokens: usize,
    batch_tokens: usize,
    _lease: Option<Box<dyn Any + Send + Sync>>,
}

/// No token of a WordPiece vocabulary stands for more bytes of text than this (words above 100 letters are one unknown
/// token), so what lies further back than `max_tokens` times this cannot count and is not read.
const BYTES_A_TOKEN: usize = 512;

impl Embedder {
    /// Loads the embedder in `folder` (config.json, tokenizer.json, model.safetensors) and starts its thread.
    pub fn open(folder: &Path, options: Options) -> Result<Embedder, EmbedError> {
        let files = Folder::open(folder)?;
        let tokenizer = files.tokenizer(options.max_tokens)?;
        let fingerprint = files.fingerprint(options.max_tokens)?;
        let bert = files.load()?;
        let dimensions = bert.dimensions();
        let threads = match options.threads {
            0 => thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let queue = Queue::new();
        let (gate, meeting) = (options.gate, queue.clone());
        let thread = thread::Builder::new()
            .name("embedder".to_owned())
            .spawn(move || worker::run(Lanes { bert, threads }, &meeting, &gate))
            .map_err(|error| EmbedError::Stopped(error.to_string()))?;
        let shared = Shared {
            queue,
            thread: Some(thread),
            tokenizer,
            dimensions,
            fingerprint,
            max_tokens: options.max_tokens,
            batch_tokens: options.batch_tokens.max(1),
            _lease: options.lease,
        };
        Ok(Embedder { shared: Arc::new(shared) })
    }

    /// Length of every vector.
    pub fn dimensions(&self) -> usize {
        self.shared.dimensions
    }

    /// Identifies the weights, for caches: changes when the files change.
    pub fn fingerprint(&self) -> &str {
        &self.shared.fingerprint
    }

    /// One unit vector a text, in order. Blocks; call it from a thread that may wait.
    pub fn embed(&self, texts: &[String], cancel: &Cancel) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut sequences = Vec::with_capacity(texts.len());
        for (index, text) in texts.iter().enumerate() {
            if cancel.is_cancelled() {
                return Err(EmbedError::Cancelled);
            }
            sequences.push(self.shared.tokens(index, text)?);
        }
        self.shared.queue.embed(sequences, self.shared.batch_tokens, Urgency::Bulk, cancel)
    }

    /// The unit vector of a query. Blocks, but waits for no more than the batch that is being computed.
    pub fn embed_one(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let sequence = self.shared.tokens(0, text)?;
        let batch_tokens = self.shared.batch_tokens;
        let mut vectors = self.shared.queue.embed(vec![sequence], batch_tokens, Urgency::Query, &Cancel::new())?;
        vectors.pop().ok_or_else(|| EmbedError::Failed("no vector came back; this is a bug in embed/worker.rs".into()))
    }
}

impl Shared {
    fn tokens(&self, index: usize, text: &str) -> Result<Vec<u32>, EmbedError> {
        let head = &text[..text.floor_char_boundary(self.max_tokens.saturating_mul(BYTES_A_TOKEN))];
        let encoding = self.tokenizer.encode_fast(head, true);
        let encoding = encoding.map_err(|error| EmbedError::Tokens { index, reason: error.to_string() })?;
        Ok(encoding.get_ids().to_vec())
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has freed its weights too.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Embedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Embedder({} dimensions, {})", self.shared.dimensions, self.shared.fingerprint)
    }
}

/// The model as the worker sees it: each batch cut into as many shares as there are threads, each share on one thread
/// from its first layer to its last, so that they never wait for each other in between.
struct Lanes {
    bert: Bert,
    threads: usize,
}

/// Below this many tokens a second thread costs more than it saves.
const TOKENS_A_THREAD: usize = 64;

impl Encoder for Lanes {
    fn encode(&self, sequences: &[&[u32]]) -> Result<Vec<Vec<f32>>, String> {
        let lengths: Vec<usize> = sequences.iter().map(|sequence| sequence.len()).collect();
        let threads = (lengths.iter().sum::<usize>() / TOKENS_A_THREAD).clamp(1, self.threads.max(1));
        let shares = batch::split(&lengths, threads);
        let embed = |share: &[&[u32]]| self.bert.embed(share).map_err(|error| error.to_string());
        if let [_] = shares[..] {
            return embed(sequences);
        }
        let results: Vec<_> = thread::scope(|scope| {
            let lanes: Vec<_> = shares.into_iter().map(|share| scope.spawn(|| embed(&sequences[share]))).collect();
            lanes.into_iter().map(|lane| lane.join().unwrap_or_else(|_| Err("a thread panicked".to_owned()))).collect()
        });
        Ok(results.into_iter().collect::<Result<Vec<_>, _>>()?.concat())
    }
}
