//! An embedder in this process: loads the model, tokenises texts and computes their vectors in
//! batches, each under the permit.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::base::Cancel;
use crate::budget::{Lease, Permit, Priority};
use crate::embed::batch;
use crate::embed::error::EmbedError;
use crate::embed::pieces::{TOKENS_MAX, Tokens, mean};
use crate::embed::prompts::Purpose;
use crate::embed::source::{Loaded, Model, Source};
use crate::engine::trial::Trial;
use crate::models::EmbedderWishes;

/// Options of an embedder. `Options::default()` shares no permit and holds no memory lease.
pub struct Options {
    /// Maximum tokens read in one pass; longer texts are read in pieces. A model made for fewer
    /// reads fewer.
    pub max_tokens: usize,
    /// Tokens per batch; one permit covers one batch. With MiniLM, 2,048 take two busy cores less
    /// than half a second. candle's models, which are slower, read one pass per thread.
    pub batch_tokens: usize,
    /// Threads per batch; 0 means every core.
    pub threads: usize,
    /// Acquired for every batch; queries come before other texts.
    pub permit: Permit,
    /// The lease of the memory computed by [`crate::embed::memory`]; held until the weights are
    /// freed.
    pub lease: Option<Lease>,
    /// The settings in models.toml for a GGUF file.
    pub wishes: EmbedderWishes,
    /// Where a GGUF file is test-loaded before it is loaded here.
    pub trial: Option<Trial>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            max_tokens: 512,
            batch_tokens: 2048,
            threads: 0,
            permit: Permit::new(),
            lease: None,
            wishes: EmbedderWishes::default(),
            trial: None,
        }
    }
}

impl Options {
    /// The number of threads, at least 1.
    pub(super) fn lanes(&self) -> usize {
        match self.threads {
            0 => thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }
}

/// Handle to one loaded embedding model. Clones share it; dropping the last one frees the weights and the lease.
#[derive(Clone)]
pub struct Local {
    shared: Arc<Shared>,
}

/// Field order matters: the weights are dropped before their memory lease.
struct Shared {
    loaded: Loaded,
    threads: usize,
    permit: Permit,
    _lease: Option<Lease>,
}

/// Maximum bytes read per token of a text. WordPiece tokens are shorter (a word longer than 100
/// letters is one unknown token), so text beyond [`TOKENS_MAX`] times this exceeds the limit
/// anyway.
const BYTES_A_TOKEN: usize = 512;
/// Minimum texts per thread when tokenising; with fewer, a second thread costs more than it saves.
const TEXTS_A_THREAD: usize = 16;
/// Minimum tokens per thread; with fewer, a second thread costs more than it saves.
const TOKENS_A_THREAD: usize = 64;
/// Tokens per share of a batch; one thread computes all layers of a share. Small enough that the
/// activations fit a core's cache (128 rows of MiniLM's wide layer are 0.8 MB).
const TOKENS_A_SHARE: usize = 128;

impl Local {
    /// Loads the embedder at `path`, a folder or a GGUF file.
    pub fn open(path: &Path, options: Options) -> Result<Local, EmbedError> {
        let shared = Shared {
            loaded: Source::open(path, &options)?.load(&options)?,
            threads: options.lanes(),
            permit: options.permit,
            _lease: options.lease,
        };
        Ok(Local { shared: Arc::new(shared) })
    }

    /// Length of every vector.
    pub fn dimensions(&self) -> usize {
        self.shared.loaded.dimensions
    }

    /// See [`super::Embedder::work`].
    pub fn work(&self) -> f64 {
        self.shared.loaded.work
    }

    /// Identifies model and options for caches; changes if the files change.
    pub fn fingerprint(&self) -> &str {
        &self.shared.loaded.fingerprint
    }

    /// One unit vector per text, in order. For a text too long for one pass, it is the mean of its
    /// pieces, up to [`TOKENS_MAX`]. Blocks; call it from a thread that may wait. Stops between
    /// batches if cancelled.
    pub fn embed(&self, texts: &[String], purpose: Purpose, cancel: &Cancel) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.shared.pooled(&self.shared.all_tokens(texts, purpose, cancel)?, Priority::Background, cancel)
    }

