//! Parses the change that a step asks for: words that describe the location, the old value, the new
//! value.

use std::ops::Range;

use crate::language::clauses::names;
use crate::language::clauses::scan::{Kind, Token, scan_line};
use crate::language::clauses::words::listed;
use crate::language::shape::{self, is_joined};

use super::places;

/// A change of the form `change <about> from <old> to <new>`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Intent {
    /// Words that describe the location, in lower case: `default`, `number`, `attempts`.
    pub about: Vec<String>,
    pub old: Option<String>,
    pub new: String,
    /// Whether every occurrence is meant: a rename, or `everywhere`.
    pub all: bool,
    /// Whether the old text is literal, such as an identifier or a quotation.
    pub exact: bool,
    /// The object of the verb, if it may be either literal text or the name of a value:
    /// `change A to B`.
    pub object: Option<String>,
}

const VERBS: &str = "\
    change, set, replace, rename, bump, update, increase, decrease, make, switch, raise, lower, reduce, \
    correct, fix, turn, swap, modify, edit, upgrade, downgrade, substitute, enable, disable, измени, замени, \
    поменяй, переименуй, установи, увеличь, уменьши, исправь";

/// Verbs whose object may be text from the file: `change A to B`.
const OF_TEXTS: &str = "change, modify, edit, turn, switch, update, convert, измени, поменяй";
/// Words that end a value, and words that may connect words within a value.
const ENDS: &str = "in, inside, everywhere, throughout, within, across, then, so, because, instead, please, в, везде";
const JOINTS: &str = "of, and, for, и";

/// Words that mean every location.
const EVERYWHERE: &str = "all, every, everywhere, occurrences, везде";

/// Words that do not help find the location.
pub(super) const EMPTY: &str = "\
    the, a, an, of, in, its, our, my, to, value, for, from, with, and, that, this, it, all, every, each, \
    please, function, variable, constant, method, class, field, setting, option, file, everywhere, occurrences, \
    occurrence, by, at, is, be, on, as, so, then, there, now, string, text, word, typo, into, not, instead, rather, than, \
    should, say, von, auf, de, à, значение, в, на, с";

/// The change from `old` to `new`, at the location described by `about`.
pub(crate) fn from_to(about_text: &str, old: &str, new: &str) -> Intent {
    let tokens = scan_line(about_text);
    let all = tokens.iter().any(|token| listed(EVERYWHERE, &token.low));
    let about = about(&tokens, 0..tokens.len());
    Intent { about, old: Some(old.to_owned()), new: new.to_owned(), all, exact: false, object: None }
}

/// The change that `step` asks for; `None` if it gives no new value. Words that occur in `file`
/// count as the old text.
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
        return Some(Intent { about, old: None, new: new.to_owned(), all: false, exact: false, object: None });
    }
    let joins: &[&str] = match name {
        "replace" | "substitute" | "замени" => &["with", "by", "to", "на", "->", "→"],
        "swap" => &["for", "with"],
        _ => &["to", "into", "with", "на", "в", "=", "->", "→"],
    };
    let is = |i: usize, words: &[&str]| {
        tokens[i].kind != Kind::Opaque && (words.contains(&tokens[i].low.as_str()) || words.contains(&tokens[i].text))
    };
    let all: Vec<usize> = (verb + 2..tokens.len()).filter(|&i| is(i, joins) && i + 1 < tokens.len()).collect();
    let (described, plain): (Vec<usize>, Vec<usize>) =
        all.into_iter().partition(|&i| matches!(tokens[i + 1].low.as_str(), "the" | "be"));
    let at = Clause { step, tokens: &tokens, verb, file };
    let mut readings = plain.into_iter().rev().chain(described).filter_map(|to| {
        let from = (verb + 1..to).find(|&i| is(i, &["from", "с", "из"]) && i + 1 < to);
        at.split(from, to)
    });
    let first = readings.next()?;
    // If `to` occurs several times, choose the one for which the old text is in the file.
    let is_there = |intent: &Intent| intent.old.as_deref().is_none_or(|old| holds(file, old));
    if is_there(&first) { Some(first) } else { Some(readings.find(is_there).unwrap_or(first)) }
}

/// A step that changes something, and its file.
struct Clause<'c> {
    step: &'c str,
    tokens: &'c [Token<'c>],
    /// Index of the step's verb.
    verb: usize,
    file: &'c str,
}

