//! Earlier requests: walked with the arrow keys, searched with Ctrl-R.

use std::collections::HashSet;

use super::popup::Choice;

/// Requests that are kept, the newest ones, and the bytes of all of them.
const KEPT_MAX: usize = 1_000;
const KEPT_BYTES_MAX: usize = 16 << 20;

/// Earlier requests, oldest first, and the place of a walk through them.
#[derive(Debug, Default)]
pub struct History {
    asked: Vec<String>,
    /// The request that is shown; `None` while the user's own text is.
    at: Option<usize>,
    /// The text that the walk began from.
    own: String,
}

impl History {
    /// Puts requests of earlier conversations before those of this one.
    pub fn begin_with(&mut self, asked: Vec<String>) {
        let own = std::mem::take(&mut self.asked);
        asked.into_iter().chain(own).for_each(|text| self.add(text));
    }

    pub fn add(&mut self, text: String) {
        self.at = None;
        if text.trim().is_empty() || self.asked.last() == Some(&text) {
            return;
        }
        self.asked.push(text);
        let mut bytes: usize = self.asked.iter().map(String::len).sum();
        while self.asked.len() > KEPT_MAX || (bytes > KEPT_BYTES_MAX && self.asked.len() > 1) {
            bytes -= self.asked.remove(0).len();
        }
    }

    /// The request before the one that is shown; `shown` is what stands in the input.
    pub fn older(&mut self, shown: String) -> Option<&str> {
        let at = match self.at {
            None => {
                self.own = shown;
                self.asked.len().checked_sub(1)?
            }
            Some(at) => at.checked_sub(1)?,
        };
        self.at = Some(at);
        Some(&self.asked[at])
    }

    /// The request after the one that is shown, at last the text that the walk began from.
    pub fn newer(&mut self) -> Option<&str> {
        let at = self.at? + 1;
        self.at = (at < self.asked.len()).then_some(at);
        Some(self.asked.get(at).unwrap_or(&self.own))
    }

    /// All of them to choose from, newest first and each once.
    pub fn choices(&self) -> Vec<Choice> {
        let mut seen = HashSet::new();
        let newest = self.asked.iter().rev().filter(|text| seen.insert(*text));
        let line = |text: &str| text.lines().collect::<Vec<_>>().join(" ");
        newest.map(|text| Choice { label: line(text), detail: String::new(), value: text.clone() }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_requests_go_when_all_take_too_much_memory() {
        let mut history = History::default();
        (0..20).for_each(|n| history.add(format!("{n} {}", "x".repeat(1 << 20))));
        assert!(history.asked.len() == 15 && history.asked[0].starts_with("5 "), "{}", history.asked.len());
    }
}
