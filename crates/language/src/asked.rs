//! A request as seen by the checks of a change: which names it mentions, and what it is about.

use std::collections::HashSet;
use std::sync::Arc;

use super::{grounding, words};
use crate::base::is_listed;

/// A text split into words once.
#[derive(Clone, Debug, Default)]
pub struct Tokens {
    /// The text as it was given.
    pub text: String,
    low: String,
    words: Vec<String>,
    content: HashSet<String>,
}

impl Tokens {
    /// Splits `text`; identifiers are split into their words too.
    pub fn of(text: impl Into<String>) -> Tokens {
        let text = text.into();
        Tokens { low: text.to_lowercase(), words: words::split(&text), content: words::content(&text), text }
    }

    /// Its words in lower case.
    pub fn all(&self) -> &[String] {
        &self.words
    }

    /// Whether any of its words is in `list`, which is separated by spaces.
    pub fn has(&self, list: &str) -> bool {
        self.words.iter().any(|word| is_listed(list, word))
    }

    /// Whether it contains one of these lower-case texts: word stems or phrases.
    pub fn contains(&self, texts: &[&str]) -> bool {
        texts.iter().any(|text| self.low.contains(text))
    }

    /// The stems of its meaningful words.
    pub fn content(&self) -> &HashSet<String> {
        &self.content
    }
}

/// A request, or a step together with its request. It answers questions about code without exposing
/// its text.
#[derive(Clone, Debug, Default)]
pub struct Asked(Arc<Tokens>);

impl Asked {
    /// The request with this text, which is split here; [`Asked::with`] shares what is split already.
    pub fn of(text: impl Into<String>) -> Asked {
        Asked(Arc::new(Tokens::of(text)))
    }

    /// The request with these tokens.
    pub fn with(tokens: Arc<Tokens>) -> Asked {
        Asked(tokens)
    }

    /// The stems of its meaningful words.
    pub fn content(&self) -> &HashSet<String> {
        self.0.content()
    }

    /// Whether it contains every word of a name.
    pub fn has_all_of(&self, name: &str) -> bool {
        words::split(name).iter().all(|word| self.0.words.contains(word))
    }

    /// Whether it names a definition, in its code spelling or in plain words.
    pub fn names(&self, name: &str) -> bool {
        let words = words::content(name);
        let in_words = || !words.is_empty() && words.is_subset(self.content());
        !name.is_empty() && (self.spells(name) || in_words())
    }

    /// Whether it contains a name or a value in this spelling, as a whole word.
    pub fn spells(&self, name: &str) -> bool {
        grounding::is_backed(&self.0.text, name)
    }

    /// Whether it contains these letters, in any case.
    pub fn contains(&self, text: &str) -> bool {
        self.0.contains(&[&text.to_lowercase()])
    }
}

/// Words of requests about annotations, and of requests about docstrings.
const TYPES: &str = "type types typed typing annotate annotated annotation annotations hint hints typen typhinweise";
const DOCS: &str = "\
    doc docs docstring docstrings document documented documentation comment comments describe described explain mention typo typos spelling \
    wording doctest doctests example examples kommentar kommentare dokumentiere";
/// Words of requests that do not name a new parameter.
const OPEN: &str =
    "parameter parameters argument arguments option options flag flags keyword signature setting settings";
/// Stems of words that may ask for less code.
const LESS: &[&str] =
    &["simpl", "refactor", "short", "rewrit", "reduc", "instead", "replac", "verein", "kürz", "réécri", "упрост"];
/// Stems of words about wording, comments and documentation.
const WORDING: &[&str] = &[
    "doc",
    "comment",
    "typo",
    "describe",
    "explain",
    "example",
    "spell",
    "word",
    "text",
    "say",
    "mention",
    "note",
    "kommentar",
    "todo",
];

/// Its subjects.
impl Asked {
    /// Whether it is about type annotations.
    pub fn is_about_types(&self) -> bool {
        self.0.has(TYPES)
    }

    /// Whether it is about docstrings, comments or examples.
    pub fn is_about_docs(&self) -> bool {
        self.0.has(DOCS)
    }

    /// Whether a change may be limited to comments and documentation.
    pub fn is_about_wording(&self) -> bool {
        self.0.contains(WORDING)
    }

    /// Whether it is about comments, and not about documentation in general.
    pub fn is_about_comments(&self) -> bool {
        self.0.contains(&["comment"])
    }

    /// Whether it is about importing this name.
    pub fn is_about_import_of(&self, name: &str) -> bool {
        self.0.contains(&["import"]) && self.spells(name)
    }

    /// Whether the parameters of a function may change.
    pub fn is_about_parameters(&self) -> bool {
        self.0.has("signature parameter parameters argument arguments")
    }

    /// Whether default values may change.
    pub fn is_about_defaults(&self) -> bool {
        self.0.has("default defaults unless otherwise standardmäßig défaut")
    }

    /// Whether the type of a result may change.
    pub fn is_about_results(&self) -> bool {
        self.0.has("type types return returns typed hint annotation")
    }

    /// Whether it asks for a parameter or an option and may leave its name open.
    pub fn leaves_name_open(&self) -> bool {
        self.0.has(OPEN)
    }

    /// Whether it may ask for less code.
    pub fn may_ask_for_less(&self) -> bool {
        self.0.contains(LESS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stems_and_names_are_found() {
        let words = Tokens::of("Let parse_line skip empty rows, too");
        assert!(words.has("auch too") && !words.has("row"));
        assert!(words.contains(&["empt"]) && !words.contains(&["full"]));
        let asked = Asked::with(Arc::new(words));
        assert!(asked.has_all_of("lineParse") && !asked.has_all_of("parse_file"));
        assert!(asked.contains("Parse_Line") && asked.spells("parse_line") && !asked.spells("parse"));
        assert!(
            asked.names("parse_line") && asked.names("skip_row") && !asked.names("parse_table") && !asked.names("")
        );
    }

    #[test]
    fn a_request_is_about_what_it_mentions() {
        let asked = Asked::of("Explain the default of `width` in a comment and import json");
        assert!(asked.is_about_docs() && asked.is_about_wording() && asked.is_about_comments());
        assert!(asked.is_about_defaults() && asked.is_about_import_of("json") && !asked.is_about_import_of("re"));
        assert!(!asked.is_about_types() && !asked.is_about_parameters() && !asked.may_ask_for_less());
        let asked = Asked::of("Simplify add: no flag, and a typed result");
        assert!(asked.may_ask_for_less() && asked.leaves_name_open() && asked.is_about_types());
    }
}
