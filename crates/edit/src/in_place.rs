//! Replaces the text of one named definition where merging by syntax does not find its place: an entry of a list, a
//! definition that cannot be parsed alone, or one of several with the same name in different containers.
//!
//! ```text
//! Glaze.MATT    +    MATT = 3,    the lines of `MATT` in the enum `Glaze` are replaced
//! ```
//!
//! The new text is parsed again: the definition must have kept its name and its place, and every other definition of
//! the file must still be there.

use std::collections::HashSet;
use std::ops::Range;

use crate::heads::squeezed;
use crate::indent::{Unit, are_inside, dedented, indent, is_same_code, unit_of};
use crate::index::parts::{self, FAULTS_MAX, NAME, Part, Parts};
use crate::index::{is_queried, language_of};
use crate::merge::{Change, Led, MergeError, lacks_body, led, with_modifiers};
use crate::omissions::has_marks;
use crate::text::{Piece, Source, indent_at, is_comment, line_of, nth_line};
use crate::{Applied, Mismatch};

/// A definition and the names around it, outermost first.
struct Placed<'p> {
    part: &'p Part,
    around: Vec<&'p str>,
    /// Whether a comma follows it, as an entry of a list.
    is_listed: bool,
}

impl Placed<'_> {
    fn path(&self) -> String {
        self.around.iter().copied().chain([self.part.name.as_str()]).collect::<Vec<_>>().join(".")
    }
}

fn all(parts: &Parts) -> Vec<Placed<'_>> {
    fn add<'p>(part: &'p Part, around: &[&'p str], is_listed: bool, found: &mut Vec<Placed<'p>>) {
        let mut inside = around.to_vec();
        if part.is_definition() {
            let around = around.iter().copied().chain(part.owner.as_deref()).collect();
            found.push(Placed { part, around, is_listed });
            inside.push(&part.name);
        }
        part.members.iter().for_each(|member| add(member, &inside, part.listed, found));
    }
    let mut found = Vec::new();
    parts.items.iter().for_each(|item| add(item, &[], false, &mut found));
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
    // Without a container, the name may be meant for any of several.
    let is_shared = !name.contains('.') && before.iter().filter(|other| other.part.name == name).count() > 1;
    // A method of `class << self` is written like one of its instances.
    let is_unlike = one.part.variant == "singleton" && !head(one);
    if is_shared || is_unlike || has_marks(code, text) {
        return None;
    }
    let language = language_of(path);
    let has_lead = code.lines().next().is_some_and(is_lead);
    let range = if has_lead { one.part.whole() } else { one.part.core.start..one.part.whole().end };
    let (new, is_moved) = indented(language, code, (text, &was.texts), &range);
    let Led { code: new, note, .. } = match has_lead {
        true => Led { code: new, ..Led::default() },
        false => modified(language, (one.part, text), new),
    };
    let is_listed = one.is_listed && language != "python";
    let new = separated(&new, is_listed, &text[one.part.core.end..range.end]);
    if is_same_code(&text[range.clone()], &new, language) {
        return Some(Err(Mismatch::Merge(MergeError::NothingChanged)));
    }
    let (applied, lines) = source.apply(&[Piece { range: range.clone(), new: new.clone() }]);
    let after = Source::new(&applied).text;
    let place = range.start..range.start + new.len();
    let new = kept(path, (&was, one, &range), (&after, &place, is_moved))?;
    let notes = noted(language, (one.part, text), (&new, &after), note)?;
    let container = one.around.last().map(|&name| name.to_owned());
    let changed = vec![Change { name: one.part.name.clone(), container, line: *lines.first().unwrap_or(&0) }];
    Some(Ok(Applied { text: applied, changed, notes }))
}

/// The new code of a definition with the modifiers of the old one that it lacks.
fn modified(language: &str, (old, text): (&Part, &str), new: String) -> Led {
    let was = &text[old.core.clone()];
    match is_queried(language) {
        true => led(language, &old.name, was, new),
        false => Led { code: with_modifiers(language, was, new), ..Led::default() },
    }
}

