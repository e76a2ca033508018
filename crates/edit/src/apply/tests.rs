//! Tests each kind of edit, and laws that hold for all of them.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::keyed::{self, Change};

fn text_after(path: &str, old: &str, edit: &Edit<'_>) -> Result<String, String> {
    apply(path, old, edit).map(|applied| applied.text).map_err(String::from)
}

#[test]
fn a_statement_changes_where_it_has_lines_of_its_own() {
    let check = |old: &str, expected: Result<&str, &[usize]>| {
        let edit = Edit::Statement { old: "bake()", new: "bake(3)" };
        match (apply("bake.py", old, &edit), expected) {
            (Ok(applied), Ok(expected)) => assert_eq!(applied.text, expected),
            (Err(Mismatch::Several { lines, .. }), Err(expected)) => assert_eq!(lines, expected, "{old}"),
            (found, _) => panic!("{old}: {found:?}"),
        }
    };
    check("def bake():\n    pass\n\nbake()\n", Ok("def bake():\n    pass\n\nbake(3)\n"));
    check("bake()\n\ndef f():\n    bake()\n", Ok("bake(3)\n\ndef f():\n    bake()\n"));
    check("if warm: bake()", Ok("if warm: bake(3)"));
    check("x = 1\r\nbake()\r\n", Ok("x = 1\r\nbake(3)\r\n"));
    check("bake()\nrest()\nbake()\n", Err(&[1, 3]));
}

#[test]
fn every_kind_of_edit_gives_the_new_text_or_says_what_does_not_fit() {
    let code = "def heat():\n    return 2\n";
    let definition = |name| Edit::Definition { name: Some(name), code, hints: Hints::default() };
    let old = code.replace('2', "1");
    assert_eq!(text_after("oven.py", &old, &definition("heat")).as_deref(), Ok(code));
    let other = "`code` does not define `cool`, but `heat`; nothing was changed";
    assert_eq!(text_after("oven.py", &old, &definition("cool")), Err(other.to_owned()));
    assert_eq!(text_after("oven.py", "a\r\n", &Edit::Whole("b\n")).as_deref(), Ok("b\r\n"));
    assert_eq!(text_after("oven.py", &format!("{old}\n\nx = 3\n"), &Edit::Remove("heat")).as_deref(), Ok("x = 3\n"));
    assert!(text_after("oven.py", &old, &Edit::Remove("cool")).is_err_and(|why| why.contains("which `cool`")));
    let changes = [Change::Set(vec!["oven".to_owned()], json!(220))];
    assert_eq!(
        text_after("a.toml", "oven = 180 # warm\n", &Edit::Entries(&changes)).as_deref(),
        Ok("oven = 220 # warm\n")
    );
    let export = Edit::Export { name: "heat", from: "src/oven/heat.py" };
    let package = "from oven.cool import cool\n\n__all__ = [\"cool\"]\n";
    let exported = "from oven.cool import cool\nfrom oven.heat import heat\n\n__all__ = [\"cool\", \"heat\"]\n";
    assert_eq!(text_after("src/oven/__init__.py", package, &export).as_deref(), Ok(exported));
    let again = apply("src/oven/__init__.py", exported, &export);
    assert!(matches!(again, Err(Mismatch::NoExport { .. })), "{again:?}");
    let large = "x".repeat(WRITE_MAX_BYTES + 1);
    assert!(matches!(apply("a", "", &Edit::Whole(&large)), Err(Mismatch::TooLarge { .. })));
}

