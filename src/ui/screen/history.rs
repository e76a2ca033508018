//! Earlier requests: walked with the arrow keys, searched with Ctrl-R.

use super::popup::Choice;

/// Requests that are kept, the newest ones.
const KEPT_MAX: usize = 1_000;

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
        if self.asked.len() == KEPT_MAX {
            self.asked.remove(0);
        }
        self.asked.push(text);
    }

    /// The request before the one that is shown; `shown` is what stands in the input.
    pub fn older(&mut self, shown: &str) -> Option<&str> {
        let at = match self.at {
            None => {
                self.own = shown.to_owned();
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
        let mut seen = std::collections::HashSet::new();
        let newest = self.asked.iter().rev().filter(|text| seen.insert(text.as_str()));
        let line = |text: &String| text.lines().collect::<Vec<_>>().join(" ");
        newest.map(|text| Choice { label: line(text), detail: String::new(), value: text.clone() }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_leads_back_to_the_text_that_it_began_from() {
        let mut history = History::default();
        history.add("b".into());
        history.begin_with(vec!["a".into()]);
        history.add("b".into());
        assert_eq!(history.older("own"), Some("b"));
        assert_eq!(history.older("b"), Some("a"));
        assert_eq!(history.older("a"), None);
        assert_eq!(history.newer(), Some("b"));
        assert_eq!(history.newer(), Some("own"));
        assert_eq!(history.newer(), None);
    }
}
