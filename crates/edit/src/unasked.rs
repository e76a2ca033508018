//! Finds unrequested effects of a change: added, altered or lost lines, parameters, arguments,
//! indices, definitions, statements.

use std::collections::HashSet;
use std::ops::Range;

use similar::{DiffTag, TextDiff};

use super::kept::{self, Earlier};
use super::{comments, testing};
use crate::base::is_listed;
use crate::base::pattern::static_regex;
use crate::index::parts::{self, Sort, Span};
use crate::language::{Asked, grounding, words};

/// Facts about a change that the text of the request does not contain.
#[derive(Clone, Copy, Debug, Default)]
pub struct Basis {
    /// Whether the request must mention every change to existing lines; false if a failing check
    /// decides.
    pub by_words: bool,
    /// Whether code without a name was to be added or rewritten and may therefore be outside
    /// definitions.
    pub may_state: bool,
}

/// Stems of keywords, which give no hint of a line's purpose.
const KEYWORDS: &str = "\
    return rais throw els elif whil def self thi function const let var try catch except class import new await async yield pass break continu \
    lambda not fn pub mut impl match func nil then";

/// Describes an effect of the change from `before` to `after` that the request `asked` does not
/// mention, as a message for the model that made the change.
pub fn found(path: &str, before: &str, after: &str, asked: &Asked, basis: Basis) -> Option<String> {
    if testing::is_test(path) || before.trim().is_empty() {
        return None;
    }
    let (old, new) = (parts::definitions(path, before), parts::definitions(path, after));
    parameter(path, (before, after), asked)
        .or_else(|| definition((&old, &new), after, asked))
        .or_else(|| statement(path, before, after).filter(|_| !basis.may_state))
        .or_else(|| line((before, &old), (after, &new), asked).filter(|_| basis.by_words))
}

/// Whether the request contains a word from these code tokens.
fn speaks_of<'t>(asked: &Asked, tokens: impl IntoIterator<Item = &'t str>) -> bool {
    tokens.into_iter().any(|token| {
        let escape = match token {
            "\\n" => "newline line break",
            "\\r" => "carriage return",
            "\\t" => "tab tabulator",
            token => token,
        };
        words::content(escape).iter().any(|word| !is_listed(KEYWORDS, word) && asked.content().contains(word))
    })
}

/// A new parameter of an existing function.
fn parameter(path: &str, (before, after): (&str, &str), asked: &Asked) -> Option<String> {
    if asked.leaves_name_open() {
        return None;
    }
    let (old, new) = (kept::functions(path, before), kept::functions(path, after));
    let names = |span: &Span| -> Vec<String> {
        span.signature.parameters.iter().map(|one| one.name.clone()).filter(|name| !name.is_empty()).collect()
    };
    for now in &new {
        let Earlier::Changed(was) = kept::earlier((&old, before), (&new, after), now) else { continue };
        let (was, now_head) = (names(was), names(now));
        let gained = now_head.iter().find(|name| !was.contains(name) && !speaks_of(asked, [name.as_str()]));
        if let Some(name) = gained.filter(|_| now_head.len() > was.len()) {
            return Some(format!(
                "`{}` has a new parameter `{name}`, which nobody asked for; write it without",
                now.name
            ));
        }
    }
    None
}

/// A new definition that is not named in the request and not used.
fn definition((old, new): (&[Span], &[Span]), after: &str, asked: &Asked) -> Option<String> {
    let is_old = |one: &Span| old.iter().any(|other| (&other.container, &other.name) == (&one.container, &one.name));
    let is_inside = |one: &Span| new.iter().any(|other| !is_old(other) && one.container.contains(&other.name));
    let is_used = |one: &Span| grounding::places(after, &one.name).nth(1).is_some();
    let is_special = |one: &Span| one.name.starts_with("__") || one.is_test || one.name.starts_with("test");
    let of_function = |one: &&Span| matches!(one.sort, Sort::Function | Sort::Class | Sort::Record);
    let mut added = new.iter().filter(of_function).filter(|one| !is_old(one) && !is_inside(one));
    let extra = added.find(|one| !is_special(one) && !is_used(one) && !speaks_of(asked, [one.name.as_str()]))?;
    // The only new definition is the requested one; the request describes it in other words.
    let count = new.iter().filter(of_function).filter(|one| !is_old(one) && !is_inside(one)).count();
    (count > 1).then(|| {
        format!("`{}` is new, nobody asked for it and nothing uses it; write only what was asked for", extra.name)
    })
}

