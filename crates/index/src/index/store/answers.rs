//! Keeps the answers to searches, for all processes, until the index changes.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use half::f16;
use rusqlite::{Connection, params};

use super::{BUSY_MS, Store};
use crate::index::{Index, IndexError};

/// Maximum number of kept answers, each about a kilobyte; the oldest is dropped first.
const KEPT_MAX: i64 = 64;
const GENERATION: &str = "(SELECT CAST(value AS INTEGER) FROM index_meta WHERE name = 'generation')";

/// The answer to a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub question: String,
    /// Number of hits requested.
    pub most: usize,
    /// The question's vector; empty without one.
    pub vector: Vec<f32>,
    pub found: Vec<u8>,
}

impl Index {
    /// A number that changes whenever the results of a search may change, in this process or
    /// another.
    pub fn generation(&self) -> Result<i64, IndexError> {
        let store = self.reader();
        store.db.query_row(&format!("SELECT {GENERATION}"), [], |r| r.get(0)).map_err(|e| store.error(e))
    }

    /// The kept answers of this generation that were found by this kind of search.
    pub fn answers(&self, kind: &str) -> Result<Vec<Answer>, IndexError> {
        let store = self.reader();
        let kind = store.by_rules(kind)?;
        let sql = format!(
            "SELECT question, most, vector, found FROM answers WHERE kind = ?1 AND generation = {GENERATION} ORDER BY id"
        );
        store.rows(&sql, &[&kind], |r| {
            let bytes: Vec<u8> = r.get(2)?;
            let vector = bytes.chunks_exact(2).map(|b| f16::from_le_bytes([b[0], b[1]]).to_f32()).collect();
            Ok(Answer { question: r.get(0)?, most: r.get::<_, i64>(1)? as usize, vector, found: r.get(3)? })
        })
    }

    /// Keeps an answer found in `generation`. It is dropped while another process writes to the
    /// index: waiting would cost more than another search.
    pub fn keep_answer(&self, generation: i64, kind: &str, answer: &Answer) -> Result<(), IndexError> {
        let kind = self.reader().by_rules(kind)?;
        let Ok(writer) = self.writer.try_lock() else { return Ok(()) };
        let busy = |ms| writer.db.busy_timeout(Duration::from_millis(ms));
        let kept = busy(0).and_then(|()| keep(&writer.db, generation, &kind, answer));
        busy(BUSY_MS).and(kept).map_err(|e| writer.error(e))
    }
}

fn keep(db: &Connection, generation: i64, kind: &str, answer: &Answer) -> rusqlite::Result<()> {
    let bytes: Vec<u8> = answer.vector.iter().flat_map(|v| f16::from_f32(*v).to_le_bytes()).collect();
    let change = db.unchecked_transaction()?;
    change.execute(&format!("DELETE FROM answers WHERE generation <> {GENERATION}"), [])?;
    let row = params![generation, kind, answer.question, answer.most as i64, bytes, answer.found];
    let sql = format!(
        "INSERT OR REPLACE INTO answers (generation, kind, question, most, vector, found)
         SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE ?1 = {GENERATION}"
    );
    change.execute(&sql, row)?;
    change.execute("DELETE FROM answers WHERE id <= (SELECT MAX(id) FROM answers) - ?1", [KEPT_MAX])?;
    change.commit()
}

impl Store {
    /// `kind` combined with this connection's rules, which determine what a search may find.
    fn by_rules(&self, kind: &str) -> Result<String, IndexError> {
        if !self.hides {
            return Ok(kind.to_owned());
        }
        let hidden =
            self.rows("SELECT path FROM main.files WHERE hidden(path) ORDER BY path", &[], |r| r.get::<_, String>(0))?;
        let mut hasher = DefaultHasher::new();
        hidden.hash(&mut hasher);
        Ok(format!("{kind} without {:016x}", hasher.finish()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{Cancel, Hidden};

    fn answer(question: &str) -> Answer {
        let (question, found) = (question.to_owned(), question.as_bytes().to_vec());
        Answer { question, most: 5, vector: vec![0.5, -1.0], found }
    }

    fn refreshed(index: &Index, path: &str, text: &str) {
        std::fs::write(index.project().join(path), text).unwrap();
        index.refresh_lexical(&mut |_| {}, &Cancel::new()).unwrap();
    }

    #[test]
    fn answers_are_found_by_another_process_until_a_file_changes() {
        let folder = tempfile::tempdir().unwrap();
        let index = Index::open(folder.path()).unwrap();
        refreshed(&index, "a.ts", "export function a() {}\n");
        let generation = index.generation().unwrap();
        index.keep_answer(generation, "words", &answer("where is a")).unwrap();
        let other = Index::open(folder.path()).unwrap();
        assert_eq!(other.answers("words").unwrap(), [answer("where is a")]);
        assert_eq!(other.answers("vectors").unwrap(), []);
        // A refresh without changes keeps them.
        refreshed(&other, "a.ts", "export function a() {}\n");
        refreshed(&other, "b.ts", "export function b() {}\n");
        assert_eq!(index.answers("words").unwrap(), []);
        assert!(index.generation().unwrap() > generation);
        // An answer found before a change is not kept after it.
        index.keep_answer(generation, "words", &answer("where is b")).unwrap();
        assert_eq!(index.answers("words").unwrap(), []);
    }

    #[test]
    fn an_answer_under_other_rules_is_not_given_and_the_number_is_limited() {
        let folder = tempfile::tempdir().unwrap();
        let index = Index::open(folder.path()).unwrap();
        refreshed(&index, "secret.ts", "export function a() {}\n");
        let generation = index.generation().unwrap();
        for n in 0..=KEPT_MAX {
            index.keep_answer(generation, "words", &answer(&format!("question {n}"))).unwrap();
        }
        let kept = index.answers("words").unwrap();
        assert_eq!((kept.len() as i64, kept[0].question.as_str()), (KEPT_MAX, "question 1"));
        let hidden = Hidden::by(|path| path.starts_with("secret"));
        let hiding = Index::open(folder.path()).unwrap().hiding(hidden).unwrap();
        assert_eq!(hiding.answers("words").unwrap(), []);
        hiding.keep_answer(generation, "words", &answer("asked under rules")).unwrap();
        assert_eq!(hiding.answers("words").unwrap().len(), 1);
        assert!(index.answers("words").unwrap().iter().all(|answer| answer.question != "asked under rules"));
    }
}
