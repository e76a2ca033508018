//! Reports how complete an index is, which files have changed since, and which files it omits;
//! changes nothing.

use std::fs;
use std::path::Path;

use super::build::{Change, add_reasons, row_of};
use super::scan::{self, Skipped};
use super::store::Store;
use super::{Index, IndexError};
use crate::base::state;

/// The output of `monobloc index status`.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Status {
    /// Indexed files per language, most frequent first.
    pub languages: Vec<(String, usize)>,
    pub files: usize,
    pub chunks: usize,
    /// Chunks with a vector of the requested model.
    pub chunks_with_vector: usize,
    pub symbols: usize,
    pub edges: usize,
    /// References with an unknown target.
    pub unresolved: usize,
    /// Files on disk that are new or changed since they were indexed.
    pub changed: Vec<String>,
    /// Indexed files that no longer exist.
    pub gone: Vec<String>,
    /// An earlier run ended before resolving all references; the next refresh resolves the rest.
    pub unfinished: bool,
    /// Files left out of the index, each with the reason.
    pub skipped: Vec<Skipped>,
    /// Files that could only be parsed in part, each with the reason.
    pub partial: Vec<Skipped>,
    pub database_bytes: u64,
    pub vector_file_bytes: u64,
    /// Models with stored vectors: (fingerprint, number of vectors).
    pub models: Vec<(String, usize)>,
}

impl Index {
    /// Whether a project has an index.
    pub fn exists(project: &Path) -> bool {
        state::folder(project).join("monobloc.db").is_file()
    }

    /// The fingerprints of the embedders whose vectors the index of a project has, the one used
    /// last first; none without an index.
    pub fn embedders(project: &Path) -> Vec<String> {
        Store::embedders(&state::folder(project))
    }

    /// Compares the index with the files, which are read only where their metadata is inconclusive.
    /// `model`: the fingerprint whose vectors are counted.
    pub fn status(&self, model: Option<&str>) -> Result<Status, IndexError> {
        let scan = scan::scan(&self.project);
        let store = self.reader();
        let known = store.files()?;
        let change = Change::between(&scan.files, &known);
        let as_indexed = |path: &String| row_of(&known, path).is_some_and(|known| self.is_as_indexed(path, known));
        let resolve_all = store.meta(super::build::RESOLVE_ALL)?.as_deref() == Some("1");
        let mut status = Status {
            languages: store.languages()?,
            changed: change.look.into_iter().map(|found| found.path).filter(|path| !as_indexed(path)).collect(),
            gone: change.gone,
            unfinished: resolve_all || known.iter().any(|file| file.resolution == 0 && file.skipped.is_none()),
            skipped: scan.skipped,
            database_bytes: store.bytes()?,
            vector_file_bytes: fs::metadata(self.vector_file()).map_or(0, |about| about.len()),
            models: store.models()?,
            ..Status::default()
        };
        add_reasons(known, &mut status.skipped, &mut status.partial);
        status.files = status.languages.iter().map(|(_, files)| files).sum();
        [status.chunks, status.symbols, status.edges, status.unresolved] = store.counts()?;
        if let Some(model) = model {
            status.chunks_with_vector = store.chunks_with_vector(model)?;
        }
        Ok(status)
    }
}
