//! Selects the code for the prompt of one step: what the request names and what retrieval finds, within a token budget.

pub mod beside;
mod candidates;
pub mod lines;
pub mod mentions;

use std::collections::BTreeMap;
use std::io::Read;

use crate::index::{Definition, Index, Node, language_of, outline, paths};
use crate::request::named;
use crate::retrieve;
use crate::tools::Context;
use crate::tools::confine::Access;
use crate::tools::files::read::is_binary;

use candidates::stretches;
use lines::widened;
use mentions::Mentions;

/// Lines of a file; those of a definition, if they have a name.
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

/// Largest file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Longest definition that is shown whole, in lines; of a longer one only the head and the parts that fit the request are.
pub const WHOLE_LINES_MAX: usize = 120;
/// Lines shown of the head of a file (imports, constants), of a long container, and of a constructor.
const HEAD_LINES: usize = 14;
/// Maximum number of definitions of a file listed besides what is shown of it.
const OTHERS_MAX: usize = 30;
/// Longest signature in a list of what is not shown.
const SIGNATURE_CHARS: usize = 70;
/// Maximum number of files shown for a change; more distract a small model.
const FILES_CHANGED_MAX: usize = 3;

/// The purpose of a pack.
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
    /// The most important first.
    pub files: Vec<Shown>,
    /// The files as they appear in the prompt.
    pub text: String,
}

impl Pack {
    /// Every shown stretch as `path:first-last`.
    pub fn places(&self) -> Vec<String> {
        let of = |shown: &Shown| -> Vec<String> {
            shown.lines.iter().map(|(first, last)| format!("{}:{first}-{last}", shown.path)).collect()
        };
        self.files.iter().flat_map(of).collect()
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
    /// The text of the step, or the whole request if it is a question that names nothing.
    pub query: &'a str,
    pub mentions: &'a Mentions,
    /// Stretches that earlier steps of the turn changed; shown only for a change.
    pub touched: &'a [Stretch],
    pub purpose: Purpose,
    /// Maximum number of tokens of the pack.
    pub tokens: usize,
}

/// The text of a file of the project; `None` if it cannot be read as text or is larger than 1 MiB.
pub fn text_of(context: &Context, path: &str) -> Option<String> {
    readable(context, path).ok()
}

/// The text of a file of the project.
///
/// # Errors
/// Why it cannot be read as text, for the user.
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

/// Packs code within the token budget: named symbols and files first, then the hits of retrieval; with each the
/// constants it uses, and for an answer also what a short function calls.
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
    fn add(&mut self, open: &Open, stretch: &Stretch) -> bool {
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

/// Whether a file only declares types of code that is elsewhere; such files are changed only if they are named.
pub fn is_declaration(path: &str) -> bool {
    path.ends_with(".pyi") || paths::sorts(path).contains(&paths::Sort::Declarations)
}

fn is_test(path: &str) -> bool {
    paths::sorts(path).contains(&paths::Sort::Test)
}

/// Whether a definition is inside a function.
fn is_local(definition: &Definition, all: &[Definition]) -> bool {
    definition.container.and_then(|container| all.get(container)).is_some_and(|outer| !outer.kind.has_members())
}

/// A file as it appears in the prompt: its path, its shown lines in a fence, and its other definitions outside of the
/// fence, so that the model does not copy these into code.
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

/// The signature of a definition, cut to `SIGNATURE_CHARS`.
fn outlined(definition: &Definition, lines: &[&str]) -> String {
    let above = lines.get(definition.doc_start.saturating_sub(1)..definition.start).unwrap_or_default();
    let property = above.iter().any(|line| line.trim() == "@property");
    let signature = if definition.signature.is_empty() { &definition.name } else { &definition.signature };
    let signature = crate::tools::outcome::cut_line(signature.trim_end_matches([':', '{', ' ']), SIGNATURE_CHARS);
    if property { format!("@property {signature}") } else { signature }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_that_are_not_shown_are_listed_outside_of_the_fence() {
        let text = "import os\n\n\ndef a(x):\n    return x\n\n\ndef b(y):\n    return y\n";
        let definitions = outline("python", text).definitions;
        let shown = Shown { path: "m.py".into(), text: text.into(), lines: vec![(8, 9)], found: Vec::new() };
        let expected = "m.py\n```python\ndef b(y):\n    return y\n```\nm.py also has: def a(x)\n\n";
        assert_eq!(render(&shown, &definitions), expected);
    }
}
