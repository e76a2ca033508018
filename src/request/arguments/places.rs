//! Finds where a text occurs in a file, and scores how well a line matches a description.

use crate::edit::is_comment;
use crate::language::words;

/// The byte offsets of `text` in `file` where it is not part of a longer word or number.
pub(super) fn whole(file: &str, text: &str) -> Vec<usize> {
    let Some(first) = text.chars().next() else { return Vec::new() };
    let last = text.chars().next_back().unwrap_or(first);
    let numeric = text.chars().all(|c| c.is_ascii_digit() || c == '.' || c == '-');
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    file.match_indices(text)
        .map(|(at, _)| at)
        .filter(|&at| {
            let before = file[..at].chars().next_back().unwrap_or(' ');
            let mut behind = file[at + text.len()..].chars();
            let after = behind.next().unwrap_or(' ');
            let left = !(inside(first) || numeric) || !(inside(before) || numeric && before == '.');
            let right = if numeric {
                // `5` is in `5u32` and `5s`, not in `50`, `5.5`, `5_000`.
                let goes_on = matches!(after, '.' | '_' | ',') && behind.next().is_some_and(|c| c.is_ascii_digit());
                !(after.is_ascii_digit() || goes_on)
            } else {
                !inside(last) || !inside(after)
            };
            left && right
        })
        .collect()
}

/// The words of an identifier or a phrase, in lower case, without a plural `s`: `maxRetries_left` -> max, retrie, left.
pub(super) fn parts(text: &str) -> Vec<String> {
    let singular = |word: &String| {
        let bare = word.strip_suffix('s').filter(|bare| bare.len() > 2 && !bare.ends_with('s'));
        bare.unwrap_or(word).to_owned()
    };
    words::split(text).iter().map(singular).collect()
}

/// Whether two words mean the same: equal, or with almost the same beginning (`retry`, `retrie`; `max`, `maximum`).
pub(super) fn same(a: &str, b: &str) -> bool {
    let shared = a.chars().zip(b.chars()).take_while(|(x, y)| x == y).count();
    a == b
        || shared >= 4 && shared + 2 >= a.chars().count().min(b.chars().count())
        || shared == 3 && (a == "max" || b == "max" || a == "min" || b == "min")
}

/// Score of line `at` for the words `about`: 2 for each on the line itself, 1 for each in the comment or heading above it.
pub(super) fn answers(lines: &[&str], at: usize, about: &[String]) -> f32 {
    let own = parts(lines[at]);
    let above: Vec<String> = comment_above(lines, at).chain(heading(lines, at)).flat_map(parts).collect();
    let mut score = 0.0;
    for word in about {
        if own.iter().any(|one| same(one, word)) {
            score += 2.0;
        } else if above.iter().any(|one| same(one, word)) {
            score += 1.0;
        }
    }
    score
}

/// Up to three comment lines right above line `at`.
fn comment_above<'a>(lines: &'a [&'a str], at: usize) -> impl Iterator<Item = &'a str> {
    lines[..at].iter().rev().take(3).copied().take_while(|line| is_comment(line) || line.trim_start().starts_with("#["))
}

/// The table or block that a line belongs to (`[planner]`, `"server": {`, `class Pool:`): the nearest line above with less indentation.
fn heading<'a>(lines: &'a [&'a str], at: usize) -> Option<&'a str> {
    /// How far up a heading is looked for, in lines.
    const HEADING_MAX: usize = 60;
    let indent = |line: &str| line.len() - line.trim_start().len();
    let own = indent(lines[at]);
    lines[..at].iter().rev().take(HEADING_MAX).copied().find(|line| {
        !line.trim().is_empty() && (indent(line) < own && !is_comment(line) || own == 0 && line.starts_with('['))
    })
}
