//! Answers are truthful about changes: they claim only results of runs, the change loses nothing,
//! and no part of the request is dropped.

use monobloc::agent::{Deciding, Host, TurnError, run_turn};
use monobloc::base::Cancel;
use monobloc::base::StepId;
use monobloc::engine::scripted::Script;
use monobloc::protocol::{Decision, Event, Proposal};
use monobloc::tools::policy::Policy;

use crate::cli::Project;
use crate::scripted::{Witness, indexed, toolkit};

const SHOP: &str = "\
def price(item, tax=0.2):\n    # Without discount.\n    net = item['net']\n    if net < 0:\n        raise KeyError('net')\n    \
return net * (1 + tax)\n\n\ndef label(item):\n    return item['name']\n";
const TESTS: &str = "\
import unittest\n\nfrom shop import label, price\n\n\nclass ShopTest(unittest.TestCase):\n    def test_label(self):\n        \
self.assertEqual(label({'name': 'a'}), 'a')\n\n    def test_price(self):\n        self.assertEqual(price({'net': 10}, 0), 10)\n";
const README: &str = "# Shop\n\n## Prices\n\nPrices have tax.\nThey are sorted by name.\n\n## License\n\nMIT\n";

/// A script with a program that prints a rounded price. A program that names the Node.js module
/// `net` is not run.
fn rounding() -> Script {
    Script::saying("").on("write a short program", &code("print(price({'n' 'et': 0.333}))"))
}

fn code(text: &str) -> String {
    format!("```python\n{text}\n```")
}

fn shop(files: &[(&str, &str)]) -> Project {
    let project = Project::todo();
    for (path, text) in [("shop.py", SHOP)].iter().chain(files) {
        std::fs::write(project.path().join(path), text).expect("a file");
    }
    project
}

/// The answer to `request` if everything is allowed.
async fn answer(project: &Project, script: Script, request: &str) -> String {
    let toolkit = indexed(project, toolkit(project, script.writing(), Script::saying("")));
    let host = Witness::new(|_: &Proposal| Decision::Approve);
    run_turn(&toolkit, request, &host).await.expect("a turn").answer
}

#[tokio::test]
async fn a_change_that_nothing_runs_is_not_called_tested() {
    let project = shop(&[]);
    let script = Script::saying("").on("Write the new `count`", &code("def count(items):\n    return len(items)"));
    let said = answer(&project, script, "Add a function count(items) to shop.py").await;
    assert!(project.text("shop.py").contains("def count"), "{said}");
    assert!(said.contains("not tested: no example in the request and no new test runs `count`"), "{said}");
    assert!(!said.contains("passed"), "{said}");
}

#[tokio::test]
async fn new_tests_that_fail_are_not_left() {
    let wrong = "from shop import label\n\n\ndef test_label():\n    assert label({'name': 'a'}) == 'b'";
    for (written, is_left) in [(wrong.to_owned(), false), (wrong.replace("== 'b'", "== 'a'"), true)] {
        let project = shop(&[]);
        let script = Script::saying("").on("Write the new file test_label.py", &code(&written));
        let script = script.on("First name", "new file test_label.py");
        let said = answer(&project, script, "Write a test for label in test_label.py").await;
        assert_eq!(project.path().join("test_label.py").exists(), is_left, "{said}");
        assert!(said.contains(if is_left { "the new tests passed" } else { "not done" }), "{said}");
    }
}

#[tokio::test]
async fn tests_go_into_the_new_file_that_is_named() {
    let project = shop(&[("test_shop.py", TESTS)]);
    let script =
        Script::saying("").on("Write the new `", &code("def test_more(self):\n    assert label({'name': 'a'})"));
    let script = script.on("First name", "add ShopTest.test_more");
    let said = answer(&project, script, "Write a test for label in test_label.py with unittest").await;
    assert_eq!(project.text("test_shop.py"), TESTS, "{said}");
}

#[tokio::test]
async fn new_tests_that_nothing_runs_are_not_called_passed() {
    let written = "import pytest\nfrom shop import label\n\n\n@pytest.mark.skip\ndef test_label(client):\n    assert label(client)";
    let project = shop(&[]);
    let script = Script::saying("").on("Write the new file test_label.py", &code(written));
    let script = script.on("First name", "new file test_label.py");
    let said = answer(&project, script, "Write a test for label in test_label.py").await;
    assert!(said.contains("not run: the tests in `test_label.py`") || said.contains("not done"), "{said}");
    assert!(!said.contains("passed"), "{said}");
}

