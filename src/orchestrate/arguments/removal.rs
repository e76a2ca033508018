//! Reads what a step wants to have taken out of a file: `remove the word draft from a.md`, `take the line about X out of b.md`.

use crate::orchestrate::decompose::names;
use crate::orchestrate::decompose::scan::{Kind, Token, scan};
use crate::orchestrate::decompose::words::{is_determiner, listed};
use crate::orchestrate::words;

use super::{intent, places};

/// What is to go.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Removal {
    pub extent: Extent,
    /// Texts that stand in the file as they were written, or all the words of the description.
    pub literals: Vec<String>,
    /// Words that say which place is meant, as `places::parts` gives them.
    pub about: Vec<String>,
    /// Every place is meant.
    pub all: bool,
}

/// How much of the file goes with the place that is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// Nothing but the text itself.
    Words,
    Line,
    /// Lines by their numbers, counted from 1, both included; 0 is the last line.
    Numbered(usize, usize),
    /// A comment, alone on its line or behind code.
    Comment,
    /// A definition or a section, to its end.
    Block,
    /// The request does not say: a line if the text stands for the line, else the text.
    Unsaid,
}

const REMOVES: &str = "remove, delete, erase, strip, удали, удалить, убери, убрать, сотри, вычеркни";
/// Take something out only together with a particle, or without a new value.
const WITH_OUT: &str = "take, cut, leave, strike, cross";
const PARTICLES: &str = "out, away, off";
const DROPS: &str = "drop, cut";
const VALUE_FOLLOWS: &str = "to, by, into";
const POLITE: &str =
    "please, kindly, now, then, also, and, just, can, could, would, you, i, want, to, пожалуйста, теперь";
const WITHIN: &str = "from, out, in, inside, of, из, в";
const TAILS: &str = "please, now, too, also, again, completely, entirely, there, file, пожалуйста, файла";

const WORDS: &str = "word, words, phrase, text, string, term, character, characters, слово, слова, фразу, текст";
const LINES: &str = "line, lines, row, rows, bullet, bullets, item, items, entry, entries, строку, строки, пункт";
const COMMENTS: &str = "comment, comments, todo, todos, fixme, fixmes, комментарий, комментарии";
const BLOCKS: &str = "\
    function, method, class, struct, enum, trait, interface, type, test, module, section, block, функцию, метод, класс, раздел";
const PLURAL: &str = "lines, rows, bullets, items, entries, comments, todos, fixmes, строки, комментарии";
const ALL: &str =
    "all, every, each, any, everywhere, occurrences, mentions, references, все, всё, везде, каждый, каждую";
/// Say nothing about the place.
const BESIDE: &str = "\
    about, containing, contains, saying, says, say, mentioning, mentions, mention, occurrence, occurrences, reference, references, \
    starting, beginning, number, says, called, named, which, who, про, о, об, со, где, номер, все, всё";

/// Whether `step` asks for something to be taken out of something.
pub fn removes(step: &str) -> bool {
    object(&tokens(step)).is_some()
}

/// What `step` wants to have taken out; `None` when it asks for something else.
pub(super) fn read(step: &str) -> Option<Removal> {
    let tokens = tokens(step);
    let object = object(&tokens)?;
    let (first, last) = (object.first()?, object.last()?);
    let is_kind = |token: &Token, table: &str| token.kind == Kind::Word && listed(table, &token.low);
    let kind =
        object.iter().position(|token| [WORDS, LINES, COMMENTS, BLOCKS].iter().any(|table| is_kind(token, table)));
    let extent = match kind.map(|at| &object[at]) {
        Some(noun) if is_kind(noun, LINES) => numbered(object).unwrap_or(Extent::Line),
        Some(noun) if is_kind(noun, WORDS) => Extent::Words,
        Some(noun) if is_kind(noun, COMMENTS) => Extent::Comment,
        Some(_) => Extent::Block,
        None => Extent::Unsaid,
    };
    let quoted =
        object.iter().filter(|token| token.kind == Kind::Opaque).map(|token| names::unquoted(token).to_owned());
    let mut literals: Vec<String> = quoted.collect();
    if literals.is_empty() && matches!(extent, Extent::Words | Extent::Unsaid) {
        let skipped =
            |token: &&Token| is_determiner(&token.low) || listed(ALL, &token.low) || listed(BESIDE, &token.low);
        let said = match kind {
            Some(noun) if noun + 1 < object.len() => &object[noun + 1..],
            Some(noun) => &object[..noun],
            None => object,
        };
        let from = said.iter().take_while(skipped).count();
        literals.extend(said.get(from..).and_then(|said| Some(step[said.first()?.start..said.last()?.end].to_owned())));
    }
    let mut about: Vec<String> = Vec::new();
    for token in object.iter().filter(|token| matches!(token.kind, Kind::Word | Kind::Opaque)) {
        // `the TODO` and `the comment` are kinds; only the first says what stands there.
        let is_noun = is_kind(token, "todo, fixme")
            || ![WORDS, LINES, COMMENTS, BLOCKS].iter().any(|table| is_kind(token, table));
        let says = |part: &String| {
            !listed(intent::EMPTY, part)
                && !listed(BESIDE, part)
                && !listed(ALL, part)
                && !words::content(part).is_empty()
        };
        let text = if token.kind == Kind::Opaque { names::unquoted(token) } else { token.text };
        about.extend(places::parts(text).into_iter().filter(|_| is_noun).filter(says));
    }
    about.sort_unstable();
    about.dedup();
    let everywhere = |token: &Token| is_kind(token, ALL) || is_kind(token, PLURAL);
    let all = tokens.iter().filter(|token| token.start >= first.start && token.end <= last.end).any(everywhere)
        || tokens.iter().any(|token| token.low == "everywhere" || token.low == "везде");
    Some(Removal { extent, literals, about, all })
}

