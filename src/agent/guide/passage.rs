//! Splits text without definitions (Markdown, YAML, CSS, …) into passages, so that the model
//! rewrites one and leaves the others unchanged.

mod addition;

use std::collections::HashSet;

use crate::context::lines;
use crate::index::{document_outline, language_of};
use crate::language::words;

pub use addition::{ends_with_list, new_lines};

/// A stretch of lines that belongs together.
#[derive(Clone, Debug, PartialEq)]
pub struct Passage {
    /// First and last line, counted from 1.
    pub lines: (usize, usize),
    /// The title in lists: the passage's heading, key or first words.
    pub title: String,
}

/// The change to a passage, with the index of the passage.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// It is rewritten.
    Change(usize),
    /// A new passage is added after it.
    After(usize),
    /// A few words are added to it, after its entries or its last paragraph; its text is kept.
    Into(usize),
}

/// Maximum length, in lines, of a passage that is rewritten completely; of a longer one, only the
/// part that fits the request is rewritten.
const LINES_MAX: usize = 40;
/// Maximum length of a title, in characters.
const TITLE_CHARS: usize = 60;
/// Maximum number of passages in a file; the last one contains the rest of the file.
pub const PASSAGES_MAX: usize = 60;

/// The passages of a text, in order; together they contain all of its lines.
pub fn passages(path: &str, text: &str) -> Vec<Passage> {
    let lines: Vec<&str> = text.lines().collect();
    let language = language_of(path);
    let is_underlined = has_headings(path, &lines);
    let sections = if language == "markdown" { document_outline(language, text).definitions } else { Vec::new() };
    let mut sections = sections.iter().map(|section| section.start - 1).peekable();
    let mut starts = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let before = at.checked_sub(1).map_or("", |before| lines[before]);
        let top = !line.starts_with([' ', '\t']) && !line.trim().is_empty();
        let is_start = match language {
            "markdown" => sections.next_if_eq(&at).is_some(),
            "yaml" => top && line.contains(':') && !line.starts_with(['#', '-']),
            _ if is_underlined => has_underline(&lines, at),
            _ => top && before.trim().is_empty(),
        };
        if is_start || at == 0 {
            starts.push(at);
        }
    }
    starts.dedup();
    starts.truncate(PASSAGES_MAX);
    let ends = starts.iter().skip(1).copied().chain([lines.len()]);
    let title = |at: usize| words::shorten(lines[at].trim(), TITLE_CHARS);
    starts.iter().zip(ends).map(|(&start, end)| Passage { lines: (start + 1, end), title: title(start) }).collect()
}

/// Whether a text has headings that are underlined, as in reStructuredText.
fn has_headings(path: &str, lines: &[&str]) -> bool {
    let is_of_text = [".rst", ".txt"].iter().any(|ending| path.to_lowercase().ends_with(ending));
    is_of_text && (0..lines.len()).any(|at| has_underline(lines, at))
}

/// Whether a line is a heading: the next line repeats one mark and is at least as long.
fn has_underline(lines: &[&str], at: usize) -> bool {
    const MARKS: &str = "=-~^\"'#*+`:._";
    let title = lines[at].trim_end();
    let is_above = |line: &str| line.trim().is_empty() || is_rule(line, MARKS);
    let begins = at.checked_sub(1).is_none_or(|above| is_above(lines[above]));
    let below = lines.get(at + 1).filter(|below| below.trim_end().len() >= title.len().max(3));
    begins
        && title.starts_with(|first: char| !first.is_whitespace())
        && !is_rule(title, MARKS)
        && below.is_some_and(|below| is_rule(below, MARKS))
}

/// Whether a line consists of one of `marks`, repeated.
fn is_rule(line: &str, marks: &str) -> bool {
    let line = line.trim_end();
    line.chars().next().is_some_and(|first| marks.contains(first) && line.chars().all(|mark| mark == first))
}

