//! Makes changes that a request spells out, without a model: replaced values, texts and names, removals, exports, derives.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::context::is_declaration;
use crate::context::mentions::{self, Mentions};
use crate::edit::{self, has_grammar, testing};
use crate::language::{grounding, words};
use crate::orchestrate::evidence::Evidence;
use crate::orchestrate::synthesize::tell;
use crate::orchestrate::toolkit::TurnError;
use crate::request::arguments::{Edit, removes, settle_edit, settle_removal};
use crate::request::substitution::{self, Substitution};
use crate::tools::builtin::Builtin;

use super::{Done, Job};

/// Most remaining uses of a removed name that are listed for the user.
const LEFT_MAX: usize = 6;
/// Longest request for an export alone, in words.
const EXPORT_WORDS_MAX: usize = 12;
/// Files that contain the version of a project.
const MANIFESTS: &[&str] = &["Cargo.toml", "package.json", "pyproject.toml"];
/// Most files in which a text is replaced, and most places in each.
const REWORDED_FILES_MAX: usize = 3;
const REWORDED_PLACES_MAX: usize = 3;

/// Makes the change that the step spells out. `None` if it spells out none, the place is not clear, or a check finds a problem.
pub async fn change(job: Job<'_>, evidence: &mut Evidence) -> Result<Option<Done>, TurnError> {
    let mut mentions = mentions::of(&job.step.text, job.index)?;
    if mentions.paths.is_empty() && mentions.symbols.is_empty() {
        // A step that names nothing is about the files that the request names.
        mentions.paths = mentions::of(job.scene.request, job.index)?.paths;
    }
    let mut rewrites = reworded(job, &mentions);
    if rewrites.is_empty() {
        let rewrite = exported(job, &mentions).or_else(|| swapped(job, &mentions)).or_else(|| derived(job, &mentions));
        rewrites.extend(rewrite.filter(|one| one.after != one.before && one.is_sound(job)));
    }
    if rewrites.is_empty() {
        return replaced(job, &mentions, evidence).await;
    }
    for Rewrite { way, path, after, .. } in rewrites {
        tracing::debug!(way, "changed by code");
        job.write(&path, &after, evidence).await?;
    }
    Ok(Some(Done::default()))
}

/// Makes the edits from one value to another, or the removal, that the step spells out.
async fn replaced(job: Job<'_>, mentions: &Mentions, evidence: &mut Evidence) -> Result<Option<Done>, TurnError> {
    let wanted = Wanted::of(job);
    let mut places = places(job, mentions, &wanted);
    let mut seen = HashSet::new();
    places.retain(|path| seen.insert(path.clone()));
    let is_only = places.len() == 1 || mentions.paths.is_empty();
    let edit = |path: &String| {
        let before = job.text(path)?;
        replacement(job, mentions, &wanted.edit(path, &before, is_only)?, wanted.is_removal, path, &before)
    };
    let found: Vec<Value> = places.iter().filter_map(edit).collect();
    if found.is_empty() || found.len() > 1 && (wanted.bump.is_none() || found.len() < places.len()) {
        return Ok(None);
    }
    tracing::debug!(way = wanted.way(), "changed by code");
    for arguments in found {
        if !job.perform(Builtin::ReplaceInFile, arguments, evidence).await?.succeeded() {
            return Ok(Some(Done::default()));
        }
    }
    let left = if wanted.is_removal { what_is_left(job, mentions) } else { String::new() };
    let said = if left.is_empty() { left } else { tell(job.scene.host, &left) };
    Ok(Some(Done { said, ..Done::default() }))
}

/// What a step removes or replaces.
struct Wanted<'a> {
    /// The text of the step.
    text: &'a str,
    is_removal: bool,
    substitution: Option<Substitution>,
    /// The edit that raises the version of the project, in words.
    bump: Option<String>,
}

impl<'a> Wanted<'a> {
    fn of(job: Job<'a>) -> Wanted<'a> {
        let text = job.step.text.as_str();
        let is_removal = removes(text);
        let substitution = substitution::of(text).filter(|one| !one.is_quoted && !is_removal);
        let bump = substitution::version_bump(text, job.scene.request).filter(|_| !is_removal);
        Wanted { text, is_removal, substitution, bump }
    }

    /// The rule that finds the edit, for the log.
    fn way(&self) -> &'static str {
        match (&self.bump, self.is_removal, &self.substitution) {
            (_, true, _) => "removal",
            (Some(_), ..) => "version",
            (.., Some(_)) => "value",
            (..) => "edit",
        }
    }

