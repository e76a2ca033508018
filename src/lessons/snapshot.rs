//! Serialises all lessons to rows of bytes for checkpoints, and restores them.

use serde::de::IgnoredAny;

use super::{Lessons, LessonsError};

impl Lessons {
    /// Every lesson as one row of JSON; equal lessons give equal bytes.
    pub fn rows(&self) -> Result<Vec<Vec<u8>>, LessonsError> {
        let sql =
            "SELECT json_array(id, problem, solution, why_worked, tokens_used, success, failures, hex(vector), created)
                   FROM lessons ORDER BY id";
        self.query(|connection| {
            let mut query = connection.prepare_cached(sql)?;
            query.query_map([], |row| row.get::<_, String>(0).map(String::into_bytes))?.collect()
        })
    }

    /// Replaces all lessons by the output of [`Lessons::rows`], in one transaction. Rows of another form change nothing.
    pub fn restore(&self, rows: &[Vec<u8>]) -> Result<(), LessonsError> {
        let texts = rows.iter().map(|row| std::str::from_utf8(row).ok());
        let is_json = |text: &&str| serde_json::from_str::<IgnoredAny>(text).is_ok();
        let Some(texts) = texts.map(|text| text.filter(is_json)).collect::<Option<Vec<&str>>>() else {
            tracing::warn!("the lessons of a checkpoint of another version stay as they are now");
            return Ok(());
        };
        let sql = "INSERT INTO lessons
                       (id, problem, solution, why_worked, tokens_used, success, failures, vector, created)
                   SELECT ?1->>0, ?1->>1, ?1->>2, ?1->>3, ?1->>4, ?1->>5, ?1->>6, nullif(unhex(?1->>7), x''), ?1->>8";
        self.query(|connection| {
            let change = connection.unchecked_transaction()?;
            change.execute("DELETE FROM lessons", [])?;
            for text in texts {
                change.prepare_cached(sql)?.execute([text])?;
            }
            change.commit()
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::lessons::{Lesson, Lessons};

    #[test]
    fn lessons_are_restored_with_their_numbers_and_failures() {
        let folder = tempfile::tempdir().unwrap();
        let lessons = Lessons::open(&folder.path().join("monobloc.db")).unwrap();
        let lesson =
            |problem: &str, vector| Lesson { problem: problem.into(), vector, success: true, ..Lesson::default() };
        lessons.add(&lesson("one", Some(vec![0.5, -0.0]))).unwrap();
        let second = lessons.add(&lesson("zwei ü", None)).unwrap();
        lessons.record_failure(second).unwrap();
        let (rows, before) = (lessons.rows().unwrap(), lessons.list(10).unwrap());
        lessons.forget(second).unwrap();
        lessons.add(&lesson("three", None)).unwrap();
        lessons.restore(&rows).unwrap();
        assert_eq!((lessons.rows().unwrap(), lessons.list(10).unwrap()), (rows.clone(), before));
        lessons.restore(&[rows[0].clone(), b"i of another form".to_vec()]).unwrap();
        assert_eq!(lessons.rows().unwrap(), rows, "what cannot be read changes nothing");
    }
}
