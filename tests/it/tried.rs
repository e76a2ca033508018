//! A small model's change is tested with calls that the model writes; a change without a visible
//! effect is not kept.

use monobloc::agent::run_turn;
use monobloc::engine::scripted::Script;
use monobloc::protocol::{Decision, Proposal};

use crate::cli::Project;
use crate::scripted::{Witness, indexed, toolkit};

const SHELF: &str = "\
class Shelf:\n    def __init__(self, **rows):\n        self.rows = rows\n\n    def label(self, row):\n        \
return row + ': ' + self.rows[row]\n";
const SHIFT: &str =
    "def shift(self, row, to):\n    \"\"\"Moves what is in a row.\"\"\"\n    self.rows[to] = self.rows[row]";
const POPPED: &str =
    "def shift(self, row, to):\n    \"\"\"Moves what is in a row.\"\"\"\n    self.rows[to] = self.rows.pop(row)";
const AGAIN: &str =
    "def shift(self, row, to):\n    \"\"\"Moves what is in a row.\"\"\"\n    self.rows.update({to: self.rows[row]})";
const ADD: &str = "Add a method shift(row, to) to Shelf in shelf.py that moves what is in a row to another one";
const SHOUT: &str = "In shelf.py label() should give capitals";

fn code(text: &str) -> String {
    format!("```python\n{text}\n```")
}

/// A script that also writes `program` to try a change.
fn trying(program: &str) -> Script {
    Script::saying("").on("write a short program", &code(program))
}

/// The file after `request`, and the answer.
async fn after(script: Script, request: &str) -> (String, String) {
    after_in(SHELF, script, request).await
}

/// Like `after`, for another text of the file.
async fn after_in(shelf: &str, script: Script, request: &str) -> (String, String) {
    let project = Project::todo();
    std::fs::write(project.path().join("shelf.py"), shelf).expect("a file");
    let toolkit = indexed(&project, toolkit(&project, script.writing(), Script::saying("")));
    let host = Witness::new(|_: &Proposal| Decision::Approve);
    let said = run_turn(&toolkit, request, &host).await.expect("a turn").answer;
    (project.text("shelf.py"), said)
}

#[tokio::test]
async fn a_change_that_contradicts_the_models_own_example_is_written_again() {
    let program = "s = Shelf(a='x', b='y')\ns.shift('a', 'c')\nprint(s.rows)  # {'c': 'x', 'b': 'y'}";
    let script = trying(program).on("A first attempt was wrong", &code(POPPED)).on("Write the new", &code(SHIFT));
    let (text, said) = after(script.on("First name", "add Shelf.shift"), ADD).await;
    assert!(text.contains("self.rows.pop(row)"), "{text}\n{said}");
    // A different key order is not a contradiction.
    assert!(said.contains("gives {'b': 'y', 'c': 'x'}"), "{said}");
}

#[tokio::test]
async fn a_change_that_contradicts_the_models_own_example_twice_stays_and_the_user_reads_both() {
    let program = "s = Shelf(a='x')\ns.shift('a', 'c')\nprint(s.rows)";
    let shown = "gives {'a': 'x', 'c': 'x'}";
    let both = format!("{shown}, but the model's own example expects {{'c': 'x'}}");
    // The second answer is the same code, or other code that does the same; prose and an empty
    // comment state no result.
    for (stated, second, expected) in [
        ("  # {'c': 'x'}", SHIFT, both.as_str()),
        ("  # {'c': 'x'}", AGAIN, both.as_str()),
        ("  # both rows", SHIFT, shown),
        ("", SHIFT, shown),
    ] {
        let script = trying(&format!("{program}{stated}")).on("A first attempt was wrong", &code(second));
        let script = script.on("Write the new", &code(SHIFT)).on("First name", "add Shelf.shift");
        let (text, said) = after(script, ADD).await;
        assert!(text.contains("def shift"), "{stated}: {said}");
        assert!(said.contains(expected), "{stated}: {said}");
        assert_eq!(said.contains("the model's own example"), expected != shown, "{stated}: {said}");
    }
}

#[tokio::test]
async fn a_new_function_is_not_tried_by_a_call_if_a_later_step_writes_its_tests() {
    let stated = "s = Shelf(a='x')\ns.shift('a', 'c')\nprint(s.rows)  # {'c': 'x'}";
    let test = "def test_shift():\n    s = Shelf(a='x')\n    s.shift('a', 'c')\n    assert s.rows['c'] == 'x'";
    for (later, is_tried) in [("Write a test for it in test_shelf.py", false), ("Mention it in README.md", true)] {
        let script = trying(stated)
            .on("test_shelf.py, whole", &code(&format!("from shelf import Shelf\n\n\n{test}")))
            .on("A first attempt was wrong", &code(SHIFT))
            .on("Write the new", &code(SHIFT))
            .on("First name", "add Shelf.shift");
        let (text, said) = after(script, &format!("{ADD}. {later}")).await;
        assert!(text.contains("def shift"), "{later}: {said}");
        assert_eq!(said.contains("the model's own example"), is_tried, "{later}: {said}");
    }
}

