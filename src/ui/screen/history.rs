//! Earlier requests: browsed with the arrow keys, searched with Ctrl-R.

use std::collections::HashSet;

use super::input::Draft;
use super::popup::Choice;

/// Maximum number of requests kept, newest first, and their maximum total size with pastes, in
/// bytes.
const KEPT_MAX: usize = 1_000;
const KEPT_BYTES_MAX: usize = 16 << 20;

/// Earlier requests, oldest first, and the current position among them.
#[derive(Debug, Default)]
pub struct History {
    asked: Vec<Draft>,
    /// The displayed request; `None` while the user's own text is displayed.
    at: Option<usize>,
    /// The text displayed before browsing began.
    own: Draft,
}

impl History {
    /// Puts requests from earlier conversations before those from this one.
    pub fn begin_with(&mut self, asked: Vec<String>) {
        let own = std::mem::take(&mut self.asked);
        asked.into_iter().map(Draft::from).chain(own).for_each(|draft| self.add(draft));
    }

    pub fn add(&mut self, draft: Draft) {
        self.at = None;
        if draft.shown.trim().is_empty() || self.asked.last() == Some(&draft) {
            return;
        }
        self.asked.push(draft);
        let mut bytes: usize = self.asked.iter().map(Draft::bytes).sum();
        while self.asked.len() > KEPT_MAX || (bytes > KEPT_BYTES_MAX && self.asked.len() > 1) {
            bytes -= self.asked.remove(0).bytes();
        }
    }

    /// The request before the displayed one; `shown` is the current input.
    pub fn older(&mut self, shown: Draft) -> Option<&Draft> {
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

    /// The request after the displayed one, and finally the text displayed before browsing began.
    pub fn newer(&mut self) -> Option<&Draft> {
        let at = self.at? + 1;
        self.at = (at < self.asked.len()).then_some(at);
        Some(self.asked.get(at).unwrap_or(&self.own))
    }

    /// The newest request with exactly this text.
    pub fn find(&self, whole: &str) -> Option<&Draft> {
        self.asked.iter().rev().find(|draft| draft.whole() == whole)
    }

    /// All requests as choices, newest first and without duplicates. The value of a choice is its
    /// full text.
    pub fn choices(&self) -> Vec<Choice> {
        let mut seen = HashSet::new();
        let texts = self.asked.iter().rev().map(|draft| (draft, draft.whole()));
        let newest = texts.filter(|(_, whole)| seen.insert(whole.clone()));
        let line = |text: &str| text.lines().collect::<Vec<_>>().join(" ");
        newest.map(|(draft, value)| Choice { label: line(&draft.shown), detail: String::new(), value }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_leads_back_to_the_text_that_it_began_from() {
        let mut history = History::default();
        history.add("b".to_owned().into());
        history.begin_with(vec!["a".into()]);
        history.add("b".to_owned().into());
        let draft = |text: &str| Draft::from(text.to_owned());
        assert_eq!(history.older(draft("own")), Some(&draft("b")));
        assert_eq!(history.older(draft("b")), Some(&draft("a")));
        assert_eq!(history.older(draft("a")), None);
        assert_eq!(history.newer(), Some(&draft("b")));
        assert_eq!(history.newer(), Some(&draft("own")));
        assert_eq!(history.newer(), None);
    }

    #[test]
    fn the_oldest_requests_go_when_all_take_too_much_memory() {
        let mut history = History::default();
        (0..20).for_each(|n| history.add(format!("{n} {}", "x".repeat(1 << 20)).into()));
        assert!(history.asked.len() == 15 && history.asked[0].shown.starts_with("5 "), "{}", history.asked.len());
    }
}
