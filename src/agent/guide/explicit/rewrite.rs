//! Rewrites complete files as a step spells it out: exports, names, quoted texts.

use crate::agent::guide::Job;
use crate::context::is_declaration;
use crate::edit::{Edit, has_grammar, testing};
use crate::request::mentions::Mentions;
use crate::request::substitution;

/// Maximum number of files in which a text is replaced, and of places in each.
const REWORDED_FILES_MAX: usize = 3;
const REWORDED_PLACES_MAX: usize = 3;

/// The rewrites that the step spells out; empty if it spells out none, or a check finds a problem.
pub(super) fn all(job: Job<'_>, mentions: &Mentions) -> Vec<Rewrite> {
    let mut rewrites = reworded(job, mentions);
    if rewrites.is_empty() {
        let rewrite = exported(job, mentions).or_else(|| swapped(job, mentions));
        rewrites.extend(rewrite.filter(|one| one.after != one.before));
    }
    rewrites
}

/// A new text for a complete file.
pub(super) struct Rewrite {
    /// The rule that made the rewrite, for the log.
    pub way: &'static str,
    pub path: String,
    pub before: String,
    pub after: String,
}

/// `export f from index.js`: adds an existing definition to the exports of a module. `None` if the request asks for anything else.
fn exported(job: Job<'_>, mentions: &Mentions) -> Option<Rewrite> {
    let ([symbol], [path], []) =
        (mentions.symbols.as_slice(), mentions.paths.as_slice(), mentions.new_names.as_slice())
    else {
        return None;
    };
    let is_all = !mentions.adds && job.step.text.asks_only_for_export();
    let from = symbol.nodes.iter().find(|node| !is_declaration(&node.path)).map(|node| &node.path);
    let from = from.filter(|_| is_all)?;
    let before = job.text(path)?;
    let after = job.edited(path, &before, &Edit::Export { name: &symbol.name, from }, &[]).ok()?;
    Some(Rewrite { way: "export", path: path.clone(), before, after })
}

/// `f should use a.b, not a.c`: replaces a name throughout the named definition, or in the only
/// named file if no definition is named.
fn swapped(job: Job<'_>, mentions: &Mentions) -> Option<Rewrite> {
    let wanted = job.step.text.replacements().names.as_ref()?;
    let is_value = |name: &str| wanted.old.ends_with(name) || wanted.new.ends_with(name);
    let places = mentions.symbols.iter().filter(|symbol| !is_value(&symbol.name));
    let nodes: Vec<_> = places.flat_map(|symbol| symbol.nodes.first()).collect();
    let (path, lines) = match (nodes.as_slice(), mentions.paths.as_slice()) {
        ([node], _) => (&node.path, (node.start, node.end)),
        ([], [path]) => (path, (1, usize::MAX)),
        _ => return None,
    };
    let before = job.text(path)?;
    let swap = |(at, line): (usize, &str)| {
        if (lines.0..=lines.1).contains(&(at + 1)) {
            substitution::replaced(line, &wanted.old, &wanted.new)
        } else {
            line.to_owned()
        }
    };
    let after: String = before.split_inclusive('\n').enumerate().map(swap).collect();
    let after = job.edited(path, &before, &Edit::Whole(&after), &[]).ok()?;
    Some(Rewrite { way: "names", path: path.clone(), before, after })
}

/// `the text 'a' should be 'b'`, `'b' instead of 'a'`: replaces a string literal in the named
/// files, else in those that define the named symbols, else in all. A template
/// (`'${flag}' not given`) is found as the line that shares the most words with the old text. Empty
/// if the step asks for no such change, or if too many places contain the text.
fn reworded(job: Job<'_>, mentions: &Mentions) -> Vec<Rewrite> {
    let values = job.step.text.replacements().values.as_ref();
    let Some(wanted) = values.filter(|one| one.is_quoted) else { return Vec::new() };
    let paths = paths_meant(job, mentions);
    let literally = |_: &str, before: &str| {
        let mut after = before.to_owned();
        let mut places = 0;
        for mark in ['"', '\'', '`'] {
            let whole = format!("{mark}{}{mark}", wanted.old);
            places += after.matches(&whole).count();
            after = after.replace(&whole, &format!("{mark}{}{mark}", wanted.new));
        }
        (places > 0).then_some((places, after))
    };
    let completed = |path: &str, before: &str| {
        let after = substitution::in_template(before, wanted).filter(|_| has_grammar(path))?;
        Some((1, after))
    };
    // The number of places in a file, and its new text.
    type How<'h> = &'h dyn Fn(&str, &str) -> Option<(usize, String)>;
    let changed = |how: How<'_>| {
        let mut changes = Vec::new();
        for path in &paths {
            let Some(before) = job.text(path) else { continue };
            let Some((places, after)) = how(path, &before) else { continue };
            if places > REWORDED_PLACES_MAX {
                return Vec::new();
            }
            let Ok(after) = job.edited(path, &before, &Edit::Whole(&after), &[]) else { continue };
            changes.push(Rewrite { way: "quoted text", path: path.clone(), before, after });
        }
        changes
    };
    let literal = changed(&literally);
    let (changes, most) = if literal.is_empty() { (changed(&completed), 1) } else { (literal, REWORDED_FILES_MAX) };
    if changes.len() > most { Vec::new() } else { changes }
}

/// The named files, else those that define the named symbols, else all; tests only if they are
/// named.
pub(super) fn paths_meant(job: Job<'_>, mentions: &Mentions) -> Vec<String> {
    let nodes = mentions.symbols.iter().flat_map(|symbol| &symbol.nodes);
    let mut paths: Vec<String> =
        if mentions.paths.is_empty() { nodes.map(|node| node.path.clone()).collect() } else { mentions.paths.clone() };
    if paths.is_empty() {
        paths = job.index.paths().unwrap_or_default();
    }
    paths.sort();
    paths.dedup();
    paths.retain(|path| mentions.paths.contains(path) || !testing::is_test(path));
    paths
}
