//! A re-ranker in this process: loads a GGUF, measures how fast it is here, and scores pairs in batches.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::pairs::Pairs;
use super::{Judge, RerankError};
use crate::base::{Bytes, Cancel, file, lock};
use crate::budget::{Estimate, Lease, Permit, Priority, repack};
use crate::engine::llama::{Encoder, Loading, Weights};
use crate::engine::trial::Trial;
use crate::models::gguf::Header;
use crate::models::{Ranking, digest};

/// Maximum tokens of a pair, and tokens of a call.
const PAIR_TOKENS: usize = 512;
const CALL_TOKENS: usize = 512;
/// Weight of the newest search in the moving average of the speed.
const NEWEST: f64 = 0.3;
/// The pair that is scored to measure the speed before the first search, twice: a text of the
/// length of many a definition.
const MEASURED: (&str, &str) = (
    "where is the total of a basket added up",
    "fn total(items: &[Item]) -> u64 { items.iter().map(|item| item.price * item.count).sum() }\n",
);
const MEASURED_REPEATED: usize = 6;
const MEASURED_PAIRS: usize = 2;

/// Options of a re-ranker. `Options::default()` shares no permit, holds no memory lease and keeps
/// no speed.
#[derive(Default)]
pub struct Options {
    /// Threads per call; 0 means every core.
    pub threads: usize,
    /// Taken for every call, before embedding other texts.
    pub permit: Permit,
    /// The lease of the memory computed by [`memory`]; held until the weights are freed.
    pub lease: Option<Lease>,
    /// Where a file is tried before it is loaded here.
    pub trial: Option<Trial>,
    /// Where the measured speed is kept.
    pub folder: Option<PathBuf>,
    /// A kept speed below this, in pairs a second, is measured again.
    pub speed_min: f64,
}

/// A loaded re-ranker.
pub struct Reranker {
    name: String,
    ranking: Ranking,
    pairs: Pairs,
    encoder: Mutex<Encoder>,
    weights: Arc<Weights>,
    permit: Permit,
    /// Pairs a second, and the file that keeps this number.
    speed: Mutex<f64>,
    kept: Option<PathBuf>,
    /// Dropped after the weights.
    _lease: Option<Lease>,
}

/// Memory that a re-ranker will need, known from its header.
pub fn memory(header: &Header) -> Bytes {
    Estimate::of_embedder(header, CALL_TOKENS as u32).total()
}

impl Reranker {
    /// Loads the file of `header`. If its speed here is not known, or too low, it is measured. Any
    /// error but a cancellation is a refusal.
    pub fn open(
        header: &Header,
        ranking: &Ranking,
        options: Options,
        cancel: &Cancel,
    ) -> Result<Reranker, RerankError> {
        let refused = RerankError::Refused;
        let mut go_on = || !cancel.is_cancelled();
        if let Some(trial) = &options.trial {
            let tried = trial.run(header, &mut go_on);
            tried.map_err(|error| match cancel.is_cancelled() {
                true => RerankError::Cancelled,
                false => refused(error.to_string()),
            })?;
        }
        let loading = Loading { gpu_layers: 0, experts_on_host: 0, repack: true, mapped: !repack::copies(header) };
        let loaded = Weights::load(header, loading, |_| go_on());
        let weights = match loaded {
            Err(_) if cancel.is_cancelled() => return Err(RerankError::Cancelled),
            loaded => Arc::new(loaded.map_err(|error| refused(error.to_string()))?),
        };
        let max_tokens = match header.context_train as usize {
            0 => PAIR_TOKENS,
            trained => trained.min(PAIR_TOKENS),
        };
        let name = header.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let pairs = Pairs::of(ranking, &weights, max_tokens);
        let pairs = pairs.map_err(|why| refused(format!("{} {why}", header.path.display())))?;
        let threads = match options.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let encoder = Encoder::ranking(weights.clone(), CALL_TOKENS, threads);
        let encoder = encoder.map_err(|error| refused(error.to_string()))?;
        if encoder.width() != ranking.outputs {
            let (path, width) = (header.path.display(), encoder.width());
            return Err(refused(format!(
                "{path} gives {width} numbers a pair, but its header describes {}; name another GGUF in [reranker] of models.toml",
                ranking.outputs
            )));
        }
        let kept = options.folder.as_ref().and_then(|folder| {
            let fingerprint = digest::fingerprint(&header.path).ok()?;
            Some(folder.join(format!("{fingerprint}.pairs.json")))
        });
        let known = kept.as_deref().and_then(file::read_json::<f64>);
        let known = known.filter(|speed| speed.is_finite() && *speed > 0.0 && *speed >= options.speed_min);
        let reranker = Reranker {
            name,
            ranking: ranking.clone(),
            pairs,
            encoder: Mutex::new(encoder),
            weights,
            permit: options.permit,
            speed: Mutex::new(known.unwrap_or(0.0)),
            kept,
            _lease: options.lease,
        };
        if known.is_none() {
            let (question, text) = MEASURED;
            let texts = vec![text.repeat(MEASURED_REPEATED); MEASURED_PAIRS];
            for _ in 0..2 {
                // The first call also reads the weights from the disk.
                *lock(&reranker.speed) = 0.0;
                let scored = reranker.scores(question, &texts, Duration::MAX, cancel);
                scored.map_err(|error| match error {
                    RerankError::Failed(why) => refused(why),
                    other => other,
                })?;
            }
        }
        Ok(reranker)
    }

