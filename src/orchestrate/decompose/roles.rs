//! Decides what each clause is for a plan: an act, an answer to give at the end, or something given.

use super::head::Mode;
use super::lists::Item;
use super::names::Mentions;
use super::tongue::Piece;
use super::{PARTS_MAX, Part, PartKind, verbs, words};

/// The parts that `pieces` make up, in order.
pub(super) fn assemble(pieces: Vec<Piece>) -> Vec<Part> {
    let mut state = Assembly::default();
    for (i, piece) in pieces.iter().enumerate() {
        if state.parts.len() == PARTS_MAX {
            state.wait(piece);
            continue;
        }
        let listed = pieces.get(i + 1).filter(|_| piece.introduces).map(|next| (next.item, next.mode));
        state.take(piece, listed);
    }
    state.finish()
}

/// A part of a text without any structure that could be read.
pub(super) fn plain(text: &str) -> Part {
    Part {
        text: text.to_owned(),
        context: String::new(),
        verb: None,
        paths: Vec::new(),
        quoted: Vec::new(),
        numbers: Vec::new(),
        refers_back: false,
        for_each: None,
        kind: PartKind::Given,
        depends_on: Vec::new(),
    }
}

#[derive(Default)]
struct Assembly {
    parts: Vec<Part>,
    /// The words of each part, for references between parts.
    words: Vec<Vec<String>>,
    /// Given sentences that wait for the part they belong to.
    waiting: Vec<(String, Mentions, Vec<String>)>,
    /// The introduction of the list being read.
    intro: Option<Intro>,
    for_each: Option<String>,
}

#[derive(Clone)]
struct Intro {
    text: String,
    verb: Option<String>,
    /// Its items are things to do it with, one by one: `Fix these bugs:`.
    each: bool,
}

impl Assembly {
    fn take(&mut self, piece: &Piece, listed: Option<(Item, Mode)>) {
        if piece.item == Item::None {
            self.intro = None;
        }
        if let Some((item, mode)) = listed.filter(|(item, _)| *item != Item::None) {
            if self.introduce(piece, item, mode) {
                return;
            }
        } else if piece.introduces && self.says_nothing(piece) {
            return self.wait(piece);
        }
        let asks = matches!(piece.mode, Mode::Request | Mode::Question);
        match piece.item {
            Item::None if asks => self.act(piece),
            Item::None => self.given(piece),
            Item::Numbered => self.item(piece, asks),
            Item::Bullet if asks || self.intro.as_ref().is_some_and(|intro| intro.each) => self.item(piece, asks),
            Item::Bullet => self.given(piece),
        }
    }

    /// Takes an introduction of a list; `false` when it is an act that its items only describe.
    fn introduce(&mut self, piece: &Piece, item: Item, mode: Mode) -> bool {
        let asks = piece.mode == Mode::Request;
        let many = |word: &String| {
            matches!(
                word.as_str(),
                "following" | "these" | "below" | "steps" | "things" | "those" | "следующие" | "эти" | "следующее"
            )
        };
        let each = item == Item::Numbered || piece.words.iter().any(many);
        let named = asks && !self.says_nothing(piece) && !matches!(mode, Mode::Request | Mode::Question);
        self.intro = Some(Intro {
            text: piece.text.trim_end_matches(':').to_owned(),
            verb: piece.verb.clone().filter(|_| named),
            each,
        });
        if named && !each {
            return false;
        }
        self.wait(piece);
        true
    }

    /// `Do the following`, `Please do these things`, `I need you to`.
    fn says_nothing(&self, piece: &Piece) -> bool {
        piece.mode != Mode::Question
            && piece.mentions.paths.is_empty()
            && piece.words.len() <= 12
            && (piece.verb.as_deref().is_none_or(|verb| {
                matches!(verb, "do" | "follow" | "perform" | "complete" | "execute" | "help" | "сделай" | "выполни")
            }) || piece.words.iter().any(|word| matches!(word.as_str(), "following" | "steps" | "tasks"))
                && piece.words.len() <= 6
                && piece
                    .verb
                    .as_deref()
                    .is_some_and(|verb| matches!(verb, "do" | "take" | "run" | "perform" | "complete" | "follow")))
    }

    fn item(&mut self, piece: &Piece, asks: bool) {
        let intro = self.intro.clone().filter(|intro| !asks && intro.verb.is_some());
        match intro {
            Some(intro) => {
                let piece =
                    Piece { text: format!("{}: {}", intro.text, piece.text), verb: intro.verb, ..piece.clone() };
                self.act(&piece);
            }
            None => self.act(piece),
        }
    }

    fn wait(&mut self, piece: &Piece) {
        self.waiting.push((piece.text.clone(), piece.mentions.clone(), piece.words.clone()));
    }

