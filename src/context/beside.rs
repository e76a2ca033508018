//! Finds code to show next to a stretch: constants that it uses, functions that a short function calls, users of a
//! name.

use std::collections::HashSet;

use crate::edit::{has_grammar, is_comment, testing};
use crate::index::{Definition, Index, Kind, language_of, outline};
use crate::language::grounding;
use crate::request::mentions::Mentions;
use crate::retrieve;
use crate::tools::Context;

use super::{Open, Stretch, WHOLE_LINES_MAX, hit_of, is_declaration, is_local, text_of};

/// Maximum number of values shown with one stretch, and of lines of each.
const VALUES_MAX: usize = 6;
const VALUE_LINES_MAX: usize = 16;

/// Maximum length, in lines, of a function that is shown with functions that it calls, and maximum
/// number of those.
const SHORT_LINES_MAX: usize = 8;
const CALLEES_MAX: usize = 2;

/// Maximum number of names whose users are listed, and of users of one name; a name with more is
/// left out.
const USED_MAX: usize = 2;
const USERS_MAX: usize = 12;

/// Constants and variables of the same file that occur in a stretch: questions are often about
/// their values.
pub(super) fn values(open: &Open, stretch: &Stretch) -> Vec<Stretch> {
    let is_value =
        |one: &Definition| matches!(one.kind, Kind::Constant | Kind::Variable) && one.end - one.start < VALUE_LINES_MAX;
    named_in(open, stretch, stretch.lines, is_value).take(VALUES_MAX).collect()
}

/// Functions of the same file that a short function calls: they do the work that a question is
/// about.
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

/// Definitions of the same file, outside a stretch, that some of its lines name.
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

/// One line for each of the first symbols: the functions that use it. Test files count only if the
/// text mentions tests, type declarations never.
pub fn users_of(context: &Context, index: &Index, mentions: &Mentions) -> String {
    let names = mentions.symbols.iter().take(USED_MAX).map(|symbol| symbol.name.as_str());
    names.filter_map(|name| line(context, index, name, mentions.speaks_of_tests)).collect()
}

fn line(context: &Context, index: &Index, name: &str, with_tests: bool) -> Option<String> {
    let mut by_file = Vec::new();
    let mut count = 0;
    for path in index.paths().ok()? {
        if !has_grammar(&path) || is_declaration(&path) || !with_tests && testing::is_test(&path) {
            continue;
        }
        let Some(text) = text_of(context, &path).filter(|text| text.contains(name)) else { continue };
        let definitions = outline(language_of(&path), &text).definitions;
        let users = users(&definitions, &text, name);
        count += users.len();
        if !users.is_empty() {
            let names: Vec<&str> = users.iter().map(|one| one.name.as_str()).collect();
            by_file.push(format!("{} ({path})", names.join(", ")));
        }
    }
    (1..=USERS_MAX).contains(&count).then(|| format!("`{name}` is used by {}.\n\n", by_file.join("; ")))
}

/// The functions that use the first symbols, those in tests last: a change to the symbols must suit
/// them.
pub fn users_as_hits(context: &Context, index: &Index, mentions: &Mentions) -> Vec<retrieve::Hit> {
    let mut paths = index.paths().unwrap_or_default();
    paths.retain(|path| has_grammar(path) && !is_declaration(path));
    paths.sort_by_key(|path| testing::is_test(path));
    let mut hits: Vec<retrieve::Hit> = Vec::new();
    for name in mentions.symbols.iter().take(USED_MAX).map(|symbol| symbol.name.as_str()) {
        for path in &paths {
            let Some(text) = text_of(context, path).filter(|text| text.contains(name)) else { continue };
            let definitions = outline(language_of(path), &text).definitions;
            let found = users(&definitions, &text, name).into_iter().map(|one| hit_of(path, &text, one));
            for hit in found.take(USERS_MAX - hits.len().min(USERS_MAX)) {
                if !hits.contains(&hit) {
                    hits.push(hit);
                }
            }
        }
    }
    hits
}

/// Functions and methods other than `name` itself that contain the name, in file order.
fn users<'d>(definitions: &'d [Definition], text: &str, name: &str) -> Vec<&'d Definition> {
    let mut users: Vec<&Definition> = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| grounding::is_backed(line, name)) {
        let holds = |one: &&Definition| {
            one.start <= at + 1 && at < one.end && matches!(one.kind, Kind::Function | Kind::Method)
        };
        let around = definitions.iter().filter(holds).min_by_key(|one| one.end - one.start);
        if let Some(one) = around
            .filter(|one| one.name != name && !is_comment(line) && !users.iter().any(|known| known.name == one.name))
        {
            users.push(one);
        }
    }
    users
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn users_of_a_name_are_the_functions_around_its_uses() {
        let text = "class A {\n  constructor() {\n    this.width = 3;\n  }\n  wide() {\n    // width\n    return 1;\n  }\n  wrap() {\n    return this.width;\n  }\n  width() {\n    return this.width;\n  }\n}\n";
        let definitions = outline("javascript", text).definitions;
        let names: Vec<&str> = users(&definitions, text, "width").iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["constructor", "wrap"]);
    }
}
