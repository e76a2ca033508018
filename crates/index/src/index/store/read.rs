//! Reads files, outlines, chunks, symbols, edges and embeddings from the store.

use half::f16;
use rusqlite::{Row, ToSql};

use super::Store;
use crate::base::stamp::Stamp;
use crate::index::resolve::Facts;
use crate::index::{Index, IndexError};

/// A file's row in the store.
#[derive(Clone, Debug, PartialEq)]
pub struct FileRow {
    pub path: String,
    pub stamp: Stamp,
    pub hash: i64,
    /// Why it is not indexed; `None` for an indexed file.
    pub skipped: Option<String>,
    /// Why part of it could not be parsed.
    pub note: Option<String>,
    /// See [`crate::index::resolve::interface`].
    pub interface: i64,
    /// Hash of its edges; 0 if not resolved yet.
    pub resolution: i64,
}

/// One chunk as stored.
#[derive(Clone, Debug, PartialEq)]
pub struct ChunkRow {
    pub id: i64,
    pub path: String,
    /// First and last line, counted from 1.
    pub start: usize,
    pub end: usize,
    pub symbol: Option<String>,
    pub kind: Option<String>,
    pub signature: String,
    pub doc: String,
    pub content: String,
    pub imports: Vec<String>,
    pub vector_key: i64,
}

/// Path and symbol of a chunk, for ranking.
#[derive(Clone, Debug, PartialEq)]
pub struct ChunkPlace {
    pub id: i64,
    pub path: String,
    pub symbol: Option<String>,
}

/// One definition as stored.
#[derive(Clone, Debug, PartialEq)]
pub struct SymbolRow {
    pub id: i64,
    pub path: String,
    pub name: String,
    pub kind: String,
    pub start: usize,
    pub end: usize,
    pub signature: String,
    pub doc: String,
    pub exported: bool,
    pub container: Option<i64>,
    /// The chunk it begins in.
    pub chunk: Option<i64>,
}

/// An edge as stored: source, target, kind, confidence, reason, line, whether it runs when the file is loaded.
pub type EdgeRow = (i64, i64, String, f64, String, usize, bool);

/// A text to embed, with the key of the chunk content it represents.
#[derive(Clone, Debug, PartialEq)]
pub struct Unembedded {
    pub vector_key: i64,
    /// A file with this content.
    pub path: String,
    pub text: String,
}