impl Clause<'_> {
    /// Splits the clause into a change, where the words at `from` and `to` precede the old and new
    /// values.
    fn split(&self, from: Option<usize>, to: usize) -> Option<Intent> {
        let Clause { step, tokens, verb, file } = *self;
        let name = tokens[verb].low.as_str();
        let phrase = from.map(|from| (raw(step, &tokens[from + 1..to]), from)).filter(|(old, _)| holds(file, old));
        let is_long = phrase.as_ref().is_some_and(|(old, _)| old.contains(char::is_whitespace));
        let (new, new_end) =
            if is_long { phrase_from(step, tokens, to + 1)? } else { value(step, tokens, to + 1, tokens.len())? };
        let mut object = None;
        let (old, object_end, exact, old_at) = match (phrase, from) {
            (Some((old, from)), _) => {
                let exact = is_long || tokens[from + 1].kind == Kind::Opaque;
                (Some(old), from, exact, Some(from + 1..to))
            }
            (None, Some(from)) => {
                let (old, end) = value(step, tokens, from + 1, to)?;
                (Some(old), from, tokens[from + 1].kind == Kind::Opaque, Some(from + 1..end))
            }
            (None, None) => match named(step, tokens, verb + 1..to, file, name, &new) {
                Some((old, at)) => (Some(old), to, true, Some(at)),
                None => {
                    let words = &tokens[verb + 1..to];
                    object = Some(raw(step, words)).filter(|_| listed(OF_TEXTS, name) || is_literal(name));
                    let is_quoted = matches!(words, [one] if one.kind == Kind::Opaque);
                    (None, to, is_quoted && is_literal(name), None)
                }
            },
        };
        let outside = (0..verb)
            .chain(verb + 1..object_end)
            .chain(old_at.as_ref().map_or(0..0, |at| at.end..to))
            .chain(new_end..tokens.len());
        let skip = |i: &usize| old_at.as_ref().is_some_and(|at| at.contains(i));
        let about = outside.filter(|i| !skip(i)).flat_map(|i| about(tokens, i..i + 1)).collect();
        let everywhere = tokens.iter().any(|token| listed(EVERYWHERE, &token.low));
        let all = everywhere || matches!(name, "rename" | "переименуй") && exact;
        Some(Intent { about, old, new, all, exact, object })
    }
}

/// Whether a verb's object is literally text or a name from the file.
fn is_literal(verb: &str) -> bool {
    matches!(verb, "replace" | "rename" | "substitute" | "swap" | "correct" | "fix" | "замени" | "переименуй")
}

/// The source text of some tokens; for a quotation, without its marks.
fn raw(step: &str, tokens: &[Token]) -> String {
    match tokens {
        [] => String::new(),
        [one] if one.kind == Kind::Opaque => names::unquoted(one).to_owned(),
        [first, .., last] => without_empty_quotes(&step[first.start..last.end]).to_owned(),
        [one] => one.text.to_owned(),
    }
}

/// The scanner does not treat empty quotation marks as a quotation.
fn without_empty_quotes(text: &str) -> &str {
    if matches!(text, "\"\"" | "''" | "``" | "“”" | "‘’" | "«»") { "" } else { text }
}

/// Whether a token is punctuation that ends a clause rather than part of `!=` or `a,b`.
fn is_mark(tokens: &[Token], at: usize) -> bool {
    let is_glued = tokens.get(at + 1).is_some_and(|next| next.start == tokens[at].end);
    let marks = [Kind::Comma, Kind::Stop, Kind::Semicolon, Kind::Bang, Kind::Question, Kind::Dash];
    marks.contains(&tokens[at].kind) && !is_glued
}

/// The phrase that begins at token `from`, and the index of the token after it: up to the end of
/// the sentence, or a path with its preposition.
fn phrase_from(step: &str, tokens: &[Token], from: usize) -> Option<(String, usize)> {
    let leads = |at: usize| {
        let near = &tokens[at + 1..(at + 4).min(tokens.len())];
        listed("in, inside, within, of, at, on, from, в", &tokens[at].low)
            && near.iter().any(|one| shape::is_path(one.text))
    };
    let ends = |&at: &usize| {
        tokens[at].ends_sentence() && is_mark(tokens, at) || leads(at) || listed("everywhere", &tokens[at].low)
    };
    let end = (from + 1..tokens.len()).find(ends).unwrap_or(tokens.len());
    tokens.get(from).map(|_| (raw(step, &tokens[from..end]), end))
}

