//! Renames a symbol with all its uses, by code: the whole plan is worked out before anything is written.

use serde_json::json;

use crate::edit::rename::{self, Plan, RenameError, Target};
use crate::index::Index;
use crate::orchestrate::evidence::Evidence;
use crate::orchestrate::execute::Scene;
use crate::orchestrate::toolkit::TurnError;
use crate::protocol::StepStatus;
use crate::tools::builtin::Builtin;

use super::context::text_of;
use super::mentions;
use super::read::Step;
use super::{Done, change};

/// Mentions and doubtful places that are told.
const TOLD_MAX: usize = 8;

/// Gives the symbol that `step` names its new name; refuses, with the reason, where that is not sure.
pub async fn rename(scene: Scene<'_>, index: &Index, step: &Step, evidence: &mut Evidence) -> Result<Done, TurnError> {
    let refused = |why: String| Done { notes: vec![format!("not done: {why}")], ..Done::default() };
    let Some((from, to)) = names(index, step) else {
        return Ok(refused(format!("`{}` does not say which name becomes which", step.text)));
    };
    let said = mentions::of(scene.request, index).map_err(|error| TurnError::Lost(error.to_string()))?;
    let (container, name) = match from.rsplit_once(['.', ':']) {
        Some((container, name)) => (Some(container.trim_end_matches(':').to_owned()), name.to_owned()),
        None => (None, from.clone()),
    };
    let file = said.paths.first().filter(|_| said.paths.len() == 1).cloned();
    let read = |path: &str| {
        text_of(scene.context, path).ok_or_else(|| std::io::Error::other("it is no text of at most 1 MiB"))
    };
    let plan = |file: Option<String>| {
        let target = Target { name: name.clone(), file, container: container.clone() };
        rename::plan(index, &read, &target, &to)
    };
    // A file that is named need not be the one of the definition.
    let planned = plan(file.clone()).or_else(|error| if file.is_some() { plan(None) } else { Err(error) });
    let planned = planned.or_else(|error| match &error {
        RenameError::Several { .. } => with_declarations(index, &name, &plan).unwrap_or(Err(error)),
        _ => Err(error),
    });
    match planned {
        Ok(plan) => write(scene, step, &plan, evidence).await,
        Err(error) => Ok(refused(error.to_string())),
    }
}

/// One definition beside declarations of it, `a.js` and `a.d.ts`: both are renamed. `None` if there are several definitions, or a file would be
/// changed by both.
fn with_declarations(
    index: &Index,
    name: &str,
    plan: &dyn Fn(Option<String>) -> Result<Plan, RenameError>,
) -> Option<Result<Plan, RenameError>> {
    let graph = index.graph().ok()?;
    let is_declaration = |path: &str| path.ends_with(".d.ts") || path.ends_with(".pyi");
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

/// The two names of a step: the first is one that the project has, the second is written as a name of its kind is.
fn names(index: &Index, step: &Step) -> Option<(String, String)> {
    let (left, right) = step.text.split_once(" -> ")?;
    let graph = index.graph().ok()?;
    let known = |name: &str| !graph.named(name).is_empty();
    let from = candidates(left).into_iter().filter(|name| known(name)).max_by_key(|name| mentions::is_coined(name))?;
    let to = new_name(right, &from)?;
    Some((from, to.rsplit(['.', ':']).next().unwrap_or(&to).to_owned()))
}

fn candidates(text: &str) -> Vec<String> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.' | ':');
    let words = text.split(|c| !is_name(c)).map(|word| word.trim_matches(['.', ':']).to_owned());
    words.filter(|word| !word.is_empty()).collect()
}

/// The word of `text` that is most like a name in the place of `from`: it is none of the words of a rename, and written in the same style;
/// the last of equals.
fn new_name(text: &str, from: &str) -> Option<String> {
    const WORDS: &[&str] = &[
        "rename",
        "to",
        "it",
        "the",
        "into",
        "as",
        "call",
        "everywhere",
        "in",
        "um",
        "nach",
        "zu",
        "en",
        "a",
        "por",
        "all",
        "of",
    ];
    let style = |name: &str| {
        let bare = name.trim_start_matches('_');
        let upper = bare.chars().next().is_some_and(char::is_uppercase);
        (name.starts_with('_'), upper, bare.contains('_'), bare.chars().any(char::is_lowercase))
    };
    let likeness = |word: &String| (mentions::is_coined(word), style(word) == style(from));
    let words = candidates(text).into_iter();
    words.filter(|word| word != from && !WORDS.contains(&word.to_lowercase().as_str())).max_by_key(likeness)
}

async fn write(scene: Scene<'_>, step: &Step, plan: &Plan, evidence: &mut Evidence) -> Result<Done, TurnError> {
    for edit in &plan.edits {
        let arguments = json!({ "path": edit.path, "content": edit.text_after });
        if change::perform(scene, step, Builtin::WriteFile, arguments, evidence).await? != StepStatus::Succeeded {
            return Ok(Done::default());
        }
    }
    let mut done = Done::default();
    let doubtful =
        plan.doubtful.iter().take(TOLD_MAX).map(|one| format!("not changed, not sure: {}:{}", one.path, one.line));
    let mentions = plan.mentions.iter().take(TOLD_MAX);
    let mentions =
        mentions.map(|one| format!("mentioned, not changed: {}:{}: {}", one.path, one.line, one.text.trim()));
    done.said = doubtful.chain(mentions).map(|line| format!("- {line}\n")).collect();
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_new_name_is_told_from_the_words_around_it() {
        let check = |text: &str, from: &str, expected: &str| {
            assert_eq!(new_name(text, from).as_deref(), Some(expected), "{text}")
        };
        check("rename to _LockMixin everywhere", "_LockedMixin", "_LockMixin");
        check("typeOfValue and update everything", "kindOf", "typeOfValue");
        check("Call it type_tag, in all of src", "get_type", "type_tag");
        check("load", "read", "load");
        assert_eq!(new_name("everywhere", "read"), None);
    }
}