/// Minimum ratio of the best score to the second-best for a text to be clearly meant.
const CLEARLY: f64 = 1.3;

/// The index of the text that clearly shares the most words with `wanted`, the stems of a request;
/// words that occur in few texts weigh more. `None` if no text is clearly the best, or if there are
/// fewer than two.
pub fn clearly_meant(all: &[&str], wanted: &HashSet<String>) -> Option<usize> {
    let said: Vec<_> = all.iter().map(|text| words::content(text)).collect();
    let mut scores: Vec<(f64, usize)> = lines::shared(&said, wanted).into_iter().zip(0..).collect();
    scores.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    match scores.as_slice() {
        [(best, at), (next, _), ..] if *best > 0.0 && *best >= CLEARLY * next => Some(*at),
        _ => None,
    }
}

/// The passage of a changelog for a new entry: the first list at or below the unreleased version.
/// `texts` are the texts of the passages. `None` for other files.
pub fn newest(path: &str, all: &[Passage], texts: &[&str]) -> Option<usize> {
    const LOGS: &[&str] = &["changelog", "changes", "history", "news", "releases"];
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let has_list =
        |text: &str| text.lines().any(|line| ["- ", "* ", "+ "].iter().any(|mark| line.trim_start().starts_with(mark)));
    let is_version =
        |title: &str| words::split(title).windows(2).any(|pair| pair.iter().all(|part| part.parse::<u32>().is_ok()));
    let is_next = |one: &Passage| ["unreleased", "next"].iter().any(|word| one.title.to_lowercase().contains(word));
    let from = all.iter().position(is_next);
    let mut after = from.unwrap_or(0)..all.len();
    let end = after.clone().skip(1).find(|at| from.is_some() && is_version(&all[*at].title)).unwrap_or(all.len());
    let list = after.find(|at| *at < end && has_list(texts[*at])).or(from);
    list.filter(|_| LOGS.iter().any(|log| name.starts_with(log)))
}

/// `written` without the lines that follow the passage in the file, since models repeat them.
pub fn own(text: &str, passage: &Passage, written: &str) -> String {
    let mut behind = text.lines().skip(passage.lines.1).filter(|line| !line.trim().is_empty());
    let Some(next) = behind.next() else { return written.to_owned() };
    let lines: Vec<&str> = written.lines().collect();
    // One equal line may be a coincidence; two are not.
    let after = behind.next();
    let at = (1..lines.len()).find(|&at| {
        let following = lines[at + 1..].iter().find(|line| !line.trim().is_empty());
        lines[at] == next && (after.is_none() || following.is_none_or(|line| Some(*line) == after))
    });
    at.map_or(written.to_owned(), |at| lines[..at].join("\n"))
}

/// `passage` itself if it is short, else the window of `LINES_MAX` lines in it that shares the most
/// words with `wanted`, the stems of a request.
pub fn narrowed(text: &str, passage: &Passage, wanted: &HashSet<String>) -> Passage {
    let (first, last) = passage.lines;
    if last + 1 - first <= LINES_MAX {
        return passage.clone();
    }
    let lines: Vec<&str> = text.lines().collect();
    let score = |from: usize| {
        let to = (from + LINES_MAX - 1).min(last);
        let said = words::content(&lines[from - 1..to].join("\n"));
        wanted.iter().filter(|word| said.contains(*word)).count()
    };
    let step = LINES_MAX / 2;
    let windows = (first..=last).step_by(step);
    let best = windows.max_by_key(|&from| (score(from), std::cmp::Reverse(from))).unwrap_or(first);
    Passage { lines: (best, (best + LINES_MAX - 1).min(last)), title: passage.title.clone() }
}

/// The lines of a passage.
pub fn lines_of(text: &str, passage: &Passage) -> String {
    let (first, last) = passage.lines;
    text.lines().skip(first - 1).take(last + 1 - first).collect::<Vec<_>>().join("\n")
}

