//! Updates the index: reads only changed files, with the same result as a clean build.

use crate::base::{lock, read_lock, write_lock};
use std::collections::HashMap;
use std::time::Instant;

use super::chunk::chunks;
use super::resolve::{self, Facts, Project};
use super::scan::{self, Found, Skipped};
use super::store::{FileRecord, FileRow, Store};
use super::syntax::{self, Outline};
use super::{Index, IndexError, copies, ids};
use crate::base::Cancel;
use crate::embed::Embedder;

mod parallel;

/// Set to "1" by a change that may affect other files' edges, until all files have been resolved
/// again.
pub(super) const RESOLVE_ALL: &str = "resolve_all";
/// Holds the result of [`gaps`].
pub(super) const GAPS: &str = "gaps";
/// Maximum number of parsing threads. More do not help, because one thread writes.
const PARSERS: usize = 4;
/// Number of threads that resolve references. Each builds its own tables for all files, so more
/// would cost memory.
const RESOLVERS: usize = 2;
/// Below this number of files, one thread resolves them: building the tables costs more than
/// resolving the files.
const ALONE_MAX: usize = 16;
/// Files written per transaction; a killed process loses at most one transaction.
const BATCH_FILES: usize = 128;

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

/// The findings and changes of a refresh.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Report {
    /// Files in the index.
    pub files: usize,
    /// Files read and parsed this time.
    pub parsed: usize,
    /// Files removed from the index because they no longer exist.
    pub removed: usize,
    /// Files left out of the index, each with the reason.
    pub skipped: Vec<Skipped>,
    /// Files that could only be parsed in part, each with the reason.
    pub partial: Vec<Skipped>,
    pub chunks: usize,
    pub chunks_with_vector: usize,
    pub symbols: usize,
    pub edges: usize,
    /// References with an unknown target.
    pub unresolved: usize,
    /// Time until words, symbols and graph could be searched, in milliseconds.
    pub usable_ms: u64,
    pub ms: u64,
}

