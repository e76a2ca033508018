//! Selects the code for one step's prompt: code that the request names or retrieval finds, within a token budget.

pub mod beside;
mod candidates;
pub mod lines;

use std::collections::BTreeMap;
use std::io::Read;

use crate::index::{Definition, Index, Node, language_of, outline, paths};
use crate::request::mentions::Mentions;
use crate::request::named;
use crate::retrieve;
use crate::tools::Context;
use crate::tools::confine::Access;
use crate::tools::files::read::is_binary;

use candidates::stretches;
use lines::widened;

/// Lines of a file; with a name, the lines of a definition.
#[derive(Clone, Debug, PartialEq)]
pub struct Stretch {
    pub path: String,
    pub name: String,
    /// First and last line, from 1.
    pub lines: (usize, usize),
}

impl Stretch {
    pub fn of(node: &Node) -> Stretch {
        Stretch { path: node.path.clone(), name: node.name.clone(), lines: (node.start, node.end) }
    }
}

/// Maximum size of a file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Maximum length, in lines, of a definition that is shown in full; for a longer one, only the head
/// and the parts that match the request are shown.
pub const WHOLE_LINES_MAX: usize = 120;
/// Number of lines shown at the head of a file (imports, constants), of a long container, and of a
/// constructor.
const HEAD_LINES: usize = 14;
/// Maximum number of a file's other definitions listed next to the parts shown.
const OTHERS_MAX: usize = 30;
/// Maximum length of a signature in the list of definitions not shown.
const SIGNATURE_CHARS: usize = 70;
/// Maximum number of files shown for a change; more files distract a small model.
const FILES_CHANGED_MAX: usize = 3;

/// The purpose of a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The model answers a question from the pack.
    Answer,
    /// The model changes the code in the pack.
    Change,
}

/// A definition as (first line, last line, name).
pub type Found = (usize, usize, String);

/// A file and its lines that are shown.
#[derive(Clone, Debug)]
pub struct Shown {
    pub path: String,
    /// The complete text of the file.
    pub text: String,
    /// First and last line of each shown stretch, from 1, in order.
    pub lines: Vec<(usize, usize)>,
    /// Definitions that the request names or that retrieval found.
    pub found: Vec<Found>,
}

impl Shown {
    fn has(&self, line: usize) -> bool {
        self.lines.iter().any(|&(start, end)| start <= line && line <= end)
    }
}

/// The code shown to the model.
#[derive(Clone, Debug, Default)]
pub struct Pack {
    /// In order of importance.
    pub files: Vec<Shown>,
    /// The text for the prompt: the files, then the code shown after them.
    pub text: String,
    /// Locations of the code shown after the files, in full, by signature or by name, as the
    /// remaining tokens allow.
    pub(crate) also: Vec<String>,
}

impl Pack {
    /// Every shown stretch as `path:first-last`.
    pub fn places(&self) -> Vec<String> {
        let of = |shown: &Shown| -> Vec<String> {
            shown.lines.iter().map(|(first, last)| format!("{}:{first}-{last}", shown.path)).collect()
        };
        self.files.iter().flat_map(of).chain(self.also.iter().cloned()).collect()
    }

    /// Adds definitions in the most detailed form that fits the remaining `tokens`. They are only
    /// text for the model, which is not asked to change them.
    pub fn add(&mut self, heading: &str, hits: &[retrieve::Hit], tokens: usize) {
        let spent = retrieve::tokens(&format!("{}{heading}\n\n", self.text));
        let packed = retrieve::pack(hits, tokens.saturating_sub(spent), &retrieve::tokens);
        if packed.items.is_empty() {
            return;
        }
        self.text.push_str(&format!("{heading}\n{}\n", packed.text()));
        self.also.extend(packed.items.iter().map(|item| format!("{}:{}-{}", item.path, item.start, item.end)));
    }

    pub fn tokens(&self) -> usize {
        retrieve::tokens(&self.text)
    }
}