#[tokio::test]
async fn a_test_file_that_gets_no_test_is_not_said_to_have_new_ones() {
    let project = shop(&[("test_shop.py", TESTS)]);
    let changed = "def test_label(self):\n    self.assertEqual(label({'name': 'bolt'}), 'bolt')";
    let script = Script::saying("").on("Write `ShopTest.test_label`", &code(changed));
    let script = script.on("First name", "change ShopTest.test_label");
    let said = answer(&project, script, "ShopTest.test_label in test_shop.py should take an item called bolt").await;
    assert!(project.text("test_shop.py").contains("bolt"), "{said}");
    assert!(said.contains("the changed tests pass") && !said.contains("new tests passed"), "{said}");
}

#[tokio::test]
async fn what_nobody_asked_for_is_taken_out_or_refused() {
    let request = "In shop.py price() should round the result to two digits";
    let rounded = SHOP.replace("return net * (1 + tax)", "return round(net * (1 + tax), 2)");
    let body = |text: &str| text[..text.find("\n\n\n").unwrap()].to_owned();
    let typed = body(&rounded.replace("(item, tax=0.2)", "(item: dict, tax: float = 0.2) -> float"));
    for (written, expected) in [
        (typed, rounded.as_str()),
        (body(&rounded.replace("net < 0", "net <= 1")), SHOP),
        (body(&rounded.replace("tax=0.2)", "tax=0.2, currency='EUR')")), SHOP),
        (body(&rounded.replace("item['net']", "dict(item)['net']")), SHOP),
    ] {
        let project = shop(&[]);
        let script = rounding().on("Write `price`", &code(&written)).on("First name", "change price");
        let said = answer(&project, script, request).await;
        assert_eq!(project.text("shop.py"), expected, "{written}\n{said}");
    }
}

#[tokio::test]
async fn old_tests_are_named_as_what_they_are() {
    let project = shop(&[("test_shop.py", TESTS)]);
    let script = Script::saying("").on("Write the new `count`", &code("def count(items):\n    return len(items)"));
    let said = answer(&project, script, "Add a function count(items) to shop.py").await;
    assert!(said.contains("the existing tests still pass") && said.contains("not tested"), "{said}");
}

#[tokio::test]
async fn examples_of_the_request_show_that_a_change_is_right() {
    let project = shop(&[]);
    let script = Script::saying("").on("Write the new `last`", &code("def last(text):\n    return text[-1]"));
    let said = answer(&project, script, "Add a function last(text) to shop.py: last('ab') is 'b'").await;
    assert!(said.contains("the examples in the request passed") && !said.contains("not tested"), "{said}");
}

#[tokio::test]
async fn a_function_that_loses_its_way_is_refused() {
    let gutted = "def price(item, tax=0.2):\n    # Without discount.\n    return item['net'] * (1 + tax)";
    for request in ["In shop.py price() should round the result", "price() of shop.py needs to round to cents"] {
        let project = shop(&[]);
        let script = Script::saying("").on("Write `price`", &code(gutted)).on("First name", "change price");
        let said = answer(&project, script, request).await;
        assert_eq!(project.text("shop.py"), SHOP, "{said}");
        assert!(said.contains("not done: what the model wrote was refused"), "{said}");
        assert!(!said.contains("write only") && !said.contains("keep it"), "a refusal speaks to the user: {said}");
    }
}

#[tokio::test]
async fn a_comment_that_the_model_left_out_stays() {
    let written = "def price(item, tax=0.2):\n    net = item['net']\n    if net < 0:\n        raise KeyError('net')\n    return round(net * (1 + tax), 2)";
    let project = shop(&[]);
    let script = rounding().on("Write `price`", &code(written)).on("First name", "change price");
    let said = answer(&project, script, "In shop.py price() should round the result to two digits").await;
    let expected = SHOP.replace("return net * (1 + tax)", "return round(net * (1 + tax), 2)");
    assert_eq!(project.text("shop.py"), expected, "{said}");
}

#[tokio::test]
async fn what_was_not_made_is_not_described() {
    let project = shop(&[("README.md", README)]);
    let request = "Add a function count(items) to shop.py. Mention it in README.md.";
    let script = Script::saying("````\n## Prices\n\nPrices have tax.\nThey are sorted by name.\nUse `count`.\n````")
        .on("Write the new `count`", &code("def count(items):\n    return len(items"))
        .on("Request: Add", "edit: Add a function count(items) to shop.py.\nedit: Mention it in README.md.");
    let said = answer(&project, script, request).await;
    assert_eq!((project.text("README.md").as_str(), project.text("shop.py").as_str()), (README, SHOP), "{said}");
    assert!(said.contains("s1 was not done, and this builds on it"), "{said}");
}