    /// Like [`Local::embed`] for documents, but reads only as much of each text as fits one pass:
    /// for chunks of code, whose beginning identifies them.
    pub fn embed_heads(&self, texts: &[String], cancel: &Cancel) -> Result<Vec<Vec<f32>>, EmbedError> {
        let texts = self.shared.all_tokens(texts, Purpose::Document, cancel)?;
        let heads: Vec<Vec<u32>> = texts.iter().map(|text| text.head(self.shared.loaded.max_tokens)).collect();
        self.shared.vectors(&heads, Priority::Background, cancel)
    }

    /// The unit vector of a query. Blocks, but waits only for the batch in progress and for more
    /// urgent work.
    pub fn embed_one(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let tokens = self.shared.tokens(0, text, Purpose::Query)?;
        Ok(self.shared.pooled(&[tokens], Priority::Step, &Cancel::new())?.concat())
    }

    /// The number of tokens in each plain text, including the special tokens around it. Above
    /// [`TOKENS_MAX`] it may be too small.
    pub fn count_tokens(&self, texts: &[String], cancel: &Cancel) -> Result<Vec<usize>, EmbedError> {
        Ok(self.shared.all_tokens(texts, Purpose::Plain, cancel)?.iter().map(Tokens::count).collect())
    }

    /// The text of these tokens, without special tokens. Fails if a token is not in the vocabulary.
    pub fn text_of(&self, tokens: &[u32]) -> Result<String, EmbedError> {
        self.shared.loaded.reader.text_of(tokens)
    }
}

impl Shared {
    /// The vectors of complete texts.
    fn pooled(&self, texts: &[Tokens], priority: Priority, cancel: &Cancel) -> Result<Vec<Vec<f32>>, EmbedError> {
        let pieces: Vec<Vec<Vec<u32>>> = texts.iter().map(|text| text.pieces(self.loaded.max_tokens)).collect();
        let counts: Vec<usize> = pieces.iter().map(Vec::len).collect();
        let flat = pieces.concat();
        let vectors = self.vectors(&flat, priority, cancel)?;
        let mut parts = flat.iter().map(Vec::len).zip(vectors);
        Ok(counts.into_iter().map(|count| mean(parts.by_ref().take(count))).collect())
    }

    /// The tokens of all texts, computed on several threads if there are many.
    fn all_tokens(&self, texts: &[String], purpose: Purpose, cancel: &Cancel) -> Result<Vec<Tokens>, EmbedError> {
        let threads = (texts.len() / TEXTS_A_THREAD).clamp(1, self.threads);
        spread(threads, texts.len(), |index| {
            if cancel.is_cancelled() { Err(EmbedError::Cancelled) } else { self.tokens(index, &texts[index], purpose) }
        })
    }

    fn tokens(&self, index: usize, text: &str, purpose: Purpose) -> Result<Tokens, EmbedError> {
        let head = &text[..text.floor_char_boundary(TOKENS_MAX.saturating_mul(BYTES_A_TOKEN))];
        let text = format!("{}{head}", self.loaded.prompts.of(purpose));
        self.loaded.reader.tokens(text).map_err(|reason| EmbedError::Tokens { index, reason })
    }

    /// The vectors of the sequences, in the same order.
    fn vectors(
        &self,
        sequences: &[Vec<u32>],
        priority: Priority,
        cancel: &Cancel,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let lengths: Vec<usize> = sequences.iter().map(Vec::len).collect();
        let mut vectors = vec![Vec::new(); sequences.len()];
        for places in batch::batches(&lengths, self.loaded.batch_tokens) {
            let batch: Vec<&[u32]> = places.iter().map(|place| &sequences[*place][..]).collect();
            let _turn = self.permit.take_unless(priority, cancel).ok_or(EmbedError::Cancelled)?;
            let computed = self.encode(&batch)?;
            places.into_iter().zip(computed).for_each(|(place, vector)| vectors[place] = vector);
        }
        Ok(vectors)
    }

