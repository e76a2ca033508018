//! The index of a project: chunks, words, vectors and the graph of its code, kept up to date file by file.

mod build;
mod chunk;
mod embedding;
mod find;
mod graph;
mod ids;
mod meaning;
pub mod paths;
mod resolve;
mod scan;
mod standing;
mod status;
mod store;
mod syntax;
mod vectors;
mod watch;
pub mod words;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

pub use build::{Progress, Report, Stage};
pub use graph::{Graph, Neighbour, Node, Reach, Reached};
pub use meaning::{Meaning, MemberMeaning, Names, Snapshot, Symbol};
pub use resolve::EdgeKind;
pub use scan::{Skipped, by_reason};
pub use standing::Standing;
pub use status::Status;
pub use store::{ChunkPlace, ChunkRow, HandedOn, Named, SymbolRow};
pub use syntax::{
    Definition, Export, Import, ImportSite, Kind, Occurrence, Outline, Role, SiteForm, SiteName, Spans, Stretch,
    SyntaxNode, import_sites, is_string, is_understood, language_of, names, outline, parts, spans, stretches,
    syntax_nodes, uses, words as whole_words,
};
pub use vectors::{VectorError, Vectors};
pub use watch::{Watch, WatchError};

use crate::base::Bytes;
use crate::embed::EmbedError;
use store::Store;