/// A new call outside definitions.
fn statement(path: &str, before: &str, after: &str) -> Option<String> {
    let all = |text: &str| -> Vec<String> {
        let items = parts::parts(path, text).map(|parts| parts.items).unwrap_or_default();
        let bare = items.iter().filter(|part| part.sort == Sort::Statement && part.members.is_empty());
        bare.filter_map(|part| Some(text.get(part.core.clone())?.to_owned())).collect()
    };
    static_regex!(CALL = r"^[\w.$]+\(");
    let old = all(before);
    let added = all(after).into_iter().find(|one| CALL.is_match(one) && !old.contains(one))?;
    let first = added.lines().next().unwrap_or_default();
    Some(format!("`{first}` is outside every definition, which nobody asked for; write only definitions"))
}

/// A run of differing lines.
struct Hunk<'a> {
    /// The tokens found only in the old lines; `come` holds those found only in the new lines.
    gone: Vec<&'a str>,
    come: Vec<&'a str>,
    /// The first of these lines that is code, as shown to the user.
    shown: &'a str,
    /// Whether these lines include the head of a function.
    is_head: bool,
    /// The innermost definition around these lines.
    owner: String,
    /// A new argument of a call, or a lost index, if the request contains no word of it.
    detail: Option<String>,
}

/// A changed line, if the request mentions neither the difference nor code that needs it.
fn line((before, old): (&str, &[Span]), (after, new): (&str, &[Span]), asked: &Asked) -> Option<String> {
    let (hunks, added) = hunks((before, old), (after, new), asked);
    let is_name = |token: &&str| token.chars().next().is_some_and(|first| first.is_alphabetic() || first == '_');
    let known: HashSet<&str> = tokens(before).into_iter().collect();
    let is_new = |token: &&str| is_name(token) && !known.contains(*token);
    let (mut related, mut others): (Vec<&Hunk>, Vec<&Hunk>) =
        hunks.iter().partition(|hunk| speaks_of(asked, hunk.gone.iter().chain(&hunk.come).copied()));
    let mut needed: HashSet<&str> = added.into_iter().filter(is_new).collect();
    if asked.leaves_name_open() {
        // The request does not name the new parameter.
        let heads = hunks.iter().filter(|hunk| hunk.is_head);
        needed.extend(heads.flat_map(|hunk| &hunk.come).copied().filter(is_new));
    }
    let has_related = !related.is_empty() || !needed.is_empty();
    // If a line is wanted, so are the new names that it uses.
    loop {
        needed.extend(related.iter().flat_map(|hunk| &hunk.come).copied().filter(is_new));
        let (more, rest): (Vec<&Hunk>, Vec<&Hunk>) =
            others.into_iter().partition(|hunk| hunk.come.iter().any(|token| needed.contains(token)));
        others = rest;
        if more.is_empty() {
            break;
        }
        related.extend(more);
    }
    if let Some(detail) = related.iter().find_map(|hunk| hunk.detail.as_ref()) {
        return Some(detail.clone());
    }
    let [first, ..] = others.as_slice() else { return None };
    // The request names the code to change and describes the change in other words.
    let is_named = others.len() == 1 && !has_related && asked.names(last_of(&first.owner));
    if is_named {
        return first.detail.clone();
    }
    let place = if first.owner.is_empty() { String::new() } else { format!(" of `{}`", first.owner) };
    Some(format!("the line `{}`{place} has changed, which nobody asked for; keep it as it is", first.shown))
}

