//! Makes, without a model, the changes that a request spells out: replacements of values, texts and
//! names, removals, exports.

mod rewrite;

use std::collections::HashSet;

use crate::agent::evidence::Evidence;
use crate::agent::execute::Made;
use crate::agent::synthesize::tell;
use crate::agent::toolkit::TurnError;
use crate::context::is_declaration;
use crate::edit::{self, has_grammar, testing};
use crate::language::grounding;
use crate::request::mentions::Mentions;
use crate::request::substitution::{self, Substitution};
use crate::request::{Edit, Text, Unsettled};
use crate::tools::files::left_out;

use super::places::Places;
use super::together::FileEdit;
use super::{Done, Job};
use rewrite::{Rewrite, paths_meant};

/// Maximum number of remaining uses of a removed name listed for the user.
const LEFT_MAX: usize = 6;
/// Files that contain the version of a project.
const MANIFESTS: &[&str] = &["Cargo.toml", "package.json", "pyproject.toml"];

/// The result of trying to make a change that a step spells out.
pub enum Change {
    Made(Done),
    /// The step spells out a change that does not fit the project.
    Refused {
        why: String,
        is_certain: bool,
    },
    /// The step spells out no change.
    Unsaid,
}

/// Makes the change that the step spells out.
pub async fn change(job: Job<'_>, evidence: &mut Evidence) -> Result<Change, TurnError> {
    let places = Places::of(job)?;
    if let Some(why) = places.trouble(job) {
        return Ok(Change::Refused { why, is_certain: true });
    }
    if places.text.is_vague_removal() {
        let why = "the request does not say exactly what to remove; name the files, definitions or lines".to_owned();
        return Ok(Change::Refused { why, is_certain: true });
    }
    let wanted = Wanted::of(job, &places);
    let mut mentions = job.mentions(&job.step.text)?;
    if mentions.paths.is_empty() && mentions.symbols.is_empty() {
        // A step without names refers to the files that the request names.
        mentions.paths = job.mentions(job.scene.request)?.paths;
    }
    if !places.files.is_empty() {
        mentions.paths.clone_from(&places.files);
    }
    let mut first = match worked_out(job, &places, &mentions, &wanted) {
        Ok(edits) => Some(edits),
        Err(Unsettled::Unsaid) => return Ok(Change::Unsaid),
        Err(Unsettled::Several(why)) => return Ok(Change::Refused { why, is_certain: false }),
        Err(Unsettled::Refused { why, is_certain }) => return Ok(Change::Refused { why, is_certain }),
    };
    let work_out = || match first.take().map_or_else(|| worked_out(job, &places, &mentions, &wanted), Ok) {
        Ok(edits) => Ok((edits, Vec::new(), ())),
        Err(Unsettled::Unsaid) => Err("the text to change was not found".to_owned()),
        Err(Unsettled::Several(why) | Unsettled::Refused { why, .. }) => Err(why),
    };
    Ok(match job.work_out_and_make(work_out, evidence).await? {
        Ok((Made::All, ())) if wanted.is_removal => {
            let left = what_is_left(job, &wanted.may_go);
            let said = if left.is_empty() { left } else { tell(job.scene.host, &left) };
            Change::Made(Done { said, ..Done::default() })
        }
        Ok(_) => Change::Made(Done::default()),
        // The file was changed by somebody else in the meantime.
        Err(why) => Change::Refused { why, is_certain: true },
    })
}

/// The edits that the step spells out, for the current files.
fn worked_out(
    job: Job<'_>,
    places: &Places,
    mentions: &Mentions,
    wanted: &Wanted<'_>,
) -> Result<Vec<FileEdit>, Unsettled> {
    let settled = if places.files.is_empty() { Err(Unsettled::Unsaid) } else { settled(job, places, wanted) };
    if settled.is_ok() {
        return settled;
    }
    let rewrites = rewrite::all(job, mentions);
    if rewrites.is_empty() {
        let found = if places.files.is_empty() { found(job, mentions, wanted) } else { None };
        return found.map_or(settled, Ok);
    }
    let edit = |Rewrite { way, path, before, after }: Rewrite| {
        tracing::debug!(way, "changed by code");
        FileEdit::text(&path, Some(&before), &after)
    };
    Ok(rewrites.into_iter().map(edit).collect())
}

/// The edits of the named files: one for each file named as the place of the change, or one for the
/// only file that contains the old value.
fn settled(job: Job<'_>, places: &Places, wanted: &Wanted<'_>) -> Result<Vec<FileEdit>, Unsettled> {
    let (mut edits, mut refusals, mut is_certain) = (Vec::new(), Vec::new(), true);
    for path in &places.files {
        let Some(before) = job.text(path) else { continue };
        let edit = wanted.edit(path, &before).and_then(|edit| replacement(job, &edit, wanted, path, &before));
        match edit {
            Ok(edit) => edits.push(edit),
            Err(Unsettled::Unsaid) => {}
            Err(Unsettled::Several(why)) => {
                // A model may pick the right one of several lines of code.
                is_certain &= !has_grammar(path);
                refusals.push(format!("{path}: {why}"));
            }
            Err(Unsettled::Refused { why, is_certain: one }) => {
                is_certain &= one;
                refusals.push(format!("{path}: {why}"));
            }
        }
    }
    let all = places.are_all_meant || wanted.bump.is_some();
    if !edits.is_empty() && (edits.len() == places.files.len() || !all && edits.len() == 1) {
        Ok(edits)
    } else if refusals.is_empty() {
        Err(Unsettled::Unsaid)
    } else {
        Err(Unsettled::Refused { why: refusals.join("; "), is_certain })
    }
}

