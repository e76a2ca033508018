//! What was said in a turn, kept in memory: every event has a number, and a reader asks for those after the last it has.

use std::collections::VecDeque;
use std::sync::Mutex;

use serde::Serialize;
use tokio::sync::Notify;

use crate::base::lock;
use crate::protocol::{Event, Mode, Proposal, Record};

/// Most bytes of the events of a turn, as JSON; the oldest go. An answer of 4,000 tokens with its steps takes about 1 MiB.
const BYTES_MAX: usize = 4 << 20;
/// Most events that are handed out at once.
const BATCH_MAX: usize = 256;

/// One thing that was said: an event of the session, or one of the page itself.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Said {
    Record(Box<Record>),
    Own(Own),
}

/// The page's own events.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", content = "data", rename_all = "kebab-case")]
pub enum Own {
    /// The turn begins.
    Asked { text: String, mode: Mode },
    /// A tool call waits for the user's decision. It is named by the number of this event.
    Question { proposal: Proposal },
    /// The question with this number is no longer open; `how` says why.
    QuestionClosed { number: u64, how: &'static str },
    /// Events up to this number are not kept any more.
    Gone { until: u64 },
    /// The last event.
    Ended,
}

struct Entry {
    number: u64,
    said: Said,
    /// Its size as JSON.
    bytes: usize,
}

#[derive(Default)]
struct Kept {
    entries: VecDeque<Entry>,
    bytes: usize,
    /// Number of the newest event; they count from 1.
    last: u64,
    /// Number of the newest event that some reader has. It does not change any more.
    read: u64,
    over: bool,
}

/// The events of one turn.
#[derive(Default)]
pub struct Log {
    kept: Mutex<Kept>,
    changed: Notify,
}

/// Some events in order, each as its number and its JSON.
#[derive(Debug, Default, PartialEq)]
pub struct Batch {
    pub events: Vec<(u64, String)>,
    /// Whether no event follows.
    pub over: bool,
}

impl Log {
    /// Adds an event and returns its number. A token that nobody has read yet grows by the next one, and a sign of life gives
    /// way to the next event.
    pub fn add(&self, said: Said) -> u64 {
        let mut kept = lock(&self.kept);
        if !kept.grows(&said) {
            kept.push(said);
        }
        let last = kept.last;
        drop(kept);
        self.changed.notify_waiters();
        last
    }

    /// Adds the last event.
    pub fn end(&self) {
        let mut kept = lock(&self.kept);
        if !kept.over {
            kept.push(Said::Own(Own::Ended));
            kept.over = true;
        }
        drop(kept);
        self.changed.notify_waiters();
    }

    pub fn is_over(&self) -> bool {
        lock(&self.kept).over
    }

    /// Whether the log has ended and a reader that has the events up to `number` has all.
    pub fn is_read(&self, number: u64) -> bool {
        let kept = lock(&self.kept);
        kept.over && number >= kept.last
    }

    /// The next events after `number`; waits for one if there is none yet.
    pub async fn after(&self, number: u64) -> Batch {
        loop {
            // Made before the events are looked at, it hears of those that come in between.
            let changed = self.changed.notified();
            let batch = lock(&self.kept).after(number);
            if batch.over || !batch.events.is_empty() {
                return batch;
            }
            changed.await;
        }
    }
}

impl Kept {
    /// Whether `said` became part of the last event, which nobody has read.
    fn grows(&mut self, said: &Said) -> bool {
        let Said::Record(new) = said else { return false };
        let Some(entry) = self.entries.back_mut().filter(|entry| entry.number > self.read) else { return false };
        let Said::Record(old) = &mut entry.said else { return false };
        match (&mut old.event, &new.event) {
            (Event::Token { text }, Event::Token { text: more })
            | (Event::Thinking { text }, Event::Thinking { text: more }) => {
                text.push_str(more);
                (entry.bytes, self.bytes) = (entry.bytes + more.len(), self.bytes + more.len());
                true
            }
            (old_event, event) if old_event.is_sign_of_life() && event.is_sign_of_life() => {
                let bytes = size(said);
                self.bytes = self.bytes - entry.bytes + bytes;
                (entry.said, entry.bytes) = (said.clone(), bytes);
                true
            }
            _ => false,
        }
    }