    /// Counts a call in the speed.
    fn measured(&self, pairs: usize, time: Duration) {
        let newest = pairs as f64 / time.as_secs_f64().max(1e-6);
        let mut speed = lock(&self.speed);
        *speed = if *speed > 0.0 { *speed + NEWEST * (newest - *speed) } else { newest };
        let Some(kept) = &self.kept else { return };
        let made = kept.parent().map_or(Ok(()), fs::create_dir_all);
        if let Err(error) = made.and_then(|()| file::replace_json(kept, &*speed)) {
            tracing::debug!("the speed of {} could not be kept: {error}", self.name);
        }
    }
}

impl Judge for Reranker {
    fn name(&self) -> &str {
        &self.name
    }

    fn pairs_a_second(&self) -> f64 {
        *lock(&self.speed)
    }

    fn scores(
        &self,
        question: &str,
        texts: &[String],
        time: Duration,
        cancel: &Cancel,
    ) -> Result<Vec<f32>, RerankError> {
        let begun = Instant::now();
        let failed = |why: String| RerankError::Failed(format!("{}: {why}", self.name));
        let tokens = |text: &String| self.pairs.tokens(&self.weights, question, text);
        let pairs: Option<Vec<Vec<u32>>> = texts.iter().map(tokens).collect();
        let pairs = pairs.ok_or_else(|| failed("its prompt leaves no room for a text".to_owned()))?;
        let mut scores = Vec::with_capacity(texts.len());
        let mut spent = Duration::ZERO;
        while scores.len() < pairs.len() {
            let rest = &pairs[scores.len()..];
            let mut sum = 0;
            let fit = rest.iter().take_while(|pair| {
                sum += pair.len();
                sum <= CALL_TOKENS
            });
            let call: Vec<&[u32]> = rest[..fit.count().max(1)].iter().map(Vec::as_slice).collect();
            let go_on = || !cancel.is_cancelled() && begun.elapsed() < time;
            let Some(_turn) = self.permit.take_while(Priority::Step, go_on) else { break };
            let called = Instant::now();
            let outputs = lock(&self.encoder).encode(&call).map_err(|error| failed(error.to_string()))?;
            spent += called.elapsed();
            for output in outputs {
                let score = output.get(self.ranking.output).copied().filter(|score| score.is_finite());
                let odd = || {
                    failed(
                        "a score is not a number; fetch it again, or take it out of [reranker] in models.toml"
                            .to_owned(),
                    )
                };
                scores.push(score.ok_or_else(odd)?);
            }
        }
        if cancel.is_cancelled() {
            return Err(RerankError::Cancelled);
        }
        if !scores.is_empty() {
            self.measured(scores.len(), spent);
        }
        Ok(scores)
    }
}
