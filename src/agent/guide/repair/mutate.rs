//! Generates small changes to a definition that undo common mistakes, each in one place; a repair
//! tries them one by one.
//!
//! Program repair by mutation has used such changes with success (GenProg's code from elsewhere in
//! the file, templates of PAR and TBar): another literal, operator or name, swapped arguments, a
//! call around a name, an additional or missing statement or element.

mod generator;
mod hints;
mod siblings;
mod wraps;

use std::collections::HashSet;
use std::ops::Range;

use crate::edit::text::line_at;
use crate::index::parts::{self, Sort, Span};
use crate::index::{language_of, syntax_nodes};

pub use hints::RepairHints;

use generator::Generator;

/// Maximum number of mutants per definition.
const MUTANTS_MAX: usize = 250;
/// Maximum number of values in the file that are tried in place of one name.
const VALUES_MAX: usize = 6;

const NAMES: &[&str] = &["identifier", "property_identifier", "field_identifier"];
const ARGUMENTS: &[&str] = &["arguments", "argument_list"];
const CALLS: &[&str] = &["call", "call_expression"];

/// One small change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// The byte range in the file that `new` replaces.
    pub bytes: Range<usize>,
    pub new: String,
    /// A lower rank is more likely.
    pub rank: usize,
}

impl Mutant {
    /// Applies this change to `text`.
    pub fn applied(&self, text: &str) -> String {
        format!("{}{}{}", &text[..self.bytes.start], self.new, &text[self.bytes.end..])
    }
}

/// Mutants of the definition at the bytes `within`, most likely first. `may_be_wrong` tests whether
/// a change may begin at a byte.
pub fn mutants(
    path: &str,
    text: &str,
    within: &Range<usize>,
    hints: &RepairHints,
    may_be_wrong: &dyn Fn(usize) -> bool,
) -> Vec<Mutant> {
    let nodes = syntax_nodes(path, text, within);
    let is_value = |one: &Span| one.sort == Sort::Value && one.container.is_empty();
    let values = parts::definitions(path, text).into_iter().filter(is_value).take(VALUES_MAX);
    // A value in the file that the definition does not yet use is more likely to be right.
    let rank = |name: &str| if nodes.iter().any(|node| &text[node.bytes.clone()] == name) { 6 } else { 3 };
    let values = values.map(|one| (rank(&one.name), one.name));
    let found = siblings::hunks(path, text, within);
    let is_python = language_of(path) == "python";
    let mut generator = Generator { text, is_python, nodes: &nodes, hints, values: values.collect(), found };
    for at in 0..nodes.len() {
        if !generator.is_documentation(at) {
            generator.mutate_node(at);
        }
    }
    let mut found = generator.found;
    found.extend(wraps::wrapped(path, text, within, &nodes));
    found.retain(|one| may_be_wrong(one.bytes.start));
    // Among equal ranks, mutants on lines that share the most words with the hints come first.
    found.sort_by_cached_key(|one| (one.rank, std::cmp::Reverse(hints.shared(line_at(text, one.bytes.start)))));
    let mut seen = HashSet::new();
    found.retain(|one| text[one.bytes.clone()] != one.new && seen.insert((one.bytes.clone(), one.new.clone())));
    found.truncate(MUTANTS_MAX);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Text;

    /// A text before or after a change: `«a|b»` is `a` before and `b` after it.
    fn version(marked: &str, is_after: bool) -> String {
        let pieces = marked.split(['«', '»']).enumerate().map(|(at, piece)| match piece.split_once('|') {
            Some((was, is)) if at % 2 == 1 => [was, is][usize::from(is_after)],
            _ => piece,
        });
        pieces.collect()
    }

    #[test]
    fn common_mistakes_are_mended_by_one_of_the_first_mutants() {
        let check = |path: &str, marked: &str, request: &str, within: usize| {
            let (wrong, right) = (version(marked, false), version(marked, true));
            let all = mutants(path, &wrong, &(0..wrong.len()), &RepairHints::of(&Text::of(request), ""), &|_| true);
            let place = all.iter().position(|one| one.applied(&wrong) == right);
            assert!(place.is_some_and(|place| place < within), "{place:?} of {marked}");
        };
        check(
            "a.py",
            "def f(n):\n    if n % 100 in (11, 12«|, 13»):\n        return 'th'\n",
            "f(13) returns 13rd, should be 13th",
            4,
        );
        check("a.js", "const f = (e) => {\n  const c = e.cause;\n  return c && «|e.»cause();\n}\n", "", 4);
        check("a.go", "func f(a, b int) bool {\n\treturn a <«|=» b\n}\n", "", 12);
        check("a.ts", "function f(a: number[]) {\n  for (let i = 1; i < a.length; i += «1|2») g(a[i]);\n}\n", "", 20);
        check("a.py", "def f(a, b):\n    log(a)\n    return «not |»a\n", "", 12);
        check("a.py", "def f(a, b):\n«    g(a, b)\n|»    return a\n", "", 12);
        check("a.js", "const f = (a) => («|!»a.b ? 1 : 2);\n", "", 12);
        check("a.py", "def f(a):\n    return 1 if «|not »a else 2\n", "", 12);
        check("a.py", "def f(a):\n    if «|not »g(a):\n        return 1\n", "", 12);
        check("a.go", "func f(a T) int {\n\tif «|!»a.b {\n\t\treturn 1\n\t}\n\treturn 2\n}\n", "", 12);
        check("a.rs", "fn f() {\n    if «|!»s.bad { None } else { Some(1) }\n}\n", "", 12);
    }

    #[test]
    fn values_of_the_clues_are_put_into_literals() {
        let wrong = "fn f(f: &mut F) {\n    t(|f| write!(f, \"-\"), f)\n}\n";
        let hints = RepairHints::of(&Text::of(""), "left: \"camel-case\"\n right: \"camel_case\"");
        let all = mutants("a.rs", wrong, &(0..wrong.len()), &hints, &|_| true);
        assert!(all.iter().any(|one| one.applied(wrong).contains("\"_\"")), "{all:?}");
        let wrong = "fn f() {\n    let marks: &[_] = &[' ', '-'];\n}\n";
        let all = mutants(
            "a.rs",
            wrong,
            &(0..wrong.len()),
            &RepairHints::of(&Text::of("the \"> \" lands between the words"), ""),
            &|_| true,
        );
        assert!(all[0].applied(wrong).contains("&[' ', '-', '>']"), "{all:?}");
    }
}
