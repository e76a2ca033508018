//! Lessons in a turn: recalls and offers calls that worked for similar steps, and stores new
//! successful calls.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::agent::Host;
use crate::agent::evidence::{ANSWER, Entry, Evidence};
use crate::agent::plan::Plan;
use crate::agent::toolkit::Toolkit;
use crate::language::words;
use crate::lessons::{Found, Lesson, Lessons, Signal, Solution, Stored};
use crate::protocol::{Event, StepStatus};
use crate::request::Step;
use crate::tools::ToolSpec;

use super::free_loop::offer;

/// Maximum number of steps for which lessons are recalled; the loop of a small model seldom gets
/// further.
const STEPS_MAX: usize = 8;
/// Maximum number of lessons looked up for one step.
const RECALLED_MAX: usize = 5;
/// Minimum similarity of a step: cosine of the vectors, or share of common words.
const ALIKE_VECTOR: f32 = 0.85;
const ALIKE_WORDS: f32 = 0.8;
/// Maximum length of a step or call in the prompt, in characters.
const CALL_CHARS: usize = 300;
/// Longer arguments are not stored: they are the content of one file at one point in time.
const ARGUMENT_CHARS_MAX: usize = 400;
/// Maximum length of an earlier problem in an event, in characters.
const SHOWN_CHARS: usize = 80;

/// The lessons recalled for the steps of a plan.
pub struct Memory<'a> {
    lessons: Arc<Lessons>,
    steps: Vec<Recalled<'a>>,
    /// Numbers of evidence entries and of tokens spent before these steps.
    entries: usize,
    tokens: usize,
}

/// A step and the lesson recalled for it.
struct Recalled<'a> {
    step: &'a Step,
    /// The vector of the step's text.
    vector: Option<Vec<f32>>,
    /// The lesson for exactly this step, else for the most similar one, with its suggested call.
    /// Anybody may have written its text, so it only suggests calls of tools that are offered
    /// anyway; it grants no rights.
    lesson: Option<(Stored, Solution)>,
}

