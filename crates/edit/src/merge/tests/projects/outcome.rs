//! Compares the result of an edit with the expected text.

use std::collections::BTreeMap;
use std::fmt;

use super::File;
use crate::index::language_of;
use crate::merge::MergeError;
use crate::merge::tests::difference;
use crate::{Applied, Mismatch};

/// Number of results printed per kind.
const SHOWN: usize = 6;

pub enum Outcome {
    Exact,
    /// Only blank lines or white space around lines differ.
    Spacing(String),
    /// The kind of the refusal, and its message.
    Refused(String, String),
    /// Something else differs.
    Wrong(String),
}

pub fn outcome(file: &File, expected: &str, result: &Result<Applied, Mismatch>) -> Outcome {
    let text = match result {
        Ok(applied) => applied.text.as_str(),
        Err(Mismatch::Merge(MergeError::NothingChanged | MergeError::OnlyModifiers { .. })) => file.text.as_str(),
        Err(why) => {
            let kind = format!("{why:?}").replace("Merge(", "");
            let kind = kind.split([' ', '(', '{']).next().unwrap_or_default().to_owned();
            return Outcome::Refused(kind, why.to_string());
        }
    };
    // A written comment is no change to code that is compared without it.
    if text == expected {
        return Outcome::Exact;
    }
    let is_python = language_of(&file.path) == "python";
    let lines = |text: &str| -> Vec<String> {
        let trimmed = text.lines().map(|line| if is_python { line.trim_end() } else { line.trim() });
        trimmed.filter(|line| !line.is_empty()).map(str::to_owned).collect()
    };
    let difference = difference(expected, text);
    if lines(text) == lines(expected) { Outcome::Spacing(difference) } else { Outcome::Wrong(difference) }
}

/// The outcomes of one way of writing.
#[derive(Default)]
pub struct Tally {
    exact: usize,
    spacing: Vec<(String, String)>,
    refused: BTreeMap<String, Vec<(String, String)>>,
    wrong: Vec<(String, String)>,
}

impl Tally {
    pub fn add(&mut self, name: &str, outcome: Outcome) {
        match outcome {
            Outcome::Exact => self.exact += 1,
            Outcome::Spacing(difference) => self.spacing.push((name.to_owned(), difference)),
            Outcome::Refused(kind, why) => self.refused.entry(kind).or_default().push((name.to_owned(), why)),
            Outcome::Wrong(difference) => self.wrong.push((name.to_owned(), difference)),
        }
    }

    /// Prints the outcomes that are not exact, some of each kind.
    pub fn show(&self, way: &str) {
        let refused = self.refused.iter().map(|(kind, all)| (format!("refused, {kind}"), all));
        let others = [("spacing".to_owned(), &self.spacing), ("wrong".to_owned(), &self.wrong)];
        for (kind, all) in refused.chain(others).filter(|(_, all)| !all.is_empty()) {
            println!("   {way}: {kind}: {}", all.len());
            for (name, why) in all.iter().take(SHOWN) {
                println!(
                    "      {name}\n{}",
                    why.lines().take(24).map(|line| format!("         {line}\n")).collect::<String>()
                );
            }
        }
    }
}

/// Exact, spacing, refused, wrong.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let refused: usize = self.refused.values().map(Vec::len).sum();
        write!(f, "{} / {} / {refused} / {}", self.exact, self.spacing.len(), self.wrong.len())
    }
}
