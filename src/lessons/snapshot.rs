//! Serialises all lessons to rows of bytes for checkpoints, and restores them.

use rusqlite::types::Value;
use rusqlite::{params_from_iter, types::ValueRef};

use super::{Lessons, LessonsError};

const COLUMNS: &str = "id, problem, solution, why_worked, tokens_used, success, failures, vector, created";
const WIDTH: usize = 9;

impl Lessons {
    /// Every lesson as one row of bytes; equal lessons give equal bytes.
    pub fn rows(&self) -> Result<Vec<Vec<u8>>, LessonsError> {
        self.query(|connection| {
            let mut query = connection.prepare_cached(&format!("SELECT {COLUMNS} FROM lessons ORDER BY id"))?;
            let row = |row: &rusqlite::Row<'_>| {
                let mut bytes = Vec::new();
                for column in 0..WIDTH {
                    write(&mut bytes, row.get_ref(column)?);
                }
                Ok(bytes)
            };
            query.query_map([], row)?.collect()
        })
    }

    /// Replaces all lessons by the output of [`Lessons::rows`], in one transaction.
    pub fn restore(&self, rows: &[Vec<u8>]) -> Result<(), LessonsError> {
        let values: Option<Vec<Vec<Value>>> = rows.iter().map(|row| read(row)).collect();
        self.query(|connection| {
            let values = values.ok_or_else(|| {
                rusqlite::Error::ToSqlConversionFailure("a row of the checkpoint is no lesson".into())
            })?;
            let change = connection.unchecked_transaction()?;
            change.execute("DELETE FROM lessons", [])?;
            for row in &values {
                let places = ["?"; WIDTH].join(", ");
                let sql = format!("INSERT INTO lessons ({COLUMNS}) VALUES ({places})");
                change.prepare_cached(&sql)?.execute(params_from_iter(row))?;
            }
            change.commit()
        })
    }
}

/// Writes a value: a letter for its type, then eight bytes with the number or the length of the text or blob, which follows.
fn write(bytes: &mut Vec<u8>, value: ValueRef<'_>) {
    let mut long = |kind: u8, content: &[u8]| {
        bytes.push(kind);
        bytes.extend((content.len() as u64).to_le_bytes());
        bytes.extend(content);
    };
    match value {
        ValueRef::Null => long(b'n', &[]),
        ValueRef::Text(text) => long(b't', text),
        ValueRef::Blob(blob) => long(b'b', blob),
        ValueRef::Integer(number) => {
            bytes.push(b'i');
            bytes.extend(number.to_le_bytes());
        }
        ValueRef::Real(number) => {
            bytes.push(b'r');
            bytes.extend(number.to_le_bytes());
        }
    }
}

/// Reads a row; `None` if the bytes are not one.
fn read(mut bytes: &[u8]) -> Option<Vec<Value>> {
    let mut values = Vec::with_capacity(WIDTH);
    while let Some((kind, rest)) = bytes.split_first() {
        let (number, rest) = rest.split_first_chunk::<8>()?;
        let length = usize::try_from(u64::from_le_bytes(*number)).ok();
        let (content, rest) = match kind {
            b'i' | b'r' => (&[][..], rest),
            _ => rest.split_at_checked(length?)?,
        };
        values.push(match kind {
            b'n' => Value::Null,
            b't' => Value::Text(String::from_utf8(content.to_vec()).ok()?),
            b'b' => Value::Blob(content.to_vec()),
            b'i' => Value::Integer(i64::from_le_bytes(*number)),
            b'r' => Value::Real(f64::from_le_bytes(*number)),
            _ => return None,
        });
        bytes = rest;
    }
    (values.len() == WIDTH).then_some(values)
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
        assert!(lessons.restore(&[rows[0][..20].to_vec()]).is_err());
        assert_eq!(lessons.rows().unwrap(), rows, "what is damaged changes nothing");
    }
}
