//! Parses the change that a step asks for: the words that describe the place, the old value, the new value.

use std::ops::Range;

use crate::language::clauses::names;
use crate::language::clauses::scan::{Kind, Token, scan_line};
use crate::language::clauses::words::listed;

/// `change <about> from <old> to <new>`.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::request) struct Intent {
    /// Words that describe the place, in lower case: `default`, `number`, `attempts`.
    pub about: Vec<String>,
    pub old: Option<String>,
    pub new: String,
    /// Every place is meant: a rename, or `everywhere`.
    pub all: bool,
    /// The old text is meant literally, as an identifier or a quotation is.
    pub exact: bool,
}

const VERBS: &str = "\
    change, set, replace, rename, bump, update, increase, decrease, make, switch, raise, lower, reduce, \
    correct, fix, turn, swap, modify, edit, upgrade, downgrade, substitute, enable, disable, измени, замени, \
    поменяй, переименуй, установи, увеличь, уменьши, исправь";

/// Words by which every place is meant.
const EVERYWHERE: &str = "all, every, everywhere, occurrences, везде";

/// Words that do not help to find the place.
pub(super) const EMPTY: &str = "\
    the, a, an, of, in, its, our, my, to, value, for, from, with, and, that, this, it, all, every, each, \
    please, function, variable, constant, method, class, field, setting, option, file, everywhere, occurrences, \
    occurrence, by, at, is, be, on, as, so, then, there, now, string, text, word, typo, into, not, instead, rather, than, \
    should, say, von, auf, de, à, значение, в, на, с";

/// The change from `old` to `new` where the words of `about` say.
pub(in crate::request) fn from_to(about_text: &str, old: &str, new: &str) -> Intent {
    let tokens = scan_line(about_text);
    let all = tokens.iter().any(|token| listed(EVERYWHERE, &token.low));
    let about = about(&tokens, 0..tokens.len());
    Intent { about, old: Some(old.to_owned()), new: new.to_owned(), all, exact: false }
}

/// The change that `step` asks for; `None` if it names no new value. Words that occur in `file` are taken for the old text.
pub(super) fn read(step: &str, file: &str) -> Option<Intent> {
    let tokens = scan_line(step);
    let verb = tokens.iter().position(|token| listed(VERBS, &token.low))?;
    let name = tokens[verb].low.as_str();
    if matches!(name, "enable" | "disable")
        || name == "turn" && tokens.iter().any(|t| matches!(t.low.as_str(), "on" | "off"))
    {
        let off = name == "disable" || tokens.iter().any(|token| token.low == "off");
        let new = if off { "false" } else { "true" };
        let about = about(&tokens, 0..tokens.len())
            .into_iter()
            .filter(|word| !matches!(word.as_str(), "enable" | "disable" | "turn" | "off"))
            .collect();
        return Some(Intent { about, old: None, new: new.to_owned(), all: false, exact: false });
    }
    let joins: &[&str] = match name {
        "replace" | "substitute" | "замени" => &["with", "by", "to", "на", "->", "→"],
        "swap" => &["for", "with"],
        _ => &["to", "into", "with", "на", "в", "=", "->", "→"],
    };
    let is = |i: usize, words: &[&str]| {
        tokens[i].kind != Kind::Opaque && (words.contains(&tokens[i].low.as_str()) || words.contains(&tokens[i].text))
    };
    let to = (verb + 2..tokens.len())
        .rfind(|&i| is(i, joins) && i + 1 < tokens.len() && !matches!(tokens[i + 1].low.as_str(), "the" | "be"))
        .or_else(|| (verb + 2..tokens.len()).find(|&i| is(i, joins) && i + 1 < tokens.len()))?;
    let from = (verb + 1..to).find(|&i| is(i, &["from", "с", "из"]) && i + 1 < to);
    let (new, new_end) = value(step, &tokens, to + 1, tokens.len())?;
    let (old, object_end, exact, old_at) = match from {
        Some(from) => {
            let (old, end) = value(step, &tokens, from + 1, to)?;
            (Some(old), from, tokens[from + 1].kind == Kind::Opaque, Some(from + 1..end))
        }
        None => match named(step, &tokens, verb + 1..to, file, name, &new) {
            Some((old, at)) => (Some(old), to, true, Some(at)),
            None => (None, to, false, None),
        },
    };
    let outside = (0..verb)
        .chain(verb + 1..object_end)
        .chain(old_at.as_ref().map_or(0..0, |at| at.end..to))
        .chain(new_end..tokens.len());
    let skip = |i: &usize| old_at.as_ref().is_some_and(|at| at.contains(i));
    let about = outside.filter(|i| !skip(i)).flat_map(|i| about(&tokens, i..i + 1)).collect();
    let everywhere = tokens.iter().any(|token| listed(EVERYWHERE, &token.low));
    let all = everywhere || matches!(name, "rename" | "переименуй") && exact;
    Some(Intent { about, old, new, all, exact })
}

