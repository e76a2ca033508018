//! Gives each path of a step to the parameter that means it.

use super::said::PathSaid;
use super::wants::{self, Want};
use super::{Grounds, values};
use crate::orchestrate::decompose::names;
use crate::tools::spec::Parameter;

/// The paths for each path parameter, by its name. A list parameter gets all that are left.
pub(super) fn assign(parameters: &[Parameter], said: &[PathSaid]) -> Vec<(String, Vec<String>)> {
    let takers: Vec<(&Parameter, Want)> =
        parameters.iter().filter(|p| values::is_path(p)).map(|p| (p, values::want(p))).collect();
    let mut free: Vec<&PathSaid> = said.iter().collect();
    let mut given: Vec<(String, Vec<String>)> = Vec::new();
    let edits = parameters.iter().any(|parameter| values::want(parameter) == Want::Old);
    let others = takers.iter().any(|(_, want)| *want == Want::Path);
    for (parameter, _) in takers.iter().filter(|(_, want)| *want == Want::Destination) {
        let led = free.iter().rposition(|path| matches!(path.lead.as_str(), "to" | "into" | "onto" | "as"));
        let only = free.iter().rposition(|_| !others || free.len() > 1 && parameter.required);
        if let Some(at) = led.or(only) {
            given.push((parameter.name.to_owned(), vec![free.remove(at).text.clone()]));
        }
    }
    for (parameter, _) in takers.iter().filter(|(_, want)| *want == Want::Path) {
        if parameter.kind() == "array" {
            let all: Vec<String> = free.drain(..).map(|path| path.text.clone()).collect();
            if !all.is_empty() {
                given.push((parameter.name.to_owned(), all));
            }
            continue;
        }
        let words = wants::name_words(parameter.name);
        let folder = words.iter().any(|word| matches!(word.as_str(), "dir" | "directory" | "folder" | "root" | "cwd"))
            || parameter.description().to_lowercase().contains("director");
        // `remove a.json from b.txt`: what an edit is about stands in the file named with `in`, `from` or `of`.
        let held = |lead: &str| free.iter().position(|path| edits && path.lead == lead && is_file(&path.text));
        let place = if folder {
            free.iter().position(|path| !is_file(&path.text))
        } else {
            let within = ["in", "from", "of"].into_iter().find_map(held);
            within.or_else(|| free.iter().position(|path| is_file(&path.text)))
        };
        let optional_folder = !parameter.required && folder;
        let at = if optional_folder { place } else { place.or((!free.is_empty()).then_some(0)) };
        if let Some(at) = at {
            given.push((parameter.name.to_owned(), vec![free.remove(at).text.clone()]));
        }
    }
    given
}

fn is_file(path: &str) -> bool {
    let last = path.trim_end_matches('/').rsplit('/').next().unwrap_or("");
    !path.ends_with('/') && last.contains('.') && !last.starts_with("..") || !last.contains('.') && names::is_path(last)
}

/// The path of the project that `text` means; `text` itself where the project knows none or several.
pub(super) fn resolve(text: &str, grounds: &Grounds, notes: &mut Vec<String>) -> String {
    let whole = text.starts_with(['/', '~']) || names::is_url(text);
    let Some(find) = grounds.project_files.filter(|_| !whole) else { return text.to_owned() };
    let found = find(text);
    if found.iter().any(|path| path == text.trim_start_matches("./")) {
        return text.to_owned();
    }
    match found.as_slice() {
        [only] => {
            notes.push(format!("`{text}` is {only}"));
            only.clone()
        }
        [] => text.to_owned(),
        several => {
            let ends: Vec<&String> = several.iter().filter(|path| path.rsplit('/').next() == Some(text)).collect();
            if let [only] = ends.as_slice() {
                return (*only).clone();
            }
            notes.push(format!(
                "`{text}` could be {} files: {}",
                several.len(),
                several.iter().take(3).cloned().collect::<Vec<_>>().join(", ")
            ));
            text.to_owned()
        }
    }
}
