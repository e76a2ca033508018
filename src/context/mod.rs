//! Selects the code for the prompt of one step: what the request names and what retrieval finds, within a token budget.

mod beside;
pub mod callers;
pub mod mentions;

use std::collections::{BTreeMap, HashSet};
use std::io::Read;

use crate::index::{Definition, Index, Node, language_of, outline, paths};
use crate::language::words;
use crate::retrieve;
use crate::tools::Context;
use crate::tools::confine::Access;

use crate::context::mentions::{Mentions, Symbol};

/// A definition that a step has changed or added.
#[derive(Clone, Debug, PartialEq)]
pub struct Touched {
    pub path: String,
    pub name: String,
    /// First and last line, from 1, in the file after the change.
    pub lines: (usize, usize),
}

/// Hits that retrieval is asked for.
const HITS: usize = 12;
/// Hits that come before the likely symbols of a question.
const HITS_FIRST: usize = 3;
/// Largest file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Longest definition that is shown whole, in lines; of a longer one only the head and the parts that fit the request are.
pub const WHOLE_LINES_MAX: usize = 120;
/// Lines shown of the head of a file (imports, constants), of a long container, and of a constructor.
const HEAD_LINES: usize = 14;
/// A file of at most this share of the tokens is shown whole when it is named or found.
const SMALL_SHARE: f64 = 0.4;
/// Most files that are shown for a change; more distract a small model.
const FILES_CHANGED_MAX: usize = 3;
/// Most symbols, and most paths, of a text that are shown.
const NAMES_MAX: usize = 8;

/// Most members of a long class that are shown because retrieval finds them.
const MEMBERS_MAX: usize = 4;
/// Names of constructors.
const CONSTRUCTORS: &[&str] = &["__init__", "constructor", "new"];
/// Most windows that are shown of a long definition, lines before and after the middle of each, and lines around it that count for its score.
const WINDOWS_MAX: usize = 2;
const WINDOW_LINES: usize = 14;
const WINDOW_REACH: usize = 4;

/// What a pack is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The model answers from it.
    Answer,
    /// The model changes it.
    Change,
}

/// A definition as (first line, last line, name).
pub type Found = (usize, usize, String);

/// A file, and the lines of it that are shown.
#[derive(Clone, Debug)]
pub struct Shown {
    pub path: String,
    /// The whole text of the file.
    pub text: String,
    /// First and last line of each shown stretch, from 1, in order.
    pub lines: Vec<(usize, usize)>,
    /// Definitions that the request names or that were found.
    pub found: Vec<Found>,
}

/// The code that the model is shown.
#[derive(Clone, Debug, Default)]
pub struct Pack {
    /// Most important first.
    pub files: Vec<Shown>,
    /// The files as they appear in the prompt.
    pub text: String,
}

/// What a pack is made for.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    pub context: &'a Context,
    pub index: &'a Index,
    /// The embedding of `query`.
    pub vector: Option<&'a [f32]>,
    /// The text of the step, or the whole request if it is a question that names nothing.
    pub query: &'a str,
    pub mentions: &'a Mentions,
    /// What earlier steps of the turn changed; shown only for a change.
    pub touched: &'a [Touched],
    pub purpose: Purpose,
    /// Most tokens of the pack.
    pub tokens: usize,
}

/// The text of a file of the project; `None` if it cannot be read as text or is larger than 1 MiB.
pub fn text_of(context: &Context, path: &str) -> Option<String> {
    let file = context.root.resolve(path, Access::Read).ok()?;
    let mut text = String::new();
    let mut open = file.open().ok()?.take(FILE_BYTES_MAX + 1);
    open.read_to_string(&mut text).ok()?;
    (text.len() as u64 <= FILE_BYTES_MAX).then_some(text)
}

/// Lines of a file that may be shown.
#[derive(Clone, Debug)]
struct LineRange {
    path: String,
    lines: (usize, usize),
    name: String,
}