fn tokens(step: &str) -> Vec<Token<'_>> {
    scan(step).into_iter().filter(|token| !matches!(token.kind, Kind::Newline | Kind::Blank)).collect()
}

/// What stands between the verb and the file: `the line about X` in `take the line about X out of notes.md`.
fn object<'t, 's>(tokens: &'t [Token<'s>]) -> Option<&'t [Token<'s>]> {
    let polite = |from: usize| {
        let passed =
            |token: &&Token| token.kind == Kind::Comma || token.kind == Kind::Word && listed(POLITE, &token.low);
        from + tokens[from.min(tokens.len())..].iter().take_while(passed).count()
    };
    let word = |at: usize| tokens.get(at).map_or("", |token| token.low.as_str());
    let is_path = |token: &Token| names::is_path(token.text.trim_matches(['`', '"', '\'']));
    let mut lead = polite(0);
    if listed("in, inside, from, в, из", word(lead)) {
        let path = (lead + 1..tokens.len().min(lead + 4)).find(|at| is_path(&tokens[*at]))?;
        lead = polite(path + 1);
    }
    let particle = (lead + 1..tokens.len()).find(|at| listed(PARTICLES, word(*at)));
    let mut from = match () {
        () if word(lead) == "get" && word(lead + 1) == "rid" && word(lead + 2) == "of" => lead + 3,
        () if listed(REMOVES, word(lead)) => lead + 1,
        () if listed(WITH_OUT, word(lead)) && particle.is_some() => lead + 1,
        () if listed(DROPS, word(lead)) && !tokens.iter().any(|token| listed(VALUE_FOLLOWS, &token.low)) => lead + 1,
        () => return None,
    };
    from += usize::from(particle == Some(from));
    let ends = |at: &usize| {
        let rest = &tokens[*at + 1..];
        listed(WITHIN, word(*at)) && rest.len() <= 5 && rest.iter().any(is_path)
    };
    let stop =
        |token: &Token| matches!(token.kind, Kind::Stop | Kind::Question | Kind::Bang | Kind::Semicolon | Kind::Comma);
    let mut to = (from..tokens.len())
        .find(ends)
        .or_else(|| (from + 1..tokens.len()).rfind(|at| listed("from, out, из", word(*at))))
        .unwrap_or(tokens.len());
    to = tokens[from..to].iter().position(stop).map_or(to, |at| from + at);
    while to > from && (listed(TAILS, word(to - 1)) || listed(PARTICLES, word(to - 1))) {
        to -= 1;
    }
    Some(&tokens[from..to]).filter(|object| !object.is_empty())
}

/// `line 5`, `lines 3 to 5`, `lines 3-5`, `the first line`, `the last line`.
fn numbered(object: &[Token]) -> Option<Extent> {
    let words = object.iter().filter(|token| token.kind == Kind::Word);
    if object.iter().any(|token| listed("about, with, that, containing, saying", &token.low)) {
        return None;
    }
    let numbers: Vec<usize> =
        words.flat_map(|token| token.low.split(['-', '–'])).filter_map(|one| one.parse().ok()).collect();
    match (numbers.as_slice(), object.iter().find(|token| listed("first, last, первую, последнюю", &token.low)))
    {
        ([one], None) => Some(Extent::Numbered(*one, *one)),
        ([from, to], None) if from <= to => Some(Extent::Numbered(*from, *to)),
        ([], Some(place)) if listed("first, первую", &place.low) => Some(Extent::Numbered(1, 1)),
        ([], Some(_)) => Some(Extent::Numbered(0, 0)),
        _ => None,
    }
}
