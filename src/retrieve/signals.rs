//! What a chunk's place and names say about a query, apart from its words and its meaning.

use super::query::{Asks, Query};
use crate::index::{ChunkRow, SymbolRow, words};

/// A definition of the very name that was asked for outweighs everything else.
const DEFINITION: f64 = 3.0;
/// A name spelt as code inside a sentence counts half of that.
const DEFINITION_IN_PROSE: f64 = 1.5;
/// A plain word of a sentence that happens to be a definition's name.
const DEFINITION_BY_WORD: f64 = 0.25;
/// The file is named after it as well.
const FILE_OF_THAT_NAME: f64 = 1.5;
/// All words of the query in the file's or its folder's name.
const PATH: f64 = 1.0;

/// How much a chunk gains because it defines what the query names. `defined`: definitions of the query's names, anywhere.
pub fn definition(query: &Query, row: &ChunkRow, defined: &[SymbolRow]) -> f64 {
    let weight = |symbol: &SymbolRow| {
        let same = |name: &String| name.eq_ignore_ascii_case(&symbol.name);
        let exact = query.names.contains(&symbol.name);
        let base = if query.is_symbol {
            DEFINITION
        } else if query.code_names.iter().any(same) {
            DEFINITION_IN_PROSE
        } else {
            DEFINITION_BY_WORD
        };
        let stem = words::parts(words::stem(&symbol.path)).concat();
        let home = stem == words::parts(&symbol.name).concat();
        // Another letter case may be another thing: `router` asked for, `Router` found.
        base * if home { FILE_OF_THAT_NAME } else { 1.0 } * if exact { 1.0 } else { 0.8 } * rank_of_kind(&symbol.kind)
    };
    let own = defined.iter().filter(|s| s.chunk == Some(row.id)).map(weight).fold(0.0, f64::max);
    own.max(handed_on(query, row, defined))
}

/// A name of another project that is handed on (`pub use`, `export … from`) has its home, for this project, where that is done.
fn handed_on(query: &Query, row: &ChunkRow, defined: &[SymbolRow]) -> f64 {
    let foreign = |name: &&String| row.exports.contains(name) && !defined.iter().any(|s| s.name == **name);
    // A plain small word as easily means the file of that name.
    let spelt = |name: &str| name.contains(|c: char| c.is_uppercase() || c == '_');
    let is_code = |name: &&String| (query.is_symbol && spelt(name)) || query.code_names.contains(name);
    let base = if query.is_symbol { DEFINITION } else { DEFINITION_IN_PROSE };
    if query.names.iter().filter(is_code).any(|name| foreign(&name)) { base / 2.0 } else { 0.0 }
}

/// A variable or an impl block of that name is less likely to be meant than a type or a function.
fn rank_of_kind(kind: &str) -> f64 {
    match kind {
        "variable" | "impl" => 0.7,
        _ => 1.0,
    }
}

/// How much a chunk gains from words of the query in its file's name and folder: equal, or one beginning with the other.
pub fn path(query: &Query, path: &str) -> f64 {
    const PREFIX_MIN: usize = 3;
    let folder = path.rsplit('/').nth(1).unwrap_or_default();
    let own: Vec<String> = words::parts(words::stem(path)).into_iter().chain(words::parts(folder)).collect();
    let whole = words::parts(words::stem(path)).concat();
    let fits = |word: &&String| {
        **word == whole
            || own.iter().any(|o| {
                *o == **word
                    || (o.len().min(word.len()) >= PREFIX_MIN
                        && (o.starts_with(word.as_str()) || word.starts_with(o.as_str())))
            })
    };
    match query.words.len() {
        0 => 0.0,
        all => PATH * query.words.iter().filter(fits).count() as f64 / all as f64,
    }
}

/// Factors below 1 for kinds of file that are seldom meant, unless the query asks for them.
pub fn penalties(asks: Asks, path: &str, language: &str, symbol: Option<&str>) -> Vec<(&'static str, f64)> {
    let lower = path.to_lowercase();
    let name = lower.rsplit('/').next().unwrap_or_default();
    let folder = |names: &[&str]| lower.split('/').rev().skip(1).any(|f| names.contains(&f));
    let mut factors = Vec::new();
    let in_name = |marks: &[&str]| marks.iter().any(|m| name.contains(m));
    let test = folder(&["test", "tests", "__tests__", "spec", "specs", "fixtures", "__mocks__", "testing", "testdata"])
        || in_name(&[".test.", ".spec.", "_test.", "_spec.", "-test."])
        || name.starts_with("test_")
        || name == "tests.rs"
        || symbol.is_some_and(|s| s == "tests" || s.starts_with("test_"));
    if test && !asks.tests {
        factors.push(("×test", 0.3));
    }
    if folder(&["examples", "example", "demo", "demos", "samples", "benches", "benchmarks", "bench"]) && !asks.examples
    {
        factors.push(("×example", 0.3));
    }
    if (folder(&["compat", "legacy", "deprecated", "_compat"]) || in_name(&["compat", "legacy", "deprecated"]))
        && !asks.old
    {
        factors.push(("×old", 0.3));
    }
    if name.ends_with(".d.ts") && !asks.types {
        factors.push(("×types", 0.7));
    }
    if matches!(language, "markdown" | "json" | "text" | "toml" | "yaml" | "html" | "css") && !asks.prose {
        factors.push(("×prose", 0.5));
    }
    factors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query: &str, of: &str, expected: f64) {
        assert_eq!(path(&Query::read(query), of), expected, "{query} in {of}");
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
        let factors = |query: &str, path: &str| penalties(Query::read(query).asks, path, "typescript", None);
        assert_eq!(factors("parse a string", "src/parse.test.ts"), [("×test", 0.3)]);
        assert_eq!(factors("tests of parse", "src/parse.test.ts"), []);
        assert_eq!(factors("parse", "src/latest.ts"), []);
        assert_eq!(factors("parse", "examples/parse.ts"), [("×example", 0.3)]);
        assert_eq!(penalties(Query::read("parse").asks, "src/parse.rs", "rust", Some("tests")), [("×test", 0.3)]);
    }
}
