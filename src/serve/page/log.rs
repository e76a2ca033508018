//! Stores the events of a turn in memory: each has a number, and a reader requests those after the last one it has.

use std::collections::VecDeque;
use std::sync::Mutex;

use serde::Serialize;
use tokio::sync::Notify;

use crate::base::{OrBug, lock};
use crate::protocol::{Mode, Proposal, Record};

/// Maximum size of a turn's events as JSON, in bytes; the oldest are dropped. An answer of 4,000
/// tokens with its steps takes about 1 MiB.
const BYTES_MAX: usize = 4 << 20;
/// Maximum number of events returned at once.
const BATCH_MAX: usize = 256;

/// An event, from the session or from the page itself.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Said {
    Record(Box<Record>),
    Own(Own),
}

#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", content = "data", rename_all = "kebab-case")]
pub enum Own {
    Asked {
        text: String,
        mode: Mode,
    },
    /// A tool call awaits the user's decision. It is identified by the number of this event.
    Question {
        proposal: Box<Proposal>,
    },
    /// The question with this number is no longer open; `how` gives the reason.
    QuestionClosed {
        number: u64,
        how: &'static str,
    },
    /// Events up to this number are no longer available.
    Gone {
        until: u64,
    },
    Ended,
}

#[derive(Default)]
struct Kept {
    /// The number, counted from 1, and JSON of each event.
    events: VecDeque<(u64, String)>,
    /// Total bytes of all events' JSON.
    bytes: usize,
    last: u64,
    over: bool,
}

/// The events of one turn.
#[derive(Default)]
pub struct Log {
    kept: Mutex<Kept>,
    changed: Notify,
}

/// Consecutive events, each with its number and JSON.
#[derive(Debug, Default, PartialEq)]
pub struct Batch {
    pub events: Vec<(u64, String)>,
    /// Whether no more events follow.
    pub over: bool,
}

impl Log {
    pub fn add(&self, said: &Said) -> u64 {
        let last = lock(&self.kept).push(said);
        self.changed.notify_waiters();
        last
    }

    /// Adds the last event.
    pub fn end(&self) {
        let mut kept = lock(&self.kept);
        if !kept.over {
            kept.push(&Said::Own(Own::Ended));
            kept.over = true;
        }
        drop(kept);
        self.changed.notify_waiters();
    }

    pub fn is_over(&self) -> bool {
        lock(&self.kept).over
    }

    /// Whether the log has ended and a reader of all events up to `number` has them all.
    pub fn is_read(&self, number: u64) -> bool {
        let kept = lock(&self.kept);
        kept.over && number >= kept.last
    }

    /// The next events after `number`; waits for one if there are none yet.
    pub async fn after(&self, number: u64) -> Batch {
        loop {
            // Subscribe before reading the events, so that none in between is missed.
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
    fn push(&mut self, said: &Said) -> u64 {
        self.last += 1;
        let text = written(said);
        self.bytes += text.len();
        self.events.push_back((self.last, text));
        // A single event may exceed the limit and is kept.
        while self.bytes > BYTES_MAX && self.events.len() > 1 {
            self.bytes -= self.events.pop_front().map_or(0, |(_, text)| text.len());
        }
        self.last
    }

    fn after(&self, number: u64) -> Batch {
        let mut events = Vec::new();
        let first = self.events.front().map_or(1, |(number, _)| *number);
        if number.saturating_add(1) < first {
            events.push((first - 1, written(&Said::Own(Own::Gone { until: first - 1 }))));
        }
        events.extend(self.events.iter().skip_while(|(known, _)| *known <= number).take(BATCH_MAX).cloned());
        let read = events.last().map_or(number, |(number, _)| *number);
        Batch { events, over: self.over && read >= self.last }
    }
}

/// An event as one line of JSON.
fn written(said: &Said) -> String {
    serde_json::to_string(said).or_bug("events only have maps with string keys")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ConversationId;
    use crate::protocol::Event;

    fn notice(text: &str) -> Said {
        let event = Event::Notice { text: text.to_owned() };
        Said::Record(Box::new(Record::now(&ConversationId("c1".to_owned()), event)))
    }

    #[tokio::test]
    async fn every_reader_gets_all_events_and_one_that_waits_hears_of_the_next() {
        let log = std::sync::Arc::new(Log::default());
        let waiting = tokio::spawn({
            let log = log.clone();
            async move { log.after(0).await }
        });
        tokio::task::yield_now().await;
        log.add(&notice("a"));
        assert_eq!(waiting.await.unwrap().events[0].0, 1);
        log.add(&notice("b"));
        log.end();
        log.end();
        let Batch { events, over } = log.after(0).await;
        assert_eq!((events.iter().map(|(number, _)| *number).collect::<Vec<_>>(), over), (vec![1, 2, 3], true));
        assert!(events[1].1.contains("\"b\"") && events[2].1.contains("\"ended\""), "{events:?}");
        assert_eq!(log.after(2).await.events, events[2..]);
        assert!(log.is_read(3) && !log.is_read(2) && log.after(3).await.over);
    }

    #[tokio::test]
    async fn what_is_too_much_goes_and_a_reader_that_missed_it_is_told() {
        let log = Log::default();
        let large = "x".repeat(BYTES_MAX / 4);
        for _ in 0..6 {
            log.add(&notice(&large));
        }
        let batch = log.after(0).await;
        let (number, text) = &batch.events[0];
        assert!(text.contains("\"gone\"") && *number == 3, "{number} {text}");
        assert_eq!(batch.events[1].0, 4);
        assert!(lock(&log.kept).bytes <= BYTES_MAX);
    }
}
