//! `search_text`: finds lines that contain a text or match a regular expression.

use std::io::Read;
use std::time::{Duration, Instant};

use regex::{Regex, RegexBuilder};

use crate::base::Bytes;
use crate::tools::Context;
use crate::tools::arguments::Arguments;
use crate::tools::confine::Access;
use crate::tools::files::read::is_binary;
use crate::tools::files::walk::{Entry, walk};
use crate::tools::outcome::{Finding, Outcome, cut_line};

const SEARCH_MAX_HITS: usize = 200;
/// Larger files are skipped: they are data rather than written text.
const FILE_MAX_BYTES: u64 = 4 << 20;
/// Longest search; it returns what was found until then.
const TIME_MAX: Duration = Duration::from_secs(20);
const LINE_MAX_CHARS: usize = 300;

pub(in crate::tools) fn run(arguments: Arguments<'_>, context: &Context) -> Result<Outcome, String> {
    let pattern = arguments.text("pattern")?;
    let is_regex = arguments.flag("regex")?;
    let wanted = compile(pattern, is_regex)?;
    let path = arguments.optional_text("path")?.unwrap_or(".");
    let start = context.root.resolve(path, Access::Read).map_err(|e| e.to_string())?;
    let deadline = Instant::now() + TIME_MAX;
    let (mut hits, mut files, mut unread) = (Vec::new(), 0, 0);
    let walked = walk(context, &start, |entry| {
        if hits.len() > SEARCH_MAX_HITS || Instant::now() > deadline {
            return false;
        }
        if entry.is_file {
            match search_file(context, entry, &wanted, &mut hits) {
                Looked::Text => files += 1,
                Looked::NotText => {}
                Looked::Left => unread += 1,
            }
        }
        true
    })?;
    let whole = walked.whole && hits.len() <= SEARCH_MAX_HITS;
    hits.truncate(SEARCH_MAX_HITS);
    let outcome = shown(pattern, is_regex, hits, (files, unread), whole);
    Ok(Outcome { text: outcome.text + &walked.note(), ..outcome })
}

/// A pattern without capital letters ignores case; one capital letter makes case matter.
fn compile(pattern: &str, is_regex: bool) -> Result<Regex, String> {
    if pattern.is_empty() {
        return Err("`pattern` is empty; give the text to look for".to_owned());
    }
    let source = if is_regex { pattern.to_owned() } else { regex::escape(pattern) };
    let any_case = !pattern.chars().any(char::is_uppercase);
    RegexBuilder::new(&source).case_insensitive(any_case).size_limit(4 << 20).dfa_size_limit(4 << 20).build().map_err(
        |error| {
            format!("`{pattern}` is not a regular expression ({error}); leave out `regex` to look for it literally")
        },
    )
}

/// The result of searching a file.
enum Looked {
    Text,
    NotText,
    /// It cannot be read or is too large, so it may contain the text.
    Left,
}

/// Adds the matching lines of a file to `hits`.
fn search_file(context: &Context, entry: &Entry, wanted: &Regex, hits: &mut Vec<Finding>) -> Looked {
    let Ok(file) = context.root.walked(&entry.absolute).open() else { return Looked::Left };
    let mut bytes = Vec::new();
    let is_read = file.take(FILE_MAX_BYTES + 1).read_to_end(&mut bytes).is_ok();
    if is_binary(&bytes) {
        return Looked::NotText;
    }
    if !is_read || bytes.len() as u64 > FILE_MAX_BYTES {
        return Looked::Left;
    }
    let content = String::from_utf8_lossy(&bytes);
    for (at, line) in content.lines().enumerate() {
        if let Some(hit) = wanted.find(line) {
            hits.push(Finding::at(&entry.path, at + 1, window(line, hit.start())));
            if hits.len() > SEARCH_MAX_HITS {
                break;
            }
        }
    }
    Looked::Text
}

/// The line, or the part of a very long one around the hit.
fn window(line: &str, hit: usize) -> String {
    if line.chars().count() <= LINE_MAX_CHARS {
        return line.trim_end().to_owned();
    }
    let from = line.floor_char_boundary(hit.saturating_sub(LINE_MAX_CHARS / 3));
    let before = if from > 0 { "…" } else { "" };
    format!("{before}{}", cut_line(&line[from..], LINE_MAX_CHARS))
}