/// The value that begins at token `from`, and the index of the token after it: a quotation, a
/// number or version, symbols, or words up to a punctuation mark or a word like `in`.
fn value(step: &str, tokens: &[Token], from: usize, to: usize) -> Option<(String, usize)> {
    let first = tokens.get(from).filter(|_| from < to)?;
    if first.kind == Kind::Opaque {
        return Some((names::unquoted(first).to_owned(), from + 1));
    }
    if is_number(first.text) {
        return Some((first.text.to_owned(), from + 1));
    }
    let run_end = (from..to).find(|&i| i + 1 == to || tokens[i + 1].start > tokens[i].end).map_or(to, |last| last + 1);
    let run = &step[first.start..tokens[run_end - 1].end];
    let ends = |&i: &usize| is_mark(tokens, i) || listed(ENDS, &tokens[i].low) || listed(JOINTS, &tokens[i].low);
    // A value may consist of symbols: `!=`, `,`, `🙂`.
    let is_of_signs = places::is_of_signs(run);
    let begin = if is_of_signs { run_end } else { from };
    let end = (begin..to).find(ends).unwrap_or(to);
    let last = tokens.get(end.checked_sub(1).filter(|&last| last >= from)?)?;
    let text = &step[first.start..last.end];
    let text = if is_of_signs && end == run_end && run_end == tokens.len() && text.chars().count() > 1 {
        text.strip_suffix(['.', ',', ';', '?']).unwrap_or(text)
    } else {
        text
    };
    Some((without_empty_quotes(text).to_owned(), end))
}

/// Whether a word is a number or version, with a sign, unit or operator: `-5`, `0x1F`, `1e-3`, `v1.2`, `>=3.8`, `5s`.
pub(super) fn is_number(word: &str) -> bool {
    let bare = word.trim_start_matches(['$', '#', '€', '£', '+', '-', '−', '~', '<', '>', '=', '^', '.']);
    let bare = bare.strip_prefix(['v', 'V']).unwrap_or(bare);
    bare.starts_with(|c: char| c.is_ascii_digit())
}

/// The old text among the object's tokens, with its token range: a quotation, the complete phrase,
/// or a name that occurs in `file`.
fn named(
    step: &str,
    tokens: &[Token],
    object: Range<usize>,
    file: &str,
    verb: &str,
    new: &str,
) -> Option<(String, Range<usize>)> {
    let (from, to) = (object.start, object.end);
    let literal = is_literal(verb);
    let whole = raw(step, &tokens[object.clone()]);
    if literal && object.len() > 1 && holds(file, &whole) {
        return Some((whole, object));
    }
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
    let coined = |text: &str| is_joined(text) || text.chars().any(|c| c.is_ascii_digit()) || text.contains("::");
    // `change maxRetries to 5` sets a value; `change getUser to loadUser` is a rename.
    let alike = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_digit()) || new.starts_with(|c: char| c.is_alphabetic()) && coined(new)
    };
    if holds(file, phrase)
        && (literal || places::is_of_signs(phrase) || object.len() == 1 && coined(phrase) && alike(phrase))
    {
        return Some((phrase.to_owned(), object));
    }
    let i = object.rev().find(|&i| {
        let text = tokens[i].text;
        tokens[i].kind == Kind::Word
            && holds(file, text)
            && !listed(EMPTY, &tokens[i].low)
            && !is_list_number(tokens, i)
            && (literal || coined(text) && is_number(text))
    })?;
    Some((tokens[i].text.trim_end_matches("()").to_owned(), i..i + 1))
}

/// Whether a number enumerates list items: `1)`, `2.`.
fn is_list_number(tokens: &[Token], at: usize) -> bool {
    let is_glued = |next: &&Token| next.start == tokens[at].end && matches!(next.kind, Kind::Close | Kind::Stop);
    tokens[at].text.chars().all(|c| c.is_ascii_digit()) && tokens.get(at + 1).filter(is_glued).is_some()
}

fn holds(file: &str, text: &str) -> bool {
    !places::whole(file, text.trim_end_matches("()"), &[]).is_empty()
}

/// The words among some tokens that can describe a location. Paths are left out, because they
/// identify the file.
fn about(tokens: &[Token], range: Range<usize>) -> Vec<String> {
    let mut words = Vec::new();
    for token in &tokens[range] {
        let text = if token.kind == Kind::Opaque { names::unquoted(token) } else { token.text };
        if !matches!(token.kind, Kind::Word | Kind::Opaque) || shape::is_path(text) {
            continue;
        }
        for part in places::parts(text) {
            if !listed(EMPTY, &part) && !words.contains(&part) {
                words.push(part);
            }
        }
    }
    words
}
