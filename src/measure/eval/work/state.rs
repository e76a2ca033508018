//! Copies projects, and finds the changes in a copy and the harmful ones among them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::base::folder;
use crate::index::{is_understood, language_of};

/// Maximum number of files in a project: every case copies the whole project and reads it twice.
const FILES_MAX: usize = 20_000;
/// Maximum total bytes of these files.
const BYTES_MAX: u64 = 4 << 30;
const SMALL: &str = "cases are for small projects that can be read";
/// Texts up to this size are kept in memory, to check whether they still parse.
const TEXT_BYTES_MAX: u64 = 1 << 20;
/// Caches and build outputs; changes in them do not count.
const IGNORED: [&str; 6] = [".git", ".monobloc", "__pycache__", ".pytest_cache", "target", "node_modules"];
/// Prefix of files that the agent aider keeps in a project; changes to them do not count.
const OTHER_AGENT: &str = ".aider";
/// Written by `scripts/fetch-suites`; not part of the project.
const FETCHED: &str = ".fetched";

/// Every file of a project at one moment, by path.
pub struct State(BTreeMap<String, Content>);

#[derive(PartialEq)]
struct Content {
    sha256: Vec<u8>,
    /// `None` if it is larger than [`TEXT_BYTES_MAX`] or not UTF-8.
    text: Option<String>,
}

/// A file that differs between two states.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    pub path: String,
    /// `created`, `changed` or `deleted`.
    pub how: &'static str,
}

/// Copies a project without git history, caches and `target`; installed packages are copied.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    let left_out = |name: &str| [".git", ".monobloc", "__pycache__", "target", FETCHED].contains(&name);
    folder::copy(from, to, FILES_MAX, BYTES_MAX, &left_out).context(SMALL)
}

impl State {
    pub fn of(project: &Path) -> Result<State> {
        let left_out = |name: &str| IGNORED.contains(&name) || name.starts_with(OTHER_AGENT);
        let mut state = BTreeMap::new();
        for path in folder::files(project, FILES_MAX, &left_out).context(SMALL)? {
            // A broken link counts as empty.
            let bytes = fs::read(&path).unwrap_or_default();
            let sha256 = Sha256::digest(&bytes).to_vec();
            let text = String::from_utf8(bytes).ok().filter(|text| text.len() as u64 <= TEXT_BYTES_MAX);
            state.insert(path.strip_prefix(project)?.to_string_lossy().into_owned(), Content { sha256, text });
        }
        Ok(State(state))
    }

    /// The files that differ in `after`, sorted by path.
    pub fn changes(&self, after: &State) -> Vec<Change> {
        let paths: BTreeSet<&String> = self.0.keys().chain(after.0.keys()).collect();
        let change = |path: &String| {
            let how = match (self.0.get(path), after.0.get(path)) {
                (None, Some(_)) => "created",
                (Some(_), None) => "deleted",
                (before, after) if before != after => "changed",
                _ => return None,
            };
            Some(Change { path: path.clone(), how })
        };
        paths.into_iter().filter_map(change).collect()
    }

    /// Messages about harmful `changes`: a changed file that matches none of `touch`, or a file
    /// that no longer parses.
    pub fn harm(&self, after: &State, changes: &[Change], touch: &[String]) -> Vec<String> {
        let message = |change: &Change| {
            let Change { path, how } = change;
            if !touch.iter().any(|glob| matches(glob, path)) {
                return Some(format!("{path} was {how}, which the request does not ask for"));
            }
            let (before, after) = (self.0.get(path), after.0.get(path)?);
            let broken = !after.parses(path) && before.is_none_or(|before| before.parses(path));
            broken.then(|| format!("{path} was {how} and does not parse"))
        };
        changes.iter().filter_map(message).collect()
    }
}

impl Content {
    /// Whether it parses in the language of `path`; true for languages without a parser, large files and binary files.
    fn parses(&self, path: &str) -> bool {
        let Some(text) = &self.text else { return true };
        match language_of(path) {
            "json" => serde_json::from_str::<serde_json::Value>(text).is_ok(),
            "toml" => text.parse::<toml::Table>().is_ok(),
            language => is_understood(language, text) != Some(false),
        }
    }
}

/// Whether `glob` matches `path`; `*` matches any text, including `/`.
fn matches(glob: &str, path: &str) -> bool {
    let mut pieces = glob.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = path.strip_prefix(first) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    for piece in pieces {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_star_matches_any_text() {
        let check = |glob: &str, path: &str, expected: bool| assert_eq!(matches(glob, path), expected, "{glob} {path}");
        check("src/a.py", "src/a.py", true);
        check("src/a.py", "src/a.pyc", false);
        check("src/*", "src/deep/a.py", true);
        check("src/*.py", "src/a.js", false);
        check("*", "anything/at/all", true);
        check("a*a", "a", false);
        check("*/b/*.md", "x/b/c/d.md", true);
        check("", "a", false);
    }

    /// The harm of writing `text` to the file `name` in a small project; the text `!` deletes the
    /// file.
    fn harm(touch: &str, name: &str, text: &str) -> Vec<String> {
        let project = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = project.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("src/a.py", "def a():\n    return 1\n");
        write("old.py", "def old(:\n");
        write("package.json", "{}\n");
        let before = State::of(project.path()).unwrap();
        match text {
            "!" => fs::remove_file(project.path().join(name)).unwrap(),
            text => write(name, text),
        }
        let after = State::of(project.path()).unwrap();
        before.harm(&after, &before.changes(&after), &[touch.to_owned()])
    }

    #[test]
    fn harm_is_what_nobody_asked_for_and_what_no_longer_parses() {
        for (touch, file, text, expected) in [
            ("src/*", "src/a.py", "def a():\n    return 2\n", None),
            ("src/*", "src/a.py", "def a(\n", Some("src/a.py was changed and does not parse")),
            ("*", "src/b.py", "def b(\n", Some("src/b.py was created and does not parse")),
            ("*", "package.json", "{,}", Some("package.json was changed and does not parse")),
            ("*", "old.py", "def older(:\n", None),
            ("", "src/a.py", "!", Some("src/a.py was deleted, which the request does not ask for")),
            ("src/*", "README.md", "x", Some("README.md was created, which the request does not ask for")),
            ("", "target/x", "1", None),
            ("", ".monobloc/y", "1", None),
            ("", "src/__pycache__/a.pyc", "1", None),
            ("", ".aider.tags", "1", None),
        ] {
            assert_eq!(harm(touch, file, text).first().map(String::as_str), expected, "{touch:?} {file}");
        }
    }

    #[test]
    fn a_copy_has_everything_but_git_history_and_caches() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for name in ["a.txt", "node_modules/m.js", ".git/HEAD", ".monobloc/db", ".fetched"] {
            let path = from.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, name).unwrap();
        }
        symlink("a.txt", from.path().join("link")).unwrap();
        copy(from.path(), to.path()).unwrap();
        let there = |name: &str| to.path().join(name).exists();
        assert!(there("a.txt") && there("node_modules/m.js") && there("link"));
        assert!(!there(".git") && !there(".monobloc") && !there(".fetched"));
    }
}
