//! Changes by a model that can write code: it names and writes definitions; code inserts, checks or refuses them.

use std::sync::Arc;

use monobloc::agent::{Deciding, Host, Toolkit, run_turn};
use monobloc::engine::scripted::Script;
use monobloc::protocol::{Decision, Event, Proposal, TurnFinished};
use monobloc::tools::policy::Policy;
use monobloc::tools::{Catalog, Prefilter, ToolSpec};
use serde_json::json;

use crate::cli::Project;
use crate::scripted::{Witness, indexed, toolkit};

pub const FILE: &str =
    "LIMIT = 128\n\n\ndef first(n=128):\n    return keep(128, n)\n\n\ndef keep(size, n):\n    return [n] * size\n";

/// A project with `a.py`, and a toolkit whose planner can write code and follows this script.
pub fn prepared(script: Script) -> (Project, Toolkit) {
    let project = Project::todo();
    std::fs::write(project.path().join("a.py"), FILE).expect("a file");
    let toolkit = indexed(&project, toolkit(&project, script.writing(), Script::saying("")));
    (project, toolkit)
}

pub fn code(text: &str) -> String {
    format!("```python\n{text}\n```")
}

/// Runs `request`; returns `a.py` and the result of the turn.
async fn turned(script: Script, request: &str) -> (String, TurnFinished) {
    let (project, toolkit) = prepared(script);
    let host = Witness::new(|proposal: &Proposal| {
        let runs = format!("{proposal:?}").contains("run_command");
        if runs { Decision::Reject } else { Decision::Approve }
    });
    let finished = run_turn(&toolkit, request, &host).await.expect("a turn");
    (project.text("a.py"), finished)
}

/// Runs `request`; returns `a.py` and the answer.
pub async fn asked(script: Script, request: &str) -> (String, String) {
    let (file, finished) = turned(script, request).await;
    (file, finished.answer)
}

#[tokio::test]
async fn a_change_that_is_right_at_once_takes_at_most_three_model_calls() {
    let script = Script::saying("")
        .on("write a short program that shows the difference", &code("print(second())"))
        .on("Write the new `second`", &code("def second():\n    return 2"));
    let (file, finished) = turned(script, "Add a function second() to a.py").await;
    assert!(file.contains("def second()") && (1..=3).contains(&finished.usage.model_calls), "{:?}", finished.usage);
}

#[tokio::test]
async fn what_a_request_spells_out_is_done_without_the_model() {
    let (project, toolkit) = prepared(Script::saying("No."));
    let host = Witness::new(|_: &Proposal| Decision::Approve);
    let request = "List the files in src, read a.py, in a.py change LIMIT from 128 to 64, create plants.txt with the \
                   text \"three ferns\" and run the command `cat plants.txt`";
    let finished = run_turn(&toolkit, request, &host).await.expect("a turn");
    let tools: Vec<String> = host.reports().into_iter().map(|report| report.tool).collect();
    assert_eq!(tools, ["list_dir", "read_file", "replace_in_file", "write_file", "run_command"]);
    assert_eq!(finished.usage.model_calls, 0, "{:?}", finished.usage);
    assert!(project.text("a.py").starts_with("LIMIT = 64\n") && finished.answer.contains("  three ferns"));
}

#[tokio::test]
async fn a_file_that_cannot_be_read_is_a_part_that_is_not_done() {
    let (_project, toolkit) = prepared(Script::saying("No."));
    let host = Witness::new(|_: &Proposal| Decision::Approve);
    let finished = run_turn(&toolkit, "List the files in src, then read nowhere.md", &host).await.expect("a turn");
    let answer = finished.answer;
    assert!(answer.contains("- 1 of 2 parts of the request are not done: Read nowhere.md"), "{answer}");
    let (_project, toolkit) = prepared(Script::saying("It says much."));
    let finished = run_turn(&toolkit, "Read nowhere.md and tell me what it says", &host).await.expect("a turn");
    assert!(finished.usage.model_calls == 0 && !finished.answer.contains("much"), "{}", finished.answer);
}

#[tokio::test]
async fn a_file_read_for_a_question_is_named_and_the_model_answers() {
    let (_project, toolkit) = prepared(Script::saying("LIMIT is 128."));
    let host = Witness::new(|_: &Proposal| Decision::Approve);
    let finished = run_turn(&toolkit, "Read a.py and tell me what the limit is", &host).await.expect("a turn");
    let tools: Vec<String> = host.reports().into_iter().map(|report| report.tool).collect();
    assert_eq!(tools, ["read_file", "answer"]);
    let answer = finished.answer;
    assert!(
        answer.contains("LIMIT is 128.") && answer.contains("- a.py, lines 1-9 of 9") && !answer.contains("def keep")
    );
}

