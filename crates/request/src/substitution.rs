//! Reads replacements from a request without a model: `500, not 1000`, `from 25 to 50`,
//! `instead of "a" it should say "b"`.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::base::pattern::{pattern, static_regex};
use crate::language::{grounding, quotations, words};

use super::arguments::{self, Edit, Unsettled};

/// An old and a new value, as written in the request.
#[derive(Clone, Debug, PartialEq)]
pub struct Substitution {
    /// The text that is there now.
    pub old: String,
    /// The text that takes its place.
    pub new: String,
    /// Whether both are in quotation marks.
    pub is_quoted: bool,
    /// The rest of the request, which describes the location.
    pub about: String,
}

impl Substitution {
    /// The edit of `file` that makes this replacement at the location that the rest of the request
    /// describes.
    ///
    /// # Errors
    /// If no line matches it, or several do.
    pub fn edit(&self, file: &str) -> Result<Edit, Unsettled> {
        arguments::settle(&arguments::from_to(&self.about, &self.old, &self.new), file)
    }
}

/// A value in a request: quoted text, a number or a name.
struct Literal<'a> {
    /// The value with its quotation marks.
    range: Range<usize>,
    text: &'a str,
    is_quoted: bool,
}

/// The substitution spelled out in `task`; `None` if it does not name exactly two values, or does
/// not state which replaces which.
pub(super) fn of(task: &str) -> Option<Substitution> {
    let quoted: Vec<Literal<'_>> = quotations::of(task)
        .into_iter()
        .map(|one| Literal { range: one.range, text: one.text.trim_matches([' ', '\u{a0}']), is_quoted: true })
        .collect();
    let literals = if quoted.len() == 2 { quoted } else { numbers(task, &quoted) };
    substitution(task, &literals)
}

/// Like [`of`], for names of code: `measure with time.monotonic, not time.time`.
pub(super) fn of_names(task: &str) -> Option<Substitution> {
    static_regex!(NAME = r"`[^`\s]+`|\b[A-Za-z_]\w*(?:(?:\.|::)[A-Za-z_]\w*)+|\b[A-Za-z]+_\w+");
    let names = NAME.find_iter(task).map(|found| Literal {
        text: found.as_str().trim_matches('`'),
        range: found.range(),
        is_quoted: false,
    });
    substitution(task, &names.collect::<Vec<_>>())
}

/// Like [`of`], for types such as errors:
/// `it should raise a LookupError instead of a plain Exception`.
pub(super) fn of_types(task: &str) -> Option<Substitution> {
    static_regex!(TYPE = r"`?\b(?:[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+|[A-Z]*(?:Error|Exception))\b`?");
    let names = TYPE.find_iter(task).map(|found| Literal {
        text: found.as_str().trim_matches('`'),
        range: found.range(),
        is_quoted: false,
    });
    let names: Vec<Literal<'_>> = names.collect();
    // The request may name further types besides the two.
    let mut pairs = names.windows(2).filter_map(|pair| substitution(task, pair));
    pairs.next().filter(|_| pairs.next().is_none())
}

