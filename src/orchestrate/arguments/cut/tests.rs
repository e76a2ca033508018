//! What is taken out of a file, in the languages people write and in those of their code.

mod code;
mod comments;
mod laws;
mod said;

use super::settle_removal;
use crate::orchestrate::arguments::edit::Edit;
use crate::orchestrate::decompose::names::is_path;

/// The places that a step means in the file that it names last.
fn settled(step: &str, file: &str) -> Result<Vec<Edit>, String> {
    let bare = |word: &str| word.trim_end_matches([',', '.']).to_owned();
    let path = step.split(' ').map(bare).rfind(|word| is_path(word)).unwrap_or_default();
    settle_removal(step, &path, file).unwrap_or_else(|| panic!("no removal: {step}"))
}

/// What the file is afterwards; why it stays as it is, or how many places may be meant.
fn after(step: &str, file: &str) -> Result<String, String> {
    let edits = settled(step, file)?;
    let [edit] = edits.as_slice() else { return Err(format!("{} places", edits.len())) };
    assert_eq!(file.matches(edit.old.as_str()).count(), 1, "{step}: not unique: {}", edit.old);
    Ok(file.replacen(&edit.old, &edit.new, 1))
}

/// The lines that go or change, and what becomes of those that stay.
fn check(step: &str, file: &str, expected: &[&str]) {
    let after = after(step, file).unwrap_or_else(|reason| panic!("no edit for: {step}: {reason}"));
    let changed = similar::TextDiff::from_lines(file, after.as_str());
    let said: Vec<String> = changed
        .iter_all_changes()
        .filter(|change| change.tag() != similar::ChangeTag::Equal)
        .map(|change| format!("{}{}", change.tag(), change.value().trim_end()))
        .collect();
    assert_eq!(said, expected, "{step}");
}

/// Nothing is taken out, and why holds this.
fn refuses(step: &str, file: &str, why: &str) {
    match after(step, file) {
        Err(reason) => assert!(reason.contains(why), "{step}: {reason}"),
        Ok(after) => panic!("{step}: {after}"),
    }
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
    let file = "use a;\n// TODO: one\nuse b;\n// TODO: two\nuse c;\n";
    check("remove all TODOs from a.rs", file, &["-// TODO: one", "-// TODO: two"]);
    check("delete every line about two in a.rs", file, &["-// TODO: two"]);
    check("remove the comments from a.rs", file, &["-// TODO: one", "-// TODO: two"]);
    // Which of two is meant is not for code to say.
    refuses("delete the TODO from a.rs", file, "2 places");
}

#[test]
fn what_is_not_pointed_at_stays() {
    for step in [
        "remove the word banana from notes.md",
        "remove the line about bananas from notes.md",
        "Remove the unused imports from src/b.rs",
        "remove the paragraph on bananas and Friday from notes.md",
        "remove the function write from src/b.rs",
        "delete the TODO about bananas from src/b.rs",
        "remove the adjective nice from notes.md",
    ] {
        for file in [NOTES, CODE] {
            refuses(step, file, "quote the text that is to go, or name the numbers of its lines");
        }
    }
    refuses("remove the line about bananas from notes.md", NOTES, "nothing in notes.md is `the line about bananas`");
    refuses("delete line 70 from notes.md", NOTES, "notes.md has 8 line(s)");
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
        "Drop a TODO in src/b.rs",
        "Drop a note about the deadline in notes.md",
        "Leave a comment in src/a.rs that we time out",
        "Leave debug off in config.toml",
        "In a.rs drop a note that the lock is held",
        "",
    ] {
        assert_eq!(settle_removal(step, "notes.md", NOTES), None, "{step}");
    }
}

#[test]
fn line_ends_stay_as_they_are() {
    check("remove the line about two from a.md", "one\ntwo", &["-one", "-two", "+one"]);
    for (step, file, expected) in [
        ("remove the line about two from a.md", "one\r\ntwo\r\nsix\r\n", "one\r\nsix\r\n"),
        ("delete line 2 of a.md", "one\r\ntwo", "one"),
        ("remove the word two from a.md", "one two\r\nsix\r\n", "one\r\nsix\r\n"),
        ("remove the comments from a.c", "a(); // one\r\nb();\r\n", "a();\r\nb();\r\n"),
        ("delete line 1 from a.md", "x\nx\nx\n", "x\nx\n"),
        ("delete line 1 from a.md", "one", ""),
    ] {
        assert_eq!(after(step, file).as_deref(), Ok(expected), "{step}");
    }
    // A line among others like it cannot be told from them.
    refuses("delete line 50 from a.md", &"x\n".repeat(100), "cannot be told from others");
}

#[test]
fn a_place_is_told_from_others_by_the_lines_around_it() {
    let file = "// TODO\na();\n// TODO\nb();\n";
    let edits = settled("Delete the TODO from a.rs", file).expect("places");
    let after: Vec<String> = edits.iter().map(|edit| file.replacen(&edit.old, &edit.new, 1)).collect();
    assert_eq!(after, ["a();\n// TODO\nb();\n", "// TODO\na();\nb();\n"]);
    let many: String = (0..10_000).map(|n| format!("// TODO: {n}\na();\n")).collect();
    refuses("Delete the TODO from a.c", &many, "10000 places in a.c may be `the TODO`; say that all are meant");
}

#[test]
fn a_comma_goes_only_with_an_item() {
    let go = "x := []int{\n\t1,\n\t// TODO: more\n}\n";
    check("delete the TODO from a.toml", "x = [\n  1,\n  # TODO: more\n]\n", &["-  # TODO: more"]);
    check("delete the TODO from a.go", &format!("package a\n\nfunc f() {{\n{go}}}\n"), &["-\t// TODO: more"]);
    check("delete the TODO from a.py", "x = (\n  1,\n  # TODO\n)\n", &["-  # TODO"]);
    check("delete line 3 of a.md", "a\n\nb\n\nc\n", &["-b"]);
    check("remove the line about b from a.md", "a\n\nb\n\nc\n", &["-b", "-"]);
}

#[test]
fn texts_that_touch_are_cut_one_after_the_other() {
    assert_eq!(after("Remove \"very \" from a.md", "it is very very \n").as_deref(), Ok("it is\n"));
    assert_eq!(after("Remove \"x, \" from a.py", "[x, x, ]\n").as_deref(), Ok("[]\n"));
    assert_eq!(
        after("remove \"draft\" from a.json", "[\"old\", \"draft\", \"draft\"]\n").as_deref(),
        Ok("[\"old\"]\n")
    );
    let long = "word ".repeat(200_000);
    assert_eq!(after("Remove the word word from a.md", &format!("a {long}b\n")).as_deref(), Ok("a b\n"));
}