impl Store {
    pub(super) fn rows<T>(
        &self,
        sql: &str,
        values: &[&dyn ToSql],
        read: impl FnMut(&Row) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, IndexError> {
        let run = || self.db.prepare_cached(sql)?.query_map(values, read)?.collect::<rusqlite::Result<Vec<T>>>();
        run().map_err(|e| self.error(e))
    }

    /// The number that a `SELECT COUNT(…)` returns.
    pub(super) fn count(&self, sql: &str, values: &[&dyn ToSql]) -> Result<usize, IndexError> {
        Ok(self.rows(sql, values, |r| r.get::<_, i64>(0))?.first().map_or(0, |n| *n as usize))
    }

    /// Runs `sql` with `{}` replaced by a query of `keys`, so that one cached statement serves any
    /// number of keys.
    pub(super) fn rows_among<T>(
        &self,
        sql: &str,
        keys: &[impl Clone + Into<serde_json::Value>],
        read: impl FnMut(&Row) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, IndexError> {
        let keys = serde_json::Value::from(keys).to_string();
        self.rows(&sql.replace("{}", "SELECT value FROM json_each(?1)"), &[&keys], read)
    }

    /// All known files, by path.
    pub fn files(&self) -> Result<Vec<FileRow>, IndexError> {
        let sql = "SELECT path, size, mtime_ns, ctime_ns, inode, hash, skipped, note, interface, resolution
                   FROM files ORDER BY path";
        self.rows(sql, &[], |r| {
            Ok(FileRow {
                path: r.get(0)?,
                stamp: Stamp {
                    size: r.get::<_, i64>(1)? as u64,
                    mtime_ns: r.get(2)?,
                    ctime_ns: r.get(3)?,
                    inode: r.get::<_, i64>(4)? as u64,
                },
                hash: r.get(5)?,
                skipped: r.get(6)?,
                note: r.get(7)?,
                interface: r.get(8)?,
                resolution: r.get(9)?,
            })
        })
    }

    /// The indexed files by path, with their [`crate::index::copies::sketch`].
    pub fn sketches(&self) -> Result<Vec<(String, Vec<u32>)>, IndexError> {
        let sql = "SELECT path, sketch FROM files WHERE skipped IS NULL ORDER BY path";
        self.rows(sql, &[], |r| {
            let bytes = r.get_ref(1)?.as_bytes()?;
            Ok((r.get(0)?, bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()))
        })
    }

    /// The files whose edges are resolved, by path, each with the hash of its stored edges (0 if
    /// not resolved yet). An outline that cannot be decoded is empty.
    pub fn outlines(&self) -> Result<Vec<(Facts, i64)>, IndexError> {
        let sql = "SELECT f.path, f.language, o.outline, f.resolution FROM files f JOIN outlines o ON o.path = f.path ORDER BY f.path";
        self.rows(sql, &[], |r| {
            let outline = postcard::from_bytes(r.get_ref(2)?.as_bytes()?).unwrap_or_default();
            Ok((Facts { path: r.get(0)?, language: r.get(1)?, outline }, r.get(3)?))
        })
    }

    /// Ids of the chunks that share these vectors: (vector key, chunk id).
    pub fn chunks_by_vector(&self, keys: &[i64]) -> Result<Vec<(i64, i64)>, IndexError> {
        let sql = "SELECT vector_key, id FROM chunks WHERE vector_key IN ({}) ORDER BY path, number";
        self.rows_among(sql, keys, |r| Ok((r.get(0)?, r.get(1)?)))
    }

    pub fn symbols(&self) -> Result<Vec<SymbolRow>, IndexError> {
        self.rows(&format!("{SELECT_SYMBOL} ORDER BY path, start, id"), &[], symbol_row)
    }

    /// Keys of the vectors that chunks use and this model has computed, ascending.
    pub fn vector_keys(&self, model: &str) -> Result<Vec<i64>, IndexError> {
        let sql = "SELECT vector_key FROM embeddings e WHERE model = ?1 AND EXISTS
                     (SELECT 1 FROM chunks c WHERE c.vector_key = e.vector_key) ORDER BY vector_key";
        self.rows(sql, &[&model], |r| r.get(0))
    }

    pub fn embeddings(&self, model: &str, keys: &[i64]) -> Result<Vec<(i64, Vec<f32>)>, IndexError> {
        let keys = serde_json::Value::from(keys).to_string();
        let sql = "SELECT vector_key, vector FROM embeddings WHERE model = ?1 AND vector_key IN
                     (SELECT value FROM json_each(?2))";
        self.rows(sql, &[&model, &keys], |r| {
            let bytes: Vec<u8> = r.get(1)?;
            let vector = bytes.chunks_exact(2).map(|b| f16::from_le_bytes([b[0], b[1]]).to_f32()).collect();
            Ok((r.get(0)?, vector))
        })
    }

    /// Number of rows in each of: chunks, symbols, edges, unresolved.
    pub fn counts(&self) -> Result<[usize; 4], IndexError> {
        let sql = "SELECT (SELECT COUNT(*) FROM chunks), (SELECT COUNT(*) FROM symbols), (SELECT COUNT(*) FROM edges),
                   (SELECT COUNT(*) FROM unresolved)";
        let count = |r: &Row, i: usize| r.get::<_, i64>(i).map(|n| n as usize);
        let all = self.rows(sql, &[], |r| Ok([count(r, 0)?, count(r, 1)?, count(r, 2)?, count(r, 3)?]))?;
        Ok(all.first().copied().unwrap_or_default())
    }

    /// The number of chunks with a vector of this model.
    pub fn chunks_with_vector(&self, model: &str) -> Result<usize, IndexError> {
        let sql = "SELECT COUNT(*) FROM chunks c WHERE EXISTS
                     (SELECT 1 FROM embeddings e WHERE e.model = ?1 AND e.vector_key = c.vector_key)";
        self.count(sql, &[&model])
    }

    pub fn edges(&self) -> Result<Vec<EdgeRow>, IndexError> {
        let sql = "SELECT source, target, kind, confidence, reason, line, at_load FROM edges ORDER BY path, source, target, kind";
        self.rows(sql, &[], |r| {
            Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?, r.get::<_, i64>(5)? as usize, r.get(6)?))
        })
    }

