//! Scores chunks by their definitions, re-exports, paths and sorts of file.
//!
//! The weights here and in `rank` were fitted by coordinate ascent on a coarse grid and then
//! rounded: first on 69 questions about four projects (zod, express, axum, pydantic; fitted on
//! three and measured on the fourth, they lost .03 nDCG@10), then on these and 153 questions about
//! nine whole repositories. BENCHMARKS.md has the results on ten others.

use std::collections::HashMap;

use super::query::{Query, Rarity};
use crate::index::paths::{self, Sort};
use crate::index::{FileImportance, HandedOnName, Named, words};

/// Bonus for defining the name that is the whole query; it outweighs everything else.
const DEFINITION: f64 = 3.0;
/// Bonus for a definition whose name has all words of a sentence, weighted; proportionally less for
/// fewer.
const DEFINITION_IN_PROSE: f64 = 0.5;
/// Bonus for a definition whose name is a plain word of a sentence.
const DEFINITION_BY_WORD: f64 = 0.25;
/// Factor if the definition's file has the same name.
const FILE_OF_THAT_NAME: f64 = 1.5;
/// Factor if the name is spelt differently (`Router` for `router`) or has its words in another
/// order.
const OTHER_SPELLING: f64 = 0.8;
/// Factor if the name is a related word (`Router` for `routing`).
const OTHER_FORM: f64 = 0.5;
/// Factor for a method whose name is the whole query: a bare name usually means a definition
/// outside a type.
const METHOD: f64 = 0.85;
/// Factor for a heading, an element, a rule or a key.
const OF_DOCUMENT: f64 = 0.5;
/// Bonus for re-exporting a name from another project (`pub use`, `export … from`), the nearest
/// thing to a definition in this one.
const HANDED_ON: f64 = 1.5;
/// Bonus if the names of file and folder contain all words of the query; proportionally less for
/// fewer.
const PATH: f64 = 1.3;
/// Bonus for the most important file of the project, as a share of its score.
const IMPORTANCE: f64 = 0.25;

/// Bonuses by chunk: for defining (`definition`) and for re-exporting (`handed on`) names in the
/// query.
pub fn definitions(
    query: &Query,
    rarity: &Rarity,
    named: &[Named],
    handed_on: &[HandedOnName],
) -> HashMap<i64, [f64; 2]> {
    let all = rarity.of_roots(query.roots.iter().map(String::as_str)).max(f64::MIN_POSITIVE);
    let covered = |key: &str| rarity.of_roots(key.split(' ')) / all;
    let spelt: Vec<String> = query.code_names.iter().map(|name| words::key(name)).collect();
    // The best name and the best plain word of each chunk.
    let mut names: HashMap<i64, [f64; 2]> = HashMap::new();
    // A plain word may name hundreds of definitions, so its share is computed once.
    let mut shares: HashMap<&str, f64> = HashMap::new();
    for named in named {
        let (Some(chunk), key) = (named.chunk, named.key.as_str()) else { continue };
        let plain = !query.is_symbol && !key.contains(' ') && !spelt.contains(&named.key);
        let best = &mut names.entry(chunk).or_default()[usize::from(plain)];
        let share = *shares.entry(key).or_insert_with(|| covered(key));
        *best = best.max(share * likelihood(query, named));
    }
    let full = if query.is_symbol { DEFINITION } else { DEFINITION_IN_PROSE };
    let mut gains: HashMap<i64, [f64; 2]> = HashMap::new();
    for (chunk, [name, word]) in names {
        gains.entry(chunk).or_default()[0] = full * name + DEFINITION_BY_WORD * word;
    }
    let full = HANDED_ON * if query.is_symbol { DEFINITION } else { 1.0 };
    for (key, _, chunk) in handed_on.iter().filter(|(_, name, _)| is_meant(query, name)) {
        let gain = &mut gains.entry(*chunk).or_default()[1];
        *gain = gain.max(full * covered(key));
    }
    gains
}

