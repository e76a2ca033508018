//! `read_file`: shows lines of one file with their numbers, so that an answer can cite them.

use std::io::Read;

use crate::tools::Context;
use crate::tools::arguments::Arguments;
use crate::tools::confine::{Access, ConfineError};
use crate::tools::outcome::{FINDINGS_MAX, Finding, Outcome, cut_line};
use crate::tools::search::files::similar_paths;

const SCAN_MAX_BYTES: u64 = 16 << 20;
/// Maximum number of paths proposed in place of one that does not exist.
const PROPOSED_MAX: usize = 3;
/// Maximum length of a finding; a minified file can be a single huge line.
const FINDING_MAX_CHARS: usize = 400;
/// Bytes reserved for the notes before and after the lines, excluding the path.
const NOTES_BYTES: usize = 200;

pub(in crate::tools) fn run(arguments: Arguments<'_>, context: &Context) -> Result<Outcome, String> {
    let wanted = arguments.text("path")?;
    let file = context.root.resolve(wanted, Access::Read).map_err(|error| refused(context, wanted, &error))?;
    let path = file.relative();
    if file.is_dir() {
        return Err(format!("`{path}` is a folder; list_dir shows its content"));
    }
    let first = arguments.optional_count("start_line")?.unwrap_or(1).max(1);
    let last = arguments.optional_count("end_line")?.unwrap_or(usize::MAX);
    if last < first {
        return Err(format!("start_line {first} is after end_line {last}"));
    }
    let mut bytes = Vec::new();
    let mut open = file.open().map_err(|e| e.to_string())?.take(SCAN_MAX_BYTES + 1);
    open.read_to_end(&mut bytes).map_err(|e| format!("{path}: {e}"))?;
    let more = bytes.len() as u64 > SCAN_MAX_BYTES;
    bytes.truncate(SCAN_MAX_BYTES as usize);
    if is_binary(&bytes) {
        return Err(format!("{path} is a binary file of {} bytes; only text is read", bytes.len()));
    }
    let content = String::from_utf8_lossy(&bytes);
    show(&path, &content, (first, last), more, context.text_max_bytes)
}

/// The error for `path`, with similar paths of the index if the file does not exist.
fn refused(context: &Context, path: &str, error: &ConfineError) -> String {
    let (ConfineError::Missing { .. }, Some(index)) = (error, &context.index) else { return error.to_string() };
    let near = similar_paths(index, path).unwrap_or_default();
    let near: Vec<String> = near.iter().take(PROPOSED_MAX).map(|path| format!("`{path}`")).collect();
    if near.is_empty() { error.to_string() } else { format!("{error}; {} may be meant", near.join(" or ")) }
}

/// Whether the first 8,000 bytes contain a zero byte, by which git also recognises a binary file.
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(8_000).any(|byte| *byte == 0)
}

