//! Arguments that stand on what was said, tool by tool.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{Earlier, Grounds, Settled, settle};
use crate::tools::ToolSpec;

fn tool(properties: Value, required: &[&str]) -> ToolSpec {
    ToolSpec {
        name: "tool".to_owned(),
        description: String::new(),
        server: String::new(),
        server_description: String::new(),
        mutates: false,
        destructive: false,
        parameters: json!({"type": "object", "properties": properties, "required": required}),
    }
}

fn grounds<'a>(step: &'a str, earlier: &'a [Earlier]) -> Grounds<'a> {
    Grounds { step, request: step, earlier, project_files: None }
}

fn settled(properties: Value, required: &[&str], step: &str, proposed: Value) -> Settled {
    let proposed: Option<Map<String, Value>> = proposed.as_object().cloned();
    settle(&tool(properties, required), &grounds(step, &[]), proposed.as_ref())
}

/// With nothing proposed, the step gives `expected` to a tool with these parameters, all of them required but those in `optional`.
fn check(properties: Value, optional: &[&str], step: &str, expected: Value) {
    let required: Vec<String> =
        properties.as_object().unwrap().keys().filter(|name| !optional.contains(&name.as_str())).cloned().collect();
    let required: Vec<&str> = required.iter().map(String::as_str).collect();
    let seen = settled(properties, &required, step, Value::Null);
    assert_eq!(Value::Object(seen.arguments.clone()), expected, "{step}: {seen:?}");
}

fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

#[test]
fn as_many_numbers_as_parameters_go_in_order() {
    let number = || json!({"type": "number"});
    let three = || json!({"a": number(), "b": number(), "c": number()});
    check(three(), &[], "Solve the equation with coefficients 2, 3 and 7", json!({"a": 2, "b": 3, "c": 7}));
    check(three(), &[], "Solve the equation with coefficients 2 and 3", json!({}));
    check(json!({"day": {"type": "integer", "minimum": 1, "maximum": 7}}), &[], "day 9", json!({}));
    check(json!({"pid": {"type": "integer"}}), &[], "Kill process 4711", json!({"pid": 4711}));
}

#[test]
fn what_is_unmistakable_is_taken_and_the_rest_is_left_to_a_model() {
    let status = || json!({"status": {"type": "string", "enum": ["pending", "done", "late"]}});
    check(status(), &["status"], "List the late ones", json!({"status": "late"}));
    check(status(), &["status"], "List the finished ones", json!({}));
    let search = || json!({"query": text("What to search for"), "path": text("Folder to search")});
    check(
        search(),
        &["path"],
        "Search for \"out of memory\" in src/",
        json!({"query": "out of memory", "path": "src/"}),
    );
    check(search(), &["path"], "Search my notes for anything about the harvest", json!({}));
    check(json!({"url": text("Address")}), &[], "Fetch https://a.org/x", json!({"url": "https://a.org/x"}));
    check(json!({"task_id": text("Task id")}), &[], "Close task id 12", json!({"task_id": "12"}));
    check(json!({"start": text("Start time (ISO 8601)")}), &[], "Book lunch tomorrow", json!({}));
    let replace = json!({"path": text("Path of the file"), "old": text("Text to replace"), "new": text("Replacement")});
    check(replace, &[], "In a.ts replace `foo` with `bar`", json!({"path": "a.ts", "old": "foo", "new": "bar"}));
}

