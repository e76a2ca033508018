//! Checks that the source contains no five consecutive words from a suite's request, so that the
//! suites measure code that was not written for them.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use crate::architecture::source;

/// Number of consecutive words that identify a suite's request.
const RUN: usize = 5;

const SUITES: [&str; 5] = [
    "tests/data/work/seen.jsonl",
    "tests/data/work/more.jsonl",
    "tests/data/work/aside.jsonl",
    "tests/data/work/lead.jsonl",
    "tests/data/requests.jsonl",
];

/// Phrases that anybody writes: common English, a command, and the head of every `Display`.
const ORDINARY: [&str; 7] = [
    "at the end of a",
    "at the top of the",
    "does not fit into memory",
    "nothing was found or done",
    "python3 m unittest tests test",
    "self f mut fmt formatter fmt result",
    "write a test for it in",
];

/// The words of `text` in lower case, each with its line, counted from 1.
fn words(text: &str) -> Vec<(String, usize)> {
    let lines = text.lines().zip(1..);
    let split = |line: &str| line.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase).collect::<Vec<_>>();
    lines
        .flat_map(|(line, at)| split(line).into_iter().filter(|word| !word.is_empty()).map(move |word| (word, at)))
        .collect()
}

/// The runs of [`RUN`] words in `text`, each with the line on which it begins.
fn runs(text: &str) -> Vec<(String, usize)> {
    let words = words(text);
    let run = |part: &[(String, usize)]| part.iter().map(|(word, _)| word.as_str()).collect::<Vec<_>>().join(" ");
    words.windows(RUN).map(|part| (run(part), part[0].1)).collect()
}

fn suite(text: &str) -> Vec<(String, String)> {
    let case = |line: &str| -> (String, String) {
        let case: serde_json::Value = serde_json::from_str(line).expect("a case in JSON");
        let field = |names: [&str; 2]| names.iter().find_map(|name| case[*name].as_str()).expect("a field").to_owned();
        (field(["id", "name"]), field(["request", "prompt"]))
    };
    text.lines().filter(|line| !line.trim().is_empty()).map(case).collect()
}

/// `words of the run [case]` for each line of `text` on which a run of `cases` begins.
fn found(text: &str, cases: &HashMap<String, String>) -> Vec<String> {
    let mut found: Vec<(usize, String)> = Vec::new();
    for (run, line) in runs(text) {
        let Some(case) = cases.get(&run) else { continue };
        let is_ordinary = ORDINARY.iter().any(|phrase| format!(" {phrase} ").contains(&format!(" {run} ")));
        if !is_ordinary && found.last().is_none_or(|(last, _)| *last != line) {
            found.push((line, format!("{line}: {run} [{case}]")));
        }
    }
    found.into_iter().map(|(_, text)| text).collect()
}

#[test]
fn no_request_of_a_suite_stands_in_the_source() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut cases = HashMap::new();
    for file in SUITES {
        for (case, request) in suite(&fs::read_to_string(root.join(file)).expect(file)) {
            cases.extend(runs(&request).into_iter().map(|(run, _)| (run, case.clone())));
        }
    }
    assert!(cases.len() > 2_000, "only {} runs of words were found in the suites", cases.len());
    let places = ["src", "crates"].into_iter().flat_map(source::read).flat_map(|source| {
        let found = found(&source.text, &cases);
        found.into_iter().map(move |place| format!("{}:{place}", source.path))
    });
    let places: Vec<String> = places.collect();
    assert!(places.is_empty(), "say it in other words:\n{}\n{} places", places.join("\n"), places.len());
}

#[test]
fn a_run_is_found_over_marks_and_lines_and_ordinary_words_are_not() {
    let request = "Let the kettle boil twice at the end of a day";
    let cases = runs(request).into_iter().map(|(run, _)| (run, "k".to_owned())).collect();
    assert_eq!(found("a();\n// Let the `kettle`\n// boil twice.", &cases), ["2: let the kettle boil twice [k]"]);
    assert_eq!(found("let the kettle boil; it stands at the end of a line", &cases), [] as [&str; 0]);
}
