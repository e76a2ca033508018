//! What is taken out of a file, in the languages people write and in those of their code.

use proptest::prelude::*;

use super::settle_removal;

/// What the file is afterwards; `None` when no single place is meant.
fn after(step: &str, file: &str) -> Option<String> {
    let edits = settle_removal(step, file).expect("a removal");
    let [edit] = edits.as_slice() else { return None };
    assert_eq!(file.matches(edit.old.as_str()).count(), 1, "{step}: not unique: {}", edit.old);
    Some(file.replacen(&edit.old, &edit.new, 1))
}

/// The lines that go or change, and what becomes of those that stay.
fn check(step: &str, file: &str, expected: &[&str]) {
    let after = after(step, file).unwrap_or_else(|| panic!("no edit for: {step}"));
    let changed = similar::TextDiff::from_lines(file, after.as_str());
    let said: Vec<String> = changed
        .iter_all_changes()
        .filter(|change| change.tag() != similar::ChangeTag::Equal)
        .map(|change| format!("{}{}", change.tag(), change.value().trim_end()))
        .collect();
    assert_eq!(said, expected, "{step}");
}

const NOTES: &str = "# Notes

- Caching is done by the store.
- Retries are limited to five.
- The deadline is Friday.
- alice

Draft: this page is a draft text.
";

const CODE: &str = "//! b
use std::fs;

/// Reads it.
#[inline]
fn read(path: &str) -> String {
    if path.is_empty() {
        return String::new();
    }
    fs::read(path)
}

// TODO: handle errors
fn work(a: u8, draft: u8) {
    run(a, draft); // then it waits
}
";

const PACKAGE: &str = "{
  \"name\": \"demo\",
  \"tags\": [\"new\", \"draft\", \"old\"],
  \"scripts\": {
    \"test\": \"jest\"
  },
  \"dependencies\": {
    \"react\": \"18\",
    \"left-pad\": \"1.2.0\"
  }
}
";

#[test]
fn a_line_is_the_one_that_answers() {
    check("take the line about retries out of notes.md", NOTES, &["-- Retries are limited to five."]);
    check("Remove the line about the retry limit from notes.md", NOTES, &["-- Retries are limited to five."]);
    check("Please delete the bullet that mentions Friday in notes.md", NOTES, &["-- The deadline is Friday."]);
    check("In notes.md, remove the line containing \"the store\"", NOTES, &["-- Caching is done by the store."]);
    check("delete line 5 from notes.md", NOTES, &["-- The deadline is Friday."]);
    check(
        "cut lines 3-4 out of notes.md",
        NOTES,
        &["-- Caching is done by the store.", "-- Retries are limited to five."],
    );
    check("remove the last line of notes.md", NOTES, &["-Draft: this page is a draft text."]);
    check("Remove alice from notes.md", NOTES, &["-- alice"]);
    check("убери строку про дедлайн из notes.md", "- дедлайны в пятницу\n- ещё\n", &["-- дедлайны в пятницу"]);
}

#[test]
fn words_go_without_the_line() {
    let left = ["-Draft: this page is a draft text.", "+Draft: this page is a text."];
    check("Remove the word draft from notes.md", NOTES, &left);
    check("get rid of \"limited to\" in notes.md", NOTES, &["-- Retries are limited to five.", "+- Retries are five."]);
    check(
        "remove draft from package.json",
        PACKAGE,
        &["-  \"tags\": [\"new\", \"draft\", \"old\"],", "+  \"tags\": [\"new\", \"old\"],"],
    );
    check("remove a.js from index.html", "<p src=\"a.js\">\n", &["-<p src=\"a.js\">", "+<p src=\"\">"]);
    check("strip the text draft: out of a.md", "draft: one\ntwo\n", &["-draft: one", "+one"]);
    check("remove the word alice from notes.md", NOTES, &["-- alice"]);
}

