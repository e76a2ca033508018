//! What the events of a turn change on the screen.

use super::plan::Plan;
use super::state::Screen;
use super::transcript::Entry;
use crate::protocol::{Event, StepReport, TurnFinished, Usage};
use crate::ui::cli::output::{counted, told};
use crate::ui::cli::undo;

impl Screen {
    /// Takes in an event of the running work.
    pub fn happened(&mut self, event: Event) {
        match event {
            Event::ModelLoading { role, file, share } => {
                self.doing(format!("loading {role} {file}: {:.0} %", share * 100.0));
            }
            Event::QueueUpdate { position, eta_ms } => {
                let eta = eta_ms.map_or(String::new(), |ms| format!(", about {} s", ms.div_ceil(1000)));
                self.doing(format!("queued for a slot: #{position}{eta}"));
            }
            Event::Pulse { phase, .. } => self.doing(phase),
            Event::PlanCreated { plan } => self.transcript.push(Entry::Plan(Plan::new(&plan))),
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
            Event::TurnFinished(finished) => self.finished(finished),
            Event::TurnFailed { error } => self.transcript.push(Entry::Failure(error)),
            Event::Rewound(rewound) => self.transcript.push(Entry::Text(undo::told(&rewound))),
            Event::ModelsChanged { text, memory } => {
                self.facts.memory = Some(memory);
                self.transcript.push(Entry::Text(text));
            }
            other => self.remarked(other),
        }
    }

    /// Events that become at most one line.
    fn remarked(&mut self, event: Event) {
        let entry = match event {
            Event::Notice { text } => Entry::Note(text),
            Event::LessonsUsed { lessons, problem, instead_of, .. } => {
                Entry::Detail(format!("as in {}: {problem} (instead of {instead_of})", lessons.join(", ")))
            }
            Event::Fallback { from, reason } => {
                Entry::Note(format!("{from} gives up, the single-model loop goes on: {reason}"))
            }
            Event::Verification(one) => {
                Entry::Detail(format!("draft {}: {:.0} % sure", one.iteration, one.confidence * 100.0))
            }
            Event::Detection(detection) => Entry::Detail(told(&detection)),
            Event::CheckpointMade { checkpoint, created, changed, deleted } if created + changed + deleted > 0 => {
                Entry::Detail(format!("{checkpoint}: {}; /undo takes it back", counted(created, changed, deleted)))
            }
            // The others are for the journal and for programs.
            _ => return,
        };
        self.transcript.push(entry);
    }

    fn doing(&mut self, what: String) {
        if let Some(running) = &mut self.running {
            running.doing = what;
        }
    }

    fn completed(&mut self, report: StepReport) {
        let step = report.step;
        let mut report = Some(report);
        self.transcript.plan(step, |plan| {
            if let Some(report) = report.take() {
                plan.add(report);
            }
        });
        // A free loop has no plan.
        if let Some(report) = report {
            self.transcript.push(Entry::Call(Box::new(report)));
        }
    }

    fn finished(&mut self, finished: TurnFinished) {
        if !self.transcript.is_answered() && !finished.answer.is_empty() {
            self.transcript.answer(&finished.answer);
        }
        self.transcript.push(Entry::Detail(cost(&finished.usage)));
        self.facts.used(&finished.usage);
    }
}

fn cost(usage: &Usage) -> String {
    format!(
        "{:.1} s · {} model calls · {} prompt tokens ({} cached), {} generated",
        usage.wall_ms as f64 / 1000.0,
        usage.model_calls,
        usage.prompt_tokens,
        usage.cached_tokens,
        usage.generated_tokens
    )
}
