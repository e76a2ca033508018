//! Stores lessons in a table of the project's database, limits their number and size, and hides those that failed twice.

use crate::base::lock;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::likeness::overlap;
use super::{Found, Lesson, Signal, Stored};
use crate::base::mask::Mask;

/// Most lessons. A search reads all of them: 5,000 with vectors of 384 numbers are 8 MB.
pub const LESSONS_MAX: usize = 5_000;

/// Most bytes of all texts and vectors together; every checkpoint stores a copy of them.
const BYTES_MAX: i64 = 16 << 20;

/// A lesson that failed this often in a row is not offered any more.
pub const FAILURES_MAX: u32 = 2;

/// Longest texts of a lesson in bytes: models with a context of a few thousand tokens read them.
const PROBLEM_MAX: usize = 2_000;
const SOLUTION_MAX: usize = 8_000;
const WHY_MAX: usize = 2_000;

/// Most dimensions of a vector; no common embedder has more than 4,096.
const VECTOR_MAX: usize = 8_192;

#[derive(Debug, thiserror::Error)]
pub enum LessonsError {
    #[error("the folder of {} cannot be made: {source}", file.display())]
    Folder { file: PathBuf, source: std::io::Error },
    #[error("lessons in {} cannot be used: {source}; delete that file to begin anew", file.display())]
    Database { file: PathBuf, source: rusqlite::Error },
    #[error("a vector of {0} numbers is too long for a lesson; the most is {VECTOR_MAX}")]
    Vector(usize),
}

/// The lessons of one project. Threads may share it.
pub struct Lessons {
    file: PathBuf,
    connection: Mutex<Connection>,
    max: usize,
    /// Private data that is masked before storing.
    mask: Mask,
}

impl Lessons {
    /// Opens the table in the database `file`, creating both if they are missing.
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