/// The edit in the files that define the symbols named in the step, or in the only file that
/// contains the old value.
fn found(job: Job<'_>, mentions: &Mentions, wanted: &Wanted<'_>) -> Option<Vec<FileEdit>> {
    let mut places = places(job, mentions, wanted);
    let mut seen = HashSet::new();
    places.retain(|path| seen.insert(path.clone()));
    let edit = |path: &String| {
        let before = job.text(path)?;
        let edit = wanted.edit(path, &before).ok()?;
        replacement(job, &edit, wanted, path, &before).ok()
    };
    let found: Vec<FileEdit> = places.iter().filter_map(edit).collect();
    let is_clear = found.len() == 1 || !found.is_empty() && wanted.bump.is_some() && found.len() == places.len();
    is_clear.then_some(found)
}

/// The removal or replacement that a step spells out.
struct Wanted<'a> {
    /// The text of the step, with a mark in place of the files that it names.
    text: &'a Text,
    is_removal: bool,
    substitution: Option<&'a Substitution>,
    /// The edit that raises the version of the project, in words.
    bump: Option<Text>,
    /// The symbols that a removal names.
    may_go: Vec<String>,
}

impl<'a> Wanted<'a> {
    fn of(job: Job<'_>, places: &'a Places) -> Wanted<'a> {
        let text = &places.text;
        let is_removal = text.removes();
        let substitution = text.replacements().values.as_ref().filter(|_| !is_removal);
        let bump = text.version_bump(job.scene.request).filter(|_| !is_removal);
        let named = if is_removal { job.mentions(text).ok() } else { None };
        let symbols = named.into_iter().flat_map(|mentions| mentions.symbols);
        let may_go = symbols.map(|symbol| symbol.name).collect();
        Wanted { text, is_removal, substitution, bump, may_go }
    }

    /// The edit of the file `path` with the text `before`.
    fn edit(&self, path: &str, before: &str) -> Result<Edit, Unsettled> {
        if self.is_removal {
            let certain = |why| Unsettled::Refused { why, is_certain: false };
            return self.text.removal_from(path, before).ok_or(Unsettled::Unsaid)?.map_err(certain);
        }
        if let Some(bump) = &self.bump {
            let edit = bump.edit_of(before)?;
            return if substitution::has_version(&edit.old) { Ok(edit) } else { Err(Unsettled::Unsaid) };
        }
        self.text.edit_of(before).or_else(|why| match self.substitution {
            Some(one) => one.edit(before).map_err(|other| if why == Unsettled::Unsaid { other } else { why }),
            None => Err(why),
        })
    }
}

/// The files that may contain the old value.
fn places(job: Job<'_>, mentions: &Mentions, wanted: &Wanted<'_>) -> Vec<String> {
    if wanted.bump.is_some() && mentions.paths.is_empty() {
        return MANIFESTS.iter().map(|path| (*path).to_owned()).filter(|path| job.exists(path)).collect();
    }
    match (mentions.paths.is_empty(), wanted.substitution) {
        (false, _) => mentions.paths.clone(),
        // All code is searched, and exactly one file must contain the old value.
        (true, Some(one)) if !one.is_quoted => {
            paths_meant(job, mentions).into_iter().filter(|path| has_grammar(path)).collect()
        }
        (true, _) => where_defined(job, mentions),
    }
}

/// The change that makes `edit` in a file.
///
/// # Errors
/// The old text occurs more than once, or a check finds a problem.
fn replacement(
    job: Job<'_>,
    edit: &Edit,
    wanted: &Wanted<'_>,
    path: &str,
    before: &str,
) -> Result<FileEdit, Unsettled> {
    let new = with_comparison(&edit.old, &edit.new);
    let refused =
        |why: String| Unsettled::Refused { why: format!("the change fails a check: {why}"), is_certain: false };
    job.edited(path, before, &edit::Edit::replace(&edit.old, &new), &wanted.may_go).map_err(refused)?;
    Ok(FileEdit::passage(path, before, &edit.old, &new))
}

/// The remaining uses of the removed names, one line per name; empty if there are none.
fn what_is_left(job: Job<'_>, names: &[String]) -> String {
    let mut said = String::new();
    for name in names {
        let left = still_named(job, name);
        if !left.is_empty() {
            said.push_str(&format!("`{name}` is still named in {}.\n", left.join(", ")));
        }
    }
    said
}

/// Lines that still contain a name, as `path:line`, and files outside the index that do, at most
/// `LEFT_MAX` together.
fn still_named(job: Job<'_>, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    let indexed = job.index.paths().unwrap_or_default();
    for path in &indexed {
        let text = job.text(path).unwrap_or_default();
        let lines = text.lines().enumerate().filter(|(_, line)| grounding::is_backed(line, name));
        found.extend(lines.map(|(at, _)| format!("{path}:{}", at + 1)).take(LEFT_MAX - found.len()));
        if found.len() == LEFT_MAX {
            return found;
        }
    }
    if let Some(word) = left_out::word(name) {
        let outside = left_out::matching(job.scene.context, &indexed.into_iter().collect(), &word);
        let open = outside.paths.into_iter().filter(|path| !job.scene.context.root.hides(path));
        found.extend(open.take(LEFT_MAX - found.len()));
    }
    found
}

/// The files that define the named symbols. If these are mere declarations, as for a field that a
/// constructor sets, the code files that contain the name.
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

/// `new` with the comparison operator of `old`: `>= 3.1` becomes `>= 3.2` if 3.2 is requested.
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
