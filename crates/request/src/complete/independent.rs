//! Splits a step with several unrelated orders.

use crate::kind::{self, Kind};
use crate::language::clauses::{self, Part, PartKind};
use crate::language::{shape, words};

use super::{effect, place_of, without_joint};

/// The orders of a step, as separate steps. Each order has its own verb, names its own file (or its
/// own code, if the step names no file), and neither refers to an earlier order nor names its
/// subject. A change described in several clauses remains one step.
pub(super) fn orders((kind, text): (Kind, String)) -> Vec<(Kind, String)> {
    let begins = begins(kind, &text);
    if begins.len() < 2 {
        return vec![(kind, text)];
    }
    let ends = begins.iter().skip(1).copied().chain([text.len()]);
    let pieces = begins.iter().zip(ends).map(|(begin, end)| without_joint(text[*begin..end].trim()).to_owned());
    pieces.map(|piece| (kind, piece)).collect()
}

/// Where the independent orders of a step begin; fewer than two entries if there is only one order.
fn begins(kind: Kind, text: &str) -> Vec<usize> {
    if matches!(kind, Kind::Rename | Kind::Move | Kind::Fix) {
        return Vec::new();
    }
    let parts = clauses::parts(text);
    let acts: Vec<&Part> = parts.iter().filter(|part| part.kind == PartKind::Act).collect();
    let has_paths = acts.iter().any(|part| !part.paths.is_empty());
    let stands_alone = |part: &Part| {
        let names = if has_paths {
            !part.paths.is_empty()
        } else {
            kind == Kind::Run || !shape::names_in(&part.text).is_empty()
        };
        effect(Kind::of_clause(part)) == effect(kind) && is_whole(part) && names
    };
    if !acts.iter().enumerate().all(|(at, part)| stands_alone(part) && is_new(part, acts[..at].iter().copied())) {
        return Vec::new();
    }
    let places: Option<Vec<usize>> =
        acts.iter().map(|part| place_of(&part.text, text).map(|range| range.start)).collect();
    let mut places = places.filter(|places| places.is_sorted()).unwrap_or_default();
    // Words before the first order belong to it.
    places.iter_mut().take(1).for_each(|place| *place = 0);
    places
}

/// Whether a clause orders a change of code on its own: it names its own file, and neither refers
/// to an earlier clause nor names its subject.
pub fn is_change(part: &Part, earlier: &[Part]) -> bool {
    let more = [kind::is_red, kind::speaks_of_tests, kind::speaks_of_docs];
    let is_edit = Kind::of_clause(part) == Kind::Edit && !more.iter().any(|speaks| speaks(&part.text));
    is_edit && part.kind == PartKind::Act && is_whole(part) && !part.paths.is_empty() && is_new(part, earlier.iter())
}

/// Whether a clause is a complete order.
fn is_whole(part: &Part) -> bool {
    part.verb.is_some() && !part.refers_back && part.context.is_empty() && !kind::only_forbids(&part.text)
}

/// Whether a clause names no code that earlier clauses mention.
fn is_new<'p>(part: &Part, earlier: impl Iterator<Item = &'p Part>) -> bool {
    let earlier: Vec<String> = earlier.flat_map(|part| words::split(&part.text)).collect();
    let names = shape::names_in(&part.text);
    let mut pieces = names.iter().flat_map(|name| name.split('.')).map(str::to_lowercase);
    pieces.all(|piece| !earlier.contains(&piece))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: Kind, text: &str, expected: &[&str]) {
        let found: Vec<String> = orders((kind, text.to_owned())).into_iter().map(|(_, text)| text).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn orders_that_have_nothing_to_do_with_each_other_are_steps_of_their_own() {
        let edit = |text: &str, expected: &[&str]| check(Kind::Edit, text, expected);
        edit(
            "Set the timeout to 9 in net.py, add a function tail(text) to text.py and remove the unused old_age from age.py",
            &[
                "Set the timeout to 9 in net.py",
                "add a function tail(text) to text.py",
                "remove the unused old_age from age.py",
            ],
        );
        edit("Set MAX_AGE to 5 and set minSize to 2", &["Set MAX_AGE to 5", "set minSize to 2"]);
        check(Kind::Run, "Run the tests and run the linter", &["Run the tests", "run the linter"]);
        check(Kind::Ask, "Read a/b.ts, then list the files in c/d", &["Read a/b.ts", "list the files in c/d"]);
    }

    #[test]
    fn a_change_in_several_clauses_is_one() {
        for whole in [
            "Add an option skipEmpty to merge() in merge.js and use it in cli.js",
            "In a.py set MAX_AGE to 5 and raise the limit to 7",
            "Make size_of take a path too and return 1 for it",
            "Add a function f to a.py and do not touch b.py",
            "Add a flag quiet to cli.py",
        ] {
            check(Kind::Edit, whole, &[whole]);
        }
    }
}
