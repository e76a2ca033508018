//! What a chunk's place and names say about a query, apart from its words and its meaning.
//!
//! The weights here and in `rank` were fitted on 69 questions about four projects (zod, express, axum, pydantic) by coordinate ascent on a
//! coarse grid and then rounded to simpler values. On a parameter set near this one, with each project left out in turn, what the other three
//! gave was worth 0.86 nDCG@10 on it, against 0.89 with all four.

use std::collections::HashMap;

use super::query::{Query, Rarity};
use crate::index::paths::{self, Sort};
use crate::index::{HandedOn, Named, Standing, words};

/// A definition of the very name that is the whole query outweighs everything else.
const DEFINITION: f64 = 3.0;
/// A definition whose name covers all that a sentence says; one that covers half gets half.
const DEFINITION_IN_PROSE: f64 = 0.75;
/// A plain word of a sentence that happens to be a definition's name.
const DEFINITION_BY_WORD: f64 = 0.25;
/// The file is named after it as well.
const FILE_OF_THAT_NAME: f64 = 1.5;
/// Spelt otherwise than asked: `router` asked for, `Router` found; or its words in another order.
const OTHER_SPELLING: f64 = 0.8;
/// Handed on from another project (`pub use`, `export … from`): for this project, that is its home.
const HANDED_ON: f64 = 1.5;
/// Everything the query says in the file's or its folder's name.
const PATH: f64 = 0.75;
/// What the most important file of the project gains, as a share of its score.
const IMPORTANCE: f64 = 0.25;
const IMPORTANCE_FOR_SYMBOL: f64 = 0.5;

