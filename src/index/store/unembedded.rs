//! Reads the texts that have no embedding yet, and the figures that `index status` shows.

use super::Store;
use crate::index::IndexError;

/// A text to embed, with the key of the chunk content that it stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct Unembedded {
    pub vector_key: i64,
    /// A file that has the content.
    pub path: String,
    pub text: String,
}

impl Store {
    /// Texts of chunks that have no vector of this model yet, each key once, by path.
    pub fn without_embedding(&self, model: &str) -> Result<Vec<Unembedded>, IndexError> {
        let sql = "SELECT vector_key, path, summary FROM chunks c WHERE NOT EXISTS
                     (SELECT 1 FROM embeddings e WHERE e.model = ?1 AND e.vector_key = c.vector_key)
                   GROUP BY vector_key ORDER BY MIN(path), MIN(number)";
        self.rows(sql, &[&model], |r| Ok(Unembedded { vector_key: r.get(0)?, path: r.get(1)?, text: r.get(2)? }))
    }

    /// The number of different chunk contents that have no vector of this model yet.
    pub fn missing_embeddings(&self, model: &str) -> Result<usize, IndexError> {
        let sql = "SELECT COUNT(DISTINCT vector_key) FROM chunks c WHERE NOT EXISTS
                     (SELECT 1 FROM embeddings e WHERE e.model = ?1 AND e.vector_key = c.vector_key)";
        self.count(sql, &[&model])
    }

    /// Size of the database in bytes, with free pages, without its log.
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