    fn given(&mut self, piece: &Piece) {
        let first = piece.words.first().map_or("", String::as_str);
        let about_before = piece.mode == Mode::Constraint
            || piece.item == Item::Bullet
            || piece.continues
            || matches!(
                first,
                "it" | "they"
                    | "this"
                    | "that"
                    | "these"
                    | "those"
                    | "both"
                    | "also"
                    | "он"
                    | "она"
                    | "они"
                    | "это"
                    | "оно"
            );
        match self.parts.last_mut().filter(|_| about_before && self.waiting.is_empty()) {
            Some(part) => {
                part.context = join(&part.context, &piece.text);
                merge(part, &piece.mentions);
            }
            None => self.wait(piece),
        }
    }

    fn act(&mut self, piece: &Piece) {
        let mut part = Part { text: piece.text.clone(), verb: piece.verb.clone(), ..plain("") };
        let mut words = piece.words.clone();
        for (text, mentions, said) in self.waiting.drain(..) {
            part.context = join(&part.context, &text);
            merge(&mut part, &mentions);
            words.extend(said);
        }
        merge(&mut part, &piece.mentions);
        part.for_each = each(&piece.words).or_else(|| self.for_each.clone().filter(|_| piece.continues));
        self.for_each = part.for_each.clone();
        part.refers_back = !self.parts.is_empty() && refers_back(piece);
        part.kind = if self.is_answer(piece, &part) { PartKind::Answer } else { PartKind::Act };
        part.depends_on = self.needs(&part, &piece.words);
        self.parts.push(part);
        self.words.push(words);
    }

    /// The clause only asks to tell what the parts before it find.
    fn is_answer(&self, piece: &Piece, part: &Part) -> bool {
        let Some(before) = self.parts.iter().rev().find(|part| part.kind == PartKind::Act) else { return false };
        if piece.item == Item::Numbered {
            return false;
        }
        let known = |path: &String| self.parts.iter().any(|part| part.paths.contains(path));
        if !part.paths.iter().all(known) {
            return false;
        }
        let looks = before.verb.as_deref().is_some_and(verbs::only_looks)
            || !before.paths.is_empty()
            || before.verb.as_deref().is_some_and(is_russian_looking);
        let new_name = piece.names.iter().any(|name| is_proper(name) && !self.said(name));
        if piece.only_tells {
            let asks_back = piece
                .words
                .iter()
                .skip(1)
                .any(|word| words::points_back(word) || words::is_outcome(word) || is_russian_pronoun(word));
            return asks_back && !new_name || looks && !new_name;
        }
        if piece.mode == Mode::Question {
            return looks
                && piece.words.iter().any(|word| {
                    matches!(word.as_str(), "it" | "they" | "them" | "its" | "он" | "она" | "они" | "оно")
                });
        }
        let shows = matches!(
            part.verb.as_deref(),
            Some("show" | "give" | "print" | "report" | "display" | "return" | "list" | "send" | "покажи" | "выведи")
        );
        shows && piece.continues && part.quoted.is_empty() && shows_outcome(&piece.words)
    }

    fn said(&self, name: &str) -> bool {
        let low = name.to_lowercase();
        self.words.iter().flatten().any(|word| *word == low)
    }

    /// Earlier parts whose outcome the clause needs.
    fn needs(&self, part: &Part, said: &[String]) -> Vec<usize> {
        if self.parts.is_empty() {
            return Vec::new();
        }
        if part.kind == PartKind::Answer {
            return (0..self.parts.len()).filter(|&i| self.parts[i].kind == PartKind::Act).collect();
        }
        let mut needed = Vec::new();
        if part.refers_back {
            needed.extend(self.parts.iter().rposition(|part| part.kind == PartKind::Act));
        }
        for (i, earlier) in self.words.iter().enumerate() {
            if produces(earlier, said) && !needed.contains(&i) {
                needed.push(i);
            }
        }
        needed.sort_unstable();
        needed
    }

    fn finish(mut self) -> Vec<Part> {
        if self.waiting.is_empty() {
            return self.parts;
        }
        let waiting = std::mem::take(&mut self.waiting);
        if self.parts.is_empty() {
            let mut lone = plain("");
            for (text, mentions, _) in waiting {
                lone.text = join(&lone.text, &text);
                merge(&mut lone, &mentions);
            }
            self.parts.push(lone);
        } else if let Some(last) = self.parts.last_mut() {
            for (text, mentions, _) in waiting {
                last.context = join(&last.context, &text);
                merge(last, &mentions);
            }
        }
        self.parts
    }
}

/// One sentence behind the other, with the full stop between them that cutting took away.
fn join(first: &str, second: &str) -> String {
    match first.chars().next_back() {
        None => second.to_owned(),
        Some('.' | '?' | '!' | ':' | ';') => format!("{first} {second}"),
        Some(_) => format!("{first}. {second}"),
    }
}

fn merge(part: &mut Part, mentions: &Mentions) {
    let lists = [
        (&mut part.paths, &mentions.paths),
        (&mut part.quoted, &mentions.quoted),
        (&mut part.numbers, &mentions.numbers),
    ];
    for (into, from) in lists {
        for one in from {
            if !into.contains(one) {
                into.push(one.clone());
            }
        }
    }
}

