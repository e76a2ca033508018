//! Reads the project's files for checks, and quotes their paths.

use std::fs;
use std::path::Path;

/// Maximum size, in bytes, of a manifest or test file to read.
const BYTES_MAX: u64 = 1 << 20;

/// A project's folder and its files.
pub struct Files<'a> {
    pub root: &'a Path,
    /// Paths of all files that are not ignored, relative to `root`.
    pub paths: Vec<String>,
}

impl Files<'_> {
    /// Whether a file or folder exists, including ignored ones.
    pub fn has(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }

    /// The text of a file; empty if it is missing, longer than `BYTES_MAX` or not UTF-8.
    pub fn text(&self, path: &str) -> String {
        let path = self.root.join(path);
        let is_small = fs::metadata(&path).is_ok_and(|about| about.is_file() && about.len() <= BYTES_MAX);
        is_small.then(|| fs::read_to_string(&path).ok()).flatten().unwrap_or_default()
    }
}

/// A path quoted as a single shell word.
pub fn quoted(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '@' | '+' | '=' | ',');
    // A name that begins with `-` would be read as an option.
    let path = if path.starts_with('-') { format!("./{path}") } else { path.to_owned() };
    if path.chars().all(plain) { path } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

pub fn all_quoted(paths: &[&str]) -> String {
    paths.iter().map(|path| quoted(path)).collect::<Vec<_>>().join(" ")
}

/// The reason a shell command's program cannot be started in `root`; `None` if the program exists.
pub fn missing_program(root: &Path, line: &str) -> Option<String> {
    let is_assignment =
        |word: &&str| word.split_once('=').is_some_and(|(name, _)| !name.is_empty() && !name.contains('/'));
    let program = line.split_whitespace().find(|word| !is_assignment(word))?;
    if program.contains('/') {
        return (!root.join(program).exists()).then(|| format!("`{program}` does not exist"));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    (!is_there).then(|| format!("`{program}` is not installed"))
}