/// What chunks gain because they define, or hand on, what the query names: by chunk, `definition` and `handed on`.
pub fn definitions(query: &Query, rarity: &Rarity, named: &[Named], handed_on: &[HandedOn]) -> HashMap<i64, [f64; 2]> {
    let all = rarity.of_roots(query.roots.iter().map(String::as_str)).max(f64::MIN_POSITIVE);
    let covered = |key: &str| rarity.of_roots(key.split(' ')) / all;
    let spelt: Vec<String> = query.code_names.iter().map(|name| words::key(name)).collect();
    // The best name and the best plain word of each chunk.
    let mut names: HashMap<i64, [f64; 2]> = HashMap::new();
    // A plain word may be the name of hundreds of definitions: what it covers is counted once.
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

/// How likely a definition with the right words in its name is the one that is meant.
fn likelihood(query: &Query, named: &Named) -> f64 {
    let home = words::key(words::stem(&named.path)) == named.key;
    let kind = match named.kind.as_str() {
        "variable" | "impl" => 0.7,
        _ => 1.0,
    };
    let spelling = if query.written.contains(&named.name) { 1.0 } else { OTHER_SPELLING };
    kind * spelling * if home { FILE_OF_THAT_NAME } else { 1.0 }
}

/// Whether the query means a name as such. A plain small word as easily means the file of that name.
fn is_meant(query: &Query, name: &String) -> bool {
    let spelt = name.contains(|c: char| c.is_uppercase() || c == '_');
    query.code_names.contains(name) || (query.is_symbol && spelt && query.written.contains(name))
}

/// How much a chunk gains from words of the query in its file's name and folder: equal, or one beginning with the other.
pub fn path(query: &Query, rarity: &Rarity, path: &str) -> f64 {
    const PREFIX_MIN: usize = 3;
    let folder = path.rsplit('/').nth(1).unwrap_or_default();
    let stem = words::parts(words::stem(path));
    let whole = stem.concat();
    let own: Vec<String> = stem.into_iter().chain(words::parts(folder)).collect();
    let fits = |word: &&String| {
        **word == whole
            || own.iter().any(|o| {
                *o == **word
                    || (o.len().min(word.len()) >= PREFIX_MIN
                        && (o.starts_with(word.as_str()) || word.starts_with(o.as_str())))
            })
    };
    let all: f64 = query.words.iter().map(|word| rarity.of_word(word)).sum();
    let fitting: f64 = query.words.iter().filter(fits).map(|word| rarity.of_word(word)).sum();
    PATH * fitting / all.max(f64::MIN_POSITIVE)
}

/// What a chunk of tests counts, unless the query asks for tests.
const TEST: (&str, f64) = ("×test", 0.3);

/// The factor for tests within a source file, by what a chunk of it defines.
pub fn test_inside(
    query: &Query,
    of_file: &[(&'static str, f64)],
    symbol: Option<&str>,
) -> Option<(&'static str, f64)> {
    let is_test = symbol.is_some_and(|s| s == "tests" || s.starts_with("test_"));
    (is_test && !of_file.contains(&TEST) && !query.asks_for(Sort::Test)).then_some(TEST)
}

/// Factors for kinds of file that are seldom meant, unless the query asks for them, and for files that much refers to.
pub fn factors(query: &Query, standing: &Standing, path: &str) -> Vec<(&'static str, f64)> {
    let mut factors = Vec::new();
    let weight = if query.is_symbol { IMPORTANCE_FOR_SYMBOL } else { IMPORTANCE };
    let importance = standing.importance(path);
    if importance > 0.0 {
        factors.push(("×importance", 1.0 + weight * importance));
    }
    for sort in paths::sorts(path).into_iter().filter(|sort| !query.asks_for(*sort)) {
        factors.push(match sort {
            Sort::Test => TEST,
            Sort::Example => ("×example", 0.3),
            Sort::Old => ("×old", 0.3),
            Sort::Private => ("×private", 0.7),
            Sort::Experimental => ("×experimental", 0.7),
            Sort::Locale => ("×locale", 0.5),
            Sort::Declarations => ("×declarations", 0.7),
            Sort::Prose => ("×prose", 0.5),
        });
    }
    if standing.is_superseded(path) && !query.asks_for_version_of(path) {
        factors.push(("×superseded", 0.3));
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
    fn words_of_the_query_in_the_path_count_by_their_share() {
        check("retry policy", "src/http/retry_policy.ts", 1.0);
        check("retry limits", "src/http/retry.ts", 0.5);
        check("routing of requests", "src/router.rs", 0.0);
        check("routers", "src/router/mod.rs", 1.0);
        check("", "src/router.rs", 0.0);
    }

    #[test]
    fn tests_rank_low_unless_they_are_asked_for() {
        let standing = Standing::default();
        let factors = |query: &str, path: &str| factors(&Query::read(query), &standing, path);
        assert_eq!(factors("parse a string", "src/parse.test.ts"), [("×test", 0.3)]);
        assert_eq!(factors("tests of parse", "src/parse.test.ts"), []);
        assert_eq!(factors("parse", "src/latest.ts"), []);
        assert_eq!(factors("parse", "examples/parse.ts"), [("×example", 0.3)]);
        let inside = |query: &str, of: &[_], symbol| test_inside(&Query::read(query), of, Some(symbol));
        assert_eq!(inside("parse", &[], "tests"), Some(TEST));
        assert_eq!(inside("parse", &[TEST], "tests"), None, "once is enough");
        assert_eq!(inside("tests of parse", &[], "test_parse"), None);
        assert_eq!(inside("parse", &[], "parse"), None);
    }

    #[test]
    fn a_newer_version_goes_before_the_older_unless_that_is_asked_for() {
        let standing = Standing::new(&["src/v3/errors.ts", "src/v4/errors.ts"], &[]);
        let names = |query: &str, path: &str| -> Vec<&str> {
            factors(&Query::read(query), &standing, path).into_iter().map(|(name, _)| name).collect()
        };
        assert_eq!(names("errors", "src/v3/errors.ts"), ["×importance", "×superseded"]);
        assert_eq!(names("errors of v3", "src/v3/errors.ts"), ["×importance"]);
        assert_eq!(names("errors", "src/v4/errors.ts"), ["×importance"]);
    }
}