#[tokio::test]
async fn a_change_that_the_model_drops_after_its_own_example_contradicts_it_is_taken_back() {
    let written = "def label(self, row):\n    return (row + ': ' + self.rows[row]).upper()";
    let original = "def label(self, row):\n    return row + ': ' + self.rows[row]";
    let script = trying("s = Shelf(a='x')\nprint(s.label('a'))  # 'A-X'")
        .on("A first attempt was wrong", &code(original))
        .on("Write `Shelf.label`", &code(written));
    let (text, said) = after(script.on("First name", "change Shelf.label"), SHOUT).await;
    assert_eq!(text, SHELF, "{said}");
    assert!(said.contains("gives A: X, but the model's own example expects 'A-X'; add a call"), "{said}");
    assert!(said.contains("not done, the files are as they were: a change was tried"), "{said}");
}

#[tokio::test]
async fn a_change_of_behaviour_that_no_call_shows_is_not_kept() {
    let written = "def label(self, row):\n    return (row + ': ' + self.rows[row]).upper()";
    for (program, stays) in [
        ("s = Shelf(a='x')\nprint(s.label('a'))", true),
        // A program that fails because of its own mistake, and an answer that is not a program.
        ("print(shelf.label('a'))", false),
        ("label", false),
    ] {
        let script = trying(program).on("Write `Shelf.label`", &code(written)).on("First name", "change Shelf.label");
        let (text, said) = after(script, SHOUT).await;
        assert_eq!(text.contains("upper()"), stays, "{program}: {said}");
        assert_eq!(said.contains("no call that the model wrote shows what it does"), !stays, "{said}");
    }
}

#[tokio::test]
async fn a_change_of_a_module_that_never_loaded_here_is_kept_and_the_user_reads_why_nothing_was_tried() {
    let written = "def label(self, row):\n    return (row + ': ' + self.rows[row]).upper()";
    // Installed in the user's environment, but not where the checks run.
    for (first, why) in [
        ("from importlib.metadata import version\n\nVERSION = version('no_such_package')\n", "PackageNotFoundError"),
        ("import no_such_package\n", "No module named 'no_such_package'"),
    ] {
        let script = trying("print(Shelf(a='x').label('a'))").on("Write `Shelf.label`", &code(written));
        let script = script.on("First name", "change Shelf.label");
        let (text, said) = after_in(&format!("{first}\n\n{SHELF}"), script, SHOUT).await;
        assert!(text.contains("upper()"), "{said}");
        assert!(said.contains("not tried: shelf.py does not load here, as before: ") && said.contains(why), "{said}");
    }
}

#[tokio::test]
async fn a_program_that_failed_by_its_own_fault_is_written_again_with_the_fault() {
    let script = Script::saying("")
        .on("program was wrong: NameError: name 'shelf'", &code("print(Shelf(a='x').label('a'))"))
        .on("write a short program", &code("print(shelf.label('a'))"))
        .on("Write `Shelf.label`", &code("def label(self, row):\n    return (row + ': ' + self.rows[row]).upper()"))
        .on("First name", "change Shelf.label");
    let (_, said) = after(script, SHOUT).await;
    assert!(said.contains("gives A: X; before the change it gave a: x"), "{said}");
}

#[tokio::test]
async fn what_is_so_already_is_not_changed() {
    let project = Project::todo();
    let text = "def half(number):\n    if number % 2:\n        raise ValueError(number)\n    return number // 2\n";
    std::fs::write(project.path().join("half.py"), text).expect("a file");
    let script =
        Script::saying("").on("Write `half`", &code(&text.replace("// 2", "/ 2"))).on("First name", "change half");
    let toolkit = indexed(&project, toolkit(&project, script.writing(), Script::saying("")));
    let host = Witness::new(|_: &Proposal| Decision::Approve);
    let request = "half(3) in half.py returns 1, but odd numbers have no half: it should raise ValueError.";
    let said = run_turn(&toolkit, request, &host).await.expect("a turn").answer;
    assert_eq!(project.text("half.py"), text, "{said}");
    assert!(said.contains("not changed: `half(3)` currently gives ValueError; name a call"), "{said}");
}
