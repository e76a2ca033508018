//! Provides the handle to the embedding worker: it tokenises texts, passes them to the worker and waits for their vectors.

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use tokenizers::Tokenizer;

use crate::base::Cancel;
use crate::embed::batch;
use crate::embed::bert::Bert;
use crate::embed::folder::Folder;
use crate::embed::worker::{self, Encoder, Gate, Queue, Urgency};

pub use crate::embed::error::EmbedError;

/// Options of an embedder. `Options::default()` needs no device permit and holds no memory lease.
pub struct Options {
    /// Tokens per text; longer texts are cut. At most the model's number of positions.
    pub max_tokens: usize,
    /// Tokens per batch, which is computed under one permit. With MiniLM 2,048 take two busy cores less than half a second.
    pub batch_tokens: usize,
    /// Threads per batch; 0 means every core.
    pub threads: usize,
    /// Called for every batch.
    pub gate: Gate,
    /// The lease of the memory that [`crate::embed::memory`] computes; held until the weights are freed.
    pub lease: Option<Box<dyn Any + Send + Sync>>,
}

impl Default for Options {
    fn default() -> Options {
        Options { max_tokens: 256, batch_tokens: 2048, threads: 0, gate: Arc::new(|_| Box::new(())), lease: None }
    }
}

/// Handle to one loaded embedding model. Clones share it; dropping the last one frees the weights and the lease.
#[derive(Clone)]
pub struct Embedder {
    shared: Arc<Shared>,
}

/// Dropped with the last handle: first the thread ends and frees the weights, then the lease is released.
struct Shared {
    queue: Arc<Queue>,
    thread: Option<JoinHandle<()>>,
    tokenizer: Tokenizer,
    dimensions: usize,
    fingerprint: String,
    max_tokens: usize,
    batch_tokens: usize,
    threads: usize,
    _lease: Option<Box<dyn Any + Send + Sync>>,
}

/// Most bytes per token that are read of a text: WordPiece tokens have fewer (words above 100 letters are one unknown token), so
/// text beyond `max_tokens` times this would be cut anyway.
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
            threads,
            _lease: options.lease,
        };
        Ok(Embedder { shared: Arc::new(shared) })
    }

    /// Length of every vector.
    pub fn dimensions(&self) -> usize {
        self.shared.dimensions
    }

    /// Identifies model and options for caches; changes if the files change.
    pub fn fingerprint(&self) -> &str {
        &self.shared.fingerprint
    }

    /// One unit vector per text, in order. Blocks; call it from a thread that may wait.
    pub fn embed(&self, texts: &[String], cancel: &Cancel) -> Result<Vec<Vec<f32>>, EmbedError> {
        let sequences = self.shared.all_tokens(texts, cancel)?;
        self.shared.queue.embed(sequences, self.shared.batch_tokens, Urgency::Bulk, cancel)
    }

    /// The number of tokens of these texts after cutting, including the two special tokens of each.
    pub fn count_tokens(&self, texts: &[String]) -> Result<usize, EmbedError> {
        Ok(self.shared.all_tokens(texts, &Cancel::new())?.iter().map(Vec::len).sum())
    }

    /// The text of these tokens, without special ones. Errors if one is not of this vocabulary.
    pub fn text_of(&self, tokens: &[u32]) -> Result<String, EmbedError> {
        let size = self.shared.tokenizer.get_vocab_size(true);
        if let Some(token) = tokens.iter().find(|&&token| token as usize >= size) {
            return Err(EmbedError::Failed(format!("token {token} is not one of the embedder's {size}")));
        }
        self.shared.tokenizer.decode(tokens, true).map_err(|error| EmbedError::Failed(error.to_string()))
    }

    /// The unit vector of a query. Blocks, but only waits for the batch in progress and earlier queries.
    pub fn embed_one(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let sequence = self.shared.tokens(0, text)?;
        let batch_tokens = self.shared.batch_tokens;
        let mut vectors = self.shared.queue.embed(vec![sequence], batch_tokens, Urgency::Query, &Cancel::new())?;
        vectors.pop().ok_or_else(|| EmbedError::Failed("no vector came back; this is a bug in embed/worker.rs".into()))
    }
}

