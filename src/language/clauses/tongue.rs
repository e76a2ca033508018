//! Splits sentences into clauses by the rules of the request's language.

use super::english::{self, Clause};
use super::head::{Head, Mode};
use super::lists::{self, Item, Unit};
use super::names::Mentions;
use super::russian;
use super::scan::{Kind, Token};
use super::{verbs, words};

/// A clause, before it becomes a part.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub text: String,
    /// Words in lower case, without quotations.
    pub words: Vec<String>,
    pub mentions: Mentions,
    pub mode: Mode,
    pub verb: Option<String>,
    /// The verb only asks to be told something.
    pub only_tells: bool,
    pub item: Item,
    /// Ends in a colon; the list items after it belong to it.
    pub introduces: bool,
    /// Not the first clause of its sentence.
    pub continues: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tongue {
    English,
    Russian,
    /// No clause rules: sentences and list items only.
    Other,
}

fn tongue(text: &str, tokens: &[Token]) -> Tongue {
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let cyrillic = text.chars().filter(|&c| russian::is_cyrillic(c)).count();
    if cyrillic * 2 > letters || cyrillic > 0 && tokens.iter().any(|token| russian::is_imperative(&token.low)) {
        return Tongue::Russian;
    }
    let english = |token: &&Token| {
        let low = token.low.as_str();
        words::listed("the, and, of, is, to, my, for, this, with, please, it, you, hi, hello, thanks", low)
            || words::is_question_word(low)
            || words::is_auxiliary(low)
    };
    let latin = text.chars().filter(char::is_ascii_alphabetic).count();
    let opens =
        tokens.iter().find(|token| token.kind == Kind::Word).is_some_and(|token| verbs::class(&token.low).is_some());
    if latin * 10 >= letters * 9 && (opens || tokens.iter().any(|token| english(&token))) {
        Tongue::English
    } else {
        Tongue::Other
    }
}

/// Whether a text is in English, by its words.
pub(super) fn is_english(text: &str, tokens: &[Token]) -> bool {
    tongue(text, tokens) == Tongue::English
}

/// The clauses of the scanned text, in order; only connectives and list markers are dropped.
pub(super) fn pieces(text: &str, tokens: &[Token]) -> Vec<Piece> {
    let tongue = tongue(text, tokens);
    let mut pieces = Vec::new();
    for unit in lists::units(tokens) {
        let line: Vec<&Token> = tokens[unit.from..unit.to].iter().filter(|token| !token.is_line_end()).collect();
        let whole = unit.item != Item::None;
        let clauses = match tongue {
            Tongue::English => english::cut(&line, whole),
            Tongue::Russian => russian::cut(&line, whole),
            Tongue::Other => vec![sentence(&line)],
        };
        let count = clauses.len();
        for (i, clause) in clauses.into_iter().enumerate() {
            pieces.push(piece(text, &line, clause, unit, i, i + 1 == count));
        }
    }
    pieces
}

/// A whole sentence as one clause, for languages without rules.
fn sentence(line: &[&Token]) -> Clause {
    let mut to = line.len();
    while to > 1 && matches!(line[to - 1].kind, Kind::Stop | Kind::Semicolon | Kind::Bang) {
        to -= 1;
    }
    let head = Head { mode: Mode::Request, start: 0, verb: None, conditional: false, infinitive: false };
    Clause { from: 0, to, head, borrowed_verb: None, borrowed_object: None }
}

fn piece(text: &str, line: &[&Token], clause: Clause, unit: Unit, place: usize, last: bool) -> Piece {
    let own = &line[clause.from..clause.to];
    let span = |from: usize, to: usize| &text[line[from].start..line[to - 1].end];
    let mut words = span(clause.from, clause.to).to_owned();
    if let Some(verb) = clause.borrowed_verb {
        words = format!("{} {words}", line[verb].text);
    }
    let mut mentions = Mentions::default();
    if let Some((from, to)) = clause.borrowed_object {
        words = format!("{words} {}", span(from, to));
        line[from..to].iter().for_each(|token| mentions.add(token));
    }
    own.iter().for_each(|token| mentions.add(token));
    let verb = clause.borrowed_verb.or(clause.head.verb).map(|at| line[at].low.clone());
    let only_tells = verb.as_deref().is_some_and(|verb| words::only_tells(verb) || russian::only_tells(verb));
    Piece {
        text: capitalised(&words, line[clause.from]),
        words: own.iter().filter(|token| token.kind == Kind::Word).map(|token| token.low.clone()).collect(),
        mentions,
        mode: clause.head.mode,
        verb,
        only_tells,
        item: unit.item,
        introduces: unit.introduces && last,
        continues: place > 0,
    }
}

/// The first letter as a capital, unless the first word is a name of its own (`main.rs`, `fooBar`).
fn capitalised(text: &str, first: &Token) -> String {
    let plain = first.kind == Kind::Word && first.text.chars().all(|c| c.is_lowercase() || c == '\'' || c == '-');
    let mut chars = text.chars();
    match chars.next().filter(|_| plain) {
        Some(letter) => letter.to_uppercase().chain(chars).collect(),
        None => text.to_owned(),
    }
}
