//! The measurements of `monobloc bench`, one file each, and the form of their figures.

#[cfg(feature = "lab")]
pub mod ab;
pub mod bandwidth;
mod bare;
pub mod latency;
pub mod memory;
#[cfg(feature = "lab")]
pub mod retrieval;
pub mod slots;
pub mod subject;

use serde::Serialize;
use serde_json::{Map, Value, json};

/// Measurements, for people and for programs.
#[derive(Default)]
pub struct Figures {
    /// Describes what was measured and how.
    pub heading: String,
    /// One line per figure: its name, and its value with the unit.
    pub lines: Vec<(String, String)>,
    pub json: Map<String, Value>,
}

impl Figures {
    /// Adds a value under `name`, and the line that shows it.
    pub fn add(&mut self, name: &str, value: impl Serialize, line: impl Into<String>, shown: String) {
        self.json.insert(name.to_owned(), json!(value));
        self.show(line, shown);
    }

    /// Adds only a line.
    pub fn show(&mut self, line: impl Into<String>, shown: String) {
        self.lines.push((line.into(), shown));
    }
}
