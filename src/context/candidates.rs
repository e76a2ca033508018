//! Finds the candidates for one step's prompt, best first: earlier changes, code that the request
//! names, and hits of retrieval.

use std::collections::HashSet;

use crate::index::{Definition, Node};
use crate::language::words;
use crate::request::mentions::{Symbol, is_test};
use crate::retrieve;

use super::lines::around;
use super::{Files, HEAD_LINES, Purpose, Stretch, WHOLE_LINES_MAX, Wanted, is_declaration};

/// Number of hits requested from retrieval.
const HITS: usize = 12;
/// Number of hits placed before the likely symbols of a question.
const HITS_FIRST: usize = 3;
/// Maximum number of symbols, and of paths, shown for a text.
const NAMES_MAX: usize = 8;
/// Maximum number of members of a long class shown because retrieval finds them.
const MEMBERS_MAX: usize = 4;

/// The candidates for a pack, best first.
pub(super) fn stretches(wanted: Wanted<'_>, files: &mut Files<'_>) -> Vec<Stretch> {
    let Wanted { mentions, purpose, .. } = wanted;
    let mut found = Vec::new();
    let asked = words::content(wanted.query);
    if purpose == Purpose::Change {
        found.extend(of_touched(wanted.touched, files));
    }
    found.extend(of_symbols(&mentions.symbols, wanted));
    let mut likely = of_symbols(&mentions.likely, wanted);
    if purpose == Purpose::Change {
        found.append(&mut likely);
    }
    let whole = |path: &String| Stretch { path: path.clone(), lines: (1, HEAD_LINES), name: String::new() };
    found.extend(mentions.paths.iter().take(NAMES_MAX).map(whole));
    if purpose == Purpose::Change {
        found.extend(of_long_classes(wanted, &asked, files));
    }
    if mentions.symbols.is_empty() || purpose == Purpose::Answer {
        for (place, hit) in hits_in_order(wanted, files).into_iter().enumerate() {
            if place == HITS_FIRST {
                found.append(&mut likely);
            }
            found.push(of_hit(hit, &asked, files));
        }
    }
    found.extend(likely);
    found
}

/// The stretches changed by earlier steps.
fn of_touched(touched: &[Stretch], files: &mut Files<'_>) -> Vec<Stretch> {
    let stretch = |one: &Stretch| Stretch {
        path: one.path.clone(),
        lines: files.get(&one.path).map_or(one.lines, |open| around(open, one.lines.0, one.lines.1, &HashSet::new())),
        name: one.name.clone(),
    };
    touched.iter().map(stretch).collect()
}

/// The definitions of `symbols`. For a change, tests and declarations are left out unless the text
/// names them.
fn of_symbols(symbols: &[Symbol], wanted: Wanted<'_>) -> Vec<Stretch> {
    let Wanted { mentions, purpose, .. } = wanted;
    let is_meant = |node: &&Node| {
        let is_aside = is_declaration(&node.path) || is_test(&node.path) && !mentions.speaks_of_tests;
        purpose == Purpose::Answer || mentions.paths.contains(&node.path) || !is_aside
    };
    let nodes = symbols.iter().take(NAMES_MAX).flat_map(|symbol| symbol.nodes.iter().filter(is_meant).take(3));
    nodes.map(Stretch::of).collect()
}

/// The members, found by retrieval, of classes that are too long to be shown in full.
fn of_long_classes(wanted: Wanted<'_>, asked: &HashSet<String>, files: &mut Files<'_>) -> Vec<Stretch> {
    let named = wanted.mentions.symbols.iter().take(NAMES_MAX);
    let named: Vec<&Node> = named.flat_map(|symbol| symbol.nodes.iter().take(1)).collect();
    let is_long = |node: &Node| node.end - node.start >= WHOLE_LINES_MAX;
    if !named.iter().any(|node| is_long(node)) {
        return Vec::new();
    }
    let is_in_long = |hit: &retrieve::Hit| {
        let holds = |node: &&&Node| node.path == hit.path && node.start <= hit.start && hit.end <= node.end;
        named.iter().find(holds).is_some_and(|node| is_long(node))
    };
    let members = hits(wanted).into_iter().filter(is_in_long).take(MEMBERS_MAX);
    members.map(|hit| of_hit(hit, asked, files)).collect()
}

/// The definition that contains a hit.
fn of_hit(hit: retrieve::Hit, asked: &HashSet<String>, files: &mut Files<'_>) -> Stretch {
    let lines = files.get(&hit.path).map_or((hit.start, hit.end), |open| around(open, hit.start, hit.end, asked));
    Stretch { path: hit.path, lines, name: hit.symbol.unwrap_or_default() }
}

/// The hits of retrieval for the query.
fn hits(wanted: Wanted<'_>) -> Vec<retrieve::Hit> {
    let Wanted { context, index, query, vector, .. } = wanted;
    retrieve::known(index, query, vector, HITS, &context.cancel).map(|found| found.hits).unwrap_or_default()
}

/// The hits, those in files that the text names first. For a change, only hits in files that the
/// text may mean.
fn hits_in_order(wanted: Wanted<'_>, files: &mut Files<'_>) -> Vec<retrieve::Hit> {
    let Wanted { mentions, purpose, .. } = wanted;
    let mut hits = hits(wanted);
    if !mentions.speaks_of_tests {
        // Code comes before tests in the same file.
        let is_in_tests = |hit: &retrieve::Hit| -> bool {
            files.get(&hit.path).is_some_and(|open| in_tests(&open.definitions, (hit.start, hit.end)))
        };
        hits.sort_by_cached_key(is_in_tests);
    }
    let (inside, outside): (Vec<_>, Vec<_>) = hits.into_iter().partition(|hit| mentions.paths.contains(&hit.path));
    let outside = outside.into_iter().filter(|hit| {
        purpose == Purpose::Answer
            || mentions.paths.is_empty()
                && (mentions.speaks_of_tests || !is_test(&hit.path))
                && !is_declaration(&hit.path)
    });
    inside.into_iter().chain(outside).collect()
}

/// Whether lines are in a test module inside a source file, as in Rust.
fn in_tests(definitions: &[Definition], (start, end): (usize, usize)) -> bool {
    definitions.iter().any(|one| one.name == "tests" && one.start <= start && end <= one.end)
}

#[cfg(test)]
mod tests {
    use crate::index::outline;

    use super::*;

    #[test]
    fn tests_inside_a_file_of_code_are_recognised() {
        let text = "fn a() {}\n\nmod tests {\n    fn b() {}\n}\n";
        let definitions = outline("rust", text).definitions;
        assert_eq!((in_tests(&definitions, (4, 4)), in_tests(&definitions, (1, 1))), (true, false));
    }
}
