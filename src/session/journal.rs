//! The journal of a project: every request, call, decision and result in one append-only file with a hash chain.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::chain::{self, Damage, LINE_MAX, Link};
use crate::base::storage::Trouble;
use crate::protocol::{Event, Record};

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("{}", Trouble::of(source).told("the journal", path, source))]
    File { path: PathBuf, source: io::Error },
    #[error("the journal {path}: {damage}; `monobloc audit verify` reports the same; the records before it are intact")]
    Damaged { path: PathBuf, damage: Damage },
}

/// `.monobloc/journal.ndjson`, with one record per line (see [`chain`]). Several processes may
/// append to the same file.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// The last record as this process last saw it.
    end: Link,
    /// Length of the file at that time, in bytes.
    length: u64,
}

/// A record and its number in the journal, counted from 1.
#[derive(Clone, Debug)]
pub struct Entry {
    pub seq: u64,
    pub record: Record,
}

impl Journal {
    /// Opens the journal; `None` if the file does not exist.
    pub fn existing(path: &Path) -> Result<Option<Journal>, JournalError> {
        if path.exists() { Journal::open(path).map(Some) } else { Ok(None) }
    }

    /// Opens the journal, creating file and folder if they do not exist.
    pub fn open(path: &Path) -> Result<Journal, JournalError> {
        let failed = |source| JournalError::File { path: path.to_owned(), source };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        // Readable only by its owner, because it contains requests and answers.
        let mut options = OpenOptions::new();
        let file = options.read(true).append(true).create(true).mode(0o600).open(path).map_err(failed)?;
        let mut journal = Journal { path: path.to_owned(), file, end: Link::start(), length: 0 };
        journal.exclusively(Journal::find_end)?;
        Ok(journal)
    }

    pub fn end(&self) -> &Link {
        &self.end
    }

    /// Whether an event is stored. Tokens, thoughts and signs of life are not, because
    /// `turn-finished` has the answer; nor is the beginning of a call, because `step-completed` has
    /// the same data and the outcome.
    pub fn keeps(event: &Event) -> bool {
        let is_told_later = matches!(event, Event::Token { .. } | Event::Thinking { .. } | Event::CallStarted { .. });
        !event.is_sign_of_life() && !is_told_later
    }

    /// Adds an event, unless events of this kind are not stored.
    pub fn append(&mut self, record: &Record) -> Result<(), JournalError> {
        if !Journal::keeps(&record.event) {
            return Ok(());
        }
        let text = serde_json::to_string(record).map_err(|error| self.error(error.into()))?;
        // The end of a turn, a checkpoint and a rewind must be on disk before anything else
        // happens.
        let is_synced =
            matches!(record.event, Event::TurnFinished(_) | Event::CheckpointMade { .. } | Event::Rewound(_));
        self.exclusively(|journal| {
            journal.find_end()?;
            let (line, end) = journal.end.next(&text);
            journal.file.write_all(line.as_bytes())?;
            if is_synced {
                journal.file.sync_data()?;
            }
            (journal.length, journal.end) = (journal.length + line.len() as u64, end);
            Ok(())
        })
    }

    /// Every record in order; an error if the chain is damaged.
    pub fn entries(&self) -> Result<Vec<Entry>, JournalError> {
        let mut entries = Vec::new();
        let ended = self.follow(|link, record, _| {
            // A newer version may have written kinds of records that this version cannot read.
            if let Ok(record) = serde_json::from_str(record) {
                entries.push(Entry { seq: link.seq, record });
            }
        })?;
        match ended {
            Ok(_) => Ok(entries),
            Err(damage) => Err(JournalError::Damaged { path: self.path.clone(), damage }),
        }
    }

    /// Reads and checks the chain from the beginning; see [`chain::follow`].
    pub fn follow(&self, take: impl FnMut(&Link, &str, &[u8])) -> Result<Result<Link, Damage>, JournalError> {
        let file = File::open(&self.path).map_err(|error| self.error(error))?;
        chain::follow(BufReader::new(file), take).map_err(|error| self.error(error))
    }

    /// Runs `work` while holding the file's lock.
    fn exclusively<T>(&mut self, work: impl FnOnce(&mut Journal) -> io::Result<T>) -> Result<T, JournalError> {
        // Held only while one line is written; the system releases the lock if the process dies.
        let done = self.file.lock().and_then(|()| {
            let done = work(self);
            self.file.unlock().and(done)
        });
        done.map_err(|error| self.error(error))
    }

    /// Updates `end` if another process has written to the file; repairs an incomplete last line.
    fn find_end(&mut self) -> io::Result<()> {
        let length = self.file.metadata()?.len();
        if length == self.length {
            return Ok(());
        }
        let (tail, complete) = last_line(&mut self.file, length)?;
        if !complete {
            return self.mend(&tail, length);
        }
        self.length = length;
        self.end = chain::parse(&tail).map(|(_, link)| link).ok_or_else(|| {
            let why = "its last record is damaged; `monobloc audit verify` names it";
            io::Error::new(io::ErrorKind::InvalidData, why)
        })?;
        Ok(())
    }

