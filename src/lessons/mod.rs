//! What was learned: problems, what solved them and why, kept in the project's database and found again by likeness.

mod likeness;
mod snapshot;
pub mod store;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use store::{Lessons, LessonsError};

/// One thing learned, as the session writes it down. Texts longer than a row may hold are cut.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lesson {
    pub problem: String,
    pub solution: String,
    pub why_worked: String,
    /// Tokens that finding it out has cost.
    pub tokens_used: u64,
    /// False for a solution that was tried and failed.
    pub success: bool,
    /// The problem's vector, when there is an embedder.
    pub vector: Option<Vec<f32>>,
}

/// A lesson as it lies in the store.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    pub id: i64,
    pub lesson: Lesson,
    /// How often it did not work since it last did.
    pub failures: u32,
    /// Seconds since 1970 at which it was last learned.
    pub created: i64,
}

impl Stored {
    /// As it is shown and asked for: l3.
    pub fn name(&self) -> String {
        format!("l{}", self.id)
    }
}

/// A solution that code can use again: the call that worked. What people write is a solution as well, in words.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Solution {
    pub tool: String,
    #[serde(default)]
    pub arguments: Map<String, Value>,
    /// How the step was worded in its plan.
    #[serde(default)]
    pub wording: String,
}

impl Solution {
    /// `None` for words, and for a call that was cut off.
    pub fn read(text: &str) -> Option<Solution> {
        serde_json::from_str(text).ok()
    }

    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// A lesson that answers a search, with the reason it was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub stored: Stored,
    /// Above 0, at most 1.
    pub score: f32,
    pub by: Signal,
}

/// What a score was made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Cosine of query and problem.
    Vector,
    /// Share of the words that query and problem have in common; without an embedder, or for a lesson without a vector.
    Words,
}
