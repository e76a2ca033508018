//! Tests the completion of steps: no part of a request is dropped, and related parts become one step.

use super::*;
use crate::steps::read;

fn check(text: &str, request: &str, expected: &[(Kind, &str)]) {
    let steps = covered(read(text), request);
    let found: Vec<(Kind, &str)> = steps.iter().map(|step| (step.kind, step.text.raw())).collect();
    assert_eq!(found, expected, "{request}");
}

#[test]
fn an_answer_of_the_model_becomes_steps() {
    let request = "Rename a_b to c_d and run the tests";
    check(
        "rename: a_b -> c_d\nrun: run the tests",
        request,
        &[(Kind::Rename, "a_b -> c_d"), (Kind::Run, "run the tests")],
    );
}

#[test]
fn a_part_of_a_question_is_no_order() {
    for request in ["Tell me the default of maxAge", "whats the default of maxAge and where is it set"] {
        check("ask: the default of maxAge", request, &[(Kind::Ask, request)]);
        check("ask: the default\nrename: maxAge -> maxAge", request, &[(Kind::Ask, request)]);
    }
    let request = "When I save twice, the second copy of maxAge is lost";
    check("edit: the second copy of maxAge is lost", request, &[(Kind::Edit, request)]);
}

#[test]
fn no_part_of_a_request_is_dropped() {
    let edit = |text| (Kind::Edit, text);
    let ask = |text| (Kind::Ask, text);
    let request = "raise the limit of Queue to 9. Where is it checked?";
    check(&format!("edit: {request}"), request, &[edit("raise the limit of Queue to 9."), ask("Where is it checked?")]);
    let request = "raise the largest page size to 5 thousand. Where is it read?";
    let two = [edit("raise the largest page size to 5 thousand."), ask("Where is it read?")];
    check(&format!("edit: {request}"), request, &two);
    let request = "The guide has a section on limits. Could you also say there that names are cut? And remove nothing.";
    check(&format!("ask: {request}"), request, &[edit(request)]);
    // A question that the model put into a change, and a change that it put into a question.
    let request = "Set the limit of Queue to 9 in a.py. Where is maxAge set?";
    let two = [edit("Set the limit of Queue to 9 in a.py."), ask("Where is maxAge set?")];
    check(&format!("edit: {request}"), request, &two);
    check("ask: Where is maxAge set?\nedit: Set the limit of Queue to 9 in a.py.", request, &two);
    let request = "Where is maxAge set and remove the unused helper old_age from b.py?";
    let steps = covered(read(&format!("ask: {request}")), request);
    assert_eq!(steps.iter().map(|step| step.kind).collect::<Vec<_>>(), [Kind::Ask, Kind::Edit], "{steps:?}");
    // A repair next to something else.
    let request = "Two parser tests fail, fix them. Bump the version in setup.py to 2.1.";
    let steps = covered(
        read("edit: Two parser tests fail\nedit: fix them\nedit: Bump the version in setup.py to 2.1."),
        request,
    );
    let kinds: Vec<Kind> = steps.iter().map(|step| step.kind).collect();
    assert_eq!(kinds, [Kind::Fix, Kind::Edit], "{steps:?}");
    // A command inside a change.
    let request = "Add a flag quiet to cli.py and run the tests";
    let steps = covered(read(&format!("edit: {request}")), request);
    assert_eq!(steps.iter().map(|step| step.kind).collect::<Vec<_>>(), [Kind::Edit, Kind::Run], "{steps:?}");
}

#[test]
fn a_long_request_is_split_without_losing_a_part() {
    let request: String = (1..=20).map(|at| format!("Set the value of number{at} in a.py to {at}. ")).collect();
    assert_eq!(covered(Vec::new(), request.trim()).len(), 20);
}

#[test]
fn what_a_change_is_to_give_is_part_of_it() {
    let request = "Can you make size_of take a path too? size_of('a') should be 1.";
    check(
        "edit: Can you make size_of take a path too?\nedit: size_of('a') should be 1",
        request,
        &[(Kind::Edit, request)],
    );
}

#[test]
fn what_is_to_stay_is_no_step() {
    let request = "Add a line about Python to README.md. And remove nothing.";
    check("edit: Add a line about Python to README.md.\nedit: And remove nothing.", request, &[(Kind::Edit, request)]);
}

#[test]
fn an_order_that_was_cut_in_two_is_one() {
    let request = "Füge eine Funktion id_of(name) hinzu: aus 'A' wird 'a_id'";
    check("ask: id_of(name)\nedit: hinzu", request, &[(Kind::Edit, request)]);
}

#[test]
fn a_command_that_fails_is_made_to_pass() {
    let request = "`python3 -m unittest a` fails. Find out why, then mend it";
    check("edit: Find out why, then mend it", request, &[(Kind::Fix, request)]);
}

#[test]
fn failing_tests_are_made_to_pass() {
    let request = "Some oven tests fail since this morning. Please make them green again, and leave the tests alone.";
    check("edit: Some oven tests fail\nedit: make them green again", request, &[(Kind::Fix, request)]);
    let named = "node --test a.test.js is red today. Find the reason and mend it, the test is right.";
    check("run: node --test a.test.js\nedit: Find the reason and mend it", named, &[(Kind::Fix, named)]);
    let new = "Write a test that fails when f gets 0 and make f pass it";
    check(&format!("edit: {new}"), new, &[(Kind::Edit, new)]);
}