/// Notes on the modifiers, the comments and the attributes that have changed; `None` if the new
/// definition lacks the body, the docstring or modifiers of the old one, which a merge keeps.
fn noted(
    language: &str,
    (old, was): (&Part, &str),
    (new, now): (&Part, &str),
    note: Option<String>,
) -> Option<Vec<String>> {
    let core = &now[new.core.clone()];
    let led = modified(language, (old, was), core.to_owned());
    let lacks_docstring = old.docstring.is_some() && new.docstring.is_none();
    if lacks_docstring || led.code != core || lacks_body(language, (old, was), (new, now)) {
        return None;
    }
    let texts =
        |of: &[Range<usize>], text: &str| of.iter().map(|one| squeezed(&text[one.clone()])).collect::<Vec<String>>();
    let mut notes: Vec<String> = note.or(led.note).into_iter().collect();
    if !old.comments.is_empty() && texts(&old.comments, was) != texts(&new.comments, now) {
        notes.push(format!("the comment above `{}` was replaced", old.name));
    }
    let attributes = texts(&new.attributes, now);
    let lost = old.attributes.iter().map(|one| &was[one.clone()]).filter(|one| !attributes.contains(&squeezed(one)));
    notes.extend(lost.map(|one| format!("`{}` no longer has `{one}`", old.name)));
    Some(notes)
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
    let known: HashSet<&str> = lines.skip(1).map(str::trim_end).collect();
    let same = rest().filter(|line| known.contains(line.trim_end())).count();
    let is_first = indent(code).is_empty() || indent(code) == base;
    let is_own = is_first && same * 2 > rest().count() && are_inside(base, rest());
    if indent(code) == base && !base.is_empty() || is_own || rest().next().is_none() {
        return (code.trim_start().to_owned(), false);
    }
    let usual = unit_of(text).unwrap_or_else(|| Unit::usual(language));
    let written = code.trim_start();
    let code = dedented(code, usual, language);
    let moved = code.lines().enumerate().map(|(at, line)| {
        let white = indent(line).len();
        match at {
            0 => line.trim_start().to_owned(),
            _ if white == line.len() => String::new(),
            _ => format!("{base}{line}"),
        }
    });
    let moved = moved.collect::<Vec<_>>().join("\n");
    let is_moved = moved != written;
    (moved, is_moved)
}

/// `new` with the separator that follows the old definition; in a list, without another one.
fn separated(new: &str, is_listed: bool, separator: &str) -> String {
    match separator.trim() {
        "" if !is_listed => new.to_owned(),
        "" => new.strip_suffix(',').unwrap_or(new).to_owned(),
        separator if new.ends_with(separator) => new.to_owned(),
        separator => format!("{new}{separator}"),
    }
}