fn last_of(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// The differing runs of code outside new definitions, and the tokens of new definitions and
/// imports.
fn hunks<'a>(
    (before, old): (&'a str, &[Span]),
    (after, new): (&'a str, &[Span]),
    asked: &Asked,
) -> (Vec<Hunk<'a>>, Vec<&'a str>) {
    let (olds, news): (Vec<&str>, Vec<&str>) =
        (before.lines().map(str::trim).collect(), after.lines().map(str::trim).collect());
    let (old_code, new_code) = (comments::are_code(before), comments::are_code(after));
    let is_old = |one: &Span| old.iter().any(|other| (&other.container, &other.name) == (&one.container, &one.name));
    let is_added = |line: usize| new.iter().any(|one| !is_old(one) && one.lines.0 <= line + 1 && line < one.lines.1);
    let is_import = |line: &str| ["import ", "from ", "use ", "const {"].iter().any(|begin| line.starts_with(begin));
    let (mut found, mut added) = (Vec::new(), Vec::new());
    for change in TextDiff::from_slices(&olds, &news).ops() {
        if change.tag() == DiffTag::Equal {
            continue;
        }
        let gone = change.old_range().filter(|at| old_code[*at] && !is_import(olds[*at]));
        let gone: Vec<&str> = gone.map(|at| olds[at]).filter(|line| !news.contains(line)).collect();
        let mut come: Vec<&str> = Vec::new();
        for at in change.new_range().filter(|at| new_code[*at]) {
            if is_added(at) || is_import(news[at]) {
                added.extend(tokens(news[at]));
            } else if !olds.contains(&news[at]) {
                come.push(news[at]);
            }
        }
        let Some(shown) = gone.first().or(come.first()).copied() else { continue };
        let (gone_tokens, come_tokens) = (all_tokens(&gone), all_tokens(&come));
        let (gone, come, detail) = differing(&gone_tokens, &come_tokens, asked);
        if !gone.iter().chain(&come).any(|token| is_telling(token)) {
            continue;
        }
        let is_head =
            new.iter().any(|one| one.sort == Sort::Function && change.new_range().contains(&(one.lines.0 - 1)));
        let owner = owner(old, &change.old_range()).or_else(|| owner(new, &change.new_range()));
        // A parameter is not an argument.
        let detail = detail.filter(|_| !is_head);
        let detail =
            detail.map(|said| format!("{said} in `{shown}`, which nobody asked for; keep the rest of the line"));
        found.push(Hunk { gone, come, shown, is_head, owner: owner.unwrap_or_default(), detail });
    }
    (found, added)
}

/// The name of the innermost definition around the first of these lines, counted from 0.
fn owner(spans: &[Span], lines: &Range<usize>) -> Option<String> {
    let around = spans.iter().filter(|one| one.lines.0 <= lines.start + 1 && lines.start < one.lines.1);
    let inner = around.min_by_key(|one| one.lines.1 - one.lines.0)?;
    Some(inner.container.iter().chain([&inner.name]).cloned().collect::<Vec<_>>().join("."))
}

/// Whether a token is more than a bracket or a separator.
fn is_telling(token: &str) -> bool {
    !matches!(token, "(" | ")" | "[" | "]" | "{" | "}" | "," | ";" | ":" | "\"" | "'" | "`" | "." | "=")
}

/// Names, numbers, escapes and signs.
fn tokens(code: &str) -> Vec<&str> {
    static_regex!(TOKEN = r"[\p{L}_$][\p{L}\p{N}_$]*|\d[\d_.]*|\\[a-z]|[-+*/%<>=!&|^~]+|\S");
    TOKEN.find_iter(code).map(|found| found.as_str()).collect()
}

fn all_tokens<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    lines.iter().flat_map(|line| tokens(line)).collect()
}

/// The tokens that only `old` has, those that only `new` has, and an argument or index among them
/// that the request does not mention.
fn differing<'a>(old: &[&'a str], new: &[&'a str], asked: &Asked) -> (Vec<&'a str>, Vec<&'a str>, Option<String>) {
    let (mut gone, mut come, mut detail) = (Vec::new(), Vec::new(), None);
    for change in TextDiff::from_slices(old, new).ops() {
        let (less, more) = (&old[change.old_range()], &new[change.new_range()]);
        match change.tag() {
            DiffTag::Equal => continue,
            DiffTag::Delete if is_index(less) && !speaks_of(asked, less.iter().copied()) => {
                detail = Some(format!("`{}` is lost", less.concat()));
            }
            DiffTag::Insert if is_argument(more) && !speaks_of(asked, more.iter().copied()) => {
                detail = Some(format!("`{}=` is new", more[1]));
            }
            _ => {}
        }
        gone.extend(less);
        come.extend(more);
    }
    (gone, come, detail)
}

/// Whether tokens are an index or slice: `[1:]`.
fn is_index(tokens: &[&str]) -> bool {
    tokens.len() > 2 && tokens[0] == "[" && tokens[tokens.len() - 1] == "]"
}