/// The request for a pack.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    pub context: &'a Context,
    pub index: &'a Index,
    /// The embedding of `query`.
    pub vector: Option<&'a [f32]>,
    /// The text of the step, or the complete request if the step is a question that names nothing.
    pub query: &'a str,
    pub mentions: &'a Mentions,
    /// Stretches that earlier steps of the turn changed; shown only for a change.
    pub touched: &'a [Stretch],
    pub purpose: Purpose,
    /// Maximum number of tokens in the pack.
    pub tokens: usize,
}

/// The text of a project file; `None` if it cannot be read as text or is larger than 1 MiB.
pub fn text_of(context: &Context, path: &str) -> Option<String> {
    readable(context, path).ok()
}

/// The text of a project file.
///
/// # Errors
/// If it cannot be read as text; the error is worded for the user.
pub fn readable(context: &Context, path: &str) -> Result<String, String> {
    let file = context.root.resolve(path, Access::Read).map_err(|error| error.to_string())?;
    if file.is_dir() {
        return Err(named::why_folder(path));
    }
    let mut bytes = Vec::new();
    let mut open = file.open().map_err(|error| error.to_string())?.take(FILE_BYTES_MAX + 1);
    open.read_to_end(&mut bytes).map_err(|error| format!("`{path}`: {error}"))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("`{path}` is larger than 1 MiB, the limit for a file that is changed"));
    }
    if let Some(zero) = bytes.iter().position(|byte| *byte == 0).filter(|_| is_binary(&bytes)) {
        let is_wide = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
        let sort = if is_wide { "UTF-16, not UTF-8 text" } else { "binary, not UTF-8 text" };
        return Err(format!("`{path}` is {sort} (a zero byte at byte {})", zero + 1));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("`{path}` is not UTF-8 text (byte {} on line {line})", at + 1)
    })
}

/// Packs code within the token budget: named symbols and files first, then the hits of retrieval;
/// each with the constants that it uses and, for an answer, the functions that a short function
/// calls. Definitions that do not fit are shown by signature or name.
pub fn pack(wanted: Wanted<'_>) -> Pack {
    let mut files = Files { context: wanted.context, read: BTreeMap::new() };
    let mut packing = Packing { wanted, chosen: Vec::new(), left: wanted.tokens };
    let mut rest: Vec<retrieve::Hit> = Vec::new();
    for stretch in stretches(wanted, &mut files) {
        let Some(open) = files.get(&stretch.path) else { continue };
        let is_added = packing.add(open, &stretch);
        let is_known = |hit: &retrieve::Hit| rest.iter().any(|one| one.path == hit.path && one.start == hit.start);
        if !is_added && let Some(hit) = open.hit(&stretch).filter(|hit| packing.may_name(hit) && !is_known(hit)) {
            // The signature or name of this definition takes priority over the bodies of less
            // valuable ones.
            let heading = if rest.is_empty() { retrieve::tokens(ALSO) } else { 0 };
            packing.left = packing.left.saturating_sub(heading);
            packing.left -= retrieve::pack(std::slice::from_ref(&hit), packing.left, &retrieve::tokens).tokens;
            rest.push(hit);
        } else if is_added {
            let mut used = beside::values(open, &stretch);
            if wanted.purpose == Purpose::Answer {
                used.extend(beside::callees(open, &stretch));
            }
            for one in used {
                packing.add(open, &one);
            }
        }
    }
    // A later stretch of the same file may have included this hit.
    rest.retain(|hit| !packing.shows(hit));
    let text = packing.chosen.iter().filter_map(|shown| Some(render(shown, &files.get(&shown.path)?.definitions)));
    let mut pack = Pack { text: text.collect(), files: packing.chosen, also: Vec::new() };
    pack.add(ALSO, &rest, wanted.tokens);
    pack
}

/// Heading of the definitions that do not fit in full.
const ALSO: &str = "Also found:";

