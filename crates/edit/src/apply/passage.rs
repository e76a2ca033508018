//! Finds the passage of a file that an edit replaces. Different white space is tolerated; for a
//! missing or ambiguous passage the error explains how to correct it.

use std::ops::Range;

use regex::Regex;

use super::indents::Indents;
use super::nearest::nearest;
use super::{Mismatch, WRITE_MAX_BYTES};
use crate::indent::indent;
use crate::text::{Piece, line_of};

/// Maximum number of places listed when the passage is not unique.
const PLACES_MAX: usize = 20;

/// Whether a passage may be replaced in several places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Several {
    Never,
    /// Never. If some matches are on lines of their own, only those count, since `main()` is also
    /// found in `def main():`.
    OnOwnLines,
    /// Not in this call; the message offers `all = true`.
    Offered,
    Wanted,
}

impl Several {
    /// Maximum number of places to search for. If all are replaced, any more would make the file
    /// larger than `WRITE_MAX_BYTES`.
    fn places_max(self, new: &str) -> usize {
        let is_few = matches!(self, Several::Never | Several::Offered);
        if is_few { PLACES_MAX + 1 } else { WRITE_MAX_BYTES / new.len().max(1) + 1 }
    }
}

/// Matches of `old` in `content`, each with its new text, and a note if a difference was tolerated.
/// All texts use line feeds only.
///
/// # Errors
/// `old` is found nowhere, in several places, or only as part of numbers.
pub fn find(
    path: &str,
    content: &str,
    (old, new): (&str, &str),
    several: Several,
) -> Result<(Vec<Piece>, Option<String>), Mismatch> {
    let most = several.places_max(new);
    let all = content.match_indices(old).map(|(at, _)| at..at + old.len());
    let (within, places): (Vec<Range<usize>>, Vec<Range<usize>>) =
        all.take(most).partition(|range| cuts_a_number(content, range));
    if let ([], [first, ..]) = (&places[..], &within[..]) {
        return Err(Mismatch::InNumber { path: path.to_owned(), line: line_of(content, first.start) });
    }
    let alone: Vec<Range<usize>> = places.iter().filter(|place| has_own_lines(content, place)).cloned().collect();
    let places = if several == Several::OnOwnLines && !alone.is_empty() { alone } else { places };
    let exact: Vec<Piece> = places.into_iter().map(|range| Piece { range, new: new.to_owned() }).collect();
    if !exact.is_empty() {
        let left = |places: usize| format!("`old` was left where it begins or ends inside a number ({places} places)");
        let note = (several == Several::Wanted && !within.is_empty()).then(|| left(within.len()));
        return Ok((unique(path, content, exact, several)?, note));
    }
    let by_lines = by_lines(content, old, new, most);
    if !by_lines.is_empty() {
        let pieces = unique(path, content, by_lines, several)?;
        let line = line_of(content, pieces[0].range.start);
        let note = format!("the passage at line {line} was found with other whitespace; the file's own was kept");
        return Ok((pieces, Some(note)));
    }
    let in_lines = within_lines(content, old, new, most);
    if !in_lines.is_empty() {
        let pieces = unique(path, content, in_lines, several)?;
        let line = line_of(content, pieces[0].range.start);
        return Ok((pieces, Some(format!("line {line} was found with other blanks between its words"))));
    }
    Err(Mismatch::Missing { path: path.to_owned(), nearest: nearest(content, old) })
}

/// Returns the pieces if there is one, or if several are allowed.
fn unique(path: &str, content: &str, pieces: Vec<Piece>, several: Several) -> Result<Vec<Piece>, Mismatch> {
    if pieces.len() == 1 || several == Several::Wanted {
        return Ok(pieces);
    }
    let lines = pieces.iter().map(|piece| line_of(content, piece.range.start)).collect();
    Err(Mismatch::Several { path: path.to_owned(), lines, is_offered: several == Several::Offered })
}

/// The message for a passage that begins on several lines.
pub fn said(path: &str, lines: &[usize], is_offered: bool) -> String {
    let more = if lines.len() > PLACES_MAX { " and more" } else { "" };
    let shown: Vec<String> = lines.iter().take(PLACES_MAX).map(usize::to_string).collect();
    let count = if more.is_empty() { lines.len().to_string() } else { format!("over {PLACES_MAX}") };
    let or = if is_offered { ", or give all = true" } else { "" };
    format!(
        "`old` occurs {count} times in {path}, at lines {}{more}; add lines before or after it to say which{or}",
        shown.join(", ")
    )
}

/// Whether a passage starts at the start of a line and ends at the end of a line.
fn has_own_lines(content: &str, range: &Range<usize>) -> bool {
    let (before, behind) = (&content[..range.start], &content[range.end..]);
    (before.is_empty() || before.ends_with('\n')) && (behind.is_empty() || behind.starts_with('\n'))
}

