//! Extracts the updates for a client that loads a conversation from a project's journal.

use std::collections::BTreeSet;

use super::hunks;
use crate::protocol::{Event, Record};
use crate::session::{Entry, History};

/// The records of a conversation's turns that were answered and not undone, in order.
pub fn records(entries: Vec<Entry>, conversation: &str) -> Vec<Record> {
    let turns = History::of(&entries).turns.into_iter();
    let answered: BTreeSet<u64> =
        turns.filter(|turn| turn.answer.is_some() && !turn.undone).map(|turn| turn.seq).collect();
    let mut is_told = false;
    let of_told = |entry: &Entry| {
        if matches!(entry.record.event, Event::TurnStarted { .. }) {
            is_told = answered.contains(&entry.seq);
        }
        is_told
    };
    let all = entries.into_iter().filter(|entry| entry.record.conversation.0 == conversation);
    all.filter(of_told).map(|entry| entry.record).collect()
}

/// The event with its changed lines, which the journal stores as a diff.
pub fn whole(mut event: Event) -> Event {
    match &mut event {
        Event::ApprovalRequested { proposal, .. } => proposal.changes = hunks::changes(&proposal.preview),
        Event::StepCompleted(report) => report.changes = report.diff.as_deref().map(hunks::changes).unwrap_or_default(),
        _ => {}
    }
    event
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ConversationId;
    use crate::protocol::{Rewound, TurnFinished};

    fn finished() -> Event {
        let (request, answer) = ("q".to_owned(), "a".to_owned());
        Event::TurnFinished(TurnFinished { request, answer, steps: Vec::new(), usage: Default::default() })
    }

    /// In `story`, `a` and `b` are conversations; `a+` begins a turn, `a.` ends one, `a` alone is a
    /// notice, and a number rewinds to that record. `expected` lists the numbers of the replayed
    /// records of `a`.
    fn check(story: &str, expected: &[usize]) {
        let entry = |(word, seq): (&str, u64)| {
            let (name, what) = word.split_at(1);
            let event = match (word.parse(), what) {
                (Ok(journal_seq), _) => Event::Rewound(Rewound { journal_seq, ..Rewound::default() }),
                (_, "+") => Event::TurnStarted { request: seq.to_string(), approve: String::new() },
                (_, ".") => finished(),
                _ => Event::Notice { text: String::new() },
            };
            let mut record = Record::now(&ConversationId(name.to_owned()), event);
            record.time = seq.to_string();
            Entry { seq, record }
        };
        let told = records(story.split_whitespace().zip(1..).map(entry).collect(), "a");
        let told: Vec<usize> = told.iter().filter_map(|record| record.time.parse().ok()).collect();
        assert_eq!(told, expected, "{story}");
    }

    #[test]
    fn the_answered_turns_of_one_conversation_are_told() {
        check("a+ a a. a+ a.", &[1, 2, 3, 4, 5]);
        check("a+ b+ a b b. a.", &[1, 3, 6]);
        check("a+ a a+ a.", &[3, 4]);
        check("a+ a. a+ a a. 2", &[1, 2]);
        check("b+ b.", &[]);
    }
}
