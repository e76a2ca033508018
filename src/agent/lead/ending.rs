//! Ends a turn that the model led: asks once about open or unchecked work, then adds to the model's
//! words what was changed, run and left undone.

use std::collections::HashSet;

use crate::agent::claims;
use crate::agent::cognitive::Checked;
use crate::agent::evidence::{Entry, Evidence};
use crate::agent::synthesize;
use crate::edit::has_grammar;
use crate::edit::testing::{self, Task};
use crate::language::{grounding, words};
use crate::protocol::Mode;
use crate::tools::builtin::Builtin;
use crate::tools::shell;

use super::{Lead, claimed, report};

/// Maximum number of commands listed, and of listed names that occur in no result.
const COMMANDS_SHOWN: usize = 8;
const MARKS_SHOWN: usize = 8;

/// A reason why a turn is not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// Items of the checklist are open.
    Open(Vec<String>),
    /// Code was changed after the last check. Contains the command that checks it, or the reason
    /// why there is none.
    Check(Result<String, String>),
}

impl Need {
    /// The message to the model; `None` if it cannot do anything about the need.
    fn asked(&self) -> Option<String> {
        match self {
            Need::Open(items) => Some(format!(
                "Open on the checklist: {}. Carry it out, or mark what is done or dropped with `plan`.",
                items.join("; ")
            )),
            Need::Check(Ok(command)) => Some(format!(
                "Code was changed after the last check. Run what shows that it works, for example `{command}`."
            )),
            Need::Check(Err(_)) => None,
        }
    }

    /// The line for the user.
    fn told(&self) -> String {
        match self {
            Need::Open(items) => format!("- needs work: still open: {}", items.join("; ")),
            Need::Check(Ok(command)) => {
                format!("- needs work: not checked after the last change; `{command}` checks it")
            }
            Need::Check(Err(why)) => format!("- not checked after the last change: {why}"),
        }
    }
}

/// The question to the model before its turn ends; `None` if it can do nothing more.
pub fn question(needs: &[Need]) -> Option<String> {
    let asked: Vec<String> = needs.iter().filter_map(Need::asked).collect();
    (!asked.is_empty()).then(|| format!(
        "Before this ends: {} The user has read your words so far; do not repeat them. If something cannot be done, say so in a sentence.",
        asked.join(" ")
    ))
}

impl Lead<'_> {
    /// The reasons why the turn is not done.
    pub(super) fn needs(&self) -> Vec<Need> {
        if self.scene.toolkit.mode == Mode::Chat {
            return Vec::new();
        }
        let open: Vec<String> = self.checklist.open(self.evidence).into_iter().map(str::to_owned).collect();
        let mut needs = Vec::new();
        if !open.is_empty() {
            needs.push(Need::Open(open));
        }
        if is_unchecked(self.evidence) {
            let root = self.scene.context.root.path();
            needs.push(Need::Check(testing::of(root).ready(root, Task::Test)));
        }
        needs
    }

    /// The lines after the model's words: names in them that no result contains, what was changed,
    /// run and refused, and what needs work.
    pub(super) fn facts(&self, said: &str, stopped: Option<&str>) -> Vec<String> {
        let mut facts = Vec::new();
        let unseen = unseen(said, &self.seen());
        if !unseen.is_empty() {
            let named: Vec<String> = unseen.iter().map(|mark| format!("`{mark}`")).collect();
            facts.push(format!("- not seen in any result: {}", named.join(", ")));
        }
        if !self.evidence.entries().iter().any(is_check)
            && let Some(claim) = claimed::of_run(said)
        {
            facts.push(format!("- no command in this turn ran a test or check, so nothing supports this: {claim}"));
        }
        facts.extend(done(self.evidence));
        facts.extend(self.checklist.dropped().map(|item| format!("- dropped: {item}")));
        facts.extend(stopped.map(|why| format!("- needs work: stopped, because {why}")));
        facts.extend(self.needs().iter().map(Need::told));
        facts.extend(report::lack(&self.words).filter(|_| self.scene.toolkit.report));
        facts
    }

    /// The code check of an answer: the share of its sentences without unseen names, times the
    /// completed share of the checklist.
    pub(super) fn checked(&self, words: &str) -> Checked {
        let unseen = unseen(words, &self.seen());
        let sentences = grounding::sentences(words);
        let is_wrong = |sentence: &&String| unseen.iter().any(|mark| sentence.contains(mark.as_str()));
        let wrong = sentences.iter().filter(is_wrong).count() as f64 / sentences.len().max(1) as f64;
        let open = self.checklist.open(self.evidence);
        let all = self.checklist.texts().count().max(1);
        let mut why: Vec<String> = Vec::new();
        if !unseen.is_empty() {
            why.push(format!("no result shows: {}", unseen.join(", ")));
        }
        why.extend(open.iter().map(|item| format!("not done: {item}")));
        let backed = (1.0 - wrong) * (1.0 - open.len() as f64 / all as f64);
        Checked { backed, wrong: why.join("; "), hopeless: false }
    }

    /// Everything that the model was shown or wrote into calls.
    pub(super) fn seen(&self) -> String {
        let mut seen: String = self.evidence.entries().iter().map(seen_of).collect();
        for message in &self.messages {
            if message.speaker != crate::models::dialect::Speaker::Assistant {
                seen.push_str(&message.content);
                seen.push('\n');
            }
        }
        seen
    }
}

