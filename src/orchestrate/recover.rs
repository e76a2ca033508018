//! Other ways to do what failed, where code knows some: another file, the tool for what the path is, a search.

use serde_json::{Map, Value};

use crate::base::near::distance;
use crate::tools::confine::{Access, ConfineError};
use crate::tools::search::NOTHING_CALLED;
use crate::tools::{Context, ToolCall};

use super::evidence::Entry;
use super::plan::Step;
use super::toolkit::Toolkit;

/// Shorter names are no evidence for another that is spelled nearly so.
const NAME_CHARS_MIN: usize = 6;
/// From so many letters on two may be wrong, else one, or two that changed places.
const LONG_NAME_CHARS: usize = 9;

/// Calls that may do what `failed` did not, best first, each with the reason: at most two. Only for calls that read:
/// what is changed is what the user named.
pub fn other_ways(failed: &Entry, step: &Step, toolkit: &Toolkit, context: &Context) -> Vec<(ToolCall, String)> {
    if failed.executing {
        return Vec::new();
    }
    let text = |name: &str| failed.arguments.get(name).and_then(Value::as_str);
    let by_path = text("path").and_then(|path| another_path(path, failed, toolkit, context));
    let by_meaning = text("symbol").filter(|_| toolkit.index.is_some()).map(|symbol| {
        let why = match failed.outcome.text.contains(NOTHING_CALLED) {
            true => format!("nothing is called {symbol}"),
            false => format!("{} failed", failed.tool),
        };
        let question = Map::from_iter([("question".to_owned(), Value::String(step.text()))]);
        (ToolCall { tool: "index_search".to_owned(), arguments: question }, format!("{why}; searching by meaning"))
    });
    by_path.into_iter().chain(by_meaning).collect()
}

/// The tool for what the path is, or the path that was meant.
fn another_path(path: &str, failed: &Entry, toolkit: &Toolkit, context: &Context) -> Option<(ToolCall, String)> {
    let call = |tool: &str, path: &str, why: String| {
        let mut arguments = if tool == failed.tool { failed.arguments.clone() } else { Map::new() };
        arguments.insert("path".to_owned(), Value::String(path.to_owned()));
        Some((ToolCall { tool: tool.to_owned(), arguments }, why))
    };
    match context.root.resolve(path, Access::Read) {
        Ok(at) => {
            let at = context.root.path().join(at.relative());
            match failed.tool.as_str() {
                "read_file" if at.is_dir() => call("list_dir", path, format!("{path} is a folder")),
                "list_dir" if at.is_file() => call("read_file", path, format!("{path} is a file")),
                _ => None,
            }
        }
        Err(ConfineError::Missing { .. }) => {
            let (other, why) = like_named(path, toolkit)?;
            call(&failed.tool, &other, format!("{path} does not exist; {other} is {why}"))
        }
        // It is not for want of a file that this path may not be read.
        Err(_) => None,
    }
}

/// The only file of the same name, else the only one in that folder whose name is spelled nearly so.
fn like_named(path: &str, toolkit: &Toolkit) -> Option<(String, &'static str)> {
    let (folder, wanted) = folder_and_name(path.trim_start_matches("./"));
    let index = toolkit.index.as_ref().filter(|_| wanted.contains('.'))?;
    let mut paths = index.paths().ok()?;
    let mut same = paths.iter().filter(|one| folder_and_name(one).1 == wanted);
    match (same.next(), same.next()) {
        (Some(only), None) => return Some((only.clone(), "the only file of that name")),
        (Some(_), Some(_)) => return None,
        (None, _) => {}
    }
    paths.retain(|one| {
        let (beside, name) = folder_and_name(one);
        beside == folder && is_misspelt(wanted, name)
    });
    (paths.len() == 1).then(|| (paths.remove(0), "the only one with nearly that name"))
}

fn folder_and_name(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// Another number is another file.
fn is_misspelt(wanted: &str, name: &str) -> bool {
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    if digits(wanted) != digits(name) {
        return false;
    }
    let letters = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    let long = wanted.chars().count();
    match distance(wanted, name) {
        0 | 1 => long >= NAME_CHARS_MIN,
        2 => long >= LONG_NAME_CHARS || long >= NAME_CHARS_MIN && letters(wanted) == letters(name),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_misspelt_by_a_letter_or_two_that_changed_places() {
        let check = |wanted: &str, name: &str, expected: bool| {
            assert_eq!(is_misspelt(wanted, name), expected, "{wanted} {name}");
        };
        check("retr.ts", "retry.ts", true);
        check("rtery.ts", "retry.ts", true);
        check("konfigg.ts", "config.ts", true);
        check("konfig.ts", "config.ts", true);
        check("settinsg.ts", "settings.ts", true);
        check("fast.ts", "list.ts", false);
        check("todo.ts", "node.ts", false);
        check("a.ts", "b.ts", false);
        check("migration_2.sql", "migration_1.sql", false);
        check("page12.ts", "page21.ts", false);
        check("pgae12.ts", "page12.ts", true);
    }
}
