//! Which comments go, and what only looks like one.

use super::{check, refuses};

#[test]
fn what_only_looks_like_a_comment_stays() {
    for (path, file) in [
        ("stats.py", "half = total // 2\n"),
        ("a.rs", "#![x]\nfn a(count: &mut u8) {\n    *count += 1;\n}\n"),
        ("deploy.sh", "#!/bin/sh\ngit checkout -- .\ncargo test -- --nocapture\n"),
        ("style.css", "#header {\n}\n* {\n}\n"),
        ("README.md", "# A\n\n* one\n* two\n\ntext -- more\n"),
        ("a.ts", "const url = \"https://x\";\n"),
        ("a.json", "{\n  \"a\": \"# b // c\"\n}\n"),
        ("main.go", "//go:build linux\n\npackage a\n"),
    ] {
        refuses(&format!("Remove the comments from {path}"), file, "quote");
    }
}

#[test]
fn comments_go_by_the_language_of_the_file() {
    check(
        "Remove the comments from deploy.sh",
        "#!/bin/sh\n# Deploys.\ngit checkout -- . # all of it\necho \"# no\"\n",
        &["-# Deploys.", "-git checkout -- . # all of it", "+git checkout -- ."],
    );
    check(
        "Remove the comments from a.ts",
        "const url = \"https://x\"; // here\nconst n = 1; /* a\n b */ run();\nf(/* x */ y);\n",
        &[
            "-const url = \"https://x\"; // here",
            "-const n = 1; /* a",
            "- b */ run();",
            "-f(/* x */ y);",
            "+const url = \"https://x\";",
            "+const n = 1;",
            "+run();",
            "+f(y);",
        ],
    );
    check("Remove the comments from a.py", "a = 4 // 2  # half\ns = '# no'\n", &["-a = 4 // 2  # half", "+a = 4 // 2"]);
    check("Remove comments from a.py", "a = 1  # one\n", &["-a = 1  # one", "+a = 1"]);
    check("удали комментарии из a.py", "a = 1  # one\n", &["-a = 1  # one", "+a = 1"]);
    let literal = "a = r#\"// no\"#; // yes\n";
    check(
        "Remove comments from a.rs",
        &format!("fn a() {{\n{literal}}}\n"),
        &["-a = r#\"// no\"#; // yes", "+a = r#\"// no\"#;"],
    );
    check("Strip all comments from a.css", "/* one\n * two */\n#a {\n}\n", &["-/* one", "- * two */"]);
    check("Remove the comments from a.md", "# A\n<!-- one -->\n```\n<!-- two -->\n```\n", &["-<!-- one -->"]);
    check("Remove the comments from a.tsx", "x = <a>\n  {/* one */}\n</a>;\n", &["-  {/* one */}"]);
    check(
        "Remove all comments from a.sql",
        "-- one\nselect '-- two'; -- three\n",
        &["--- one", "-select '-- two'; -- three", "+select '-- two';"],
    );
}

#[test]
fn a_comment_goes_whole_or_not_at_all() {
    let file = "/* Parses dates.\n   and more\n */\nfn a() {}\n";
    let gone = ["-/* Parses dates.", "-   and more", "- */"];
    check("remove the comment about parsing dates from a.rs", file, &gone);
    check("remove the comment about parsing dates from a.c", file, &gone);
    refuses(
        "remove the comment about parsing dates from a.c",
        "/* Parses dates.\nint a;\n",
        "line 1 may be text or a comment",
    );
    refuses("Remove the comments from a.rs", "// one\nfn a( {\n", "is not understood");
    refuses("Remove the comments from a.sh", "cat <<EOF\n# text\nEOF\n", "`<<` may begin a text of several lines");
    refuses("Remove the comments from a.yml", "a: it's # one\n", "line 1 may be text or a comment");
    refuses("Remove the comments from a.sh", "a=\"$(b \"c # d\")\"\n", "line 1 may be text or a comment");
    refuses("Remove the comments from a.kt", "// one\n", "is not known");
}

#[test]
fn comment_lines_that_follow_each_other_are_one() {
    let file = "// retries a\n// retries b\nfn a() {}\n";
    check("remove the comment about retries from a.rs", file, &["-// retries a", "-// retries b"]);
}

#[test]
fn a_todo_ends_where_the_next_comment_begins() {
    let file = "// TODO: one\n//   and more\n// TODO: two\nfn a() {}\n";
    check("delete the TODO about one from a.rs", file, &["-// TODO: one", "-//   and more"]);
    check("delete all TODOs from a.rs", file, &["-// TODO: one", "-//   and more", "-// TODO: two"]);
    check("delete the TODO from a.rs", "/// Reads.\n/// TODO: more\nfn a() {}\n", &["-/// TODO: more"]);
    check("delete the TODO from a.md", "- one\n- TODO: two\n", &["-- TODO: two"]);
    refuses("delete the TODO from a.rs", "// TODO: one\n// or two\nfn a() {}\n", "line 1 of a.rs ends cannot be told");
}
