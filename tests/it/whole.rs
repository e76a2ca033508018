//! A truncated reply neither changes nor runs anything, on every path from a reply to the project.

use std::sync::Arc;

use monobloc::agent::{Toolkit, run_turn};
use monobloc::engine::scripted::Script;
use monobloc::protocol::{Decision, Proposal};
use monobloc::tools::{Catalog, Prefilter, ToolSpec};
use serde_json::json;

use crate::cli::Project;
use crate::scripted::{Witness, indexed, toolkit};

/// Different lines of at least `bytes` bytes in total; a scripted model writes one token per byte.
fn lines(bytes: usize, line: impl Fn(usize) -> String) -> String {
    let mut text = String::new();
    for number in 0.. {
        if text.len() >= bytes {
            break;
        }
        text.push_str(&line(number));
    }
    text
}

/// The answer and the notices of a turn on the project in which no command may run.
async fn told(project: &Project, toolkit: &Toolkit, request: &str) -> String {
    let host = Witness::new(
        |proposal: &Proposal| {
            if proposal.tool == "run_command" { Decision::Reject } else { Decision::Approve }
        },
    );
    let finished = run_turn(toolkit, request, &host).await.expect("a turn");
    let ran = host.reports().into_iter().filter(|report| report.executing && report.tool == "run_command").count();
    assert_eq!(ran, 0, "{:?} {}", host.reports(), project.path().display());
    format!("{}\n{}", finished.answer, host.notices().join("\n"))
}

#[tokio::test]
async fn a_call_of_the_loop_that_is_not_whole_is_not_run_and_the_model_is_told_where_it_was_cut() {
    let long = lines(4_000, |number| format!("line {number} of the new text\\n"));
    let json =
        |text: &str| format!(r#"{{"name": "write_file", "arguments": {{"path": "src/retry.ts", "content": "{text}"#);
    let bracket = |text: &str| format!(r#"[write_file(path="src/retry.ts", content="{text}"#);
    let cut_replies = [json(&long), bracket(&long), format!(r#"{}")] and then {long}"#, bracket("whole"))];
    // These end by themselves, but not in the way that calls end.
    let open_replies = [
        json("a few words"),
        bracket("a few words"),
        r#"I call write_file with path: "src/retry.ts" and content: "a few words""#.to_owned(),
        r#"write_file("src/retry.ts", "a few words")"#.to_owned(),
        r#"[write_file(path="src/retry.ts", content="a few words", append=true)]"#.to_owned(),
    ];
    let all = cut_replies.iter().map(|reply| (reply, true)).chain(open_replies.iter().map(|reply| (reply, false)));
    for (reply, is_cut) in all {
        let project = Project::todo();
        let before = project.files();
        let script = Script::saying(reply).on("cut at 1500 tokens", "I cannot do it.").writing();
        let plain = toolkit(&project, script, Script::saying(""));
        let toolkit = Toolkit { orchestrate: false, ..plain };
        let said = told(&project, &toolkit, "Write a text of many lines into src/retry.ts").await;
        assert_eq!(project.files(), before, "{reply}: {said}");
        assert_eq!(said.contains("cut at 1500 tokens"), is_cut, "{reply}: {said}");
        assert!(!said.contains("changed src/retry.ts"), "{said}");
    }
}

#[tokio::test]
async fn after_a_cut_the_loop_goes_on_with_a_call_that_is_whole() {
    let project = Project::todo();
    let long = lines(4_000, |number| format!("line {number}\\n"));
    let script = Script::saying(&format!(r#"[write_file(path="notes.md", content="{long}"#))
        .on("created notes.md", "It is there.")
        .on("cut at 1500 tokens", r#"[write_file(path="notes.md", content="short\n")]"#)
        .writing();
    let toolkit = Toolkit { orchestrate: false, ..toolkit(&project, script, Script::saying("")) };
    told(&project, &toolkit, "Write many notes into notes.md").await;
    assert_eq!(project.text("notes.md"), "short\n");
}

#[tokio::test]
async fn code_and_text_that_were_cut_are_not_written() {
    let body = lines(1_500, |number| format!("    total = total + {number}\n"));
    let code = format!("```python\ndef second(total):\n{body}    return total\n```");
    let text = format!("````\n{}````", lines(1_500, |number| format!("Line {number} says something.\n")));
    for (request, prompt, reply, path) in [
        ("Add a function second() to a.py", "Write the new `second`", &code, "a.py"),
        ("Create a file notes.txt with a long list of the functions", "Write the file notes.txt", &text, "notes.txt"),
        ("In GUIDE.md say how the limit is set", "A passage of GUIDE.md", &text, "GUIDE.md"),
    ] {
        let project = Project::todo();
        std::fs::write(project.path().join("a.py"), "LIMIT = 1\n\n\ndef first():\n    return LIMIT\n").expect("a file");
        std::fs::write(project.path().join("GUIDE.md"), "# Guide\n\nThe limit is 1.\n").expect("a file");
        let before = project.files();
        let script = Script::saying("").on(prompt, reply).writing();
        let toolkit = indexed(&project, toolkit(&project, script, Script::saying("")));
        let said = told(&project, &toolkit, request).await;
        assert_eq!(project.files(), before, "{path}: {said}");
        assert!(said.contains("is incomplete"), "{path}: {said}");
    }
}

#[tokio::test]
async fn a_command_that_was_cut_is_not_run() {
    let project = Project::todo();
    let long = lines(300, |number| format!("echo {number} && "));
    let script = Script::saying("").on("Request: Run the linter", &long).writing();
    let toolkit = indexed(&project, toolkit(&project, script, Script::saying("")));
    let said = told(&project, &toolkit, "Run the linter over all of it").await;
    assert!(said.contains("was not run, because it was cut at 200 tokens"), "{said}");
}

#[tokio::test]
async fn a_call_of_a_servers_tool_that_was_cut_is_not_made() {
    let garden = ToolSpec {
        name: "water".to_owned(),
        description: "Water the plants in a bed".to_owned(),
        server: "garden".to_owned(),
        parameters: json!({"type": "object", "properties": {"bed": {"type": "integer"}, "note": {"type": "string"}},
            "required": ["bed"]}),
        ..ToolSpec::default()
    };
    let blanks = lines(400, |number| format!(" {number} "));
    for (reply, is_called) in
        [("[water(bed=3)]".to_owned(), true), (format!("[water(bed=3, note=\"{blanks}\")]"), false)]
    {
        let project = Project::todo();
        let script = Script::saying("Nothing.").on("Call the one tool", &reply).writing();
        let plain = indexed(&project, toolkit(&project, script, Script::saying("")));
        let catalog = Catalog::described(vec![garden.clone()]).expect("a catalogue");
        let prefilter = Arc::new(Prefilter::new(catalog.specs(), None));
        let toolkit = Toolkit { catalog: Arc::new(catalog), prefilter, ..plain };
        let host = Witness::new(|_: &Proposal| Decision::Approve);
        run_turn(&toolkit, "Can you water the plants in bed 3?", &host).await.expect("a turn");
        let called = host.reports().iter().any(|report| report.tool == "water");
        assert_eq!(called, is_called, "{:?} {:?}", host.reports(), host.notices());
        assert_eq!(host.notices().iter().any(|notice| notice.contains("cut at 220 tokens")), !is_called);
    }
}