/// A factor for how likely the query means this definition, given that its name has the right
/// words.
fn likelihood(query: &Query, named: &Named) -> f64 {
    let home = words::key(words::stem(&named.path)) == named.key;
    let kind = match named.kind.as_str() {
        "variable" | "impl" | "macro" => 0.7,
        "method" if query.is_symbol => METHOD,
        "module" => 0.5,
        // Words in prose and settings also name code.
        "section" | "element" | "rule" | "key" => OF_DOCUMENT,
        _ => 1.0,
    };
    // A sentence inflects a name; a query that is only a name means that name.
    let parts = words::parts(&named.name);
    let is_spelt = |part: &String| query.words.contains(part) || query.words.contains(&named.name.to_lowercase());
    let is_form = |part: &String| !query.is_symbol && query.stems.contains(&words::root(part));
    let spelling = if query.written.contains(&named.name) {
        1.0
    } else if parts.iter().all(|part| is_spelt(part) || is_form(part)) {
        OTHER_SPELLING
    } else {
        OTHER_FORM
    };
    kind * spelling * if home { FILE_OF_THAT_NAME } else { 1.0 }
}

/// Whether the query means exactly this name. A plain lower-case word may also mean the file with
/// that name.
fn is_meant(query: &Query, name: &String) -> bool {
    let spelt = name.contains(|c: char| c.is_uppercase() || c == '_');
    query.code_names.contains(name) || (query.is_symbol && spelt && query.written.contains(name))
}

/// Bonus for query words in the names of the file and folder. Words match if they are related or
/// one's stem is a prefix of the other's.
pub fn path(query: &Query, rarity: &Rarity, path: &str) -> f64 {
    const PREFIX_MIN: usize = 3;
    let folder = path.rsplit('/').nth(1).unwrap_or_default();
    let stem = words::parts(words::stem(path));
    let whole = stem.concat();
    // Words of a sentence have many forms; a name has one.
    let form = |word: &String| if query.is_symbol { word.clone() } else { words::kin(word) };
    let own: Vec<String> = stem.iter().chain(&words::parts(folder)).map(form).collect();
    let fits = |word: &&String| {
        let kin = form(word);
        let alike = |part: &String| part.starts_with(&kin) || kin.starts_with(part.as_str());
        **word == whole
            || own.iter().any(|part| *part == kin || (part.len().min(kin.len()) >= PREFIX_MIN && alike(part)))
    };
    let all: f64 = query.words.iter().map(|word| rarity.of_word(word)).sum();
    let fitting: f64 = query.words.iter().filter(fits).map(|word| rarity.of_word(word)).sum();
    PATH * fitting / all.max(f64::MIN_POSITIVE)
}

/// Factors for files that a query rarely means, unless it asks for them.
const TEST: f64 = 0.3;
/// The factor for tests if a query asks for them. It is below 1, because the word often names the
/// subject of the code; if tests are meant, their paths contain the word and match it.
const TEST_ASKED: f64 = 0.8;
const EXAMPLE: f64 = 0.3;
const OLD: f64 = 0.3;
const PRIVATE: f64 = 0.85;
const EXPERIMENTAL: f64 = 0.7;
const LOCALE: f64 = 0.5;
const VENDORED: f64 = 0.4;
const BUILT: f64 = 0.3;
const HISTORY: f64 = 0.3;
const DECLARATIONS: f64 = 0.4;
const PROSE: f64 = 0.4;
const SUPERSEDED: f64 = 0.3;
/// The factor for a file whose lines are also in the sources.
const COPY: f64 = 0.3;