fn substitution(task: &str, literals: &[Literal<'_>]) -> Option<Substitution> {
    let [first, second] = literals else { return None };
    let (old, new) = if first_is_old(task, first, second)? { (first, second) } else { (second, first) };
    let about = [&task[..first.range.start], &task[first.range.end..second.range.start], &task[second.range.end..]];
    let (old, new) = (old.text.to_owned(), new.text.to_owned());
    let is_quoted = first.is_quoted;
    (old != new).then(|| Substitution { old, new, is_quoted, about: about.join(" ") })
}

/// Decides from the words around two values, `①` and `②`, which of them is the old one. The first
/// matching rule applies.
struct Rule {
    pattern: Regex,
    /// Whether the rule applies only to texts in quotation marks.
    is_quoted: bool,
    /// `None` if nothing should change.
    first_is_old: Option<bool>,
}

static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let instead = "(?:instead of|rather than|statt|anstatt|au lieu de|en vez de)";
    // `not a plain ②`, `instead of the ②`
    let article = "(?: (?:an?|the|eine?[mnrs]?|de[mnr]|une?|una|le|la|el)(?: [a-zà-ÿ]+)?)?";
    let not = &format!(r"① (?:[^.;]{{0,40}}[\s,])?(?:{instead}|(?:and )?not){article} ②");
    let too =
        r"(?:\w+\s+)?(?:is|are|was|were|ist|sind|est|sont|es|son)\s+(?:\w+\s+)?(?:too|not enough|zu|trop|demasiado)\b";
    let says = r"\b(?:gives?|gave|returns?|prints?|yields?|shows?|raises|raised|throws|threw|is|are|was|gets?|got|gibt|ist|est|es)(?:\s\S+)?";
    let make = r"(?:make|change|turn) (?:that|it|this)(?: to| into)?|(?:it|that|this) (?:must|has to|should) (?:be|say|read|give)";
    let rule = |is_quoted: bool, first_is_old: Option<bool>, text: String| Rule {
        pattern: pattern(format!("(?s){text}")),
        is_quoted,
        first_is_old,
    };
    let (any, quoted, first, second) = (false, true, Some(true), Some(false));
    vec![
        // `up to 200, 100 is too short`
        rule(any, first, format!("① {too}")),
        rule(any, second, format!("② {too}")),
        rule(any, first, format!(r"{instead}(?:\s[^.;]{{0,40}})? ①")),
        rule(any, first, format!(r"not (?:\w+ )?① but{article} ②")),
        rule(quoted, second, not.clone()),
        rule(any, second, format!("should.*{not}")),
        // `f(1) gives 2, not 3` describes the code and is not an order.
        rule(any, None, format!("{says} {not}")),
        rule(any, second, not.clone()),
        rule(quoted, first, "① (?:should (?:be|read|say)|to|becomes|->|→|with|by|zu|par|por) ②".to_owned()),
        rule(any, first, "(?:from|von|de|с) ① (?:to|auf|à|a|на) ②".to_owned()),
        // `says 1.4, make that 1.5`, `is 5 now, it should be 6`
        rule(any, first, format!("① [^.]*(?:{make}|should (?:be|say|read)) ②")),
    ]
});

/// Whether the first of two values is the old one; `None` if the words around them are ambiguous.
fn first_is_old(task: &str, first: &Literal<'_>, second: &Literal<'_>) -> Option<bool> {
    let [before, between, behind] =
        [&task[..first.range.start], &task[first.range.end..second.range.start], &task[second.range.end..]]
            .map(|text| text.trim().to_lowercase());
    let text = format!("{before} ① {between} ② {behind}");
    let rule = RULES.iter().find(|rule| (first.is_quoted || !rule.is_quoted) && rule.pattern.is_match(&text))?;
    rule.first_is_old
}

/// `bump the version for 4.10.0`, reworded to match the rules for explicit edits. `None` if the
/// step does not ask for such a change, or if step and request name no version or several.
pub(super) fn version_bump(step: &str, request: &str) -> Option<String> {
    static_regex!(VERSION = r"\d+(?:\.\d+){2}(?:[-.+]?[a-z]+\.?\d*)?");
    static_regex!(
        BUMPS =
            r"(?i)\b(?:bump|set|raise|update|increase|change|erhöhe|setze|passe)\b[^.;]{0,40}\bversions?(?:nummer)?\b"
    );
    let versions = |text: &str| -> Vec<String> {
        let mut all: Vec<String> = VERSION.find_iter(text).map(|found| found.as_str().to_owned()).collect();
        all.dedup();
        all
    };
    let mut all = versions(step);
    if all.is_empty() {
        all = versions(request);
    }
    let [version] = all.as_slice() else { return None };
    BUMPS.is_match(step).then(|| format!("set the version to {version}"))
}

/// `text` with `old` replaced wherever it is a complete name; its members may follow (`a.b.d`), but
/// it must not itself be a member (`x.a.b`).
pub fn replaced(text: &str, old: &str, new: &str) -> String {
    let mut done = String::new();
    let mut end = 0;
    for at in grounding::places(text, old).filter(|at| !text[..*at].ends_with('.')) {
        done.push_str(&text[end..at]);
        done.push_str(new);
        end = at + old.len();
    }
    done + &text[end..]
}

