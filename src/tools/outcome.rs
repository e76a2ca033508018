//! The result of a tool call: text for the model, findings that an answer can cite, and what was changed.

use crate::base::hex;
use std::path::PathBuf;
use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::protocol::FileChange;

/// Most text of one outcome: what `read_file` may return, and the bound for every other tool.
pub const TEXT_MAX_BYTES: usize = 256 << 10;
/// Most findings of one outcome; the evidence of a turn keeps them all in memory.
pub const FINDINGS_MAX: usize = 5_000;
/// Longest diff; a longer one is cut in the middle.
pub const DIFF_MAX_BYTES: usize = 64 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Ok,
    /// The tool ran and failed, or could not run. Never counted as a success.
    Error,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Relative to the project, with `/`.
    pub path: String,
    /// Counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    pub text: String,
}

impl Finding {
    pub fn at(path: impl Into<String>, line: usize, text: impl Into<String>) -> Finding {
        Finding { path: path.into(), line: Some(line), text: text.into() }
    }

    pub fn file(path: impl Into<String>, text: impl Into<String>) -> Finding {
        Finding { path: path.into(), line: None, text: text.into() }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub status: Status,
    /// What a model reads, at most [`TEXT_MAX_BYTES`] and a note about what was cut.
    pub text: String,
    pub findings: Vec<Finding>,
    /// A unified diff, when the call changed a file.
    pub diff: Option<String>,
    /// The changed files with their full texts, where they are text.
    #[serde(skip)]
    pub changes: Vec<FileChange>,
    /// Files that were written, relative to the project.
    #[serde(serialize_with = "crate::base::all_lossy")]
    pub changed: Vec<PathBuf>,
    /// Number of the checkpoint that was made before the call, or earlier in its turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<i64>,
}

impl Outcome {
    pub fn ok(text: impl Into<String>) -> Outcome {
        Outcome { status: Status::Ok, ..Outcome::error(text) }
    }

    pub fn error(text: impl Into<String>) -> Outcome {
        Outcome {
            status: Status::Error,
            text: cut_middle(text.into(), TEXT_MAX_BYTES),
            findings: Vec::new(),
            diff: None,
            changes: Vec::new(),
            changed: Vec::new(),
            checkpoint: None,
        }
    }

    pub fn with_findings(mut self, mut findings: Vec<Finding>) -> Outcome {
        findings.truncate(FINDINGS_MAX);
        self.findings = findings;
        self
    }

    /// Hexadecimal SHA-256 of the text without a command's duration: equal for equal calls on an unchanged project.
    pub fn fingerprint(&self) -> String {
        static TIMES: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"(?m)^(\[.*) after \d+\.\d s(.*\])$").expect("a pattern"));
        let text = TIMES.replace(&self.text, "$1$2");
        hex(&Sha256::digest(text.as_bytes()))
    }

    pub fn is_ok(&self) -> bool {
        self.status == Status::Ok
    }
}

/// `text` when it fits, else its head and its tail with a note between them that says how much is missing.
pub fn cut_middle(text: String, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text;
    }
    let head = text.floor_char_boundary(bytes_max / 2);
    let tail = text.ceil_char_boundary(text.len() - bytes_max / 2);
    format!("{}\n[… {} bytes left out …]\n{}", &text[..head], tail - head, &text[tail..])
}

/// The first `chars_max` characters, with `…` when something was cut.
pub fn cut_line(line: &str, chars_max: usize) -> String {
    match line.char_indices().nth(chars_max) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_keeps_head_and_tail_and_says_what_is_missing() {
        let cut = cut_middle(format!("start{}end", "ä".repeat(1_000)), 100);
        assert!(cut.starts_with("start") && cut.ends_with("end"), "{cut}");
        assert!(cut.contains("bytes left out") && cut.len() < 150, "{cut}");
    }

    #[test]
    fn the_fingerprint_ignores_how_long_a_command_took() {
        let of = |text: &str| Outcome::ok(text).fingerprint();
        assert_eq!(of("$ ls\n[exit status: 0 after 0.1 s]\na\n"), of("$ ls\n[exit status: 0 after 12.3 s]\na\n"));
        assert_ne!(of("$ ls\n[exit status: 0 after 0.1 s]\na\n"), of("$ ls\n[exit status: 1 after 0.1 s]\na\n"));
    }

    #[test]
    fn lines_are_cut_between_characters() {
        assert_eq!(cut_line("äöü", 2), "äö…");
        assert_eq!(cut_line("äöü", 3), "äöü");
    }
}
