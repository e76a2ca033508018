//! Splits sentences into clauses, following the rules of the request's language.

use super::clause::Clause;
use super::head::{Head, Mode};
use super::lists::{self, Item, Unit};
use super::names::Mentions;
use super::scan::{Kind, Token};
use super::table::{self, Table, Words};
use super::{by_table, english, verbs, words};

/// A clause, before it becomes a part.
#[derive(Clone)]
pub(super) struct Piece {
    pub tongue: Tongue,
    pub text: String,
    /// Words in lower case, excluding quotations.
    pub words: Vec<String>,
    pub mentions: Mentions,
    pub mode: Mode,
    pub verb: Option<String>,
    /// Whether the verb only asks for information.
    pub only_tells: bool,
    pub item: Item,
    /// Whether it ends in a colon; the list items that follow belong to it.
    pub introduces: bool,
    /// Whether it is not the first clause of its sentence.
    pub continues: bool,
}

/// The language of a request.
#[derive(Clone, Copy)]
pub(super) enum Tongue {
    English,
    /// A language with a table, split by `by_table`.
    ByTable(&'static Table),
    /// No clause rules: sentences and list items only.
    Other,
}

impl Tongue {
    /// The language of a text, judged by its words.
    pub fn of(text: &str, tokens: &[Token]) -> Tongue {
        let first = tokens.iter().find(|token| token.kind == Kind::Word);
        let opens = first.is_some_and(|token| verbs::class(&token.low).is_some());
        let may_be_english = |token: &&Token| is_english_word(&token.low) || verbs::is_likely(&token.low);
        let english = usize::from(opens) + tokens.iter().filter(may_be_english).count();
        if let Some(table) = table::choose(text, tokens, english) {
            return Tongue::ByTable(table);
        }
        let letters = text.chars().filter(|c| c.is_alphabetic()).count();
        let latin = text.chars().filter(char::is_ascii_alphabetic).count();
        let shows = |token: &Token| {
            let low = token.low.as_str();
            words::listed("the, and, of, is, to, my, for, this, with, please, it, you, hi, hello, thanks", low)
                || words::is_question_word(low)
                || words::is_auxiliary(low)
        };
        let is_english = latin * 10 >= letters * 9 && (opens || tokens.iter().any(shows));
        if is_english { Tongue::English } else { Tongue::Other }
    }

    /// Whether `verb`, in any form that the language's table recognises, is in one of its lists.
    pub fn has_verb(self, list: impl Fn(&Words) -> &'static str, verb: &str) -> bool {
        matches!(self, Tongue::ByTable(table) if table.is_one_of(list(table.words), verb))
    }

    /// Whether `word` is in a list of the language's table.
    pub fn has_word(self, list: impl Fn(&Words) -> &'static str, word: &str) -> bool {
        matches!(self, Tongue::ByTable(table) if words::listed(list(table.words), word))
    }

    /// Whether a word can begin an order, according to the language's table.
    pub fn begins_order(self, low: &str) -> bool {
        matches!(self, Tongue::ByTable(table) if table.imperative(low).is_some() || table.is_infinitive(low))
    }

    /// Whether a word is an article, a preposition or another closed-class word, according to the
    /// language's table.
    pub fn is_closed(self, low: &str) -> bool {
        matches!(self, Tongue::ByTable(table) if table.is_closed(low))
    }

    /// Whether a word refers to something mentioned before, according to the language's table.
    pub fn refers(self, word: &str) -> bool {
        self.has_word(|words| words.back, word) || matches!(self, Tongue::ByTable(table) if table.has_clitic(word))
    }

    /// Whether a word is only a polite form of address: `Öffnen Sie`.
    fn is_address(self, token: &Token) -> bool {
        token.is_capitalised() && self.has_word(|words| words.formal, &token.low)
    }
}

/// Whether a lower-case word belongs to an English closed class.
fn is_english_word(low: &str) -> bool {
    let classes = [
        words::is_determiner,
        words::is_object_pronoun,
        words::is_preposition,
        words::is_subordinator,
        words::is_auxiliary,
        words::is_subject,
        words::is_question_word,
        words::is_connective,
        words::is_polite,
    ];
    words::listed("hi, hello, thanks", low) || classes.iter().any(|is_one| is_one(low))
}

/// The clauses of the scanned text, in order; only connectives and list markers are dropped.
pub(super) fn pieces(text: &str, tokens: &[Token]) -> Vec<Piece> {
    let tongue = Tongue::of(text, tokens);
    let mut pieces = Vec::new();
    for unit in lists::units(tokens, tongue) {
        let line: Vec<&Token> = tokens[unit.from..unit.to].iter().filter(|token| !token.is_line_end()).collect();
        let whole = unit.item != Item::None;
        let clauses = match tongue {
            Tongue::English => english::cut(&line, whole),
            Tongue::ByTable(table) => by_table::cut(&line, whole, table),
            Tongue::Other => vec![sentence(&line)],
        };
        let count = clauses.len();
        for (i, clause) in clauses.into_iter().enumerate() {
            pieces.push(piece(text, &line, clause, unit, tongue, (i, i + 1 == count)));
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

fn piece(
    text: &str,
    line: &[&Token],
    clause: Clause,
    unit: Unit,
    tongue: Tongue,
    (place, last): (usize, bool),
) -> Piece {
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
    let only_tells =
        verb.as_deref().is_some_and(|verb| words::only_tells(verb) || tongue.has_verb(|words| words.tells, verb));
    Piece {
        tongue,
        text: capitalised(&words, line[clause.from]),
        words: own
            .iter()
            .filter(|token| token.kind == Kind::Word && !tongue.is_address(token))
            .map(|token| token.low.clone())
            .collect(),
        mentions,
        mode: clause.head.mode,
        verb,
        only_tells,
        item: unit.item,
        introduces: unit.introduces && last,
        continues: place > 0,
    }
}

/// The text with a capital first letter, unless the first word is a name (`main.rs`, `fooBar`).
fn capitalised(text: &str, first: &Token) -> String {
    let plain = first.kind == Kind::Word && first.text.chars().all(|c| c.is_lowercase() || c == '\'' || c == '-');
    let mut chars = text.chars();
    match chars.next().filter(|_| plain) {
        Some(letter) => letter.to_uppercase().chain(chars).collect(),
        None => text.to_owned(),
    }
}
