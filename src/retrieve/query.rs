//! Reads a query: is it a name or prose, which words and names does it hold, what kind of file does it ask for.

use crate::index::words;

/// A query as the ranking needs it.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// Words for the full-text index, without stop words.
    pub words: Vec<String>,
    /// Names that a definition may have, as written.
    pub names: Vec<String>,
    /// Names written as code is: `ZodType`, `get_user`, `a::b`, in backticks.
    pub code_names: Vec<String>,
    /// The whole query is one name.
    pub is_symbol: bool,
    pub asks: Asks,
}

/// Kinds of file that rank low unless they are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asks {
    pub tests: bool,
    pub examples: bool,
    pub old: bool,
    pub types: bool,
    pub prose: bool,
}

impl Query {
    /// Longest query that is looked at, in bytes; a pasted file says no more than its beginning.
    const BYTES_MAX: usize = 4_000;

    pub fn read(text: &str) -> Query {
        let end = (0..=Self::BYTES_MAX.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let text = &text[..end];
        let words = words::query_words(text);
        let written: Vec<&str> = words::identifiers(text).collect();
        let code_names: Vec<String> =
            written.iter().filter(|w| is_code(w) || is_quoted(text, w)).map(|w| (*w).to_owned()).collect();
        let names = written
            .iter()
            .filter(|w| w.len() > 2 && !words::is_stop_word(&w.to_lowercase()))
            .map(|w| (*w).to_owned())
            .collect();
        let one = text.split_whitespace().count() == 1;
        let asks_for = |wanted: &[&str]| words.iter().any(|w| wanted.contains(&w.as_str()));
        let asks = Asks {
            tests: asks_for(&["test", "tests", "testing", "spec", "specs", "fixture", "fixtures", "mock", "mocks"]),
            examples: asks_for(&[
                "example",
                "examples",
                "demo",
                "demos",
                "sample",
                "samples",
                "bench",
                "benchmark",
                "benchmarks",
            ]),
            old: asks_for(&["compat", "compatibility", "legacy", "deprecated", "old"]),
            types: asks_for(&["declaration", "declarations", "typings", "dts"]),
            prose: asks_for(&[
                "readme",
                "docs",
                "documentation",
                "changelog",
                "license",
                "guide",
                "config",
                "configuration",
            ]),
        };
        Query { words, names, code_names, is_symbol: one && !text.trim().is_empty(), asks }
    }
}

/// Whether a word is spelt as code is: an underscore, or a capital after a small letter.
fn is_code(word: &str) -> bool {
    let inner = word.trim_matches('_');
    inner.contains('_') || inner.chars().zip(inner.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase())
}

fn is_quoted(text: &str, word: &str) -> bool {
    ["`", "::", "."].iter().any(|mark| text.contains(&format!("{mark}{word}"))) || text.contains(&format!("{word}("))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, is_symbol: bool, code_names: &[&str]) {
        let query = Query::read(text);
        assert_eq!(
            (query.is_symbol, query.code_names),
            (is_symbol, code_names.iter().map(|n| (*n).to_owned()).collect()),
            "{text}"
        );
    }

    #[test]
    fn names_are_told_from_prose() {
        check("ZodType", true, &["ZodType"]);
        check("retry", true, &[]);
        check("how does ZodType parse", false, &["ZodType"]);
        check("what calls `retry` and backoff()", false, &["retry", "backoff"]);
        check("Index::open", true, &["open"]);
        check("", false, &[]);
    }

    #[test]
    fn a_query_longer_than_its_bound_is_cut_between_characters() {
        assert!(Query::read(&"é".repeat(5_000)).words.len() <= 1);
    }

    #[test]
    fn asking_for_tests_is_noticed() {
        assert!(Query::read("where are the tests of the router").asks.tests);
        assert!(!Query::read("latest router").asks.tests);
    }
}
