//! Splits a sentence into clauses using the table of its language.

use std::ops::Range;

use super::clause::{Clause, finish, lend_objects};
use super::head::{Head, Line, Mode};
use super::lookahead::{is_path, kind, low, starts};
use super::scan::Kind;
use super::table::{Table, elided};
use super::verbs;
use super::words::listed;

/// Maximum length of a phrase before a verb, in tokens: `In der Datei src/a.rs ersetze …`.
const OPENING_MAX: usize = 16;
/// Number of tokens searched in a long clause.
const CLAUSE_MAX: usize = 60;
/// Maximum number of consecutive connectives or polite phrases.
const SKIPPED_MAX: usize = 6;
/// Maximum length of a phrase like `puis`, in tokens.
const SEQUENCE_MAX: usize = 4;
/// Number of tokens after one of the table's doers that are searched for a relative pronoun.
const RELATIVE_MAX: usize = 4;
/// Maximum number of subordinate clauses before the main one.
const DEPTH_MAX: usize = 3;

/// The form of an order's verb. Joined orders share one form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Imperative,
    Infinitive,
    /// A finite verb after a wish: `je voudrais que tu ouvres`.
    Wished,
}

/// How a clause begins, and the form of its verb.
#[derive(Clone, Copy)]
struct Opening {
    head: Head,
    form: Form,
    /// The verb is the first word, or the last in its clause, and no other phrase precedes it.
    direct: bool,
    /// The clause has no verb and uses the previous one.
    borrows: bool,
    /// Index of the verb or, if there is none, of the first word that is not merely polite.
    place: usize,
}

impl Opening {
    fn new(mode: Mode, verb: Option<usize>, form: Form) -> Opening {
        let infinitive = form != Form::Imperative;
        let head = Head { mode, start: 0, verb, conditional: false, infinitive };
        Opening { head, form, direct: true, borrows: false, place: verb.unwrap_or(0) }
    }

    /// The opening of a clause that is not an order.
    fn idle(mode: Mode, place: usize) -> Opening {
        Opening { place, ..Opening::new(mode, None, Form::Imperative) }
    }

    fn is_order(&self) -> bool {
        self.head.mode == Mode::Request || self.borrows
    }
}

/// The punctuation and words that join two clauses.
#[derive(Clone, Copy)]
struct Joint {
    /// The first token after it.
    next: usize,
    /// Whether it begins with a comma or a colon.
    mark: bool,
    /// Whether it begins with punctuation or a word like `und`.
    linked: bool,
    /// Whether it has a word like `dann`.
    sequence: bool,
    /// Whether it has a word like `dann` or `auch`.
    strong: bool,
}

/// The clauses of `line`, in order. If `whole`, only words like `dann` split it.
pub(super) fn cut(line: &Line, whole: bool, table: &'static Table) -> Vec<Clause> {
    let reader = Reader { line, table };
    let mut clauses = Vec::new();
    let mut opening = reader.first();
    let mut from = opening.head.start;
    let mut at = opening.place.max(from) + 1;
    while at < line.len() {
        let joint = reader.joint(at, &opening).filter(|joint| joint.strong || !whole);
        if let Some((joint, right)) = joint.and_then(|joint| Some((joint, reader.opens(at, &joint, from, &opening)?))) {
            if !joint.mark || joint.sequence {
                reader.take_for_order(from, &mut opening);
            }
            finish(line, &mut clauses, from, at, opening.head, opening.borrows);
            (from, opening) = (right.head.start, right);
            at = opening.place.max(from);
        }
        at += 1;
    }
    finish(line, &mut clauses, from, line.len(), opening.head, opening.borrows);
    let has_object = |verb| table.has_clitic(low(line, verb));
    lend_objects(&mut clauses, has_object, |at| listed(table.words.prepositions, low(line, at)));
    clauses
}

struct Reader<'r, 't, 'a> {
    line: &'r Line<'t, 'a>,
    table: &'static Table,
}