#[tokio::test]
async fn a_new_function_is_written_and_inserted() {
    let script = Script::saying("").on("Write the new `second`", &code("def second():\n    return 2"));
    let (file, _) = asked(script, "Add a function second() to a.py").await;
    assert!(file.contains("\n\n\ndef second():\n    return 2\n"), "{file}");
    assert_eq!(
        file.replace("def second():\n    return 2\n\n\n", "").replace("\n\n\ndef second():\n    return 2\n", "\n"),
        FILE
    );
}

#[tokio::test]
async fn code_that_breaks_the_file_or_changes_nothing_is_not_written() {
    for wrong in ["def first(n=128):\n    return keep(128,", "def first(n=128):\n    return keep(128, n)"] {
        let script = Script::saying("").on("Write `first`", &code(wrong)).on("First name", "change first");
        let (file, answer) = asked(script, "In a.py first() should double the number").await;
        assert_eq!(file, FILE, "{wrong}");
        assert!(answer.contains("not done"), "{answer}");
    }
}

#[tokio::test]
async fn a_function_is_deleted_by_code_unless_it_is_still_used() {
    let script = Script::saying("").on("First name", "remove first");
    let (file, answer) = asked(script, "Delete the function first from a.py").await;
    assert_eq!(file, FILE.replace("def first(n=128):\n    return keep(128, n)\n\n\n", ""), "{answer}");
    // A function that is still used is not deleted.
    let script = Script::saying("").on("First name", "remove keep");
    let (file, answer) = asked(script, "Delete the function keep from a.py").await;
    assert_eq!(file, FILE);
    assert!(answer.contains("`keep` is used in `first`"), "{answer}");
}

#[tokio::test]
async fn the_model_picks_one_of_several_lines_with_a_value_and_code_changes_it() {
    // The model answers with a number in the list of lines; 3 is the line with `keep(128, n)`.
    let script = Script::saying("").on("is meant", "3");
    let (file, answer) = asked(script, "In a.py change the amount from 128 to 64").await;
    assert_eq!(file, FILE.replace("keep(128, n)", "keep(64, n)"), "{answer}");
}

#[tokio::test]
async fn a_new_function_is_exported_by_code() {
    let script = Script::saying("").on("Write the new `second`", &code("def second():\n    return 2"));
    let (project, toolkit) = prepared(script);
    std::fs::write(project.path().join("a.py"), format!("__all__ = ['first', 'keep']\n\n{FILE}")).expect("a file");
    let toolkit = indexed(&project, toolkit);
    let host = Witness::new(|_: &Proposal| Decision::Approve);
    run_turn(&toolkit, "Add a function second() to a.py and export it", &host).await.expect("a turn");
    let file = project.text("a.py");
    assert!(file.starts_with("__all__ = ['first', 'keep', 'second']\n") && file.contains("def second"), "{file}");
}

/// A host that changes `a.py` while the model writes code.
struct Meddler<H> {
    host: H,
    project: std::path::PathBuf,
}

const MEDDLED: &str = "meddled = True\n";

impl<H: Host> Host for Meddler<H> {
    fn emit(&self, event: Event) {
        if matches!(&event, Event::Pulse { phase, .. } if phase == "writing code") {
            std::fs::write(self.project.join("a.py"), MEDDLED).expect("a file");
        }
        self.host.emit(event);
    }

    fn approve<'a>(&'a self, step: monobloc::base::StepId, proposal: &'a Proposal) -> Deciding<'a> {
        self.host.approve(step, proposal)
    }

    fn policy(&self) -> &Policy {
        self.host.policy()
    }
}

#[tokio::test]
async fn a_file_that_changes_meanwhile_is_left_alone() {
    let mut script = Script::saying("").on("Write the new `second`", &code("def second():\n    return 2"));
    script.row_time = std::time::Duration::from_millis(40);
    let (project, toolkit) = prepared(script);
    let host = Meddler { host: Witness::new(|_: &Proposal| Decision::Approve), project: project.path() };
    let finished = run_turn(&toolkit, "Add a function second() to a.py", &host).await.expect("a turn");
    assert_eq!(project.text("a.py"), MEDDLED);
    assert!(finished.answer.contains("changed by somebody else"), "{}", finished.answer);
}