    /// Texts of chunks without a vector of this model, each key once, by path.
    pub fn without_embedding(&self, model: &str) -> Result<Vec<Unembedded>, IndexError> {
        let sql = "SELECT vector_key, path, summary FROM chunks c WHERE NOT EXISTS
                     (SELECT 1 FROM embeddings e WHERE e.model = ?1 AND e.vector_key = c.vector_key)
                   GROUP BY vector_key ORDER BY MIN(path), MIN(number)";
        self.rows(sql, &[&model], |r| Ok(Unembedded { vector_key: r.get(0)?, path: r.get(1)?, text: r.get(2)? }))
    }

    /// Size of the database in bytes, including free pages but not its log.
    pub fn bytes(&self) -> Result<u64, IndexError> {
        let sql = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
        Ok(self.count(sql, &[])? as u64)
    }

    /// Indexed files per language, most frequent first.
    pub fn languages(&self) -> Result<Vec<(String, usize)>, IndexError> {
        let sql = "SELECT language, COUNT(*) FROM files WHERE skipped IS NULL GROUP BY language ORDER BY COUNT(*) DESC, language";
        self.rows(sql, &[], |r| Ok((r.get(0)?, r.get::<_, i64>(1)? as usize)))
    }

    /// Models with stored vectors: (fingerprint, number of vectors), most vectors first.
    pub fn models(&self) -> Result<Vec<(String, usize)>, IndexError> {
        let sql = "SELECT model, COUNT(*) FROM embeddings GROUP BY model ORDER BY COUNT(*) DESC, model";
        self.rows(sql, &[], |r| Ok((r.get(0)?, r.get::<_, i64>(1)? as usize)))
    }
}

impl Index {
    /// Chunks that contain any of the words, best first: (id, BM25 score, higher is better).
    /// `weights`: name, path, signature, doc, body.
    pub fn by_words(&self, words: &[String], weights: [f64; 5], limit: usize) -> Result<Vec<(i64, f64)>, IndexError> {
        if words.is_empty() {
            return Ok(Vec::new());
        }
        // Words contain only letters and digits; quotes keep AND, OR and NOT from acting as
        // operators.
        let query = words.iter().map(|w| format!("\"{w}\"")).collect::<Vec<_>>().join(" OR ");
        let [name, path, signature, doc, body] = weights;
        let sql = "SELECT rowid, -bm25(chunks_text, ?2, ?3, ?4, ?5, ?6) AS score FROM chunks_text
                   WHERE chunks_text MATCH ?1 ORDER BY score DESC, rowid LIMIT ?7";
        self.reader().rows(sql, &[&query, &name, &path, &signature, &doc, &body, &(limit as i64)], |r| {
            Ok((r.get(0)?, r.get(1)?))
        })
    }

    pub fn chunks(&self, ids: &[i64]) -> Result<Vec<ChunkRow>, IndexError> {
        self.reader().rows_among(&format!("{SELECT_CHUNK} WHERE id IN ({{}})"), ids, chunk_row)
    }

    /// Path and symbol of chunks, in no particular order.
    pub fn places(&self, ids: &[i64]) -> Result<Vec<ChunkPlace>, IndexError> {
        let sql = "SELECT id, path, symbol FROM chunks WHERE id IN ({})";
        self.reader().rows_among(sql, ids, |r| Ok(ChunkPlace { id: r.get(0)?, path: r.get(1)?, symbol: r.get(2)? }))
    }

