//! Finds signs that a change is incomplete (a quoted text is missing), or right although a check fails.

use std::collections::BTreeMap;

use crate::edit::comments;
use crate::edit::examples::Example;

use super::Files;

impl Files {
    /// Whether a check fails only because of the requested change: its output contains a number or
    /// quoted text from the request that the change added.
    pub fn is_wanted(&self, trouble: &str) -> bool {
        let asked = &self.asked;
        let values = asked.numbers().map(str::to_owned).chain(asked.quoted()).filter(|value| value.len() > 1);
        let count = |files: &BTreeMap<String, String>, value: &str| -> usize {
            self.after.keys().filter_map(|path| files.get(path)).map(|text| text.matches(value).count()).sum()
        };
        let is_new = |value: &String| count(&self.after, value) > count(&self.before, value);
        values.into_iter().any(|value| is_new(&value) && trouble.contains(&value))
    }

    /// A quoted text in the request that neither the old files nor the code of the change contain.
    pub fn missing_text(&self) -> Option<String> {
        let asked = &self.asked;
        let is_there = |text: &str| {
            self.before.values().any(|file| file.contains(text))
                || self.after.values().any(|file| comments::has_in_code(file, text))
        };
        // The result of an example is computed, so the code need not contain it.
        let given = asked.examples(&self.new_names, &|_| true);
        let is_given = |text: &String| {
            let is_of = |one: &Example| one.expected.contains(text.as_str()) || one.call.contains(text.as_str());
            asked.is_sample(text) || given.iter().any(is_of)
        };
        let mut missing = asked.quoted().into_iter().filter(|text| !is_given(text));
        missing.find(|text| !is_there(text))
    }

    /// A question to the model if the change lacks a quoted text from the request, so that
    /// something else must change.
    pub fn doubt(&self) -> Option<String> {
        let text = self.missing_text()?;
        Some(format!(
            "The request is about '{text}', but what you wrote does not have it. Something else has to change."
        ))
    }
}
