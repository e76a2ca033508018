//! What worked before: told to the single-model loop, and written down when it has ended.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::base::StepId;
use crate::lessons::{Found, Lesson, Lessons, Signal, Solution, Stored};
use crate::protocol::Event;

use super::Host;
use super::evidence::Entry;
use super::plan::Step;
use super::toolkit::Toolkit;
use super::words;

/// Lessons looked at for one step.
const RECALLED_MAX: usize = 5;
/// So alike a step has to be: a cosine of vectors, or the share of common words.
const ALIKE_VECTOR: f32 = 0.85;
const ALIKE_WORDS: f32 = 0.8;
/// Texts of arguments beyond this are not kept: they are content, of one file at one time.
const ARGUMENT_CHARS_MAX: usize = 400;
/// Characters of an earlier problem that are shown.
const SHOWN_CHARS: usize = 80;

/// What is remembered for a step. A lesson is text that anybody may have written: it can only point to what was found
/// and offered without it, and what it says for arguments has to stand on the request like a model's words.
#[derive(Default)]
pub struct Recollection {
    vector: Option<Vec<f32>>,
    /// Best first.
    alike: Vec<(Stored, Solution, f32)>,
    /// The very same step.
    same: Option<(Stored, Solution)>,
    /// With what each was used for.
    used: Vec<(i64, &'static str)>,
}

impl Recollection {
    /// The lesson to tell of: of the very same step, else of the one most like it.
    pub fn best(&self) -> Option<(Stored, Solution)> {
        self.same.clone().or_else(|| self.alike.first().map(|(stored, solution, _)| (stored.clone(), solution.clone())))
    }

    /// Whether a call is what [`Recollection::best`] says.
    pub fn says(&self, call: &Entry) -> bool {
        self.best().is_some_and(|(_, said)| call.tool == said.tool && kept(&call.arguments) == said.arguments)
    }

    /// Each once, whatever it was used for.
    pub fn used(&self) -> BTreeSet<i64> {
        self.used.iter().map(|(id, _)| *id).collect()
    }

    /// Tells that a lesson is used, once for each use.
    pub fn use_of(&mut self, stored: &Stored, step: StepId, instead_of: &'static str, host: &dyn Host) {
        if self.used.contains(&(stored.id, instead_of)) {
            return;
        }
        self.used.push((stored.id, instead_of));
        host.emit(Event::LessonsUsed {
            step: Some(step),
            lessons: vec![stored.name()],
            problem: words::shorten(&stored.lesson.problem, SHOWN_CHARS),
            instead_of: instead_of.to_owned(),
        });
    }
}

pub async fn recall(toolkit: &Toolkit, lessons: &Arc<Lessons>, text: &str) -> Recollection {
    let vector = toolkit.vector(text).await;
    let (lessons, text, asked) = (lessons.clone(), text.to_owned(), vector.clone());
    let found = tokio::task::spawn_blocking(move || {
        let alike = lessons.search(&text, asked.as_deref(), RECALLED_MAX)?;
        Ok::<_, crate::lessons::LessonsError>((alike, lessons.same(&text)?))
    });
    let (alike, same) = match found.await {
        Ok(Ok(found)) => found,
        Ok(Err(error)) => {
            tracing::warn!(%error, "nothing is remembered");
            Default::default()
        }
        Err(_) => Default::default(),
    };
    let enough = |found: &Found| found.score >= if found.by == Signal::Vector { ALIKE_VECTOR } else { ALIKE_WORDS };
    let read =
        |stored: Stored| Some((Solution::read(&stored.lesson.solution)?, stored)).map(|(read, stored)| (stored, read));
    let alike = alike.into_iter().filter(|found| found.stored.lesson.success && enough(found));
    let alike =
        alike.filter_map(|found| read(found.stored).map(|(stored, read)| (stored, read, found.score))).collect();
    Recollection { vector, alike, same: same.and_then(read), ..Recollection::default() }
}

pub fn lesson(step: &Step, call: &Entry, tokens: usize, memory: &Recollection) -> Lesson {
    let solution =
        Solution { tool: call.tool.clone(), arguments: kept(&call.arguments), wording: step.description.clone() };
    Lesson {
        problem: step.text(),
        solution: solution.to_text(),
        why_worked: call.summary(),
        tokens_used: tokens as u64,
        success: true,
        vector: memory.vector.clone(),
    }
}

/// Arguments as a lesson keeps them.
fn kept(arguments: &Map<String, Value>) -> Map<String, Value> {
    let short = |value: &Value| value.to_string().chars().count() <= ARGUMENT_CHARS_MAX;
    arguments.iter().filter(|(_, value)| short(value)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

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