    fn push(&mut self, said: Said) {
        self.last += 1;
        let bytes = size(&said);
        self.bytes += bytes;
        self.entries.push_back(Entry { number: self.last, said, bytes });
        // A single event may be larger than all that are allowed; it stays.
        while self.bytes > BYTES_MAX && self.entries.len() > 1 {
            self.bytes -= self.entries.pop_front().map_or(0, |entry| entry.bytes);
        }
    }

    fn after(&mut self, number: u64) -> Batch {
        let mut events = Vec::new();
        let first = self.entries.front().map_or(1, |entry| entry.number);
        if number.saturating_add(1) < first {
            events.push((first - 1, written(&Said::Own(Own::Gone { until: first - 1 }))));
        }
        let new = self.entries.iter().skip_while(|entry| entry.number <= number);
        events.extend(new.take(BATCH_MAX).map(|entry| (entry.number, written(&entry.said))));
        let read = events.last().map_or(number, |(number, _)| *number);
        self.read = self.read.max(read.min(self.last));
        Batch { events, over: self.over && read >= self.last }
    }
}

/// An event as JSON, which is one line.
pub fn written(said: &Said) -> String {
    serde_json::to_string(said)
        .expect("events have no maps with other keys than texts; this is a bug in serve/page/log.rs")
}

fn size(said: &Said) -> usize {
    written(said).len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ConversationId;

    fn record(event: Event) -> Said {
        Said::Record(Box::new(Record::now(&ConversationId("c1".to_owned()), event)))
    }

    fn token(text: &str) -> Said {
        record(Event::Token { text: text.to_owned() })
    }

    /// The events after `number`, each as its number and its text or type.
    async fn read(log: &Log, number: u64) -> Vec<(u64, String)> {
        let shown = |(number, text): (u64, String)| {
            let event: serde_json::Value = serde_json::from_str(&text).unwrap();
            let text = event["data"]["text"].as_str().or(event["type"].as_str()).unwrap().to_owned();
            (number, text)
        };
        log.after(number).await.events.into_iter().map(shown).collect()
    }

    fn owned(all: &[(u64, &str)]) -> Vec<(u64, String)> {
        all.iter().map(|(number, text)| (*number, (*text).to_owned())).collect()
    }

    #[tokio::test]
    async fn tokens_are_merged_until_somebody_has_read_them() {
        let log = Log::default();
        log.add(token("a"));
        log.add(token("b"));
        assert_eq!(read(&log, 0).await, owned(&[(1, "ab")]));
        log.add(token("c"));
        log.add(token("<d>"));
        assert_eq!(read(&log, 1).await, owned(&[(2, "c<d>")]));
        assert_eq!(read(&log, 0).await, owned(&[(1, "ab"), (2, "c<d>")]), "a second reader gets the same");
        log.end();
        log.end();
        assert_eq!(read(&log, 2).await, owned(&[(3, "ended")]));
        assert!(log.is_read(3) && !log.is_read(2) && log.after(3).await.over);
    }

    #[tokio::test]
    async fn a_sign_of_life_gives_way_to_the_next() {
        let log = Log::default();
        for waited_ms in [1000, 2000] {
            log.add(record(Event::Pulse { phase: "planning".to_owned(), waited_ms }));
        }
        let events = log.after(0).await.events;
        assert!(events.len() == 1 && events[0].1.contains("2000"), "{events:?}");
    }

    #[tokio::test]
    async fn what_is_too_much_goes_and_a_reader_that_missed_it_is_told() {
        let log = Log::default();
        let large = "x".repeat(BYTES_MAX / 4);
        for _ in 0..6 {
            log.add(record(Event::Notice { text: large.clone() }));
        }
        let batch = log.after(0).await;
        let (number, text) = &batch.events[0];
        assert!(text.contains("\"gone\"") && *number == 3, "{number} {text}");
        assert_eq!(batch.events[1].0, 4);
        assert!(lock(&log.kept).bytes <= BYTES_MAX);
    }

    #[tokio::test]
    async fn a_reader_that_waits_hears_of_the_next_event() {
        let log = std::sync::Arc::new(Log::default());
        let waiting = tokio::spawn({
            let log = log.clone();
            async move { log.after(0).await }
        });
        tokio::task::yield_now().await;
        log.add(token("late"));
        assert_eq!(waiting.await.unwrap().events[0].0, 1);
    }
}