#[tokio::test]
async fn prose_keeps_its_lines_and_says_what_was_asked_for() {
    let request = "Extend the Prices section of README.md by the three days that refunds take";
    let passage = |body: &str| format!("````\n## Prices\n\n{body}\n````");
    for wrong in ["Prices have tax.\nRefunds take three days.", "Prices have taxes.\nThey are sorted by names."] {
        let project = shop(&[("README.md", README)]);
        let said = answer(&project, Script::saying(&passage(wrong)), request).await;
        assert_eq!(project.text("README.md"), README, "{said}");
        assert!(said.contains("not done"), "{said}");
    }
    let project = shop(&[("README.md", README)]);
    let right = passage("Prices have tax.\nThey are sorted by name.\nRefunds take three days.");
    let said = answer(&project, Script::saying(&right), request).await;
    assert_eq!(
        project.text("README.md"),
        README.replace("by name.\n", "by name.\nRefunds take three days.\n"),
        "{said}"
    );
}

#[tokio::test]
async fn words_are_added_to_a_document_and_nothing_else_changes() {
    let request = "Add to the Prices section of README.md that refunds take three days";
    let expected = README.replace("by name.\n", "by name.\n\nRefunds take three days.\n");
    for (written, after) in [
        ("Refunds take three days.", expected.as_str()),
        ("Prices have tax.\nRefunds take three days.", &expected),
        ("Prices have tax.", README),
        ("We ship anywhere.", README),
        ("Add to the prices section that refunds take three days.", README),
    ] {
        let project = shop(&[("README.md", README)]);
        let said = answer(&project, Script::saying(&format!("````\n{written}\n````")), request).await;
        assert_eq!(project.text("README.md"), after, "{written}: {said}");
        assert_eq!(said.contains("- not "), after == README, "{written}: {said}");
    }
}

#[tokio::test]
async fn an_entry_of_a_changelog_goes_behind_the_entries_of_its_version() {
    let news = "News\n====\n\n2.1 (unreleased)\n----------------\n\n* Labels.\n\n2.0\n---\n\n* Prices.\n";
    let project = shop(&[("NEWS.rst", news)]);
    let script = Script::saying("").on("A passage of NEWS.rst", "````\n- ``count`` is new.\n````");
    let said = answer(&project, script, "Write a line about the new function count into NEWS.rst").await;
    assert_eq!(project.text("NEWS.rst"), news.replace("* Labels.\n", "* Labels.\n* ``count`` is new.\n"), "{said}");
}

#[tokio::test]
async fn a_type_that_gives_way_is_changed_where_it_is_meant() {
    let parcel = "def weigh(x):\n    raise Exception(x)\n\n\ndef send(x):\n    raise Exception('no address')\n";
    let request = "send() should raise a LookupError instead of a bare Exception";
    let project = shop(&[("parcel.py", parcel)]);
    let said = answer(&project, Script::saying(""), request).await;
    assert_eq!(project.text("parcel.py"), parcel.replace("Exception('no", "LookupError('no"), "{said}");
}

#[tokio::test]
async fn a_removal_of_whatever_is_not_needed_is_asked_back() {
    let project = shop(&[("README.md", README)]);
    let said = answer(&project, Script::saying("change price"), "Delete every file that is not needed").await;
    assert!(said.contains("exactly what to remove"), "{said}");
    assert_eq!((project.text("README.md").as_str(), project.text("shop.py").as_str()), (README, SHOP));
}

#[tokio::test]
async fn tests_are_counted_by_running_them() {
    let project = shop(&[("test_shop.py", TESTS)]);
    let request = "Run `python3 -m unittest test_shop` and tell me how many tests passed";
    let script = Script::saying("Seven tests passed.")
        .on("Request: ", "run: Run `python3 -m unittest test_shop`\nask: tell me how many tests passed");
    let said = answer(&project, script, request).await;
    assert!(said.contains("2 passed, 0 failed") && !said.contains("Seven"), "{said}");
    // Without a command there is nothing to count.
    let project = shop(&[]);
    let script = Script::saying("Seven tests passed.").on("Request: ", "ask: tell me how many tests pass");
    let said = answer(&project, script, "Please tell me how many tests pass now, and nothing else").await;
    assert!(!said.contains("Seven"), "{said}");
}

#[tokio::test]
async fn nothing_is_said_of_a_name_that_is_nowhere() {
    let project = shop(&[]);
    let script = Script::saying("The option `roundAll` rounds every price. `price` adds tax to the net price.");
    let said = answer(&project, script, "What does the option `roundAll` of price() do?").await;
    assert!(said.contains("`roundAll` is not in the code"), "{said}");
    assert!(!said.contains("rounds every price"), "{said}");
}

