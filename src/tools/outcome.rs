//! The result of a tool call: text for the model, findings that an answer can cite, and changed
//! files.

pub use crate::base::cut_line;
use crate::base::hex;
use crate::base::pattern::static_regex;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::models::Picture;
use crate::protocol::FileChange;

/// Maximum size of the text of one outcome: the maximum that `read_file` may return, and the limit
/// for every other tool.
pub const TEXT_MAX_BYTES: usize = 256 << 10;
/// Maximum number of findings per outcome; all findings of a turn are kept in memory.
pub const FINDINGS_MAX: usize = 5_000;
/// Maximum size of a diff; a longer one is cut in the middle.
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
    /// The text for the model: at most [`TEXT_MAX_BYTES`], plus a note if something was cut.
    pub text: String,
    pub findings: Vec<Finding>,
    /// A unified diff, if the call changed a file.
    pub diff: Option<String>,
    /// The changed files that are text, with their full texts.
    #[serde(skip)]
    pub changes: Vec<FileChange>,
    /// Pictures in the result that no model has looked at yet.
    #[serde(skip)]
    pub pictures: Vec<Picture>,
    /// Written files, relative to the project.
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
            text: fitted(&text.into(), TEXT_MAX_BYTES, Keep::HeadTail),
            findings: Vec::new(),
            diff: None,
            changes: Vec::new(),
            pictures: Vec::new(),
            changed: Vec::new(),
            checkpoint: None,
        }
    }

    pub fn with_findings(mut self, mut findings: Vec<Finding>) -> Outcome {
        findings.truncate(FINDINGS_MAX);
        self.findings = findings;
        self
    }

    /// Hexadecimal SHA-256 of the text without a command's duration, so that equal calls on an
    /// unchanged project have equal fingerprints.
    pub fn fingerprint(&self) -> String {
        static_regex!(TIMES = r"(?m)^(\[.*) after \d+\.\d s(.*\])$");
        let text = TIMES.replace(&self.text, "$1$2");
        hex(&Sha256::digest(text.as_bytes()))
    }

    pub fn is_ok(&self) -> bool {
        self.status == Status::Ok
    }
}

/// The part of a text that is kept if it is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    Head,
    /// Equal parts of the beginning and the end.
    HeadTail,
}

/// Returns `text` if it fits into `bytes_max`, else whole lines of it and a note with the number of
/// omitted lines. A line is cut only if it is longer than the space on its side, and the note
/// mentions it.
pub fn fitted(text: &str, bytes_max: usize, keep: Keep) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let room = bytes_max.saturating_sub(NOTE_BYTES);
    let head = head_of(text, if keep == Keep::Head { room } else { room / 2 });
    let tail = if keep == Keep::Head { "" } else { tail_of(&text[head.len()..], room / 2) };
    let middle = &text[head.len()..text.len() - tail.len()];
    let is_whole = head.ends_with('\n') && (tail.is_empty() || middle.ends_with('\n'));
    let lines = is_whole.then(|| middle.lines().count());
    joined(head, (lines, middle.len()), tail)
}

/// Bytes reserved for the note between head and tail.
const NOTE_BYTES: usize = 64;

/// Joins head and tail of a text with a note on the omitted part between them: a number of whole
/// lines if known, else of bytes.
pub fn joined(head: &str, (lines, bytes): (Option<usize>, usize), tail: &str) -> String {
    let left = match lines {
        Some(1) => format!("[… 1 line of {bytes} bytes left out …]"),
        Some(lines) => format!("[… {lines} lines left out …]"),
        None => format!("[… {bytes} bytes left out …]"),
    };
    let end = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
    format!("{head}{end}{left}\n{tail}")
}

/// The whole lines at the beginning of `text` that fit into `bytes_max`, or the beginning of a
/// first line that does not fit.
pub fn head_of(text: &str, bytes_max: usize) -> &str {
    let head = &text[..text.floor_char_boundary(bytes_max)];
    if head.len() == text.len() { head } else { head.rfind('\n').map_or(head, |end| &head[..=end]) }
}

/// The whole lines at the end of `text` that fit into `bytes_max`, or the end of a last line that
/// does not fit.
pub fn tail_of(text: &str, bytes_max: usize) -> &str {
    let start = text.ceil_char_boundary(text.len().saturating_sub(bytes_max));
    let tail = &text[start..];
    if start == 0 || text[..start].ends_with('\n') {
        return tail;
    }
    tail.find('\n').filter(|end| end + 1 < tail.len()).map_or(tail, |end| &tail[end + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, bytes_max: usize, keep: Keep, expected: &str) {
        let kept = fitted(text, bytes_max, keep);
        assert_eq!(kept, expected);
        assert!(kept.len() <= bytes_max.max(NOTE_BYTES), "{} of {bytes_max} bytes", kept.len());
    }

    #[test]
    fn long_text_is_cut_between_lines_and_says_how_much_is_missing() {
        let lines: String = (1..=99).map(|n| format!("line {n:02}\n")).collect();
        check(&lines, 99 * 8, Keep::Head, &lines);
        check(&lines, 64 + 20, Keep::Head, "line 01\nline 02\n[… 97 lines left out …]\n");
        check(&lines, 64 + 36, Keep::HeadTail, "line 01\nline 02\n[… 95 lines left out …]\nline 98\nline 99\n");
        check(&lines, 64 + 16, Keep::HeadTail, "line 01\n[… 97 lines left out …]\nline 99\n");
        let long = format!("first\n{}\nlast", "ä".repeat(1_000));
        check(&long, 64 + 20, Keep::HeadTail, "first\n[… 1 line of 2001 bytes left out …]\nlast");
        check(&"ä".repeat(1_000), 64 + 8, Keep::HeadTail, "ää\n[… 1992 bytes left out …]\nää");
        check(&"ä".repeat(1_000), 64 + 8, Keep::Head, "ääää\n[… 1992 bytes left out …]\n");
        check(&lines, 10, Keep::Head, "[… 792 bytes left out …]\n");
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
