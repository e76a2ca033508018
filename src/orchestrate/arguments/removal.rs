//! Reads what a step wants to have taken out of a file: `remove the word draft from a.md`, `take the line about X out of b.md`.

use crate::orchestrate::decompose::names;
use crate::orchestrate::decompose::scan::{Kind, Token};
use crate::orchestrate::decompose::words::{is_determiner, is_object_pronoun, listed};
use crate::orchestrate::words;

use super::object::{WITHIN, is_word, object};
use super::{intent, numbered};

/// What is to go.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Removal {
    /// The object, as it was written; shortened.
    pub said: String,
    pub extent: Extent,
    /// Texts that stand in the file as they were written; of a definition, the words of its name.
    pub literals: Vec<String>,
    /// The texts stand in quotation marks.
    pub quoted: bool,
    /// Neither quoted nor behind an article: `draft`, not `the draft`.
    pub bare: bool,
    /// Words that say which place is meant, in lower case.
    pub about: Vec<String>,
    /// Every place is meant.
    pub all: bool,
}

/// How much of the file goes with the place that is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// Nothing but the text itself.
    Words,
    Line,
    /// Lines from one number to another, counted from 1, both included.
    Numbered(Vec<(usize, usize)>),
    /// So many lines at the end.
    Last(usize),
    /// Lines without text.
    Blank,
    /// A comment, alone on its lines or beside code.
    Comment,
    /// A comment that says TODO or FIXME.
    Todo,
    /// What is called, to its end.
    Function,
    /// A type or a module, to its end.
    Type,
    /// What stands below a heading or in a block.
    Section,
    /// A text wherever it stands for itself.
    Mention,
    /// The request does not say: a line if the text stands for the line, else the text.
    Unsaid,
    /// Words that code cannot follow say which one is meant, or which is not.
    Unclear,
}

impl Extent {
    pub fn is_definition(&self) -> bool {
        matches!(self, Extent::Function | Extent::Type)
    }
}

const WORDS: &str = "word, words, phrase, text, string, term, character, characters, слово, слова, фразу, текст";
pub(super) const LINES: &str =
    "line, lines, row, rows, bullet, bullets, item, items, entry, entries, строку, строки, пункт";
const TODOS: &str = "todo, todos, fixme, fixmes";
const COMMENTS: &str = "comment, comments, комментарий, комментарии";
const FUNCTIONS: &str = "function, method, test, macro, функцию, метод";
const TYPES: &str = "class, struct, enum, trait, interface, type, module, класс";
const SECTIONS: &str = "section, block, раздел";
const MENTIONS: &str = "mention, mentions, occurrence, occurrences, reference, references";
const PLURAL_REMARKS: &str = "comments, todos, fixmes, комментарии";
const PLURAL: &str = "lines, rows, bullets, items, entries, comments, todos, fixmes, строки, комментарии";
const ALL: &str =
    "all, every, each, any, everywhere, occurrences, mentions, references, все, всё, везде, каждый, каждую";
/// Say nothing about the place.
const BESIDE: &str = "\
    about, containing, contains, saying, says, say, mentioning, mentions, number, called, named, which, who, of, to, про, о, об, со, где, \
    номер, все, всё";
/// How a line begins or ends is its form as well.
const EDGES: &str = "start, starts, starting, begin, begins, beginning, end, ends, ending";
/// May stand behind a noun that is meant; anything else makes another thing of it: `the line count`, `the todo list`.
const FOLLOW: &str = "\
    about, on, for, that, which, who, whose, with, where, like, regarding, concerning, containing, contains, mentions, says, to, про, о, об, \
    со, с, где";
/// `the text about x` is more than `x`.
const DESCRIBES: &str = "about, containing, mentioning, with, on, про, о, об";
const PLACES: &str = "in, inside, within, of, from, under, at, в, из";
const JOINTS: &str = "and, or, &, и, или";
/// Turn a description round, or say by its order or its form what is meant: not by what stands in the file.
const TURNS: &str = "\
    not, no, without, except, but, unless, other, than, after, before, above, below, until, between, besides, first, second, third, fourth, \
    fifth, last, top, bottom, middle, final, next, previous, some, few, several, most, many, half, both, either, longest, shortest, same, \
    identical, empty, blank, duplicate, duplicates, duplicated, repeated, consecutive, extra, trailing, leading, unused, rest, \
    не, кроме, без, после, до, первую, первой, первый, вторую, третью, последнюю, последней, последний, пустые, пустую, лишние";