/// The value that begins at token `from`, and the index of the token after it: a quotation, a number, or words up to a mark or a word
/// like `in`.
fn value(step: &str, tokens: &[Token], from: usize, to: usize) -> Option<(String, usize)> {
    let first = tokens.get(from).filter(|_| from < to)?;
    if first.kind == Kind::Opaque {
        return Some((names::unquoted(first).to_owned(), from + 1));
    }
    if names::number(first.text).is_some() || first.text.parse::<f64>().is_ok() {
        return Some((first.text.to_owned(), from + 1));
    }
    let ends = |token: &Token| {
        matches!(token.kind, Kind::Comma | Kind::Stop | Kind::Semicolon | Kind::Bang | Kind::Question | Kind::Dash)
            || listed(
                "in, inside, of, so, because, and, everywhere, throughout, within, across, then, for, instead, \
                в, и, везде",
                token.low.as_str(),
            )
    };
    let end = (from..to).find(|&i| ends(&tokens[i])).unwrap_or(to);
    let last = tokens.get(end.checked_sub(1).filter(|&last| last >= from)?)?;
    let text = &step[first.start..last.end];
    // The scanner does not take empty quotation marks for a quotation.
    let text = if matches!(text, "\"\"" | "''" | "``") { "" } else { text };
    Some((text.to_owned(), end))
}

/// The old text among the tokens of the object, with its token range: a quotation, the whole phrase or a name that `file` contains.
fn named(
    step: &str,
    tokens: &[Token],
    object: Range<usize>,
    file: &str,
    verb: &str,
    new: &str,
) -> Option<(String, Range<usize>)> {
    let (from, to) = (object.start, object.end);
    let object =
        from..(from..to).find(|&i| matches!(tokens[i].low.as_str(), "in" | "inside" | "of" | "within")).unwrap_or(to);
    if object.is_empty() {
        return None;
    }
    if let Some(i) =
        object.clone().find(|&i| tokens[i].kind == Kind::Opaque && file.contains(names::unquoted(&tokens[i])))
    {
        return Some((names::unquoted(&tokens[i]).to_owned(), i..i + 1));
    }
    let phrase = &step[tokens[object.start].start..tokens[object.end - 1].end];
    let literal =
        matches!(verb, "replace" | "rename" | "substitute" | "swap" | "correct" | "fix" | "замени" | "переименуй");
    let coined = |text: &str| is_coined(text) || text.chars().any(|c| c.is_ascii_digit()) || text.contains("::");
    // `change maxRetries to 5` sets a value, `change getUser to loadUser` is a rename.
    let alike = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_digit()) || new.starts_with(|c: char| c.is_alphabetic()) && coined(new)
    };
    if holds(file, phrase) && (literal || object.len() == 1 && coined(phrase) && alike(phrase)) {
        return Some((phrase.to_owned(), object));
    }
    let i = object.rev().find(|&i| {
        let text = tokens[i].text;
        tokens[i].kind == Kind::Word
            && holds(file, text)
            && !listed(EMPTY, &tokens[i].low)
            && (literal || coined(text) && names::number(text).is_some())
    })?;
    Some((tokens[i].text.trim_end_matches("()").to_owned(), i..i + 1))
}

/// Whether a name has an underscore, or a capital after its first letter, as names in code do.
pub(super) fn is_coined(name: &str) -> bool {
    name.contains('_') || name.chars().skip(1).any(char::is_uppercase)
}

fn holds(file: &str, text: &str) -> bool {
    !super::places::whole(file, text.trim_end_matches("()")).is_empty()
}

/// The words of some tokens that can describe a place. Paths are left out: they say which file is meant.
fn about(tokens: &[Token], range: Range<usize>) -> Vec<String> {
    let mut words = Vec::new();
    for token in &tokens[range] {
        let text = if token.kind == Kind::Opaque { names::unquoted(token) } else { token.text };
        if !matches!(token.kind, Kind::Word | Kind::Opaque) || names::is_path(text) {
            continue;
        }
        for part in super::places::parts(text) {
            if !listed(EMPTY, &part) && !words.contains(&part) {
                words.push(part);
            }
        }
    }
    words
}
