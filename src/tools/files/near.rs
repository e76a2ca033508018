//! Explains why a passage was not found: shows the nearest one with line numbers, or finds doubly escaped backslashes.

use std::collections::HashSet;
use std::time::Duration;

use similar::TextDiff;

use crate::tools::outcome::cut_line;

/// Windows of lines that are compared character by character; shared words choose them cheaply.
const CANDIDATES_MAX: usize = 12;
/// Longest passage shown.
const SHOWN_MAX_LINES: usize = 30;
/// Longest text compared character by character.
const COMPARED_MAX_BYTES: usize = 8 << 10;
const COMPARE_TIME_MAX: Duration = Duration::from_millis(100);
/// Least similarity of a passage that is worth showing, from 0 to 1.
const ALIKE_MIN: f32 = 0.3;

/// The error for a passage that is not there.
pub fn miss(path: &str, content: &str, old: &str) -> String {
    if let Some((line, plain)) = over_escaped(content, old) {
        return format!(
            "`old` was not found in {path}, but it is there at line {line} when its backslashes are read once more: \
             they were escaped twice. Write it as it stands in the file:\n{plain}"
        );
    }
    let Some(near) = nearest(content, old) else {
        return format!("`old` was not found in {path}, nor anything like it; read_file shows what is there");
    };
    let mut text = format!(
        "`old` was not found in {path}. Nearest passage, lines {}-{} ({:.0}% alike):\n",
        near.first,
        near.first + near.lines.len() - 1,
        near.alike * 100.0
    );
    for (at, line) in near.lines.iter().take(SHOWN_MAX_LINES).enumerate() {
        text.push_str(&format!("{}| {}\n", near.first + at, cut_line(line, 300)));
    }
    text + "Copy the passage as it stands there, without the line numbers."
}

/// A passage of the file that resembles the one that was not found.
struct Near<'a> {
    /// Counted from 1.
    first: usize,
    lines: Vec<&'a str>,
    alike: f32,
}

/// The passage of as many lines as `old` that is most similar to it; `None` if none is similar.
fn nearest<'a>(content: &'a str, old: &str) -> Option<Near<'a>> {
    let lines: Vec<&str> = content.lines().collect();
    let wanted: Vec<&str> = old.trim_matches('\n').lines().collect();
    let height = wanted.len().clamp(1, lines.len().max(1));
    let words: HashSet<&str> = wanted.iter().flat_map(|line| words_of(line)).collect();
    // Shared words of each line; a window's score is the sum over its lines.
    let shared: Vec<usize> =
        lines.iter().map(|line| words_of(line).filter(|w| words.contains(w)).take(50).count()).collect();
    let mut sum: usize = shared.iter().take(height).sum();
    let mut windows = vec![(sum, 0)];
    for at in 1..(lines.len() + 1).saturating_sub(height) {
        sum = sum + shared[at + height - 1] - shared[at - 1];
        windows.push((sum, at));
    }
    windows.sort_by_key(|(score, at)| (std::cmp::Reverse(*score), *at));
    let wanted_text = head(&wanted.join("\n"));
    let compared = windows.into_iter().take(CANDIDATES_MAX).filter(|_| !lines.is_empty()).map(|(_, at)| {
        let window = &lines[at..at + height];
        let text = head(&window.join("\n"));
        let diff = TextDiff::configure().timeout(COMPARE_TIME_MAX).diff_chars(wanted_text.as_str(), text.as_str());
        Near { first: at + 1, lines: window.to_vec(), alike: diff.ratio() }
    });
    let best = compared.fold(None, |best: Option<Near<'a>>, one| match best {
        Some(best) if best.alike >= one.alike => Some(best),
        _ => Some(one),
    });
    best.filter(|near| near.alike >= ALIKE_MIN)
}

fn words_of(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

fn head(text: &str) -> String {
    text[..text.floor_char_boundary(COMPARED_MAX_BYTES)].to_owned()
}

/// Unescapes `\n`, `\t`, `\"`, `\'` and `\\` in `old`; if the result occurs in the file, its line and that text.
fn over_escaped(content: &str, old: &str) -> Option<(usize, String)> {
    if !old.contains('\\') {
        return None;
    }
    let mut plain = String::with_capacity(old.len());
    let mut rest = old.chars();
    while let Some(c) = rest.next() {
        match (c, rest.clone().next()) {
            ('\\', Some(next @ ('n' | 't' | '"' | '\'' | '\\'))) => {
                rest.next();
                plain.push(match next {
                    'n' => '\n',
                    't' => '\t',
                    other => other,
                });
            }
            _ => plain.push(c),
        }
    }
    let content = content.replace("\r\n", "\n");
    let at = content.find(&plain)?;
    Some((content[..at].matches('\n').count() + 1, plain))
}

/// True when every line begins as `read_file` prints it: a number and a bar.
pub fn has_line_numbers(lines: &[&str]) -> bool {
    !lines.is_empty() && lines.iter().all(|line| without_line_number(line).len() < line.len())
}

/// The line without the number and the bar that `read_file` prints before it.
pub fn without_line_number(line: &str) -> &str {
    match line.trim_start().split_once('|') {
        Some((number, rest)) if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => {
            rest.strip_prefix(' ').unwrap_or(rest)
        }
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(content: &str, old: &str, expected: Option<usize>) {
        assert_eq!(nearest(content, old).map(|near| near.first), expected, "{old}");
    }

    #[test]
    fn the_nearest_passage_is_found() {
        check("alpha beta\ngamma delta\nepsilon zeta\n", "gamma delto", Some(2));
        check("alpha\n", "qqqqqqqqqqq", None);
        check("", "x", None);
        check("one line\n", "one line\nand many\nmore lines", Some(1));
    }

    #[test]
    fn a_large_file_is_searched_in_bounded_time() {
        let content = "some line of text that repeats\n".repeat(30_000);
        let start = std::time::Instant::now();
        miss("f", &content, &"some line of text which repeats\n".repeat(300));
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    }
}
