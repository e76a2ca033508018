//! Answers questions about the topics of a text, from word lists.

use crate::base::is_listed;
use crate::base::pattern::static_regex;
use crate::edit::testing::Style;
use crate::language::clauses::words::{entries, listed};
use crate::language::words;

use super::Text;

/// Words that ask for reasoning.
const REASONING: &str = "\
    why, design, architecture, refactor, optimize, optimise, debug, prove, compare, trade-offs, tradeoffs, \
    investigate, diagnose, redesign, migrate, concurrency, deadlock, race";
/// Words of rename requests that include strings, comments and documentation.
const MENTIONS: &str = "\
    string strings comment comments docs documentation docstring docstrings readme mentioned mentions \
    kommentare kommentaren commentaires comentarios doku";
/// Words that ask for an empty file.
const EMPTY: &str = "empty blank leer leere leeres vide vacío пустой";
/// Words that put new tests into the file of the tested code.
const SAME_FILE: &[&str] =
    &["same file", "selben datei", "gleichen datei", "même fichier", "mismo archivo", "mismo fichero"];
/// Words that hint at changes beyond the named ones.
const MORE: &str = "too also use uses using call calls instead everywhere auch aussi también";
/// Words about errors.
const ERRORS: &str = "\
    raise raises throw throws error errors exception exceptions fail fails reject rejects refuse refuses forbid \
    forbids invalid crash crashes panic fehler wirft erreur";
/// Words about the wording and form of prose.
const OF_WORDING: &str =
    "typo typos spelling grammar wording reword rephrase translate format link links shorten simplify";
/// Stems of words about white space.
const SPACE: &[&str] =
    &["indent", "space", "tab", "blank", "format", "newline", "line break", "lint", "einrück", "leer"];
/// Words that ask for files; without one, files are not searched for by name.
const FINDS: &[&str] = &["files", "find", "list", "dateien", "fichiers", "archivos", "файлы"];

impl Text {
    /// Whether the text asks for an answer in words rather than a list.
    pub fn asks_for_words(&self) -> bool {
        const ASKING: &str = "what, how, why, which, who, when, where, is, are, does, do, can, explain, describe, tell, \
                              summarize, summarise";
        let low = self.raw().trim().to_lowercase();
        low.ends_with('?') || low.split(|c: char| !c.is_alphanumeric()).next().is_some_and(|word| listed(ASKING, word))
    }

    /// Whether the text asks for a count.
    pub fn asks_for_count(&self) -> bool {
        self.contains(&["how many", "how often"]) || self.raw().to_lowercase().starts_with("count ")
    }

    /// The number of different words in the text that ask for reasoning.
    pub fn reasons(&self) -> usize {
        let low = self.raw().to_lowercase();
        let words: Vec<&str> = low.split(|c: char| !c.is_alphanumeric() && c != '-').collect();
        entries(REASONING).filter(|word| words.contains(word)).count()
    }

    /// Whether the text asks to rename in strings, comments and documentation too.
    pub fn includes_mentions(&self) -> bool {
        self.has(MENTIONS)
    }

    /// Whether a file is to be created without content.
    pub fn asks_for_empty_file(&self) -> bool {
        self.has(EMPTY)
    }

    /// Whether new tests go into the file of the tested code.
    pub fn puts_tests_beside_code(&self) -> bool {
        self.contains(SAME_FILE)
    }

    /// Whether the text hints at changes beyond the named ones.
    pub fn hints_at_more(&self) -> bool {
        self.has(MORE)
    }

    /// Whether the text asks for an export.
    pub fn asks_for_export(&self) -> bool {
        static_regex!(
            ASKS = r"(?i)\b(?:re-?)?export(?:s|ed|iere|iert|e|er|a|ar)?\b|__all__|\bavailable\s+(?:as|from|in)\b"
        );
        ASKS.is_match(self.raw())
    }

    /// Whether the text is short and asks for an export.
    pub fn asks_only_for_export(&self) -> bool {
        const WORDS_MAX: usize = 12;
        self.words().len() <= WORDS_MAX && self.asks_for_export()
    }

    /// Whether it mentions errors, as handled or raised by code.
    pub fn speaks_of_errors(&self) -> bool {
        self.has(ERRORS)
    }

    /// Whether the text is about wording, so that code changes make no difference.
    pub fn speaks_of_wording(&self) -> bool {
        self.speaks_of_docs() || self.has("comment comments typo wording")
    }

    /// Whether the text is about the form of prose: spelling, wording, links.
    pub fn speaks_of_form(&self) -> bool {
        self.has(OF_WORDING)
    }

    /// Whether it mentions white space, which some changes otherwise leave alone.
    pub fn speaks_of_space(&self) -> bool {
        self.contains(SPACE)
    }

    /// Whether it asks for files, so that files are searched for by name.
    pub fn speaks_of_files(&self) -> bool {
        self.words().iter().any(|word| FINDS.contains(&word.as_str()))
    }

    /// Whether it mentions examples or doctests, so that new ones are not unasked.
    pub fn asks_for_examples(&self) -> bool {
        self.has("example examples doctest doctests usage")
    }

    /// Whether the text is about the list of exports of a Python module.
    pub fn speaks_of_all_names(&self) -> bool {
        self.contains(&["__all__"])
    }

    /// The test runner that the text names.
    pub fn test_runner(&self) -> Option<Style> {
        let runners =
            [("node:test", Style::Node), ("vitest", Style::Vitest), ("jest", Style::Jest), ("mocha", Style::Mocha)];
        runners.into_iter().find(|(name, _)| self.contains(&[*name])).map(|(_, style)| style)
    }

    /// Whether `line` repeats the order instead of carrying it out: it begins with the verb of an
    /// order, and all its words are in this text.
    pub fn is_repeated_by(&self, line: &str) -> bool {
        const ORDERS: &str = "mention add say write put document note describe explain tell include state list";
        let said = words::split(line);
        let orders = said.first().is_some_and(|first| is_listed(ORDERS, first));
        orders && said.len() > 1 && said.iter().all(|word| self.words().contains(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_found_by_their_words() {
        let text = Text::of("Put the vitest cases into the same file, too; indent by tabs and raise an error");
        assert!(text.puts_tests_beside_code() && text.hints_at_more() && text.speaks_of_space());
        assert!(text.speaks_of_errors() && text.test_runner() == Some(Style::Vitest));
        let text = Text::of("Say where `door` opens");
        assert!(!text.hints_at_more() && !text.speaks_of_errors() && text.test_runner().is_none());
        assert!(text.is_repeated_by("say where door opens") && !text.is_repeated_by("It opens to the left"));
    }

    #[test]
    fn export_requests_are_recognized() {
        for text in ["export f from index.js", "Export it too", "make it available as lib::f", "exported from lib.rs"] {
            assert!(Text::of(text).asks_only_for_export(), "{text}");
        }
        assert!(!Text::of("the file is available").asks_for_export());
    }

    #[test]
    fn words_are_wanted_for_a_question() {
        for (text, wants) in [("Explain the oven", true), ("the oven?", true), ("list the ovens", false)] {
            assert_eq!(Text::of(text).asks_for_words(), wants, "{text}");
        }
        assert_eq!(Text::of("Why is the race there, why not a lock? Debug it").reasons(), 3);
    }
}