impl Index {
    /// Runs both stages: first words and graph, which are usable at once, then vectors if there is
    /// an embedder.
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
        let refreshed = self.read_and_resolve(progress, cancel);
        if refreshed.is_err() {
            // Some files may have been written, so the graph may be out of date.
            *write_lock(&self.graph) = None;
        }
        refreshed
    }

    fn read_and_resolve(&self, progress: &mut dyn FnMut(Progress), cancel: &Cancel) -> Result<Report, IndexError> {
        let begun = Instant::now();
        let mut store = lock(&self.writer);
        progress(Progress { stage: Stage::Scan, done: 0, total: 0 });
        let scan = scan::scan(&self.project);
        let known = store.files()?;
        let change = Change::between(&scan.files, &known);
        let mut report = Report { removed: change.gone.len(), ..Report::default() };
        // Stored before anything else is written, so that after an interruption the next run
        // resolves all files again.
        let mut interface_changed = !change.gone.is_empty();
        if interface_changed {
            store.set_meta(RESOLVE_ALL, "1")?;
        }
        store.remove_files(&change.gone)?;
        let before = |path: &str| row_of(&known, path);
        let read = |(): &mut (), found: &Found| self.read_file(found, scan.began_ns, before(&found.path));
        let mut done = 0;
        parallel::read(
            &change.look,
            PARSERS,
            BATCH_FILES,
            || (),
            read,
            cancel,
            |batch| {
                let (mut records, mut touched) = (Vec::new(), Vec::new());
                done += batch.len();
                for (found, record) in batch {
                    match record {
                        Some(record) => records.push(record),
                        None => touched.push((found.path.as_str(), found.stamp.settled(scan.began_ns))),
                    }
                }
                let differs = |record: &FileRecord| {
                    before(&record.path).is_none_or(|b| b.interface != record.interface || b.skipped != record.skipped)
                };
                if !interface_changed && records.iter().any(differs) {
                    interface_changed = true;
                    store.set_meta(RESOLVE_ALL, "1")?;
                }
                report.parsed += records.len();
                store.put_files(&records)?;
                store.touch_files(&touched)?;
                progress(Progress { stage: Stage::Parse, done, total: change.look.len() });
                Ok(())
            },
        )?;
        self.resolve(&mut store, progress, cancel)?;
        self.report(&store, scan.skipped, &mut report)?;
        let gaps = gaps(&report.skipped, &report.partial);
        if store.meta(GAPS)?.unwrap_or_default() != gaps {
            store.set_meta(GAPS, &gaps)?;
        }
        report.usable_ms = begun.elapsed().as_millis() as u64;
        report.ms = report.usable_ms;
        Ok(report)
    }

    /// Reads and parses a file; `None` if its content is unchanged, so that only its new timestamp
    /// must be stored.
    fn read_file(&self, found: &Found, began_ns: i64, before: Option<&FileRow>) -> Option<FileRecord> {
        let language = syntax::language_of(&found.path);
        let (text, skipped) = self.content(&found.path);
        let hash = ids::content(&text);
        if before.is_some_and(|b| b.hash == hash && b.skipped == skipped) {
            return None;
        }
        let outline = match &skipped {
            Some(_) => Outline::default(),
            None if syntax::is_document(language) => syntax::document_outline(language, &text),
            None => syntax::outline(language, &text),
        };
        let chunks = if skipped.is_none() { chunks(&found.path, &text, &outline) } else { Vec::new() };
        let interface = resolve::interface(&found.path, &syntax::to_resolve(language, &outline), hash);
        let sketch = copies::sketch(&text);
        let (path, stamp) = (found.path.clone(), found.stamp.settled(began_ns));
        Some(FileRecord { path, language, stamp, hash, skipped, outline, sketch, interface, chunks })
    }

    /// The text of a file, or an empty text with the reason for skipping the file.
    fn content(&self, path: &str) -> (String, Option<String>) {
        match scan::read(&self.project, path) {
            Ok(text) => (text, None),
            Err(reason) => (String::new(), Some(reason)),
        }
    }

    /// Whether the file's content equals the indexed content.
    pub(super) fn is_as_indexed(&self, path: &str, known: &FileRow) -> bool {
        let (text, skipped) = self.content(path);
        known.hash == ids::content(&text) && known.skipped == skipped
    }

    /// Resolves the references of new and changed files, or of all files if `RESOLVE_ALL` is set. Writes only changed edges.
    fn resolve(
        &self,
        store: &mut Store,
        progress: &mut dyn FnMut(Progress),
        cancel: &Cancel,
    ) -> Result<(), IndexError> {
        let all = store.meta(RESOLVE_ALL)?.as_deref() == Some("1");
        if !all && !store.files()?.iter().any(|f| f.resolution == 0 && f.skipped.is_none()) {
            return Ok(());
        }
        let (facts, before): (Vec<Facts>, Vec<i64>) = store.outlines()?.into_iter().unzip();
        let manifests = self.manifests(&facts);
        let waiting: Vec<usize> = (0..facts.len()).filter(|at| all || before[*at] == 0).collect();
        let resolve = |project: &mut Project, at: &usize| {
            let resolution = resolve::resolve(project, *at);
            (resolution.hash(), resolution)
        };
        let mut done = 0;
        let threads = if waiting.len() < ALONE_MAX { 1 } else { RESOLVERS };
        let start = || Project::new(&facts, &manifests);
        parallel::read(&waiting, threads, BATCH_FILES, start, resolve, cancel, |batch| {
            done += batch.len();
            let changed: Vec<_> = batch
                .into_iter()
                .filter(|(at, (hash, _))| before[**at] != *hash)
                .map(|(at, (hash, resolution))| (facts[*at].path.as_str(), hash, resolution))
                .collect();
            store.put_edges(&changed)?;
            progress(Progress { stage: Stage::Resolve, done, total: waiting.len() });
            Ok(())
        })?;
        store.set_meta(RESOLVE_ALL, "0")?;
        // Freeing several hundred thousand small allocations takes a while, so another thread does
        // it.
        std::thread::spawn(move || drop(facts));
        *write_lock(&self.graph) = None;
        Ok(())
    }

    /// Path and text of the manifests used to resolve imports (see `is_manifest`).
    pub(super) fn manifests(&self, facts: &[Facts]) -> Vec<(String, String)> {
        let manifests = facts.iter().filter(|f| resolve::is_manifest(&f.path));
        manifests.filter_map(|f| Some((f.path.clone(), scan::read(&self.project, &f.path).ok()?))).collect()
    }

    fn report(&self, store: &Store, skipped: Vec<Skipped>, report: &mut Report) -> Result<(), IndexError> {
        report.skipped = skipped;
        let files = store.files()?;
        report.files = files.iter().filter(|file| file.skipped.is_none()).count();
        add_reasons(files, &mut report.skipped, &mut report.partial);
        [report.chunks, report.symbols, report.edges, report.unresolved] = store.counts()?;
        let vectors = read_lock(&self.vectors);
        if let Some((model, _)) = &*vectors {
            report.chunks_with_vector = store.chunks_with_vector(model)?;
        }
        Ok(())
    }
}

