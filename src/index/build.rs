//! Brings the index up to date: reads only what changed, and ends where a clean build would.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, mpsc};
use std::time::Instant;

use super::chunk::chunks;
use super::resolve::{self, Facts, Project};
use super::scan::{self, Found, Skipped};
use super::store::{FileRecord, FileRow, Store};
use super::syntax::{self, Outline};
use super::vectors::Vectors;
use super::{Index, IndexError, ids};
use crate::base::Cancel;
use crate::embed::Embedder;

/// Files written in one transaction: what a kill can cost.
const BATCH_FILES: usize = 128;
/// Threads that parse. More do not help: SQLite writes from one.
const PARSERS_MAX: usize = 4;
/// Texts embedded in one call, and vectors kept in one transaction: a second or two of work.
const BATCH_TEXTS: usize = 64;
/// Embeddings kept of content that is gone, so that switching branches back and forth computes nothing.
const SPARE_EMBEDDINGS: usize = 20_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Scan,
    Parse,
    Resolve,
    Embed,
}

impl Stage {
    pub fn name(self) -> &'static str {
        match self {
            Stage::Scan => "scan",
            Stage::Parse => "parse",
            Stage::Resolve => "resolve",
            Stage::Embed => "embed",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    pub stage: Stage,
    pub done: usize,
    pub total: usize,
}

/// What a refresh found and did.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Files in the index.
    pub files: usize,
    /// Files read and parsed this time.
    pub parsed: usize,
    /// Files taken out because they are gone.
    pub removed: usize,
    /// Files that are not in the index, with the reason.
    pub skipped: Vec<Skipped>,
    /// Files of which a part could not be read: path and reason.
    pub partial: Vec<Skipped>,
    pub chunks: usize,
    pub chunks_with_vector: usize,
    pub symbols: usize,
    pub edges: usize,
    /// References whose target is not known.
    pub unresolved: usize,
    pub ms: u64,
}

/// Gives one vector a text, in order.
type Embed<'a> = dyn FnMut(&[String]) -> Result<Vec<Vec<f32>>, IndexError> + 'a;

impl Index {
    /// Both stages: words and graph first, which are usable at once, then vectors if there is an embedder.
    pub fn refresh(
        &self,
        embedder: Option<&Embedder>,
        progress: &mut dyn FnMut(Progress),
        cancel: &Cancel,
    ) -> Result<Report, IndexError> {
        let begun = Instant::now();
        let mut report = self.refresh_lexical(progress, cancel)?;
        if let Some(embedder) = embedder {
            report.chunks_with_vector = self.refresh_vectors(embedder, progress, cancel)?;
        }
        report.ms = begun.elapsed().as_millis() as u64;
        Ok(report)
    }

    /// Brings chunks, words, symbols and edges up to date.
    pub fn refresh_lexical(&self, progress: &mut dyn FnMut(Progress), cancel: &Cancel) -> Result<Report, IndexError> {
        let begun = Instant::now();
        let mut store = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        progress(Progress { stage: Stage::Scan, done: 0, total: 0 });
        let scan = scan::scan(&self.project);
        let known = store.files()?;
        let change = Change::between(&scan.files, &known);
        let mut report = Report { removed: change.gone.len(), ..Report::default() };
        // Taken before anything is written, so that a cancelled run is resolved by the next one.
        let mut interface_changed = !change.gone.is_empty();
        store.remove_files(&change.gone)?;
        let mut done = 0;
        for batch in change.look.chunks(BATCH_FILES) {
            stop(cancel)?;
            let (records, touched) = self.read_batch(batch, &known);
            for record in &records {
                let before = known.binary_search_by(|k| k.path.as_str().cmp(&record.path)).ok().map(|at| &known[at]);
                interface_changed |=
                    before.is_none_or(|b| b.interface != record.interface || b.skipped != record.skipped);
            }
            report.parsed += records.len();
            store.put_files(&records)?;
            store.touch_files(&touched)?;
            done += batch.len();
            progress(Progress { stage: Stage::Parse, done, total: change.look.len() });
        }
        self.resolve(&mut store, interface_changed, progress, cancel)?;
        self.report(&store, scan.skipped, &mut report)?;
        report.ms = begun.elapsed().as_millis() as u64;
        Ok(report)
    }

