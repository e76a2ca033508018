//! Finds the files that a call names, relative to the project, both as written and with links
//! resolved.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use crate::base::is_listed;
use crate::index::words;
use crate::tools::call::ToolCall;
use crate::tools::shell::Line;
use crate::tools::shell::programs::{is_inert, listed_name};

/// Words in the name of an argument that contains a path.
const NAMES: &str = "path paths file files filename filepath dir directory folder source destination root uri";
/// Maximum number of files checked per call, and maximum depth of its arguments.
const PLACES_MAX: usize = 256;
const DEPTH_MAX: usize = 6;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// As written: `src/a.rs`, `../beside`, `/etc/passwd`.
    pub said: String,
    /// With links resolved; equal to `said` if no project is known.
    pub real: String,
}

pub fn of(call: &ToolCall, project: Option<&Path>) -> Vec<Named> {
    let mut texts = Vec::new();
    call.arguments.iter().for_each(|(name, value)| collect(name, value, 0, &mut texts));
    texts.extend(moved_into(call, project));
    texts.into_iter().map(|text| named(&text, project)).collect()
}

/// The places that a command line may touch.
#[derive(Debug, Default)]
pub struct Touched {
    /// Paths as written in the line.
    pub known: Vec<String>,
    /// The beginnings of paths whose rest is unknown until the line runs.
    pub begun: Vec<String>,
}

/// The paths in a command line. Any word may be a file, and so may its parts: `--file=a`, `-fa`,
/// `HEAD:a`, and the pieces of a text that a program may run. `line` is the parsed `text`.
pub fn of_line(text: &str, line: &Line) -> Touched {
    let mut touched = Touched::default();
    for command in &line.commands {
        let runs = command.words.first().and_then(listed_name).is_none_or(|name| !is_inert(&name) && name != "git");
        let assigned = command.assigned.iter().map(|(_, value)| value);
        for word in command.words.iter().chain(assigned).chain(&command.writes).chain(&command.reads) {
            let Some(text) = word.known() else {
                touched.begun.push(word.start().to_owned());
                // `*.env` also covers names such as `x.env`.
                touched.known.extend(["x", ""].map(|one| word.shown().replace('\u{fffd}', one)));
                continue;
            };
            let parts = text.split(['=', ':']).skip(1).chain(text.get(2..).filter(|_| text.starts_with('-')));
            touched.known.extend(std::iter::once(text).chain(parts).map(str::to_owned));
            if runs {
                touched.known.extend(pieces(text));
            }
        }
    }
    if !line.understood {
        touched.known.extend(pieces(text));
    }
    touched
}

fn pieces(text: &str) -> impl Iterator<Item = String> {
    let pieces = text.split(|c: char| c.is_whitespace() || "'\"`()[]{}<>|&;,=:$\\".contains(c));
    pieces.filter(|piece| !piece.is_empty()).map(str::to_owned)
}

/// The path that `move_file` writes if its destination is a folder: rules apply to it as well as to
/// the folder.
fn moved_into(call: &ToolCall, project: Option<&Path>) -> Option<String> {
    let argument = |name: &str| call.arguments.get(name).and_then(Value::as_str).filter(|_| call.tool == "move_file");
    let (source, destination) = (argument("source")?, argument("destination")?);
    let place = |path: &str| match project {
        Some(project) => resolved(project, Path::new(path)),
        None => lexical(Path::new(path)),
    };
    let is_folder = destination.ends_with('/') || (project.is_some() && place(destination).is_dir());
    let source = place(source);
    let name = source.file_name().filter(|_| is_folder)?;
    Some(Path::new(destination).join(name).to_string_lossy().into_owned())
}

/// Collects the values of arguments whose names suggest a file or folder.
fn collect(name: &str, value: &Value, depth: usize, found: &mut Vec<String>) {
    if depth > DEPTH_MAX || found.len() >= PLACES_MAX {
        return;
    }
    match value {
        Value::String(text) if words::parts(name).iter().any(|part| is_listed(NAMES, part)) => {
            found.push(text.clone());
        }
        Value::Array(all) => all.iter().for_each(|one| collect(name, one, depth + 1, found)),
        Value::Object(all) => all.iter().for_each(|(name, one)| collect(name, one, depth + 1, found)),
        _ => {}
    }
}

