//! Renames a symbol and all its uses, by code: the complete plan is made before anything is written.

use std::collections::HashSet;

use crate::agent::evidence::Evidence;
use crate::agent::execute::Made;
use crate::agent::toolkit::TurnError;
use crate::context::is_declaration;
use crate::edit::has_grammar;
use crate::edit::rename::{self, NewText, Plan, RenameError, Target};
use crate::index::Index;
use crate::language::grounding;

use super::together::FileEdit;
use super::{Done, Job};
use crate::tools::files::left_out;

/// Maximum number of mentions, and of doubtful places, listed for the user.
const LISTED_MAX: usize = 8;

/// Renames the symbol that the step names; a note gives the reason if the names or the symbol are
/// unclear.
pub async fn rename(job: Job<'_>, evidence: &mut Evidence) -> Result<Done, TurnError> {
    let (index, request) = (job.index, job.scene.request);
    let refused = |why: String| Done::note(format!("not done: {why}"));
    let graph = index.graph()?;
    let Some((from, to)) = job.step.text.renamed(|name| !graph.named(name).is_empty()) else {
        return Ok(refused(format!("`{}` does not give the old and the new name", job.step.text)));
    };
    let named = job.mentions(request)?;
    let (container, name) = match from.rsplit_once(['.', ':']) {
        Some((container, name)) => (Some(container.trim_end_matches(':').to_owned()), name.to_owned()),
        None => (None, from.clone()),
    };
    let file = named.paths.first().filter(|_| named.paths.len() == 1).cloned();
    let read =
        |path: &str| job.text(path).ok_or_else(|| std::io::Error::other("it is not a text file of at most 1 MiB"));
    let plan = |file: Option<String>| {
        let target = Target { name: name.clone(), file, container: container.clone() };
        rename::plan(index, &read, &target, &to)
    };
    let work_out = || {
        // The file that the request names need not contain the definition.
        let planned = plan(file.clone()).or_else(|error| if file.is_some() { plan(None) } else { Err(error) });
        let planned = planned.or_else(|error| match &error {
            RenameError::Several { .. } => with_declarations(index, &name, &plan).unwrap_or(Err(error)),
            _ => Err(error),
        });
        let mut plan = planned.map_err(|error| error.to_string())?;
        if request.includes_mentions() {
            rename_mentions(&mut plan, &read, &name, &to);
        }
        let edits = plan.edits.iter().map(|edit| {
            let before = read(&edit.path).map_err(|error| format!("{} cannot be read: {error}", edit.path))?;
            Ok(FileEdit::text(&edit.path, Some(&before), &edit.text_after))
        });
        let outside = outside(job, left_out::word(&name), &name)?;
        Ok((edits.collect::<Result<_, String>>()?, outside.clone(), (plan, outside)))
    };
    Ok(match job.work_out_and_make(work_out, evidence).await? {
        Ok((Made::All, (plan, outside))) => Done { said: left(&plan, &outside), ..Done::default() },
        Ok(_) => Done::default(),
        Err(why) => refused(why),
    })
}

/// Adds the strings and comments that mention the name to the edits of a plan.
fn rename_mentions(plan: &mut Plan, read: &rename::Read<'_>, from: &str, to: &str) {
    for mention in std::mem::take(&mut plan.mentions) {
        let known = plan.edits.iter().position(|edit| edit.path == mention.path);
        let text = match known {
            Some(at) => plan.edits[at].text_after.clone(),
            None => read(&mention.path).unwrap_or_default(),
        };
        let renamed = |line: &str| -> String {
            let mut out = line.to_owned();
            let places: Vec<usize> = grounding::places(line, from).collect();
            places.into_iter().rev().for_each(|at| out.replace_range(at..at + from.len(), to));
            out
        };
        let lines = text.split_inclusive('\n').enumerate();
        let text: String =
            lines.map(|(at, line)| if at + 1 == mention.line { renamed(line) } else { line.to_owned() }).collect();
        match known {
            Some(at) => plan.edits[at].text_after = text,
            None => plan.edits.push(NewText { path: mention.path, text_after: text }),
        }
    }
}

/// The plan that renames one definition along with its declarations, as in `a.js` and `a.d.ts`.
/// `None` if there are several definitions, or if two plans change the same file.
fn with_declarations(
    index: &Index,
    name: &str,
    plan: &dyn Fn(Option<String>) -> Result<Plan, RenameError>,
) -> Option<Result<Plan, RenameError>> {
    let graph = index.graph().ok()?;
    let places = graph.named(name).into_iter().filter(|node| node.kind != "module").map(|node| node.path.clone());
    let (declared, defined): (Vec<String>, Vec<String>) = places.partition(|path| is_declaration(path));
    let [defined] = defined.as_slice() else { return None };
    let mut whole = match plan(Some(defined.clone())) {
        Ok(whole) => whole,
        Err(error) => return Some(Err(error)),
    };
    for path in declared {
        match plan(Some(path)) {
            Ok(more) if more.edits.iter().all(|edit| whole.edits.iter().all(|other| other.path != edit.path)) => {
                whole.edits.extend(more.edits);
            }
            Ok(_) => return None,
            Err(error) => return Some(Err(error)),
        }
    }
    Some(Ok(whole))
}

/// Unchanged files outside the index that contain `what`, one line each for the user.
///
/// # Errors
/// A file that rules forbid to read contains it, and would no longer fit the changed code.
pub fn outside(job: Job<'_>, pattern: Option<left_out::Pattern>, what: &str) -> Result<Vec<String>, String> {
    let Some(pattern) = pattern else { return Ok(Vec::new()) };
    let indexed: HashSet<String> = job.index.paths().unwrap_or_default().into_iter().collect();
    let mut found = left_out::matching(job.scene.context, &indexed, &pattern);
    let (hidden, open): (Vec<String>, Vec<String>) =
        found.paths.into_iter().partition(|path| job.scene.context.root.hides(path));
    if let Some(path) = hidden.iter().find(|path| has_grammar(path)) {
        return Err(format!("{path} also has `{what}`, but a rule forbids reading it, so nothing is changed"));
    }
    found.paths = open;
    let shown = found.paths.iter().take(LISTED_MAX);
    let mut lines: Vec<String> =
        shown.map(|path| format!("not changed, because it is not in the index: {path}, which has `{what}`")).collect();
    if found.paths.len() > LISTED_MAX {
        lines
            .push(format!("not changed: {} more files outside the index that have it", found.paths.len() - LISTED_MAX));
    }
    if !found.all {
        lines.push(format!(
            "not every file outside the index was searched for `{what}`: they are too large or too many"
        ));
    }
    Ok(lines)
}

/// Lines for the user about the doubtful places, mentions and files `outside` the index that a plan
/// does not change.
pub fn left(plan: &Plan, outside: &[String]) -> String {
    let doubtful = plan.doubtful.iter().take(LISTED_MAX);
    let doubtful =
        doubtful.map(|one| format!("not changed, not sure: {}:{}: {} {}", one.path, one.line, one.why, one.text));
    let mentions = plan.mentions.iter().take(LISTED_MAX);
    let mentions =
        mentions.map(|one| format!("mentioned, not changed: {}:{}: {}", one.path, one.line, one.text.trim()));
    doubtful.chain(mentions).chain(outside.iter().cloned()).map(|line| format!("- {line}\n")).collect()
}