fn shown(pattern: &str, is_regex: bool, hits: Vec<Finding>, (files, unread): (usize, usize), whole: bool) -> Outcome {
    let cut = if whole { "" } else { " (more left out; give a path or a narrower pattern)" };
    let mut text = format!("{} lines match `{pattern}` in {files} files searched{cut}\n", hits.len());
    for hit in &hits {
        text.push_str(&format!("{}:{}: {}\n", hit.path, hit.line.unwrap_or(0), hit.text.trim()));
    }
    if unread > 0 {
        let most = Bytes(FILE_MAX_BYTES);
        text.push_str(&format!("[{unread} files were not searched: larger than {most}, or they cannot be read]\n"));
    }
    if hits.is_empty() && !is_regex && [".*", ".+", "\\", "|", "^"].iter().any(|sign| pattern.contains(sign)) {
        text.push_str("The pattern was taken literally; with regex = true it is a regular expression.\n");
    }
    Outcome::ok(text).with_findings(hits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::files::walk::testing::{Project, call};

    fn check(arguments: &str, expected: &[&str]) {
        let project = Project::with(&[
            ("src/a.rs", "fn main() {}\nlet total = 3; // Total\n"),
            ("src/b.rs", "total += a[0];\r\n"),
            ("blob.bin", "total\0"),
        ]);
        let outcome = call(run, &project, arguments);
        let lines: Vec<&str> = outcome.text.lines().skip(usize::from(outcome.is_ok())).collect();
        assert_eq!(lines, expected, "{arguments}");
    }

    #[test]
    fn text_is_found_with_its_file_and_line() {
        check(r#"{"pattern":"total"}"#, &["src/a.rs:2: let total = 3; // Total", "src/b.rs:1: total += a[0];"]);
        check(r#"{"pattern":"a[0]"}"#, &["src/b.rs:1: total += a[0];"]);
        check(r#"{"pattern":"Total"}"#, &["src/a.rs:2: let total = 3; // Total"]);
        check(r#"{"pattern":"total","path":"src/b.rs"}"#, &["src/b.rs:1: total += a[0];"]);
        check(r#"{"pattern":"^fn \\w+","regex":true}"#, &["src/a.rs:1: fn main() {}"]);
        let hint = "The pattern was taken literally; with regex = true it is a regular expression.";
        check(r#"{"pattern":"fn .*main"}"#, &[hint]);
        for refused in [r#"{"pattern":""}"#, r#"{"pattern":"(","regex":true}"#, r#"{"pattern":"x","path":"../"}"#] {
            assert!(!call(run, &Project::with(&[]), refused).is_ok(), "{refused}");
        }
    }

    #[test]
    fn a_file_that_was_not_searched_is_told() {
        let large = "x\n".repeat(FILE_MAX_BYTES as usize / 2 + 1);
        let project = Project::with(&[("large.csv", &large), ("small.csv", "y\n"), ("blob", "x\0")]);
        let told = call(run, &project, r#"{"pattern":"x"}"#).text;
        assert!(
            told.starts_with("0 lines match `x` in 1 files") && told.contains("[1 files were not searched"),
            "{told}"
        );
    }

    #[test]
    fn a_file_whose_name_is_not_utf8_is_searched() {
        use std::os::unix::ffi::OsStrExt;
        let project = Project::with(&[("a", "y\n")]);
        std::fs::write(project.dir.path().join(std::ffi::OsStr::from_bytes(b"b\xff")), "needle\n").unwrap();
        let outcome = call(run, &project, r#"{"pattern":"needle"}"#);
        assert_eq!(outcome.findings.len(), 1, "{}", outcome.text);
        assert!(outcome.text.contains("b\u{fffd}:1: needle"), "{}", outcome.text);
    }

    #[test]
    fn hits_are_bounded_and_long_lines_shown_around_the_hit() {
        let project = Project::with(&[
            ("a", &"x\n".repeat(500)),
            ("b", &format!("{}needle{}", "-".repeat(9_000), "-".repeat(9_000))),
        ]);
        assert_eq!(call(run, &project, r#"{"pattern":"x"}"#).findings.len(), SEARCH_MAX_HITS);
        let hit = &call(run, &project, r#"{"pattern":"needle"}"#).findings[0].text;
        assert!(hit.contains("needle") && hit.chars().count() < 310, "{hit}");
    }
}
