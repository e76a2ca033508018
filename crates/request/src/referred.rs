//! Reads references from a step to the result of an earlier one: `read it`, `explain that file`.

use crate::base::pattern::static_regex;

use super::{Kind, Step, Text};

impl Step {
    /// Whether the step names no file and refers to the result of another step.
    pub fn refers_to_result(&self) -> bool {
        let is_its_kind = matches!(self.kind, Kind::Ask | Kind::Edit);
        self.part.paths.is_empty() && is_its_kind && (self.part.refers_back || points(self.text.raw()))
    }

    /// The step with this file in place of the reference.
    pub fn with_file(&self, path: String) -> Step {
        let mut with = self.clone();
        with.text = Text::of(named(self.text.raw(), &path));
        with.part.text = named(&self.part.text, &path);
        with.part.paths.push(path);
        with
    }
}

/// Whether a word of a text stands for a file: `it`, `its`, `that file`.
fn points(text: &str) -> bool {
    let low = text.to_lowercase();
    let all: Vec<&str> = low.split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '.' | '/')).collect();
    let is_file = |pair: &[&str]| matches!(pair[0], "that" | "this" | "the") && pair[1] == "file";
    all.iter().any(|word| matches!(*word, "it" | "its")) || all.windows(2).any(is_file)
}

/// A text with the path in place of the first such word, or appended.
fn named(text: &str, path: &str) -> String {
    static_regex!(POINTER = r"(?i)\b(?:it|(?:that|this|the) file)\b");
    match POINTER.find(text) {
        Some(found) => format!("{}{path}{}", &text[..found.start()], &text[found.end()..]),
        None => format!("{} ({path})", text.trim_end_matches(['.', '!', '?', ' '])),
    }
}
