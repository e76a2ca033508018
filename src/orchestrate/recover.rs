//! Other ways to do what failed, where code knows some: another file, the tool for what the path is, a search.

use serde_json::{Map, Value};

use crate::base::near::distance;
use crate::tools::confine::Access;
use crate::tools::{Context, ToolCall};

use super::evidence::Entry;
use super::plan::Step;
use super::toolkit::Toolkit;

/// Files of like names that are looked at.
const LIKE_NAMES_MAX: usize = 20;
/// Letters by which a misspelt file name differs from the one that was meant; shorter names are no evidence.
const MISSPELT_MAX: usize = 2;
const NAME_CHARS_MIN: usize = 6;

/// Calls that may do what `failed` did not, best first, each with the reason: at most two. Only for calls that read:
/// what is changed is what the user named.
pub fn other_ways(failed: &Entry, step: &Step, toolkit: &Toolkit, context: &Context) -> Vec<(ToolCall, String)> {
    if failed.executing {
        return Vec::new();
    }
    let text = |name: &str| failed.arguments.get(name).and_then(Value::as_str);
    let call = |tool: &str, arguments| ToolCall { tool: tool.to_owned(), arguments };
    let mut ways = Vec::new();
    if let Some(path) = text("path") {
        let with_path = |tool: &str, path: &str| {
            let mut arguments = if tool == failed.tool { failed.arguments.clone() } else { Map::new() };
            arguments.insert("path".to_owned(), Value::String(path.to_owned()));
            call(tool, arguments)
        };
        let there = context.root.resolve(path, Access::Read).ok().map(|at| context.root.path().join(at.relative()));
        match there.filter(|there| there.exists()) {
            Some(there) if there.is_dir() && failed.tool == "read_file" => {
                ways.push((with_path("list_dir", path), format!("{path} is a folder")));
            }
            Some(there) if there.is_file() && failed.tool == "list_dir" => {
                ways.push((with_path("read_file", path), format!("{path} is a file")));
            }
            Some(_) => {}
            None => ways.extend(like_named(path, toolkit).into_iter().map(|(other, why)| {
                (with_path(&failed.tool, &other), format!("{path} does not exist; {other} is {why}"))
            })),
        }
    }
    if let Some(symbol) = text("symbol").filter(|_| toolkit.index.is_some()) {
        let question = Map::from_iter([("question".to_owned(), Value::String(step.text()))]);
        ways.push((call("index_search", question), format!("nothing is called {symbol}; searching by meaning")));
    }
    ways
}

/// The only file of the same name, else the only one in that folder whose name is spelled nearly so.
fn like_named(path: &str, toolkit: &Toolkit) -> Vec<(String, &'static str)> {
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let wanted = name(path);
    let stem = wanted.split('.').next().unwrap_or_default();
    let Some(index) = toolkit.index.as_ref().filter(|_| wanted.contains('.')) else { return Vec::new() };
    let find = |what: &str| index.find_files(what, LIKE_NAMES_MAX).unwrap_or_default();
    let mut same: Vec<String> = find(&wanted).into_iter().filter(|one| name(one) == wanted).collect();
    same.truncate(2);
    let is_misspelt = |one: &String| {
        let folder = |path: &str| path.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_owned());
        folder(one) == folder(path) && distance(&name(one), &wanted) <= MISSPELT_MAX
    };
    let near: Vec<String> = match wanted.chars().count() >= NAME_CHARS_MIN {
        true => find(stem).into_iter().filter(is_misspelt).collect(),
        false => Vec::new(),
    };
    match (same.as_slice(), near.as_slice()) {
        ([only], _) => vec![(only.clone(), "the only file of that name")],
        ([], [only]) => vec![(only.clone(), "the only one with nearly that name")],
        _ => Vec::new(),
    }
}