#[test]
fn paths_go_where_the_words_send_them() {
    let one = || json!({"path": text("Path of the file")});
    check(one(), &[], "Read src/models/pull.rs", json!({"path": "src/models/pull.rs"}));
    check(one(), &[], "Show me what is in the src folder", json!({"path": "src"}));
    check(one(), &[], "Delete the file `/tmp/a b.txt`", json!({"path": "/tmp/a b.txt"}));
    let two = || json!({"source": text("File to move, a path"), "destination": text("Path of the destination")});
    check(two(), &[], "Move a.txt to archive/a.txt", json!({"source": "a.txt", "destination": "archive/a.txt"}));
    check(two(), &[], "Copy ~/x.md into ~/notes/", json!({"source": "~/x.md", "destination": "~/notes/"}));
    let compared = json!({"path_a": text("Path of the first document"), "path_b": text("Path of the second document")});
    check(compared, &[], "Compare v1.md with v2.md", json!({"path_a": "v1.md", "path_b": "v2.md"}));
    let many = json!({"paths": {"type": "array", "items": {"type": "string"}, "description": "Paths to merge"}, "output_path": text("Where to save")});
    check(
        many,
        &[],
        "Merge a.pdf, b.pdf and c.pdf into all.pdf",
        json!({"paths": ["a.pdf", "b.pdf", "c.pdf"], "output_path": "all.pdf"}),
    );
    let saved = json!({"path": text("Path of the file"), "output_path": text("Where to save")});
    check(saved, &["output_path"], "Encrypt secret.txt", json!({"path": "secret.txt"}));
}

#[test]
fn contents_are_taken_word_for_word() {
    let write = || json!({"path": text("Path to write"), "content": text("Content to write")});
    check(
        write(),
        &[],
        "Create a file at /tmp/a.txt with the content Good morning",
        json!({"path": "/tmp/a.txt", "content": "Good morning"}),
    );
    check(write(), &[], "Write \"x = 1; y = 2\" to b.py", json!({"path": "b.py", "content": "x = 1; y = 2"}));
    check(
        write(),
        &[],
        "Create notes.md saying that all is well",
        json!({"path": "notes.md", "content": "that all is well"}),
    );
    check(write(), &[], "Create notes.md", json!({"path": "notes.md"}));
    check(
        json!({"content": text("Text to copy")}),
        &[],
        "Copy this to the clipboard: see you at 5",
        json!({"content": "see you at 5"}),
    );
}

#[test]
fn a_command_is_what_stands_behind_run_or_with_or_what_git_shows() {
    let check = |step: &str, expected: Value| check(json!({"command": text("Command line")}), &[], step, expected);
    check("Run cargo test --lib", json!({"command": "cargo test --lib"}));
    check("Run `npm ci`", json!({"command": "npm ci"}));
    check("Run the tests with cargo test", json!({"command": "cargo test"}));
    check("Run the tests using npm run test:unit, please", json!({"command": "npm run test:unit"}));
    check("Run the tests with great care", json!({}));
    check("Run npm start with node 20", json!({"command": "npm start"}));
    check("Run the tests with just one thread", json!({}));
    check("Run the tests with make believe data", json!({}));
    check("Execute ./deploy.sh using bash", json!({"command": "./deploy.sh"}));
    check("Make a dry run with cargo publish --dry-run", json!({"command": "cargo publish --dry-run"}));
    check("Show me the git log", json!({"command": "git log"}));
    check("What is the git status?", json!({"command": "git status"}));
    check("Show the git diff of src/a.rs", json!({"command": "git diff"}));
    check("Show git log --oneline -5 src/a.rs", json!({"command": "git log --oneline -5 src/a.rs"}));
    check("Check git diff HEAD~2, then run the tests", json!({"command": "git diff HEAD~2"}));
    check("Show me where git status is parsed", json!({}));
    check("Show the git log parser", json!({}));
    check("Check that git status is clean", json!({}));
}

