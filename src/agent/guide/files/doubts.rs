//! Finds signs that a change is incomplete (a quoted text is missing), or right although a check fails.

use std::collections::BTreeMap;

use crate::edit;

use super::Files;
use crate::edit::comments;
use crate::language::quotations;
use crate::language::quotations::Quotation;

impl Files {
    /// Whether a check fails only because of the requested change: its output contains a number or
    /// quoted text of the request that the change added.
    pub fn is_wanted(&self, trouble: &str) -> bool {
        let asked = &self.asked;
        let numbers = asked.split(|c: char| !c.is_alphanumeric()).filter(|word| word.parse::<f64>().is_ok());
        let values = numbers.map(str::to_owned).chain(quoted(asked)).filter(|value| value.len() > 1);
        let count = |files: &BTreeMap<String, String>, value: &str| -> usize {
            self.after.keys().filter_map(|path| files.get(path)).map(|text| text.matches(value).count()).sum()
        };
        let is_new = |value: &String| count(&self.after, value) > count(&self.before, value);
        values.into_iter().any(|value| is_new(&value) && trouble.contains(&value))
    }

    /// A quoted text of the request that neither the old files nor the code of the change contain.
    pub fn missing_text(&self) -> Option<String> {
        let asked = &self.asked;
        let is_there = |text: &str| {
            self.before.values().any(|file| file.contains(text))
                || self.after.values().any(|file| comments::has_in_code(file, text))
        };
        // The result of an example is computed, so code need not contain it.
        let given = edit::examples::of(asked, &self.new_names, &|_| true);
        let is_given = |text: &String| {
            let before = asked[..asked.find(text.as_str()).unwrap_or(0)].trim_end_matches(['"', '\'', '“', '`', ' ']);
            let shows =
                ["like", "e.g.", "such as", "wie", "z.B.", "comme", "como"].iter().any(|word| before.ends_with(word));
            let is_of = |one: &edit::examples::Example| {
                one.expected.contains(text.as_str()) || one.call.contains(text.as_str())
            };
            shows || given.iter().any(is_of)
        };
        let mut missing = quoted(asked).into_iter().filter(|text| !is_given(text));
        missing.find(|text| !is_there(text))
    }

    /// A question to the model if the change lacks a quoted text of the request, so that something
    /// else has to change.
    pub fn doubt(&self) -> Option<String> {
        let text = self.missing_text()?;
        Some(format!(
            "The request is about '{text}', but what you wrote does not have it. Something else has to change."
        ))
    }
}

/// The quoted texts of a request, outside parentheses.
fn quoted(text: &str) -> Vec<String> {
    const LONGEST: usize = 80;
    let all = quotations::of(text);
    let is_text = |one: &&Quotation<'_>| one.text.trim().len() > 1 && one.text.len() <= LONGEST;
    let outside = all.iter().filter(is_text).filter(|one| quotations::depth(text, &all, one.range.start) == 0);
    outside.map(|one| one.text.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_texts_are_read_outside_of_calls() {
        let text = "It's 'a b' and \"c d\", so f('e f') is \u{201c}gh\u{201d}. don't";
        assert_eq!(quoted(text), ["a b", "c d", "gh"]);
    }
}