    /// The vectors of one batch, whose sequences are sorted by length. With our own kernels,
    /// threads never wait for each other between layers, because each computes complete shares.
    fn encode(&self, batch: &[&[u32]]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let bert = match &self.loaded.model {
            Model::Packed(bert) => bert,
            Model::Llama(llama) => return Ok(spread(1, 1, |_| llama.embed(batch))?.concat()),
            // One part for all threads, which catches a panic.
            Model::Stock(stock) => {
                let all = spread(1, 1, |_| stock.embed(batch, TOKENS_A_SHARE).map_err(EmbedError::Failed));
                return Ok(all?.concat());
            }
        };
        let lengths: Vec<usize> = batch.iter().map(|sequence| sequence.len()).collect();
        let tokens: usize = lengths.iter().sum();
        let threads = (tokens / TOKENS_A_THREAD).clamp(1, self.threads);
        let shares = batch::split(&lengths, threads * tokens.div_ceil(threads * TOKENS_A_SHARE).max(1));
        let vectors = spread(threads, shares.len(), |index| {
            bert.embed(&batch[shares[index].clone()]).map_err(EmbedError::Failed)
        })?;
        Ok(vectors.concat())
    }
}

/// Computes `part(0)` to `part(parts - 1)` on `threads` threads. Each takes the next part when it
/// is done, so that a core that is busy elsewhere delays only one part.
fn spread<T: Send>(
    threads: usize,
    parts: usize,
    part: impl Fn(usize) -> Result<T, EmbedError> + Sync,
) -> Result<Vec<T>, EmbedError> {
    let panicked = || EmbedError::Failed("a thread panicked".to_owned());
    if threads == 1 {
        let all = || (0..parts).map(&part).collect();
        return catch_unwind(AssertUnwindSafe(all)).unwrap_or_else(|_| Err(panicked()));
    }
    let next = AtomicUsize::new(0);
    let lane = || -> Result<Vec<(usize, T)>, EmbedError> {
        let mine = std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)).filter(|index| *index < parts));
        mine.map(|index| Ok((index, part(index)?))).collect()
    };
    let lanes: Vec<_> = thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(lane)).collect();
        running.into_iter().map(|lane| lane.join().unwrap_or_else(|_| Err(panicked()))).collect()
    });
    let mut done: Vec<(usize, T)> = lanes.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
    done.sort_unstable_by_key(|(index, _)| *index);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Local({} dimensions, {})", self.dimensions(), self.fingerprint())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use candle_core::{DType, Device, Tensor};
    use candle_nn::VarBuilder;
    use candle_transformers::models::bert::{BertModel, Config};

    use super::*;
    use crate::base::Bytes;
    use crate::budget::Ledger;
    use crate::embed::tests::sample::mini_lm;

    fn open(options: Options) -> Local {
        Local::open(&mini_lm(), options).expect("the fetched embedder opens")
    }

    fn texts() -> Vec<String> {
        let mut texts: Vec<String> = ["", "a", "How do I retry a failed request?", "fn main() { println!(\"hi\"); }"]
            .into_iter()
            .map(str::to_owned)
            .collect();
        texts.push("Größe und Gewicht der Änderung, 東京 🚀".into());
        texts.extend((1..32).map(|n| "parse the configuration file and report errors ".repeat(n)));
        texts
    }

    /// The vectors computed by candle's own model, one text at a time.
    fn by_candle(embedder: &Local, texts: &[String]) -> Vec<Vec<f32>> {
        let folder = mini_lm();
        let config: Config = serde_json::from_slice(&fs::read(folder.join("config.json")).unwrap()).unwrap();
        let weights = fs::read(folder.join("model.safetensors")).unwrap();
        let weights = VarBuilder::from_buffered_safetensors(weights, DType::F32, &Device::Cpu).unwrap();
        let model = BertModel::load(weights, &config).unwrap();
        let embed = |text: &String| -> candle_core::Result<Vec<f32>> {
            let ids = embedder.shared.tokens(0, text, Purpose::Plain).unwrap().pieces(512).remove(0);
            let ids = Tensor::new(ids, &Device::Cpu)?.unsqueeze(0)?;
            let mean = model.forward(&ids, &ids.zeros_like()?, None)?.mean(1)?.get(0)?;
            mean.broadcast_div(&mean.sqr()?.sum_all()?.sqrt()?)?.to_vec1()
        };
        texts.iter().map(|text| embed(text).unwrap()).collect()
    }

    #[test]
    fn packed_vectors_equal_those_of_candles_model() {
        let embedder = open(Options { batch_tokens: 600, ..Options::default() });
        let texts = texts();
        let found = embedder.embed(&texts, Purpose::Document, &Cancel::new()).unwrap();
        let expected = by_candle(&embedder, &texts);
        assert_eq!(found.len(), texts.len());
        for (text, (found, expected)) in texts.iter().zip(found.iter().zip(&expected)) {
            assert_eq!(found.len(), embedder.dimensions());
            let alike = kernels::cosine(found, expected)[0];
            // Weights have eight bits; in a text without words, only the two special tokens average
            // out the rounding.
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
        let together = embedder.embed(&texts, Purpose::Document, &Cancel::new()).unwrap();
        for (text, vector) in texts.iter().zip(together).step_by(7) {
            let alone = embedder.embed_one(text).unwrap();
            assert!(kernels::cosine(&alone, &vector)[0] > 0.99999, "{text:?}");
        }
    }

    #[test]
    fn a_long_text_is_read_whole_in_pieces() {
        let embedder = open(Options { max_tokens: 32, ..Options::default() });
        let head = "one two three four ".repeat(20);
        let of = |text: &str| embedder.embed_one(text).unwrap();
        let (cars, verse) = (of(&format!("{head}engines and wheels")), of(&format!("{head}a poem about spring")));
        assert!(kernels::cosine(&cars, &verse)[0] < 0.9999, "what differs at the end has another vector");
        let length: f32 = cars.iter().map(|x| x * x).sum();
        assert!((length - 1.0).abs() < 1e-4, "{length}");
        let counted = embedder.count_tokens(&[head.clone(), String::new()], &Cancel::new()).unwrap();
        assert_eq!(counted, [82, 2]);
        let texts = [format!("{head}engines"), format!("{head}spring")];
        let heads = embedder.embed_heads(&texts, &Cancel::new()).unwrap();
        assert_eq!(heads[0], heads[1], "a head is what is read at once");
    }

    #[test]
    fn a_text_of_millions_of_words_is_read_to_the_limit() {
        let embedder = open(Options::default());
        let million = "something else ".repeat(70_000);
        assert!(embedder.count_tokens(std::slice::from_ref(&million), &Cancel::new()).unwrap()[0] > TOKENS_MAX);
        assert_eq!(
            embedder.shared.tokens(0, &million, Purpose::Plain).unwrap().pieces(256).len(),
            TOKENS_MAX.div_ceil(254)
        );
    }

    #[test]
    fn every_batch_waits_for_the_permit_until_it_is_cancelled() {
        let (permit, cancel) = (Permit::new(), Cancel::new());
        let embedder = open(Options { batch_tokens: 100, permit: permit.clone(), ..Options::default() });
        let texts = vec!["some words to embed".to_owned(); 40];
        let held = permit.take(Priority::User);
        thread::scope(|scope| {
            let bulk = scope.spawn(|| embedder.embed(&texts, Purpose::Document, &cancel));
            let query = scope.spawn(|| embedder.embed_one("a query"));
            while permit.waiting() < 2 {
                thread::yield_now();
            }
            cancel.cancel();
            assert_eq!(bulk.join().unwrap(), Err(EmbedError::Cancelled));
            drop(held);
            assert_eq!(query.join().unwrap().map(|vector| vector.len()), Ok(384));
        });
        assert_eq!(embedder.embed(&texts, Purpose::Document, &Cancel::new()).map(|vectors| vectors.len()), Ok(40));
    }

    #[test]
    fn the_memory_is_given_back_with_the_last_handle() {
        let ledger = Ledger::new(Bytes::gib(1));
        let embedder = open(Options { lease: Some(ledger.hold("embedder", Bytes::mib(100))), ..Options::default() });
        let clone = embedder.clone();
        drop(embedder);
        assert_eq!(ledger.entries().len(), 1);
        drop(clone);
        assert!(ledger.entries().is_empty());
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
