//! What a step says: numbers, order, what is to stay, and what code cannot follow.

use super::{after, check, refuses};

const TEN: &str = "1a\n2b\n3c\n4d\n5e\n6f\n7g\n8h\n9i\n10j\n";

#[test]
fn lines_go_by_their_numbers() {
    check("Delete lines 3 and 5 from notes.md", TEN, &["-3c", "-5e"]);
    check("delete lines 3, 5 and 6 from notes.md", TEN, &["-3c", "-5e", "-6f"]);
    check("delete lines 3 to 5 and line 8 of notes.md", TEN, &["-3c", "-4d", "-5e", "-8h"]);
    check("Delete lines from 3 to 5 in notes.md", TEN, &["-3c", "-4d", "-5e"]);
    check("Delete line number 4 from notes.md", TEN, &["-4d"]);
    check("Delete the last two lines of notes.md", TEN, &["-9i", "-10j"]);
    check("Delete the first 3 lines of notes.md", TEN, &["-1a", "-2b", "-3c"]);
    check("удали строки 3 и 5 из notes.md", TEN, &["-3c", "-5e"]);
    check("удали последнюю строку из notes.md", TEN, &["-10j"]);
}

#[test]
fn a_number_or_an_order_of_something_else_is_no_line() {
    let users = "id,name\n1,ann\n2,bob\n3,eve\n";
    let list = "# Notes\n\n- one\n- two\n\nThe end.\n";
    let code = "use a;\n\nfn read() {\n    a();\n}\n";
    for (step, file) in [
        ("Remove the row for user 3 from users.csv", users),
        ("Delete row 3 from users.csv", users),
        ("Delete the line mentioning 3 attempts from notes.md", TEN),
        ("Delete everything after line 3 from notes.md", TEN),
        ("Delete the line after line 5 from notes.md", TEN),
        ("Delete all lines but the first from data.csv", users),
        ("Remove all lines except line 1 from notes.md", TEN),
        ("Remove the first bullet from notes.md", list),
        ("Remove the last entry from config.json", "{\n  \"a\": 1,\n  \"b\": 2\n}\n"),
        ("Remove the last item from the list in notes.md", list),
        ("Remove the first line of the function read from src/b.rs", code),
        ("Delete line 0 from notes.md", TEN),
        ("Delete lines 5 to 3 from notes.md", TEN),
        ("Delete lines 3,5 from notes.md", TEN),
        ("Delete the 5th line from notes.md", TEN),
        ("Delete line 3 and the TODO from notes.md", TEN),
        ("Delete lines 8 to 12 from notes.md", TEN),
    ] {
        refuses(step, file, "name the numbers of its lines");
    }
}

#[test]
fn of_several_things_none_is_left_out() {
    let file = "alice\nbob\ncarol\n";
    refuses("Remove alice, bob and carol from notes.md", file, "`alice, bob and carol` means cannot be told");
    refuses("Remove alice and bob from notes.md", "alice met bob\n", "nothing in notes.md is `alice and bob`");
    refuses("Remove the TODO and the function read from b.rs", "// TODO: read\nfn read() {}\n", "cannot be told");
    check(
        "Remove \"alice\", \"bob\" and \"carol\" from notes.md",
        "x\nalice\nbob\ncarol\n",
        &["-alice", "-bob", "-carol"],
    );
}

