//! Stores lessons in a table of the project's database, limits their number and size, and hides
//! those that failed twice.

use crate::base::lock;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use rusqlite::{Connection, Row, params};
use serde::de::IgnoredAny;

use super::{Found, Lesson, Signal, Stored};
use crate::base::mask::Mask;
use crate::base::storage::Trouble;

/// Maximum number of lessons. A search reads all of them: 5,000 with vectors of 384 numbers are 8
/// MB.
const LESSONS_MAX: usize = 5_000;

/// Maximum total size of all texts and vectors, in bytes; every checkpoint stores a copy of them.
const BYTES_MAX: i64 = 16 << 20;

/// A lesson that failed this many times in a row is no longer offered.
const FAILURES_MAX: u32 = 2;

/// Maximum lengths of a lesson's texts, in bytes: they must fit into models with a context of a few
/// thousand tokens.
const PROBLEM_MAX: usize = 2_000;
const SOLUTION_MAX: usize = 8_000;
const WHY_MAX: usize = 2_000;

/// Maximum dimensions of a vector; no common embedder has more than 4,096.
const VECTOR_MAX: usize = 8_192;

#[derive(Debug, thiserror::Error)]
pub enum LessonsError {
    #[error("{}", Trouble::of(source).told("the store of lessons", file, source))]
    Folder { file: PathBuf, source: std::io::Error },
    #[error("{}", trouble(source, file).told("the store of lessons", file, source))]
    Database { file: PathBuf, source: rusqlite::Error },
    #[error("a vector of {0} numbers is too long for a lesson; the maximum is {VECTOR_MAX}")]
    Vector(usize),
}

fn trouble(error: &rusqlite::Error, file: &Path) -> Trouble {
    Trouble::of_database(error.sqlite_error().map(|error| error.extended_code), file)
}

pub struct Lessons {
    file: PathBuf,
    connection: Mutex<Connection>,
    max: usize,
    /// Private data to mask before storing.
    mask: Mask,
}

impl Lessons {
    /// Opens the table in the database `file`; creates both if missing.
    pub fn open(file: &Path) -> Result<Lessons, LessonsError> {
        Lessons::open_with(file, LESSONS_MAX)
    }

