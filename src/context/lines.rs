//! Chooses the lines of a file to show: complete definitions; for a long one, the head and the
//! parts that match the request.

use std::collections::HashSet;

use crate::index::Definition;
use crate::language::words;
use crate::retrieve;

use super::{HEAD_LINES, Open, Shown, Stretch, WHOLE_LINES_MAX, Wanted};

/// Maximum share of the tokens for a file that was named or found to be shown in full.
const SMALL_SHARE: f64 = 0.4;
/// Names of constructors.
const CONSTRUCTORS: &[&str] = &["__init__", "constructor", "new"];
/// For a long definition: maximum number of windows, lines before and after the middle of each, and
/// surrounding lines that count towards its score.
const WINDOWS_MAX: usize = 2;
const WINDOW_LINES: usize = 14;
const WINDOW_REACH: usize = 4;

/// The lines of the definition in a hit that shares the most words with `query`; on a tie, the
/// definition around the first line, then the longest. The hit itself if it contains no definition,
/// or only long ones.
pub(super) fn around(open: &Open, start: usize, end: usize, query: &HashSet<String>) -> (usize, usize) {
    let lines: Vec<&str> = open.text.lines().collect();
    let reaches = |one: &&Definition| one.doc_start <= end && start <= one.end;
    let short = |one: &&Definition| one.end - one.doc_start < WHOLE_LINES_MAX;
    let worth = |one: &&Definition| {
        let text = lines.get(one.doc_start.saturating_sub(1)..one.end.min(lines.len())).unwrap_or_default().join("\n");
        let shared = words::content(&text).intersection(query).count();
        (shared, one.doc_start <= start && start <= one.end, one.end - one.doc_start)
    };
    let best = open.definitions.iter().filter(reaches).filter(short).max_by_key(worth);
    best.map_or((start, end), |definition| (definition.doc_start, definition.end))
}

/// How much each text, given as its words, overlaps with `query`; words that occur in few of the
/// texts weigh more.
pub fn shared(texts: &[HashSet<String>], query: &HashSet<String>) -> Vec<f64> {
    let holders = |word: &String| texts.iter().filter(|text| text.contains(word)).count();
    let weight = |word: &String| (texts.len() as f64 / holders(word) as f64).ln();
    texts.iter().map(|text| text.intersection(query).map(weight).sum()).collect()
}

/// Windows of a long definition around the lines that share the most words with `query`.
fn windows(lines: &[&str], (start, end): (usize, usize), query: &HashSet<String>) -> Vec<(usize, usize)> {
    let inside = lines.get(start - 1..end.min(lines.len())).unwrap_or_default();
    let line_words: Vec<HashSet<String>> = inside.iter().map(|line| words::content(line)).collect();
    let worth = shared(&line_words, query);
    let near = |at: usize| at.saturating_sub(WINDOW_REACH)..(at + WINDOW_REACH + 1).min(worth.len());
    let mut found: Vec<(usize, usize)> = Vec::new();
    let mut best: Vec<(f64, usize)> = (0..worth.len()).map(|at| (worth[near(at)].iter().sum(), at)).collect();
    best.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    for (worth, at) in best {
        let line = start + at;
        if worth > 0.0 && found.len() < WINDOWS_MAX && !found.iter().any(|&(from, to)| from <= line && line <= to) {
            found.push((line.saturating_sub(WINDOW_LINES).max(start), (line + WINDOW_LINES).min(end)));
        }
    }
    found
}

