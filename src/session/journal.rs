//! Keeps the events of every turn in the project's database, and sums up what turns cost.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, params};

use crate::protocol::{Event, Record, TurnFinished, Usage};

/// How long a write waits for another process that has the database.
const BUSY_WAIT: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
#[error("the journal {path} failed: {source}; if this stays, move the file away, a new one is made")]
pub struct JournalError {
    path: PathBuf,
    source: rusqlite::Error,
}

/// The table `events` of one database.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    connection: Connection,
}

/// What one turn took.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnCost {
    pub time: String,
    pub request: String,
    pub usage: Usage,
}

impl Journal {
    /// Opens a journal that must be there already.
    pub fn existing(path: &Path) -> Result<Option<Journal>, JournalError> {
        if path.exists() { Journal::open(path).map(Some) } else { Ok(None) }
    }

    /// Opens or makes the journal; the folder is made too.
    pub fn open(path: &Path) -> Result<Journal, JournalError> {
        let failed = |source| JournalError { path: path.to_owned(), source };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|error| failed(rusqlite::Error::ToSqlConversionFailure(error.into())))?;
        }
        let connection = Connection::open(path).map_err(failed)?;
        connection.busy_timeout(BUSY_WAIT).map_err(failed)?;
        connection
            .execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
                 CREATE TABLE IF NOT EXISTS events (
                     id INTEGER PRIMARY KEY, conversation TEXT NOT NULL, time TEXT NOT NULL, record TEXT NOT NULL);",
            )
            .map_err(failed)?;
        Ok(Journal { path: path.to_owned(), connection })
    }

    /// Adds one event. Tokens and signs of life are left out: the answer stands in `turn-finished`.
    pub fn append(&self, record: &Record) -> Result<(), JournalError> {
        let fleeting = matches!(
            record.event,
            Event::Token { .. }
                | Event::Thinking { .. }
                | Event::Pulse { .. }
                | Event::QueueUpdate { .. }
                | Event::ModelLoading { .. }
        );
        if fleeting {
            return Ok(());
        }
        let text = serde_json::to_string(record).unwrap_or_default();
        self.connection
            .execute(
                "INSERT INTO events (conversation, time, record) VALUES (?1, ?2, ?3)",
                params![record.conversation.0, record.time, text],
            )
            .map(|_| ())
            .map_err(|source| JournalError { path: self.path.clone(), source })
    }

    /// The last `count` turns that were finished, oldest first.
    pub fn turns(&self, count: usize) -> Result<Vec<TurnCost>, JournalError> {
        let failed = |source| JournalError { path: self.path.clone(), source };
        let mut query = self
            .connection
            .prepare("SELECT record FROM events WHERE record LIKE '%\"turn-finished\"%' ORDER BY id DESC LIMIT ?1")
            .map_err(failed)?;
        let rows = query.query_map([count as i64], |row| row.get::<_, String>(0)).map_err(failed)?;
        let mut turns: Vec<TurnCost> = rows
            .filter_map(Result::ok)
            .filter_map(|text| serde_json::from_str::<Record>(&text).ok())
            .filter_map(|record| match record.event {
                Event::TurnFinished(TurnFinished { request, usage, .. }) => {
                    Some(TurnCost { time: record.time, request, usage })
                }
                _ => None,
            })
            .collect();
        turns.reverse();
        Ok(turns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ConversationId;

    #[test]
    fn finished_turns_are_found_again_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::open(&folder.path().join("sub/monobloc.db")).unwrap();
        let conversation = ConversationId::fresh();
        for request in ["first", "second", "third"] {
            let finished = TurnFinished {
                request: request.to_owned(),
                answer: "done".to_owned(),
                steps: Vec::new(),
                usage: Usage { model_calls: 2, ..Usage::default() },
            };
            journal.append(&Record::now(&conversation, Event::Token { text: "x".to_owned() })).unwrap();
            journal.append(&Record::now(&conversation, Event::TurnFinished(finished))).unwrap();
        }
        let turns = journal.turns(2).unwrap();
        assert_eq!(turns.iter().map(|turn| turn.request.as_str()).collect::<Vec<_>>(), ["second", "third"]);
        assert_eq!(turns[0].usage.model_calls, 2);
    }
}
