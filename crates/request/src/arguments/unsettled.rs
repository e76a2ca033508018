//! Explains why a step yields no edit of a file: the text that the file has instead, or the lines
//! with the old value.

use super::intent::{self, Intent};
use super::places;

/// The reason why a step yields no edit of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Unsettled {
    /// The step does not state which value replaces which.
    Unsaid,
    /// Several lines match the step.
    Several(String),
    /// The step is clear, but no line of the file matches it.
    Refused {
        why: String,
        /// No interpretation of the file could yield the edit, so a model could not make it either.
        is_certain: bool,
    },
}

impl Unsettled {
    pub(super) fn of(why: impl Into<String>) -> Unsettled {
        Unsettled::Refused { why: why.into(), is_certain: false }
    }
}

pub(super) fn same_values(value: &str) -> Unsettled {
    Unsettled::Refused { why: format!("the old and the new value are both `{value}`"), is_certain: true }
}

/// Maximum number of characters quoted from a line, and of lines listed, in a reason.
const LINE_CHARS: usize = 80;
const LINES_NAMED_MAX: usize = 8;

/// A line of the file, to be quoted in a reason.
pub(super) fn quoted(lines: &[&str], at: usize) -> String {
    let text: String = lines[at].trim().chars().take(LINE_CHARS).collect();
    format!("line {} is `{text}`", at + 1)
}

/// The reason when the file does not contain the old value; it quotes the line that was probably
/// meant.
pub(super) fn absent(lines: &[&str], old: &str, intent: &Intent) -> Unsettled {
    let score = |at: usize| places::answers(lines, at, &intent.about);
    let holds = |at: &usize| !old.is_empty() && lines[*at].contains(old);
    let best = |all: &mut dyn Iterator<Item = usize>| all.max_by(|a, b| score(*a).total_cmp(&score(*b)).then(b.cmp(a)));
    let within = best(&mut (0..lines.len()).filter(holds));
    let near =
        within.or_else(|| best(&mut (0..lines.len()).filter(|at| !lines[*at].trim().is_empty() && score(*at) >= 2.0)));
    let there = near.map_or(String::new(), |at| format!("; {}", quoted(lines, at)));
    let shown = if old.is_empty() { "\"\"" } else { old };
    // A model may match different words, and 30_000 for `30 seconds`, but not `blue` inside
    // `sea-blue`.
    let is_of_signs = places::is_of_signs(old);
    let is_literal = intent::is_number(old) || is_of_signs;
    let is_certain = !intent.about.iter().any(|word| places::is_unit(word))
        && (intent.exact || is_of_signs || intent.old.is_some() && (is_literal || within.is_some()));
    Unsettled::Refused { why: format!("`{shown}` does not occur in it by itself{there}"), is_certain }
}

/// The reason why the location is ambiguous.
pub(super) fn several(old: &str, at: &[usize]) -> Unsettled {
    let mut numbers: Vec<usize> = at.iter().map(|at| at + 1).collect();
    numbers.sort_unstable();
    let more = if numbers.len() > LINES_NAMED_MAX { " and more" } else { "" };
    let numbers: Vec<String> = numbers.iter().take(LINES_NAMED_MAX).map(usize::to_string).collect();
    let listed = match numbers.split_last() {
        Some((last, before)) if more.is_empty() && !before.is_empty() => format!("{} and {last}", before.join(", ")),
        _ => numbers.join(", "),
    };
    Unsettled::Several(format!("`{old}` is on lines {listed}{more}; specify one by a word from its line or section"))
}

/// The reason why the only occurrence of the old value is probably not the intended one.
pub(super) fn elsewhere(lines: &[&str], old: &str, at: usize) -> Unsettled {
    Unsettled::of(format!("`{old}` occurs only where it is probably not meant: {}", quoted(lines, at)))
}