impl Reader<'_, '_, '_> {
    fn low(&self, at: usize) -> &str {
        low(self.line, at)
    }

    /// Whether the word at `at`, or the word elided at its apostrophe, is in `list`.
    fn is(&self, at: usize, list: &str) -> bool {
        let low = self.low(at);
        listed(list, low) || elided(low).is_some_and(|(word, _)| listed(list, word))
    }

    /// Index of the token after the longest phrase in `list` at `at`.
    fn phrase(&self, at: usize, list: &'static str) -> Option<usize> {
        self.table.phrases(list, self.low(at)).filter_map(|phrase| starts(self.line, at, phrase)).max()
    }

    /// How the sentence begins.
    fn first(&self) -> Opening {
        let start = self.skip(0).next;
        let opening = self.begin(start, None, 0);
        let asks = self.line.last().is_some_and(|token| token.kind == Kind::Question);
        let mode = if asks && !opening.is_order() { Mode::Question } else { opening.head.mode };
        Opening { head: Head { mode, start, ..opening.head }, ..opening }
    }

    /// Skips punctuation and connectives, but never past the last token.
    fn skip(&self, from: usize) -> Joint {
        let words = self.table.words;
        let is_mark =
            |at: usize| matches!(kind(self.line, at), Some(Kind::Comma | Kind::Dash | Kind::Colon | Kind::Mark));
        let mut joint = Joint { next: from, mark: is_mark(from), linked: false, sequence: false, strong: false };
        joint.linked = joint.mark || self.phrase(from, words.joins).is_some();
        for _ in 0..SKIPPED_MAX {
            let at = joint.next;
            let [joins, sequence, additions] =
                [words.joins, words.sequence, words.additions].map(|list| self.phrase(at, list));
            let mark = is_mark(at).then_some(at + 1);
            // `después de leer`: a longer phrase that only states a time.
            let is_when = self.phrase(at, words.subordinators) > sequence.max(additions);
            let Some(end) = mark.max(joins).max(sequence).max(additions) else { break };
            if end >= self.line.len() || is_when && mark.max(joins).is_none() {
                break;
            }
            joint.next = end;
            joint.sequence |= sequence == Some(end);
            joint.strong |= sequence.max(additions) == Some(end);
        }
        joint
    }

    /// The joint that starts at `at`; `None` if there is none.
    fn joint(&self, at: usize, opening: &Opening) -> Option<Joint> {
        let joint = self.skip(at);
        let is_colon = kind(self.line, at) == Some(Kind::Colon);
        // `Öffne danach die Datei`
        let is_adverb = !joint.linked && opening.head.verb == at.checked_sub(1);
        let joins = joint.next > at && !is_adverb && (!is_colon || opening.head.mode == Mode::Statement);
        joins.then_some(joint)
    }

    /// The index after the polite phrases at `from`, and whether one of them connects a wish to its
    /// verb. `wished` is true if the previous clause was a wish.
    fn leads_end(&self, from: usize, wished: bool) -> (usize, bool) {
        let (mut at, mut is_wish) = (from, false);
        let words = self.table.words;
        let past_comma = |at: usize| at + usize::from(at > from && kind(self.line, at) == Some(Kind::Comma));
        for _ in 0..SKIPPED_MAX {
            let next = past_comma(at);
            let [wish, leads, wants] = [words.wishes, words.leads, words.wants].map(|list| self.phrase(next, list));
            let wish = wish.filter(|_| at > from || wished);
            let Some(end) = wish.max(leads).max(wants).filter(|end| *end < self.line.len()) else { break };
            (at, is_wish) = (end, is_wish || wish == Some(end));
        }
        let next = past_comma(at);
        let mark = usize::from(kind(self.line, next) == Some(Kind::Mark));
        ((next + mark).min(self.line.len().saturating_sub(1)), is_wish)
    }

    /// The opening of the clause at `from`; `before` is the form of a preceding order. `depth`
    /// counts the subordinate clauses before it.
    fn begin(&self, from: usize, before: Option<Form>, depth: usize) -> Opening {
        let words = self.table.words;
        let is_after_wish = before == Some(Form::Wished);
        let (at, is_wish) = self.leads_end(from, is_after_wish);
        let is_polite = at > from;
        let request = |verb: usize, form: Form| Opening::new(Mode::Request, Some(verb), form);
        if depth > DEPTH_MAX || self.is(at, words.negations) {
            return Opening::idle(Mode::Statement, at);
        }
        if let Some(end) = self.phrase(at, words.subordinators)
            && let Some(main) = self.behind_clause(at, end, depth)
        {
            return main;
        }
        if self.phrase(at, words.questions).is_some() {
            return Opening::idle(Mode::Question, at);
        }
        if self.is_imperative(at) {
            return request(at, Form::Imperative);
        }
        if let Some(verb) = self.told(at) {
            return request(verb, Form::Imperative);
        }
        let begins = from == self.skip(0).next || kind(self.line, from - 1) == Some(Kind::Colon);
        let may_be_infinitive = is_polite || before.is_some() || begins;
        if let Some(verb) = self.infinitive(at).filter(|_| may_be_infinitive && !words.verb_last) {
            return request(verb, Form::Infinitive);
        }
        if let Some(verb) = self.wished(at, is_wish).filter(|_| (is_wish || is_after_wish) && !words.verb_last) {
            return request(verb, Form::Wished);
        }
        if words.verb_last
            && let Some((verb, form)) = self.last_verb(at, is_polite || before.is_some(), is_wish || is_after_wish)
        {
            return request(verb, form);
        }
        if let Some(verb) = self.behind_phrase(at) {
            return Opening { direct: false, ..request(verb, Form::Imperative) };
        }
        match self.phrase(from, words.wants) {
            Some(end) => request(end - 1, Form::Imperative),
            None => Opening::idle(Mode::Statement, at),
        }
    }

    /// The opening after the subordinate clause at `at`, if the sentence then gives an order or
    /// asks a question.
    fn behind_clause(&self, at: usize, end: usize, depth: usize) -> Option<Opening> {
        let comma = (end..self.line.len().min(end + CLAUSE_MAX)).find(|&i| kind(self.line, i) == Some(Kind::Comma))?;
        let main = self.begin(self.skip(comma).next, None, depth + 1);
        let conditional = self.phrase(at, self.table.words.conditions).is_some();
        let head = Head { conditional, ..main.head };
        (main.head.mode != Mode::Statement).then_some(Opening { head, direct: conditional && main.direct, ..main })
    }

    /// Index of the imperative after a prepositional phrase: `In src/a.rs ersetze …`.
    fn behind_phrase(&self, at: usize) -> Option<usize> {
        let words = self.table.words;
        let may_follow = |i: &usize| self.is_imperative(*i) && self.table.imperative(self.low(*i)).is_some();
        let goes_on = |i: &usize| self.phrase(*i, words.joins).is_none() && kind(self.line, *i) != Some(Kind::Colon);
        (at + 2..self.line.len().min(at + OPENING_MAX))
            .take_while(goes_on)
            .find(may_follow)
            .filter(|_| self.is(at, words.prepositions))
    }

    /// Whether the word at `at` is an imperative.
    fn is_imperative(&self, at: usize) -> bool {
        let (words, low) = (self.table.words, self.low(at));
        let Some(token) = self.line.get(at).filter(|_| !low.is_empty() && !is_path(self.line, at)) else {
            return false;
        };
        let begins =
            at == 0 || matches!(kind(self.line, at - 1), Some(Kind::Colon | Kind::Mark | Kind::Stop | Kind::Bang));
        if words.noun_capitals && token.is_capitalised() && !begins {
            return false;
        }
        let is_formal = || !words.formal.is_empty() && self.low(at + 1) == words.formal && self.is_infinitive(at);
        self.table.imperative(low).is_some()
            || self.table.has_imperative_ending(low)
            || is_formal()
            || (self.table.may_be_imperative(low) && !self.is_infinitive(at) || self.is_english_verb(low))
                && (self.is_object(at + 1) || !words.noun_capitals && self.is_behind_sequence(at))
    }

    /// Whether a word like `puis` precedes `at`.
    fn is_behind_sequence(&self, at: usize) -> bool {
        let comma = usize::from(at > 0 && kind(self.line, at - 1) == Some(Kind::Comma));
        let is_before = |from: usize| self.phrase(from, self.table.words.sequence) == Some(at - comma);
        (at.saturating_sub(comma + SEQUENCE_MAX)..at).any(is_before)
    }

    /// Index of the verb, after a word like `zuerst`, for an action of the reader: `öffnest du`,
    /// `tu ouvres`, `abres`, `откроешь`.
    fn told(&self, at: usize) -> Option<usize> {
        if !self.is_behind_sequence(at) {
            return None;
        }
        let words = self.table.words;
        let is_told = |low: &str| self.table.is_told(low);
        if self.is(at, words.addressees) {
            return self.behind_particles(at + 1, |low| is_told(low) || self.table.imperative(low).is_some());
        }
        if self.is(at + 1, words.addressees) {
            return Some(at).filter(|at| is_told(self.low(*at)));
        }
        let is_article = || self.is(at, words.determiners) && !self.is_infinitive(at + 1) && !is_told(self.low(at + 1));
        if words.verb_last || is_article() {
            return None;
        }
        self.behind_particles(at, is_told)
    }

    /// Whether a word is an English verb that programmers also use in other languages:
    /// `push die Änderungen`.
    fn is_english_verb(&self, low: &str) -> bool {
        !self.table.is_closed(low) && verbs::is_likely(low)
    }

    /// Whether an object begins at `at`: an article, a name, a path.
    fn is_object(&self, at: usize) -> bool {
        let is_name =
            || !self.table.words.noun_capitals && self.line.get(at).is_some_and(|token| token.is_capitalised());
        self.is(at, self.table.words.determiners) || is_path(self.line, at) || is_name()
    }

    fn is_infinitive(&self, at: usize) -> bool {
        !is_path(self.line, at) && self.table.is_infinitive(self.low(at))
    }

    /// Index of the infinitive at `at`, or after pronouns and particles there: `me l'envoyer`.
    fn infinitive(&self, at: usize) -> Option<usize> {
        self.behind_particles(at, |low| self.table.is_infinitive(low))
    }

    /// Index of a wish's verb at `at` or after the pronouns there: `m'envoies`. If the wish
    /// `is_certain`, every word outside the closed classes counts as a verb.
    fn wished(&self, at: usize, is_certain: bool) -> Option<usize> {
        let may_be = |low: &str| is_certain && !low.is_empty() && !self.table.is_closed(low);
        self.behind_particles(at, |low| may_be(low) || self.table.is_wished(low))
    }

    /// Index of the first word, starting at `from`, that satisfies `is_verb`, if only pronouns and
    /// particles precede it.
    fn behind_particles(&self, from: usize, is_verb: impl Fn(&str) -> bool) -> Option<usize> {
        let words = self.table.words;
        let is_particle = |word: &str| listed(words.objects, word) || listed(words.before_infinitive, word);
        for at in from..from + SKIPPED_MAX {
            let low = self.low(at);
            let is_elided = || elided(low).is_some_and(|(word, verb)| is_particle(word) && is_verb(verb));
            if !is_path(self.line, at) && (is_verb(low) || is_elided()) {
                return Some(at);
            }
            if !is_particle(low) {
                break;
            }
        }
        None
    }

    /// Index and form of the verb that ends the clause at `from`. `is_asked` is true if earlier
    /// words show that it is an order.
    fn last_verb(&self, from: usize, is_asked: bool, is_wish: bool) -> Option<(usize, Form)> {
        let words = self.table.words;
        if !is_asked && self.is(from, words.subjects) {
            return None;
        }
        for at in from..self.line.len().min(from + CLAUSE_MAX) {
            let behind_comma = at > from && kind(self.line, at - 1) == Some(Kind::Comma);
            if behind_comma && self.phrase(at, words.subordinators).is_some() || !is_asked && self.is(at, words.finite)
            {
                return None;
            }
            let is_noun = words.noun_capitals && at > 0 && self.line[at].is_capitalised();
            if is_noun || at > from && self.is(at - 1, words.before_infinitive) && !is_asked {
                continue;
            }
            let low = self.low(at);
            let (may_be, is_wished) = (self.table.may_be_last(low), is_wish && self.table.is_wished(low));
            if !(may_be || is_wished) || is_path(self.line, at) || !self.is_end(at, is_wish) {
                continue;
            }
            let ends_order = || if is_asked { !self.is_before_noun(at) } else { self.skip(at + 1).sequence };
            if is_wished || self.table.is_infinitive(low) || ends_order() {
                return Some((at, if is_wish { Form::Wished } else { Form::Infinitive }));
            }
        }
        None
    }

    /// Whether the word at `at` ends a clause; a wish may end with another verb:
    /// `wenn du … öffnen könntest`.
    fn is_end(&self, at: usize, is_wish: bool) -> bool {
        let words = self.table.words;
        let goes_on = matches!(kind(self.line, at + 1), Some(Kind::Word | Kind::Opaque | Kind::Open | Kind::Mark));
        !goes_on
            || is_wish && self.is(at + 1, words.finite)
            || [words.joins, words.sequence].iter().any(|list| self.phrase(at + 1, list).is_some())
    }

    /// Whether the word at `at` may be coordinated with another before the same noun:
    /// `die neuen und alten Dateien`.
    fn is_before_noun(&self, at: usize) -> bool {
        let end = self.phrase(at + 1, self.table.words.joins);
        end.is_some_and(|end| !self.table.is_closed(self.low(end)))
    }

    /// The opening of the clause at `at`, after `joint`; `None` if it is not a separate clause. The
    /// clause before it begins at `from`, with the opening `left`.
    fn opens(&self, at: usize, joint: &Joint, from: usize, left: &Opening) -> Option<Opening> {
        let before = Some(left.form).filter(|_| left.is_order());
        let right = self.begin(joint.next, before, 0);
        let right = Opening { head: Head { start: joint.next, ..right.head }, ..right };
        let opens = match right.head.mode {
            Mode::Request if right.head.conditional => joint.linked,
            Mode::Request if !right.direct => joint.strong || joint.mark,
            Mode::Request if right.form == Form::Imperative => {
                joint.strong
                    || match left.head.mode {
                        _ if left.is_order() => !left.head.conditional && !self.is_of_doer(from, at),
                        Mode::Statement => joint.mark || !self.is_statement(from),
                        _ => joint.mark,
                    }
            }
            Mode::Request if !left.is_order() => kind(self.line, at) == Some(Kind::Colon),
            Mode::Request if joint.strong && joint.linked => true,
            Mode::Request => left.form == right.form && !left.head.conditional && !self.is_purpose(from, at, joint),
            Mode::Question => right.direct && (joint.strong || joint.linked && left.head.mode == Mode::Question),
            Mode::Statement => false,
        };
        let borrows = joint.sequence && joint.linked && left.is_order() && right.head.mode == Mode::Statement;
        if borrows && left.form == Form::Imperative && self.is_thing(joint.next) {
            return Some(Opening { borrows: true, ..right });
        }
        opens.then_some(right)
    }

    /// Treats a clause with an unknown verb as an order unless it begins like a statement, since an
    /// order follows `und` or `dann`.
    fn take_for_order(&self, from: usize, opening: &mut Opening) {
        if opening.head.mode == Mode::Statement && !opening.borrows && !self.is_statement(from) {
            opening.head.mode = Mode::Request;
        }
    }

    /// Whether a clause begins like a statement.
    fn is_statement(&self, from: usize) -> bool {
        let words = self.table.words;
        let lists = [words.subjects, words.determiners, words.prepositions, words.negations, words.finite];
        lists.iter().any(|list| self.is(from, list))
    }

    /// Whether the text from `from` to the next comma only names a thing: `dann die Tests`.
    fn is_thing(&self, from: usize) -> bool {
        let words = self.table.words;
        let says = |at: &usize| self.is_imperative(*at) || self.is_infinitive(*at) || self.is(*at, words.finite);
        let inside = |at: &usize| kind(self.line, *at) != Some(Kind::Comma);
        let begins = self.is(from, words.determiners) || is_path(self.line, from);
        begins && !(from + 1..self.line.len().min(from + CLAUSE_MAX)).take_while(inside).any(|at| says(&at))
    }

    /// Whether the verbs before `at` describe the actions of one of the table's doers:
    /// `un script qui lit … et affiche …`.
    fn is_of_doer(&self, from: usize, at: usize) -> bool {
        let words = self.table.words;
        let relates =
            |i: usize| self.phrase(i, words.subordinators).is_some() || self.phrase(i, words.purposes).is_some();
        clause_end(from, at)
            .filter(|i| self.is(*i, words.doers))
            .any(|i| (i + 1..at.min(i + RELATIVE_MAX)).any(relates))
    }

    /// Whether the clause before `at` states a purpose with an infinitive, which the next clause
    /// may continue.
    fn is_purpose(&self, from: usize, at: usize, joint: &Joint) -> bool {
        let begins = |i: usize| {
            self.phrase(i, self.table.words.purposes)
                .is_some_and(|end| self.infinitive(end).is_some_and(|verb| verb < at))
        };
        !joint.mark && clause_end(from, at).any(begins)
    }
}

/// The last tokens of the clause `from..to`, at most [`CLAUSE_MAX`].
fn clause_end(from: usize, to: usize) -> Range<usize> {
    from.max(to.saturating_sub(CLAUSE_MAX))..to
}
