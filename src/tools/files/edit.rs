//! `edit` and `replace_in_file`: replace passages or a definition in a file. Either all edits of a
//! call are made or none.

use serde_json::Value;

use crate::edit::{self, Edit, Hints, MergeError, Mismatch, Several};
use crate::tools::Context;
use crate::tools::arguments::Arguments;
use crate::tools::confine::Access;
use crate::tools::files::change::{Change, text_of};

/// Maximum number of edits per call.
const EDITS_MAX: usize = 200;

/// `replace_in_file`: replaces one passage, which must be unique.
pub fn replacement(arguments: Arguments<'_>, context: &Context) -> Result<Change, String> {
    let (path, old, new) = (arguments.text("path")?, arguments.text("old")?, arguments.text("new")?);
    changed(path, &Edit::replace(old, new), context)
}

/// `edit`: replaces several passages, each in one place or everywhere, or a whole definition.
pub fn plan(arguments: Arguments<'_>, context: &Context) -> Result<Change, String> {
    let filled = |name| Ok::<_, String>(arguments.optional_text(name)?.filter(|text| !text.trim().is_empty()));
    let (name, code) = (filled("definition")?, filled("code")?);
    let pairs = pairs(arguments)?;
    let edit = match (&pairs[..], name, code) {
        ([], Some(name), Some(code)) => Edit::Definition { name: Some(name.trim()), code, hints: Hints::default() },
        ([], Some(name), None) => {
            return Err(format!(
                "`code` is missing: the whole new text of `{name}`. To remove it, give its text as `old` in `edits`, and an empty `new`"
            ));
        }
        ([], None, _) => {
            return Err(
                "nothing to change: give `edits`, a list of {old, new}, or `definition` with its `code`".to_owned()
            );
        }
        (pairs, None, None) => {
            let several = if arguments.flag("all")? { Several::Wanted } else { Several::Offered };
            Edit::Replace { passages: pairs.to_vec(), several }
        }
        _ => return Err("give either `edits` or `definition` with `code`, each in its own call".to_owned()),
    };
    changed(arguments.text("path")?, &edit, context)
}

/// The old and new text of each edit.
fn pairs<'a>(arguments: Arguments<'a>) -> Result<Vec<(&'a str, &'a str)>, String> {
    let edits = match arguments.0.get("edits") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(edits)) => edits,
        Some(_) => return Err("`edits` is not a list; give [{\"old\": …, \"new\": …}]".to_owned()),
    };
    if edits.len() > EDITS_MAX {
        return Err(format!("{} edits in one call; at most {EDITS_MAX} are made; make several calls", edits.len()));
    }
    let text = |(at, edit): (usize, &'a Value), name: &str| {
        let text = edit.get(name).and_then(Value::as_str);
        text.ok_or_else(|| format!("edit {} of {} has no text `{name}`", at + 1, edits.len()))
    };
    edits.iter().enumerate().map(|one| Ok((text(one, "old")?, text(one, "new")?))).collect()
}

