//! Writes files, edges and embeddings to the store, and removes them.

use half::f16;
use rusqlite::{Transaction, params};

use super::Store;
use crate::base::stamp::Stamp;
use crate::index::chunk::Chunk;
use crate::index::resolve::{Edge, Resolution};
use crate::index::syntax::{Definition, Kind, Outline, to_resolve};
use crate::index::{IndexError, ids, words};

/// Everything known about a file after reading it.
#[derive(Debug)]
pub struct FileRecord {
    pub path: String,
    pub language: &'static str,
    pub stamp: Stamp,
    pub hash: i64,
    /// Why it is not indexed; `None` for an indexed file.
    pub skipped: Option<String>,
    pub outline: Outline,
    pub sketch: Vec<u32>,
    pub interface: i64,
    pub chunks: Vec<Chunk>,
}

impl FileRecord {
    /// The id of the chunk that contains a line.
    pub(super) fn chunk_at(&self, line: usize) -> Option<i64> {
        let chunk = self.chunks.iter().find(|c| (c.start..=c.end).contains(&line))?;
        Some(ids::chunk(&self.path, chunk.number))
    }
}

impl Store {
    fn change(&mut self, act: impl FnOnce(&Transaction) -> rusqlite::Result<()>) -> Result<(), IndexError> {
        let path = self.path.clone();
        let run = || {
            let change = self.db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            act(&change)?;
            change.commit()
        };
        run().map_err(|source| IndexError::Store { path, source })
    }

    /// Replaces the stored data of these files in one transaction. Their old edges stay until
    /// `put_edges`.
    pub fn put_files(&mut self, records: &[FileRecord]) -> Result<(), IndexError> {
        self.change(|db| {
            for record in records {
                remove_file(db, &record.path)?;
                put_file(db, record)?;
            }
            Ok(())
        })
    }

    /// Removes files with their chunks, symbols and edges.
    pub fn remove_files(&mut self, paths: &[String]) -> Result<(), IndexError> {
        self.change(|db| {
            for path in paths {
                remove_file(db, path)?;
                remove_edges(db, path)?;
            }
            Ok(())
        })
    }

    /// Stores new stamps of files whose content is unchanged.
    pub fn touch_files(&mut self, files: &[(&str, Stamp)]) -> Result<(), IndexError> {
        self.change(|db| {
            let sql = "UPDATE files SET size = ?2, mtime_ns = ?3, ctime_ns = ?4, inode = ?5 WHERE path = ?1";
            let mut touch = db.prepare_cached(sql)?;
            files.iter().try_for_each(|(path, Stamp { size, mtime_ns, ctime_ns, inode })| {
                touch.execute(params![path, *size as i64, mtime_ns, ctime_ns, *inode as i64]).map(|_| ())
            })
        })
    }

    /// Replaces the edges of these files, in one transaction.
    pub fn put_edges(&mut self, files: &[(&str, i64, Resolution)]) -> Result<(), IndexError> {
        self.change(|db| {
            for (path, hash, resolution) in files {
                remove_edges(db, path)?;
                put_edges(db, path, resolution)?;
                db.prepare_cached("UPDATE files SET resolution = ?2 WHERE path = ?1")?.execute(params![path, hash])?;
            }
            Ok(())
        })
    }

    /// Stores vectors of one model, keyed by the contents they represent.
    pub fn put_embeddings(&mut self, model: &str, vectors: &[(i64, Vec<f32>)]) -> Result<(), IndexError> {
        self.change(|db| {
            let mut put =
                db.prepare_cached("INSERT OR REPLACE INTO embeddings (vector_key, model, vector) VALUES (?1, ?2, ?3)")?;
            for (key, vector) in vectors {
                let bytes: Vec<u8> = vector.iter().flat_map(|v| f16::from_f32(*v).to_le_bytes()).collect();
                put.execute(params![key, model, bytes])?;
            }
            Ok(())
        })
    }

    /// Deletes the oldest embeddings that no chunk uses, except `spare` of them, which save work
    /// when branches are switched.
    pub fn prune_embeddings(&mut self, spare: usize) -> Result<(), IndexError> {
        self.change(|db| {
            db.execute(
                "DELETE FROM embeddings WHERE id IN (SELECT id FROM embeddings e WHERE NOT EXISTS
                     (SELECT 1 FROM chunks c WHERE c.vector_key = e.vector_key) ORDER BY id DESC LIMIT -1 OFFSET ?1)",
                [spare as i64],
            )
            .map(|_| ())
        })
    }
}

fn remove_file(db: &Transaction, path: &str) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM chunks_text WHERE rowid IN (SELECT id FROM chunks WHERE path = ?1)")?
        .execute([path])?;
    for table in ["chunks", "symbols", "names", "outlines", "files"] {
        db.prepare_cached(&format!("DELETE FROM {table} WHERE path = ?1"))?.execute([path])?;
    }
    Ok(())
}

fn remove_edges(db: &Transaction, path: &str) -> rusqlite::Result<()> {
    for table in ["edges", "unresolved"] {
        db.prepare_cached(&format!("DELETE FROM {table} WHERE path = ?1"))?.execute([path])?;
    }
    Ok(())
}