/// Packs code within the token budget: named symbols and files first, then the hits of retrieval; with each the constants it uses, and for an
/// answer also what a short function calls.
pub fn pack(wanted: Wanted<'_>) -> Pack {
    let mut files = Files { context: wanted.context, read: BTreeMap::new() };
    let mut packing = Packing { wanted, chosen: Vec::new(), left: wanted.tokens };
    for stretch in stretches(wanted, &mut files) {
        let Some(open) = files.get(&stretch.path) else { continue };
        if packing.add(open, &stretch) {
            let mut used = beside::values(open, &stretch);
            if wanted.purpose == Purpose::Answer {
                used.extend(beside::callees(open, &stretch));
            }
            for one in used {
                packing.add(open, &one);
            }
        }
    }
    let text = packing.chosen.iter().filter_map(|shown| Some(render(shown, &files.get(&shown.path)?.definitions)));
    Pack { text: text.collect(), files: packing.chosen }
}

struct Packing<'a> {
    wanted: Wanted<'a>,
    chosen: Vec<Shown>,
    /// Tokens that are left of the budget.
    left: usize,
}

impl Packing<'_> {
    /// Adds a stretch if it fits into the budget; returns whether it did.
    fn add(&mut self, open: &Open, stretch: &LineRange) -> bool {
        let place = self.chosen.iter().position(|shown| shown.path == stretch.path);
        if self.wanted.purpose == Purpose::Change && place.is_none() && self.chosen.len() >= FILES_CHANGED_MAX {
            return false;
        }
        let known = place.map(|place| self.chosen[place].clone());
        let more = widened(open, known.as_ref(), stretch, self.wanted);
        let cost = |shown: &Shown| retrieve::tokens(&render(shown, &open.definitions));
        let spent = cost(&more).saturating_sub(known.as_ref().map_or(0, cost));
        if spent > self.left && !self.chosen.is_empty() {
            return false;
        }
        self.left = self.left.saturating_sub(spent);
        match place {
            Some(place) => self.chosen[place] = more,
            None => self.chosen.push(more),
        }
        true
    }
}

/// A file that was read.
struct Open {
    text: String,
    definitions: Vec<Definition>,
}

/// The files that were read so far; each is read once.
struct Files<'a> {
    context: &'a Context,
    read: BTreeMap<String, Option<Open>>,
}

impl Files<'_> {
    fn get(&mut self, path: &str) -> Option<&Open> {
        let context = self.context;
        let open = || {
            let text = text_of(context, path)?;
            let definitions = outline(language_of(path), &text).definitions;
            Some(Open { text, definitions })
        };
        self.read.entry(path.to_owned()).or_insert_with(open).as_ref()
    }
}

/// The candidates for a pack, best first.
fn stretches(wanted: Wanted<'_>, files: &mut Files<'_>) -> Vec<LineRange> {
    let Wanted { index, mentions, query, vector, purpose, .. } = wanted;
    let mut found = Vec::new();
    let asked = words::content(query);
    if purpose == Purpose::Change {
        found.extend(wanted.touched.iter().map(|one| LineRange {
            path: one.path.clone(),
            lines:
                files.get(&one.path).map_or(one.lines, |open| around(open, one.lines.0, one.lines.1, &HashSet::new())),
            name: one.name.clone(),
        }));
    }
    let of_symbols = |symbols: &[Symbol]| -> Vec<LineRange> {
        let is_meant = |node: &&Node| {
            let is_aside = is_declaration(&node.path) || is_test(&node.path) && !mentions.speaks_of_tests;
            purpose == Purpose::Answer || mentions.paths.contains(&node.path) || !is_aside
        };
        let nodes = symbols.iter().take(NAMES_MAX).flat_map(|symbol| symbol.nodes.iter().filter(is_meant).take(3));
        nodes
            .map(|node| LineRange { path: node.path.clone(), lines: (node.start, node.end), name: node.name.clone() })
            .collect()
    };
    found.extend(of_symbols(&mentions.symbols));
    let mut likely = of_symbols(&mentions.likely);
    if purpose == Purpose::Change {
        found.append(&mut likely);
    }
    let whole = |path: &String| LineRange { path: path.clone(), lines: (1, HEAD_LINES), name: String::new() };
    found.extend(mentions.paths.iter().take(NAMES_MAX).map(whole));
    // Of a class that is too long to be shown whole, the members that retrieval finds.
    let long: Vec<&Node> =
        mentions.symbols.iter().take(NAMES_MAX).flat_map(|symbol| symbol.nodes.iter().take(1)).collect();
    let is_in_long = |hit: &retrieve::Hit| {
        let holds = |node: &&&Node| node.path == hit.path && node.start <= hit.start && hit.end <= node.end;
        long.iter().find(holds).is_some_and(|node| node.end - node.start >= WHOLE_LINES_MAX)
    };
    if purpose == Purpose::Change && long.iter().any(|node| node.end - node.start >= WHOLE_LINES_MAX) {
        let hits = retrieve::search(index, query, vector, HITS).map(|found| found.hits).unwrap_or_default();
        for hit in hits.into_iter().filter(is_in_long).take(MEMBERS_MAX) {
            let lines =
                files.get(&hit.path).map_or((hit.start, hit.end), |open| around(open, hit.start, hit.end, &asked));
            found.push(LineRange { path: hit.path, lines, name: hit.symbol.unwrap_or_default() });
        }
    }
    if mentions.symbols.is_empty() || purpose == Purpose::Answer {
        let mut hits = retrieve::search(index, query, vector, HITS).map(|found| found.hits).unwrap_or_default();
        if !mentions.speaks_of_tests {
            // Code comes before tests in the same file.
            let is_in_tests = |hit: &retrieve::Hit| -> bool {
                files.get(&hit.path).is_some_and(|open| in_tests(&open.definitions, (hit.start, hit.end)))
            };
            hits.sort_by_cached_key(is_in_tests);
        }
        // Hits in files that the text names come first.
        let (inside, outside): (Vec<_>, Vec<_>) = hits.into_iter().partition(|hit| mentions.paths.contains(&hit.path));
        let outside = outside.into_iter().filter(|hit| {
            purpose == Purpose::Answer
                || mentions.paths.is_empty()
                    && (mentions.speaks_of_tests || !is_test(&hit.path))
                    && !is_declaration(&hit.path)
        });
        for (place, hit) in inside.into_iter().chain(outside).enumerate() {
            if place == HITS_FIRST {
                found.append(&mut likely);
            }
            let lines =
                files.get(&hit.path).map_or((hit.start, hit.end), |open| around(open, hit.start, hit.end, &asked));
            found.push(LineRange { path: hit.path, lines, name: hit.symbol.unwrap_or_default() });
        }
    }
    found.extend(likely);
    found
}