/// The change that an edit makes to a file.
fn changed(path: &str, edit: &Edit<'_>, context: &Context) -> Result<Change, String> {
    let file = context.root.resolve(path, Access::Write).map_err(|error| error.to_string())?;
    if !file.exists() {
        return Err(format!("`{}` does not exist; write_file creates files", file.relative()));
    }
    let before = text_of(&file)?;
    let applied = edit::apply(&file.relative(), &before, edit).map_err(|mismatch| match mismatch {
        Mismatch::Merge(MergeError::NoGrammar { path }) => {
            format!("{path} is in a language whose definitions are unknown; give `edits`")
        }
        other => other.to_string(),
    })?;
    Change::text(file, Some(before), applied.text, applied.notes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::builtin::Builtin;
    use crate::tools::files::walk::testing::{Project, change};
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn replace_in_file_writes_the_file_and_shows_the_change() {
        let project = Project::with(&[("r.ts", "const attempts = 5;\n")]);
        let replaced = |path: &str, old: &str, new: &str| {
            change(Builtin::ReplaceInFile, &project, json!({ "path": path, "old": old, "new": new }))
        };
        assert_eq!(replaced("r.ts", "attempts = 5", "attempts = 3").text, "changed r.ts (+1 -1 lines)");
        assert_eq!(project.text("r.ts"), "const attempts = 3;\n");
        for (path, old) in [("r.ts", " "), ("none.ts", "x"), ("r.ts", "absent entirely")] {
            assert!(!replaced(path, old, "x").is_ok(), "{path} {old}");
        }
    }

    /// Makes the edits in a file `f`, with or without `all`.
    fn check(before: &str, edits: &[[&str; 2]], all: bool, expected: Result<&str, &str>) {
        let project = Project::with(&[("f", before)]);
        let edits: Vec<Value> = edits.iter().map(|[old, new]| json!({ "old": old, "new": new })).collect();
        let outcome = change(Builtin::Edit, &project, json!({ "path": "f", "edits": edits, "all": all }));
        match expected {
            Ok(after) => assert_eq!(project.text("f"), after, "{}", outcome.text),
            Err(why) => {
                assert!(!outcome.is_ok() && outcome.text.contains(why), "{}", outcome.text);
                assert_eq!(project.text("f"), before, "it stays as it was");
            }
        }
    }

    #[test]
    fn several_edits_of_a_file_are_made_together_or_not_at_all() {
        check("a\nb\nc\n", &[["c", "C"], ["a", "A\nA"]], false, Ok("A\nA\nb\nC\n"));
        check("a\r\nb\r\nc", &[["b", "B"], ["c", "C"]], false, Ok("a\r\nB\r\nC"));
        check("\u{feff}a\nb\n", &[["a", "b"], ["b", "a"]], false, Ok("\u{feff}b\na\n"));
        check(
            "a\nb\n",
            &[["a", "A"], ["x", "y"]],
            false,
            Err("no edit was made, because of edit 2 of 2: `old` was not found in f"),
        );
        check("a\nb\n", &[["a\nb", "c"], ["b", "d"]], false, Err("edits 1 and 2 both change line 2 of f"));
        check("a\n", &[["a", "b c"], ["b c", "d"]], false, Err("in the `new` of edit 1; make one edit of both"));
        check("a\n", &[["a", "b"], [" ", "d"]], false, Err("edit 2 of 2: `old` is blank"));
        check("a\n", &[["a", "b"], ["a", "b"]], false, Ok("b\n"));
    }

    #[test]
    fn a_passage_in_several_places_is_replaced_in_all_of_them_if_that_is_wanted() {
        let refused =
            "`old` occurs 2 times in f, at lines 1, 3; add lines before or after it to say which, or give all = true";
        check("x\ny\nx\n", &[["x", "z"]], false, Err(refused));
        check("x\ny\nx\n", &[["x", "z"], ["y", "w"]], true, Ok("z\nw\nz\n"));
        check("a = 1\na = 12\na = 1", &[["a = 1", "a = 2"]], true, Ok("a = 2\na = 12\na = 2"));
        check("  x\n  y\n\n\tx\n\ty\n", &[["x\ny", "x\nz"]], true, Ok("  x\n  z\n\n\tx\n\tz\n"));
        check("x  y\nx\ty", &[["x y", "z"]], true, Ok("z\nz"));
        check(&"a\n".repeat(200_000), &[["a", "aaaaaaaaaa"]], true, Err("at most 1048576 can be written"));
    }

    /// Replaces a definition in a file.
    fn definition(path: &str, before: &str, name: &str, code: &str, expected: Result<&str, &str>) {
        let project = Project::with(&[(path, before)]);
        let outcome =
            change(Builtin::Edit, &project, json!({ "path": path, "definition": name, "code": code, "edits": [] }));
        match expected {
            Ok(after) => assert_eq!(project.text(path), after, "{}", outcome.text),
            Err(why) => assert!(!outcome.is_ok() && outcome.text.contains(why), "{}", outcome.text),
        }
    }

    #[test]
    fn a_definition_is_replaced_or_added_whole() {
        let before = "class Box:\n    def get(self):\n        return 1\n\n    def put(self):\n        return 2\n\n\ndef get():\n    return 3\n";
        let code = "def get(self):\n    return 10";
        definition("a.py", before, "Box.get", code, Ok(&before.replace("return 1\n", "return 10\n")));
        definition(
            "a.py",
            before,
            "get",
            "def get():\n    return 30\n",
            Ok(&before.replace("return 3\n", "return 30\n")),
        );
        let added = "struct A;\n\nfn b() -> u8 {\n    1\n}\n";
        definition("a.rs", "struct A;\n", "b", "fn b() -> u8 {\n    1\n}", Ok(added));
        definition("a.rs", added, "b", "fn c() {}", Err("`code` does not define `b`, but `c`"));
        definition("a.rs", added, "b", "fn b( -> {", Err("does not parse"));
        definition("a.rs", added, "b", " ", Err("`code` is missing"));
        definition("a.txt", "b\n", "b", "fn b() {}", Err("give `edits`"));
    }

    #[test]
    fn a_call_that_is_not_complete_says_what_to_give() {
        let project = Project::with(&[("f", "a\n"), ("dir/g", "")]);
        std::fs::write(project.dir.path().join("bin"), [0xff, 0xfe, 0]).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", project.dir.path().join("out")).unwrap();
        let edits = json!([{ "old": "a", "new": "b" }]);
        for (arguments, part) in [
            (json!({ "path": "f" }), "nothing to change: give `edits`"),
            (json!({ "path": "f", "edits": [{ "old": "a" }] }), "edit 1 of 1 has no text `new`"),
            (json!({ "path": "f", "edits": "a" }), "`edits` is not a list"),
            (json!({ "path": "f", "edits": vec![edits[0].clone(); 201] }), "at most 200"),
            (json!({ "path": "f", "edits": edits, "definition": "a", "code": "b" }), "give either `edits` or"),
            (json!({ "path": "none", "edits": edits }), "`none` does not exist; write_file creates files"),
            (json!({ "path": "bin", "edits": edits }), "not UTF-8"),
            (json!({ "path": "dir", "edits": edits }), "dir"),
            (json!({ "path": "../f", "edits": edits }), "outside"),
            (json!({ "path": "out", "edits": edits }), "out"),
            (json!({ "path": ".git/config", "edits": edits }), ".git"),
        ] {
            let outcome = change(Builtin::Edit, &project, arguments);
            assert!(!outcome.is_ok() && outcome.text.contains(part), "{part}: {}", outcome.text);
        }
        assert_eq!(project.text("f"), "a\n");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_call_that_does_not_fit_leaves_the_file_as_it_is(before in "[ab \n]{0,24}", old in "[ab \n]{0,6}", new in "[abc \n]{0,6}") {
            let project = Project::with(&[("f", before.as_str())]);
            let outcome = change(Builtin::Edit, &project, json!({ "path": "f", "edits": [{ "old": old, "new": new }] }));
            let applied = edit::apply("f", &before, &Edit::Replace { passages: vec![(old.as_str(), new.as_str())], several: Several::Offered });
            prop_assert_eq!(outcome.is_ok(), applied.is_ok(), "{}", outcome.text);
            prop_assert_eq!(project.text("f"), applied.map_or(before, |applied| applied.text));
        }
    }
}