/// Whether a passage starts or ends between two digits, as `limit = 5` does in `limit = 50`.
fn cuts_a_number(content: &str, range: &Range<usize>) -> bool {
    let is_between_digits = |at: usize| {
        let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        is_digit(content[..at].chars().next_back()) && is_digit(content[at..].chars().next())
    };
    is_between_digits(range.start) || is_between_digits(range.end)
}

/// Matches on whole lines that differ from `old` only in indentation and trailing spaces.
fn by_lines(content: &str, old: &str, new: &str, most: usize) -> Vec<Piece> {
    let (mut old, mut new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    if let Some(bare) = without_line_numbers(&old) {
        old = bare;
        new = without_line_numbers(&new).unwrap_or(new);
    }
    drop_blank_ends(&mut old, &mut new);
    if old.is_empty() {
        return Vec::new();
    }
    let lines: Vec<&str> = content.split_inclusive('\n').collect();
    let wanted: Vec<&str> = old.iter().map(|line| line.trim()).collect();
    let trimmed: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    let near = aligned(&old, &new);
    let (mut pieces, mut free, mut start) = (Vec::new(), 0, 0);
    for (at, window) in trimmed.windows(wanted.len()).enumerate() {
        if at >= free && window == wanted {
            let found = &lines[at..at + wanted.len()];
            let is_end = at + wanted.len() == lines.len();
            let new = rewritten(&old, found, &new, &near, is_end);
            pieces.push(Piece { range: start..start + found.iter().map(|line| line.len()).sum::<usize>(), new });
            free = at + wanted.len();
        }
        if pieces.len() >= most {
            break;
        }
        start += lines[at].len();
    }
    pieces
}

/// The lines `new`, re-indented to match the lines `found` for `old`. `is_end` is true if these are
/// the last lines of the file.
fn rewritten(old: &[&str], found: &[&str], new: &[&str], near: &[usize], is_end: bool) -> String {
    let indents = Indents::learn(old, found, new);
    let mut text = String::new();
    for (index, line) in new.iter().enumerate() {
        if !line.trim().is_empty() {
            text.push_str(&indents.translate(indent(line), near[index]));
            text.push_str(line.trim_start());
        }
        // The last line of a file may have no line ending; then neither has the new last line.
        let is_last = is_end && index + 1 == new.len();
        if !is_last || found.last().is_some_and(|last| last.ends_with('\n')) {
            text.push('\n');
        }
    }
    text
}

/// The lines without the number and bar that `read_file` prints before each; `None` if any line
/// lacks them.
fn without_line_numbers<'a>(lines: &[&'a str]) -> Option<Vec<&'a str>> {
    let bare = |line: &&'a str| {
        let (number, rest) = line.trim_start().split_once('|')?;
        let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        is_number.then(|| rest.strip_prefix(' ').unwrap_or(rest))
    };
    lines.iter().map(bare).collect()
}

/// For each new line, the index of the old line that it replaces or follows.
fn aligned(old: &[&str], new: &[&str]) -> Vec<usize> {
    let trimmed = |lines: &[&str]| lines.iter().map(|line| line.trim().to_owned()).collect::<Vec<_>>();
    let ops = similar::capture_diff_slices(similar::Algorithm::Myers, &trimmed(old), &trimmed(new));
    let mut near = vec![0; new.len()];
    for op in ops {
        let (old, new) = (op.old_range(), op.new_range());
        for (offset, index) in new.enumerate() {
            near[index] = (old.start + offset).min(old.end.max(1) - 1);
        }
    }
    near
}

/// Removes the blank lines at both ends of `old`, and for each one a blank line at the same end of
/// `new`, if any.
fn drop_blank_ends(old: &mut Vec<&str>, new: &mut Vec<&str>) {
    let blank = |line: Option<&&str>| line.is_some_and(|line| line.trim().is_empty());
    while blank(old.first()) {
        old.remove(0);
        if blank(new.first()) {
            new.remove(0);
        }
    }
    while blank(old.last()) {
        old.pop();
        if blank(new.last()) {
            new.pop();
        }
    }
}