/// A path in both forms that rules check: as written, and with links resolved.
pub fn named(text: &str, project: Option<&Path>) -> Named {
    let text = text.strip_prefix("file://").unwrap_or(text);
    let said = lexical(Path::new(text));
    let Some(project) = project else {
        let said = shown(&said);
        return Named { real: said.clone(), said };
    };
    let root = project.canonicalize().unwrap_or_else(|_| project.to_owned());
    let below = |path: &Path| path.strip_prefix(&root).or_else(|_| path.strip_prefix(project)).map(Path::to_owned);
    let real = resolved(&root, Path::new(text));
    let said = if said.is_absolute() { below(&said).unwrap_or(said) } else { said };
    Named { said: shown(&said), real: shown(&below(&real).unwrap_or(real)) }
}

/// The path without `.` and `..`, resolved by names alone.
fn lexical(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if matches!(out.components().next_back(), Some(Component::Normal(_))) => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

/// The path as the system resolves it from `root`: links first, then `..`. Missing parts keep their
/// names.
fn resolved(root: &Path, path: &Path) -> PathBuf {
    let mut at = root.to_owned();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                at.pop();
            }
            other => at.push(other),
        }
        at = at.canonicalize().unwrap_or(at);
    }
    at
}

fn shown(path: &Path) -> String {
    if path.as_os_str().is_empty() { ".".to_owned() } else { path.to_string_lossy().into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_seen_as_written_and_with_links_resolved() {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(project.join("src/deep")).unwrap();
        std::os::unix::fs::symlink("/etc", project.join("out")).unwrap();
        std::os::unix::fs::symlink("src/deep", project.join("in")).unwrap();
        let check = |text: &str, said: &str, real: &str| {
            let expected = Named { said: said.to_owned(), real: real.to_owned() };
            assert_eq!(named(text, Some(&project)), expected, "{text}");
        };
        check("src/./a.rs", "src/a.rs", "src/a.rs");
        check("src/../../x", "../x", &project.parent().unwrap().join("x").display().to_string());
        check(&project.join("src/a").display().to_string(), "src/a", "src/a");
        check("out/passwd", "out/passwd", "/etc/passwd");
        check("in/../b", "b", "src/b");
        check("file:///etc/passwd", "/etc/passwd", "/etc/passwd");
        check("", ".", ".");
    }

    #[test]
    fn a_file_that_is_moved_into_a_folder_is_seen_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().canonicalize().unwrap();
        std::fs::create_dir(project.join("secrets")).unwrap();
        std::fs::write(project.join("a"), "").unwrap();
        std::os::unix::fs::symlink("a", project.join("link")).unwrap();
        let check = |source: &str, destination: &str, expected: &[&str]| {
            let arguments = serde_json::json!({ "source": source, "destination": destination });
            let call = ToolCall { tool: "move_file".into(), arguments: arguments.as_object().unwrap().clone() };
            let real: Vec<String> = of(&call, Some(&project)).into_iter().map(|one| one.real).collect();
            assert_eq!(real.iter().map(String::as_str).collect::<Vec<_>>(), expected, "{source} {destination}");
        };
        check("a", "b", &["a", "b"]);
        check("a", "secrets", &["a", "secrets", "secrets/a"]);
        check("a", "new/", &["a", "new", "new/a"]);
        check("link/", "./secrets/../secrets", &["a", "secrets", "secrets/a"]);
    }

    #[test]
    fn arguments_that_name_files_are_found_however_deep() {
        let arguments = serde_json::json!({ "filePath": "a", "edits": [{ "path": "b" }], "content": "c", "n": 1 });
        let call = ToolCall { tool: "t".into(), arguments: arguments.as_object().unwrap().clone() };
        let said: Vec<String> = of(&call, None).into_iter().map(|one| one.said).collect();
        assert_eq!(said, ["a", "b"]);
    }

    #[test]
    fn arguments_are_followed_to_a_bound() {
        let found = |name: &str, value: Value| {
            let arguments = serde_json::json!({ name: value }).as_object().unwrap().clone();
            of(&ToolCall { tool: "t".into(), arguments }, None).len()
        };
        let lists = |depth: usize| (0..depth).fold(Value::from("a"), |inner, _| Value::Array(vec![inner]));
        assert_eq!((found("path", lists(DEPTH_MAX)), found("path", lists(DEPTH_MAX + 1))), (1, 0));
        let objects = |depth: usize| (0..depth).fold(Value::from("a"), |inner, _| serde_json::json!({ "path": inner }));
        assert_eq!((found("x", objects(DEPTH_MAX)), found("x", objects(DEPTH_MAX + 1))), (1, 0));
        assert_eq!(found("paths", Value::from(vec!["a"; PLACES_MAX + 1])), PLACES_MAX);
    }
}