    /// The edit of the file `path` with the text `before`. Without `is_only`, the file is one of several that are named, and only the two values of
    /// the step are searched in it.
    fn edit(&self, path: &str, before: &str, is_only: bool) -> Option<Edit> {
        match (&self.bump, self.is_removal) {
            (_, true) => settle_removal(self.text, path, before)?.ok(),
            (Some(bump), _) => settle_edit(bump, before).filter(|edit| substitution::has_version(&edit.old)),
            _ => {
                let as_said = settle_edit(self.text, before).filter(|_| is_only);
                as_said.or_else(|| self.substitution.as_ref()?.edit(before))
            }
        }
    }
}

/// The files that may have the old value.
fn places(job: Job<'_>, mentions: &Mentions, wanted: &Wanted<'_>) -> Vec<String> {
    if wanted.bump.is_some() && mentions.paths.is_empty() {
        return MANIFESTS.iter().map(|path| (*path).to_owned()).filter(|path| job.exists(path)).collect();
    }
    match (mentions.paths.is_empty(), &wanted.substitution) {
        (false, _) => mentions.paths.clone(),
        (true, None) => where_defined(job, mentions),
        // All code is searched, and exactly one file has to have the old value.
        (true, Some(_)) => paths_meant(job, mentions).into_iter().filter(|path| has_grammar(path)).collect(),
    }
}

/// The arguments of the call that makes `edit` in a file. `None` if the old text occurs more than once, or a check finds a problem.
fn replacement(
    job: Job<'_>,
    mentions: &Mentions,
    edit: &Edit,
    is_removal: bool,
    path: &str,
    before: &str,
) -> Option<Value> {
    let new = with_comparison(&edit.old, &edit.new);
    let after = before.replacen(&edit.old, &new, 1);
    let named = mentions.symbols.iter().filter(|_| is_removal).map(|symbol| symbol.name.clone());
    let fits = before.matches(&edit.old).count() == 1
        && job.problem(path, before, &after, &named.collect::<Vec<_>>()).is_none();
    fits.then(|| json!({ "path": path, "old": edit.old, "new": new }))
}

/// Where the removed names are still used, a line for each name; empty if they are not.
fn what_is_left(job: Job<'_>, mentions: &Mentions) -> String {
    let mut said = String::new();
    for symbol in &mentions.symbols {
        let left = still_named(job, &symbol.name);
        if !left.is_empty() {
            said.push_str(&format!("`{}` is still named in {}.\n", symbol.name, left.join(", ")));
        }
    }
    said
}

/// Lines that still have a name, as `path:line`, at most `LEFT_MAX`.
fn still_named(job: Job<'_>, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    for path in job.index.paths().unwrap_or_default() {
        let text = job.text(&path).unwrap_or_default();
        let lines = text.lines().enumerate().filter(|(_, line)| grounding::is_backed(line, name));
        found.extend(lines.map(|(at, _)| format!("{path}:{}", at + 1)).take(LEFT_MAX - found.len()));
        if found.len() == LEFT_MAX {
            break;
        }
    }
    found
}

/// A new text for a whole file.
struct Rewrite {
    /// The rule that made it, for the log.
    way: &'static str,
    path: String,
    before: String,
    after: String,
}

impl Rewrite {
    fn is_sound(&self, job: Job<'_>) -> bool {
        job.problem(&self.path, &self.before, &self.after, &[]).is_none()
    }
}

/// `export f from index.js`: adds an existing definition to the exports of a module. `None` if the request asks for anything else.
fn exported(job: Job<'_>, mentions: &Mentions) -> Option<Rewrite> {
    let ([symbol], [path], []) =
        (mentions.symbols.as_slice(), mentions.paths.as_slice(), mentions.new_names.as_slice())
    else {
        return None;
    };
    let text = &job.step.text;
    let is_all = !mentions.adds && words::split(text).len() <= EXPORT_WORDS_MAX;
    let from = symbol.nodes.iter().find(|node| !is_declaration(&node.path)).map(|node| &node.path);
    let from = from.filter(|_| is_all && edit::export::is_asked(text))?;
    let before = job.text(path)?;
    let after = edit::export::add(path, &before, &symbol.name, from)?;
    let place = |name: &str| (name == symbol.name).then(|| from.clone());
    let after = edit::imports::brought_in(path, &before, &after, &place);
    Some(Rewrite { way: "export", path: path.clone(), before, after })
}