#[test]
fn words_that_turn_a_description_round_are_no_content() {
    for (step, file) in [
        ("Remove the lines not containing error from app.log", "error: file not found\nok\n"),
        ("Remove the unused imports from src/lib.rs", "#![allow(unused_imports)]\n"),
        ("Remove the duplicate lines from a.md", "duplicate\n"),
        ("Remove trailing whitespace from a.md", "trailing whitespace\n"),
        ("Remove the rest of the notes from a.md", "the rest of the notes\n"),
    ] {
        refuses(step, file, "cannot be told for sure");
    }
    for (step, file) in [
        ("Remove the line after \"one\" from a.md", "one\ntwo\n"),
        ("Remove everything after \"one\" from a.md", "one\ntwo\n"),
        ("Remove the word \"one\" from the title of a.md", "# one\none\n"),
        ("Remove the word \"one\" in the comments from a.rs", "// one\none();\n"),
        ("Remove the text about caching from a.md", "caching is done\n"),
        ("Remove the text in the header from a.md", "in the header\n"),
        ("Remove the comments in the function read from a.rs", "// read\nfn read() {}\n"),
        ("Remove the comment about b in the function read from a.rs", "// b read\nfn read() {}\n"),
        ("Remove the TODO in parse from a.rs", "// TODO: parse\nfn read() {}\n"),
        ("Remove the comment on line 2 from a.rs", "// one 2\nfn a() {} // two\n"),
        ("Remove some comments from a.rs", "// some\nfn a() {}\n"),
        ("Remove two comments from a.rs", "fn a() {} // two\n"),
        ("Remove the lines starting with x from a.md", "x a\na x\n"),
        ("Remove the line breaks from a.md", "breaks\n"),
        ("Remove the longest line from a.md", "longest\n"),
        ("Remove the todo list from a.md", "# Todo list\n- a\n"),
        ("Remove the line count from a.md", "count: 3\n"),
        ("Delete line two in a.md", "one\ntwo\n"),
        ("Remove the top line of a.md", "x\ntop\n"),
        ("удали вторую строку из a.md", "x\nвторую\n"),
    ] {
        refuses(step, file, "cannot be told for sure");
    }
    check("Remove the word not from a.md", "do not go\n", &["-do not go", "+do go"]);
    check("Remove the function next from a.rs", "fn next() {}\nfn a() {}\n", &["-fn next() {}"]);
    check(
        "Remove next from package.json",
        "{\n  \"a\": 1,\n  \"next\": \"14\"\n}\n",
        &["-  \"a\": 1,", "-  \"next\": \"14\"", "+  \"a\": 1"],
    );
}

#[test]
fn empty_lines_are_those_without_text() {
    let file = "if (isEmpty(x)) return;\n\nlet blank = 1;\n  \nb();\n";
    for step in ["Remove the empty lines from src/list.ts", "Delete all blank lines in src/list.ts"] {
        assert_eq!(after(step, file).as_deref(), Ok("if (isEmpty(x)) return;\nlet blank = 1;\nb();\n"), "{step}");
    }
    assert_eq!(after("убери все пустые строки из a.md", "a\n\nb\n\n").as_deref(), Ok("a\nb\n"));
    check("Remove the empty line from a.ts", "a();\n\nb();\n", &["-"]);
    refuses("Remove the empty lines from a.ts", "a();\n", "nothing");
}

#[test]
fn the_object_ends_before_the_file() {
    let imports = "import foo from './foo.js';\nimport bar from './bar.js';\n";
    check("Remove the import of foo.js from src/a.ts", imports, &["-import foo from './foo.js';"]);
    let config = "admins:\n  - alice\nusers:\n  - alice\n";
    refuses("Remove alice from the admins list in config.yml", config, "nothing");
    refuses("Remove alice from the admins in a.md", "admins: alice, bob\nusers: alice\n", "nothing");
    refuses("Remove the draft from a.md", "a draft\n", "only these words or the lines with them");
    check("Remove the word from from a.md", "far from it\n", &["-far from it", "+far it"]);
    check(
        "Remove the mention of config.json from a.md",
        "see config.json now\n",
        &["-see config.json now", "+see now"],
    );
    let notes = "- retries\n- other\n";
    check("Remove from notes.md the line about retries", notes, &["-- retries"]);
    check("Remove the line in notes.md about retries, please", notes, &["-- retries"]);
    check("Remove the line about retries from notes.md since it is done", notes, &["-- retries"]);
    check("In notes.md take the line about retries out", notes, &["-- retries"]);
    refuses("Remove the comment in a.rs about waiting", "// one\nfn a() {}\n", "nothing");
    refuses("In notes.md, remove the line about retries from users", notes, "nothing");
}