impl Shared {
    /// The tokens of all texts, tokenised on several threads if there are many.
    fn all_tokens(&self, texts: &[String], cancel: &Cancel) -> Result<Vec<Vec<u32>>, EmbedError> {
        let tokenize = |first: usize, texts: &[String]| -> Result<Vec<Vec<u32>>, EmbedError> {
            let one = |(at, text): (usize, &String)| {
                if cancel.is_cancelled() { Err(EmbedError::Cancelled) } else { self.tokens(first + at, text) }
            };
            texts.iter().enumerate().map(one).collect()
        };
        let threads = (texts.len() / TEXTS_A_THREAD).clamp(1, self.threads);
        if threads == 1 {
            return tokenize(0, texts);
        }
        let share = texts.len().div_ceil(threads);
        let shares = texts.chunks(share).enumerate();
        let all: Vec<_> = thread::scope(|scope| {
            let lanes: Vec<_> = shares.map(|(at, texts)| scope.spawn(move || tokenize(at * share, texts))).collect();
            let panicked = || Err(EmbedError::Failed("a thread that cuts texts into tokens panicked".to_owned()));
            lanes.into_iter().map(|lane| lane.join().unwrap_or_else(|_| panicked())).collect()
        });
        Ok(all.into_iter().collect::<Result<Vec<_>, _>>()?.concat())
    }

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

/// The encoder of the worker. It splits each batch into shares; one thread computes all layers of a share, so that threads never
/// wait for each other between layers.
struct Lanes {
    bert: Bert,
    threads: usize,
}

/// Index and vectors of a share.
type Done = (usize, Vec<Vec<f32>>);

/// Least tokens per thread; below, a second thread costs more than it saves.
const TOKENS_A_THREAD: usize = 64;

/// Least texts per thread when tokenising; below, a second thread costs more than it saves.
const TEXTS_A_THREAD: usize = 16;
/// Tokens per share: few enough that the activations fit a core's cache (128 rows of MiniLM's wide layer are 0.8 MB).
const TOKENS_A_SHARE: usize = 128;

impl Encoder for Lanes {
    fn encode(&self, sequences: &[&[u32]]) -> Result<Vec<Vec<f32>>, String> {
        let lengths: Vec<usize> = sequences.iter().map(|sequence| sequence.len()).collect();
        let tokens: usize = lengths.iter().sum();
        let threads = (tokens / TOKENS_A_THREAD).clamp(1, self.threads.max(1));
        let shares = batch::split(&lengths, threads * tokens.div_ceil(threads * TOKENS_A_SHARE).max(1));
        let embed =
            |share: &Range<usize>| self.bert.embed(&sequences[share.clone()]).map_err(|error| error.to_string());
        if threads == 1 {
            return Ok(shares.iter().map(embed).collect::<Result<Vec<_>, _>>()?.concat());
        }
        // Each thread takes the next share when it is done, so that a core that is busy otherwise delays only one share.
        let (next, shares, embed) = (AtomicUsize::new(0), &shares, &embed);
        let lane = || -> Result<Vec<Done>, String> {
            let takes =
                std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < shares.len()));
            takes.map(|at| Ok((at, embed(&shares[at])?))).collect()
        };
        let results: Vec<_> = thread::scope(|scope| {
            let lanes: Vec<_> = (0..threads).map(|_| scope.spawn(lane)).collect();
            lanes.into_iter().map(|lane| lane.join().unwrap_or_else(|_| Err("a thread panicked".to_owned()))).collect()
        });
        let mut vectors = results.into_iter().collect::<Result<Vec<_>, _>>()?.concat();
        vectors.sort_unstable_by_key(|(at, _)| *at);
        Ok(vectors.into_iter().flat_map(|(_, vectors)| vectors).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use candle_core::{DType, Device, Tensor};
    use candle_nn::VarBuilder;
    use candle_transformers::models::bert::{BertModel, Config};

    use super::*;

    /// The folder where scripts/fetch-models puts the default embedder.
    fn mini_lm() -> PathBuf {
        let models = std::env::var_os("MONOBLOC_TEST_MODELS").map(PathBuf::from).unwrap_or_else(|| {
            let home = std::env::var_os("HOME").expect("HOME names the user's folder");
            PathBuf::from(home).join(".local/share/monobloc/models")
        });
        let folder = models.join("all-MiniLM-L6-v2");
        let file = folder.join("model.safetensors");
        assert!(
            file.is_file(),
            "{} is missing: this test needs the real model, run scripts/fetch-models",
            file.display()
        );
        folder
    }

    fn open(options: Options) -> Embedder {
        Embedder::open(&mini_lm(), options).expect("the fetched embedder opens")
    }

    fn texts() -> Vec<String> {
        let mut texts: Vec<String> = ["", "a", "How do I retry a failed request?", "fn main() { println!(\"hi\"); }"]
            .into_iter()
            .map(str::to_owned)
            .collect();
        texts.push("Größe und Gewicht der Änderung, 東京 🚀".into());
        texts.extend((1..40).map(|n| "parse the configuration file and report errors ".repeat(n)));
        texts
    }

    /// The vectors from candle's own model, one text at a time.
    fn by_candle(embedder: &Embedder, texts: &[String]) -> Vec<Vec<f32>> {
        let folder = mini_lm();
        let config: Config = serde_json::from_slice(&fs::read(folder.join("config.json")).unwrap()).unwrap();
        let weights = fs::read(folder.join("model.safetensors")).unwrap();
        let weights = VarBuilder::from_buffered_safetensors(weights, DType::F32, &Device::Cpu).unwrap();
        let model = BertModel::load(weights, &config).unwrap();
        let embed = |text: &String| -> candle_core::Result<Vec<f32>> {
            let ids = Tensor::new(embedder.shared.tokens(0, text).unwrap(), &Device::Cpu)?.unsqueeze(0)?;
            let mean = model.forward(&ids, &ids.zeros_like()?, None)?.mean(1)?.get(0)?;
            mean.broadcast_div(&mean.sqr()?.sum_all()?.sqrt()?)?.to_vec1()
        };
        texts.iter().map(|text| embed(text).unwrap()).collect()
    }

    #[test]
    fn packed_vectors_equal_those_of_candles_model() {
        let embedder = open(Options { batch_tokens: 600, ..Options::default() });
        let texts = texts();
        let found = embedder.embed(&texts, &Cancel::new()).unwrap();
        let expected = by_candle(&embedder, &texts);
        assert_eq!(found.len(), texts.len());
        for (text, (found, expected)) in texts.iter().zip(found.iter().zip(&expected)) {
            assert_eq!(found.len(), embedder.dimensions());
            let alike = kernels::cosine(found, expected)[0];
            // Weights have eight bits; in a text without words only its two special tokens average out the rounding.
            let bound = if text.is_empty() { 0.98 } else { 0.99 };
            assert!(alike >= bound, "cosine {alike} for {text:?}");
            let square: f32 = found.iter().map(|x| x * x).sum();
            assert!((square - 1.0).abs() < 1e-4, "{text:?} has a vector of length {}", square.sqrt());
        }
    }

    #[test]
    fn a_text_has_the_same_vector_alone_and_in_a_batch() {
        let embedder = open(Options::default());
        let texts = texts();
        let together = embedder.embed(&texts, &Cancel::new()).unwrap();
        for (text, vector) in texts.iter().zip(together).step_by(7) {
            let alone = embedder.embed_one(text).unwrap();
            assert!(kernels::cosine(&alone, &vector)[0] > 0.99999, "{text:?}");
        }
    }

    #[test]
    fn similar_meanings_have_similar_vectors() {
        let embedder = open(Options::default());
        let query = embedder.embed_one("how to try a network call again").unwrap();
        let candidates = ["retry a failed http request", "draw a circle on the screen", "sum of two integers"];
        let vectors = embedder.embed(&candidates.map(str::to_owned), &Cancel::new()).unwrap();
        let scores = kernels::cosine(&query, &vectors.concat());
        assert_eq!(kernels::top_k(&scores, 1)[0].0, 0, "{scores:?}");
    }

    #[test]
    fn of_a_long_text_only_the_first_tokens_count() {
        let embedder = open(Options { max_tokens: 32, ..Options::default() });
        let head = "one two three four ".repeat(20);
        let million = format!("{head}{}", "something else ".repeat(70_000));
        assert_eq!(embedder.shared.tokens(0, &million).unwrap().len(), 32);
        assert_eq!(embedder.embed_one(&head).unwrap(), embedder.embed_one(&million).unwrap());
    }

    #[test]
    fn every_batch_takes_the_permit_and_the_lease_outlives_the_thread() {
        let (permits, freed) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        struct Lease(Arc<AtomicUsize>);
        impl Drop for Lease {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::SeqCst);
            }
        }
        let counted = permits.clone();
        let embedder = open(Options {
            batch_tokens: 100,
            gate: Arc::new(move |_| Box::new(counted.fetch_add(1, Ordering::SeqCst))),
            lease: Some(Box::new(Lease(freed.clone()))),
            ..Options::default()
        });
        let clone = embedder.clone();
        drop(embedder);
        clone.embed(&vec!["some words to embed".to_owned(); 40], &Cancel::new()).unwrap();
        assert_eq!(freed.load(Ordering::SeqCst), 0);
        assert!(permits.load(Ordering::SeqCst) > 1, "{permits:?}");
        drop(clone);
        assert_eq!(freed.load(Ordering::SeqCst), 1);
        assert_eq!(Arc::strong_count(&permits), 1, "the thread has ended and dropped its gate");
    }

    #[test]
    fn the_fingerprint_depends_on_the_options() {
        let (a, b) = (open(Options::default()), open(Options::default()));
        let shorter = open(Options { max_tokens: 64, ..Options::default() });
        assert_eq!(a.fingerprint(), b.fingerprint());
        assert_ne!(a.fingerprint(), shorter.fingerprint());
        assert_eq!(a.fingerprint().len(), 32);
    }
}
