//! Stores and finds names by the stems of their words, so that "validated calls" finds `validate_call`.

use rusqlite::{Transaction, params};

use super::FileRecord;
use crate::index::syntax::Kind;
use crate::index::{Index, IndexError, ids, words};

/// A definition found by its name's key.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// The key ([`words::key`]).
    pub key: String,
    pub name: String,
    /// File, kind and first chunk of the definition.
    pub path: String,
    pub kind: String,
    pub chunk: Option<i64>,
}

/// A name that a chunk exports and its file does not define: (key, name, chunk).
pub type HandedOnName = (String, String, i64);

impl Index {
    /// Definitions whose names have these keys ([`words::key`]), in no particular order, without
    /// modules.
    pub fn symbols_keyed(&self, keys: &[String]) -> Result<Vec<Named>, IndexError> {
        let sql = "SELECT key, name, path, kind, chunk FROM names WHERE kind IS NOT NULL AND key IN ({})";
        self.reader().rows_among(sql, keys, |r| {
            Ok(Named { key: r.get(0)?, name: r.get(1)?, path: r.get(2)?, kind: r.get(3)?, chunk: r.get(4)? })
        })
    }

    /// Names with these keys that a file re-exports and no file of the project defines.
    pub fn handed_on(&self, keys: &[String]) -> Result<Vec<HandedOnName>, IndexError> {
        let sql = "SELECT n.key, n.name, n.chunk FROM names n WHERE n.kind IS NULL AND n.key IN ({}) AND NOT EXISTS
                     (SELECT 1 FROM names d WHERE d.key = n.key AND d.name = n.name AND d.kind IS NOT NULL)
                   ORDER BY n.path, n.chunk, n.name";
        self.reader().rows_among(sql, keys, |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))
    }

    /// The number of chunks, and for each word the number of chunks that contain it.
    pub fn chunks_with(&self, words: &[String]) -> Result<(usize, Vec<usize>), IndexError> {
        let sql = "SELECT COUNT(*) FROM chunks_text WHERE chunks_text MATCH ?1";
        let store = self.reader();
        let counts = words.iter().map(|word| store.count(sql, &[&format!("\"{word}\"")])).collect::<Result<_, _>>()?;
        Ok((store.count("SELECT COUNT(*) FROM chunks", &[])?, counts))
    }
}

/// Stores the names of one file: of its definitions (or, in a language without a grammar, its
/// apparent declarations), and of exports that it does not define.
pub fn put(db: &Transaction, record: &FileRecord) -> rusqlite::Result<()> {
    let outline = &record.outline;
    let mut insert =
        db.prepare_cached("INSERT INTO names (key, name, path, kind, chunk) VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for definition in outline.definitions.iter().filter(|d| d.kind != Kind::Module) {
        let (key, kind, chunk) =
            (words::key(&definition.name), definition.kind.name(), record.chunk_at(definition.start));
        insert.execute(params![key, definition.name, record.path, kind, chunk])?;
    }
    for chunk in &record.chunks {
        for declared in &chunk.declared {
            let (key, id) = (words::key(&declared.name), ids::chunk(&record.path, chunk.number));
            insert.execute(params![key, declared.name, record.path, declared.kind, id])?;
        }
    }
    let defined = |name: &str| outline.definitions.iter().any(|d| d.name == name);
    for export in
        outline.exports.iter().filter(|e| !matches!(e.name.as_str(), "" | "*" | "default") && !defined(&e.name))
    {
        if let Some(chunk) = record.chunk_at(export.line) {
            let key = words::key(&export.name);
            insert.execute(params![key, export.name, record.path, None::<&str>, chunk])?;
        }
    }
    Ok(())
}
