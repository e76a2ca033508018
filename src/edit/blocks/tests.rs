//! Tests of the module above.

use proptest::prelude::*;

use super::*;

fn block(search: &str, replace: &str) -> String {
    format!("Here it is:\n<<<<<<< SEARCH\n{search}\n=======\n{replace}\n>>>>>>> REPLACE\n")
}

fn check(before: &str, search: &str, replace: &str, expected: &str) {
    let text = match apply("a.md", before, &block(search, replace)) {
        Ok(edited) => edited.text,
        Err(error) => format!("error: {error}"),
    };
    assert_eq!(text, expected);
}

#[test]
fn a_passage_is_found_exactly_or_by_its_words() {
    check("# A\n\none\ntwo\n", "one", "1", "# A\n\n1\ntwo\n");
    check("a {\n    b: c;\n}\n", "b: c;", "b: d;\ne: f;", "a {\n    b: d;\n    e: f;\n}\n");
    check("a:\n  b: 1   \n  c: 2\n", "  b: 1\n  c: 2", "  b: 3\n  c: 2", "a:\n  b: 3\n  c: 2\n");
    check("x\r\ny\r\n", "y", "z\nw", "x\r\nz\r\nw\r\n");
    check("[a]\nb = 1", "b = 1", "b = 2", "[a]\nb = 2");
    check("a\nb\nc\n", "b", "", "a\nc\n");
    check("a\n", "", "b", "a\nb\n");
}

#[test]
fn the_nearest_passage_is_taken_only_if_it_is_sure() {
    let before = "The quick brown fox jumps over the lazy dog.\n\nAnother paragraph says something else entirely.\n";
    check(
        before,
        "The quick brown fox jumped over the lazy dog.",
        "The fox is gone.",
        &before.replace("The quick brown fox jumps over the lazy dog.", "The fox is gone."),
    );
    check(
        "alpha beta gamma\ndelta\n",
        "alpha beta\nepsilon",
        "x",
        "error: the SEARCH part of block 1 is not in a.md; the nearest passage is lines 1-2 (65% alike), copy it without the numbers:\n1| alpha beta gamma\n2| delta",
    );
    check(
        "a\nb\na\n",
        "a",
        "c",
        "error: the SEARCH part of block 1 is in a.md 2 times, at lines 1, 3; add a line above or below that tells them apart",
    );
    check("a\n", "a", "a", "error: nothing changed: what was written is what the file has already");
    check("b\n", "a", "b", "error: nothing changed: what was written is what the file has already");
}

#[test]
fn what_is_no_block_is_told() {
    let check = |written: &str, expected: BlockError| assert_eq!(apply("a.md", "a\n", written), Err(expected));
    check("a\n", BlockError::NoBlock);
    check("<<<<<<< SEARCH\na\n", BlockError::Open { block: 1, missing: "=======" });
    check("<<<<<<< SEARCH\na\n=======\nb\n", BlockError::Open { block: 1, missing: ">>>>>>> REPLACE" });
}

#[test]
fn lines_are_rewritten_at_their_indentation() {
    let edited = rewrite("a.css", "a {\n    b: c;\n    d: e;\n}\n", 2..=3, "```css\nb: 1;\n  d: 2;\n```\n").unwrap();
    assert_eq!(edited.text, "a {\n    b: 1;\n      d: 2;\n}\n");
    assert!(matches!(rewrite("a.css", "a\n", 2..=3, "b"), Err(BlockError::NoSuchLines { lines: 1, .. })));
}

proptest! {
    #[test]
    fn no_text_brings_it_down(before in "[ab \n\r\t=<>]{0,80}", search in "[ab \n\t]{0,30}", replace in "[ab \n\t]{0,30}") {
        let _ = apply("a.md", &before, &block(&search, &replace));
        let _ = apply("a.md", &search, &before);
        let _ = rewrite("a.md", &before, 1..=2, &replace);
    }
}