/// The factor for a chunk of a source file that defines tests; `None` if `of_file` already includes
/// it or the query asks for tests.
pub fn test_inside(
    query: &Query,
    of_file: &[(&'static str, f64)],
    symbol: Option<&str>,
) -> Option<(&'static str, f64)> {
    let is_test = symbol.is_some_and(|s| s == "tests" || s.starts_with("test_"));
    let of_file = of_file.iter().any(|(name, _)| *name == "×test");
    (is_test && !of_file && !query.asks_for(Sort::Test)).then_some(("×test", TEST))
}

/// The factors of a file: lower for sorts of files that are rarely meant, unless the query asks for
/// them; higher for important files.
pub fn factors(query: &Query, importance: &FileImportance, path: &str) -> Vec<(&'static str, f64)> {
    let mut factors = Vec::new();
    let share = importance.importance(path);
    if share > 0.0 {
        factors.push(("×importance", 1.0 + IMPORTANCE * share));
    }
    if importance.is_copy(path) && !query.asks_for(Sort::Built) {
        factors.push(("×copy", COPY));
    }
    for sort in paths::sorts(path).into_iter().filter(|sort| *sort == Sort::Test || !query.asks_for(*sort)) {
        factors.push(match sort {
            Sort::Test if query.asks_for(sort) => ("×test", TEST_ASKED),
            Sort::Test => ("×test", TEST),
            Sort::Example => ("×example", EXAMPLE),
            Sort::Old => ("×old", OLD),
            Sort::Private => ("×private", PRIVATE),
            Sort::Experimental => ("×experimental", EXPERIMENTAL),
            Sort::Locale => ("×locale", LOCALE),
            Sort::Vendored => ("×vendored", VENDORED),
            Sort::Built => ("×built", BUILT),
            Sort::History => ("×history", HISTORY),
            Sort::Declarations => ("×declarations", DECLARATIONS),
            Sort::Data | Sort::Prose => ("×prose", PROSE),
        });
    }
    if importance.is_superseded(path) && !query.asks_for_version_of(path) {
        factors.push(("×superseded", SUPERSEDED));
    }
    factors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query: &str, of: &str, expected: f64) {
        let query = Query::read(query);
        let rarity = Rarity::new(&query, 100, &vec![5; query.words.len()]);
        assert!((path(&query, &rarity, of) - PATH * expected).abs() < 1e-9, "{query:?} in {of}");
    }

    #[test]
    fn a_path_scores_by_the_share_of_the_querys_words() {
        check("retry policy", "src/http/retry_policy.ts", 1.0);
        check("retry limits", "src/http/retry.ts", 0.5);
        check("routing of requests", "src/router.rs", 0.5);
        check("implementations of lists", "src/impls/mod.rs", 0.5);
        check("Validator", "src/validate.rs", 0.0);
        check("routers", "src/router/mod.rs", 1.0);
        check("", "src/router.rs", 0.0);
    }

    #[test]
    fn tests_rank_low_unless_they_are_asked_for() {
        let importance = FileImportance::default();
        let factors = |query: &str, path: &str| factors(&Query::read(query), &importance, path);
        assert_eq!(factors("parse a string", "src/parse.test.ts"), [("×test", 0.3)]);
        assert_eq!(factors("tests of parse", "src/parse.test.ts"), [("×test", 0.8)]);
        assert_eq!(factors("parse", "src/latest.ts"), []);
        assert_eq!(factors("parse", "examples/parse.ts"), [("×example", 0.3)]);
        let inside = |query: &str, of: &[_], symbol| test_inside(&Query::read(query), of, Some(symbol));
        assert_eq!(inside("parse", &[], "tests"), Some(("×test", TEST)));
        assert_eq!(inside("parse", &[("×test", TEST)], "tests"), None, "once is enough");
        assert_eq!(inside("tests of parse", &[], "test_parse"), None);
        assert_eq!(inside("parse", &[], "parse"), None);
    }

    #[test]
    fn an_older_version_ranks_low_unless_it_is_asked_for() {
        let importance = FileImportance::new(&["src/v3/errors.ts", "src/v4/errors.ts"], &[], &Default::default());
        let names = |query: &str, path: &str| -> Vec<&str> {
            factors(&Query::read(query), &importance, path).into_iter().map(|(name, _)| name).collect()
        };
        assert_eq!(names("errors", "src/v3/errors.ts"), ["×importance", "×superseded"]);
        assert_eq!(names("errors of v3", "src/v3/errors.ts"), ["×importance"]);
        assert_eq!(names("errors", "src/v4/errors.ts"), ["×importance"]);
    }
}