/// `known` extended by one stretch with its doc comment; for a long definition, the head, the
/// constructor and the matching windows. A small file is shown in full.
pub(super) fn widened(open: &Open, known: Option<&Shown>, stretch: &Stretch, wanted: Wanted<'_>) -> Shown {
    let count = open.text.lines().count().max(1);
    let mut shown = known.cloned().unwrap_or_else(|| Shown {
        path: stretch.path.clone(),
        text: open.text.clone(),
        lines: Vec::new(),
        found: Vec::new(),
    });
    let small = retrieve::tokens(&open.text) as f64 <= SMALL_SHARE * wanted.tokens as f64;
    if small {
        shown.lines = vec![(1, count)];
    } else {
        let (start, end) = stretch.lines;
        let definition = open.definitions.iter().find(|d| d.start == start && d.end == end);
        let start = definition.map_or(start, |d| d.doc_start);
        if end - start < WHOLE_LINES_MAX {
            shown.lines.push((start, end));
        } else {
            // For a long container, show the head and the constructor; `render` lists the other
            // members.
            shown.lines.push((start, start + HEAD_LINES));
            shown.lines.extend(definition.and_then(|container| constructor(open, container)));
        }
        let is_long = |d: &&Definition| d.end - d.start >= WHOLE_LINES_MAX && !d.kind.has_members();
        let long = open.definitions.iter().filter(is_long).rfind(|d| d.start <= start && end <= d.end);
        let lines: Vec<&str> = open.text.lines().collect();
        if let Some(long) = long {
            shown.lines.extend(windows(&lines, (long.start, long.end), &words::content(wanted.query)));
        }
        // A member is shown along with the first line of its container.
        let inside = |d: &&Definition| d.start < start && end <= d.end && d.kind.has_members();
        shown.lines.extend(open.definitions.iter().filter(inside).map(|d| (d.start, d.start)));
        shown.lines = joined(std::mem::take(&mut shown.lines), count);
    }
    if !stretch.name.is_empty() {
        let found = (stretch.lines.0, stretch.lines.1, stretch.name.clone());
        if !shown.found.contains(&found) {
            shown.found.push(found);
        }
    }
    shown
}

/// The first lines of a class's constructor: its parameters and their defaults.
fn constructor(open: &Open, container: &Definition) -> Option<(usize, usize)> {
    let inside = |d: &&Definition| container.start < d.start && d.end <= container.end;
    let is_nested = |d: &Definition| {
        let between = |other: &Definition| container.start < other.start && other.start < d.start && d.end <= other.end;
        open.definitions.iter().any(between)
    };
    let made =
        open.definitions.iter().filter(inside).find(|d| CONSTRUCTORS.contains(&d.name.as_str()) && !is_nested(d))?;
    Some((made.start, made.end.min(made.start + HEAD_LINES)))
}

/// Sorts stretches and joins those with at most one line between them; `count` is the number of
/// lines in the file.
fn joined(mut lines: Vec<(usize, usize)>, count: usize) -> Vec<(usize, usize)> {
    lines.sort_unstable();
    let mut all: Vec<(usize, usize)> = Vec::new();
    for (start, end) in lines {
        let end = end.min(count);
        match all.last_mut() {
            Some(last) if start <= last.1 + 2 => last.1 = last.1.max(end),
            _ if start <= end => all.push((start, end)),
            _ => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use crate::index::outline;

    use super::*;

    #[test]
    fn stretches_that_touch_become_one() {
        assert_eq!(joined(vec![(9, 12), (1, 3), (4, 5), (20, 99)], 30), [(1, 5), (9, 12), (20, 30)]);
    }

    #[test]
    fn the_definition_in_a_hit_that_is_asked_about_is_shown() {
        let text = "function outer() {\n  function listen() {\n    return 1;\n  }\n\n  function dispatch(action) {\n    check(action);\n  }\n}\n";
        let mut open = Open { text: text.into(), definitions: outline("javascript", text).definitions };
        open.definitions.retain(|one| one.name != "outer");
        let query = |text: &str| words::content(text);
        assert_eq!(around(&open, 3, 8, &query("who dispatches an action?")), (6, 8));
        assert_eq!(around(&open, 3, 8, &query("something else")), (2, 4));
        assert_eq!(around(&open, 9, 9, &query("dispatch")), (9, 9));
    }

    #[test]
    fn matching_lines_of_a_long_definition_are_shown() {
        let mut lines = vec!["    step(value);"; 200];
        (lines[0], lines[120], lines[180]) =
            ("function parse(value) {", "    if (/^--no-/.test(value)) {", "    setKey(color);");
        let query = words::content("with --no-color it sets color, which is wrong");
        assert_eq!(windows(&lines, (1, 200), &query), [(163, 191), (103, 131)]);
        assert_eq!(windows(&lines, (1, 200), &words::content("nothing of it")), []);
    }

    #[test]
    fn a_long_class_is_shown_with_its_own_constructor() {
        let text = "class A:\n    class B:\n        def __init__(self):\n            pass\n\n    def __init__(self, n=3):\n        self.n = n\n";
        let open = Open { text: text.into(), definitions: outline("python", text).definitions };
        let container = open.definitions.iter().find(|d| d.name == "A").unwrap();
        assert_eq!(constructor(&open, container), Some((6, 7)));
    }
}
