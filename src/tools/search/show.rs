//! Shows results in as much detail as their number allows: a few in full, more with signatures,
//! many only by name.

use std::collections::BTreeMap;

use crate::tools::outcome::{Finding, Outcome, cut_line};

/// Maximum number of results shown in full.
const FULL_MAX: usize = 3;
/// Maximum number of results shown with signature and documentation; more are shown by name,
/// grouped by file.
const PREVIEW_MAX: usize = 15;
/// Maximum number of results named; the others are only counted.
const NAMED_MAX: usize = 200;
/// Maximum number of lines per result that are shown and become findings.
const LINES_MAX: usize = 60;
const LINE_CHARS: usize = 200;

#[derive(Clone, Debug, Default)]
pub(super) struct Item {
    pub path: String,
    /// Counted from 1.
    pub line: usize,
    pub name: String,
    /// The kind of the hit and the confidence in it: `function, confidence 0.95`.
    pub about: String,
    /// Lines that introduce it: a signature, the first line of its documentation.
    pub head: Vec<String>,
    /// Its lines, beginning with line `body_start`.
    pub body: String,
    pub body_start: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    Full,
    Preview,
    Fold,
}

impl Detail {
    pub fn of(count: usize) -> Detail {
        match count {
            0..=FULL_MAX => Detail::Full,
            n if n <= PREVIEW_MAX => Detail::Preview,
            _ => Detail::Fold,
        }
    }
}

/// An outcome that begins with `title` and shows `items` in as much detail as their number allows.
/// Each item is a finding.
pub(super) fn outcome(title: &str, items: &[Item], notes: &[String]) -> Outcome {
    let mut text = format!("{title}\n");
    match Detail::of(items.len()) {
        Detail::Fold => fold(items, &mut text),
        detail => items.iter().for_each(|item| one(item, detail, &mut text)),
    }
    notes.iter().for_each(|note| text.push_str(&format!("[{note}]\n")));
    Outcome::ok(text).with_findings(items.iter().flat_map(findings).collect())
}

fn one(item: &Item, detail: Detail, text: &mut String) {
    text.push_str(&format!("{}:{} {} ({})\n", item.path, item.line, item.name, item.about));
    if detail == Detail::Full && !item.body.is_empty() {
        for (at, line) in item.body.lines().enumerate().take(LINES_MAX) {
            text.push_str(&format!("{}| {}\n", item.body_start + at, cut_line(line, LINE_CHARS)));
        }
        let more = item.body.lines().count().saturating_sub(LINES_MAX);
        if more > 0 {
            text.push_str(&format!("[{more} more lines; read_file shows them]\n"));
        }
        return;
    }
    for line in item.head.iter().filter(|line| !line.is_empty()) {
        text.push_str(&format!("    {}\n", cut_line(line, LINE_CHARS)));
    }
}

/// `path: name:line, name:line`, with one line per file.
fn fold(items: &[Item], text: &mut String) {
    let mut files: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for item in items.iter().take(NAMED_MAX) {
        files.entry(&item.path).or_default().push(format!("{}:{}", item.name, item.line));
    }
    for (path, names) in files {
        text.push_str(&format!("{path}: {}\n", names.join(", ")));
    }
    if items.len() > NAMED_MAX {
        text.push_str(&format!("[{} more; narrow the question]\n", items.len() - NAMED_MAX));
    }
}

fn findings(item: &Item) -> Vec<Finding> {
    if item.body.is_empty() {
        let first = item.head.iter().find(|line| !line.is_empty());
        let text = first.map_or_else(|| format!("{} ({})", item.name, item.about), Clone::clone);
        return vec![Finding::at(&item.path, item.line, cut_line(&text, LINE_CHARS))];
    }
    let lines = item.body.lines().enumerate().take(LINES_MAX).filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(at, line)| Finding::at(&item.path, item.body_start + at, cut_line(line, LINE_CHARS))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_results_are_shown_whole_some_by_signature_and_many_by_name() {
        let item = |n: usize| Item {
            path: format!("src/{}.rs", n % 2),
            line: n + 1,
            name: format!("f{n}"),
            about: "function".into(),
            head: vec![format!("fn f{n}()"), String::new()],
            body: format!("fn f{n}() {{\n}}\n"),
            body_start: n + 1,
        };
        for (count, expected) in [
            (0, "title\n"),
            (1, "title\nsrc/0.rs:1 f0 (function)\n1| fn f0() {\n2| }\n"),
            (4, "title\nsrc/0.rs:1 f0 (function)\n    fn f0()\nsrc/1.rs:2 f1 (function)\n"),
            (16, "title\nsrc/0.rs: f0:1, f2:3, f4:5, f6:7, f8:9, f10:11, f12:13, f14:15\nsrc/1.rs: f1:2, f3:4, "),
        ] {
            let outcome = outcome("title", &(0..count).map(item).collect::<Vec<_>>(), &[]);
            assert!(outcome.text.starts_with(expected), "{}", outcome.text);
            assert_eq!(outcome.findings.len(), 2 * count);
        }
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let item = Item { path: "a".into(), body: "x\n".repeat(100), ..Item::default() };
        assert!(
            outcome("t", std::slice::from_ref(&item), &[]).text.ends_with("[40 more lines; read_file shows them]\n")
        );
        assert!(outcome("t", &vec![item; 300], &[]).text.ends_with("[100 more; narrow the question]\n"));
    }
}