/// Adds the files that are not indexed to `skipped`, and those indexed only in part to `partial`.
pub(super) fn add_reasons(files: Vec<FileRow>, skipped: &mut Vec<Skipped>, partial: &mut Vec<Skipped>) {
    for file in files {
        match (file.skipped, file.note) {
            (Some(reason), _) => skipped.push(Skipped { path: file.path, reason }),
            (None, Some(reason)) => partial.push(Skipped { path: file.path, reason }),
            (None, None) => {}
        }
    }
}

/// Describes the code that limits keep out of the index, for answers that find nothing; empty if
/// there is none. Only code files count.
fn gaps(skipped: &[Skipped], partial: &[Skipped]) -> String {
    let limits: Vec<String> = scan::by_reason(skipped)
        .into_iter()
        .filter(|(reason, _)| scan::is_limit(reason))
        .map(|(reason, count)| format!("{count} {reason}"))
        .collect();
    let mut all = Vec::new();
    if !limits.is_empty() {
        all.push(format!("not in the index: {}", limits.join(", ")));
    }
    if let Some(first) = partial.first() {
        let more = if partial.len() > 1 { format!(" and {} more", partial.len() - 1) } else { String::new() };
        all.push(format!("only partly in the index: {}{more} ({})", first.path, first.reason));
    }
    if all.is_empty() { String::new() } else { format!("{}; `monobloc index status` lists them", all.join("; ")) }
}

/// The row of a file among `rows`, which are sorted by path.
pub(super) fn row_of<'r>(rows: &'r [FileRow], path: &str) -> Option<&'r FileRow> {
    rows.binary_search_by(|row| row.path.as_str().cmp(path)).ok().map(|at| &rows[at])
}

pub(super) fn stop(cancel: &Cancel) -> Result<(), IndexError> {
    if cancel.is_cancelled() { Err(IndexError::Cancelled) } else { Ok(()) }
}

/// Files that must be read because their stamp differs, and indexed files that no longer exist.
pub(super) struct Change {
    pub look: Vec<Found>,
    pub gone: Vec<String>,
}

impl Change {
    pub fn between(found: &[Found], known: &[FileRow]) -> Change {
        let mut before: HashMap<&str, &FileRow> = known.iter().map(|f| (f.path.as_str(), f)).collect();
        let look = found
            .iter()
            .filter(|f| before.remove(f.path.as_str()).is_none_or(|b| has_changed(f, b)))
            .cloned()
            .collect();
        let mut gone: Vec<String> = before.into_keys().map(str::to_owned).collect();
        gone.sort();
        Change { look, gone }
    }
}

/// Whether to read a file again. A file that could not be read is always tried again: a stamp does
/// not show permissions.
fn has_changed(found: &Found, known: &FileRow) -> bool {
    known.skipped.as_deref().is_some_and(scan::may_pass) || !found.stamp.is_still(&known.stamp)
}

#[cfg(test)]
mod tests;