    /// Reads and parses files on a few threads. Files whose content is as before are only noted with their new times.
    fn read_batch(&self, batch: &[Found], known: &[FileRow]) -> (Vec<FileRecord>, Vec<(String, u64, i64)>) {
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get()).min(PARSERS_MAX).min(batch.len());
        let next = AtomicUsize::new(0);
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                let (sender, next) = (sender.clone(), &next);
                scope.spawn(move || {
                    while let Some(found) = batch.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let before = known.binary_search_by(|k| k.path.cmp(&found.path)).ok().map(|at| &known[at]);
                        // The receiver lives until all threads have ended.
                        let _ = sender.send((found, self.read_file(found, before)));
                    }
                });
            }
        });
        drop(sender);
        let (mut records, mut touched) = (Vec::new(), Vec::new());
        for (found, record) in receiver {
            match record {
                Some(record) => records.push(record),
                None => touched.push((found.path.clone(), found.size, found.mtime_ns)),
            }
        }
        records.sort_by(|a, b| a.path.cmp(&b.path));
        (records, touched)
    }

    fn read_file(&self, found: &Found, before: Option<&FileRow>) -> Option<FileRecord> {
        let language = syntax::language_of(&found.path);
        let (text, skipped) = match scan::read(&self.project, &found.path) {
            Ok(text) => (text, None),
            Err(reason) => (String::new(), Some(reason)),
        };
        let hash = ids::content(&text);
        if before.is_some_and(|b| b.hash == hash && b.skipped == skipped) {
            return None;
        }
        let outline = if skipped.is_none() { syntax::outline(language, &text) } else { Outline::default() };
        let chunks = if skipped.is_none() { chunks(&found.path, &text, &outline) } else { Vec::new() };
        let interface = resolve::interface(&found.path, &outline);
        let Found { path, size, mtime_ns } = found.clone();
        Some(FileRecord { path, language, size, mtime_ns, hash, skipped, outline, interface, chunks })
    }

    /// Resolves files that wait for it; all files if names others may refer to came, went or moved. Writes only what came out different.
    fn resolve(
        &self,
        store: &mut Store,
        interface_changed: bool,
        progress: &mut dyn FnMut(Progress),
        cancel: &Cancel,
    ) -> Result<(), IndexError> {
        let pending = "resolve_all";
        if interface_changed {
            store.set_meta(pending, "1")?;
        }
        let all = store.meta(pending)?.as_deref() == Some("1");
        if !all && !store.files()?.iter().any(|f| f.resolution == 0 && f.skipped.is_none()) {
            return Ok(());
        }
        let (facts, before): (Vec<Facts>, Vec<i64>) = store
            .outlines()?
            .into_iter()
            .map(|(path, language, outline, resolution)| (Facts { path, language, outline }, resolution))
            .unzip();
        let crates = self.crates(&facts);
        let project = Project::new(&facts, &crates);
        let waiting: Vec<usize> = (0..facts.len()).filter(|at| all || before[*at] == 0).collect();
        for (done, batch) in waiting.chunks(BATCH_FILES).enumerate() {
            stop(cancel)?;
            let resolved = batch.iter().map(|at| (*at, resolve::resolve(&project, *at)));
            let changed: Vec<_> = resolved
                .map(|(at, resolution)| (at, resolution.hash(), resolution))
                .filter(|(at, hash, _)| before[*at] != *hash)
                .map(|(at, hash, resolution)| (facts[at].path.as_str(), hash, resolution))
                .collect();
            store.put_edges(&changed)?;
            progress(Progress {
                stage: Stage::Resolve,
                done: (done + 1) * BATCH_FILES.min(waiting.len()),
                total: waiting.len(),
            });
        }
        store.set_meta(pending, "0")?;
        *self.graph.write().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }

    /// Folder and name of each Rust package, from its `Cargo.toml`.
    fn crates(&self, facts: &[Facts]) -> Vec<(String, String)> {
        let manifests = facts.iter().filter(|f| f.path == "Cargo.toml" || f.path.ends_with("/Cargo.toml"));
        let named = manifests.filter_map(|f| {
            let manifest: toml::Table = scan::read(&self.project, &f.path).ok()?.parse().ok()?;
            let name =
                manifest.get("lib").and_then(|l| l.get("name")).or_else(|| manifest.get("package")?.get("name"))?;
            let folder = f.path.strip_suffix("Cargo.toml")?.trim_end_matches('/');
            Some((folder.to_owned(), name.as_str()?.to_owned()))
        });
        named.collect()
    }

    fn report(&self, store: &Store, skipped: Vec<Skipped>, report: &mut Report) -> Result<(), IndexError> {
        report.skipped = skipped;
        for file in store.files()? {
            match (file.skipped, file.note) {
                (Some(reason), _) => report.skipped.push(Skipped { path: file.path, reason }),
                (None, Some(reason)) => report.partial.push(Skipped { path: file.path, reason }),
                (None, None) => {}
            }
            report.files += 1;
        }
        report.files -= report.skipped.len().min(report.files);
        [report.chunks, report.symbols, report.edges, report.unresolved] = store.counts()?;
        let vectors = self.vectors.read().unwrap_or_else(PoisonError::into_inner);
        if let Some((model, _)) = &*vectors {
            report.chunks_with_vector = store.chunks_with_vector(model)?;
        }
        Ok(())
    }

    /// Embeds what has no vector yet and makes all vectors searchable. Gives the number of chunks that have one.
    pub fn refresh_vectors(
        &self,
        embedder: &Embedder,
        progress: &mut dyn FnMut(Progress),
        cancel: &Cancel,
    ) -> Result<usize, IndexError> {
        let (model, dimensions) = (embedder.fingerprint().to_owned(), embedder.dimensions());
        self.refresh_vectors_with(&model, dimensions, &mut |texts| Ok(embedder.embed(texts, cancel)?), progress, cancel)
    }

    /// The same with any function from texts to vectors.
    pub(crate) fn refresh_vectors_with(
        &self,
        model: &str,
        dimensions: usize,
        embed: &mut Embed,
        progress: &mut dyn FnMut(Progress),
        cancel: &Cancel,
    ) -> Result<usize, IndexError> {
        // What is there already becomes searchable before the first new text is embedded.
        self.load_vectors(model, dimensions)?;
        let waiting = self.reader().without_embedding(model)?;
        let mut done = 0;
        for batch in waiting.chunks(BATCH_TEXTS) {
            stop(cancel)?;
            let texts: Vec<String> = batch.iter().map(|(_, text)| text.clone()).collect();
            let keyed: Vec<(i64, Vec<f32>)> = batch.iter().map(|(key, _)| *key).zip(embed(&texts)?).collect();
            self.writer.lock().unwrap_or_else(PoisonError::into_inner).put_embeddings(model, &keyed)?;
            if let Some((_, vectors)) = &mut *self.vectors.write().unwrap_or_else(PoisonError::into_inner) {
                keyed.iter().try_for_each(|(key, vector)| vectors.add(*key, vector))?;
            }
            done += batch.len();
            progress(Progress { stage: Stage::Embed, done, total: waiting.len() });
        }
        if !waiting.is_empty() {
            self.writer.lock().unwrap_or_else(PoisonError::into_inner).prune_embeddings(SPARE_EMBEDDINGS)?;
            self.save_vectors()?;
        }
        self.reader().chunks_with_vector(model)
    }

    /// Makes the vectors that were computed earlier searchable: from the file beside the database if it is whole and current,
    /// else from the embeddings in the database. Gives how many there are.
    pub fn load_vectors(&self, model: &str, dimensions: usize) -> Result<usize, IndexError> {
        let (keys, known) = {
            let store = self.reader();
            (store.vector_keys(model)?, store.meta("vectors")?.unwrap_or_default())
        };
        let current = |v: &Vectors| v.len() <= keys.len() + keys.len() / 4 && v.dimensions() == dimensions;
        let held = self.vectors.write().unwrap_or_else(PoisonError::into_inner).take();
        let held = held.filter(|(m, v)| m == model && current(v)).map(|(_, v)| v);
        let mark = known.strip_prefix(&format!("{model} ")).unwrap_or_default();
        let loaded = held.or_else(|| Vectors::load(&self.vector_file(), dimensions, keys.len(), mark).filter(current));
        let mut vectors = match loaded {
            Some(vectors) => vectors,
            None => Vectors::new(dimensions, keys.len())?,
        };
        let missing: Vec<i64> = keys.into_iter().filter(|k| !vectors.contains(*k)).collect();
        for some in missing.chunks(1_000) {
            let embeddings = self.reader().embeddings(model, some)?;
            embeddings
                .iter()
                .filter(|(_, v)| v.len() == dimensions)
                .try_for_each(|(key, vector)| vectors.add(*key, vector))?;
        }
        let count = vectors.len();
        *self.vectors.write().unwrap_or_else(PoisonError::into_inner) = Some((model.to_owned(), vectors));
        if !missing.is_empty() {
            self.save_vectors()?;
        }
        Ok(count)
    }

    fn vector_file(&self) -> std::path::PathBuf {
        self.project.join(".monobloc/vectors.usearch")
    }

    fn save_vectors(&self) -> Result<(), IndexError> {
        let store = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((model, vectors)) = &*self.vectors.read().unwrap_or_else(PoisonError::into_inner) {
            let mark = vectors.save(&self.vector_file())?;
            store.set_meta("vectors", &format!("{model} {mark}"))?;
        }
        Ok(())
    }
}

fn stop(cancel: &Cancel) -> Result<(), IndexError> {
    if cancel.is_cancelled() { Err(IndexError::Cancelled) } else { Ok(()) }
}

/// What has to be looked at: files whose size or time is new, and files that are gone.
struct Change {
    look: Vec<Found>,
    gone: Vec<String>,
}

impl Change {
    fn between(found: &[Found], known: &[FileRow]) -> Change {
        let mut before: HashMap<&str, &FileRow> = known.iter().map(|f| (f.path.as_str(), f)).collect();
        let look = found
            .iter()
            .filter(|f| before.remove(f.path.as_str()).is_none_or(|b| b.size != f.size || b.mtime_ns != f.mtime_ns))
            .cloned()
            .collect();
        let mut gone: Vec<String> = before.into_keys().map(str::to_owned).collect();
        gone.sort();
        Change { look, gone }
    }
}

#[cfg(test)]
mod tests;