fn refers_back(piece: &Piece) -> bool {
    let words = &piece.words;
    words.iter().enumerate().any(|(i, word)| {
        let next = words.get(i + 1).map_or("", String::as_str);
        match word.as_str() {
            "it" | "them" | "they" | "its" | "their" | "ones" | "same" => true,
            "one" => i > 0 && matches!(words[i - 1].as_str(), "each" | "this" | "that" | "every" | "the"),
            "each" => true,
            "this" | "these" | "those" => {
                next.is_empty() || words::is_outcome(next) || words::is_preposition(next) || words::is_connective(next)
            }
            "that" => i > 0 && (next.is_empty() || words::is_outcome(next)),
            "the" => {
                words::is_outcome(next) && matches!(next, "result" | "results" | "output" | "findings" | "outcome")
            }
            _ => is_russian_pronoun(word),
        }
    })
}

fn is_russian_pronoun(low: &str) -> bool {
    matches!(
        low,
        "его"
            | "её"
            | "ее"
            | "их"
            | "ним"
            | "ними"
            | "нём"
            | "нем"
            | "них"
            | "ней"
            | "это"
            | "этого"
            | "этом"
            | "каждый"
            | "каждого"
            | "каждой"
            | "каждому"
            | "результат"
            | "результаты"
            | "там"
    )
}

fn is_russian_looking(low: &str) -> bool {
    matches!(
        low,
        "прочитай"
            | "прочти"
            | "открой"
            | "найди"
            | "посмотри"
            | "изучи"
            | "проверь"
            | "запусти"
            | "покажи"
            | "сравни"
            | "посчитай"
            | "разбери"
            | "глянь"
            | "поищи"
    )
}

/// A name of the world, not an identifier of code.
fn is_proper(name: &str) -> bool {
    name.chars().all(char::is_alphabetic) && name.chars().skip(1).all(char::is_lowercase) && name.chars().count() > 1
}

/// `show me the result`, `print it`, `give me the total`: nothing is named that was not found before.
fn shows_outcome(words: &[String]) -> bool {
    let rest: Vec<&str> = words
        .iter()
        .skip(1)
        .map(String::as_str)
        .filter(|word| {
            !words::is_determiner(word) && !matches!(*word, "me" | "us" | "back" | "of" | "to" | "a" | "here" | "мне")
        })
        .collect();
    match rest.as_slice() {
        [] => words.len() > 1,
        [only] => words::is_outcome(only) || words::points_back(only) || is_russian_pronoun(only),
        [first, ..] => {
            matches!(*first, "what" | "result" | "results" | "findings")
                && rest.iter().any(|w| matches!(*w, "you" | "found" | "find" | "result" | "results"))
        }
    }
}

/// Verbs that would be taken for a part of the noun before them.
const STOPPING: &[&str] =
    &["count", "print", "check", "list", "show", "report", "record", "log", "test", "run", "call", "use", "note"];

/// `for each file`, `of every user`: what comes behind `each`.
fn each(words: &[String]) -> Option<String> {
    let at = words
        .iter()
        .position(|word| matches!(word.as_str(), "each" | "every" | "каждого" | "каждой" | "каждый" | "каждую"))?;
    let stops = |place: usize, word: &String| {
        place > 0 && STOPPING.contains(&word.as_str())
            || words::is_preposition(word)
            || words::is_determiner(word)
            || words::is_auxiliary(word)
            || words::is_connective(word)
            || verbs::class(word) == Some(verbs::Class::Sure)
            || words::is_subordinator(word)
    };
    let noun: Vec<&str> = words[at + 1..]
        .iter()
        .enumerate()
        .take_while(|(place, word)| !stops(*place, word))
        .take(3)
        .map(|(_, word)| word.as_str())
        .collect();
    let timed = matches!(
        noun.first(),
        Some(&("time" | "day" | "week" | "month" | "hour" | "minute" | "morning" | "year" | "night" | "other"))
    );
    (!timed).then(|| if noun.is_empty() { "one".to_owned() } else { noun.join(" ") })
}

/// `earlier` makes `a report`, `said` speaks of `the report`.
fn produces(earlier: &[String], said: &[String]) -> bool {
    let made = earlier
        .windows(3)
        .filter(|three| matches!(three[0].as_str(), "a" | "an" | "new"))
        .flat_map(|three| [three[1].as_str(), three[2].as_str()])
        .chain(earlier.windows(2).filter(|two| matches!(two[0].as_str(), "a" | "an")).map(|two| two[1].as_str()))
        .filter(|word| word.len() > 3 && !words::is_preposition(word));
    let used: Vec<&str> = said
        .windows(2)
        .filter(|two| matches!(two[0].as_str(), "the" | "that" | "this"))
        .map(|two| two[1].as_str())
        .collect();
    made.into_iter().any(|word| used.contains(&word))
}