#[test]
fn the_form_of_an_answer_is_no_question() {
    let request = "who calls read_all? list all methods";
    check("ask: who calls read_all?\nask: list all methods", request, &[(Kind::Ask, request)]);
    let request = "who calls read_all? list what is in src/a.py";
    let two = [(Kind::Ask, "who calls read_all?"), (Kind::Ask, "list what is in src/a.py")];
    check("ask: who calls read_all?\nask: list what is in src/a.py", request, &two);
}

#[test]
fn a_question_changes_nothing() {
    let request = "wo wird entschieden, ob die Tür aufgeht, und wie lange darf das Brot höchstens backen?";
    assert_eq!(crate::steps::plain(request).map(|step| step.kind), Some(Kind::Ask));
    let request = "In which case is load() called and how do I change that?";
    check("ask: In which case is load() called\nedit: change that", request, &[(Kind::Ask, request)]);
    for order in ["Can you add a flag?", "How is x set? Set it to 5.", "Where is x and remove it?"] {
        assert!(!kind::only_asks(order), "{order}");
    }
}

#[test]
fn a_test_library_is_no_command() {
    let request = "write a test for f in f.test.ts, with node:test and assert/strict";
    check("edit: write a test for f in f.test.ts\nrun: node:test and assert/strict", request, &[(Kind::Edit, request)]);
}

#[test]
fn a_clause_the_model_left_out_is_put_in() {
    let request = "Read setup.py, then run the tests";
    check("ask: setup.py", "Read setup.py", &[(Kind::Ask, "Read setup.py")]);
    check("ask: Read setup.py", request, &[(Kind::Ask, "Read setup.py"), (Kind::Run, "Run the tests")]);
}

#[test]
fn words_that_no_step_contains_join_a_neighbouring_step() {
    let request =
        "Ovens get a method count() that says how many loaves it holds. Add it in a.ts and to the Oven interface";
    check("edit: Add it in a.ts\nedit: to the Oven interface", request, &[(Kind::Edit, request)]);
    let request = "Add a method `clear` to Queue that empties it and say so in the README";
    let steps = [(Kind::Edit, "Add a method `clear` to Queue that empties it"), (Kind::Edit, "say so in the README")];
    check("edit: Add a method `clear` to Queue that empties it\nedit: say so in the README", request, &steps);
    let request = "Parsing an empty list gives None here, not a list. Fix that, then run the tests";
    let first = "Parsing an empty list gives None here, not a list. Fix that";
    check("edit: Fix that\nrun: run the tests", request, &[(Kind::Edit, first), (Kind::Run, "run the tests")]);
}

#[test]
fn a_test_is_written_after_its_code() {
    let apart = |text: &str| -> Vec<String> {
        tests_apart(vec![(Kind::Edit, text.to_owned())]).into_iter().map(|(_, text)| text).collect()
    };
    assert_eq!(
        apart("Add a function tail(text) to a.py with a test for it in test_a.py"),
        ["Add a function tail(text) to a.py", "Write a test for it in test_a.py"]
    );
    assert_eq!(
        apart("count says one for ''; make it 0 and add a test"),
        ["count says one for ''; make it 0", "add a test"]
    );
    assert_eq!(
        apart("Add a function tail(text) to latest.py with a test for it"),
        ["Add a function tail(text) to latest.py", "Write a test for it"]
    );
    assert_eq!(
        apart("Raise the default ttl to 5 minutes and update the README"),
        ["Raise the default ttl to 5 minutes", "update the README"]
    );
    assert_eq!(
        apart("get 2.4.0 ready: bump the version, and the README still says 16.2+, make that 18.4+"),
        ["get 2.4.0 ready: bump the version", "the README still says 16.2+, make that 18.4+"]
    );
    for whole in ["Add a test for nought and one for ten", "Add a flag and make the tests pass", "Add f, with care"] {
        assert_eq!(apart(whole), [whole]);
    }
}

#[test]
fn lines_that_are_no_steps_are_ignored() {
    check("hello\nask: \n", "What is the port?", &[(Kind::Ask, "What is the port?")]);
}

#[test]
fn a_step_without_its_verb_gets_its_clause() {
    let request = "Please run the tests in lib/ and say how many of them passed";
    check(
        "run: lib/\nask: how many of them passed",
        request,
        &[(Kind::Run, "Please run the tests in lib/"), (Kind::Ask, "say how many of them passed")],
    );
    let request = "Run the tests in a/b.rs and say how many of them passed";
    check(
        "run: tests\nask: how many of them passed",
        request,
        &[(Kind::Run, "Run the tests in a/b.rs"), (Kind::Ask, "say how many of them passed")],
    );
    let request = "lower the smallest page to 5 rows. Where is it compared?";
    check(
        "edit: lower the smallest page to 5 rows\nrun: compared",
        request,
        &[(Kind::Edit, "lower the smallest page to 5 rows"), (Kind::Ask, "Where is it compared?")],
    );
}
