//! Recalls lessons for the single-model loop, and stores new ones when it has ended.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::base::StepId;
use crate::lessons::{Found, Lesson, Lessons, Signal, Solution, Stored};
use crate::protocol::Event;

use super::Host;
use super::evidence::Entry;
use super::plan::PlannedStep;
use super::toolkit::Toolkit;
use crate::language::words;

/// Most lessons looked up for one step.
const RECALLED_MAX: usize = 5;
/// Lowest likeness of a step that counts: cosine of the vectors, or share of common words.
const ALIKE_VECTOR: f32 = 0.85;
const ALIKE_WORDS: f32 = 0.8;
/// Longer arguments are not kept: they are the content of one file at one time.
const ARGUMENT_CHARS_MAX: usize = 400;
/// Longest text of an earlier problem in an event, in characters.
const SHOWN_CHARS: usize = 80;

/// The lessons recalled for a step. Anybody may have written a lesson's text, so it only suggests calls of tools that are offered
/// without it; it grants no rights.
#[derive(Default)]
pub struct Recollection {
    vector: Option<Vec<f32>>,
    best: Option<(Stored, Solution)>,
    /// Ids of the lessons used so far.
    used: BTreeSet<i64>,
}

impl Recollection {
    /// The lesson to show: the one of exactly this step, else of the most similar one.
    pub fn best(&self) -> Option<(Stored, Solution)> {
        self.best.clone()
    }

    /// Whether a call is the one that [`Recollection::best`] suggests.
    pub fn says(&self, call: &Entry) -> bool {
        self.best().is_some_and(|(_, said)| call.tool == said.tool && kept(&call.arguments) == said.arguments)
    }

    /// Ids of the lessons used.
    pub fn used(&self) -> BTreeSet<i64> {
        self.used.clone()
    }

    /// Emits that a lesson is used, once.
    pub fn use_of(&mut self, stored: &Stored, step: StepId, host: &dyn Host) {
        if !self.used.insert(stored.id) {
            return;
        }
        host.emit(Event::LessonsUsed {
            step: Some(step),
            lessons: vec![stored.name()],
            problem: words::shorten(&stored.lesson.problem, SHOWN_CHARS),
            instead_of: "trying tools".to_owned(),
        });
    }
}

/// Searches the lessons for a step with this text; if the search fails, the result is empty.
pub async fn recall(toolkit: &Toolkit, lessons: &Arc<Lessons>, text: &str) -> Recollection {
    let vector = toolkit.vector(text).await;
    let (lessons, text, asked) = (lessons.clone(), text.to_owned(), vector.clone());
    let found = tokio::task::spawn_blocking(move || lessons.search(&text, asked.as_deref(), RECALLED_MAX));
    let alike = match found.await {
        Ok(Ok(found)) => found,
        Ok(Err(error)) => {
            tracing::warn!(%error, "nothing is remembered");
            Default::default()
        }
        Err(_) => Default::default(),
    };
    let enough = |found: &Found| found.score >= if found.by == Signal::Vector { ALIKE_VECTOR } else { ALIKE_WORDS };
    let read = |stored: Stored| Solution::read(&stored.lesson.solution).map(|solution| (stored, solution));
    let alike = alike.into_iter().filter(|found| found.stored.lesson.success && enough(found));
    let best = alike.map(|found| found.stored).find_map(read);
    Recollection { vector, best, used: BTreeSet::new() }
}

/// The lesson that a step's successful call teaches.
pub fn lesson(step: &PlannedStep, call: &Entry, tokens: usize, memory: &Recollection) -> Lesson {
    let solution = Solution { tool: call.tool.clone(), arguments: kept(&call.arguments), wording: step.text() };
    Lesson {
        problem: step.text(),
        solution: solution.to_text(),
        why_worked: call.summary(),
        tokens_used: tokens as u64,
        success: true,
        vector: memory.vector.clone(),
    }
}

/// The arguments without those that are too long to keep.
fn kept(arguments: &Map<String, Value>) -> Map<String, Value> {
    let short = |value: &Value| value.to_string().chars().count() <= ARGUMENT_CHARS_MAX;
    arguments.iter().filter(|(_, value)| short(value)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Stores new lessons, and counts the recalled ones that helped or failed.
pub async fn record(lessons: Arc<Lessons>, learned: Vec<Lesson>, helped: Vec<i64>, blamed: BTreeSet<i64>) {
    let written = tokio::task::spawn_blocking(move || {
        learned.iter().try_for_each(|lesson| lessons.add(lesson).map(drop))?;
        helped.iter().try_for_each(|id| lessons.record_success(*id).map(drop))?;
        blamed.iter().try_for_each(|id| lessons.record_failure(*id).map(drop))
    });
    if let Ok(Err(error)) = written.await {
        tracing::warn!(%error, "what was learned is not written down");
    }
}