/// `A should derive Clone and Debug`: adds traits to the derives of the Rust type that is named.
fn derived(job: Job<'_>, mentions: &Mentions) -> Option<Rewrite> {
    let traits = edit::derive::asked(&job.step.text);
    let types = mentions.symbols.iter().filter(|symbol| !traits.contains(&symbol.name.as_str()));
    let mut nodes = types.flat_map(|symbol| symbol.nodes.iter().filter(|node| node.path.ends_with(".rs")));
    let node = nodes.find(|node| matches!(node.kind.as_str(), "struct" | "enum")).filter(|_| !traits.is_empty())?;
    let before = job.text(&node.path)?;
    let after = edit::derive::add(&before, &node.name, &traits)?;
    Some(Rewrite { way: "derive", path: node.path.clone(), before, after })
}

/// `f should use a.b, not a.c`: replaces a name everywhere in the one definition that is named, or else in the one file.
fn swapped(job: Job<'_>, mentions: &Mentions) -> Option<Rewrite> {
    let wanted = substitution::of_names(&job.step.text)?;
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
    let after = before.split_inclusive('\n').enumerate().map(swap).collect();
    Some(Rewrite { way: "names", path: path.clone(), before, after })
}

/// `the text 'a' should be 'b'`, `'b' instead of 'a'`: replaces a string literal in the files that are named, or that define what is named, or
/// else in all. A text that code fills in (`'${flag}' not given`) is found by the line that has most of its words. Empty if nothing of it is
/// asked for, or too many places have the text.
fn reworded(job: Job<'_>, mentions: &Mentions) -> Vec<Rewrite> {
    let Some(wanted) = substitution::of(&job.step.text).filter(|one| one.is_quoted) else { return Vec::new() };
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
        let after = substitution::in_template(before, &wanted).filter(|_| has_grammar(path))?;
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
            let rewrite = Rewrite { way: "quoted text", path: path.clone(), before, after };
            changes.extend(Some(rewrite).filter(|one| one.is_sound(job)));
        }
        changes
    };
    let literal = changed(&literally);
    let (changes, most) = if literal.is_empty() { (changed(&completed), 1) } else { (literal, REWORDED_FILES_MAX) };
    if changes.len() > most { Vec::new() } else { changes }
}

/// The files that define the named symbols. If only declarations do, as for a field that a constructor sets, the code files that have the name.
fn where_defined(job: Job<'_>, mentions: &Mentions) -> Vec<String> {
    let nodes = mentions.symbols.iter().flat_map(|symbol| &symbol.nodes).map(|node| node.path.clone());
    let (declared, defined): (Vec<String>, Vec<String>) = nodes.partition(|path| is_declaration(path));
    if declared.is_empty() || !defined.is_empty() {
        return defined;
    }
    let has_name = |path: &String| {
        let text = job.text(path).unwrap_or_default();
        mentions.symbols.iter().any(|symbol| grounding::is_backed(&text, &symbol.name))
    };
    let mut all = job.index.paths().unwrap_or_default();
    all.retain(|path| has_grammar(path) && !testing::is_test(path) && !is_declaration(path) && has_name(path));
    all
}

/// The files that are named, or that define what is named, or else all; tests only if they are named.
fn paths_meant(job: Job<'_>, mentions: &Mentions) -> Vec<String> {
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

/// `new` with the comparison sign of `old`: `>= 3.1` becomes `>= 3.2` if 3.2 is asked for.
fn with_comparison(old: &str, new: &str) -> String {
    let same = |(a, b): &(char, char)| a == b;
    let begin: usize = old.chars().zip(new.chars()).take_while(same).map(|(letter, _)| letter.len_utf8()).sum();
    let value = &old[begin..];
    let sign = value.len() - value.trim_start_matches(['<', '>', '=', '~', '^', ' ']).len();
    let is_version = value[sign..].starts_with(|c: char| c.is_ascii_digit());
    if sign > 0 && is_version && new[begin..].starts_with(|c: char| c.is_ascii_digit()) {
        format!("{}{}{}", &new[..begin], &value[..sign], &new[begin..])
    } else {
        new.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_keeps_its_comparison_sign() {
        let check = |old: &str, new: &str, expected: &str| assert_eq!(with_comparison(old, new), expected);
        check("python = \">= 3.8\"", "python = \"3.9\"", "python = \">= 3.9\"");
        check("python = \">= 3.8\"", "python = \"<4\"", "python = \"<4\"");
        check("x = 3", "x = 4", "x = 4");
        check("x = =5", "x = é", "x = é");
    }
}
