//! Finds the lines of a text most similar to a passage that was not found.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::time::Duration;

use similar::TextDiff;

use crate::base::cut_line;

const SHOWN_MAX_LINES: usize = 30;
/// Maximum size, in bytes, of texts compared character by character.
const COMPARED_MAX_BYTES: usize = 8 << 10;
const COMPARE_TIME_MAX: Duration = Duration::from_secs(1);
/// Minimum similarity, from 0 to 1, of lines worth showing.
const ALIKE_MIN: f32 = 0.3;

/// The lines of a text most similar to a passage.
#[derive(Clone, Debug, PartialEq)]
pub struct Nearest {
    /// The number of the first line, counted from 1.
    pub first: usize,
    /// As many lines as in the passage.
    pub lines: Vec<String>,
    /// The similarity, from 0 to 1.
    pub alike: f32,
}

/// The message for a passage that was not found in the file `path`.
pub fn said(path: &str, nearest: Option<&Nearest>) -> String {
    let Some(Nearest { first, lines, alike }) = nearest else {
        return format!("`old` was not found in {path}, nor anything like it; read_file shows what is there");
    };
    let (last, percent) = (first + lines.len() - 1, alike * 100.0);
    let mut text =
        format!("`old` was not found in {path}. Nearest passage, lines {first}-{last} ({percent:.0}% alike):\n");
    for (at, line) in lines.iter().enumerate().take(SHOWN_MAX_LINES) {
        text.push_str(&format!("{}| {}\n", first + at, cut_line(line, 300)));
    }
    text + "Copy the passage as it stands there, without the line numbers and with its own backslashes."
}

/// The lines of `content`, as many as `old` has, that share the most words with it. `None` if no
/// lines are similar.
pub fn nearest(content: &str, old: &str) -> Option<Nearest> {
    let lines: Vec<&str> = content.lines().collect();
    let wanted: Vec<&str> = old.trim_matches('\n').lines().collect();
    let height = wanted.len().min(lines.len());
    let words: HashSet<&str> = wanted.iter().flat_map(|line| words_of(line)).collect();
    // Number of shared words up to each line, so that a window's sum is a difference.
    let mut before = vec![0];
    for line in &lines {
        let shared = words_of(line).filter(|word| words.contains(word)).take(50).count();
        before.push(before[before.len() - 1] + shared);
    }
    let starts = 0..=lines.len() - height;
    let at = starts.max_by_key(|at| (before[at + height] - before[*at], Reverse(*at)))?;
    let passage = &lines[at..at + height];
    let head = |lines: &[&str]| {
        let text = lines.join("\n");
        text[..text.floor_char_boundary(COMPARED_MAX_BYTES)].to_owned()
    };
    let (wanted, found) = (head(&wanted), head(passage));
    let alike = TextDiff::configure().timeout(COMPARE_TIME_MAX).diff_chars(wanted.as_str(), found.as_str()).ratio();
    let lines = passage.iter().map(|line| (*line).to_owned()).collect();
    (alike >= ALIKE_MIN).then_some(Nearest { first: at + 1, lines, alike })
}

fn words_of(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_passage_is_found() {
        for (content, old, expected) in [
            ("alpha beta\ngamma delta\nepsilon zeta\n", "gamma delto", Some(2)),
            ("alpha\n", "qqqqqqqqqqq", None),
            ("", "x", None),
            ("one line\n", "one line\nand many\nmore lines", Some(1)),
        ] {
            assert_eq!(nearest(content, old).map(|found| found.first), expected, "{old}");
        }
    }

    #[test]
    fn a_large_file_is_searched_in_bounded_time() {
        let content = "some line of text that repeats\n".repeat(30_000);
        let start = std::time::Instant::now();
        let _ = nearest(&content, &"some line of text which repeats\n".repeat(300));
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    }
}
