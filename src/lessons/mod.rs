//! Lessons: problems, their solutions and the reasons, stored in the project's database and found by similarity.

pub(crate) mod store;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use store::{Lessons, LessonsError};

/// A lesson to store. Long texts are truncated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lesson {
    pub problem: String,
    pub solution: String,
    pub why_worked: String,
    /// Tokens spent on finding the solution.
    pub tokens_used: u64,
    /// False for a solution that was tried and failed.
    pub success: bool,
    /// The problem's vector, if there is an embedder.
    pub vector: Option<Vec<f32>>,
}

/// A lesson with its number and history.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    pub id: i64,
    pub lesson: Lesson,
    /// Failures since its last success.
    pub failures: u32,
    /// When it was last learned or useful, in Unix seconds.
    pub created: i64,
}

impl Stored {
    /// Its name for users, such as `l3`.
    pub fn name(&self) -> String {
        format!("l{}", self.id)
    }
}

/// A solution that code can reuse: the call that worked. Other solutions are plain text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Solution {
    pub tool: String,
    #[serde(default)]
    pub arguments: Map<String, Value>,
    /// The text of the step that the call was made for.
    #[serde(default)]
    pub wording: String,
}

impl Solution {
    /// Parses a solution; `None` for plain text, and for a truncated call.
    pub fn read(text: &str) -> Option<Solution> {
        serde_json::from_str(text).ok()
    }

    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub stored: Stored,
    /// Greater than 0, at most 1.
    pub score: f32,
    pub by: Signal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Cosine similarity of the query's and problem's vectors.
    Vector,
    /// Shared words of query and problem; used if either has no vector.
    Words,
}