/// Longest object that is repeated to the user.
const SAID_BYTES_MAX: usize = 120;

/// Whether `step` asks for something to be taken out of something.
pub fn removes(step: &str) -> bool {
    object(&intent::tokens(step)).is_some()
}

/// What `step` wants to have taken out; `None` when it asks for something else.
pub(super) fn read(step: &str) -> Option<Removal> {
    let tokens = intent::tokens(step);
    let object = &object(&tokens)?;
    let (first, last) = (object.first()?, object.last()?);
    let said = words::shorten(&step[first.start..last.end], SAID_BYTES_MAX);
    let noun = object.iter().position(|token| kind(token).is_some_and(|kind| kind != Extent::Mention));
    let noun = noun.or_else(|| object.iter().position(|token| kind(token).is_some()));
    // A noun alone is a name, but for `comments`.
    let noun = noun.filter(|noun| object.len() > 1 || is_word(&object[*noun], PLURAL_REMARKS));
    let extent = extent(object, noun);
    let opaque = object.iter().filter(|token| token.kind == Kind::Opaque);
    let mut literals: Vec<String> = opaque.map(|token| names::unquoted(token).to_owned()).collect();
    let quoted = !literals.is_empty();
    if !quoted && extent.is_definition() {
        let names = object.iter().filter(|token| kind(token).is_none() && !is_beside(token));
        literals.extend(names.map(|token| token.text.to_owned()));
    }
    let is_pointer = object.len() == 1 && is_object_pronoun(&first.low);
    if !quoted && !is_pointer && matches!(extent, Extent::Words | Extent::Mention | Extent::Unsaid) {
        let named = match noun {
            Some(noun) if noun + 1 < object.len() => &object[noun + 1..],
            Some(noun) => &object[..noun],
            None => object.as_slice(),
        };
        let named = &named[named.iter().take_while(|token| is_beside(token)).count()..];
        literals.extend(named.first().zip(named.last()).map(|(from, to)| step[from.start..to.end].to_owned()));
    }
    let is_everywhere = |token: &Token| is_word(token, ALL) || is_word(token, PLURAL);
    let head = &object[..=noun.unwrap_or(0)];
    let all = head.iter().any(is_everywhere) || tokens.iter().any(|token| is_word(token, "everywhere, везде"));
    let bare = !quoted && !is_beside(first);
    Some(Removal { said, about: about(object, &extent), extent, literals, quoted, bare, all })
}

/// Says nothing about what is meant.
fn is_beside(token: &Token) -> bool {
    is_determiner(&token.low) || listed(ALL, &token.low) || listed(BESIDE, &token.low)
}

/// What a noun says of how much is meant.
fn kind(token: &Token) -> Option<Extent> {
    let kinds = [
        (WORDS, Extent::Words),
        (LINES, Extent::Line),
        (TODOS, Extent::Todo),
        (COMMENTS, Extent::Comment),
        (FUNCTIONS, Extent::Function),
        (TYPES, Extent::Type),
        (SECTIONS, Extent::Section),
        (MENTIONS, Extent::Mention),
    ];
    kinds.into_iter().find(|(table, _)| is_word(token, table)).map(|(_, extent)| extent)
}

fn extent(object: &[Token], noun: Option<usize>) -> Extent {
    if let Some(extent) = noun.and_then(|noun| numbered::lines(object, noun)) {
        return extent;
    }
    let extent = noun.and_then(|noun| kind(&object[noun])).unwrap_or(Extent::Unsaid);
    let is_text = matches!(extent, Extent::Words | Extent::Mention);
    // `the word not`, `the function next`, `last` alone are names.
    let is_name = match noun {
        Some(noun) => noun + 2 == object.len() && (extent.is_definition() || is_text || extent == Extent::Section),
        None => object.len() == 1,
    };
    let is_quoted = object.iter().any(|token| token.kind == Kind::Opaque);
    let turns = object.iter().any(|token| is_word(token, TURNS) || is_ordinal(&token.low)) || is_form(object, noun);
    // Of a quoted text in some places only, code knows neither the places nor the others.
    let is_part =
        is_quoted && is_text && !object.iter().all(|token| is_listed(token) || kind(token) == Some(extent.clone()));
    let is_inside = extent != Extent::Mention && noun.is_some_and(|noun| names_place(&object[noun + 1..]));
    let is_about = is_text && noun.and_then(|noun| object.get(noun + 1)).is_some_and(|next| is_word(next, DESCRIBES));
    match () {
        () if is_name => extent,
        () if turns || is_part || is_inside || is_about || is_two_things(object, &extent) => Extent::Unclear,
        () => extent,
    }
}

