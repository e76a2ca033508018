//! `search_text`: finds lines that contain a text or match a regular expression.

use std::io::Read;
use std::time::{Duration, Instant};

use regex::{Regex, RegexBuilder};

use crate::base::Bytes;
use crate::index::is_by_tool;
use crate::index::paths::{Sort, sorts};
use crate::tools::Context;
use crate::tools::arguments::Arguments;
use crate::tools::confine::Access;
use crate::tools::files::read::is_binary;
use crate::tools::files::walk::{Entry, walk};
use crate::tools::outcome::{Finding, Outcome, cut_line};

const SEARCH_MAX_HITS: usize = 200;
/// Maximum number of matching lines counted, and of lines kept until all files have been searched.
const COUNTED_MAX: usize = 100_000;
const KEPT_MAX: usize = 10_000;
/// Larger files are skipped: they are data rather than written text.
const FILE_MAX_BYTES: u64 = 4 << 20;
/// Maximum time of a search; it returns the matches found by then.
const TIME_MAX: Duration = Duration::from_secs(20);
const LINE_MAX_CHARS: usize = 300;
/// Maximum number of files named among those whose matching lines are only counted.
const NAMED_MAX: usize = 40;
/// Minimum number of lines shown from a file before the next file.
const LINES_EACH_MIN: usize = 3;
/// The part of a result reserved for counts and notes is one in this many.
const NOTES_SHARE: usize = 4;
const NOTES_BYTES_MIN: usize = 300;

pub(in crate::tools) fn run(arguments: Arguments<'_>, context: &Context) -> Result<Outcome, String> {
    let pattern = arguments.text("pattern")?;
    let is_regex = arguments.flag("regex")?;
    let wanted = compile(pattern, is_regex)?;
    let path = arguments.optional_text("path")?.unwrap_or(".");
    let start = context.root.resolve(path, Access::Read).map_err(|e| e.to_string())?;
    let deadline = Instant::now() + TIME_MAX;
    let mut found = Found::default();
    let walked = walk(context, &start, |entry| {
        if found.count >= COUNTED_MAX || Instant::now() > deadline {
            return false;
        }
        if entry.is_file {
            found.search(context, entry, &wanted);
        }
        true
    })?;
    let outcome = found.shown(pattern, is_regex, walked.whole, context.text_max_bytes);
    Ok(Outcome { text: outcome.text + &walked.note(), ..outcome })
}

/// Ignores case unless the pattern contains a capital letter.
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

/// The findings of a search so far.
#[derive(Default)]
struct Found {
    files: Vec<Matches>,
    /// Numbers of matching lines, of files searched, and of files skipped because they are
    /// unreadable or too large.
    count: usize,
    searched: usize,
    unread: usize,
    kept: usize,
}

/// The matching lines of a file: all are counted, and the first ones are kept.
struct Matches {
    path: String,
    count: usize,
    lines: Vec<Finding>,
}

impl Found {
    /// Searches one file.
    fn search(&mut self, context: &Context, entry: &Entry, wanted: &Regex) {
        let Ok(file) = context.root.walked(&entry.absolute).open() else {
            self.unread += 1;
            return;
        };
        let mut bytes = Vec::new();
        let is_read = file.take(FILE_MAX_BYTES + 1).read_to_end(&mut bytes).is_ok();
        if is_binary(&bytes) {
            return;
        }
        if !is_read || bytes.len() as u64 > FILE_MAX_BYTES {
            self.unread += 1;
            return;
        }
        self.searched += 1;
        let content = String::from_utf8_lossy(&bytes);
        let mut matches = Matches { path: entry.path.clone(), count: 0, lines: Vec::new() };
        for (at, line) in content.lines().enumerate() {
            let Some(hit) = wanted.find(line) else { continue };
            matches.count += 1;
            if matches.lines.len() < SEARCH_MAX_HITS && self.kept < KEPT_MAX {
                self.kept += 1;
                matches.lines.push(Finding::at(&entry.path, at + 1, window(line, hit.start())));
            }
        }
        self.count += matches.count;
        if matches.count > 0 {
            self.files.push(matches);
        }
    }

