//! Applies the events of a turn to the screen.

use super::plan::Plan;
use super::state::Screen;
use super::transcript::Entry;
use crate::protocol::{Event, StepReport};
use crate::ui::words;

impl Screen {
    /// Applies an event of the running work.
    pub fn happened(&mut self, event: Event) {
        match event {
            // The status line counts the seconds itself.
            Event::Pulse { phase, .. } => self.doing(phase),
            Event::PlanCreated { plan } => self.transcript.push(Entry::Plan(Plan::new(plan))),
            Event::StepExecuting { step, description } => {
                if !self.transcript.plan(step, |_| ()) {
                    self.transcript.push(Entry::Step(description.clone()));
                }
                self.doing(description);
            }
            Event::StepState { step, state } => {
                self.transcript.plan(step, |plan| plan.enter(step, state));
            }
            Event::StepCompleted(report) => self.completed(report),
            Event::Token { text } => self.transcript.answer(&text),
            Event::Thinking { text } => self.transcript.thinking(&text),
            Event::TurnFinished(finished) => {
                if !self.transcript.is_answered() && !finished.answer.is_empty() {
                    self.transcript.answer(&finished.answer);
                }
                self.transcript.push(Entry::Detail(words::cost(&finished.usage)));
                self.facts.used(&finished.usage);
            }
            Event::TurnFailed { error } => self.transcript.push(Entry::Failure(error)),
            Event::Rewound(rewound) => self.transcript.push(Entry::Text(words::rewound(&rewound))),
            Event::ModelsChanged { text, memory } => {
                self.facts.memory = Some(memory);
                self.transcript.push(Entry::Text(text));
            }
            Event::ContextShown { places, tokens, .. } => {
                self.transcript.push(Entry::Detail(words::context(&places, tokens)));
            }
            Event::Notice { text } => self.note(&text),
            Event::Fallback { from, reason } => {
                self.note(&format!("{from} gave up; the single-model loop continues: {reason}"));
            }
            other => match (words::doing(&other), words::remark(&other)) {
                (Some(doing), _) => self.doing(doing),
                (None, Some(remark)) => self.transcript.push(Entry::Detail(remark)),
                // The others are for the journal and for programs.
                (None, None) => {}
            },
        }
    }

    fn doing(&mut self, what: String) {
        if let Some(running) = &mut self.running {
            running.doing = what;
        }
    }

    fn completed(&mut self, report: StepReport) {
        let step = report.step;
        let mut report = Some(report);
        self.transcript.plan(step, |plan| report.take().into_iter().for_each(|report| plan.add(report)));
        // A free loop has no plan.
        if let Some(report) = report {
            self.transcript.push(Entry::Call(Box::new(report)));
        }
    }
}