#[tokio::test]
async fn the_tests_of_a_named_place_are_run_and_what_depends_on_them_is_not_made_up() {
    let request = "Run the tests in lib/ and tell me how many of them passed";
    let script_for = |place: &str| {
        let read = format!("run: tests in {place}\nask: tell me how many of them passed");
        Script::saying("Seven passed.").on("Request: ", &read)
    };
    let script = || script_for("lib/");
    let project = shop(&[("test_shop.py", TESTS)]);
    let lib = project.path().join("lib");
    std::fs::create_dir(&lib).expect("a folder");
    std::fs::write(lib.join("shelf.py"), SHOP).expect("a file");
    let said = answer(&project, script(), request).await;
    assert!(said.contains("not done: no runnable test was found in `lib/`"), "{said}");
    assert!(said.contains("s1 was not done, and this builds on it"), "{said}");
    assert!(!said.contains("passed\n") && !said.contains("Seven"), "{said}");
    let said = answer(&project, script_for("lib"), &request.replace("lib/", "lib")).await;
    assert!(said.contains("not done: no runnable test was found in `lib`"), "{said}");
    let test =
        "import unittest\n\n\nclass LibTest(unittest.TestCase):\n    def test_one(self):\n        self.assertTrue(1)\n";
    std::fs::write(lib.join("test_shelf.py"), test).expect("a file");
    let said = answer(&project, script(), request).await;
    assert!(said.contains("1 passed, 0 failed"), "{said}");
}

#[tokio::test]
async fn an_entry_is_added_beside_those_that_are_there() {
    let package = "{\n  \"devDependencies\": {\n    \"@types/shop\": \"1\",\n    \"oxlint\": \"2\"\n  }\n}\n";
    let project = shop(&[("package.json", package)]);
    let script = Script::saying("").on("package.json:", "devDependencies > prettier = \"3.3.2\"");
    let request = "Add the development dependency prettier 3.3.2 to package.json";
    let said = answer(&project, script, request).await;
    let expected = package.replace("\"2\"\n", "\"2\",\n    \"prettier\": \"3.3.2\"\n");
    assert_eq!(project.text("package.json"), expected, "{said}");
}

#[tokio::test]
async fn the_docstring_that_is_named_says_what_was_asked_for() {
    let shelf = "class Shelf:\n    \"\"\"Holds items.\n\n    In rows.\n    \"\"\"\n\n    def fill(self):\n        \"\"\"Fills it.\"\"\"\n";
    let request = "Say in the docstring of Shelf that rows are sorted";
    let project = shop(&[("shelf.py", shelf)]);
    let script = Script::saying("").on("A passage of shelf.py", "````\nThe rows are sorted.\n````");
    let said = answer(&project, script, request).await;
    let expected = shelf.replace("In rows.\n", "In rows.\n\n    The rows are sorted.\n");
    assert_eq!(project.text("shelf.py"), expected, "{said}");
}

#[tokio::test]
async fn a_change_that_makes_no_difference_is_taken_back() {
    let request = "label() of shop.py should give the name in capitals";
    for (written, stays) in [("str(item['name'])", false), ("item['name'].upper()", true)] {
        let project = shop(&[("test_shop.py", &TESTS.replace("'a'}), 'a'", "'A'}), 'A'"))]);
        let script = Script::saying("")
            .on("write a short program", &code("print(label({'name': 'b'}))"))
            .on("Write `label`", &code(&format!("def label(item):\n    return {written}")))
            .on("First name", "change label");
        let said = answer(&project, script, request).await;
        let expected = SHOP.replace("item['name']", written);
        assert_eq!(project.text("shop.py"), if stays { expected.as_str() } else { SHOP }, "{written} {said}");
        assert!(stays || said.contains("not done, the files are as they were"), "{said}");
        let tried = "- tried: `print(label({'name': 'b'}))` gives B; before the change it gave b";
        assert_eq!(said.contains(tried), stays, "{said}");
    }
}

/// A host that cancels the turn when a command starts.
struct Canceller<H> {
    host: H,
    cancel: Cancel,
}

impl<H: Host> Host for Canceller<H> {
    fn emit(&self, event: Event) {
        if matches!(&event, Event::CallStarted { tool, .. } if tool == "run_command") {
            self.cancel.cancel();
        }
        self.host.emit(event);
    }

    fn approve<'a>(&'a self, step: StepId, proposal: &'a Proposal) -> Deciding<'a> {
        self.host.approve(step, proposal)
    }

    fn policy(&self) -> &Policy {
        self.host.policy()
    }
}

#[tokio::test]
async fn a_turn_that_ends_during_its_checks_leaves_no_trial() {
    let project = shop(&[("test_shop.py", TESTS)]);
    let script = Script::saying("").on("Write the new `count`", &code("def count(items):\n    return len(items)"));
    let toolkit = indexed(&project, toolkit(&project, script.writing(), Script::saying("")));
    let host = Canceller { host: Witness::new(|_: &Proposal| Decision::Approve), cancel: toolkit.cancel.clone() };
    let ended = run_turn(&toolkit, "Add a function count(items) to shop.py", &host).await;
    assert!(matches!(ended, Err(TurnError::Cancelled)), "the tests were to run: {ended:?}");
    assert_eq!(project.text("shop.py"), SHOP);
}
