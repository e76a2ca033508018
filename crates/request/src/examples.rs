//! Reads the examples that a request gives: `slug('A b') is 'a-b'`, `ordinal(13) returns 13rd, should be 13th`.

mod claim;

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::base::is_listed;
use crate::base::pattern::pattern;
use crate::edit::examples::{Example, closed};

use super::Text;
use claim::Claim;

/// An expected result that no function returns.
const IMPOSSIBLE: &str = "nothing-gives-this";
/// Maximum number of examples read from one request.
const EXAMPLES_MAX: usize = 8;
/// Maximum length of a call, in bytes.
const CALL_BYTES_MAX: usize = 160;

impl Text {
    /// The examples that the text gives. `new` lists the functions that it names and that do not
    /// exist yet; `is_new` tests whether a function is one of them. For an existing function, a
    /// stated result may be the bug, so only the result that it should return counts.
    pub fn examples(&self, new: &[String], is_new: &dyn Fn(&str) -> bool) -> Vec<Example> {
        of(self.raw(), new, is_new)
    }

    /// The text's calls of existing functions, as examples with an impossible expected result:
    /// running them prints their current results, which must change. Empty if the text asks to keep
    /// something or to raise an error.
    pub fn calls(&self, is_new: &dyn Fn(&str) -> bool) -> Vec<Example> {
        called(self.raw(), is_new)
    }

    /// Whether the text states that something is right as it is or must stay the same.
    pub fn speaks_of_what_is_right(&self) -> bool {
        wants_to_keep(self.raw()) || claim::FINE.iter().any(|word| has_word(self.raw(), word))
    }
}

fn of(text: &str, new: &[String], is_new: &dyn Fn(&str) -> bool) -> Vec<Example> {
    let calls = calls(text);
    let mut found = Vec::new();
    let mut pending: Vec<&(Range<usize>, String)> = Vec::new();
    // Results that the request calls wrong without giving the right ones.
    let mut wrong = Vec::new();
    for (at, call) in calls.iter().enumerate() {
        let end = calls.get(at + 1).map_or(text.len(), |next| next.0.start);
        let claim = Claim::of(&text[call.0.end..end], first_text(&text[call.0.clone()]));
        // `so f(1) is 2` states the wanted result, not the current one.
        let before = text[..call.0.start].trim_end_matches(['`', ' ']).to_lowercase();
        let is_goal =
            [" so", ",so", "so that", "such that", "sodass", "damit"].iter().any(|words| before.ends_with(words));
        match claim.expected(is_goal || is_new(&call.1)) {
            Some(expected) => {
                let now = claim.stated.filter(|now| *now != expected);
                found.push(Example { now, ..example(text, call, expected) });
            }
            None if claim.later.is_empty() => {
                pending.push(call);
                let now = claim.stated.clone().filter(|_| claim.is_wrong && !is_new(&call.1));
                wrong.extend(now.map(|now| Example { is_wrong: true, ..example(text, call, now) }));
            }
            None => {
                // The later results belong to all pending calls: `f(1) returns a, same with f(2). Should be b and c.`
                pending.push(call);
                let pairs = pending.drain(..).zip(&claim.later);
                found.extend(pairs.map(|(call, expected)| example(text, call, expected.clone())));
            }
        }
    }
    if let ([], [name]) = (calls.as_slice(), new) {
        found.extend(pairs(text, name));
    }
    found.extend(wrong);
    let mut seen = std::collections::HashSet::new();
    found.retain(|one: &Example| seen.insert(one.call.clone()));
    found.truncate(EXAMPLES_MAX);
    found
}