impl<'a> Memory<'a> {
    /// Recalls lessons for the open steps; `None` if lessons are turned off.
    pub async fn of(toolkit: &Toolkit, plan: &'a Plan, evidence: &Evidence) -> Option<Memory<'a>> {
        let lessons = toolkit.context.as_ref()?.lessons.clone()?;
        let mut steps = Vec::new();
        let open = plan.steps.iter().filter(|step| !evidence.of(step.id).any(Entry::succeeded));
        for step in open.take(STEPS_MAX) {
            let vector = toolkit.vector(step.text.shown()).await;
            let lesson = recalled(lessons.clone(), step.text.to_string(), vector.clone()).await;
            steps.push(Recalled { step, vector, lesson });
        }
        Some(Memory { lessons, steps, entries: evidence.entries().len(), tokens: toolkit.meter.tokens() })
    }

    /// The lesson for exactly this step, with its call.
    pub fn of_same(&self, step: &Step) -> Option<&(Stored, Solution)> {
        let recalled = self.steps.iter().find(|recalled| recalled.step.id == step.id)?;
        let is_same = |stored: &Stored| step.text.is_same_as(&stored.lesson.problem);
        recalled.lesson.as_ref().filter(|(stored, _)| is_same(stored))
    }

    /// Prompt text with calls that worked for similar steps, limited to tools that `allows`
    /// accepts; `None` if there are none.
    pub fn told(&self, allows: impl Fn(&ToolSpec) -> bool, toolkit: &Toolkit, host: &dyn Host) -> Option<String> {
        let mut lines = String::new();
        for recalled in &self.steps {
            let Some((stored, solution)) = &recalled.lesson else { continue };
            if !toolkit.catalog.get(&solution.tool).is_some_and(&allows) {
                continue;
            }
            let call = format!("{}{}", solution.tool, Value::Object(solution.arguments.clone()));
            let step = words::shorten(recalled.step.text.shown(), CALL_CHARS);
            lines.push_str(&format!("\n- {step}: {}", words::shorten(&call, CALL_CHARS)));
            host.emit(used(recalled.step, stored, "trying tools"));
        }
        (!lines.is_empty()).then(|| format!("\n\nCalls that worked before:{lines}"))
    }

    /// Stores, for each step that ended well, its last change or else its last successful call, and
    /// whether the lessons shown helped or failed.
    pub async fn learn(self, toolkit: &Toolkit, evidence: &Evidence, ended_well: impl Fn(&Step) -> bool) {
        let calls = &evidence.entries()[self.entries..];
        let is_done = |step: &Step, call: &&Entry| {
            let is_call = call.tool != ANSWER && call.step == step.id;
            is_call && call.succeeded() && (call.executing || !offer::executes(step))
        };
        let worked = |step: &Step| {
            let all = || calls.iter().rev().filter(|call| is_done(step, call));
            let change = all().find(|call| !call.outcome.changed.is_empty());
            change.or_else(|| all().next()).filter(|_| ended_well(step))
        };
        let done: Vec<(&Recalled<'_>, &Entry)> =
            self.steps.iter().filter_map(|recalled| Some((recalled, worked(recalled.step)?))).collect();
        let tokens = (toolkit.meter.tokens() - self.tokens) / done.len().max(1);
        let learned: Vec<Lesson> = done.iter().map(|(recalled, call)| recalled.lesson_of(call, tokens)).collect();
        let helped: BTreeSet<i64> = done.iter().filter_map(|(recalled, call)| recalled.suggested(call)).collect();
        let failed = calls.iter().filter(|call| call.status == StepStatus::Failed);
        let blamed = failed.flat_map(|call| {
            let of_step = self.steps.iter().filter(move |recalled| recalled.step.id == call.step);
            of_step.filter_map(move |recalled| recalled.suggested(call))
        });
        // A lesson may be shown for several steps: it is blamed once, and only if it helped with
        // none of them.
        let blamed: BTreeSet<i64> = blamed.filter(|id| !helped.contains(id)).collect();
        let lessons = self.lessons.clone();
        let written = tokio::task::spawn_blocking(move || {
            learned.iter().try_for_each(|lesson| lessons.add(lesson).map(drop))?;
            helped.iter().try_for_each(|id| lessons.record_success(*id).map(drop))?;
            blamed.iter().try_for_each(|id| lessons.record_failure(*id).map(drop))
        });
        if let Ok(Err(error)) = written.await {
            tracing::warn!(%error, "lessons could not be stored");
        }
    }
}

/// The event for the use of a lesson in a step.
pub fn used(step: &Step, stored: &Stored, instead_of: &str) -> Event {
    Event::LessonsUsed {
        step: Some(step.id),
        lessons: vec![stored.name()],
        problem: words::shorten(&stored.lesson.problem, SHOWN_CHARS),
        instead_of: instead_of.to_owned(),
    }
}

impl Recalled<'_> {
    /// The id of the lesson, if it suggested exactly this call.
    fn suggested(&self, call: &Entry) -> Option<i64> {
        let (stored, solution) = self.lesson.as_ref()?;
        (call.tool == solution.tool && kept(&call.arguments) == solution.arguments).then_some(stored.id)
    }

    /// The lesson to store for a successful call of the step.
    fn lesson_of(&self, call: &Entry, tokens: usize) -> Lesson {
        let text = self.step.text.to_string();
        let solution = Solution { tool: call.tool.clone(), arguments: kept(&call.arguments), wording: text.clone() };
        Lesson {
            problem: text,
            solution: solution.to_text(),
            why_worked: call.summary(),
            tokens_used: tokens as u64,
            success: true,
            vector: self.vector.clone(),
        }
    }
}

/// The lesson for the most similar step; `None` if there is none or the search fails.
async fn recalled(lessons: Arc<Lessons>, text: String, vector: Option<Vec<f32>>) -> Option<(Stored, Solution)> {
    let found = tokio::task::spawn_blocking(move || lessons.search(&text, vector.as_deref(), RECALLED_MAX));
    let alike = match found.await.ok()? {
        Ok(found) => found,
        Err(error) => {
            tracing::warn!(%error, "nothing is remembered");
            return None;
        }
    };
    let enough = |found: &Found| found.score >= if found.by == Signal::Vector { ALIKE_VECTOR } else { ALIKE_WORDS };
    let read = |stored: Stored| Solution::read(&stored.lesson.solution).map(|solution| (stored, solution));
    let alike = alike.into_iter().filter(|found| found.stored.lesson.success && enough(found));
    alike.map(|found| found.stored).find_map(read)
}

/// The arguments, except those that are too long to store.
fn kept(arguments: &Map<String, Value>) -> Map<String, Value> {
    let short = |value: &Value| value.to_string().chars().count() <= ARGUMENT_CHARS_MAX;
    arguments.iter().filter(|(_, value)| short(value)).map(|(name, value)| (name.clone(), value.clone())).collect()
}