/// The lines from `first` to `last`, counted from 1, as far as they fit. `more`: whether the file
/// is longer than `content`.
fn show(
    path: &str,
    content: &str,
    (first, last): (usize, usize),
    more: bool,
    bytes_max: usize,
) -> Result<Outcome, String> {
    let total = content.lines().count();
    let of = if more { format!("over {total}") } else { total.to_string() };
    if total == 0 {
        return Ok(Outcome::ok(format!("{path} is empty")));
    }
    if first > total {
        return Err(format!("{path} has {of} lines; start_line {first} is after its end"));
    }
    let (mut body, mut findings, mut shown_to, mut cut) = (String::new(), Vec::new(), first, None);
    let wanted = last.min(total);
    // Leave room for the notes around the lines.
    let most = bytes_max.saturating_sub(path.len() + NOTES_BYTES);
    for (at, line) in content.lines().enumerate().take(wanted).skip(first - 1) {
        let number = at + 1;
        let numbered = format!("{number}| {line}\n");
        let room = most.saturating_sub(body.len());
        if numbered.len() > room {
            if number == first {
                let end = line.floor_char_boundary(room.saturating_sub(numbered.len() - line.len()));
                body.push_str(&format!("{number}| {}\n", &line[..end]));
                findings.push(Finding::at(path, number, cut_line(line, FINDING_MAX_CHARS)));
                cut = Some(format!("line {number} was cut after {end} of {} bytes", line.len()));
            }
            break;
        }
        body.push_str(&numbered);
        shown_to = number;
        if !line.trim().is_empty() && findings.len() < FINDINGS_MAX {
            findings.push(Finding::at(path, number, cut_line(line, FINDING_MAX_CHARS)));
        }
    }
    let mut text = format!("{path}, lines {first}-{shown_to} of {of}\n{body}");
    let next = (shown_to < wanted).then(|| {
        let next = shown_to + 1;
        format!("lines {next}-{wanted} are left out; start_line = {next} continues")
    });
    for note in cut.into_iter().chain(next) {
        text.push_str(&format!("[{note}]\n"));
    }
    Ok(Outcome::ok(text).with_findings(findings))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::files::walk::testing::{Project, call};
    use crate::tools::outcome::TEXT_MAX_BYTES;

    fn check(content: &str, arguments: &str, expected: &str) {
        let project = Project::with(&[("a.txt", content)]);
        let outcome = call(run, &project, arguments);
        assert_eq!(outcome.text, expected, "{arguments}");
        // Every line that contains text is a finding.
        let filled = expected.lines().skip(1).filter(|line| line.trim_end().split("| ").count() > 1).count();
        assert_eq!(outcome.findings.len(), filled, "{arguments}");
    }

    #[test]
    fn lines_come_with_their_numbers_or_the_reason_why_not() {
        check("one\n\nthree\n", r#"{"path":"a.txt"}"#, "a.txt, lines 1-3 of 3\n1| one\n2| \n3| three\n");
        check("one\r\ntwo", r#"{"path":"a.txt","start_line":2}"#, "a.txt, lines 2-2 of 2\n2| two\n");
        check("1\n2\n3\n", r#"{"path":"a.txt","start_line":2,"end_line":2}"#, "a.txt, lines 2-2 of 3\n2| 2\n");
        check("1\n", r#"{"path":"a.txt","end_line":99}"#, "a.txt, lines 1-1 of 1\n1| 1\n");
        check("", r#"{"path":"a.txt"}"#, "a.txt is empty");
        check("1\n", r#"{"path":"a.txt","start_line":9}"#, "a.txt has 1 lines; start_line 9 is after its end");
        check("1\n", r#"{"path":"a.txt","start_line":3,"end_line":1}"#, "start_line 3 is after end_line 1");
        check("\0\0", r#"{"path":"a.txt"}"#, "a.txt is a binary file of 2 bytes; only text is read");
        check("1", r#"{"path":"."}"#, "`.` is a folder; list_dir shows its content");
        check("1", r#"{"path":7}"#, "argument `path` is 7, not a text");
    }

    #[test]
    fn a_long_file_is_shown_in_parts_that_say_where_to_go_on() {
        let content: String = (1..=50_000).map(|n| format!("{n:09}\n")).collect();
        let mut project = Project::with(&[("a.txt", &content), ("b.txt", &format!("{}\nend\n", "x".repeat(600_000)))]);
        for bytes_max in [TEXT_MAX_BYTES, 4_000] {
            project.context.text_max_bytes = bytes_max;
            let mut next = 1;
            for _ in 0..3 {
                let outcome = call(run, &project, &format!(r#"{{"path":"a.txt","start_line":{next}}}"#));
                assert!(
                    outcome.text.len() <= bytes_max && outcome.text.len() > bytes_max - 300,
                    "{}",
                    outcome.text.len()
                );
                assert!(outcome.text.contains(&format!("\n{next}| {next:09}\n")), "{next}");
                let last = outcome.text.lines().last().unwrap();
                let following: usize = last.split(" = ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
                assert_eq!(last, format!("[lines {following}-50000 are left out; start_line = {following} continues]"));
                assert!(outcome.text.starts_with(&format!("a.txt, lines {next}-{} of 50000\n", following - 1)));
                next = following;
            }
            let outcome = call(run, &project, r#"{"path":"b.txt"}"#);
            assert!(outcome.text.len() <= bytes_max && outcome.text.contains("[line 1 was cut after "), "no note");
            assert!(outcome.text.ends_with(" of 600000 bytes]\n[lines 2-2 are left out; start_line = 2 continues]\n"));
        }
    }
}