fn called(text: &str, is_new: &dyn Fn(&str) -> bool) -> Vec<Example> {
    if wants_to_keep(text) || has_word(text, "raise raises throw throws") {
        return Vec::new();
    }
    let calls = calls(text).into_iter().filter(|call| !is_new(&call.1)).take(EXAMPLES_MAX);
    let mut found: Vec<Example> = Vec::new();
    for call in calls {
        let one = example(text, &call, IMPOSSIBLE.to_owned());
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}

fn wants_to_keep(text: &str) -> bool {
    has_word(text, "still keep keeps stay stays remain unchanged same weiterhin bleibt bleiben toujours")
}

fn has_word(text: &str, list: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric()).any(|word| is_listed(list, &word.to_lowercase()))
}

/// The first argument of a call if it is a string: `goose` in `plural('goose')`; else empty.
fn first_text(call: &str) -> &str {
    let inside = call.split_once('(').map_or("", |(_, inside)| inside);
    inside.strip_prefix(['\'', '"']).and_then(|rest| rest.split(['\'', '"']).next()).unwrap_or_default()
}

/// Examples of the single new function `name`, given as pairs of values: `'A b' becomes 'a-b'`,
/// `3661 -> "1h 1m 1s"`.
fn pairs(text: &str, name: &str) -> Vec<Example> {
    static PAIR: LazyLock<Regex> = LazyLock::new(|| {
        let quoted = r#""[^"]*"|'[^']*'"#;
        let value = format!(r"{quoted}|-?\d+(?:\.\d+)?\b|\[[^\]]*\]|True|False|None|true|false|null");
        let (becomes, also) = ("becomes|wird|gives|devient|donne|->|=>|→", "into|to|is|da");
        let pair = format!(r"({value})`?\s*(?:{becomes})\s*`?({value})|({quoted})\s*(?:{also})\s*({quoted})");
        pattern(pair)
    });
    let found = PAIR.captures_iter(text).filter_map(|found| {
        let given = found.get(1).or(found.get(3))?.as_str();
        let expected = found.get(2).or(found.get(4))?.as_str().to_owned();
        Some(Example { name: name.to_owned(), call: format!("{name}({given})"), expected, is_wrong: false, now: None })
    });
    found.collect()
}

fn example(text: &str, call: &(Range<usize>, String), expected: String) -> Example {
    Example { name: call.1.clone(), call: text[call.0.clone()].to_owned(), expected, is_wrong: false, now: None }
}

/// Calls of plain functions with literal arguments: their byte ranges and function names.
fn calls(text: &str) -> Vec<(Range<usize>, String)> {
    let mut found: Vec<(Range<usize>, String)> = Vec::new();
    for (open, _) in text.match_indices('(') {
        let before = &text[..open];
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
        let start =
            before.rfind(|c| !is_name(c)).map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
        let name = &before[start..];
        let inside = found.last().is_some_and(|last| last.0.contains(&open));
        let is_part = before[..start].ends_with('.') || is_of_something(&before[..start]);
        if name.is_empty() || inside || is_part || name.starts_with(|c: char| c.is_ascii_digit()) {
            continue;
        }
        if let Some(end) = closed(text, open).filter(|end| end - start <= CALL_BYTES_MAX)
            && is_literal(&text[open + 1..end - 1])
        {
            found.push((start..end, name.to_owned()));
        }
    }
    found
}

/// Whether a text ends with a phrase such as `the label of`: a result stated after the call then
/// belongs to the label and not to the call.
fn is_of_something(before: &str) -> bool {
    const ITSELF: &str = "result value output outcome return call example case instead";
    let mut words = before.trim_end_matches(['`', ' ']).rsplit(' ');
    words.next().is_some_and(|last| last.eq_ignore_ascii_case("of"))
        && words.next().is_none_or(|what| !is_listed(ITSELF, what.to_lowercase().trim_end_matches('s')))
}

/// Named constants in the languages that examples can be run in.
const CONSTANTS: &[&str] = &["True", "False", "None", "true", "false", "null", "undefined"];

