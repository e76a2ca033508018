//! The index of a project: text chunks, full-text search, embedding vectors and a code graph, updated file by file.

mod build;
mod chunk;
mod copies;
mod declared;
mod embedding;
mod graph;
mod ids;
mod importance;
mod meaning;
pub mod paths;
mod resolve;
mod scan;
mod status;
mod store;
mod syntax;
mod vectors;
mod watch;
pub mod words;

use crate::base::{Hidden, lock, read_lock, write_lock};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};

pub use build::{Progress, Report, Stage};
pub use graph::{Graph, Neighbour, Node, Reach, Reached, Unclear, Unresolved, View};
pub use importance::FileImportance;
pub use meaning::Snapshot;
pub use resolve::{EdgeKind, Meaning, Project as Names, Symbol};
pub use scan::{Skipped, by_reason, is_by_tool};
pub use status::Status;
pub use store::{Answer, ChunkPlace, ChunkRow, HandedOnName, Named, SymbolRow};
pub use syntax::{
    Definition, Export, Import, ImportForm, ImportSite, Kind, LineRange, Occurrence, Outline, Role, SyntaxNode,
    comments, document_outline, has_grammar, import_sites, is_queried, is_string, is_understood, language_of, names,
    outline, parts, stretches, syntax_nodes, uses, words as whole_words,
};
pub use vectors::{VectorError, Vectors};
pub use watch::{Watch, WatchError};

use crate::base::storage::Trouble;
use crate::base::{Bytes, state};
use crate::embed::EmbedError;
use crate::embed::rerank::Judges;
use store::Store;

