//! Tests laws of merges in languages by query, for each definition in each sample file.

use super::by_query::{C, CPP, CSHARP, JAVA, KOTLIN, LUA, PHP, RUBY, SCALA, SHELL, SWIFT};
use super::{Hints, MergeError, merge};
use crate::heads::squeezed;
use crate::index::parts::{Sort, Span, definitions};
use crate::{Edit, Mismatch, apply};

/// Each sample, and a statement in its language.
const SAMPLES: &[(&str, &str, &str)] = &[
    ("kiln.c", C, "mark();"),
    ("kiln.cpp", CPP, "mark();"),
    ("Kiln.cs", CSHARP, "mark();"),
    ("Kiln.java", JAVA, "mark();"),
    ("Kiln.kt", KOTLIN, "mark()"),
    ("kiln.lua", LUA, "mark()"),
    ("Kiln.php", PHP, "mark();"),
    ("kiln.rb", RUBY, "mark"),
    ("Kiln.scala", SCALA, "mark()"),
    ("kiln.sh", SHELL, "mark"),
    ("Kiln.swift", SWIFT, "mark()"),
];

/// The result of replacing a definition with `code` by its line, as the guide does.
fn by_line(path: &str, text: &str, span: &Span, code: &str) -> Result<String, MergeError> {
    let hints = Hints { container: span.container.last().cloned(), line: Some(span.lines.0), ..Hints::default() };
    merge(path, text, code, &hints).map(|merged| merged.text)
}

/// The same by its name, as a leading model does it.
fn by_name(path: &str, text: &str, span: &Span, code: &str) -> Result<String, Mismatch> {
    let name = span.container.iter().chain([&span.name]).cloned().collect::<Vec<_>>().join(".");
    apply(path, text, &Edit::Definition { name: Some(&name), code, hints: Hints::default() })
        .map(|applied| applied.text)
}

#[test]
fn a_definition_that_is_written_again_changes_nothing() {
    for (path, text, _) in SAMPLES {
        for span in definitions(path, text) {
            let code = &text[span.bytes.clone()];
            let again = by_line(path, text, &span, code);
            let nothing = matches!(again, Err(MergeError::NothingChanged | MergeError::OnlyModifiers { .. }));
            assert!(nothing, "{path} {}: {again:?}", span.name);
            let named = by_name(path, text, &span, code);
            assert!(named.is_err(), "{path} {}: {named:?}", span.name);
        }
    }
}

#[test]
fn a_changed_function_changes_in_its_place_and_nothing_else_does() {
    let mut changed = 0;
    for (path, text, mark) in SAMPLES {
        for span in definitions(path, text).into_iter().filter(|span| span.sort == Sort::Function) {
            let Some(body) = span.body.clone().filter(|body| !text[body.clone()].trim_start().starts_with('=')) else {
                continue;
            };
            let (before, behind) = text.split_at(body.start);
            let code = format!("{}\n{mark}\n{}", &before[span.bytes.start..], &behind[..span.bytes.end - body.start]);
            let expected = squeezed(&format!("{before}{mark}{behind}"));
            let lined = by_line(path, text, &span, &code);
            assert_eq!(lined.as_deref().map(squeezed), Ok(expected.clone()), "{path} {}", span.name);
            if let Ok(named) = by_name(path, text, &span, &code) {
                assert_eq!(squeezed(&named), expected, "{path} {}", span.name);
            }
            changed += 1;
        }
    }
    assert!(changed > 20, "{changed}");
}

#[test]
fn a_new_function_is_added_once_and_nothing_is_lost() {
    for (path, text, _) in SAMPLES {
        let spans = definitions(path, text);
        for span in spans.iter().filter(|span| span.sort == Sort::Function && span.body.is_some()) {
            let own = &text[span.bytes.clone()];
            let at = own.find(&span.name).unwrap_or_default();
            let code = format!("{}added{}", &own[..at], &own[at + span.name.len()..]);
            let name = span.container.iter().map(String::as_str).chain(["added"]).collect::<Vec<_>>().join(".");
            let edit = Edit::Definition { name: Some(&name), code: &code, hints: Hints::default() };
            let Ok(applied) = apply(path, text, &edit) else { continue };
            let mut rest = text.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
            applied.text.lines().for_each(|line| {
                rest.next_if_eq(&line.trim());
            });
            assert_eq!(rest.next(), None, "{path} {name}:\n{}", applied.text);
            let found = definitions(path, &applied.text).iter().filter(|one| one.name == "added").count();
            assert_eq!(found, 1, "{path} {name}:\n{}", applied.text);
        }
    }
}

#[test]
fn a_removed_definition_leaves_all_others() {
    for (path, text, _) in SAMPLES {
        let spans = definitions(path, text);
        for span in &spans {
            let head = match &span.body {
                Some(body) if span.sort == Sort::Function => text[span.bytes.start..body.start].trim(),
                _ => span.name.as_str(),
            };
            let Ok(applied) = apply(path, text, &Edit::Remove(head)) else { continue };
            let is_inside = |other: &Span| span.bytes.start <= other.bytes.start && other.bytes.end <= span.bytes.end;
            let left: Vec<&str> = spans.iter().filter(|one| !is_inside(one)).map(|one| one.name.as_str()).collect();
            let now = definitions(path, &applied.text);
            assert_eq!(now.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), left, "{path} {head}");
        }
    }
}