#[test]
fn a_proposed_value_stays_only_where_it_was_said() {
    let read = || json!({"path": text("Path of the file"), "encoding": {"type": "string", "default": "utf-8"}});
    let seen = settled(
        read(),
        &["path"],
        "Read a.txt",
        json!({"path": "/path/to/file", "encoding": "latin-1", "colour": "red"}),
    );
    assert_eq!(seen.arguments, *json!({"path": "a.txt"}).as_object().unwrap());
    assert_eq!(seen.notes.len(), 3, "{seen:?}");
    let seen = settled(read(), &["path"], "Read the notes", json!({"path": "<path>"}));
    assert_eq!((seen.arguments.len(), seen.missing.as_slice()), (0, ["path".to_owned()].as_slice()));
    let search = || json!({"query": text("What to search for")});
    let seen =
        settled(search(), &["query"], "Search my notes for messages about the red barn", json!({"query": "red barn"}));
    assert_eq!(seen.arguments["query"], "red barn");
    let seen =
        settled(search(), &["query"], "Search my notes for messages about the red barn", json!({"query": "blue boat"}));
    assert_eq!(seen.missing, ["query"]);
    let seen = settled(json!({"n": {"type": "integer"}}), &["n"], "do it", json!({"n": 7}));
    assert_eq!(seen.missing, ["n"]);
    let seen = settled(json!({"n": {"type": "integer", "default": 3}}), &["n"], "do it", json!({"n": 7}));
    assert_eq!(seen.arguments["n"], 3);
    let seen = settled(
        json!({"note": text("Free text")}),
        &["note"],
        "remember that Bob likes tea",
        json!({"note": "Bob likes tea"}),
    );
    assert_eq!(seen.arguments["note"], "Bob likes tea");
}

#[test]
fn earlier_results_and_the_project_fill_gaps() {
    let earlier = [Earlier { tool: "read".into(), text: "three apples".into(), paths: vec!["notes/apples.md".into()] }];
    let spec = tool(json!({"path": text("Path of the file"), "text": text("Text to translate")}), &["path", "text"]);
    let seen = settle(&spec, &grounds("Translate it", &earlier), None);
    assert_eq!(Value::Object(seen.arguments), json!({"path": "notes/apples.md", "text": "three apples"}));
    let find = |fragment: &str| if fragment == "pull.rs" { vec!["src/models/pull.rs".to_owned()] } else { Vec::new() };
    let spec = tool(json!({"path": text("Path of the file")}), &["path"]);
    let seen = settle(&spec, &Grounds { project_files: Some(&find), ..grounds("Read pull.rs", &[]) }, None);
    assert_eq!(seen.arguments["path"], "src/models/pull.rs");
    let below = |pattern: &str| if pattern == "src/**" { vec!["src/main.rs".to_owned()] } else { Vec::new() };
    let folder = tool(json!({"path": text("Folder, relative to the project")}), &[]);
    let listed = |step| settle(&folder, &Grounds { project_files: Some(&below), ..grounds(step, &[]) }, None).arguments;
    assert_eq!(Value::Object(listed("List the files in src.")), json!({"path": "src"}));
    assert_eq!(Value::Object(listed("List the files in order")), json!({}));
    let seen = settle(&spec, &Grounds { request: "Open a.rs and explain it", ..grounds("Explain it", &[]) }, None);
    assert_eq!(seen.arguments["path"], "a.rs");
}

proptest! {
    #[test]
    fn no_step_makes_it_panic_and_required_ones_are_accounted_for(step in "\\PC{0,80}") {
        let properties = json!({"path": text("Path"), "query": text("Query"), "n": {"type": "integer"}, "when": text("ISO 8601"), "on": {"type": "boolean"}, "to": text("Recipient")});
        let names: Vec<&str> = properties.as_object().unwrap().keys().map(String::as_str).collect();
        let seen = settle(&tool(properties.clone(), &names), &grounds(&step, &[]), None);
        for name in names {
            prop_assert!(seen.arguments.contains_key(name) != seen.missing.iter().any(|one| one == name));
        }
    }

    #[test]
    fn nothing_that_was_not_said_gets_through(word in "[a-z]{5,12}") {
        let step = "Read the notes and tell me more";
        let seen = settled(json!({"topic": text("Any text")}), &["topic"], step, json!({"topic": word.clone()}));
        prop_assert!(step.contains(&word) || seen.arguments.get("topic").is_none_or(|kept| kept != word.as_str()));
    }
}
