//! Updates the vectors: embeds new chunks, reuses stored embeddings, and keeps the vector file up to date.

use crate::base::{lock, read_lock, write_lock};
use std::path::PathBuf;

use super::build::{Progress, Stage, stop};
use super::store::Unembedded;
use super::vectors::Vectors;
use super::{Index, IndexError};
use crate::base::Cancel;
use crate::embed::Embedder;

/// Texts embedded per call and vectors stored per transaction, with MiniLM: under a second of work,
/// lost if the process is killed. Fewer with a slower model.
const BATCH_TEXTS: usize = 128;
/// Number of embeddings kept for deleted content, so that switching branches back and forth
/// recomputes nothing.
const SPARE_EMBEDDINGS: usize = 20_000;

/// The embedder whose vectors are computed.
pub(crate) struct Source<'a> {
    /// The embedder's fingerprint.
    pub model: &'a str,
    pub dimensions: usize,
    /// Texts embedded per call, at least 1.
    pub batch_texts: usize,
}

/// Embeds texts: one vector per text, in the same order.
type Embed<'a> = dyn FnMut(&[String]) -> Result<Vec<Vec<f32>>, IndexError> + 'a;

impl Index {
    /// Embeds chunks that have no vector yet and makes all vectors searchable. Returns the number of chunks with a vector.
    pub fn refresh_vectors(
        &self,
        embedder: &Embedder,
        progress: &mut dyn FnMut(Progress),
        cancel: &Cancel,
    ) -> Result<usize, IndexError> {
        let batch_texts = (BATCH_TEXTS as f64 / embedder.work()).clamp(1.0, BATCH_TEXTS as f64) as usize;
        let (model, dimensions) = (embedder.fingerprint(), embedder.dimensions());
        self.refresh_vectors_with(
            &Source { model, dimensions, batch_texts },
            &mut |texts| Ok(embedder.embed_heads(texts, cancel)?),
            progress,
            cancel,
        )
    }

    /// Like `refresh_vectors`, with any embedding function.
    pub(crate) fn refresh_vectors_with(
        &self,
        &Source { model, dimensions, batch_texts }: &Source,
        embed: &mut Embed,
        progress: &mut dyn FnMut(Progress),
        cancel: &Cancel,
    ) -> Result<usize, IndexError> {
        // Stored vectors become searchable before the first new text is embedded.
        self.load_vectors(model, dimensions)?;
        let waiting = self.by_importance(model)?;
        let mut done = 0;
        for batch in waiting.chunks(batch_texts) {
            stop(cancel)?;
            let texts: Vec<String> = batch.iter().map(|one| one.text.clone()).collect();
            let keyed: Vec<(i64, Vec<f32>)> = batch.iter().map(|one| one.vector_key).zip(embed(&texts)?).collect();
            lock(&self.writer).put_embeddings(model, &keyed)?;
            if let Some((_, vectors)) = &mut *write_lock(&self.vectors) {
                keyed.iter().try_for_each(|(key, vector)| vectors.add(*key, vector))?;
            }
            done += batch.len();
            progress(Progress { stage: Stage::Embed, done, total: waiting.len() });
        }
        if !waiting.is_empty() {
            lock(&self.writer).prune_embeddings(SPARE_EMBEDDINGS)?;
            self.save_vectors()?;
        }
        self.reader().chunks_with_vector(model)
    }

    /// Texts without a vector of `model`, those of the most important files first.
    fn by_importance(&self, model: &str) -> Result<Vec<Unembedded>, IndexError> {
        let mut waiting = self.reader().without_embedding(model)?;
        if waiting.len() > BATCH_TEXTS {
            let graph = self.graph()?;
            let importance = |one: &Unembedded| graph.importance().importance(&one.path);
            // The sort is stable: equally important texts stay ordered by path.
            waiting.sort_by(|a, b| importance(b).total_cmp(&importance(a)));
        }
        Ok(waiting)
    }

    /// The number of chunks with a vector of `model`.
    pub fn chunks_with_vector(&self, model: &str) -> Result<usize, IndexError> {
        self.reader().chunks_with_vector(model)
    }

    /// Makes stored vectors searchable: from the vector file if it is intact and current, else from the embeddings in the
    /// database. Returns the number of vectors.
    pub fn load_vectors(&self, model: &str, dimensions: usize) -> Result<usize, IndexError> {
        let (keys, known) = {
            let store = self.reader();
            (store.vector_keys(model)?, store.meta("vectors")?.unwrap_or_default())
        };
        let expected = keys.len() + self.vectors_missing(model)?;
        // Searches skip vectors of deleted content; if these exceed a quarter, the vector index is
        // rebuilt.
        let current =
            |v: &Vectors| v.len() <= keys.len() + keys.len() / 4 && v.dimensions() == dimensions && v.suits(expected);
        let is_held = read_lock(&self.vectors).as_ref().is_some_and(|(m, v)| m == model && current(v));
        // Searches use the old vectors until the new ones are complete.
        let mut new = None;
        if !is_held {
            let mark = known.strip_prefix(&format!("{model} ")).unwrap_or_default();
            let stored = Vectors::load(&self.vector_file(), dimensions, expected, mark).filter(current);
            new = Some(stored.map_or_else(|| Vectors::new(dimensions, expected), Ok)?);
        }
        let missing: Vec<i64> = {
            let held = read_lock(&self.vectors);
            let vectors = new.as_ref().or(held.as_ref().map(|(_, v)| v));
            keys.into_iter().filter(|k| !vectors.is_some_and(|v| v.contains(*k))).collect()
        };
        for some in missing.chunks(1_000) {
            let embeddings = self.reader().embeddings(model, some)?;
            let add = |vectors: &mut Vectors| {
                let mut fitting = embeddings.iter().filter(|(_, v)| v.len() == dimensions);
                fitting.try_for_each(|(key, vector)| vectors.add(*key, vector))
            };
            match &mut new {
                Some(vectors) => add(vectors)?,
                None => write_lock(&self.vectors).iter_mut().try_for_each(|(_, vectors)| add(vectors))?,
            }
        }
        if let Some(vectors) = new {
            *write_lock(&self.vectors) = Some((model.to_owned(), vectors));
        }
        if !missing.is_empty() {
            self.save_vectors()?;
        }
        Ok(self.vector_count())
    }

    pub(super) fn vector_file(&self) -> PathBuf {
        self.folder.join("vectors.usearch")
    }

    fn save_vectors(&self) -> Result<(), IndexError> {
        let store = lock(&self.writer);
        if let Some((model, vectors)) = &*read_lock(&self.vectors) {
            let mark = vectors.save(&self.vector_file())?;
            store.set_meta("vectors", &format!("{model} {mark}"))?;
        }
        Ok(())
    }
}