#[test]
fn a_quoted_line_is_the_one_that_says_no_more() {
    check("Delete the line `x = 1` in a.py", "x = 1\ny = x = 1\n", &["-x = 1"]);
    check("Remove the line with \"x = \" from a.py", "x = 1\ny = 1\n", &["-x = 1"]);
}

#[test]
fn a_pronoun_is_no_text() {
    refuses("Remove it from notes.md", "The store caches it.\n", "nothing in notes.md is `it`");
    refuses("Remove them from notes.md", "Find them.\n", "nothing");
    check(
        "Remove the word it from notes.md",
        "The store caches it.\n",
        &["-The store caches it.", "+The store caches."],
    );
}

#[test]
fn forms_of_a_word_are_one_and_beginnings_are_not() {
    refuses("Remove the line about imports from a.md", "- this is important.\n", "nothing");
    let file = "- one import\n- two imports\n";
    check("Remove the line about imports from a.md", file, &["-- two imports"]);
    check("Remove the lines about imports from a.md", file, &["-- one import", "-- two imports"]);
    refuses("Remove the line about imports of uploads from a.md", file, "nothing");
}

#[test]
fn a_thing_is_not_a_word_of_the_code_for_it() {
    refuses("Remove the header from a.html", "<header>\n</header>\n", "quote");
    refuses("Remove logging from a.py", "import logging\n", "`logging` is a part of something else");
    refuses("Remove logging from a.kt", "import logging\n", "`logging` is a part of something else");
    refuses("Remove `foo` from a.rs", "fn foo() {}\n", "`foo` is a part of something else");
    let package = "{\n  \"a\": \"lodash\",\n  \"lodash\": \"1\"\n}\n";
    refuses("Remove lodash from package.json", package, "`lodash` is a part of something else");
    refuses("Remove all references to foo from a.py", "x = foo + 1\n", "`foo` is a part of something else");
    refuses("Remove logging from a.kt", "import logging\n", "`logging` is a part of something else");
    refuses("Remove `foo` from a.rs", "fn foo() {}\n", "`foo` is a part of something else");
    let package = "{\n  \"a\": \"lodash\",\n  \"lodash\": \"1\"\n}\n";
    refuses("Remove lodash from package.json", package, "`lodash` is a part of something else");
    refuses("Remove all references to foo from a.py", "foos = 1\n", "nothing");
    check(
        "Remove logging from a.ts",
        "import { a, logging } from 'x';\n",
        &["-import { a, logging } from 'x';", "+import { a } from 'x';"],
    );
    refuses("Remove all imports from a.py", "import os\nlog('import failed')\n", "nothing");
    let buttons = "<button>Login</button>\n<p>Login</p>\n";
    check("Remove the \"Login\" button from a.html", buttons, &["-<button>Login</button>"]);
    refuses(
        "Remove the variable x from a.ts",
        "const x = 1;\nf(x);\n",
        "2 lines of a.ts have to do with `the variable x`",
    );
    let package = "{\n  \"react-dom\": \"18\",\n  \"react\": \"18\",\n  \"a\": \"1\"\n}\n";
    check("Remove react from package.json", package, &["-  \"react\": \"18\","]);
    let package = "{\n  \"left-pad\": \"1\",\n  \"a\": \"2\"\n}\n";
    check("Remove the \"left-pad\" dependency from package.json", package, &["-  \"left-pad\": \"1\","]);
    check("Remove the line about all users from a.md", "- users\n", &["-- users"]);
    check("Remove (x) from a.md", "a (x) b\n", &["-a (x) b", "+a b"]);
    check("Remove \"x\" from a.c", "f(x);\n", &["-f(x);", "+f();"]);
}