fn put_file(db: &Transaction, record: &FileRecord) -> rusqlite::Result<()> {
    let sketch: Vec<u8> = record.sketch.iter().flat_map(|line| line.to_le_bytes()).collect();
    let sql = "INSERT INTO files VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 0)";
    db.prepare_cached(sql)?.execute(params![
        record.path,
        record.language,
        record.stamp.size as i64,
        record.stamp.mtime_ns,
        record.stamp.ctime_ns,
        record.stamp.inode as i64,
        record.hash,
        record.skipped,
        record.outline.incomplete,
        sketch,
        record.interface
    ])?;
    if record.skipped.is_none() {
        // Encoding plain data cannot fail; if it did, an empty outline would be stored.
        let outline = postcard::to_stdvec(&*to_resolve(record.language, &record.outline)).unwrap_or_default();
        db.prepare_cached("INSERT INTO outlines VALUES (?1, ?2)")?.execute(params![record.path, outline])?;
    }
    for chunk in &record.chunks {
        put_chunk(db, record, chunk)?;
    }
    put_symbols(db, record)?;
    super::names::put(db, record)
}

fn put_chunk(db: &Transaction, record: &FileRecord, chunk: &Chunk) -> rusqlite::Result<()> {
    let outline = &record.outline;
    let id = ids::chunk(&record.path, chunk.number);
    let definitions: Vec<&Definition> = chunk.definitions.iter().map(|d| &outline.definitions[*d]).collect();
    let first = definitions.first();
    let lines = chunk.start..=chunk.end;
    let functions =
        names(definitions.iter().filter(|d| matches!(d.kind, Kind::Function | Kind::Method)).map(|d| d.name.as_str()));
    let exports = names(outline.exports.iter().filter(|e| lines.contains(&e.line)).map(|e| e.name.as_str()));
    let imports = names(outline.imports.iter().filter(|i| lines.contains(&i.line)).map(|i| i.source.as_str()));
    let text = |get: fn(&Definition) -> &str| definitions.iter().map(|d| get(d)).collect::<Vec<_>>().join("\n");
    let declared: String = chunk.declared.iter().map(|d| format!("\n{}", d.name)).collect();
    db.prepare_cached("INSERT OR REPLACE INTO chunks VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16)")?
        .execute(params![
            id,
            record.path,
            chunk.number as i64,
            record.language,
            chunk.start as i64,
            chunk.end as i64,
            first.map(|d| &d.name),
            first.map(|d| d.kind.name()),
            first.map_or("", |d| &d.signature),
            first.map_or("", |d| &d.doc),
            chunk.content,
            functions,
            exports,
            imports,
            ids::content(&chunk.content),
            chunk.summary
        ])?;
    db.prepare_cached(
        "INSERT INTO chunks_text (rowid, name, path, signature, doc, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![
        id,
        words::searchable(&(text(|d| &d.name) + &declared)),
        words::path_words(&record.path).join(" "),
        words::searchable(&text(|d| &d.signature)),
        words::searchable(&text(|d| &d.doc)),
        words::searchable(&chunk.content)
    ])?;
    Ok(())
}

/// A JSON array of distinct names, in order.
fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut distinct: Vec<&str> = Vec::new();
    for name in names {
        if !name.is_empty() && !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    serde_json::Value::from(distinct).to_string()
}

fn put_symbols(db: &Transaction, record: &FileRecord) -> rusqlite::Result<()> {
    if record.skipped.is_some() {
        return Ok(());
    }
    let mut put =
        db.prepare_cached("INSERT OR REPLACE INTO symbols VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)")?;
    let last_line = record.chunks.last().map_or(1, |c| c.end);
    let module = ids::module(&record.path);
    put.execute(params![
        module,
        record.path,
        words::stem(&record.path),
        Kind::Module.name(),
        1,
        last_line as i64,
        "",
        "",
        false,
        None::<i64>,
        record.chunks.first().map(|c| ids::chunk(&record.path, c.number))
    ])?;
    let ids = ids::symbols(&record.path, &record.outline);
    for (definition, id) in record.outline.definitions.iter().zip(&ids) {
        put.execute(params![
            id,
            record.path,
            definition.name,
            definition.kind.name(),
            definition.start as i64,
            definition.end as i64,
            definition.signature,
            definition.doc,
            definition.exported,
            definition.container.map_or(module, |c| ids[c]),
            record.chunk_at(definition.start)
        ])?;
    }
    Ok(())
}

fn put_edges(db: &Transaction, path: &str, resolution: &Resolution) -> rusqlite::Result<()> {
    let mut put = db.prepare_cached("INSERT OR IGNORE INTO edges VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?;
    for edge in &resolution.edges {
        let kind = edge.kind.name();
        let Edge { source, target, confidence, reason, line, at_load, .. } = edge;
        put.execute(params![path, source, target, kind, confidence, reason, *line as i64, at_load])?;
    }
    let mut put = db.prepare_cached("INSERT INTO unresolved VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
    for lost in &resolution.unresolved {
        put.execute(params![path, lost.source, lost.name, lost.kind.name(), lost.line as i64, lost.reason])?;
    }
    Ok(())
}