/// `text` with `written` in place of a passage, or after it. Line endings and the final newline are
/// kept.
pub fn put(text: &str, passage: &Passage, place: Place, written: &str) -> String {
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let (first, last) = passage.lines;
    let begins_blank = lines.get(first - 1).is_some_and(|line| line.trim().is_empty());
    let written = if begins_blank { written } else { written.trim_start_matches(['\r', '\n']) };
    let mut new: Vec<String> = written.trim_end().lines().map(str::to_owned).collect();
    let blank = |line: Option<&String>| line.is_none_or(|line| line.trim().is_empty());
    match place {
        Place::Change(_) => {
            // Blank lines at the end of the passage are kept.
            let old: Vec<String> = lines[first - 1..last].to_vec();
            let blanks = old.iter().rev().take_while(|line| line.trim().is_empty()).count();
            new.extend(std::iter::repeat_n(String::new(), blanks));
            lines.splice(first - 1..last, new);
        }
        Place::After(_) => {
            // The new passage is inserted before the blank lines at the end of this one, with a
            // blank line on both sides.
            let at = (first..=last).rev().find(|&line| !blank(lines.get(line - 1))).unwrap_or(last);
            new.insert(0, String::new());
            if at == last && last < lines.len() {
                new.push(String::new());
            }
            lines.splice(at..at, new);
        }
        Place::Into(_) => addition::insert(&mut lines, (first, last), new),
    }
    let tail = if text.is_empty() || text.ends_with('\n') { end } else { "" };
    format!("{}{tail}", lines.join(end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Text;

    fn titles(path: &str, text: &str) -> Vec<String> {
        passages(path, text).into_iter().map(|passage| passage.title).collect()
    }

    #[test]
    fn a_text_is_split_at_headings_and_keys() {
        assert_eq!(titles("a.md", "# A\n\ntext\n```\n# no\n```\n## B\nmore\n"), ["# A", "## B"]);
        assert_eq!(titles("a.md", "A\n=\n~~~\n# no\n~~~\nB\n-\nmore\n"), ["A", "B"]);
        assert_eq!(titles("a.yml", "on: push\njobs:\n  a: 1\n"), ["on: push", "jobs:"]);
        assert_eq!(titles("a.txt", "one\ntwo\n\nthree\n"), ["one", "three"]);
        assert_eq!(titles("a.rst", "Top\n===\n\ntext\n\nmore\n\nUse it\n------\n\n- one\n--\n"), ["Top", "Use it"]);
        assert_eq!(titles("a.rst", "one\n\ntwo::\n\n  three\n"), ["one", "two::"]);
    }

    fn check(path: &str, text: &str, title: &str, after: bool, written: &str, expected: &str) {
        let all = passages(path, text);
        let at = all.iter().position(|passage| passage.title == title).unwrap();
        let place = if after { Place::After(at) } else { Place::Change(at) };
        assert_eq!(put(text, &all[at], place, written), expected);
    }

    #[test]
    fn only_the_passage_changes() {
        check("a.md", "# A\nx\n\n# B\ny\n", "# A", false, "# A\nz\n", "# A\nz\n\n# B\ny\n");
        check("a.md", "# A\nx\n\n# B\ny\n", "# A", true, "# N\nn\n", "# A\nx\n\n# N\nn\n\n# B\ny\n");
        check("a.md", "# A\r\nx", "# A", true, "# N\nn", "# A\r\nx\r\n\r\n# N\r\nn");
    }

    #[test]
    fn added_words_go_behind_what_the_passage_says() {
        let check = |path: &str, text: &str, written: &str, expected: &str| {
            let all = passages(path, text);
            assert_eq!(put(text, &all[0], Place::Into(0), written), expected);
        };
        check("a.md", "# A\nx\n\n# B\ny\n", "New.", "# A\nx\n\nNew.\n\n# B\ny\n");
        check("a.md", "# A\n# B\n", "New.", "# A\n\nNew.\n\n# B\n");
        check("a.md", "# A\n\n* x\n  y\n* z\n\nEnd.\n", "- n", "# A\n\n* x\n  y\n* z\n* n\n\nEnd.\n");
        check("a.md", "# A\n\n- x\n\n- z\n\n# B\n", "- n", "# A\n\n- x\n\n- z\n\n- n\n\n# B\n");
        check("a.txt", "1.1\n---\n\n- x\n\n\n1.0\n---\n", "- n\n- o", "1.1\n---\n\n- x\n- n\n- o\n\n\n1.0\n---\n");
        check("a.md", "# A\n```\n- x\n```\n", "- n", "# A\n```\n- x\n```\n\n- n\n");
        check("a.md", "# A\r\nx\r\n", "New.", "# A\r\nx\r\n\r\nNew.\r\n");
    }

    #[test]
    fn a_passage_that_a_task_speaks_of_is_found() {
        let text = "name: a\nrequires-python: >= 3.8\nclassifiers:\n  - Python :: 3.8\n";
        let all = passages("a.yml", text);
        let texts: Vec<String> = all.iter().map(|one| lines_of(text, one)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let found = |task: &str| clearly_meant(&texts, &words::content(task)).map(|at| all[at].title.clone());
        assert_eq!(found("raise requires-python to 3.9").as_deref(), Some("requires-python: >= 3.8"));
        assert_eq!(found("take out the classifier for 3.8").as_deref(), Some("classifiers:"));
        assert_eq!(found("something else"), None);
    }

    #[test]
    fn a_passage_is_called_by_its_heading() {
        let text = "# A b\n\nx\n\n# Install\n\ny\n\n## See also\n\nz\n";
        let titles = titles("a.md", text);
        let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
        let called = |task: &str| Text::of(task).heading_among(&titles);
        assert_eq!(called("in the install section say that"), Some(1));
        assert_eq!(called("Add a line under \"See also\""), Some(2));
        assert_eq!(called("put it under the heading Install"), Some(1));
        assert_eq!(called("add a sentence to the section on install"), Some(1));
        assert_eq!(called("the section about the install needs a note"), Some(1));
        assert_eq!((called("install it"), called("a new section about b")), (None, None));
        assert_eq!(called("add to See also that there is a book"), Some(2));
        assert_eq!((called("Install it to Installed"), called("write it in b")), (None, None));
    }

    #[test]
    fn an_entry_of_a_changelog_belongs_to_the_newest_version() {
        let check = |path: &str, text: &str, expected: Option<&str>| {
            let all = passages(path, text);
            let texts: Vec<String> = all.iter().map(|one| lines_of(text, one)).collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let found = newest(path, &all, &texts).map(|at| all[at].title.as_str());
            assert_eq!(found, expected, "{text}");
        };
        check(
            "CHANGES.txt",
            "Log\n\n2.0 (unreleased)\n----------------\n\n- nothing yet\n\n1.9\n---\n\n- old\n",
            Some("2.0 (unreleased)"),
        );
        check("CHANGELOG.md", "# Log\n\n## Unreleased\n\n## 1.9.0\n\n- old\n", Some("## Unreleased"));
        check("CHANGELOG.md", "# Log\n\n## Next\n\n### Added\n\n- new\n\n## 1.9.0\n\n- old\n", Some("### Added"));
        check("HISTORY.rst", "Log\n\n1.9\n---\n\n* old\n", Some("1.9"));
        check("README.md", "# Log\n\n- old\n", None);
    }

    #[test]
    fn lines_after_the_passage_are_not_repeated() {
        let text = "# A\nx\n\n# B\ny\n\n# C\n";
        let passage = Passage { lines: (1, 3), title: "# A".into() };
        assert_eq!(own(text, &passage, "# A\nz\n\n# B\ny\n\n# C"), "# A\nz\n");
        assert_eq!(own(text, &passage, "# A\nz"), "# A\nz");
    }
}
