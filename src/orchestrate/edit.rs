//! Finds what a step replaces in a file where the step says it: from what to what, or what is to go. Code alone; no model.

use std::io::Read;

use serde_json::{Map, Value, json};

use crate::tools::Context;
use crate::tools::confine::Access;

use super::arguments::{settle_edit, settle_removal};
use super::words;

/// Largest file that is edited this way.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Characters of a task that are repeated to the user.
const TASK_CHARS: usize = 120;

/// What a step asks for.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// The clause alone: what it takes out is read from nothing else.
    pub clause: &'a str,
    /// With the sentences that say how things are.
    pub whole: &'a str,
}

/// The arguments of a `replace_in_file` call for `task`.
///
/// # Errors
/// Why there are none, and how else to say it.
pub fn arguments(context: &Context, path: &str, task: Task<'_>) -> Result<Map<String, Value>, String> {
    let text = read(context, path)?;
    let edit = match settle_removal(task.clause, path, &text) {
        Some(edit) => edit?,
        None => settle_edit(task.whole, &text).ok_or_else(|| {
            format!(
                "what `{}` changes in {path} cannot be told without a model that writes; say it as `change A to B in {path}`, or get such a \
                 model (scripts/fetch-models)",
                words::shorten(task.whole, TASK_CHARS)
            )
        })?,
    };
    let after = text.replacen(&edit.old, &edit.new, 1);
    let named: Vec<String> =
        task.clause.split_whitespace().map(|word| word.trim_end_matches("()").to_owned()).collect();
    if let Some(problem) = crate::edit::problems(path, &text, &after, &named, &|_| true).first() {
        return Err(format!("{path} is left as it is: {}", problem.message));
    }
    let arguments = json!({ "path": path, "old": edit.old, "new": edit.new });
    Ok(arguments.as_object().cloned().unwrap_or_default())
}

fn read(context: &Context, path: &str) -> Result<String, String> {
    let file = context.root.resolve(path, Access::Read).map_err(|error| error.to_string())?;
    let mut text = String::new();
    let mut open = file.open().map_err(|error| error.to_string())?.take(FILE_BYTES_MAX + 1);
    open.read_to_string(&mut text).map_err(|error| format!("{path}: {error}"))?;
    match text.len() as u64 > FILE_BYTES_MAX {
        true => Err(format!("{path} is larger than {FILE_BYTES_MAX} bytes; change it by naming the exact text")),
        false => Ok(text),
    }
}