struct Packing<'a> {
    wanted: Wanted<'a>,
    chosen: Vec<Shown>,
    /// Tokens left in the budget.
    left: usize,
}

impl Packing<'_> {
    /// Whether another stretch of this file may be shown.
    fn has_room_for(&self, path: &str) -> bool {
        let is_known = || self.chosen.iter().any(|shown| shown.path == path);
        self.wanted.purpose == Purpose::Answer || self.chosen.len() < FILES_CHANGED_MAX || is_known()
    }

    /// Whether the first line of a definition is shown.
    fn shows(&self, hit: &retrieve::Hit) -> bool {
        self.chosen.iter().any(|shown| shown.path == hit.path && shown.has(hit.start))
    }

    /// Whether a definition that does not fit may be shown by signature or name.
    fn may_name(&self, hit: &retrieve::Hit) -> bool {
        self.has_room_for(&hit.path) && !self.shows(hit)
    }

    /// Adds a stretch if it fits the budget, and returns whether it did.
    fn add(&mut self, open: &Open, stretch: &Stretch) -> bool {
        if !self.has_room_for(&stretch.path) {
            return false;
        }
        let place = self.chosen.iter().position(|shown| shown.path == stretch.path);
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

impl Open {
    /// The definition in a stretch as a retrieval hit; `None` if there is none.
    fn hit(&self, stretch: &Stretch) -> Option<retrieve::Hit> {
        let is_it =
            |one: &&Definition| one.end == stretch.lines.1 && [one.start, one.doc_start].contains(&stretch.lines.0);
        Some(hit_of(&stretch.path, &self.text, self.definitions.iter().find(is_it)?))
    }
}

/// A definition of a file as a retrieval hit. Its position in a list determines its value.
fn hit_of(path: &str, text: &str, one: &Definition) -> retrieve::Hit {
    let lines: Vec<&str> = text.lines().skip(one.start.saturating_sub(1)).take(one.end + 1 - one.start).collect();
    retrieve::Hit {
        chunk: 0,
        path: path.to_owned(),
        start: one.start,
        end: one.end,
        symbol: Some(one.name.clone()),
        kind: Some(one.kind.name().to_owned()),
        signature: one.signature.clone(),
        doc: one.doc.clone(),
        snippet: lines.join("\n"),
        score: 1.0,
        parts: Vec::new(),
    }
}

/// The files read so far, each read only once.
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

/// Whether a file only declares types for code that is elsewhere; such files are changed only if
/// named.
pub fn is_declaration(path: &str) -> bool {
    path.ends_with(".pyi") || paths::sorts(path).contains(&paths::Sort::Declarations)
}

/// Whether a definition is inside a function.
fn is_local(definition: &Definition, all: &[Definition]) -> bool {
    definition.container.and_then(|container| all.get(container)).is_some_and(|outer| !outer.kind.has_members())
}

/// A file as it appears in the prompt: its path and, unless it is complete, the numbers of the
/// lines shown; the lines in a fence; and its other definitions with their lines after the fence,
/// where the model does not copy them into code.
fn render(shown: &Shown, definitions: &[Definition]) -> String {
    let lines: Vec<&str> = shown.text.lines().collect();
    let language = language_of(&shown.path);
    let fence = if shown.text.contains("```") { "````" } else { "```" };
    let stretch = |&(start, end): &(usize, usize)| {
        lines.get(start - 1..end.min(lines.len())).unwrap_or_default().join("\n").trim_end().to_owned()
    };
    let code: Vec<String> = shown.lines.iter().map(stretch).collect();
    let language = if language == "text" { "" } else { language };
    let mut text = shown.path.clone();
    if shown.lines != [(1, lines.len().max(1))] {
        let numbers: Vec<String> = shown.lines.iter().map(|(first, last)| format!("{first}-{last}")).collect();
        text.push_str(&format!(":{}", numbers.join(",")));
    }
    text.push_str(&format!("\n{fence}{language}\n{}\n{fence}\n", code.join("\n\n")));
    let others = definitions.iter().filter(|one| !shown.has(one.start) && !is_local(one, definitions));
    let mut names: Vec<String> = others.take(OTHERS_MAX).map(|one| outlined(one, &lines)).collect();
    names.dedup();
    if !names.is_empty() {
        text.push_str(&format!("{} also has: {}\n", shown.path, names.join("; ")));
    }
    text.push('\n');
    text
}

/// The line and signature of a definition, truncated to `SIGNATURE_CHARS`.
fn outlined(definition: &Definition, lines: &[&str]) -> String {
    let above = lines.get(definition.doc_start.saturating_sub(1)..definition.start).unwrap_or_default();
    let property = above.iter().any(|line| line.trim() == "@property");
    let signature = if definition.signature.is_empty() { &definition.name } else { &definition.signature };
    let signature = crate::tools::outcome::cut_line(signature.trim_end_matches([':', '{', ' ']), SIGNATURE_CHARS);
    let property = if property { "@property " } else { "" };
    format!("{} {property}{signature}", definition.start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::mentions::is_test;

    #[test]
    fn more_belongs_to_tests_than_a_runner_takes() {
        use crate::edit::testing;
        let check = |path: &str, expected: [bool; 3]| {
            let found = [is_test(path), testing::is_test(path), testing::is_test_file(path)];
            assert_eq!(found, expected, "{path}");
        };
        check("src/oven.py", [false, false, false]);
        check("bakery/test_oven.py", [true, true, true]);
        check("tests/shelf.py", [true, true, false]);
        check("fixtures/bread.json", [true, false, false]);
        check("spec/oven_spec.rb", [true, false, false]);
    }

    #[test]
    fn definitions_that_are_not_shown_are_listed_outside_of_the_fence() {
        let text = "import os\n\n\ndef a(x):\n    return x\n\n\ndef b(y):\n    return y\n";
        let definitions = outline("python", text).definitions;
        let shown = Shown { path: "m.py".into(), text: text.into(), lines: vec![(8, 9)], found: Vec::new() };
        let expected = "m.py:8-9\n```python\ndef b(y):\n    return y\n```\nm.py also has: 4 def a(x)\n\n";
        assert_eq!(render(&shown, &definitions), expected);
        let whole = Shown { lines: vec![(1, 9)], ..shown };
        assert!(render(&whole, &definitions).starts_with("m.py\n```python\nimport os\n"));
    }

    #[test]
    fn definitions_that_do_not_fit_whole_are_shown_by_signature_or_name_within_the_tokens() {
        let body = |name: &str, lines: usize| {
            format!("def {name}(value):\n{}    return value\n\n\n", "    value = value + 1\n".repeat(lines))
        };
        let text = format!("{}{}{}", body("grow", 60), body("shrink", 60), body("keep", 2));
        let open = Open { definitions: outline("python", &text).definitions, text };
        let stretch =
            |one: &Definition| Stretch { path: "m.py".into(), lines: (one.start, one.end), name: one.name.clone() };
        let hits: Vec<_> = open.definitions.iter().filter_map(|one| open.hit(&stretch(one))).collect();
        let packed = |tokens: usize| {
            let mut pack = Pack::default();
            pack.add("Also found:", &hits, tokens);
            assert!(pack.tokens() <= tokens, "{} of {tokens}", pack.tokens());
            pack
        };
        let small = packed(120);
        assert!(small.text.contains("m.py:1-62 function grow\ndef grow(value)") && small.text.contains("return value"));
        assert!(!small.text.contains("value + 1\n    value = value + 1\n    value = value + 1"), "{}", small.text);
        assert_eq!(small.places(), ["m.py:1-62", "m.py:65-126", "m.py:129-132"]);
        assert_eq!(packed(20).places().len(), 1);
        assert!(packed(4).text.is_empty());
        assert_eq!(packed(4_000).text.matches("return value").count(), 3);
    }
}