/// Whether a text contains something like `1.2`.
pub fn has_version(text: &str) -> bool {
    static_regex!(VERSION = r"\d\.\d");
    VERSION.is_match(text)
}

/// Numbers and versions in a request, `500`, `3.10+`, `1_000`, that are not inside a quotation, a
/// name or a path.
fn numbers<'a>(task: &'a str, quoted: &[Literal<'_>]) -> Vec<Literal<'a>> {
    static_regex!(NUMBER = r"\d+(?:[._,]\d+)*\+?");
    let stands_alone = |range: &Range<usize>| {
        let is_inside = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '/' | '-' | '.' | '(');
        let before = task[..range.start].chars().next_back();
        let mut behind = task[range.end..].chars();
        let after = behind.next();
        let ends = matches!(after, Some('.')) && !behind.next().is_some_and(char::is_alphanumeric);
        !before.is_some_and(is_inside) && (ends || !after.is_some_and(|letter| is_inside(letter) || letter == ')'))
    };
    let found = NUMBER.find_iter(task).map(|found| found.range());
    found
        .filter(|range| stands_alone(range) && !quoted.iter().any(|one| one.range.contains(&range.start)))
        .map(|range| Literal { text: &task[range.clone()], range, is_quoted: false })
        .collect()
}

/// The difference between two texts, in complete words: `a b c` and `a d c` give `b` and `d`.
pub(crate) fn difference<'a>(old: &'a str, new: &'a str) -> (&'a str, &'a str) {
    let same_start = |text: &'a str, other: &'a str| -> usize {
        let mut end = 0;
        for (word, other) in text.split_inclusive(' ').zip(other.split_inclusive(' ')) {
            if word != other || !word.ends_with(' ') {
                break;
            }
            end += word.len();
        }
        end
    };
    let start = same_start(old, new);
    let (old, new) = (&old[start..], &new[start..]);
    let same_end = old.rsplit(' ').zip(new.rsplit(' ')).take_while(|(word, other)| word == other);
    let tail: usize = same_end.map(|(word, _)| word.len() + 1).sum();
    if tail < old.len() && tail < new.len() { (&old[..old.len() - tail], &new[..new.len() - tail]) } else { (old, new) }
}

/// Minimum share of a quoted text's words that a line must contain if part of the text was filled
/// in by code.
const SHARED: f64 = 0.6;

