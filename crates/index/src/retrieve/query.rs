//! Analyses a query: whether it is a name or prose, its words and names, and the sorts of files it asks for.

use std::collections::HashMap;

use crate::index::paths::{self, Sort};
use crate::index::words;

/// A query, analysed for ranking.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// Words for the full-text index, without stop words.
    pub words: Vec<String>,
    /// Stems of the words in order, with identifiers split, without stop words.
    pub roots: Vec<String>,
    /// Stems of the same words that relate agent nouns to their verbs; see [`words::root`] and
    /// [`words::kin`].
    pub stems: Vec<String>,
    /// Other forms of the words, which the full-text index does not relate to them.
    pub forms: Vec<String>,
    /// Identifiers as written.
    pub written: Vec<String>,
    /// Names written like code: `TeapotType`, `get_user`, `a::b`, or in backticks.
    pub code_names: Vec<String>,
    /// Whether the whole query is one name.
    pub is_symbol: bool,
    /// Whether the query was longer than the part used.
    pub is_cut: bool,
}

impl Query {
    /// Maximum number of bytes used from a query; a pasted file is truncated.
    const BYTES_MAX: usize = 4_000;
    /// Number of leading words; any two or three of them may form a name.
    const COMBINED_WORDS_MAX: usize = 12;
    /// Maximum number of consecutive words that may form a name.
    const RUN_MAX: usize = 6;
    /// Number of words whose other forms are searched for.
    const FORMS_MAX: usize = 12;
    /// Maximum number of stems used; a question has about a dozen.
    const ROOTS_MAX: usize = 100;

    pub fn read(text: &str) -> Query {
        let whole = text.len();
        let text = &text[..text.floor_char_boundary(Self::BYTES_MAX)];
        let written: Vec<String> = words::identifiers(text).map(str::to_owned).collect();
        let code_names: Vec<String> = written.iter().filter(|w| is_code(w) || is_quoted(text, w)).cloned().collect();
        let parts: Vec<String> = written.iter().flat_map(|w| words::parts(w)).collect();
        let content_words: Vec<&String> = parts.iter().filter(|w| !words::is_stop_word(w)).collect();
        let kept = if content_words.is_empty() { parts.iter().collect() } else { content_words };
        let words = words::query_words(text);
        let stems: Vec<String> = words.iter().map(|word| words::root(word)).collect();
        let forms = words.iter().take(Self::FORMS_MAX).flat_map(|word| words::other_forms(word));
        let forms = forms.filter(|form| !stems.contains(&words::root(form))).collect();
        Query {
            is_cut: text.len() < whole || kept.len() > Self::ROOTS_MAX,
            words,
            roots: kept.into_iter().take(Self::ROOTS_MAX).map(|word| words::kin(word)).collect(),
            stems,
            forms,
            is_symbol: text.split_whitespace().count() == 1,
            written,
            code_names,
        }
    }

    /// Index keys of definitions that the query may mean: every name as written, every sequence of
    /// words, and any two or three of the leading words.
    pub fn keys(&self) -> Vec<String> {
        // Only complete names are checked: `from_tin` is a name although `from` is a stop word.
        let names = self.written.iter().filter(|name| !words::is_stop_word(&name.to_lowercase()));
        let mut keys: Vec<String> = names.take(Self::ROOTS_MAX).map(|name| words::key(name)).collect();
        for length in 1..=Self::RUN_MAX {
            keys.extend(self.roots.windows(length).map(|run| words::joined(run.to_vec())));
        }
        let mut first: Vec<&String> = Vec::new();
        for root in &self.roots {
            if first.len() < Self::COMBINED_WORDS_MAX && !first.contains(&root) {
                first.push(root);
            }
        }
        for (at, one) in first.iter().enumerate() {
            for (between, other) in first.iter().enumerate().skip(at + 1) {
                keys.push(words::joined(vec![(*one).clone(), (*other).clone()]));
                let thirds = first.iter().skip(between + 1);
                keys.extend(
                    thirds.map(|third| words::joined(vec![(*one).clone(), (*other).clone(), (*third).clone()])),
                );
            }
        }
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Whether the query asks for this sort of file.
    pub fn asks_for(&self, sort: Sort) -> bool {
        let wanted: &[&str] = match sort {
            Sort::Test => &["test", "tests", "testing", "spec", "specs", "fixture", "fixtures", "mock", "mocks"],
            Sort::Example => {
                &["example", "examples", "demo", "demos", "sample", "samples", "bench", "benchmark", "benchmarks"]
            }
            Sort::Old => &["compat", "compatibility", "legacy", "deprecated", "old"],
            Sort::Private => &["internal", "internals", "private"],
            Sort::Experimental => &["experimental", "unstable"],
            Sort::Locale => &["locale", "locales", "language", "languages", "translation", "translations", "i18n"],
            Sort::Vendored => &["vendor", "vendored", "third", "bundled"],
            Sort::Built => &["dist", "build", "bundle", "bundles", "generated", "minified", "amalgamated"],
            Sort::History => &["changelog", "changes", "history", "release", "releases", "upgrade", "migration"],
            Sort::Declarations => &["declaration", "declarations", "typings", "dts"],
            Sort::Data => &["config", "configuration", "settings", "manifest", "json", "toml", "yaml", "dependencies"],
            Sort::Prose => &["readme", "docs", "documentation", "changelog", "license", "guide"],
        };
        self.words.iter().any(|word| wanted.contains(&word.as_str()))
    }

    /// Whether the query asks for the older version to which this file belongs.
    pub fn asks_for_version_of(&self, path: &str) -> bool {
        let named = |folder: &str| paths::version_of(folder).is_some() && self.words.iter().any(|word| word == folder);
        self.asks_for(Sort::Old) || path.split('/').any(named)
    }
}

/// The weight of each word of a query: its inverse document frequency in the project.
#[derive(Debug)]
pub struct Rarity {
    of_word: HashMap<String, f64>,
    of_root: HashMap<String, f64>,
}

/// Factor for words of names written like code, because the user means exactly these.
const CODE_WEIGHT: f64 = 2.0;

impl Rarity {
    /// Computes the weights from the total number of chunks and the number with each of the query's
    /// words (`with`).
    pub fn new(query: &Query, chunks: usize, with: &[usize]) -> Rarity {
        let rarity = |with: usize| (1.0 + (chunks as f64 - with as f64 + 0.5).max(0.5) / (with as f64 + 0.5)).ln();
        let of_word: HashMap<String, f64> = query.words.iter().cloned().zip(with.iter().map(|w| rarity(*w))).collect();
        let spelt: Vec<String> =
            query.code_names.iter().flat_map(|name| words::parts(name)).map(|p| words::kin(&p)).collect();
        let mut of_root: HashMap<String, f64> = HashMap::new();
        for (word, rarity) in &of_word {
            let root = words::kin(word);
            let weight = rarity * if spelt.contains(&root) { CODE_WEIGHT } else { 1.0 };
            let known = of_root.entry(root).or_default();
            *known = known.max(weight);
        }
        Rarity { of_word, of_root }
    }

