//! Reads edges and unresolved references from the store.

use super::Store;
use crate::index::IndexError;

/// An edge as stored: source, target, kind, confidence, reason, line, whether it runs when the file is loaded.
pub type EdgeRow = (i64, i64, String, f64, String, usize, bool);

impl Store {
    pub fn edges(&self) -> Result<Vec<EdgeRow>, IndexError> {
        let sql = "SELECT source, target, kind, confidence, reason, line, at_load FROM edges ORDER BY path, source, target, kind";
        self.rows(sql, &[], |r| {
            Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?, r.get::<_, i64>(5)? as usize, r.get(6)?))
        })
    }

    /// References to `name` whose target is not known: (path, line, reason).
    pub fn unresolved(&self, name: &str) -> Result<Vec<(String, usize, String)>, IndexError> {
        let sql = "SELECT path, line, reason FROM unresolved WHERE name = ?1 ORDER BY path, line LIMIT 1000";
        self.rows(sql, &[&name], |r| Ok((r.get(0)?, r.get::<_, i64>(1)? as usize, r.get(2)?)))
    }

    /// Calls in these symbols whose target is not known: (name, path, line, reason).
    pub fn unresolved_from(&self, sources: &[i64]) -> Result<Vec<(String, String, usize, String)>, IndexError> {
        let sql = "SELECT name, path, line, reason FROM unresolved WHERE kind = 'calls' AND source IN ({}) ORDER BY path, line, name";
        self.rows_among(sql, sources, |r| Ok((r.get(0)?, r.get(1)?, r.get::<_, i64>(2)? as usize, r.get(3)?)))
    }
}