#[test]
fn comments_and_definitions_go_whole() {
    check("delete the TODO from src/b.rs", CODE, &["-// TODO: handle errors"]);
    check(
        "remove the comment about waiting from src/b.rs",
        CODE,
        &["-    run(a, draft); // then it waits", "+    run(a, draft);"],
    );
    let read = [
        "-/// Reads it.",
        "-#[inline]",
        "-fn read(path: &str) -> String {",
        "-    if path.is_empty() {",
        "-        return String::new();",
        "-    }",
        "-    fs::read(path)",
        "-}",
        "-",
    ];
    check("Remove the function read from src/b.rs", CODE, &read);
    let python = "import os\n\n# Says it.\n@once\ndef greet(it):\n    print(it)\n\n    return it\n\ngreet(1)\n";
    let greet = ["-# Says it.", "-@once", "-def greet(it):", "-    print(it)", "-", "-    return it", "-"];
    check("delete the greet function from a.py", python, &greet);
    check(
        "drop the section about usage from a.md",
        "# A\nx\n## Usage\ny\n### More\nz\n## B\n",
        &["-## Usage", "-y", "-### More", "-z"],
    );
}

#[test]
fn a_list_stays_one() {
    check(
        "Remove left-pad from package.json",
        PACKAGE,
        &["-    \"react\": \"18\",", "-    \"left-pad\": \"1.2.0\"", "+    \"react\": \"18\""],
    );
    check(
        "remove the scripts section from package.json",
        PACKAGE,
        &["-  \"scripts\": {", "-    \"test\": \"jest\"", "-  },"],
    );
}

#[test]
fn all_of_them_go_where_all_are_meant() {
    let file = "a\n// TODO: one\nb\n// TODO: two\nc\n";
    check("remove all TODOs from a.rs", file, &["-// TODO: one", "-// TODO: two"]);
    check("delete every line about two in a.rs", file, &["-// TODO: two"]);
    check("remove the comments from a.rs", file, &["-// TODO: one", "-// TODO: two"]);
    // Which of two is meant is not for code to say.
    assert_eq!(settle_removal("delete the TODO from a.rs", file).map(|edits| edits.len()), Some(2));
}

#[test]
fn what_is_not_pointed_at_stays() {
    for step in [
        "remove the word banana from notes.md",
        "remove the line about bananas from notes.md",
        "Remove the unused imports from src/b.rs",
        "remove the paragraph on bananas and Friday from notes.md",
        "delete line 70 from notes.md",
        "remove the function write from src/b.rs",
        "delete the TODO about bananas from src/b.rs",
        "remove the adjective nice from notes.md",
    ] {
        for file in [NOTES, CODE] {
            assert_eq!(settle_removal(step, file), Some(Vec::new()), "{step}");
        }
    }
}

#[test]
fn what_asks_for_something_else_is_no_removal() {
    for step in [
        "Change the timeout from 5 to 3 in a.rs",
        "Take the retries from 5 to 3",
        "Drop the timeout to 5 in a.rs",
        "Cut the limit by half in a.rs",
        "Read a.rs",
        "Replace the word draft with final in a.md",
        "In a.rs rename remove to delete",
        "",
    ] {
        assert_eq!(settle_removal(step, NOTES), None, "{step}");
    }
}

#[test]
fn a_file_without_a_last_line_end_keeps_none() {
    check("remove the line about two from a.md", "one\ntwo", &["-one", "-two", "+one"]);
    assert_eq!(
        after("remove the line about two from a.md", "one\r\ntwo\r\nsix\r\n").as_deref(),
        Some("one\r\nsix\r\n")
    );
    assert_eq!(after("remove line 1 from a.md", "x\nx\nx\n"), None, "a place that cannot be told from others");
}

proptest! {
    #[test]
    fn only_lines_that_answer_go(what in "[a-z]{2,6}", file in "[a-z \\n\\-#/{}:,\"]{0,120}") {
        for edit in settle_removal(&format!("remove the line about {what} from a.md"), &file).into_iter().flatten() {
            prop_assert_eq!(file.matches(edit.old.as_str()).count(), 1);
            prop_assert!(edit.new.len() < edit.old.len());
        }
    }

    #[test]
    fn no_step_and_no_file_make_it_panic(step in "\\PC{0,60}", file in "(\\PC|\n){0,120}") {
        for form in ["remove", "take out", "delete the line about", "remove the function", "strip the comment", "delete the word"] {
            let _ = settle_removal(&format!("{form} {step} from a.md"), &file);
        }
    }
}
