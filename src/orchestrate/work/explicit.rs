//! Makes changes that a request spells out, without a model: replaced values, texts and names, removals, exports, derives.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::edit::{self, has_grammar, testing};
use crate::index::Index;
use crate::language::{grounding, words};
use crate::orchestrate::evidence::Evidence;
use crate::orchestrate::execute::Scene;
use crate::orchestrate::toolkit::TurnError;
use crate::protocol::{Event, StepStatus};
use crate::request::arguments::{Edit, removes, settle_edit, settle_removal};
use crate::tools::Context;
use crate::tools::builtin::Builtin;

use super::change::{exists, perform};
use super::{Done, verify};
use crate::context::mentions;
use crate::context::mentions::Mentions;
use crate::context::text_of;
use crate::request::Step;
use crate::request::substitution::{self, Substitution};

/// Most remaining uses of a removed name that are listed for the user.
const LEFT_MAX: usize = 6;

/// Makes the change that `step` spells out. `None` if it spells out none, the place is not clear, or a check finds a problem.
pub async fn change(
    scene: Scene<'_>,
    index: &Index,
    step: &Step,
    evidence: &mut Evidence,
) -> Result<Option<Done>, TurnError> {
    let mut mentions = mentions::of(&step.text, index)?;
    if mentions.paths.is_empty() && mentions.symbols.is_empty() {
        // A step that names nothing is about the files that the request names.
        mentions.paths = mentions::of(scene.request, index)?.paths;
    }
    if let Some(done) = reworded(scene, index, step, &mentions, evidence).await? {
        return Ok(Some(done));
    }
    let named = |way: &'static str, rewrite: Option<Rewrite>| rewrite.map(|rewrite| (way, rewrite));
    let rewrite = named("export", exported(scene.context, step, &mentions))
        .or_else(|| named("names", swapped(scene.context, step, &mentions)))
        .or_else(|| named("derive", derived(scene.context, step, &mentions)));
    if let Some((way, (path, _, after))) = rewrite.filter(|(_, (path, before, after))| fits(index, path, before, after))
    {
        tracing::debug!(way, "changed by code");
        perform(scene, step, Builtin::WriteFile, json!({ "path": path, "content": after }), evidence).await?;
        return Ok(Some(Done::default()));
    }
    let wanted = Wanted::of(scene, step);
    let mut places = places(scene, index, &mentions, &wanted);
    let mut seen = HashSet::new();
    places.retain(|path| seen.insert(path.clone()));
    let is_only = places.len() == 1 || mentions.paths.is_empty();
    let found: Vec<Value> = places
        .iter()
        .filter_map(|path| {
            let before = text_of(scene.context, path)?;
            replacement(index, &mentions, &wanted.edit(path, &before, is_only)?, wanted.is_removal, path, &before)
        })
        .collect();
    if found.is_empty() || found.len() > 1 && (wanted.bump.is_none() || found.len() < places.len()) {
        return Ok(None);
    }
    tracing::debug!(way = wanted.way(), "changed by code");
    let mut status = StepStatus::Succeeded;
    for arguments in found {
        status = perform(scene, step, Builtin::ReplaceInFile, arguments, evidence).await?.status;
        if status != StepStatus::Succeeded {
            break;
        }
    }
    let is_removed = wanted.is_removal && status == StepStatus::Succeeded;
    let said = if is_removed { what_is_left(scene.context, index, &mentions) } else { String::new() };
    if !said.is_empty() {
        scene.host.emit(Event::Token { text: said.clone() });
    }
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
    fn of(scene: Scene<'_>, step: &'a Step) -> Wanted<'a> {
        let is_removal = removes(&step.text);
        let substitution = substitution::of(&step.text).filter(|one| !one.is_quoted && !is_removal);
        let bump = substitution::version_bump(&step.text, scene.request).filter(|_| !is_removal);
        Wanted { text: &step.text, is_removal, substitution, bump }
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
fn places(scene: Scene<'_>, index: &Index, mentions: &Mentions, wanted: &Wanted<'_>) -> Vec<String> {
    if wanted.bump.is_some() && mentions.paths.is_empty() {
        return MANIFESTS.iter().map(|path| (*path).to_owned()).filter(|path| exists(scene.context, path)).collect();
    }
    match (mentions.paths.is_empty(), &wanted.substitution) {
        (false, _) => mentions.paths.clone(),
        (true, None) => where_defined(scene.context, index, mentions),
        // All code is searched, and exactly one file has to have the old value.
        (true, Some(_)) => paths_meant(index, mentions).into_iter().filter(|path| has_grammar(path)).collect(),
    }
}

/// The arguments of the call that makes `edit` in a file. `None` if the old text occurs more than once, or a check finds a problem.
fn replacement(
    index: &Index,
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
        && verify::problems(index, path, before, &after, &named.collect::<Vec<_>>()).is_empty();
    fits.then(|| json!({ "path": path, "old": edit.old, "new": new }))
}

/// Where the removed names are still used, a line for each name; empty if they are not.
fn what_is_left(context: &Context, index: &Index, mentions: &Mentions) -> String {
    let mut said = String::new();
    for symbol in &mentions.symbols {
        let left = still_named(context, index, &symbol.name);
        if !left.is_empty() {
            said.push_str(&format!("`{}` is still named in {}.\n", symbol.name, left.join(", ")));
        }
    }
    said
}

/// The path of a file, its text, and its new text.
type Rewrite = (String, String, String);

/// Whether a new text differs from the old one and the checks find no problem in it.
fn fits(index: &Index, path: &str, before: &str, after: &str) -> bool {
    after != before && verify::problems(index, path, before, after, &[]).is_empty()
}

/// `export f from index.js`: adds an existing definition to the exports of a module. `None` if the request asks for anything else.
fn exported(context: &Context, step: &Step, mentions: &Mentions) -> Option<Rewrite> {
    let ([symbol], [path], []) =
        (mentions.symbols.as_slice(), mentions.paths.as_slice(), mentions.new_names.as_slice())
    else {
        return None;
    };
    let is_all = !mentions.adds && words::split(&step.text).len() <= EXPORT_WORDS_MAX;
    let from = symbol.nodes.iter().find(|node| !crate::context::is_declaration(&node.path)).map(|node| &node.path);
    let from = from.filter(|_| is_all && edit::export::is_asked(&step.text))?;
    let before = text_of(context, path)?;
    let after = edit::export::add(path, &before, &symbol.name, from)?;
    let place = |name: &str| (name == symbol.name).then(|| from.clone());
    let after = edit::imports::brought_in(path, &before, &after, &place);
    Some((path.clone(), before, after))
}

/// `A should derive Clone and Debug`: adds traits to the derives of the Rust type that is named.
fn derived(context: &Context, step: &Step, mentions: &Mentions) -> Option<Rewrite> {
    let traits = edit::derive::asked(&step.text);
    let types = mentions.symbols.iter().filter(|symbol| !traits.contains(&symbol.name.as_str()));
    let mut nodes = types.flat_map(|symbol| symbol.nodes.iter().filter(|node| node.path.ends_with(".rs")));
    let node = nodes.find(|node| matches!(node.kind.as_str(), "struct" | "enum")).filter(|_| !traits.is_empty())?;
    let before = text_of(context, &node.path)?;
    let after = edit::derive::add(&before, &node.name, &traits)?;
    Some((node.path.clone(), before, after))
}

/// Lines that still have a name, as `path:line`, at most `LEFT_MAX`.
fn still_named(context: &Context, index: &Index, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    for path in index.paths().unwrap_or_default() {
        let text = text_of(context, &path).unwrap_or_default();
        let lines = text.lines().enumerate().filter(|(_, line)| grounding::is_backed(line, name));
        found.extend(lines.map(|(at, _)| format!("{path}:{}", at + 1)).take(LEFT_MAX - found.len()));
        if found.len() == LEFT_MAX {
            break;
        }
    }
    found
}

/// `f should use a.b, not a.c`: replaces a name everywhere in the one definition that is named, or else in the one file.
fn swapped(context: &Context, step: &Step, mentions: &Mentions) -> Option<Rewrite> {
    let wanted = substitution::of_names(&step.text)?;
    let is_value = |name: &str| wanted.old.ends_with(name) || wanted.new.ends_with(name);
    let nodes =
        mentions.symbols.iter().filter(|symbol| !is_value(&symbol.name)).flat_map(|symbol| symbol.nodes.first());
    let nodes: Vec<_> = nodes.collect();
    let (path, lines) = match (nodes.as_slice(), mentions.paths.as_slice()) {
        ([node], _) => (&node.path, (node.start, node.end)),
        ([], [path]) => (path, (1, usize::MAX)),
        _ => return None,
    };
    let before = text_of(context, path)?;
    let swap = |(at, line): (usize, &str)| {
        if (lines.0..=lines.1).contains(&(at + 1)) {
            substitution::replaced(line, &wanted.old, &wanted.new)
        } else {
            line.to_owned()
        }
    };
    let after: String = before.split_inclusive('\n').enumerate().map(swap).collect();
    Some((path.clone(), before, after))
}

/// Longest request for an export alone, in words.
const EXPORT_WORDS_MAX: usize = 12;
/// Files that contain the version of a project.
const MANIFESTS: &[&str] = &["Cargo.toml", "package.json", "pyproject.toml"];

/// Most files in which a text is replaced, and most places in each.
const REWORDED_FILES_MAX: usize = 3;
const REWORDED_PLACES_MAX: usize = 3;

/// `the text 'a' should be 'b'`, `'b' instead of 'a'`: replaces a string literal in the files that are named, or that define what is named, or
/// else in all.
async fn reworded(
    scene: Scene<'_>,
    index: &Index,
    step: &Step,
    mentions: &Mentions,
    evidence: &mut Evidence,
) -> Result<Option<Done>, TurnError> {
    let Some(wanted) = substitution::of(&step.text).filter(|one| one.is_quoted) else { return Ok(None) };
    let mut changes = Vec::new();
    for path in &paths_meant(index, mentions) {
        let Some(before) = text_of(scene.context, path) else { continue };
        let mut after = before.clone();
        let mut places = 0;
        for mark in ['"', '\'', '`'] {
            let whole = format!("{mark}{}{mark}", wanted.old);
            places += after.matches(&whole).count();
            after = after.replace(&whole, &format!("{mark}{}{mark}", wanted.new));
        }
        if places > REWORDED_PLACES_MAX {
            return Ok(None);
        }
        if places > 0 && verify::problems(index, path, &before, &after, &[]).is_empty() {
            changes.push((path.clone(), after));
        }
    }
    if changes.is_empty() || changes.len() > REWORDED_FILES_MAX {
        return Ok(None);
    }
    tracing::debug!(way = "quoted text", "changed by code");
    for (path, after) in changes {
        perform(scene, step, Builtin::WriteFile, json!({ "path": path, "content": after }), evidence).await?;
    }
    Ok(Some(Done::default()))
}

/// The files that define the named symbols. If only declarations do, as for a field that a constructor sets, the code files that have the name.
fn where_defined(context: &Context, index: &Index, mentions: &Mentions) -> Vec<String> {
    let nodes = mentions.symbols.iter().flat_map(|symbol| &symbol.nodes).map(|node| node.path.clone());
    let (declared, defined): (Vec<String>, Vec<String>) = nodes.partition(|path| crate::context::is_declaration(path));
    if declared.is_empty() || !defined.is_empty() {
        return defined;
    }
    let has_name = |path: &String| {
        let text = text_of(context, path).unwrap_or_default();
        mentions.symbols.iter().any(|symbol| grounding::is_backed(&text, &symbol.name))
    };
    let all = index.paths().unwrap_or_default().into_iter();
    all.filter(|path| has_grammar(path) && !testing::is_test(path) && !crate::context::is_declaration(path))
        .filter(has_name)
        .collect()
}

/// The files that are named, or that define what is named, or else all; tests only if they are named.
fn paths_meant(index: &Index, mentions: &Mentions) -> Vec<String> {
    let nodes = mentions.symbols.iter().flat_map(|symbol| &symbol.nodes);
    let mut paths: Vec<String> =
        if mentions.paths.is_empty() { nodes.map(|node| node.path.clone()).collect() } else { mentions.paths.clone() };
    if paths.is_empty() {
        paths = index.paths().unwrap_or_default();
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