/// Whether a file only declares types of code that is elsewhere; such files are changed only if they are named.
pub fn is_declaration(path: &str) -> bool {
    path.ends_with(".pyi") || paths::sorts(path).contains(&paths::Sort::Declarations)
}

/// Whether lines are in a module of tests inside a file of code, as in Rust.
fn in_tests(definitions: &[Definition], (start, end): (usize, usize)) -> bool {
    definitions.iter().any(|one| one.name == "tests" && one.start <= start && end <= one.end)
}

fn is_test(path: &str) -> bool {
    paths::sorts(path).contains(&paths::Sort::Test)
}

/// The lines of the definition in a hit that shares most words with `query`; of equals the one around the first line, then the longest. The hit
/// itself if it has no definition, or only long ones.
fn around(open: &Open, start: usize, end: usize, query: &HashSet<String>) -> (usize, usize) {
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

/// Windows of a long definition around the lines that share most words with `query`; words that few lines have weigh more.
fn windows(lines: &[&str], (start, end): (usize, usize), query: &HashSet<String>) -> Vec<(usize, usize)> {
    let inside = lines.get(start - 1..end.min(lines.len())).unwrap_or_default();
    let line_words: Vec<HashSet<String>> = inside.iter().map(|line| words::content(line)).collect();
    let weight =
        |word: &String| (inside.len() as f64 / line_words.iter().filter(|one| one.contains(word)).count() as f64).ln();
    let worth: Vec<f64> = line_words.iter().map(|one| one.intersection(query).map(weight).sum()).collect();
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

/// `known` with one stretch more: with its doc comment, or of a long definition the head, the constructor and the matching windows. A small file
/// is shown whole.
fn widened(open: &Open, known: Option<&Shown>, stretch: &LineRange, wanted: Wanted<'_>) -> Shown {
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
            // Of a long container the head and the constructor; `render` lists the other members.
            shown.lines.push((start, start + HEAD_LINES));
            shown.lines.extend(definition.and_then(|container| constructor(open, container)));
        }
        let is_long = |d: &&Definition| d.end - d.start >= WHOLE_LINES_MAX && !d.kind.has_members();
        let long = open.definitions.iter().filter(is_long).rfind(|d| d.start <= start && end <= d.end);
        let lines: Vec<&str> = open.text.lines().collect();
        if let Some(long) = long {
            shown.lines.extend(windows(&lines, (long.start, long.end), &words::content(wanted.query)));
        }
        // A member is shown with the first line of its container.
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

/// The first lines of the constructor of a class: its parameters and their defaults.
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

/// Sorts stretches and joins those with at most one line between them; `count` is the number of lines of the file.
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

/// A file as it appears in the prompt: its path, its shown lines in a fence, and its other definitions outside of the fence, so that the model
/// does not copy these into code.
fn render(shown: &Shown, definitions: &[Definition]) -> String {
    let lines: Vec<&str> = shown.text.lines().collect();
    let language = language_of(&shown.path);
    let fence = if shown.text.contains("```") { "````" } else { "```" };
    let stretch = |&(start, end): &(usize, usize)| {
        lines.get(start - 1..end.min(lines.len())).unwrap_or_default().join("\n").trim_end().to_owned()
    };
    let code: Vec<String> = shown.lines.iter().map(stretch).collect();
    let language = if language == "text" { "" } else { language };
    let mut text = format!("{}\n{fence}{language}\n{}\n{fence}\n", shown.path, code.join("\n\n"));
    let is_shown = |line: usize| shown.lines.iter().any(|&(start, end)| start <= line && line <= end);
    let others = definitions.iter().filter(|one| !is_shown(one.start) && !is_local(one, definitions));
    let mut names: Vec<String> = others.take(OTHERS_MAX).map(|one| outlined(one, &lines)).collect();
    names.dedup();
    if !names.is_empty() {
        text.push_str(&format!("{} also has: {}\n", shown.path, names.join("; ")));
    }
    text.push('\n');
    text
}

/// Most definitions of a file that are listed beside what is shown of it.
const OTHERS_MAX: usize = 30;
/// Longest signature in a list of what is not shown.
const SIGNATURE_CHARS: usize = 70;

/// The signature of a definition, cut to `SIGNATURE_CHARS`.
fn outlined(definition: &Definition, lines: &[&str]) -> String {
    let above = lines.get(definition.doc_start.saturating_sub(1)..definition.start).unwrap_or_default();
    let property = above.iter().any(|line| line.trim() == "@property");
    let signature = if definition.signature.is_empty() { &definition.name } else { &definition.signature };
    let signature = crate::tools::outcome::cut_line(signature.trim_end_matches([':', '{', ' ']), SIGNATURE_CHARS);
    if property { format!("@property {signature}") } else { signature }
}

/// Whether a definition is inside a function.
fn is_local(definition: &Definition, all: &[Definition]) -> bool {
    definition.container.and_then(|container| all.get(container)).is_some_and(|outer| !outer.kind.has_members())
}

#[cfg(test)]
mod tests {
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
        let query = words::content("--no-color sets color to true");
        assert_eq!(windows(&lines, (1, 200), &query), [(163, 191), (103, 131)]);
        assert_eq!(windows(&lines, (1, 200), &words::content("nothing of it")), []);
    }

    #[test]
    fn tests_inside_a_file_of_code_are_recognised() {
        let text = "fn a() {}\n\nmod tests {\n    fn b() {}\n}\n";
        let definitions = outline("rust", text).definitions;
        assert_eq!((in_tests(&definitions, (4, 4)), in_tests(&definitions, (1, 1))), (true, false));
    }

    #[test]
    fn a_long_class_is_shown_with_its_own_constructor() {
        let text = "class A:\n    class B:\n        def __init__(self):\n            pass\n\n    def __init__(self, n=3):\n        self.n = n\n";
        let open = Open { text: text.into(), definitions: outline("python", text).definitions };
        let container = open.definitions.iter().find(|d| d.name == "A").unwrap();
        assert_eq!(constructor(&open, container), Some((6, 7)));
    }

    #[test]
    fn definitions_that_are_not_shown_are_listed_outside_of_the_fence() {
        let text = "import os\n\n\ndef a(x):\n    return x\n\n\ndef b(y):\n    return y\n";
        let definitions = outline("python", text).definitions;
        let shown = Shown { path: "m.py".into(), text: text.into(), lines: vec![(8, 9)], found: Vec::new() };
        let expected = "m.py\n```python\ndef b(y):\n    return y\n```\nm.py also has: def a(x)\n\n";
        assert_eq!(render(&shown, &definitions), expected);
    }
}