/// Whether tokens are an additional named argument: `, flags=re.MULTILINE`.
fn is_argument(tokens: &[&str]) -> bool {
    let is_name = |token: &str| token.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    matches!(tokens, [",", name, "=", value, ..] if is_name(name) && *value != "=")
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "\
import re\n\nLIMIT = 10\n\n\ndef cut(text, size):\n    parts = re.split('a', text)[1:]\n    if len(parts) > size:\n        raise KeyError(size)\n    \
print(parts)\n    return parts\n\n\ndef other(text):\n    return cut(text, LIMIT)\n";

    fn check(changes: &[(&str, &str)], asked: &str, expected: Option<&str>) {
        let after = changes.iter().fold(BEFORE.to_owned(), |text, (from, to)| {
            assert!(text.contains(from), "{from}");
            text.replace(from, to)
        });
        let found = found("a.py", BEFORE, &after, &Asked::of(asked), Basis { by_words: true, may_state: false });
        match expected {
            None => assert_eq!(found, None, "{asked}"),
            Some(part) => assert!(found.as_ref().is_some_and(|said| said.contains(part)), "{asked}: {found:?}"),
        }
    }

    #[test]
    fn a_line_that_the_request_does_not_speak_of_stays() {
        let asked = "it should print the parts to stderr";
        let right = ("print(parts)", "print(parts, file=sys.stderr)");
        check(&[right], asked, None);
        check(&[right, ("import re\n", "import re\nimport sys\n")], asked, None);
        check(&[right, ("> size", ">= size")], asked, Some("`if len(parts) > size:` of `cut` has changed"));
        check(&[("('a', text)[1:]", "('a', text, flags=re.MULTILINE)")], asked, Some("nobody asked for"));
        check(&[("LIMIT)", "LIMIT + 1)")], asked, Some("of `other`"));
    }

    #[test]
    fn what_a_wanted_line_needs_is_wanted() {
        let asked = "cut should leave out empty parts";
        let wanted = ("    print(parts)", "    full = [one for one in parts if one != empty]\n    print(full)");
        check(&[wanted, ("    if len", "    empty = ''\n    if len")], asked, None);
        check(&[wanted, ("    if len", "    width = 0\n    if len")], asked, Some("nobody asked for"));
    }

    #[test]
    fn a_function_that_is_named_may_change_in_one_place() {
        check(&[("> size", ">= size")], "cut() is wrong by one", None);
        check(
            &[("> size", ">= size"), ("print(parts)", "print(text)")],
            "cut() is wrong by one",
            Some("nobody asked for"),
        );
        check(&[("> size", ">= size")], "it is wrong by one", Some("nobody asked for"));
    }

    #[test]
    fn a_value_that_is_named_in_plain_words_may_change() {
        check(&[("LIMIT = 10", "LIMIT = 20")], "the limit should be twice as high", None);
        check(&[("LIMIT = 10", "LIMIT = 20")], "it should be twice as high", Some("`LIMIT = 10` of `LIMIT`"));
        check(&[("import re\n", "import re\nimport os\n\nos.umask(0)\n")], "the limit is wrong", Some("outside"));
    }

    #[test]
    fn arguments_and_indices_within_a_wanted_line_stay() {
        let asked = "cut should split at b instead of a";
        check(&[("'a', text", "'b', text")], asked, None);
        check(&[("'a', text)[1:]", "'b', text)")], asked, Some("`[1:]` is lost"));
        check(&[("'a', text)", "'b', text, maxsplit=3)")], asked, Some("`maxsplit=` is new"));
    }

    #[test]
    fn parameters_definitions_and_statements_need_a_request() {
        let asked = "cut should raise an IndexError";
        let right = ("KeyError", "IndexError");
        check(&[right], asked, None);
        check(&[right, ("text, size)", "text, size, strict=False)")], asked, Some("parameter `strict`"));
        check(&[right, ("text, size)", "text, size, strict=False)")], "add an option to cut, IndexError", None);
        let two = "def one():\n    pass\n\n\ndef two():\n    pass\n\n\ndef other";
        check(&[("def other", two)], "add a function one()", Some("`two` is new"));
        check(&[("def other", "def quicker():\n    pass\n\n\ndef other")], "add something faster", None);
        check(
            &[right, ("\n\ndef other", "\n\nprint(cut('a', 1))\n\n\ndef other")],
            asked,
            Some("outside every definition"),
        );
    }

    #[test]
    fn escapes_are_known_by_their_names() {
        check(&[("split('a'", "split('a|\\r'")], "a carriage return splits too", None);
    }
}