    fn open_with(file: &Path, max: usize) -> Result<Lessons, LessonsError> {
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).map_err(|source| LessonsError::Folder { file: file.to_owned(), source })?;
        }
        let connection = prepare(file).map_err(|source| LessonsError::Database { file: file.to_owned(), source })?;
        Ok(Lessons { file: file.to_owned(), connection: Mutex::new(connection), max, mask: Mask::Nothing })
    }

    /// Masks private data in every lesson and query from now on.
    pub fn masking(self, mask: Mask) -> Lessons {
        Lessons { mask, ..self }
    }

    /// Stores a lesson and returns its number. If a lesson with the same problem and solution
    /// exists, it is updated: a success clears its failures, a failure adds one. If a limit is
    /// exceeded, the least useful lessons are deleted: failed ones first, then the oldest.
    pub fn add(&self, lesson: &Lesson) -> Result<i64, LessonsError> {
        let vector = lesson.vector.as_deref().filter(|vector| !vector.is_empty());
        if let Some(vector) = vector.filter(|vector| vector.len() > VECTOR_MAX) {
            return Err(LessonsError::Vector(vector.len()));
        }
        // Masked before the connection is locked, because recognising names may take seconds.
        let [problem, solution, why] =
            [&lesson.problem, &lesson.solution, &lesson.why_worked].map(|text| self.mask.apply(text));
        let id = self.query(|connection| {
            connection.query_row(
                "INSERT INTO lessons (problem, solution, why_worked, tokens_used, success, failures, vector, created)
                 VALUES (?1, ?2, ?3, ?4, ?5, NOT ?5, ?6, unixepoch())
                 ON CONFLICT (problem, solution) DO UPDATE SET
                     why_worked = excluded.why_worked, tokens_used = excluded.tokens_used, success = excluded.success,
                     failures = iif(excluded.success, 0, failures + 1), vector = coalesce(excluded.vector, vector),
                     created = excluded.created
                 RETURNING id",
                params![
                    head(&problem, PROBLEM_MAX),
                    head(&solution, SOLUTION_MAX),
                    head(&why, WHY_MAX),
                    i64::try_from(lesson.tokens_used).unwrap_or(i64::MAX),
                    lesson.success,
                    vector.map(to_blob),
                ],
                |row| row.get(0),
            )
        })?;
        self.query(|connection| {
            // Deletes all lessons except the most useful ones that fit within both limits.
            connection.execute(
                "DELETE FROM lessons WHERE id IN (
                     SELECT id FROM (
                         SELECT id, count(*) OVER best AS place, sum(
                             octet_length(problem) + octet_length(solution) + octet_length(why_worked)
                             + coalesce(octet_length(vector), 0)) OVER best AS bytes
                         FROM lessons
                         WINDOW best AS (ORDER BY id <> ?1, failures, success DESC, created DESC, id DESC))
                     WHERE place > ?2 OR bytes > ?3) AND id <> ?1",
                params![id, self.max as i64, BYTES_MAX],
            )
        })?;
        Ok(id)
    }

    /// The newest lessons, including failed ones.
    pub fn list(&self, limit: usize) -> Result<Vec<Stored>, LessonsError> {
        let limit = limit.min(self.max) as i64;
        self.query(|connection| {
            let mut rows = connection.prepare_cached(&format!("{SELECT} ORDER BY created DESC, id DESC LIMIT ?1"))?;
            rows.query_map([limit], stored)?.collect()
        })
    }

    /// The `k` lessons most similar to the query, best first and newest first on a tie, without
    /// those that failed too often. Vectors are compared if both sides have one of the same length,
    /// else words; lessons with a score of 0 are left out.
    pub fn search(&self, text: &str, vector: Option<&[f32]>, k: usize) -> Result<Vec<Found>, LessonsError> {
        let text = &*self.mask.apply(text);
        let offered: Vec<Stored> = self.query(|connection| {
            let mut rows =
                connection.prepare_cached(&format!("{SELECT} WHERE failures < ?1 ORDER BY created DESC, id DESC"))?;
            rows.query_map([FAILURES_MAX], stored)?.collect()
        })?;
        let mut found: Vec<Found> = offered
            .into_iter()
            .map(|stored| {
                let (score, by) = score(text, vector, &stored.lesson);
                Found { stored, score, by }
            })
            .filter(|found| found.score > 0.0)
            .collect();
        found.sort_by(|a, b| b.score.total_cmp(&a.score));
        found.truncate(k);
        Ok(found)
    }

    /// Deletes a lesson; returns whether it existed.
    pub fn forget(&self, id: i64) -> Result<bool, LessonsError> {
        self.run("DELETE FROM lessons WHERE id = ?1", id)
    }

    /// Records that a lesson was used and helped, which clears its failures. Returns whether the
    /// lesson exists.
    pub fn record_success(&self, id: i64) -> Result<bool, LessonsError> {
        self.run("UPDATE lessons SET failures = 0, created = unixepoch() WHERE id = ?1", id)
    }

    /// Records that a lesson was used and did not help. Returns whether the lesson exists.
    pub fn record_failure(&self, id: i64) -> Result<bool, LessonsError> {
        self.run("UPDATE lessons SET failures = failures + 1 WHERE id = ?1", id)
    }

    fn run(&self, sql: &str, id: i64) -> Result<bool, LessonsError> {
        Ok(self.query(|connection| connection.execute(sql, [id]))? > 0)
    }

    /// Every lesson as a JSON row; equal lessons yield equal bytes.
    pub fn rows(&self) -> Result<Vec<Vec<u8>>, LessonsError> {
        let sql =
            "SELECT json_array(id, problem, solution, why_worked, tokens_used, success, failures, hex(vector), created)
                   FROM lessons ORDER BY id";
        self.query(|connection| {
            let mut query = connection.prepare_cached(sql)?;
            query.query_map([], |row| row.get::<_, String>(0).map(String::into_bytes))?.collect()
        })
    }

    /// Replaces all lessons with the output of [`Lessons::rows`], in one transaction. If the format
    /// differs, returns false and changes nothing.
    pub fn restore(&self, rows: &[Vec<u8>]) -> Result<bool, LessonsError> {
        let texts = rows.iter().map(|row| std::str::from_utf8(row).ok());
        let is_json = |text: &&str| serde_json::from_str::<IgnoredAny>(text).is_ok();
        let Some(texts) = texts.map(|text| text.filter(is_json)).collect::<Option<Vec<&str>>>() else {
            return Ok(false);
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
        })?;
        Ok(true)
    }

    fn query<T>(&self, ask: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, LessonsError> {
        // Poisoning is ignored, because SQLite's state stays consistent after a panic.
        let connection: MutexGuard<'_, Connection> = lock(&self.connection);
        ask(&connection).map_err(|source| LessonsError::Database { file: self.file.clone(), source })
    }
}