fn seen_of(entry: &Entry) -> String {
    let arguments: Vec<String> = entry.arguments.values().map(flat).collect();
    format!("{}\n{}\n", entry.outcome.text, arguments.join("\n"))
}

/// The texts in a value, without JSON syntax.
fn flat(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Array(all) => all.iter().map(flat).collect::<Vec<_>>().join("\n"),
        serde_json::Value::Object(all) => all.values().map(flat).collect::<Vec<_>>().join("\n"),
        other => other.to_string(),
    }
}

/// The changes, commands and refusals, one per line: for the user and, when a conversation is
/// condensed, for the model.
pub fn done(evidence: &Evidence) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut paths: Vec<(&Entry, String, usize)> = Vec::new();
    for entry in evidence.entries().iter().filter(|entry| entry.succeeded()) {
        for path in &entry.outcome.changed {
            let path = path.to_string_lossy().into_owned();
            match paths.iter_mut().find(|(_, known, _)| *known == path) {
                Some((_, _, times)) => *times += 1,
                None => paths.push((entry, path, 1)),
            }
        }
    }
    for (entry, path, times) in &paths {
        let is_only = *times == 1 && entry.outcome.changed.len() == 1;
        lines.push(match is_only {
            true => format!("- {} [{}]", entry.summary(), entry.id),
            false if *times == 1 => format!("- changed {path} [{}]", entry.id),
            false => format!("- changed {path}, {times} times [{} and later]", entry.id),
        });
    }
    let ran = |entry: &&Entry| entry.tool == Builtin::RunCommand.name() && !entry.status.is_refused();
    let mut seen = HashSet::new();
    let commands: Vec<String> = evidence
        .entries()
        .iter()
        .rev()
        .filter(ran)
        .filter(|entry| seen.insert(claims::line_of(entry)))
        .map(claims::of_command)
        .collect();
    let more = commands.len().saturating_sub(COMMANDS_SHOWN);
    if more > 0 {
        lines.push(format!("- and {more} commands before these"));
    }
    lines.extend(commands.into_iter().take(COMMANDS_SHOWN).rev());
    lines.extend(
        evidence
            .entries()
            .iter()
            .filter(|entry| entry.status.is_refused())
            .flat_map(|entry| synthesize::told(entry, true)),
    );
    lines
}

/// Whether code was changed and nothing was run afterwards. A refused command counts as run, since
/// the user does not want it.
fn is_unchecked(evidence: &Evidence) -> bool {
    let is_change = |entry: &Entry| {
        let code = |path: &std::path::PathBuf| has_grammar(&path.to_string_lossy());
        entry.succeeded() && entry.tool != Builtin::RunCommand.name() && entry.outcome.changed.iter().any(code)
    };
    let Some(last) = evidence.entries().iter().rposition(is_change) else { return false };
    !evidence.entries()[last + 1..].iter().any(is_check)
}

/// Whether a call is a command that runs something rather than only reading.
fn is_check(entry: &Entry) -> bool {
    let line = entry.arguments.get("command").and_then(serde_json::Value::as_str).unwrap_or_default();
    entry.tool == Builtin::RunCommand.name() && shell::runs_something(line)
}

