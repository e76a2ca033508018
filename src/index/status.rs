//! How complete an index is, how far behind the files, and what it leaves out: looked up, nothing changed.

use std::fs;
use std::path::Path;

use super::build::Change;
use super::scan::{self, Skipped};
use super::{Index, IndexError};

/// What `monobloc index status` tells.
#[derive(Clone, Debug, Default)]
pub struct Status {
    /// Files in the index, of each language, most first.
    pub languages: Vec<(String, usize)>,
    pub files: usize,
    pub chunks: usize,
    /// Of them with a vector of the model asked for.
    pub chunks_with_vector: usize,
    pub symbols: usize,
    pub edges: usize,
    /// References whose target is not known.
    pub unresolved: usize,
    /// Files on disk that the index has not seen as they are now.
    pub changed: Vec<String>,
    /// Files of the index that are gone.
    pub gone: Vec<String>,
    /// A run was ended before it had resolved everything; the next one does.
    pub unfinished: bool,
    /// Files that are not in the index, with the reason.
    pub skipped: Vec<Skipped>,
    /// Files of which a part could not be read.
    pub partial: Vec<Skipped>,
    pub database_bytes: u64,
    pub vector_file_bytes: u64,
    /// Models that vectors are kept of: (fingerprint, vectors).
    pub models: Vec<(String, usize)>,
}

impl Index {
    /// Whether a project has an index at all.
    pub fn exists(project: &Path) -> bool {
        project.join(".monobloc/monobloc.db").is_file()
    }

    /// Compares the index with the files' sizes and times; `model` is the fingerprint that vectors are counted for.
    pub fn status(&self, model: Option<&str>) -> Result<Status, IndexError> {
        let scan = scan::scan(&self.project);
        let store = self.reader();
        let known = store.files()?;
        let change = Change::between(&scan.files, &known);
        let waits = store.meta(super::build::RESOLVE_ALL)?.as_deref() == Some("1");
        let mut status = Status {
            languages: store.languages()?,
            changed: change.look.into_iter().map(|found| found.path).collect(),
            gone: change.gone,
            unfinished: waits || known.iter().any(|file| file.resolution == 0 && file.skipped.is_none()),
            skipped: scan.skipped,
            database_bytes: store.bytes()?,
            vector_file_bytes: fs::metadata(self.vector_file()).map_or(0, |about| about.len()),
            models: store.models()?,
            ..Status::default()
        };
        for file in known {
            match (file.skipped, file.note) {
                (Some(reason), _) => status.skipped.push(Skipped { path: file.path, reason }),
                (None, Some(reason)) => status.partial.push(Skipped { path: file.path, reason }),
                (None, None) => {}
            }
        }
        status.files = status.languages.iter().map(|(_, files)| files).sum();
        [status.chunks, status.symbols, status.edges, status.unresolved] = store.counts()?;
        if let Some(model) = model {
            status.chunks_with_vector = store.chunks_with_vector(model)?;
        }
        Ok(status)
    }
}