    fn masked<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.mask.apply(text)
    }

    /// Stores a lesson and returns its number. A lesson with the same problem and solution is updated: a success clears its
    /// failures, a failure adds one. Above the limits the least useful lessons are deleted: failed ones first, then the oldest.
    pub fn add(&self, lesson: &Lesson) -> Result<i64, LessonsError> {
        let vector = lesson.vector.as_deref().filter(|vector| !vector.is_empty());
        if let Some(vector) = vector.filter(|vector| vector.len() > VECTOR_MAX) {
            return Err(LessonsError::Vector(vector.len()));
        }
        // Masked before the connection is locked, because judging names may take seconds.
        let [problem, solution, why] =
            [&lesson.problem, &lesson.solution, &lesson.why_worked].map(|text| self.masked(text));
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
            // Deletes all lessons after the first ones, by usefulness, that fit both limits.
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

    /// The newest lessons, failed ones too.
    pub fn list(&self, limit: usize) -> Result<Vec<Stored>, LessonsError> {
        let limit = limit.min(self.max) as i64;
        self.query(|connection| {
            let mut rows = connection.prepare_cached(&format!("{SELECT} ORDER BY created DESC, id DESC LIMIT ?1"))?;
            rows.query_map([limit], stored)?.collect()
        })
    }

    /// The `k` lessons most similar to the query, best first, without those that failed too often. Each is compared by vectors if
    /// both sides have one of the same length, else by words; lessons with a score of 0 are left out.
    pub fn search(&self, text: &str, vector: Option<&[f32]>, k: usize) -> Result<Vec<Found>, LessonsError> {
        let text = &*self.masked(text);
        let offered: Vec<Stored> = self.query(|connection| {
            let mut rows = connection.prepare_cached(&format!("{SELECT} WHERE failures < ?1 ORDER BY id"))?;
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
        found.sort_by(|a, b| b.score.partial_cmp(&a.score).unwrap_or(Ordering::Equal));
        found.truncate(k);
        Ok(found)
    }

    /// The newest successful lesson for exactly this problem, unless it failed too often since.
    pub fn same(&self, problem: &str) -> Result<Option<Stored>, LessonsError> {
        let problem = head(&self.masked(problem), PROBLEM_MAX).to_owned();
        self.query(|connection| {
            let sql =
                format!("{SELECT} WHERE problem = ?1 AND success AND failures < ?2 ORDER BY created DESC, id DESC");
            connection.prepare_cached(&sql)?.query_row(params![problem, FAILURES_MAX], stored).optional()
        })
    }

    /// Deletes a lesson; returns whether it existed.
    pub fn forget(&self, id: i64) -> Result<bool, LessonsError> {
        Ok(self.query(|connection| connection.execute("DELETE FROM lessons WHERE id = ?1", [id]))? > 0)
    }

    /// Records that a lesson was used and helped, which clears its failures. Returns whether it exists.
    pub fn record_success(&self, id: i64) -> Result<bool, LessonsError> {
        let update = "UPDATE lessons SET failures = 0, created = unixepoch() WHERE id = ?1";
        Ok(self.query(|connection| connection.execute(update, [id]))? > 0)
    }

    /// Records that a lesson was used and did not help. Returns whether it exists.
    pub fn record_failure(&self, id: i64) -> Result<bool, LessonsError> {
        let update = "UPDATE lessons SET failures = failures + 1 WHERE id = ?1";
        Ok(self.query(|connection| connection.execute(update, [id]))? > 0)
    }

    pub(super) fn query<T>(&self, ask: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, LessonsError> {
        // Poisoning is ignored, because SQLite's state stays consistent after a panic.
        let connection: MutexGuard<'_, Connection> = lock(&self.connection);
        ask(&connection).map_err(|source| LessonsError::Database { file: self.file.clone(), source })
    }
}

const SELECT: &str =
    "SELECT id, problem, solution, why_worked, tokens_used, success, failures, vector, created FROM lessons";

fn prepare(file: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(file)?;
    // Other stores write to the same file, but only briefly.
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

/// A vector as stored: little-endian f32, one after the other.
fn to_blob(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// The vector of a blob; `None` if it is damaged (no whole number of f32), so that the lesson is found by words.
fn from_blob(blob: &[u8]) -> Option<Vec<f32>> {
    let (numbers, rest) = blob.as_chunks::<4>();
    (rest.is_empty() && !numbers.is_empty()).then(|| numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
}

/// The first `bytes` bytes of a text, or up to three fewer to end between characters.
fn head(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh(max: usize) -> (tempfile::TempDir, Lessons) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let lessons = Lessons::open_with(&folder.path().join(".monobloc/monobloc.db"), max).expect("a new database");
        (folder, lessons)
    }

    fn lesson(problem: &str) -> Lesson {
        Lesson { problem: problem.into(), solution: "so".into(), success: true, ..Lesson::default() }
    }

    fn with_vector(problem: &str, vector: &[f32]) -> Lesson {
        Lesson { vector: Some(vector.to_vec()), ..lesson(problem) }
    }

    fn check(lessons: &Lessons, text: &str, vector: Option<&[f32]>, expected: &[&str]) {
        let found = lessons.search(text, vector, 10).expect("a search");
        let problems: Vec<&str> = found.iter().map(|found| &found.stored.lesson.problem[..]).collect();
        assert_eq!(problems, expected, "{text}");
    }

    #[test]
    fn a_stored_lesson_is_read_back_unchanged_after_reopening() {
        let (folder, lessons) = fresh(10);
        let written = Lesson {
            problem: "the build fails without cmake".into(),
            solution: "install cmake".into(),
            why_worked: "the build script calls it".into(),
            tokens_used: 1234,
            success: true,
            vector: Some(vec![0.6, -0.8]),
        };
        let id = lessons.add(&written).unwrap();
        drop(lessons);
        let lessons = Lessons::open(&folder.path().join(".monobloc/monobloc.db")).unwrap();
        let listed = lessons.list(10).unwrap();
        assert_eq!((listed[0].id, &listed[0].lesson, listed[0].failures), (id, &written, 0));
        assert!(listed[0].created > 1_700_000_000);
    }

    #[test]
    fn lessons_without_vectors_are_found_by_words() {
        let (_folder, lessons) = fresh(10);
        lessons.add(&lesson("retry a request that timed out")).unwrap();
        lessons.add(&lesson("rename a function in every file")).unwrap();
        check(&lessons, "Request timed out, retry?", None, &["retry a request that timed out"]);
        check(&lessons, "rename the function", None, &["rename a function in every file"]);
        check(&lessons, "something else entirely", None, &[]);
        check(&lessons, "", None, &[]);
    }

    #[test]
    fn vectors_are_preferred_to_words_and_each_hit_names_its_signal() {
        let (_folder, lessons) = fresh(10);
        lessons.add(&with_vector("east", &[1.0, 0.0])).unwrap();
        lessons.add(&with_vector("north east", &[1.0, 1.0])).unwrap();
        lessons.add(&with_vector("west", &[-1.0, 0.0])).unwrap();
        lessons.add(&lesson("going east today quickly")).unwrap();
        check(&lessons, "east", Some(&[2.0, 0.0]), &["east", "north east", "going east today quickly"]);
        let found = lessons.search("east", Some(&[2.0, 0.0]), 10).unwrap();
        assert_eq!(found.iter().map(|f| f.by).collect::<Vec<_>>(), [Signal::Vector, Signal::Vector, Signal::Words]);
        check(&lessons, "west", Some(&[1.0, 0.0, 0.0]), &["west"]);
        assert_eq!(lessons.search("east", Some(&[2.0, 0.0]), 1).unwrap().len(), 1);
    }

    #[test]
    fn a_lesson_that_failed_twice_is_not_offered_until_it_works_again() {
        let (_folder, lessons) = fresh(10);
        let id = lessons.add(&lesson("flaky test")).unwrap();
        assert!(lessons.record_failure(id).unwrap());
        check(&lessons, "flaky test", None, &["flaky test"]);
        assert!(lessons.record_failure(id).unwrap());
        check(&lessons, "flaky test", None, &[]);
        assert_eq!(lessons.list(10).unwrap().len(), 1);
        assert_eq!(lessons.add(&lesson("flaky test")).unwrap(), id, "the same lesson keeps its number");
        check(&lessons, "flaky test", None, &["flaky test"]);
        assert!(!lessons.record_failure(id + 99).unwrap());
    }

    #[test]
    fn a_failure_learned_twice_is_not_offered() {
        let (_folder, lessons) = fresh(10);
        let failure = Lesson { success: false, ..lesson("flaky test") };
        lessons.add(&failure).unwrap();
        check(&lessons, "flaky test", None, &["flaky test"]);
        lessons.add(&failure).unwrap();
        check(&lessons, "flaky test", None, &[]);
    }

    #[test]
    fn above_the_limit_failed_lessons_are_deleted_first_then_the_oldest() {
        let (_folder, lessons) = fresh(3);
        lessons.add(&lesson("one")).unwrap();
        let failed = lessons.add(&lesson("two")).unwrap();
        lessons.record_failure(failed).unwrap();
        lessons.add(&lesson("three")).unwrap();
        lessons.add(&lesson("four")).unwrap();
        lessons.add(&lesson("five")).unwrap();
        let problems: Vec<String> = lessons.list(10).unwrap().into_iter().map(|s| s.lesson.problem).collect();
        assert_eq!(problems, ["five", "four", "three"]);
        lessons.add(&Lesson { success: false, ..lesson("six") }).unwrap();
        assert_eq!(lessons.list(1).unwrap()[0].lesson.problem, "six", "what was just learned stays");
    }

    #[test]
    fn a_forgotten_lesson_is_not_found() {
        let (_folder, lessons) = fresh(10);
        let id = lessons.add(&lesson("one")).unwrap();
        assert!(lessons.forget(id).unwrap());
        assert!(!lessons.forget(id).unwrap());
        check(&lessons, "one", None, &[]);
    }

    #[test]
    fn long_texts_are_cut_between_characters_and_long_vectors_refused() {
        let (_folder, lessons) = fresh(10);
        lessons.add(&lesson(&"ü".repeat(1_000_000))).unwrap();
        assert_eq!(lessons.list(1).unwrap()[0].lesson.problem.len(), PROBLEM_MAX);
        lessons.add(&lesson(&format!("x{}", "ü".repeat(5_000)))).unwrap();
        assert_eq!(lessons.list(1).unwrap()[0].lesson.problem.len(), PROBLEM_MAX - 1);
        let refused = lessons.add(&with_vector("long", &vec![0.5; VECTOR_MAX + 1])).unwrap_err();
        assert!(refused.to_string().contains("8193"), "{refused}");
    }

    #[test]
    fn a_file_that_is_no_database_is_named_with_the_way_out() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("monobloc.db");
        fs::write(&file, "this is a text and no database, and it is long enough to be looked at".repeat(20)).unwrap();
        let Err(error) = Lessons::open(&file) else { panic!("a text was opened as a database") };
        assert!(error.to_string().contains("monobloc.db") && error.to_string().contains("delete"), "{error}");
    }

    #[test]
    fn two_stores_on_one_file_see_each_others_lessons() {
        let (folder, lessons) = fresh(10);
        let other = Lessons::open(&folder.path().join(".monobloc/monobloc.db")).unwrap();
        other.add(&lesson("shared knowledge")).unwrap();
        check(&lessons, "shared knowledge", None, &["shared knowledge"]);
    }

    #[test]
    fn the_same_problem_is_found_until_its_solution_failed_twice() {
        let (_folder, lessons) = fresh(10);
        let lesson = |problem: &str| Lesson { problem: problem.into(), success: true, ..Lesson::default() };
        let id = lessons.add(&lesson("read a.ts")).unwrap();
        lessons.add(&lesson("read b.ts")).unwrap();
        let same = || lessons.same("read a.ts").unwrap().map(|stored| stored.id);
        assert_eq!(same(), Some(id));
        lessons.record_failure(id).unwrap();
        assert_eq!(same(), Some(id));
        lessons.record_failure(id).unwrap();
        assert_eq!(same(), None);
        lessons.record_success(id).unwrap();
        assert_eq!(same(), Some(id));
    }

    #[test]
    fn private_data_is_masked_and_the_lesson_still_found() {
        let (_folder, lessons) = fresh(10);
        let lessons = lessons.masking(Mask::Forms);
        let problem = "mail ada@lovelace.org the notes";
        let lesson = Lesson {
            problem: problem.into(),
            solution: "to ada@lovelace.org".into(),
            success: true,
            ..Lesson::default()
        };
        lessons.add(&lesson).unwrap();
        let found = lessons.same(problem).unwrap().unwrap().lesson;
        assert_eq!((found.problem.as_str(), found.solution.as_str()), ("mail [email] the notes", "to [email]"));
        assert_eq!(lessons.search(problem, None, 5).unwrap()[0].score, 1.0);
    }

    #[test]
    fn the_total_size_of_lessons_is_limited() {
        let (_folder, lessons) = fresh(LESSONS_MAX);
        // Each takes 40 KB with its vector.
        let add = |n: usize| {
            let (problem, vector) = (format!("problem {n}"), Some(vec![n as f32; VECTOR_MAX]));
            let solution = "x".repeat(SOLUTION_MAX);
            lessons.add(&Lesson { problem, solution, success: true, vector, ..Lesson::default() }).unwrap()
        };
        let first = add(0);
        let last = (1..450).map(add).last().unwrap();
        let kept: Vec<i64> = lessons.list(LESSONS_MAX).unwrap().iter().map(|stored| stored.id).collect();
        assert!(kept.contains(&last) && !kept.contains(&first));
        assert!(kept.len() * 40_000 < BYTES_MAX as usize + 100_000 && kept.len() > 300, "{}", kept.len());
    }

    /// Records whether another thread can use the lessons while it judges.
    struct Slow(std::sync::OnceLock<std::sync::Weak<Lessons>>, std::sync::atomic::AtomicBool);

    impl crate::base::mask::Judge for Slow {
        fn odds(&self, asked: &[(crate::base::names::Form, &str)]) -> Vec<f64> {
            let lessons = self.0.get().and_then(std::sync::Weak::upgrade).unwrap();
            let (done, listed) = std::sync::mpsc::channel();
            std::thread::spawn(move || done.send(lessons.list(1).is_ok()));
            let free = listed.recv_timeout(Duration::from_secs(10)).unwrap_or(false);
            self.1.store(free, std::sync::atomic::Ordering::Relaxed);
            vec![0.0; asked.len()]
        }
    }

    #[test]
    fn judging_names_does_not_block_other_threads() {
        let folder = tempfile::tempdir().unwrap();
        let judge = std::sync::Arc::new(Slow(Default::default(), Default::default()));
        let lessons = Lessons::open(&folder.path().join("l.db")).unwrap().masking(Mask::Names(judge.clone()));
        let lessons = std::sync::Arc::new(lessons);
        judge.0.set(std::sync::Arc::downgrade(&lessons)).unwrap();
        let problem = "Send the offer to Anna Berg in Oslo".to_owned();
        lessons
            .add(&Lesson {
                problem,
                solution: String::new(),
                why_worked: String::new(),
                tokens_used: 0,
                success: true,
                vector: None,
            })
            .unwrap();
        assert!(judge.1.load(std::sync::atomic::Ordering::Relaxed));
    }
}