/// The numbers, paths and names in an answer that were not shown anywhere. Fenced code is the
/// model's own and is skipped, as are prose words such as `JSON`.
fn unseen(said: &str, seen: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut in_code = false;
    for line in said.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
            continue;
        }
        if in_code {
            continue;
        }
        for mark in words::marks(without_number(line)) {
            let mark = without_lines(&mark).to_owned();
            if is_telling(&mark) && !found.contains(&mark) && !grounding::has_known_marks(&mark, &[seen], seen) {
                found.push(mark);
            }
        }
    }
    found.truncate(MARKS_SHOWN);
    found
}

/// A line of a list without its number.
fn without_number(line: &str) -> &str {
    let rest = line.trim_start().trim_start_matches(['#', '*', '-', '>', ' ']);
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if digits > 0 && rest[digits..].starts_with(['.', ')']) { &rest[digits + 1..] } else { rest }
}

/// `src/a.rs:14-20` without the line numbers, since an answer may name other lines than the first
/// lines of results.
fn without_lines(mark: &str) -> &str {
    let path = mark.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '-' | '–' | ',' | ':'));
    let lines = &mark[path.len()..];
    if lines.starts_with(':') && path.contains(char::is_alphabetic) { path } else { mark }
}

/// Whether a mark carries information about the project: a path, a number of several digits, a name
/// in code.
fn is_telling(mark: &str) -> bool {
    let letters = mark.chars().filter(|c| c.is_alphabetic()).count();
    match letters {
        0 => mark.chars().filter(char::is_ascii_digit).count() > 1,
        _ => {
            mark.contains(['_', '/', '.'])
                || mark.chars().skip(1).any(char::is_uppercase) && mark.chars().any(char::is_lowercase)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::StepId;
    use crate::tools::Outcome;
    use serde_json::json;

    #[test]
    fn names_and_numbers_that_nothing_showed_are_found_and_the_rest_is_left_alone() {
        let seen = "src/a.rs: fn read_all(limit: 40) -> Cache.get";
        let check = |said: &str, expected: &[&str]| assert_eq!(unseen(said, seen), expected, "{said}");
        check("1. `read_all` in src/a.rs reads 40 entries.\n2. JSON and HTTP are formats; I/O is slow.", &["I/O"]);
        check("`write_all` in src/b.rs writes 41 of them.", &["write_all", "src/b.rs", "41"]);
        check("You could write:\n```rust\nfn never_seen() {}\n```\nThat is all.", &[]);
        check("`Cache.get` has 3 callers.", &[]);
        check("It is in src/a.rs:14-20, src/a.rs:7 and src/c.rs:9-11.", &["src/c.rs"]);
    }

    fn entry(tool: &str, arguments: serde_json::Value, changed: &[&str]) -> Entry {
        let arguments = arguments.as_object().cloned().unwrap();
        let outcome = Outcome {
            changed: changed.iter().map(std::path::PathBuf::from).collect(),
            ..Outcome::ok(format!("changed {}", changed.join(" ")))
        };
        Entry { executing: true, ..Entry::looked(StepId(0), tool, arguments, outcome) }
    }

    #[test]
    fn a_change_of_code_is_unchecked_until_something_is_run_that_does_more_than_look() {
        let mut evidence = Evidence::default();
        let mut then = |tool: &str, arguments: serde_json::Value, changed: &[&str]| {
            evidence.add(entry(tool, arguments, changed));
            is_unchecked(&evidence)
        };
        assert!(!then("write_file", json!({ "path": "README.md" }), &["README.md"]));
        assert!(then("write_file", json!({ "path": "a.py" }), &["a.py"]));
        assert!(then("run_command", json!({ "command": "git diff" }), &[]));
        assert!(!then("run_command", json!({ "command": "python -m pytest -q" }), &[]));
        assert!(then("write_file", json!({ "path": "b.py" }), &["b.py"]));
    }

    #[test]
    fn a_file_that_was_changed_several_times_is_told_once() {
        let mut evidence = Evidence::default();
        for _ in 0..3 {
            evidence.add(entry("write_file", json!({ "path": "a.py" }), &["a.py"]));
        }
        evidence.add(entry("run_command", json!({ "command": "make test" }), &[]));
        assert_eq!(done(&evidence), ["- changed a.py, 3 times [e1 and later]", "- $ make test: exit status 0 [e4]"]);
    }
}