const SELECT: &str =
    "SELECT id, problem, solution, why_worked, tokens_used, success, failures, vector, created FROM lessons";

fn prepare(file: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(file)?;
    // Other stores write to the same file, but only for a short time.
    connection.busy_timeout(Duration::from_secs(10))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS lessons (
             id INTEGER PRIMARY KEY AUTOINCREMENT,
             problem TEXT NOT NULL,
             solution TEXT NOT NULL,
             why_worked TEXT NOT NULL,
             tokens_used INTEGER NOT NULL,
             success INTEGER NOT NULL,
             failures INTEGER NOT NULL,
             vector BLOB,
             created INTEGER NOT NULL,
             UNIQUE (problem, solution)
         ) STRICT",
    )?;
    Ok(connection)
}

fn stored(row: &Row) -> rusqlite::Result<Stored> {
    let lesson = Lesson {
        problem: row.get(1)?,
        solution: row.get(2)?,
        why_worked: row.get(3)?,
        tokens_used: u64::try_from(row.get::<_, i64>(4)?).unwrap_or(0),
        success: row.get(5)?,
        vector: row.get::<_, Option<Vec<u8>>>(7)?.and_then(|blob| from_blob(&blob)),
    };
    Ok(Stored { id: row.get(0)?, lesson, failures: row.get(6)?, created: row.get(8)? })
}

fn score(text: &str, vector: Option<&[f32]>, lesson: &Lesson) -> (f32, Signal) {
    match (vector, &lesson.vector) {
        (Some(query), Some(known)) if query.len() == known.len() && !query.is_empty() => {
            (kernels::cosine(query, known)[0], Signal::Vector)
        }
        _ => (overlap(text, &lesson.problem), Signal::Words),
    }
}

/// Dice coefficient of the two sets of words: 0 if they share no words, 1 if they share all.
/// Ignores case, and words of fewer than three letters unless a text has no others.
fn overlap(a: &str, b: &str) -> f32 {
    let (a, b) = (words(a), words(b));
    let shared = a.intersection(&b).count();
    if shared == 0 { 0.0 } else { 2.0 * shared as f32 / (a.len() + b.len()) as f32 }
}

fn words(text: &str) -> HashSet<String> {
    let all: HashSet<String> =
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    let long: HashSet<String> = all.iter().filter(|word| word.chars().count() > 2).cloned().collect();
    if long.is_empty() { all } else { long }
}

/// A vector as stored: consecutive little-endian f32.
fn to_blob(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// The vector in a blob; `None` if it is damaged (not a whole number of f32), in which case the
/// lesson is found by words.
fn from_blob(blob: &[u8]) -> Option<Vec<f32>> {
    let (numbers, rest) = blob.as_chunks::<4>();
    (rest.is_empty() && !numbers.is_empty()).then(|| numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
}

/// The first `bytes` bytes of a text, or up to three fewer to end between characters.
fn head(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

#[cfg(test)]
mod tests;