    /// Repairs a last line without a newline: completes it if only the newline is missing, fails if
    /// the newline was changed, and otherwise removes the line, because a killed process wrote only
    /// part of it.
    fn mend(&mut self, tail: &[u8], length: u64) -> io::Result<()> {
        let whole = |line: &[u8]| chain::parse(line).is_some();
        if whole(tail) {
            self.file.write_all(b"\n")?;
        } else if tail.split_last().is_some_and(|(_, rest)| whole(rest)) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the end of its last line was changed"));
        } else {
            self.file.set_len(length - tail.len() as u64)?;
        }
        self.length = 0;
        self.end = Link::start();
        match self.file.metadata()?.len() {
            0 => Ok(()),
            _ => self.find_end(),
        }
    }

    fn error(&self, source: io::Error) -> JournalError {
        JournalError::File { path: self.path.clone(), source }
    }
}

/// The last line of a file, without its newline, and whether it has a newline (true for an empty
/// file).
fn last_line(file: &mut File, length: u64) -> io::Result<(Vec<u8>, bool)> {
    const BLOCK: u64 = 16 << 10;
    let mut tail: Vec<u8> = Vec::new();
    let mut from = length;
    while from > 0 && tail.len() <= LINE_MAX {
        let block = BLOCK.min(from);
        from -= block;
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = vec![0; block as usize];
        file.read_exact(&mut bytes)?;
        bytes.append(&mut tail);
        tail = bytes;
        let body = tail.strip_suffix(b"\n").unwrap_or(&tail);
        if let Some(start) = body.iter().rposition(|byte| *byte == b'\n') {
            tail.drain(..=start);
            break;
        }
    }
    let complete = tail.last() == Some(&b'\n');
    if complete {
        tail.pop();
    }
    Ok((tail, complete || length == 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ConversationId;
    use crate::protocol::{TurnFinished, Usage};

    fn finished(request: &str) -> Event {
        Event::TurnFinished(TurnFinished {
            request: request.to_owned(),
            answer: "done".to_owned(),
            steps: Vec::new(),
            usage: Usage { model_calls: 2, ..Usage::default() },
        })
    }

    fn record(event: Event) -> Record {
        Record::now(&ConversationId::fresh(), event)
    }

    /// A journal of finished turns with these requests, and the journal's path.
    fn journal(requests: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sub/journal.ndjson");
        let mut journal = Journal::open(&path).unwrap();
        requests.iter().for_each(|request| journal.append(&record(finished(request))).unwrap());
        (folder, path)
    }

    fn requests(journal: &Journal, count: usize) -> Vec<String> {
        crate::session::telemetry(journal, count).unwrap().into_iter().map(|turn| turn.request).collect()
    }

    #[test]
    fn finished_turns_are_read_back_in_order_and_tokens_are_not_kept() {
        let (_folder, path) = journal(&["first", "second"]);
        let mut journal = Journal::open(&path).unwrap();
        journal.append(&record(Event::Token { text: "x".to_owned() })).unwrap();
        journal.append(&record(finished("third"))).unwrap();
        assert_eq!(requests(&journal, 2), ["second", "third"]);
        assert_eq!(journal.entries().unwrap().iter().map(|entry| entry.seq).collect::<Vec<_>>(), [1, 2, 3]);
    }

    #[test]
    fn several_writers_make_one_chain() {
        let (_folder, path) = journal(&[]);
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let path = &path;
                scope.spawn(move || {
                    let mut journal = Journal::open(path).unwrap();
                    for turn in 0..25 {
                        journal.append(&record(finished(&format!("{writer} {turn}")))).unwrap();
                    }
                });
            }
        });
        assert_eq!(Journal::open(&path).unwrap().entries().unwrap().len(), 100);
    }

    #[test]
    fn a_line_cut_short_by_a_kill_is_removed_and_the_chain_continues() {
        let (_folder, path) = journal(&["one", "two"]);
        let text = fs::read(&path).unwrap();
        let first = 1 + text.iter().position(|byte| *byte == b'\n').unwrap();
        for length in 0..text.len() {
            fs::write(&path, &text[..length]).unwrap();
            let mut journal = Journal::open(&path).unwrap();
            journal.append(&record(finished("three"))).unwrap();
            let kept: &[&str] = match length {
                length if length + 1 < first => &["three"],
                length if length + 1 < text.len() => &["one", "three"],
                _ => &["one", "two", "three"],
            };
            assert_eq!(requests(&journal, 10), kept, "cut after {length} bytes");
            journal.entries().unwrap();
        }
    }

    #[test]
    fn a_changed_newline_is_reported_as_damage() {
        let (_folder, path) = journal(&["one"]);
        let mut text = fs::read(&path).unwrap();
        *text.last_mut().unwrap() ^= 1;
        fs::write(&path, &text).unwrap();
        assert!(Journal::open(&path).unwrap_err().to_string().contains("was changed"));
        assert_eq!(fs::read(&path).unwrap(), text, "nothing is taken away");
    }
}