    /// The lines by file, starting with files that people write. If there are too many lines, shows
    /// some of each file and counts the others.
    fn shown(mut self, pattern: &str, is_regex: bool, is_whole: bool, bytes_max: usize) -> Outcome {
        self.files.sort_by_key(|file| is_by_tool(&file.path) || is_made(&file.path));
        let room = bytes_max.saturating_sub((bytes_max / NOTES_SHARE).max(NOTES_BYTES_MIN));
        let line = |hit: &Finding| format!("{}:{}: {}\n", hit.path, hit.line.unwrap_or(0), hit.text.trim_end());
        let of_each = SEARCH_MAX_HITS / self.files.len().max(1);
        let of_each = if self.count <= SEARCH_MAX_HITS { SEARCH_MAX_HITS } else { of_each.max(LINES_EACH_MIN) };
        let (mut text, mut shown, mut counted) = (String::new(), Vec::new(), Vec::new());
        for file in self.files {
            let before = shown.len();
            for hit in file.lines.into_iter().take(of_each) {
                let line = line(&hit);
                if shown.len() >= SEARCH_MAX_HITS || text.len() + line.len() > room {
                    break;
                }
                text.push_str(&line);
                shown.push(hit);
            }
            let left = file.count - (shown.len() - before);
            if left > 0 {
                counted.push((file.path, left));
            }
        }
        let left = if counted.is_empty() { String::new() } else { format!(", {} of them shown", shown.len()) };
        let cut = if is_whole { "" } else { "; not every file was searched" };
        let Found { count, searched, unread, .. } = self;
        let mut text = format!("{count} lines match `{pattern}` in {searched} files searched{left}{cut}\n{text}");
        if !counted.is_empty() {
            let named = counted.iter().take(NAMED_MAX).map(|(path, count)| format!("{path} {count}"));
            let named = named.collect::<Vec<_>>().join(", ");
            let others = counted.len().saturating_sub(NAMED_MAX);
            let others = if others > 0 { format!(" and {others} more files") } else { String::new() };
            text.push_str(&format!("[more lines: {named}{others}; give a path or a narrower pattern]\n"));
        }
        if unread > 0 {
            let most = Bytes(FILE_MAX_BYTES);
            text.push_str(&format!("[{unread} files were not searched: larger than {most}, or they cannot be read]\n"));
        }
        if count == 0 && !is_regex && [".*", ".+", "\\", "|", "^"].iter().any(|sign| pattern.contains(sign)) {
            text.push_str("The pattern was taken literally; with regex = true it is a regular expression.\n");
        }
        Outcome::ok(text).with_findings(shown)
    }
}

/// Whether a file is in a folder for build results or third-party code.
fn is_made(path: &str) -> bool {
    sorts(path).iter().any(|sort| matches!(sort, Sort::Built | Sort::Vendored))
}

/// The line or, if it is very long, the part around the hit.
fn window(line: &str, hit: usize) -> String {
    if line.chars().count() <= LINE_MAX_CHARS {
        return line.trim_end().to_owned();
    }
    let from = line.floor_char_boundary(hit.saturating_sub(LINE_MAX_CHARS / 3));
    let before = if from > 0 { "…" } else { "" };
    format!("{before}{}", cut_line(&line[from..], LINE_MAX_CHARS))
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
    fn source_comes_before_what_tools_wrote_and_too_many_lines_are_counted() {
        let lock = "name = \"needle\"\n".repeat(300);
        let project = Project::with(&[
            ("Cargo.lock", &lock),
            ("dist/app.js", "needle()\n"),
            ("src/a.rs", &"needle();\n".repeat(150)),
            ("src/b.rs", "let needle = 1;\n"),
        ]);
        let outcome = call(run, &project, r#"{"pattern":"needle"}"#);
        let first = "452 lines match `needle` in 4 files searched, 102 of them shown\nsrc/a.rs:1: needle();\n";
        assert!(outcome.text.starts_with(first), "{}", outcome.text);
        let mut paths: Vec<&str> = outcome.findings.iter().map(|hit| hit.path.as_str()).collect();
        paths.dedup();
        assert_eq!(paths, ["src/a.rs", "src/b.rs", "Cargo.lock", "dist/app.js"]);
        let counts = "[more lines: src/a.rs 100, Cargo.lock 250; give a path or a narrower pattern]\n";
        assert!(outcome.text.ends_with(counts), "{}", outcome.text);
    }

    #[test]
    fn a_result_keeps_to_its_bytes_by_whole_lines() {
        let mut project = Project::with(&[("a", &"x marks\n".repeat(90)), ("b", "x\n")]);
        project.context.text_max_bytes = 800;
        let text = call(run, &project, r#"{"pattern":"x"}"#).text;
        assert!(
            text.len() <= 800 && text.contains("91 lines match `x` in 2 files searched, 36 of them shown"),
            "{text}"
        );
        assert!(text.lines().skip(1).all(|line| line.starts_with("[more") || line.ends_with(": x marks")), "{text}");
        assert!(text.contains("[more lines: a 54, b 1; give"), "{text}");
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
