//! Replaces the text of one named definition where merging by syntax does not find its place: an entry of a list, a
//! definition that cannot be parsed alone, or one of several with the same name in different containers.
//!
//! ```text
//! Glaze.MATT    +    MATT = 3,    the lines of `MATT` in the enum `Glaze` are replaced
//! ```
//!
//! The new text is parsed again: the definition must have kept its name and its place, and every other definition of
//! the file must still be there.

use std::ops::Range;

use crate::indent::{Unit, dedented, indent, is_same_code, unit_of};
use crate::index::language_of;
use crate::index::parts::{self, NAME, Part, Parts};
use crate::merge::{Change, MergeError};
use crate::omissions::has_marks;
use crate::text::{Piece, Source, indent_at, is_comment, line_of, nth_line};
use crate::{Applied, Mismatch};

/// A definition and the names around it, outermost first.
struct Placed<'p> {
    part: &'p Part,
    around: Vec<&'p str>,
}

impl Placed<'_> {
    fn path(&self) -> String {
        self.around.iter().copied().chain([self.part.name.as_str()]).collect::<Vec<_>>().join(".")
    }
}

fn all(parts: &Parts) -> Vec<Placed<'_>> {
    fn add<'p>(part: &'p Part, around: &[&'p str], found: &mut Vec<Placed<'p>>) {
        let mut inside = around.to_vec();
        if part.is_definition() {
            let around = around.iter().copied().chain(part.owner.as_deref()).collect();
            found.push(Placed { part, around });
            inside.push(&part.name);
        }
        part.members.iter().for_each(|member| add(member, &inside, found));
    }
    let mut found = Vec::new();
    parts.items.iter().for_each(|item| add(item, &[], &mut found));
    found
}

/// The new text, or the error that nothing changed; `None` if `name` is not the full path of one definition, or if the
/// new text would not parse or would lack another definition. `line` decides between several.
pub(crate) fn in_place(
    path: &str,
    old: &str,
    (name, code): (&str, &str),
    line: Option<usize>,
) -> Option<Result<Applied, Mismatch>> {
    let source = Source::new(old);
    let text = source.text.as_str();
    let was = parts::parts(path, text)?;
    let code = code.replace("\r\n", "\n");
    let code = code.trim_end().trim_start_matches('\n');
    let first = code.lines().find(|line| !is_lead(line))?.trim();
    let before = all(&was);
    let name = name.replace("::", ".").replace([':', '#'], ".");
    let mut found: Vec<&Placed> = before.iter().filter(|one| one.part.variant != NAME && one.path() == name).collect();
    let head = |one: &&Placed| nth_line(text, line_of(text, one.part.core.start)).trim() == first;
    let is_hinted = |one: &&Placed| {
        let whole = one.part.whole();
        line.is_some_and(|line| (line_of(text, whole.start)..=line_of(text, whole.end)).contains(&line))
    };
    if found.len() > 1 && found.iter().any(is_hinted) {
        found.retain(is_hinted);
    }
    if found.len() > 1 {
        found.retain(head);
    }
    let [one] = found.as_slice() else { return None };
    if has_marks(code, text) {
        return None;
    }
    let has_lead = code.lines().next().is_some_and(is_lead);
    let range = if has_lead { one.part.whole() } else { one.part.core.start..one.part.whole().end };
    let (new, is_moved) = indented(language_of(path), code, (text, &was.texts), &range);
    let new = separated(&new, &text[one.part.core.end..range.end]);
    if is_same_code(&text[range.clone()], &new, language_of(path)) {
        return Some(Err(Mismatch::Merge(MergeError::NothingChanged)));
    }
    let (applied, lines) = source.apply(&[Piece { range: range.clone(), new: new.clone() }]);
    let after = Source::new(&applied).text;
    let place = range.start..range.start + new.len();
    is_kept(path, (&was, one, &range), (&after, &place, is_moved)).then(|| {
        let container = one.around.last().map(|&name| name.to_owned());
        let changed = vec![Change { name: one.part.name.clone(), container, line: *lines.first().unwrap_or(&0) }];
        Ok(Applied { text: applied, changed, ..Applied::default() })
    })
}

/// Whether a line is a comment or an attribute.
fn is_lead(line: &str) -> bool {
    line.trim().is_empty()
        || is_comment(line)
        || line.trim_start().starts_with(['@', '['])
        || line.trim_start().starts_with("#[")
}

/// The written code at the indentation of `range`, and whether its lines were moved. Code most of whose lines are in
/// the file, with their white space, stays.
fn indented(
    language: &str,
    code: &str,
    (text, texts): (&str, &[Range<usize>]),
    range: &Range<usize>,
) -> (String, bool) {
    let base = indent_at(text, range.start);
    let rest = || code.lines().skip(1).filter(|line| !line.trim().is_empty());
    let is_in_text = |at: usize| texts.iter().any(|text| text.start < at && at < text.end);
    let mut at = range.start;
    let lines = text[range.clone()].split_inclusive('\n').filter(|line| {
        at += line.len();
        !is_in_text(at - line.len())
    });
    let known: Vec<&str> = lines.skip(1).map(str::trim_end).collect();
    let same = rest().filter(|line| known.contains(&line.trim_end())).count();
    if indent(code) == base && !base.is_empty() || same * 2 > rest().count() || rest().next().is_none() {
        return (code.trim_start().to_owned(), false);
    }
    let usual = unit_of(text).unwrap_or_else(|| Unit::usual(language));
    let code = dedented(code, usual);
    let moved = code.lines().enumerate().map(|(at, line)| {
        let white = indent(line).len();
        match at {
            0 => line.trim_start().to_owned(),
            _ if white == line.len() => String::new(),
            _ => format!("{base}{line}"),
        }
    });
    (moved.collect::<Vec<_>>().join("\n"), true)
}