/// What can go wrong with an index.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    #[error("the project {path} cannot be read: {source}; name a folder with --project")]
    Project { path: PathBuf, source: std::io::Error },
    #[error("the index folder {path} cannot be written: {source}; make the project writable or work on a copy")]
    Folder { path: PathBuf, source: std::io::Error },
    #[error("the index {path} failed: {source}; if this stays, remove the file, it is built again")]
    Store { path: PathBuf, source: store::DatabaseError },
    #[error(transparent)]
    Vectors(#[from] VectorError),
    #[error(transparent)]
    Embed(#[from] EmbedError),
    #[error("indexing was cancelled; what was done so far is kept")]
    Cancelled,
}

/// The index of one project. Searches go on while it is refreshed.
pub struct Index {
    project: PathBuf,
    /// Where it is kept: `.monobloc` of the project, unless told otherwise.
    folder: PathBuf,
    /// Changes go through one connection, one refresh at a time.
    writer: Mutex<Store>,
    /// Reads do not wait for a refresh (SQLite's log shows them the last committed state).
    reader: Mutex<Store>,
    /// Vectors in use, with the model they are of.
    vectors: RwLock<Option<(String, Vectors)>>,
    /// Read when first asked for; dropped when edges change.
    graph: RwLock<Option<Arc<Graph>>>,
    /// Made from a graph when first asked for.
    standing: RwLock<Option<(Arc<Graph>, Arc<Standing>)>>,
    /// What had to be thrown away when the index was opened.
    note: Option<String>,
}

impl Index {
    /// Opens the index of a project, making `.monobloc/` if it is not there. Nothing is read from the project yet: see `refresh`.
    pub fn open(project: &Path) -> Result<Index, IndexError> {
        Index::open_in(project, &project.join(".monobloc"))
    }

    /// The same, kept in another folder, so that nothing is written into the project.
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
            standing: RwLock::new(None),
            note,
        })
    }

    /// The folder that is indexed, without links in its path.
    pub fn project(&self) -> &Path {
        &self.project
    }

    /// What had to be thrown away when the index was opened, if anything.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Memory that it holds now: vectors, graph, and at most what both connections keep of the database's pages.
    pub fn memory(&self) -> Bytes {
        let vectors = self.vectors.read().unwrap_or_else(PoisonError::into_inner);
        let graph = self.graph.read().unwrap_or_else(PoisonError::into_inner);
        let vectors = vectors.as_ref().map_or(Bytes::ZERO, |(_, vectors)| vectors.memory());
        vectors + graph.as_ref().map_or(Bytes::ZERO, |graph| graph.memory()) + self.reader().cache() * 2
    }

    fn reader(&self) -> MutexGuard<'_, Store> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Chunks in which any of the words occur: (id, BM25), best first. Weights: name, path, signature, doc, body.
    pub fn by_words(&self, words: &[String], weights: [f64; 5], limit: usize) -> Result<Vec<(i64, f64)>, IndexError> {
        self.reader().by_words(words, weights, limit)
    }

    /// Chunks whose vectors are nearest to `query`: (id, cosine), best first. Empty while there are no vectors.
    pub fn by_vector(&self, query: &[f32], limit: usize) -> Result<Vec<(i64, f32)>, IndexError> {
        let found = match &*self.vectors.read().unwrap_or_else(PoisonError::into_inner) {
            Some((_, vectors)) => vectors.search(query, limit)?,
            None => return Ok(Vec::new()),
        };
        let keys: Vec<i64> = found.iter().map(|(key, _)| *key).collect();
        let chunks = self.reader().chunks_by_vector(&keys)?;
        let of_key = |key: i64| chunks.iter().filter(move |(k, _)| *k == key).map(|(_, id)| *id);
        Ok(found.into_iter().flat_map(|(key, cosine)| of_key(key).map(move |id| (id, cosine))).take(limit).collect())
    }

    /// Number of vectors that can be searched.
    pub fn vector_count(&self) -> usize {
        self.vectors.read().unwrap_or_else(PoisonError::into_inner).as_ref().map_or(0, |(_, v)| v.len())
    }

    pub fn chunks(&self, ids: &[i64]) -> Result<Vec<ChunkRow>, IndexError> {
        self.reader().chunks(ids)
    }

    /// The chunks of a file, from its top.
    pub fn chunks_of_file(&self, path: &str) -> Result<Vec<ChunkRow>, IndexError> {
        self.reader().chunks_of_file(path)
    }

    /// Definitions of any of these names, letter case ignored.
    pub fn symbols_named(&self, names: &[String]) -> Result<Vec<SymbolRow>, IndexError> {
        self.reader().symbols_named(names)
    }

    /// What a file defines, from its top; the first is the file's module itself. Empty for a file that is not in the index.
    pub fn file_symbols(&self, path: &str) -> Result<Vec<SymbolRow>, IndexError> {
        self.reader().symbols_of_file(path)
    }

    /// References to a name whose target could not be found out: (path, line, why).
    pub fn unresolved(&self, name: &str) -> Result<Vec<(String, usize, String)>, IndexError> {
        self.reader().unresolved(name)
    }

    /// What these symbols refer to without it being known what that is: (name, path, line, why), by place.
    pub fn unresolved_from(&self, symbols: &[i64]) -> Result<Vec<(String, String, usize, String)>, IndexError> {
        self.reader().unresolved_from(symbols)
    }

    /// The graph as of the last refresh.
    pub fn graph(&self) -> Result<Arc<Graph>, IndexError> {
        if let Some(graph) = &*self.graph.read().unwrap_or_else(PoisonError::into_inner) {
            return Ok(graph.clone());
        }
        let mut held = self.graph.write().unwrap_or_else(PoisonError::into_inner);
        let graph = Arc::new(Graph::load(&self.reader())?);
        *held = Some(graph.clone());
        Ok(graph)
    }

    /// Importance and age of the files, as of the last refresh.
    pub fn standing(&self) -> Result<Arc<Standing>, IndexError> {
        let graph = self.graph()?;
        if let Some((of, standing)) = &*self.standing.read().unwrap_or_else(PoisonError::into_inner)
            && Arc::ptr_eq(of, &graph)
        {
            return Ok(standing.clone());
        }
        let standing = Arc::new(Standing::new(&graph.files(), &graph.file_links()));
        *self.standing.write().unwrap_or_else(PoisonError::into_inner) = Some((graph, standing.clone()));
        Ok(standing)
    }

    /// Definitions whose names have these keys ([`words::key`]).
    pub fn symbols_keyed(&self, keys: &[String]) -> Result<Vec<Named>, IndexError> {
        self.reader().symbols_keyed(keys)
    }

    /// Names with these keys that are handed on and defined nowhere in the project.
    pub fn handed_on(&self, keys: &[String]) -> Result<Vec<HandedOn>, IndexError> {
        self.reader().handed_on(keys)
    }

    /// How many chunks there are, and how many each word occurs in.
    pub fn chunks_with(&self, words: &[String]) -> Result<(usize, Vec<usize>), IndexError> {
        self.reader().chunks_with(words)
    }

    /// A number that is another one after every change of the index, by this process or another.
    pub fn state(&self) -> Result<i64, IndexError> {
        self.reader().state()
    }

    /// Where chunks stand, in no order.
    pub fn places(&self, ids: &[i64]) -> Result<Vec<ChunkPlace>, IndexError> {
        self.reader().places(ids)
    }

    /// At most `limit` of the texts that are embedded, each once.
    pub fn summaries(&self, limit: usize) -> Result<Vec<String>, IndexError> {
        // No model has this name, so everything waits.
        let all = self.reader().without_embedding("")?;
        Ok(all.into_iter().take(limit).map(|waiting| waiting.text).collect())
    }

    /// The indexed files, by path.
    pub fn paths(&self) -> Result<Vec<String>, IndexError> {
        let files = self.reader().files()?;
        Ok(files.into_iter().filter(|f| f.skipped.is_none()).map(|f| f.path).collect())
    }
}

/// What would be read of a folder, by path: ignore rules hold, nothing is opened.
pub fn files_of(folder: &Path) -> Vec<String> {
    scan::scan(folder).files.into_iter().map(|found| found.path).collect()
}