    pub fn of_word(&self, word: &str) -> f64 {
        self.of_word.get(word).copied().unwrap_or(0.0)
    }

    /// The sum of the weights of the distinct stems.
    pub fn of_roots<'a>(&self, roots: impl Iterator<Item = &'a str>) -> f64 {
        let mut distinct: Vec<&str> = roots.collect();
        distinct.sort_unstable();
        distinct.dedup();
        distinct.into_iter().map(|root| self.of_root.get(root).copied().unwrap_or(0.0)).sum()
    }
}

/// Whether a word is written like code: with an underscore, or a capital after a lower-case letter.
fn is_code(word: &str) -> bool {
    let inner = word.trim_matches('_');
    inner.contains('_') || inner.chars().zip(inner.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase())
}

/// Whether a word follows a backtick, `::` or a dot, or is followed by `(`.
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
    fn names_are_distinguished_from_prose() {
        check("TeapotType", true, &["TeapotType"]);
        check("retry", true, &[]);
        check("how does TeapotType parse", false, &["TeapotType"]);
        check("what calls `retry` and backoff()", false, &["retry", "backoff"]);
        check("Index::open", true, &["open"]);
        check("", false, &[]);
    }

    #[test]
    fn words_that_may_form_a_name_are_combined() {
        let keys = Query::read("own parcel and route planners").keys();
        for name in ["parcel", "ParcelPlanner", "route_planner", "plan_route_parcels"] {
            assert!(keys.contains(&words::key(name)), "{name} in {keys:?}");
        }
        assert!(!keys.contains(&words::key("and")));
        assert!(Query::read("how is from_tin called").keys().contains(&words::key("from_tin")));
    }

    #[test]
    fn a_query_that_is_too_long_is_cut_between_characters() {
        assert!(Query::read(&"é".repeat(5_000)).words.len() <= 1);
        let long = Query::read(&(0..2_000).map(|n| format!("w{n} ")).collect::<String>());
        assert!(long.roots.len() == Query::ROOTS_MAX && long.keys().len() < 1_000, "{}", long.keys().len());
    }

    #[test]
    fn queries_for_tests_or_an_old_version_are_recognised() {
        assert!(Query::read("where are the tests of the router").asks_for(Sort::Test));
        assert!(!Query::read("latest router").asks_for(Sort::Test));
        assert!(Query::read("errors in v3").asks_for_version_of("src/v3/errors.ts"));
        assert!(!Query::read("errors in v3").asks_for_version_of("src/v2/errors.ts"));
    }

    #[test]
    fn rare_words_and_names_written_like_code_weigh_more() {
        let query = Query::read("schema of TeapotType");
        assert_eq!(query.words, ["schema", "teapottype", "teapot", "type"]);
        let rarity = Rarity::new(&query, 1_000, &[500, 3, 900, 500]);
        assert!(rarity.of_word("teapottype") > rarity.of_word("schema"));
        assert_eq!(rarity.of_roots(["type"].into_iter()), 2.0 * rarity.of_roots(["schema"].into_iter()));
        assert_eq!(rarity.of_roots(["type", "type"].into_iter()), rarity.of_roots(["type"].into_iter()));
    }
}