#[tokio::test]
async fn an_existing_ignored_file_is_not_overwritten() {
    let (project, toolkit) = prepared(Script::saying("````\nnew\n````"));
    let notes = project.path().join("notes.txt");
    std::fs::write(project.path().join(".gitignore"), "notes.txt\n").expect("a file");
    std::fs::write(&notes, "old\n").expect("a file");
    let toolkit = indexed(&project, toolkit);
    let host = Witness::new(|_: &Proposal| Decision::Approve);
    let finished =
        run_turn(&toolkit, "Create a file notes.txt with a list of the functions", &host).await.expect("a turn");
    assert_eq!(std::fs::read_to_string(notes).expect("a file"), "old\n", "{}", finished.answer);
}

#[tokio::test]
async fn moving_a_file_updates_its_imports() {
    let script = Script::saying("").on("Request: Move", "move: src/retry.ts -> src/net/retry.ts");
    let (project, toolkit) = prepared(script);
    std::fs::write(project.path().join("src/main.ts"), "import { MAX_ATTEMPTS } from './retry';\n").expect("a file");
    let toolkit = indexed(&project, toolkit);
    let host = Witness::new(|_: &Proposal| Decision::Approve);
    let request = "Move src/retry.ts to src/net/retry.ts and adjust the imports";
    let finished = run_turn(&toolkit, request, &host).await.expect("a turn");
    assert_eq!(project.text("src/main.ts"), "import { MAX_ATTEMPTS } from './net/retry';\n", "{}", finished.answer);
    assert!(project.text("src/net/retry.ts").contains("MAX_ATTEMPTS") && !project.path().join("src/retry.ts").exists());
}

#[tokio::test]
async fn a_new_test_is_written_into_the_existing_test_file() {
    let tests = "import unittest\n\nfrom a import first\n\n\nclass FirstTest(unittest.TestCase):\n    def test_first(self):\n        self.assertEqual(first(1), [1] * 128)\n";
    let script = Script::saying("")
        .on("Write the new `FirstTest.test_second`", &code("def test_second(self):\n    self.assertEqual(second(), 2)"))
        .on("Write the new `second`", &code("def second():\n    return 2"))
        .on("Do only this now: Write a test", "add test_second")
        .on("Request: Add", "edit: Add a function second() to a.py and a test for it");
    let (project, toolkit) = prepared(script);
    std::fs::write(project.path().join("test_a.py"), tests).expect("a file");
    let toolkit = indexed(&project, toolkit);
    let host = Witness::new(|_: &Proposal| Decision::Approve);
    let finished =
        run_turn(&toolkit, "Add a function second() to a.py and a test for it", &host).await.expect("a turn");
    let expected = tests.replace("import first", "import first, second")
        + "\n    def test_second(self):\n        self.assertEqual(second(), 2)\n";
    assert_eq!(project.text("test_a.py"), expected, "{}", finished.answer);
}

#[tokio::test]
async fn in_a_long_function_only_the_changed_lines_are_written() {
    let steps: String = (0..40).map(|step| format!("    total += {step}\n")).collect();
    let before = format!(
        "def first(value):\n    total = value\n{steps}    if total > 99:\n        total = 99\n    return total\n"
    );
    let script = Script::saying("")
        .on("write a short program", &code("print(first(1))"))
        .on("Write these lines as they have to become", "```python\n    if total > 90:\n        total = 90\n```")
        .on("`first` is long", "if total > 99:")
        .on("Request: ", "edit: The result of first() must be 90 at most");
    let (project, toolkit) = prepared(script);
    std::fs::write(project.path().join("a.py"), &before).expect("a file");
    let toolkit = indexed(&project, toolkit);
    let host = Witness::new(|_: &Proposal| Decision::Approve);
    let finished = run_turn(&toolkit, "The result of first() must be 90 at most", &host).await.expect("a turn");
    assert_eq!(project.text("a.py"), before.replace("99", "90"), "{}", finished.answer);
}

#[tokio::test]
async fn a_tool_of_a_server_is_called_if_a_step_needs_it() {
    let garden = |name: &str, description: &str| ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        server: "garden".to_owned(),
        parameters: json!({"type": "object", "properties": {"bed": {"type": "integer"}}, "required": ["bed"]}),
        ..ToolSpec::default()
    };
    let tools = vec![garden("water", "Water the plants in a bed"), garden("weed", "Weed a bed of the garden")];
    for (reply, called) in [("[water(bed=3)]", true), ("[weed(bed=3)]", false)] {
        let (_project, toolkit) = prepared(Script::saying("Nothing.").on("Call the one tool", reply));
        let catalog = Catalog::described(tools.clone()).expect("a catalogue");
        let prefilter = Arc::new(Prefilter::new(catalog.specs(), None));
        let toolkit = Toolkit { catalog: Arc::new(catalog), prefilter, ..toolkit };
        let host = Witness::new(|_: &Proposal| Decision::Approve);
        run_turn(&toolkit, "Can you water the plants in bed 3?", &host).await.expect("a turn");
        let reports = host.reports();
        assert_eq!(reports.iter().any(|report| report.tool == "water"), called, "{reports:?}");
    }
}

