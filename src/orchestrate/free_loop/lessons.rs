//! Lessons in the single-model loop: the model is shown calls that worked for similar steps, and calls that work now are stored.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use crate::lessons::Lessons;
use crate::protocol::StepStatus;
use crate::tools::ToolSpec;

use super::super::Host;
use super::super::evidence::{Entry, Evidence};
use super::super::learn::{self, Recollection};
use super::super::plan::{Plan, PlannedStep};
use super::super::toolkit::Toolkit;
use super::offer;
use crate::language::words;

/// Most steps for which lessons are recalled; a small model's loop seldom gets further.
const STEPS_MAX: usize = 8;
/// Longest step or call in the prompt, in characters.
const CALL_CHARS: usize = 300;

/// The lessons recalled for the steps of one loop.
pub struct Memory<'a> {
    lessons: Arc<Lessons>,
    steps: Vec<(&'a PlannedStep, Recollection)>,
    /// Entries in the evidence, and tokens spent, before the loop.
    entries: usize,
    tokens: usize,
}

impl<'a> Memory<'a> {
    /// Recalls lessons for the open steps; `None` if lessons are turned off.
    pub async fn of(toolkit: &Toolkit, plan: &'a Plan, evidence: &Evidence) -> Option<Memory<'a>> {
        let lessons = toolkit.context.as_ref()?.lessons.clone()?;
        let mut steps = Vec::new();
        let open = plan.steps.iter().filter(|step| !evidence.of(step.id).any(Entry::succeeded));
        for step in open.take(STEPS_MAX) {
            steps.push((step, learn::recall(toolkit, &lessons, &step.text()).await));
        }
        Some(Memory { lessons, steps, entries: evidence.entries().len(), tokens: toolkit.meter.tokens() })
    }

    /// Prompt text with calls that worked for similar steps, only of tools that `allows` permits; `None` if there are none.
    pub fn told(&mut self, allows: impl Fn(&ToolSpec) -> bool, toolkit: &Toolkit, host: &dyn Host) -> Option<String> {
        let mut lines = String::new();
        for (step, memory) in &mut self.steps {
            let Some((stored, solution)) =
                memory.best().filter(|(_, one)| toolkit.catalog.get(&one.tool).is_some_and(&allows))
            else {
                continue;
            };
            let call = format!("{}{}", solution.tool, Value::Object(solution.arguments.clone()));
            lines.push_str(&format!(
                "\n- {}: {}",
                words::shorten(&step.text(), CALL_CHARS),
                words::shorten(&call, CALL_CHARS)
            ));
            memory.use_of(&stored, step.id, host);
        }
        (!lines.is_empty()).then(|| format!("\n\nCalls that worked before:{lines}"))
    }

    /// Stores the last call that worked for each step, and whether the lessons shown helped or failed.
    pub async fn learn(self, toolkit: &Toolkit, evidence: &Evidence) {
        let calls = &evidence.entries()[self.entries..];
        let is_done = |step: &PlannedStep, call: &&Entry| {
            call.step == step.id && call.succeeded() && (call.executing || !offer::executes(step))
        };
        let worked = |step: &PlannedStep| calls.iter().rev().find(|call| is_done(step, call));
        let done: Vec<(&PlannedStep, &Recollection, &Entry)> =
            self.steps.iter().filter_map(|(step, memory)| Some((*step, memory, worked(step)?))).collect();
        let tokens = (toolkit.meter.tokens() - self.tokens) / done.len().max(1);
        let learned = done.iter().map(|(step, memory, call)| learn::lesson(step, call, tokens, memory)).collect();
        let helped = done.iter().filter(|(_, memory, call)| memory.says(call)).flat_map(|(_, memory, _)| memory.used());
        let helped: Vec<i64> = helped.collect();
        let blamed = self.steps.iter().flat_map(|(step, memory)| {
            let failed = calls
                .iter()
                .filter(|call| call.step == step.id && call.status == StepStatus::Failed && memory.says(call));
            failed.take(1).flat_map(|_| memory.used())
        });
        // A lesson may have been shown for several steps: it is blamed once, and only if it helped none.
        let blamed: BTreeSet<i64> = blamed.filter(|id| !helped.contains(id)).collect();
        learn::record(self.lessons.clone(), learned, helped, blamed).await;
    }
}