/// Replaces the difference between the old and the new text in the only line that shares the most
/// words with the old text: a request may write `'-c' not given` where the code has
/// `'${name}' not given`. `None` if no line or several lines match.
pub fn in_template(text: &str, one: &Substitution) -> Option<String> {
    let (old, new) = difference(&one.old, &one.new);
    let wanted = words::content(&one.old);
    let share = |line: &str| {
        let said = words::content(line);
        wanted.iter().filter(|word| said.contains(*word)).count() as f64 / wanted.len().max(1) as f64
    };
    let is_it =
        |line: &&str| line.matches(old).count() == 1 && share(line) >= SHARED && line.contains(['"', '\'', '`']);
    let mut found = text.lines().filter(is_it);
    let line = found.next().filter(|_| found.next().is_none())?;
    Some(text.replacen(line, &line.replacen(old, new, 1), 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Reading = fn(&str) -> Option<Substitution>;

    fn check_by(read: Reading, task: &str, expected: Option<(&str, &str)>) {
        let found = read(task);
        assert_eq!(found.as_ref().map(|one| (one.old.as_str(), one.new.as_str())), expected, "{task}");
    }

    fn check(task: &str, expected: Option<(&str, &str)>) {
        check_by(of, task, expected);
    }

    #[test]
    fn quoted_texts_are_replaced() {
        check("the text 'a b' should be \"c d\", in f", Some(("a b", "c d")));
        check("let f() parse up to 200 characters, 100 is too short for us", Some(("100", "200")));
        check("100 characters are not enough, allow 200", Some(("100", "200")));
        check("In t.go print 'very soon' instead of 'soon'", Some(("soon", "very soon")));
        check("remplace le titre « A b. » par « C b. »", Some(("A b.", "C b.")));
        check(
            "reword it: instead of \"x is not set\" it should say \"x is missing\"",
            Some(("x is not set", "x is missing")),
        );
        check("it's 'a' and 'b'", None);
        check("f('a') is 'b' and f('c') is 'd'", None);
    }

    #[test]
    fn numbers_are_replaced() {
        check("The cache should write after 500 changes, not 1000", Some(("1000", "500")));
        check("Passe la largeur de 25 à 50, rien de plus", Some(("25", "50")));
        check("the guide says Node 16.2+ is enough, make that 18.4+", Some(("16.2+", "18.4+")));
        check("retry 5 times instead of 3.", Some(("3", "5")));
        check("it runs 3 to 5 times", None);
        check("f('a') gives 2, not 3", None);
        let file = "def changes(n=1000):\n    disk(1000)\n";
        let edit = of("changes() should come after 500, not 1000").unwrap().edit(file).unwrap();
        assert_eq!(edit.new, "def changes(n=500):");
        check("parse(1) gives a2, should be 3", None);
    }

    #[test]
    fn names_of_code_are_replaced() {
        let check = |task: &str, expected: Option<(&str, &str)>| check_by(of_names, task, expected);
        check("elapsed() should measure with perf.now, not Date.now", Some(("Date.now", "perf.now")));
        check("use `time.monotonic` instead of `time.time` in Timer", Some(("time.time", "time.monotonic")));
        check("call os.remove and os.rename", None);
        check("set max_size to 5", None);
        assert_eq!(
            replaced("a.b(); a.bc(); x.a.b; a.b.d; a.ba.b", "a.b", "a.z"),
            "a.z(); a.bc(); x.a.b; a.z.d; a.ba.b"
        );
    }

    #[test]
    fn types_are_replaced() {
        let check = |task: &str, expected: Option<(&str, &str)>| check_by(of_types, task, expected);
        check(
            "Shelf.take() should raise a LookupError instead of a plain Exception",
            Some(("Exception", "LookupError")),
        );
        check("In load throw RangeError, not Error, for numbers below 0", Some(("Error", "RangeError")));
        check("connect() must not raise TimeoutError but a ConnectionError", Some(("TimeoutError", "ConnectionError")));
        check("MyList should derive from UserList rather than from OtherList", None);
        check("take() raises a KeyError instead of a LookupError", None);
        check("catch KeyError and LookupError", None);
        check("an OrderedDict", None);
    }

    #[test]
    fn a_version_is_bumped_to_the_one_that_is_named() {
        let check = |step: &str, expected: Option<&str>| {
            assert_eq!(version_bump(step, "get ready for 4.10.0: do it").as_deref(), expected, "{step}");
        };
        check("bump the version (setup.cfg and about.py)", Some("set the version to 4.10.0"));
        check("bump the version in setup.cfg to 0.5.1", Some("set the version to 0.5.1"));
        check("say that version 1.2.3 or newer is needed", None);
        check("update the readme", None);
        assert!(has_version("version = '4.9.0'") && !has_version("style=flat"));
    }

    #[test]
    fn a_difference_has_whole_words() {
        assert_eq!(difference("a '-c' not given", "a '-c' is missing"), ("not given", "is missing"));
        assert_eq!(difference("the old name here", "the new name here"), ("old", "new"));
        assert_eq!(difference("a", "b"), ("a", "b"));
    }

    #[test]
    fn a_text_that_code_fills_in_is_found_by_its_other_words() {
        let text = "  fail(`error: option '${flag}' not given`);\n  fail(`command not given`);\n";
        let one = of("instead of \"option '-c' not given\" it should say \"option '-c' is missing\"").unwrap();
        let after = in_template(text, &one).unwrap();
        assert_eq!(after, text.replacen("' not given", "' is missing", 1));
    }
}