/// The new definition, if the text after the edit parses as before, has that definition alone in
/// its place, and has all others.
fn kept(
    path: &str,
    (was, one, range): (&Parts, &Placed, &Range<usize>),
    (after, place, is_moved): (&str, &Range<usize>, bool),
) -> Option<Part> {
    let now = parts::parts(path, after)?;
    // Lines of a text may not be moved.
    let has_text = now.texts.iter().any(|text| text.start < place.end && place.start < text.end);
    let may_hide = was.faults.len() >= FAULTS_MAX;
    if may_hide || now.faults.len() > was.faults.len() || is_moved && has_text {
        return None;
    }
    let within =
        |one: &Placed, range: &Range<usize>| range.start <= one.part.core.start && one.part.core.end <= range.end;
    let key = |one: &Placed| (one.path(), one.part.variant.clone(), one.part.sort, one.part.has_receiver);
    let (before, is) = (all(was), all(&now));
    let outside = |all: &[Placed], range: &Range<usize>| -> Vec<_> {
        all.iter().filter(|one| !within(one, range)).map(key).collect()
    };
    let inside: Vec<_> = is.iter().filter(|one| within(one, place)).collect();
    let new = inside.iter().find(|new| key(new) == key(one))?;
    let text = after[place.clone()].trim_end();
    let fills = new.part.start() <= place.start
        && new.part.whole().end >= place.start + text.trim_end_matches([',', ';']).len();
    let keeps_lead = new.part.attributes.len() >= one.part.attributes.len()
        && (one.part.comments.is_empty() || !new.part.comments.is_empty());
    let keys: HashSet<_> = inside.iter().map(|one| key(one)).collect();
    let is_kept = fills
        && keeps_lead
        && before.iter().filter(|one| within(one, range)).all(|one| keys.contains(&key(one)))
        && outside(&before, range) == outside(&is, place);
    is_kept.then(|| new.part.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::Hints;
    use crate::{Edit, apply};

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
    fn a_name_that_several_definitions_have_is_refused_without_its_container() {
        let python = "def reset(x):\n    return x\n\n\nclass Kiln:\n    def reset(self):\n        pass\n\n\nclass Cone:\n    def reset(self):\n        pass\n";
        let code = "def reset(self):\n    self.heat = 0\n";
        refused("a.py", python, ("reset", code));
        let edit = Edit::Definition { name: Some("reset"), code, hints: Hints::default() };
        assert!(apply("a.py", python, &edit).is_err());
        let free = "def reset(x):\n    return x\n\n\nclass Kiln:\n    pass\n\n\nclass Cone:\n    pass\n";
        refused("a.py", free, ("reset", code));
        assert!(apply("a.py", free, &edit).is_err());
    }

    #[test]
    fn a_body_and_a_docstring_that_were_left_out_are_not_lost() {
        let python = "def a():\n    class C:\n        def f(self):\n            \"\"\"Fires.\"\"\"\n            return 1\n\n\ndef b():\n    class C:\n        def f(self):\n            return 2\n";
        refused("a.py", python, ("b.C.f", "def f(self):\n    ...\n"));
        refused("a.py", python, ("b.C.f", "def f(self):\n    pass\n"));
        refused("a.py", python, ("a.C.f", "def f(self):\n    return 3\n"));
        let code = "def f(self):\n    \"\"\"Fires.\"\"\"\n    return 3\n";
        check("a.py", python, ("a.C.f", code), &python.replace('1', "3"));
    }

    #[test]
    fn modifiers_are_kept_and_lost_comments_and_attributes_are_noted() {
        let rust = "mod a {\n    impl K {\n        /// Fires.\n        #[inline]\n        pub fn f(&self) -> u8 {\n            1\n        }\n    }\n}\n\nmod b {\n    impl K {\n        fn f(&self) -> u8 {\n            2\n        }\n    }\n}\n";
        let code = "fn f(&self) -> u8 {\n    3\n}\n";
        check("a.rs", rust, ("a.K.f", code), &rust.replace('1', "3"));
        let led = "/// Cools.\n#[cold]\npub fn f(&self) -> u8 {\n    3\n}\n";
        let applied = in_place("a.rs", rust, ("a.K.f", led), None).expect("a place").expect("a change");
        assert_eq!(applied.notes, ["the comment above `f` was replaced", "`f` no longer has `#[inline]`"]);
        refused("a.rs", rust, ("a.K.f", &led.replace("pub ", "")));
    }

    #[test]
    fn a_comma_is_removed_only_from_an_entry() {
        let python = "class Form:\n    fields = \"cone\"\n";
        check("a.py", python, ("Form.fields", "fields = \"tile\","), &python.replace("\"cone\"", "\"tile\","));
    }

    #[test]
    fn code_below_its_own_head_is_moved_to_the_place() {
        let python = "def a():\n    class C:\n        def f(self):\n            heat()\n            cool()\n            rest()\n\n\ndef b():\n    class C:\n        pass\n";
        let code = "def f(self):\n        with lock:\n            heat()\n            cool()\n            rest()\n";
        let body = "            heat()\n            cool()\n            rest()\n";
        let moved = body
            .replace("    heat", "        heat")
            .replace("    cool", "        cool")
            .replace("    rest", "        rest");
        check("a.py", python, ("a.C.f", code), &python.replace(body, &format!("            with lock:\n{moved}")));
    }

    #[test]
    fn a_file_with_too_many_faults_is_refused() {
        let faults: String = (0..FAULTS_MAX).map(|at| format!("fn f{at}( {{}}\n\n")).collect();
        let rust = format!("enum Glaze {{\n    Gloss(u8),\n}}\n\n{faults}");
        assert!(parts::faults("a.rs", &rust).len() >= FAULTS_MAX);
        refused("a.rs", &rust, ("Glaze.Gloss", "Gloss(u16)"));
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
