//! A request with its words, split once and shared by all readers.

use std::collections::HashSet;

use super::{grounding, words};
use crate::base::is_listed;

/// The text of a request, or of a step together with its request.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    pub text: String,
    low: String,
    words: Vec<String>,
    content: HashSet<String>,
}

impl Asked {
    pub fn of(text: impl Into<String>) -> Asked {
        let text = text.into();
        Asked { low: text.to_lowercase(), words: words::split(&text), content: words::content(&text), text }
    }

    /// Its words in lower case.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Whether one of its words is in `list`, whose words are separated by spaces.
    pub fn has(&self, list: &str) -> bool {
        self.words.iter().any(|word| is_listed(list, word))
    }

    /// Whether it contains one of these lower-case texts: stems of words, or phrases.
    pub fn contains(&self, texts: &[&str]) -> bool {
        texts.iter().any(|text| self.low.contains(text))
    }

    /// Whether it contains every word of a name.
    pub fn has_all_of(&self, name: &str) -> bool {
        words::split(name).iter().all(|word| self.words.contains(word))
    }

    /// The stems of its meaningful words.
    pub fn content(&self) -> &HashSet<String> {
        &self.content
    }

    /// Whether it names a definition, in its code spelling or in plain words.
    pub fn names(&self, name: &str) -> bool {
        let words = words::content(name);
        let in_words = || !words.is_empty() && words.is_subset(&self.content);
        !name.is_empty() && (grounding::is_backed(&self.text, name) || in_words())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stems_and_names_are_found() {
        let asked = Asked::of("Let parse_line skip empty rows, too");
        assert!(asked.has("auch too") && !asked.has("row"));
        assert!(asked.contains(&["empt"]) && !asked.contains(&["full"]));
        assert!(asked.has_all_of("lineParse") && !asked.has_all_of("parse_file"));
        assert!(
            asked.names("parse_line") && asked.names("skip_row") && !asked.names("parse_table") && !asked.names("")
        );
    }
}
