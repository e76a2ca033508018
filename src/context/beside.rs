//! Finds what is shown along with a stretch of a file: constants that it uses, and functions that a short function calls.

use std::collections::HashSet;

use crate::index::{Definition, Kind};

use super::{Open, Stretch, WHOLE_LINES_MAX, is_local};

/// Most values that are shown with one stretch, and the lines of the longest.
const VALUES_MAX: usize = 6;
const VALUE_LINES_MAX: usize = 16;

/// Longest function, in lines, that is shown with functions it calls, and most of those.
const SHORT_LINES_MAX: usize = 8;
const CALLEES_MAX: usize = 2;

/// Constants and variables of the same file that the lines of a stretch name: questions are often about their values.
pub(super) fn values(open: &Open, stretch: &Stretch) -> Vec<Stretch> {
    let is_value =
        |one: &Definition| matches!(one.kind, Kind::Constant | Kind::Variable) && one.end - one.start < VALUE_LINES_MAX;
    named_in(open, stretch, stretch.lines, is_value).take(VALUES_MAX).collect()
}

/// Functions of the same file that a short function calls: they do the work that a question is about.
pub(super) fn callees(open: &Open, stretch: &Stretch) -> Vec<Stretch> {
    let is_function = |one: &Definition| matches!(one.kind, Kind::Function | Kind::Method);
    let (start, end) = stretch.lines;
    let is_it = |one: &&Definition| is_function(one) && [one.start, one.doc_start].contains(&start) && one.end == end;
    let Some(short) = open.definitions.iter().find(is_it).filter(|it| it.end - it.start < SHORT_LINES_MAX) else {
        return Vec::new();
    };
    let called = |one: &Definition| is_function(one) && one.end - one.start < WHOLE_LINES_MAX;
    named_in(open, stretch, (short.start, short.end), called).take(CALLEES_MAX).collect()
}

/// Definitions of the same file, outside of a stretch, that some of its lines name.
fn named_in<'o>(
    open: &'o Open,
    stretch: &'o Stretch,
    (first, last): (usize, usize),
    is_wanted: impl Fn(&Definition) -> bool + 'o,
) -> impl Iterator<Item = Stretch> + 'o {
    let (start, end) = stretch.lines;
    let lines = open.text.lines().skip(first.saturating_sub(1)).take(last + 1 - first);
    let used: HashSet<&str> = lines.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_')).collect();
    let is_named = move |one: &&Definition| {
        is_wanted(one)
            && (one.end < start || end < one.start)
            && used.contains(one.name.as_str())
            && !is_local(one, &open.definitions)
    };
    let found = open.definitions.iter().filter(is_named);
    found.map(|one| Stretch { path: stretch.path.clone(), lines: (one.doc_start, one.end), name: String::new() })
}

#[cfg(test)]
mod tests {
    use crate::index::outline;

    use super::*;

    #[test]
    fn a_short_function_is_shown_with_what_it_calls() {
        let text = "/// The same for text.\nfn short(a: &str) -> f64 {\n    general(a.chars())\n}\n\nfn general(a: Chars) -> f64 {\n    0.7\n}\n";
        let open = Open { text: text.into(), definitions: outline("rust", text).definitions };
        let stretch = Stretch { path: "a.rs".into(), lines: (1, 4), name: "short".into() };
        let found = callees(&open, &stretch);
        assert_eq!(found.iter().map(|one| one.lines).collect::<Vec<_>>(), [(6, 8)]);
        let without_comment = Stretch { lines: (2, 4), ..stretch.clone() };
        assert_eq!(callees(&open, &without_comment).len(), 1);
        assert!(callees(&open, &Stretch { lines: (6, 8), ..stretch }).is_empty());
    }
}