/// Asks to repair `is_even` in `a.py`; the check passes if the file contains `right`. Returns the file and the number
/// of commands that needed consent.
async fn repaired(right: &str) -> (String, usize) {
    let (project, toolkit) = prepared(Script::saying(""));
    let file = "def is_even(n):\n    return n % 2 != 0\n";
    std::fs::write(project.path().join("a.py"), file).expect("a file");
    std::fs::write(project.path().join("check.sh"), format!("grep -q '{right}' a.py\n")).expect("a file");
    let toolkit = indexed(&project, toolkit);
    let commands = std::sync::atomic::AtomicUsize::new(0);
    let host = Witness::new(|proposal: &Proposal| {
        if proposal.tool == "run_command" {
            commands.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
        Decision::Approve
    });
    run_turn(&toolkit, "`sh check.sh` fails, fix is_even in a.py", &host).await.expect("a turn");
    (project.text("a.py"), commands.into_inner())
}

#[tokio::test]
async fn small_changes_are_tried_on_a_copy_until_the_check_passes() {
    // The user is asked about the command before and after the trials, but not for each trial.
    let (file, commands) = repaired("n % 2 == 0").await;
    assert_eq!((file.as_str(), commands), ("def is_even(n):\n    return n % 2 == 0\n", 2));
    // If no trial helps, the project stays unchanged.
    let (file, _) = repaired("no line has this").await;
    assert_eq!(file, "def is_even(n):\n    return n % 2 != 0\n");
}

#[tokio::test]
async fn tests_that_failed_before_do_not_count_against_a_change() {
    let right = "def first(n=3):\n    return keep(128, n)";
    let wrong = "def first(n=3):\n    return keep(0, n)";
    let tests = "import unittest\n\nfrom a import first, keep\n\n\nclass Tests(unittest.TestCase):\n    def test_keep(self):\n        self.assertEqual(keep(2, 1), 'something else')\n\n    def test_first(self):\n        self.assertEqual(len(first(1)), 128)\n";
    for (written, is_kept) in [(right, true), (wrong, false)] {
        let script = Script::saying("").on("write a short program", &code("print(first()[0])"));
        let script = script.on("Write `first`", &code(written)).on("First name", "change first");
        let (project, toolkit) = prepared(script);
        std::fs::write(project.path().join("test_a.py"), tests).expect("a file");
        let toolkit = indexed(&project, toolkit);
        let host = Witness::new(|_: &Proposal| Decision::Approve);
        let finished = run_turn(&toolkit, "In a.py first() should take fewer", &host).await.expect("a turn");
        assert_eq!(finished.answer.contains("fails as it did before"), is_kept, "{}", finished.answer);
        let expected = if is_kept { FILE.replace("first(n=128)", "first(n=3)") } else { FILE.to_owned() };
        assert_eq!(project.text("a.py"), expected, "{}", finished.answer);
    }
}

#[tokio::test]
async fn a_change_without_effect_on_the_named_call_is_written_again_once_and_else_taken_back() {
    let script = Script::saying("")
        .on("still so", &code("def first(n=128):\n    return keep(64, n)"))
        .on("Write `first`", &code("def first(n=128):\n    return keep(128, n or 0)"));
    let (project, toolkit) = prepared(script);
    let host = Witness::new(|_: &Proposal| Decision::Approve);
    let finished = run_turn(&toolkit, "In a.py first(2) should hold half as many", &host).await.expect("a turn");
    assert!(project.text("a.py").contains("keep(64, n)"), "{}", finished.answer);
    let script = Script::saying("").on("Write `first`", &code("def first(n=128):\n    return keep(128, n or 0)"));
    let (project, toolkit) = prepared(script);
    let host = Witness::new(|_: &Proposal| Decision::Approve);
    let finished = run_turn(&toolkit, "In a.py first(2) should hold half as many", &host).await.expect("a turn");
    assert_eq!(project.text("a.py"), FILE, "{}", finished.answer);
    assert!(
        finished.answer.contains("a change was tried, and this is still so: first(2) gives"),
        "{}",
        finished.answer
    );
}
