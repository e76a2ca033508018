//! Builds the list of a project's turns from its journal, and marks undone turns.

use std::collections::BTreeSet;

use serde::Serialize;

use super::journal::Entry;
use crate::protocol::{Event, Exchange, StepReport};

/// One request, its calls and its answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TurnRecord {
    /// Number of the journal record that begins the turn.
    pub seq: u64,
    pub time: String,
    pub conversation: String,
    pub request: String,
    /// The approval mode of the turn.
    pub approve: String,
    pub calls: Vec<CallRecord>,
    /// `None` if the turn did not finish.
    pub answer: Option<String>,
    /// The checkpoint before its first change; `None` if nothing that could change something ran.
    pub checkpoint: Option<String>,
    /// Numbers of files created, changed and deleted.
    pub files: (usize, usize, usize),
    pub undone: bool,
}

/// A tool call in a turn, without its diff.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallRecord {
    #[serde(flatten)]
    pub report: StepReport,
    /// `by rule`, or the user's decision.
    pub decision: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Conversation {
    pub conversation: String,
    /// Time of its last request.
    pub time: String,
    /// Number of requests that were answered and not undone.
    pub requests: usize,
    /// The first of these requests.
    pub first: String,
}

#[derive(Clone, Debug, Default)]
pub struct History {
    /// Oldest first.
    pub turns: Vec<TurnRecord>,
}

impl History {
    pub fn of(entries: &[Entry]) -> History {
        let mut turns: Vec<TurnRecord> = Vec::new();
        // Tool and decision of the user's last answer, which belongs to that tool's next completed
        // call.
        let mut decided: Option<(String, String)> = None;
        for Entry { seq, record } in entries {
            let conversation = &record.conversation.0;
            if let Event::TurnStarted { request, approve } = &record.event {
                turns.push(TurnRecord {
                    seq: *seq,
                    time: record.time.clone(),
                    conversation: conversation.clone(),
                    request: request.clone(),
                    approve: approve.clone(),
                    ..TurnRecord::default()
                });
                continue;
            }
            let Some(turn) = turns.iter_mut().rev().find(|turn| turn.conversation == *conversation) else { continue };
            match &record.event {
                Event::Decided { tool, decision, .. } => decided = Some((tool.clone(), decision.clone())),
                Event::StepCompleted(report) => {
                    let decision = decided.take().filter(|(tool, _)| *tool == report.tool);
                    turn.checkpoint = turn.checkpoint.take().or_else(|| report.checkpoint.clone());
                    turn.calls.push(CallRecord {
                        report: StepReport { diff: None, ..report.clone() },
                        decision: decision.map_or_else(|| "by rule".to_owned(), |(_, decision)| decision),
                    });
                }
                Event::CheckpointMade { checkpoint, created, changed, deleted, .. } => {
                    turn.checkpoint = Some(checkpoint.clone());
                    turn.files = (*created, *changed, *deleted);
                }
                Event::TurnFinished(finished) => turn.answer = Some(finished.answer.clone()),
                _ => {}
            }
        }
        let live = live(entries);
        for turn in &mut turns {
            turn.undone = !live.contains(&turn.seq);
        }
        History { turns }
    }

    /// The conversations that have an answer that was not undone, newest first.
    pub fn talks(&self) -> Vec<Conversation> {
        let mut talks: Vec<Conversation> = Vec::new();
        for turn in self.turns.iter().filter(|turn| turn.answer.is_some() && !turn.undone) {
            let known = talks.iter().position(|talk| talk.conversation == turn.conversation);
            let (earlier, first) = known.map_or((0, turn.request.clone()), |at| {
                let talk = talks.remove(at);
                (talk.requests, talk.first)
            });
            let (conversation, time) = (turn.conversation.clone(), turn.time.clone());
            talks.insert(0, Conversation { conversation, time, requests: earlier + 1, first });
        }
        talks
    }

    /// The requests and answers of a conversation, oldest first, except undone ones.
    pub fn exchanges(&self, conversation: &str) -> Vec<Exchange> {
        let turns = self.turns.iter().filter(|turn| turn.conversation == conversation && !turn.undone);
        turns
            .filter_map(|turn| Some(Exchange { request: turn.request.clone(), answer: turn.answer.clone()? }))
            .collect()
    }
}

/// The turns that have not been undone, by the number of their first record. A rewind restores the
/// set of its target, so it can also restore turns.
fn live(entries: &[Entry]) -> BTreeSet<u64> {
    let mut live = BTreeSet::new();
    // For each rewind: its record, and the previous set.
    let mut past: Vec<(u64, BTreeSet<u64>)> = Vec::new();
    for Entry { seq, record } in entries {
        match &record.event {
            Event::TurnStarted { .. } => drop(live.insert(*seq)),
            Event::Rewound(rewound) => {
                let then = past.iter().find(|(before, _)| *before > rewound.journal_seq).map(|(_, live)| live);
                let mut back = then.unwrap_or(&live).clone();
                back.retain(|turn| *turn <= rewound.journal_seq);
                past.push((*seq, std::mem::replace(&mut live, back)));
            }
            _ => {}
        }
    }
    live
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ConversationId;
    use crate::protocol::{Record, Rewound};

    /// In `story`, `t` is a turn and a number is a rewind to the state after that record.
    /// `expected` lists the turns that are not undone.
    fn check(story: &str, expected: &[u64]) {
        let entries: Vec<Entry> = story
            .split_whitespace()
            .zip(1..)
            .map(|(word, seq)| {
                let event = match word.parse() {
                    Ok(journal_seq) => Event::Rewound(Rewound { journal_seq, ..Rewound::default() }),
                    Err(_) => Event::TurnStarted { request: word.to_owned(), approve: String::new() },
                };
                Entry { seq, record: Record::now(&ConversationId::fresh(), event) }
            })
            .collect();
        assert_eq!(live(&entries).into_iter().collect::<Vec<_>>(), expected, "{story}");
    }

    #[test]
    fn an_undone_turn_does_not_count_until_a_rewind_brings_it_back() {
        check("t t t", &[1, 2, 3]);
        check("t t t 2", &[1, 2]);
        check("t t t 2 t", &[1, 2, 5]);
        check("t t 1 0", &[]);
        check("t t 1 2", &[1, 2]);
        check("t t 1 t 2", &[1, 2]);
        check("t t 1 t 2 4", &[1, 4]);
    }
}
