//! Collects costs, calls and loop statistics of a project's finished turns from its journal.

use std::collections::{HashMap, VecDeque};

use serde::Serialize;

use super::journal::{Journal, JournalError};
use crate::protocol::{Detection, Event, Record, Recovery, Repeat, StepReport, ToolMiss, Usage};

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TurnStats {
    pub time: String,
    pub request: String,
    pub usage: Usage,
    /// Every call, in order of completion.
    pub timeline: Vec<TimedCall>,
    /// Statistics of the single-model loop; `None` if it did not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_miss: Option<ToolMiss>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Repeat>,
    pub detections: Vec<Detection>,
    pub recoveries: Vec<Recovery>,
}

/// One call on the timeline, without its diff.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimedCall {
    pub time: String,
    #[serde(flatten)]
    pub report: StepReport,
}

impl TurnStats {
    fn note(&mut self, record: Record) {
        match record.event {
            Event::StepCompleted(report) => {
                let report = StepReport { diff: None, ..report };
                self.timeline.push(TimedCall { time: record.time, report });
            }
            Event::ToolMiss(miss) => self.tool_miss = Some(miss),
            Event::Repeat(repeat) => self.repeat = Some(repeat),
            Event::Detection(detection) => self.detections.push(detection),
            Event::Recovery(recovery) => self.recoveries.push(recovery),
            _ => {}
        }
    }

    /// The maximum number of consecutive read-only calls.
    pub fn reading_max(&self) -> usize {
        self.timeline.split(|call| call.report.executing).map(<[TimedCall]>::len).max().unwrap_or(0)
    }
}

/// The last `count` finished turns, oldest first; if the journal is damaged, the last ones before
/// the damage.
pub fn telemetry(journal: &Journal, count: usize) -> Result<Vec<TurnStats>, JournalError> {
    let mut turns = VecDeque::new();
    // Each conversation runs one turn at a time, but records from several conversations may be
    // interleaved.
    let mut running: HashMap<String, TurnStats> = HashMap::new();
    journal
        .follow(|_, record, _| {
            let Ok(record) = serde_json::from_str::<Record>(record) else { return };
            match record.event {
                Event::TurnStarted { .. } => drop(running.insert(record.conversation.0, TurnStats::default())),
                Event::TurnFinished(finished) => {
                    let turn = running.remove(&record.conversation.0).unwrap_or_default();
                    let (request, usage) = (finished.request, finished.usage);
                    turns.push_back(TurnStats { time: record.time, request, usage, ..turn });
                    if turns.len() > count {
                        turns.pop_front();
                    }
                }
                _ => {
                    if let Some(turn) = running.get_mut(&record.conversation.0) {
                        turn.note(record);
                    }
                }
            }
        })?
        .ok();
    Ok(turns.into())
}