/// Whether all arguments are literals; false if there are no arguments.
fn is_literal(arguments: &str) -> bool {
    let mut quote: Option<char> = None;
    let mut outside = String::new();
    for letter in arguments.chars() {
        match quote {
            Some(mark) if mark == letter => quote = None,
            Some(_) => {}
            None if matches!(letter, '\'' | '"') => {
                quote = Some(letter);
                outside.push('0');
            }
            None => outside.push(letter),
        }
    }
    let words = outside.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
    let is_value = |word: &str| word.starts_with(|c: char| c.is_ascii_digit()) || CONSTANTS.contains(&word);
    let named = |word: &str| outside.contains(&format!("{word}=")) || outside.contains(&format!("{word}:"));
    quote.is_none()
        && !arguments.trim().is_empty()
        && words.clone().count() > 0
        && words.into_iter().all(|word| is_value(word) || named(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::examples::{command, given, wrong};

    fn check(text: &str, new: bool, expected: &[(&str, &str)]) {
        let found = of(text, &["id_of".to_owned()], &|_| new);
        let found: Vec<(&str, &str)> = found.iter().map(|one| (one.call.as_str(), one.expected.as_str())).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn calls_of_existing_functions_are_read() {
        let text = "ms should know fortnights: ms('1 fortnight') and ms('2 fortnights') are 14 and 28 days";
        let found = called(text, &|_| false);
        assert_eq!(found.len(), 2);
        assert!(called("ms('1d') should still be 24 h", &|_| false).is_empty());
    }

    #[test]
    fn examples_of_a_new_function_are_read() {
        check(
            "Add a function tail(path), so tail('a.b') is 'b' and tail('c') is 'c'",
            true,
            &[("tail('a.b')", "'b'"), ("tail('c')", "'c'")],
        );
        check("`add(1, 2)` returns 3, `add()` is not allowed", true, &[("add(1, 2)", "3")]);
        check("chunk([1,2,3], 2) => [[1, 2], [3]].", true, &[("chunk([1,2,3], 2)", "[[1, 2], [3]]")]);
        check(
            "Füge id_of(name) hinzu: aus 'A' wird 'a_id' und aus 'Bc' wird 'bc_id'",
            true,
            &[("id_of('A')", "'a_id'"), ("id_of('Bc')", "'bc_id'")],
        );
        check("treat / so, so f('a/b') is 'aB'", false, &[("f('a/b')", "'aB'")]);
        check("f(6, { long: true }) returns 'ab', it should be 'a'", false, &[("f(6, { long: true })", "'a'")]);
        check("f(1) gives 2 but I have seen 3 of these", false, &[("f(1)", "2")]);
        check("f(-1) should raise ValueError.", true, &[("f(-1)", "ValueError")]);
        check("the size of box(2) is 4", true, &[]);
        check("the result of box(2) is 4", true, &[("box(2)", "4")]);
        check("is_even(3) gives False", true, &[("is_even(3)", "False")]);
    }

    #[test]
    fn wrong_results_are_distinguished_from_right_ones() {
        check(
            "shorten(13) returns 13m, same with shorten(113). Should be 13cm and 113cm.",
            false,
            &[("shorten(13)", "13cm"), ("shorten(113)", "113cm")],
        );
        check("shorten(13) returns 13m, also for 113. Should be 13cm and 113cm.", false, &[("shorten(13)", "13cm")]);
        check("plural('ox') gives oxs. It should be oxen, and so on", false, &[("plural('ox')", "oxen")]);
        check("plural('ox') gives nonsense. It should be mended.", false, &[]);
        check("size('x') gives 2 instead of 1", false, &[("size('x')", "1")]);
        check("size('') crashes, it should give 0.", false, &[("size('')", "0")]);
        check("ordinal(12) gives 12nd", false, &[]);
        let text = "cut('hello', 3) returns 'hel...' but it must never be longer than the limit. Fix it.";
        let found = of(text, &[], &|_| false);
        assert!(found.len() == 1 && found[0].is_wrong && found[0].expected == "'hel...'", "{found:?}");
        check("call run(x) first", true, &[]);
        // A result described as wrong is never the expected one, not even for a new function.
        check("ready(0) returns false, but nothing is left to do then", true, &[]);
        check("ready(0) returns false, however it is ready", true, &[]);
        check("size('x') must never be 0", true, &[]);
        let text = "size('x') should not return 2";
        let found = of(text, &[], &|_| false);
        assert!(found.len() == 1 && found[0].is_wrong && found[0].expected == "2", "{found:?}");
        check(
            "ready(1) returns true, that's fine. But ready(0) should be false",
            false,
            &[("ready(1)", "true"), ("ready(0)", "false")],
        );
        check("ready(1) returns true, which is not right", false, &[]);
        check(
            "parse('P') returns an empty thing, but it has no parts and should raise KeyError.",
            false,
            &[("parse('P')", "KeyError")],
        );
        check("has(null, 'a') should throw a TypeError, not return false", false, &[("has(null, 'a')", "TypeError")]);
    }

    #[test]
    fn value_pairs_are_examples_of_the_only_new_function() {
        let read = |text: &str| {
            let found = of(text, &["short".to_owned()], &|_| true);
            found.into_iter().map(|one| (one.call, one.expected)).collect::<Vec<_>>()
        };
        let pair = |call: &str, expected: &str| (call.to_owned(), expected.to_owned());
        assert_eq!(
            read("a function short(n): 3661 -> \"1h 1m\", 0 -> \"0s\", None becomes None"),
            [pair("short(3661)", "\"1h 1m\""), pair("short(0)", "\"0s\""), pair("short(None)", "None")]
        );
        assert_eq!(read("short turns 'A b' into 'a-b'"), [pair("short('A b')", "'a-b'")]);
        assert_eq!(read("short(n) goes from 5 to 10"), []);
    }

    #[test]
    fn the_command_prints_wrong_results() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("m.py"), "def tail(p):\n    return p.split('.')[1]\n").unwrap();
        let examples = of("tail('a.b') is 'b', tail('c') is 'c'", &[], &|_| true);
        let line = command("m.py", &examples).unwrap();
        let ran = std::process::Command::new("sh").args(["-c", &line]).current_dir(folder.path()).output().unwrap();
        let text = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(!ran.status.success());
        let now = Example { is_wrong: true, expected: "'b'".to_owned(), ..examples[0].clone() };
        let line = command("m.py", &[now]).unwrap();
        let again = std::process::Command::new("sh").args(["-c", &line]).current_dir(folder.path()).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&again.stdout), "tail('a.b') gives 'b', which is wrong\n");
        let calls = called("tail('a.b') gives too little", &|_| false);
        let line = command("m.py", &calls).unwrap();
        let shown = std::process::Command::new("sh").args(["-c", &line]).current_dir(folder.path()).output().unwrap();
        let said = wrong(&String::from_utf8_lossy(&shown.stdout), &calls).unwrap();
        assert_eq!(given(&said), ["tail('a.b') gives 'b'"]);
        assert_eq!(wrong(&text, &examples).unwrap(), "tail('c') gives IndexError('list index out of range'), not 'c'");
    }

    #[test]
    fn a_result_that_only_looks_like_the_expected_one_is_wrong() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("m.py"), "def width(box):\n    return str(box)\n").unwrap();
        std::fs::write(folder.path().join("m.js"), "exports.width = (box) => String(box)\n").unwrap();
        for (path, asked, is_right) in [
            ("m.py", "width(2) returns '2' but should be 2", false),
            ("m.py", "width(2) returns 2 but should be '2'", true),
            ("m.py", "width(2) returns 3 but should be '2'", true),
            ("m.js", "width(2) returns '2' but should be 2", false),
            ("m.js", "width(2) returns 2 but should be '2'", true),
        ] {
            let line = command(path, &of(asked, &[], &|_| false)).unwrap();
            let ran = std::process::Command::new("sh").args(["-c", &line]).current_dir(folder.path()).output().unwrap();
            assert_eq!(ran.status.success(), is_right, "{path} {asked} {}", String::from_utf8_lossy(&ran.stdout));
        }
    }
}