/// `starting with x`, `two comments`, `the line breaks`.
fn is_form(object: &[Token], noun: Option<usize>) -> bool {
    let is_edge = |pair: &[Token]| is_word(&pair[0], EDGES) && is_word(&pair[1], "with, in, by");
    let is_line = |noun: usize| matches!(kind(&object[noun]), Some(Extent::Line | Extent::Comment | Extent::Todo));
    let goes_on = |next: &Token| {
        next.kind != Kind::Word
            || listed(FOLLOW, &next.low)
            || next.low.ends_with("ing")
            || is_joint(next)
            || kind(next).is_some()
    };
    let is_other = |noun: usize| is_line(noun) && object.get(noun + 1).is_some_and(|next| !goes_on(next));
    let counts = |noun: usize| object[..noun].iter().any(|token| numbered::small(&token.low).is_some());
    object.windows(2).any(is_edge) || noun.is_some_and(|noun| is_other(noun) || counts(noun))
}

/// A quotation, or what stands between quotations.
fn is_listed(token: &Token) -> bool {
    token.kind == Kind::Opaque || is_joint(token) || is_beside(token)
}

fn is_joint(token: &Token) -> bool {
    token.kind == Kind::Comma || is_word(token, JOINTS)
}

/// Whether more than one thing is to go, and not only several quotations or what a description joins.
fn is_two_things(object: &[Token], extent: &Extent) -> bool {
    let Some(joint) = object.iter().position(is_joint) else { return false };
    match () {
        () if extent.is_definition() => true,
        () if object.iter().all(|token| is_listed(token) || kind(token).is_some()) => {
            !object.iter().any(|token| token.kind == Kind::Opaque)
        }
        () if object.iter().any(|token| token.kind == Kind::Comma) => true,
        () => *extent != Extent::Words && object[joint..].iter().any(|token| kind(token).is_some()),
    }
}

/// `in read`, `about waiting in the function read`: where in the file, which its lines do not say of themselves.
fn names_place(behind: &[Token]) -> bool {
    let is_place = |at: usize| {
        let noun = behind[at + 1..].iter().find(|token| !is_determiner(&token.low));
        let is_kind = noun.is_some_and(|noun| kind(noun).is_some());
        is_word(&behind[at], PLACES) && (at == 0 || is_kind) || is_word(&behind[at], "on") && is_kind
    };
    (0..behind.len()).any(is_place)
}

/// `5th`, `22nd`.
fn is_ordinal(low: &str) -> bool {
    let digits = ["st", "nd", "rd", "th"].iter().find_map(|end| low.strip_suffix(end)).unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The words of a description. Two things joined by `and` are no description of one, and what is in a thing is not the line of both.
fn about(object: &[Token], extent: &Extent) -> Vec<String> {
    if *extent == Extent::Unsaid
        && object.iter().any(|token| is_word(token, JOINTS) || is_word(token, WITHIN) && token.low != "of")
    {
        return Vec::new();
    }
    let mut about: Vec<String> = Vec::new();
    for token in object.iter().filter(|token| token.kind == Kind::Word && !is_beside(token)) {
        match kind(token) {
            // `the TODO` and `the comment` are kinds; only the first says what stands there.
            Some(Extent::Todo) => about.push(token.low.trim_end_matches('s').to_owned()),
            Some(_) => {}
            None => about.extend(words::split(token.text)),
        }
    }
    about.retain(|word| !listed(intent::EMPTY, word) && !words::content(word).is_empty());
    about.sort_unstable();
    about.dedup();
    about
}