    /// The chunks of a file, in file order.
    pub fn chunks_of_file(&self, path: &str) -> Result<Vec<ChunkRow>, IndexError> {
        self.reader().rows(&format!("{SELECT_CHUNK} WHERE path = ?1 ORDER BY number"), &[&path], chunk_row)
    }

    /// Definitions with these names, ignoring case, without modules.
    pub fn symbols_named(&self, names: &[String]) -> Result<Vec<SymbolRow>, IndexError> {
        let sql =
            format!("{SELECT_SYMBOL} WHERE name COLLATE NOCASE IN ({{}}) AND kind != 'module' ORDER BY path, start");
        self.reader().rows_among(&sql, names, symbol_row)
    }

    /// The symbols of a file by line: its definitions, and its module, whose `container` is `None`.
    /// Empty for a file that is not in the index.
    pub fn file_symbols(&self, path: &str) -> Result<Vec<SymbolRow>, IndexError> {
        self.reader().rows(&format!("{SELECT_SYMBOL} WHERE path = ?1 ORDER BY start, id"), &[&path], symbol_row)
    }

    /// References to `name` with an unknown target: (path, line, reason).
    pub fn unresolved(&self, name: &str) -> Result<Vec<(String, usize, String)>, IndexError> {
        let sql = "SELECT path, line, reason FROM unresolved WHERE name = ?1 ORDER BY path, line LIMIT 1000";
        self.reader().rows(sql, &[&name], |r| Ok((r.get(0)?, r.get::<_, i64>(1)? as usize, r.get(2)?)))
    }

    /// Calls in these symbols with an unknown target: (name, path, line, reason), by path and line.
    pub fn unresolved_from(&self, sources: &[i64]) -> Result<Vec<(String, String, usize, String)>, IndexError> {
        let sql = "SELECT name, path, line, reason FROM unresolved WHERE kind = 'calls' AND source IN ({}) ORDER BY path, line, name";
        self.reader().rows_among(sql, sources, |r| Ok((r.get(0)?, r.get(1)?, r.get::<_, i64>(2)? as usize, r.get(3)?)))
    }

    /// The number of distinct chunk contents without a vector of this model.
    pub fn vectors_missing(&self, model: &str) -> Result<usize, IndexError> {
        let sql = "SELECT COUNT(DISTINCT vector_key) FROM chunks c WHERE NOT EXISTS
                     (SELECT 1 FROM embeddings e WHERE e.model = ?1 AND e.vector_key = c.vector_key)";
        self.reader().count(sql, &[&model])
    }
}

const SELECT_CHUNK: &str =
    "SELECT id, path, start, end, symbol, kind, signature, doc, content, imports, vector_key FROM chunks";

fn chunk_row(r: &Row) -> rusqlite::Result<ChunkRow> {
    Ok(ChunkRow {
        id: r.get(0)?,
        path: r.get(1)?,
        start: r.get::<_, i64>(2)? as usize,
        end: r.get::<_, i64>(3)? as usize,
        symbol: r.get(4)?,
        kind: r.get(5)?,
        signature: r.get(6)?,
        doc: r.get(7)?,
        content: r.get(8)?,
        imports: serde_json::from_str(&r.get::<_, String>(9)?).unwrap_or_default(),
        vector_key: r.get(10)?,
    })
}

const SELECT_SYMBOL: &str =
    "SELECT id, path, name, kind, start, end, signature, doc, exported, container, chunk FROM symbols";

pub(super) fn symbol_row(r: &Row) -> rusqlite::Result<SymbolRow> {
    Ok(SymbolRow {
        id: r.get(0)?,
        path: r.get(1)?,
        name: r.get(2)?,
        kind: r.get(3)?,
        start: r.get::<_, i64>(4)? as usize,
        end: r.get::<_, i64>(5)? as usize,
        signature: r.get(6)?,
        doc: r.get(7)?,
        exported: r.get(8)?,
        container: r.get(9)?,
        chunk: r.get(10)?,
    })
}