/// Errors from opening, refreshing or searching an index.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    #[error("the project {path} cannot be read: {source}; name a folder with --project")]
    Project { path: PathBuf, source: std::io::Error },
    #[error("{}", Trouble::of(source).told("the index", path, source))]
    Folder { path: PathBuf, source: std::io::Error },
    #[error("{}", store::trouble(source, path).told("the index", path, source))]
    Store { path: PathBuf, source: store::DatabaseError },
    #[error(transparent)]
    Vectors(#[from] VectorError),
    #[error(transparent)]
    Embed(#[from] EmbedError),
    #[error("indexing was cancelled; what was done so far is kept")]
    Cancelled,
}

/// The index of one project. It can be searched while it is being refreshed.
pub struct Index {
    project: PathBuf,
    /// The folder that contains the index: from [`state::folder`], or passed to `open_in`.
    folder: PathBuf,
    /// The only connection that writes; its lock serialises changes.
    writer: Mutex<Store>,
    /// A second connection, so that reads do not wait for a refresh: with SQLite's WAL they see the
    /// last committed state.
    reader: Mutex<Store>,
    /// The searchable vectors, with the fingerprint of the embedding model that made them.
    vectors: RwLock<Option<(String, Vectors)>>,
    /// The code graph: loaded on first use, dropped when edges change.
    graph: RwLock<Option<Arc<Graph>>>,
    /// Describes the database that was discarded when the index was opened, because it was damaged
    /// or outdated.
    note: Option<String>,
    /// Gives the model that scores the first hits of a search.
    judges: Option<Arc<dyn Judges>>,
}

impl Index {
    /// Opens the index of a project and creates its folder if missing: `.monobloc/`, or a user
    /// folder if the project is not writable. Indexes nothing yet: see `refresh`.
    pub fn open(project: &Path) -> Result<Index, IndexError> {
        Index::open_in(project, &state::folder(project))
    }

    /// Like `open`, but keeps the index in `folder`, so that nothing is written into the project.
    pub fn open_in(project: &Path, folder: &Path) -> Result<Index, IndexError> {
        let unreadable = |source| IndexError::Project { path: project.to_owned(), source };
        let project = std::fs::canonicalize(project).map_err(unreadable)?;
        std::fs::read_dir(&project).map_err(unreadable)?;
        let (writer, note) = Store::open(folder)?;
        let reader = writer.reopen()?;
        Ok(Index {
            project,
            folder: folder.to_owned(),
            writer: Mutex::new(writer),
            reader: Mutex::new(reader),
            vectors: RwLock::new(None),
            graph: RwLock::new(None),
            note,
            judges: None,
        })
    }

    /// The same index, except that it returns nothing that rules hide. Hidden files stay in the
    /// index.
    pub fn hiding(self, hidden: Hidden) -> Result<Index, IndexError> {
        if !hidden.is_nothing() {
            self.reader().hide(hidden)?;
        }
        Ok(self)
    }

    /// The same index, whose searches have their first hits scored.
    pub fn judged_by(self, judges: Option<Arc<dyn Judges>>) -> Index {
        Index { judges, ..self }
    }

    /// Gives the model that scores the first hits of a search, if there is one.
    pub fn judges(&self) -> Option<&Arc<dyn Judges>> {
        self.judges.as_ref()
    }

    /// The number of indexed files that rules hide.
    pub fn hidden(&self) -> Result<usize, IndexError> {
        self.reader().hidden()
    }

    /// The indexed folder, as a path without symbolic links.
    pub fn project(&self) -> &Path {
        &self.project
    }

    /// Describes the database that was discarded when the index was opened, because it was damaged
    /// or outdated.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Memory that the index uses now: vectors, graph, and an upper bound for the page caches of
    /// both connections.
    pub fn memory(&self) -> Bytes {
        let vectors = read_lock(&self.vectors);
        let graph = read_lock(&self.graph);
        let vectors = vectors.as_ref().map_or(Bytes::ZERO, |(_, vectors)| vectors.memory());
        vectors + graph.as_ref().map_or(Bytes::ZERO, |graph| graph.memory()) + self.reader().cache() * 2
    }

    fn reader(&self) -> MutexGuard<'_, Store> {
        lock(&self.reader)
    }

    /// Chunks whose vectors are nearest to `query`: (id, cosine), best first. Empty while there are no vectors.
    pub fn by_vector(&self, query: &[f32], limit: usize) -> Result<Vec<(i64, f32)>, IndexError> {
        let mut asked = limit;
        loop {
            let found = match &*read_lock(&self.vectors) {
                Some((_, vectors)) => vectors.search(query, asked)?,
                None => return Ok(Vec::new()),
            };
            let keys: Vec<i64> = found.iter().map(|(key, _)| *key).collect();
            let chunks = self.reader().chunks_by_vector(&keys)?;
            let of_key = |key: i64| chunks.iter().filter(move |(k, _)| *k == key).map(|(_, id)| *id);
            // Vectors of deleted content give no chunks, so more vectors may be needed.
            if chunks.len() >= limit || found.len() < asked {
                let nearest = found.iter().flat_map(|(key, cosine)| of_key(*key).map(move |id| (id, *cosine)));
                return Ok(nearest.take(limit).collect());
            }
            asked *= 2;
        }
    }

    /// The model and number of the searchable vectors.
    pub fn vectors_of(&self) -> String {
        read_lock(&self.vectors).as_ref().map_or(String::new(), |(model, all)| format!("{model} {}", all.len()))
    }

    /// Number of searchable vectors.
    pub fn vector_count(&self) -> usize {
        read_lock(&self.vectors).as_ref().map_or(0, |(_, v)| v.len())
    }

    /// The code graph as of the last refresh.
    pub fn graph(&self) -> Result<Arc<Graph>, IndexError> {
        if let Some(graph) = &*read_lock(&self.graph) {
            return Ok(graph.clone());
        }
        let mut held = write_lock(&self.graph);
        let graph = Arc::new(Graph::load(&self.reader())?);
        *held = Some(graph.clone());
        Ok(graph)
    }

    /// At most `limit` of the distinct texts to embed.
    pub fn summaries(&self, limit: usize) -> Result<Vec<String>, IndexError> {
        // No model has an empty fingerprint, so every chunk counts as not yet embedded.
        let all = self.reader().without_embedding("")?;
        Ok(all.into_iter().take(limit).map(|waiting| waiting.text).collect())
    }

    /// Describes the code that limits kept out of the index at the last refresh, for answers that
    /// find nothing; `None` if there is none.
    pub fn gaps(&self) -> Result<Option<String>, IndexError> {
        Ok(self.reader().meta(build::GAPS)?.filter(|gaps| !gaps.is_empty()))
    }

    /// The indexed files, by path.
    pub fn paths(&self) -> Result<Vec<String>, IndexError> {
        let files = self.reader().files()?;
        Ok(files.into_iter().filter(|f| f.skipped.is_none()).map(|f| f.path).collect())
    }
}

/// The files of a folder that would be indexed, by path. Applies ignore rules; opens no file.
pub fn files_of(folder: &Path) -> Vec<String> {
    scan::scan(folder).files.into_iter().map(|found| found.path).collect()
}