/// Matches within a line that differ from `old` only in the spaces between words.
fn within_lines(content: &str, old: &str, new: &str, most: usize) -> Vec<Piece> {
    let words: Vec<String> = old.split_whitespace().map(regex::escape).collect();
    // A single word was already searched for exactly; more than 200 words are not on one line.
    if old.trim().contains('\n') || words.len() < 2 || words.len() > 200 {
        return Vec::new();
    }
    let Ok(pattern) = Regex::new(&words.join(r"[ \t]+")) else { return Vec::new() };
    let places = pattern.find_iter(content).map(|place| place.range()).filter(|place| !cuts_a_number(content, place));
    places.take(most).map(|range| Piece { range, new: new.trim().to_owned() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::{Edit, apply};

    fn check(content: &str, old: &str, new: &str, expected: &str) {
        match apply("f", content, &Edit::replace(old, new)) {
            Ok(applied) => assert_eq!(applied.text, expected),
            Err(mismatch) => assert_eq!(mismatch.to_string(), expected),
        }
    }

    #[test]
    fn an_exact_passage_is_replaced() {
        check("a = 5;\nb = 5;\n", "a = 5", "a = 3", "a = 3;\nb = 5;\n");
        check("a\nb\nc\n", "a\nb\n", "", "c\n");
    }

    #[test]
    fn a_passage_that_occurs_twice_is_not_guessed() {
        check(
            "x\ny\nx\n",
            "x",
            "z",
            "`old` occurs 2 times in f, at lines 1, 3; add lines before or after it to say which",
        );
        let drifted = "`old` occurs 2 times in f, at lines 1, 4; add lines before or after it to say which";
        check("  x\n  y\n\n    x\n    y\n", "x\ny", "z", drifted);
    }

    #[test]
    fn a_passage_does_not_end_inside_a_number() {
        let inside = "`old` begins or ends inside a number at line 1 of f; give the whole number";
        check("size = 120\n", "size = 12", "size = 13", inside);
        check("size = 120\n", "20", "30", inside);
        check("size = 12\nwide = 120\n", "= 12", "= 13", "size = 13\nwide = 120\n");
        let nearest = nearest("size  = 120\n", "size = 12");
        let missing = Mismatch::Missing { path: "f".to_owned(), nearest }.to_string();
        check("size  = 120\n", "size = 12", "size = 13", &missing);
        check("size12 = 1\n", "size", "wide", "wide12 = 1\n");
    }

    #[test]
    fn drifted_indentation_is_found_and_the_files_own_is_kept() {
        check(
            "fn a() {\n    if b {\n        c();\n    }\n}\n",
            "if b {\n  c();\n}",
            "if b {\n  d();\n  if e {\n    f();\n  }\n}",
            "fn a() {\n    if b {\n        d();\n        if e {\n            f();\n        }\n    }\n}\n",
        );
        check("a:\n\tb\n\t\tc\n", "    b\n        c", "    b\n        d\n            e", "a:\n\tb\n\t\td\n\t\t\te\n");
        check("x\n  y  \nz\n", "x\ny\nz", "x\nw\nz", "x\n  w\nz\n");
        check("    a\n    b\n", "\n\na\nb\n", "\n\nc\nd\n", "    c\n    d\n");
    }

    #[test]
    fn line_ends_stay_as_they_are() {
        check("a\r\nb\r\nc\r\n", "a\nb", "a\nd", "a\r\nd\r\nc\r\n");
        check("a\r\n  b\r\nc", "a\nb\nc", "a\nd\ne", "a\r\n  d\r\ne");
        check("a\nb\n", "a\r\nb", "c\r\nd", "c\nd\n");
        check("a\r\nb\nc\r\n", "b", "d", "a\r\nd\nc\r\n");
        check("a\r\nb\nc\nd\n", "b\nc", "x\ny", "a\r\nx\ny\nd\n");
        check("a\nb\r\nc\n", "a\nb\nc", "a\nx\nc", "a\nx\r\nc\n");
        check("\u{feff}a = 1\r\nb\n", "a = 1\nb", "a = 2\nb", "\u{feff}a = 2\r\nb\n");
        check("  a\r\n  b\nc\n", "a\nb", "x\ny", "  x\r\n  y\nc\n");
    }

    #[test]
    fn line_numbers_copied_from_read_file_are_dropped() {
        check("a\n  b\nc\n", "2|   b\n3| c", "2|   d\n3| c", "a\n  d\nc\n");
    }

    #[test]
    fn blanks_between_words_may_differ() {
        check("let   a =  5; // five\n", "a = 5;", "a = 3;", "let   a = 3; // five\n");
    }

    #[test]
    fn a_miss_shows_the_nearest_passage() {
        let content = "fn one() {}\n\nfn retry(attempts: u32) {\n    run(attempts);\n}\n";
        let edit = Edit::replace("fn retry(times: u32) {\n    run(times);", "x");
        let mismatch = apply("src/a.rs", content, &edit).unwrap_err();
        let Mismatch::Missing { nearest: Some(nearest), .. } = &mismatch else { panic!("{mismatch:?}") };
        assert_eq!((nearest.first, nearest.lines.len()), (3, 2));
        insta::assert_snapshot!(mismatch, @r"
        `old` was not found in src/a.rs. Nearest passage, lines 3-4 (83% alike):
        3| fn retry(attempts: u32) {
        4|     run(attempts);
        Copy the passage as it stands there, without the line numbers and with its own backslashes.
        ");
    }
}