/// `new` with the separator that follows the old definition, and without another one.
fn separated(new: &str, separator: &str) -> String {
    match separator.trim() {
        "" => new.strip_suffix(',').unwrap_or(new).to_owned(),
        separator if new.ends_with(separator) => new.to_owned(),
        separator => format!("{new}{separator}"),
    }
}

/// Whether the text after the edit parses as before, has the definition alone in its place, and has all others.
fn is_kept(
    path: &str,
    (was, one, range): (&Parts, &Placed, &Range<usize>),
    (after, place, is_moved): (&str, &Range<usize>, bool),
) -> bool {
    let Some(now) = parts::parts(path, after) else { return false };
    // Lines of a text may not be moved.
    let has_text = now.texts.iter().any(|text| text.start < place.end && place.start < text.end);
    if now.faults.len() > was.faults.len() || is_moved && has_text {
        return false;
    }
    let within =
        |one: &Placed, range: &Range<usize>| range.start <= one.part.core.start && one.part.core.end <= range.end;
    let key = |one: &Placed| (one.path(), one.part.variant.clone(), one.part.sort);
    let (before, is) = (all(was), all(&now));
    let outside = |all: &[Placed], range: &Range<usize>| -> Vec<_> {
        all.iter().filter(|one| !within(one, range)).map(key).collect()
    };
    let inside: Vec<_> = is.iter().filter(|one| within(one, place)).collect();
    let Some(new) = inside.iter().find(|new| key(new) == key(one)) else { return false };
    let text = after[place.clone()].trim_end();
    let fills = new.part.start() <= place.start
        && new.part.whole().end >= place.start + text.trim_end_matches([',', ';']).len();
    let keeps_lead = new.part.attributes.len() >= one.part.attributes.len()
        && (one.part.comments.is_empty() || !new.part.comments.is_empty());
    let keys: Vec<_> = inside.iter().map(|one| key(one)).collect();
    fills
        && keeps_lead
        && before.iter().filter(|one| within(one, range)).all(|one| keys.contains(&key(one)))
        && outside(&before, range) == outside(&is, place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, old: &str, (name, code): (&str, &str), expected: &str) {
        let applied = in_place(path, old, (name, code), None).map(|result| result.map(|applied| applied.text));
        assert_eq!(applied, Some(Ok(expected.to_owned())));
    }

    #[track_caller]
    fn refused(path: &str, old: &str, (name, code): (&str, &str)) {
        assert!(in_place(path, old, (name, code), None).is_none());
    }

    #[test]
    fn an_entry_of_a_list_is_replaced() {
        let rust = "pub enum Glaze {\n    /// Dull.\n    Matt,\n    Gloss(u8),\n}\n";
        check("a.rs", rust, ("Glaze.Gloss", "Gloss(u16)"), &rust.replace("u8", "u16"));
        check("a.rs", rust, ("Glaze.Matt", "    /// Flat.\n    Matt,\n"), &rust.replace("Dull", "Flat"));
        let go = "const (\n\thot = 1\n\tcold = 2\n)\n";
        check("a.go", go, ("hot", "hot = 3"), &go.replace('1', "3"));
        let c = "enum glaze {\n  MATT = 1,\n  GLOSS = 2\n};\n";
        check("a.c", c, ("glaze.GLOSS", "GLOSS = 3,"), &c.replace('2', "3"));
    }

    #[test]
    fn the_full_path_tells_equal_names_apart() {
        let python = "def a():\n    class C:\n        def f(self):\n            return 1\n\n\ndef b():\n    class C:\n        def f(self):\n            return 2\n";
        check("a.py", python, ("b.C.f", "def f(self):\n    return 3\n"), &python.replace('2', "3"));
        check("a.py", python, ("b.C.f", "def f(self):\n            return 3\n"), &python.replace('2', "3"));
        refused("a.py", python, ("C.f", "def f(self):\n    return 3\n"));
    }

    #[test]
    fn a_head_tells_equal_paths_apart() {
        let rust = "impl A<u8> for B {\n    fn f(a: u8) -> u8 {\n        1\n    }\n}\n\nimpl A<u16> for B {\n    fn f(a: u16) -> u8 {\n        2\n    }\n}\n";
        check("a.rs", rust, ("B.f", "fn f(a: u16) -> u8 {\n    3\n}\n"), &rust.replace("        2", "        3"));
        refused("a.rs", rust, ("B.f", "fn f(a: u32) -> u8 {\n    3\n}\n"));
    }

    #[test]
    fn nothing_beside_the_definition_is_lost_or_added() {
        let rust = "pub enum Glaze {\n    #[default]\n    Matt,\n    Gloss,\n}\n";
        refused("a.rs", rust, ("Glaze.Matt", "// Flat.\nMatt,"));
        refused("a.rs", rust, ("Glaze.Gloss", "Satin"));
        refused("a.rs", rust, ("Glaze.Gloss", "Gloss, Satin"));
        refused("a.rs", rust, ("Glaze.Gloss", "Gloss }"));
        let java = "class A {\n    Runnable f() {\n        return new Runnable() {\n            public void run() {\n                a(\"\"\"\n                    b\"\"\");\n            }\n        };\n    }\n}\n";
        refused("A.java", java, ("A.f.run", "public void run() {\n    c(\"\"\"\n        b\"\"\");\n}"));
    }
}
