//! Generates the page of requirements from tests/data/requirements.toml, and checks each line of
//! that table against the sources and the program.

use std::collections::BTreeMap;
use std::fs;

use clap::error::ErrorKind;
use serde::Deserialize;

use super::{check, root};

/// The groups of lines: letter, heading, and number of lines, which are numbered from 1.
const GROUPS: [(&str, &str, usize); 14] = [
    ("M", "Models", 13),
    ("V", "Memory", 10),
    ("E", "Engine", 14),
    ("K", "Kernels", 1),
    ("X", "Index", 9),
    ("R", "Retrieval", 4),
    ("T", "Tools", 5),
    ("O", "Turns", 20),
    ("W", "Changes to code", 8),
    ("L", "Loops", 6),
    ("C", "Answers that are judged", 6),
    ("S", "Safety and memory", 6),
    ("U", "Interfaces", 8),
    ("B", "Measuring", 4),
];

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum State {
    Works,
    Partly,
    Missing,
    #[serde(rename = "needs a card")]
    NeedsCard,
}

impl State {
    const ALL: [State; 4] = [State::Works, State::Partly, State::Missing, State::NeedsCard];

    fn name(self) -> &'static str {
        ["works", "partly", "missing", "needs a card"][self as usize]
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    demands: String,
    state: State,
    /// `file::function`.
    tests: Vec<String>,
    /// Empty if no command shows it.
    command: String,
    #[serde(default)]
    missing: String,
}

fn lines() -> BTreeMap<String, Line> {
    let text = fs::read_to_string(root().join("tests/data/requirements.toml")).expect("the table of requirements");
    toml::from_str(&text).unwrap_or_else(|error| panic!("tests/data/requirements.toml: {error}"))
}

/// The lines of a group, in order; a line without a table is left out.
fn of_group<'a>(lines: &'a BTreeMap<String, Line>, letter: &str, count: usize) -> Vec<(String, &'a Line)> {
    let names = (1..=count).map(|number| format!("{letter}{number}"));
    names.filter_map(|name| lines.get(&name).map(|line| (name, line))).collect()
}

#[test]
fn every_line_has_a_table_and_no_other_has_one() {
    let lines = lines();
    let known: Vec<String> = GROUPS
        .iter()
        .flat_map(|(letter, _, count)| (1..=*count).map(move |number| format!("{letter}{number}")))
        .collect();
    let without: Vec<&String> = known.iter().filter(|name| !lines.contains_key(*name)).collect();
    let unknown: Vec<&String> = lines.keys().filter(|name| !known.contains(name)).collect();
    assert!(without.is_empty() && unknown.is_empty(), "without a table: {without:?}; unknown: {unknown:?}");
}

/// Whether `text` has an enabled test of this name.
fn has_test(text: &str, name: &str) -> bool {
    let head = format!("fn {name}(");
    let all: Vec<&str> = text.lines().map(str::trim).collect();
    all.iter()
        .enumerate()
        .filter(|(_, line)| line.starts_with(&head) || line.starts_with(&format!("async {head}")))
        .any(|(at, _)| {
            let above = all[..at].iter().rev().take_while(|line| line.starts_with("#[") || line.starts_with("//"));
            let attributes: Vec<&&str> = above.filter(|line| line.starts_with("#[")).collect();
            let is_test = |line: &str| line.starts_with("#[test]") || line.starts_with("#[tokio::test");
            attributes.iter().any(|line| is_test(line)) && !attributes.iter().any(|line| line.starts_with("#[ignore"))
        })
}

#[test]
fn a_test_is_found_by_its_name_and_its_attribute() {
    const TEXT: &str = "#[test]\nfn one() {\n    two();\n}\n\nfn two() {}\n\n#[tokio::test]\n// Why.\nasync fn three() {}\n\
                        #[test]\n#[ignore]\nfn four() {}\n";
    let found = ["one", "two", "three", "four", "on"].map(|name| has_test(TEXT, name));
    assert_eq!(found, [true, false, true, false, false]);
}

#[test]
fn every_test_that_a_line_names_is_there() {
    let mut wrong = Vec::new();
    for (name, line) in lines() {
        for test in &line.tests {
            let (file, function) = test.split_once("::").unwrap_or((test.as_str(), ""));
            let text = fs::read_to_string(root().join(file)).unwrap_or_default();
            if !has_test(&text, function) {
                wrong.push(format!("{name}: {test}"));
            }
        }
    }
    assert!(wrong.is_empty(), "no such test: {wrong:#?}");
}

/// Whether the program, or a script of the repository, accepts this command line.
fn is_command(line: &str) -> bool {
    let words = shlex::split(line).unwrap_or_default();
    match words.first().map(String::as_str) {
        Some("monobloc") => {
            monobloc::ui::cli::parse(&words).err().is_none_or(|error| error.kind() == ErrorKind::DisplayHelp)
        }
        Some(script) => script.starts_with("./scripts/") && root().join(script).is_file(),
        None => false,
    }
}

#[test]
fn what_works_has_a_test_and_a_command_and_what_does_not_says_what_is_missing() {
    let mut wrong = Vec::new();
    for (name, line) in lines() {
        let works = line.state == State::Works;
        if works && (line.tests.is_empty() || line.command.is_empty()) {
            wrong.push(format!("{name}: it works, so it has a test and a command"));
        }
        if works != line.missing.is_empty() {
            wrong.push(format!("{name}: `missing` is for lines that do not work"));
        }
        if !line.demands.ends_with('.') {
            wrong.push(format!("{name}: `demands` is a sentence"));
        }
        if !line.command.is_empty() && !is_command(&line.command) {
            wrong.push(format!("{name}: the program does not take `{}`", line.command));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A row of the page.
fn row(name: &str, line: &Line) -> String {
    let Line { demands, state, tests, command, missing } = line;
    let command = if command.is_empty() { String::new() } else { format!("`{command}`") };
    let missing = if missing.is_empty() { String::new() } else { format!(": {missing}") };
    let tests: Vec<String> = tests.iter().map(|test| format!("`{test}`")).collect();
    format!("| {name} | {demands} | **{}**{missing} | {command} | {} |\n", state.name(), tests.join("<br>"))
}

fn page() -> String {
    let lines = lines();
    let counted = |of: &[(String, &Line)]| -> String {
        let count = |state: State| of.iter().filter(|(_, line)| line.state == state).count();
        State::ALL.map(|state| format!(" {} |", count(state))).concat()
    };
    let mut page =
        format!("| |{}\n|---|---|---|---|---|\n", State::ALL.map(|state| format!(" {} |", state.name())).concat());
    let mut all = Vec::new();
    for (letter, heading, count) in GROUPS {
        let of = of_group(&lines, letter, count);
        page += &format!("| {letter} {heading} |{}\n", counted(&of));
        all.extend(of);
    }
    page += &format!("| all {} |{}\n", all.len(), counted(&all));
    for (letter, heading, count) in GROUPS {
        page += &format!("\n## {heading}\n\n| | demand | state | see it | tests |\n|---|---|---|---|---|\n");
        for (name, line) in of_group(&lines, letter, count) {
            page += &row(&name, line);
        }
    }
    page
}

#[test]
fn the_page_of_requirements_is_its_table() {
    check("docs/requirements.md", &page());
}
