//! An embedder on a server: sends texts in batches, and checks that the vectors come from the same model as before.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::{PROBE, Remote, RemoteError, Sample, Why};
use crate::base::Cancel;
use crate::embed::{Distant, EmbedError, TOKENS_MAX, mean};
use crate::models::{Endpoint, digest};

/// Maximum bytes of text per pass: servers refuse texts longer than their model's context, which is
/// often 512 tokens.
const PIECE_BYTES: usize = 1_280;
/// Bytes per token, as a cautious estimate.
const TOKEN_BYTES: usize = 3;
/// Minimum cosine of two vectors of one text from the same model, however a server computes them.
const SAME: f32 = 0.99;

/// Handle to the embedder on a server. Clones share it.
#[derive(Clone, Debug)]
pub struct Away(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    remote: Remote,
    sample: Sample,
    fingerprint: String,
    /// Whether the server is confirmed to have the same model as when it was added.
    checked: AtomicBool,
}

impl Away {
    /// The embedder on a server. Asks it for a vector, unless its model and the length of its
    /// vectors are already known.
    pub fn open(endpoint: &Endpoint, folder: &Path, cancel: &Cancel) -> Result<Away, EmbedError> {
        let (remote, sample) = waited(Remote::open_embedder(endpoint, folder, cancel))??;
        let fingerprint = fingerprint(endpoint, &sample);
        Ok(Away(Arc::new(Shared { remote, sample, fingerprint, checked: AtomicBool::new(false) })))
    }

    /// The fingerprint of the embedder on a server, if known without asking.
    pub fn known(endpoint: &Endpoint, folder: &Path) -> Option<String> {
        Sample::kept(endpoint, folder).map(|sample| fingerprint(endpoint, &sample))
    }

    /// The model and its server, for display.
    pub fn name(&self) -> String {
        self.0.remote.name()
    }

    /// The unit vectors of texts, each read in one pass.
    fn vectors(&self, texts: &[String], cancel: &Cancel) -> Result<Vec<Vec<f32>>, EmbedError> {
        let Shared { remote, sample, checked, .. } = &*self.0;
        // The server may now have another model under the same name; the first request of a run
        // reveals it.
        let is_first = !checked.load(Ordering::Relaxed);
        let probe = is_first.then(|| PROBE.to_owned());
        let all: Vec<String> = probe.into_iter().chain(texts.iter().cloned()).collect();
        let asked = async {
            tokio::select! {
                vectors = remote.embed(&all) => Some(vectors),
                () = cancel.cancelled() => None,
            }
        };
        let mut vectors = waited(asked)?.ok_or(EmbedError::Cancelled)??;
        let other = |got: usize| {
            let why = Why::OtherVectors { got, expected: sample.vector.len() };
            EmbedError::from(RemoteError { url: remote.url().to_owned(), why })
        };
        if let Some(vector) = vectors.iter().find(|vector| vector.len() != sample.vector.len()) {
            return Err(other(vector.len()));
        }
        vectors.iter_mut().for_each(|vector| to_unit(vector));
        if is_first {
            let probe = vectors.remove(0);
            if kernels::cosine(&probe, &sample.vector).first().is_none_or(|cosine| *cosine < SAME) {
                return Err(other(probe.len()));
            }
            checked.store(true, Ordering::Relaxed);
        }
        Ok(vectors)
    }
}

impl Distant for Away {
    fn dimensions(&self) -> usize {
        self.0.sample.vector.len()
    }

    fn fingerprint(&self) -> &str {
        &self.0.fingerprint
    }

    fn tokens(&self, text: &str) -> usize {
        self.0.remote.tokens(text)
    }

    fn embed(&self, texts: &[String], cancel: &Cancel) -> Result<Vec<Vec<f32>>, EmbedError> {
        let pieces: Vec<Vec<String>> = texts.iter().map(|text| pieces(text)).collect();
        let counts: Vec<usize> = pieces.iter().map(Vec::len).collect();
        let flat = pieces.concat();
        let vectors = self.vectors(&flat, cancel)?;
        let mut parts = flat.iter().map(String::len).zip(vectors);
        Ok(counts.into_iter().map(|count| mean(parts.by_ref().take(count))).collect())
    }

    fn embed_heads(&self, texts: &[String], cancel: &Cancel) -> Result<Vec<Vec<f32>>, EmbedError> {
        let heads: Vec<String> = texts.iter().map(|text| pieces(text).swap_remove(0)).collect();
        self.vectors(&heads, cancel)
    }
}

impl From<RemoteError> for EmbedError {
    fn from(error: RemoteError) -> EmbedError {
        EmbedError::Away(error.to_string())
    }
}

/// Changes with the server, its model and the vector that it first gave for a fixed text.
fn fingerprint(endpoint: &Endpoint, sample: &Sample) -> String {
    digest::of_text(&format!("{}\n{}\n{:?}", endpoint.url(), sample.model, sample.vector))
}

/// A text split into pieces for one pass each. Servers refuse an empty text.
fn pieces(text: &str) -> Vec<String> {
    let mut rest = &text[..text.floor_char_boundary(TOKENS_MAX * TOKEN_BYTES)];
    let mut all = Vec::new();
    while rest.len() > PIECE_BYTES {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES));
        all.push(piece.to_owned());
        rest = after;
    }
    if all.is_empty() || !rest.is_empty() {
        all.push(if rest.is_empty() { " ".to_owned() } else { rest.to_owned() });
    }
    all
}

fn to_unit(vector: &mut [f32]) {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|x| *x /= length);
    }
}

/// Waits for `work` on a thread with its own runtime: the caller may be on a runtime thread, which
/// cannot block on its own runtime.
fn waited<T: Send>(work: impl Future<Output = T> + Send) -> Result<T, EmbedError> {
    let failed = |why: String| EmbedError::Failed(format!("the server could not be asked: {why}"));
    let ask = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        Ok(runtime.map_err(|error| failed(error.to_string()))?.block_on(work))
    };
    thread::scope(|scope| scope.spawn(ask).join()).unwrap_or_else(|_| Err(failed("its thread panicked".to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_sent_in_pieces_at_character_boundaries_and_an_empty_one_as_a_blank() {
        assert_eq!(pieces(""), [" "]);
        assert_eq!(pieces("a"), ["a"]);
        let long = "日".repeat(2_000);
        let parts = pieces(&long);
        assert!(parts.len() == 5 && parts.concat() == long && parts.iter().all(|part| part.len() <= PIECE_BYTES));
        assert!(pieces(&"x".repeat(1 << 20)).concat().len() <= TOKENS_MAX * TOKEN_BYTES);
    }
}