/// The shortest passages of whole lines that contain all differences between `old` and `new`, such
/// that the first one occurs once in `old`; `None` if there are no differences.
fn difference(old: &str, new: &str) -> Option<(String, String)> {
    let [was, is] = [old, new].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
    let first = was.iter().zip(&is).take_while(|(a, b)| a == b).count();
    let most = was.len().min(is.len()) - first;
    let last = was.iter().rev().zip(is.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    (0..=was.len().max(is.len())).find_map(|around| {
        let (from, behind) = (first.saturating_sub(around), last.saturating_sub(around));
        let passage = was[from..was.len() - behind].concat();
        let is_unique = !passage.trim().is_empty() && old.find(&passage) == old.rfind(&passage);
        is_unique.then(|| (passage, is[from..is.len() - behind].concat()))
    })
}

fn lines(end: &'static str) -> impl Strategy<Value = String> {
    proptest::collection::vec("[ab]{0,2}|  [ab]{1,2}", 1..8)
        .prop_map(move |lines| lines.into_iter().map(|line| format!("{line}{end}")).collect())
}

/// A file of functions and the number that each returns.
fn functions(numbers: &[u8]) -> String {
    numbers.iter().enumerate().map(|(at, number)| function(at, *number)).collect::<Vec<_>>().join("\n\n")
}

fn function(at: usize, number: u8) -> String {
    format!("def bake_{at}(dough):\n    return dough * {number}\n")
}

/// The changes that turn one map of entries into another.
fn entries(old: &Value, new: &Value) -> Vec<Change> {
    let [old, new] = [old, new].map(|value| value.as_object().cloned().unwrap_or_default());
    let gone = old.keys().filter(|key| !new.contains_key(*key)).map(|key| Change::Remove(vec![key.clone()]));
    let set = new.iter().filter(|(key, value)| old.get(*key) != Some(value));
    gone.chain(set.map(|(key, value)| Change::Set(vec![key.clone()], value.clone()))).collect()
}

fn map() -> impl Strategy<Value = Value> {
    proptest::collection::hash_map("[a-e]", 0..9_i64, 0..5).prop_map(|map| json!(map))
}

proptest! {
    #[test]
    fn a_passage_made_from_two_texts_gives_the_second(old in lines("\n"), new in lines("\n")) {
        if let Some((was, is)) = difference(&old, &new) {
            prop_assert_eq!(text_after("f", &old, &Edit::replace(&was, &is)), Ok(new));
        }
    }

    #[test]
    fn a_passage_gets_the_line_ends_of_its_file(old in lines("\r\n"), new in lines("\r\n")) {
        if let Some((was, is)) = difference(&old, &new) {
            let (was, is) = (was.replace("\r\n", "\n"), is.replace("\r\n", "\n"));
            prop_assert_eq!(text_after("f", &old, &Edit::replace(&was, &is)), Ok(new));
        }
    }

    #[test]
    fn a_whole_text_is_the_new_text(old in lines("\n"), new in lines("\n")) {
        prop_assert_eq!(text_after("f", &old, &Edit::Whole(&new)), Ok(new));
    }

    #[test]
    fn definitions_made_from_two_texts_give_the_second(pairs in proptest::collection::vec((0..9_u8, 0..9_u8), 1..6)) {
        let (old, new): (Vec<u8>, Vec<u8>) = pairs.iter().copied().unzip();
        let code: String = (0..pairs.len()).filter(|at| old[*at] != new[*at]).map(|at| function(at, new[at]) + "\n").collect();
        let edit = Edit::Definition { name: None, code: &code, hints: Hints::default() };
        if !code.is_empty() {
            prop_assert_eq!(text_after("a.py", &functions(&old), &edit), Ok(functions(&new)));
        }
    }

    #[test]
    fn entries_made_from_two_texts_give_the_second(old in map(), new in map()) {
        let changes = entries(&old, &new);
        let json = text_after("a.json", &serde_json::to_string_pretty(&old).unwrap(), &Edit::Entries(&changes)).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Value>(&json).unwrap(), &new);
        let toml = text_after("a.toml", &toml::to_string(&old).unwrap(), &Edit::Entries(&changes)).unwrap();
        prop_assert_eq!(&toml::from_str::<Value>(&toml).unwrap(), &new);
    }

    #[test]
    fn entries_of_yaml_get_the_line_ends_of_their_file(old in map(), new in 0..9_i64) {
        prop_assume!(old != json!({}));
        let block: String = old.as_object().unwrap().iter().map(|(key, value)| format!("{key}: {value}\r\n")).collect();
        let changes = [Change::Set(vec!["z".to_owned()], json!(new))];
        prop_assert_eq!(text_after("a.yaml", &block, &Edit::Entries(&changes)), Ok(format!("{block}z: {new}\r\n")));
    }

    #[test]
    fn entries_of_yaml_made_from_two_texts_give_the_second(old in map(), new in map()) {
        prop_assume!(old != json!({}) && new != json!({}));
        // A block cannot lose its last entry, so additions come first.
        let mut changes = entries(&old, &new);
        changes.sort_by_key(|change| matches!(change, Change::Remove(_)));
        let block: String = old.as_object().unwrap().iter().map(|(key, value)| format!("{key}: {value} # {key}\n")).collect();
        for yaml in [block, serde_json::to_string_pretty(&old).unwrap(), old.to_string()] {
            let after = text_after("a.yaml", &yaml, &Edit::Entries(&changes));
            let read = after.as_ref().map(|after| keyed::read("a.yaml", after));
            prop_assert_eq!(read, Ok(Some(new.clone())), "{}", yaml);
        }
    }

    #[test]
    fn a_passage_that_is_there_twice_is_refused_with_both_places(above in lines("\n"), passage in "[cd]{1,4}", between in lines("\n"), below in lines("\n")) {
        let old = format!("{above}{passage}\n{between}{passage}\n{below}");
        let found = apply("f", &old, &Edit::replace(&passage, "new"));
        let [first, second] = [above.lines().count() + 1, above.lines().count() + between.lines().count() + 2];
        let Err(Mismatch::Several { lines, .. }) = found else { panic!("{found:?}") };
        prop_assert_eq!(lines, [first, second]);
    }
}
