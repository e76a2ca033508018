//! Decides the role of each clause in a plan: an act, an answer to be given at the end, or a stated fact.

use super::head::Mode;
use super::lists::Item;
use super::names::Mentions;
use super::table::Words;
use super::tongue::Piece;
use super::{PARTS_MAX, Part, PartKind, words};
use crate::base::OrBug;
use crate::shape;

/// The parts made from `pieces`, in order.
pub(super) fn assemble(pieces: Vec<Piece>) -> Vec<Part> {
    let mut state = Assembly::default();
    for (i, piece) in pieces.iter().enumerate() {
        if state.parts.len() == PARTS_MAX {
            state.waiting.push(piece.clone());
            continue;
        }
        let listed = pieces.get(i + 1).filter(|_| piece.introduces).map(|next| (next.item, next.mode));
        state.take(piece, listed);
    }
    state.finish()
}

/// A part for a text without a recognised structure.
pub fn plain(text: &str) -> Part {
    Part {
        text: text.to_owned(),
        context: String::new(),
        verb: None,
        paths: Vec::new(),
        quoted: Vec::new(),
        refers_back: false,
        kind: PartKind::Given,
        depends_on: Vec::new(),
    }
}

/// Words that only point to a place to look.
const POINTING: &str = "look, see, check, read, open, use, please, have, take, a, at, in, into, inside, the, file, it, is, should, be, stands";

#[derive(Default)]
struct Assembly {
    parts: Vec<Part>,
    /// The words of each part, for references between parts.
    words: Vec<Vec<String>>,
    /// Stated facts not assigned to a part yet.
    waiting: Vec<Piece>,
    /// The introduction of the list being read.
    intro: Option<Intro>,
}

/// The introduction of a list.
#[derive(Clone)]
struct Intro {
    text: String,
    /// The verb for items without their own.
    verb: Option<String>,
    /// Whether each item is an act: `Fix these bugs:`.
    each: bool,
}

impl Assembly {
    /// Assigns a piece to its role. `listed` is the first item of the list that the piece
    /// introduces.
    fn take(&mut self, piece: &Piece, listed: Option<(Item, Mode)>) {
        if piece.item == Item::None {
            self.intro = None;
        }
        if let Some((item, mode)) = listed.filter(|(item, _)| *item != Item::None) {
            if self.introduce(piece, item, mode) {
                return;
            }
        } else if piece.introduces && self.says_nothing(piece) {
            self.waiting.push(piece.clone());
            return;
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

    /// Stores the introduction of a list; `false` if it is itself an act that its items only
    /// describe.
    fn introduce(&mut self, piece: &Piece, item: Item, mode: Mode) -> bool {
        let asks = piece.mode == Mode::Request;
        let each = item == Item::Numbered
            || piece
                .words
                .iter()
                .any(|word| words::announces(word) || piece.tongue.has_word(|words| words.following, word));
        let named = asks && !self.says_nothing(piece) && !matches!(mode, Mode::Request | Mode::Question);
        self.intro = Some(Intro {
            text: piece.text.trim_end_matches(':').to_owned(),
            verb: piece.verb.clone().filter(|_| named),
            each,
        });
        if named && !each {
            return false;
        }
        self.waiting.push(piece.clone());
        true
    }

    /// Whether an introduction has no content: `Do the following`, `Please do these things`,
    /// `I need you to`.
    fn says_nothing(&self, piece: &Piece) -> bool {
        piece.mode != Mode::Question
            && piece.mentions.paths.is_empty()
            && piece.words.len() <= 12
            && piece
                .verb
                .as_deref()
                .is_none_or(|verb| words::means_any_work(verb) || piece.tongue.has_verb(|words| words.does, verb))
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

    /// Adds a stated fact to the previous part if it concerns that part, else keeps it for the next
    /// one.
    fn given(&mut self, piece: &Piece) {
        let first = piece.words.first().map_or("", String::as_str);
        let about_before = piece.item == Item::Bullet
            || piece.continues
            || words::listed("it, they, this, that, these, those, both, also", first)
            || piece.tongue.has_word(|words| words.back, first);
        match self.parts.last_mut().filter(|_| about_before && self.waiting.is_empty()) {
            Some(part) => {
                part.context = join(&part.context, &piece.text);
                merge(part, &piece.mentions);
            }
            None => self.waiting.push(piece.clone()),
        }
    }

    /// Adds a part, with the facts kept for it.
    fn act(&mut self, piece: &Piece) {
        let mut part = Part { text: piece.text.clone(), verb: piece.verb.clone(), ..plain("") };
        let mut words = piece.words.clone();
        for fact in self.waiting.drain(..) {
            part.context = join(&part.context, &fact.text);
            merge(&mut part, &fact.mentions);
            words.extend(fact.words);
        }
        merge(&mut part, &piece.mentions);
        part.refers_back = !self.parts.is_empty() && refers_back(piece);
        part.kind = if self.is_answer(piece, &part) { PartKind::Answer } else { PartKind::Act };
        part.depends_on = self.needs(&part, &piece.words);
        self.parts.push(part);
        self.words.push(words);
    }

    /// Whether the clause only asks for the findings of earlier parts.
    fn is_answer(&self, piece: &Piece, part: &Part) -> bool {
        let Some(before) = self.parts.iter().rev().find(|part| part.kind == PartKind::Act) else { return false };
        if piece.item == Item::Numbered {
            return false;
        }
        let known = |path: &String| self.parts.iter().any(|part| part.paths.contains(path));
        if !part.paths.iter().all(known) {
            return false;
        }
        let only_looks = |verb: &str| words::only_looks(verb) || piece.tongue.has_verb(|words| words.looks, verb);
        let looks = before.verb.as_deref().is_some_and(only_looks) || !before.paths.is_empty();
        if piece.only_tells {
            return looks || piece.words.iter().skip(1).any(|word| is_back(piece, word));
        }
        if piece.mode == Mode::Question {
            return looks
                && piece
                    .words
                    .iter()
                    .any(|word| matches!(word.as_str(), "it" | "they" | "them" | "its") || piece.tongue.refers(word));
        }
        let shows = |verb: &str| words::shows(verb) || piece.tongue.has_verb(|words| words.shows, verb);
        part.verb.as_deref().is_some_and(shows) && piece.continues && part.quoted.is_empty() && shows_outcome(piece)
    }

    /// Indexes of earlier parts whose results the clause needs.
    fn needs(&self, part: &Part, words: &[String]) -> Vec<usize> {
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
            if produces(earlier, words) && !needed.contains(&i) {
                needed.push(i);
            }
        }
        needed.sort_unstable();
        needed
    }

    /// Merges a last part that only names the file to look in with the preceding question:
    /// `How many …? Look in src/a.rs`.
    fn point_back(&mut self) {
        let [.., question, pointer] = self.parts.as_mut_slice() else { return };
        let mut words =
            pointer.text.split_whitespace().map(|word| word.trim_end_matches(['.', '!', ',']).to_lowercase());
        let points = |word: String| words::listed(POINTING, &word) || shape::is_path(&word);
        if !(question.text.ends_with('?') && question.paths.is_empty() && pointer.paths.len() == 1 && words.all(points))
        {
            return;
        }
        question.context = join(&question.context, &pointer.full_text());
        question.paths.append(&mut pointer.paths);
        self.parts.pop();
    }

    /// The finished parts. Remaining facts go to the last part, or form the only one.
    fn finish(mut self) -> Vec<Part> {
        self.point_back();
        let is_lone = self.parts.is_empty();
        for fact in std::mem::take(&mut self.waiting) {
            if self.parts.is_empty() {
                self.parts.push(plain(""));
            }
            let last = self.parts.last_mut().or_bug("a part was added if there was none");
            let text = if is_lone { &mut last.text } else { &mut last.context };
            *text = join(text, &fact.text);
            merge(last, &fact.mentions);
        }
        self.parts
    }
}

/// Two sentences, rejoined with the full stop that splitting removed.
pub(super) fn join(first: &str, second: &str) -> String {
    match first.chars().next_back() {
        None => second.to_owned(),
        Some('.' | '?' | '!' | ':' | ';') => format!("{first} {second}"),
        Some(_) => format!("{first}. {second}"),
    }
}

/// Adds paths and quotations to a part, without duplicates.
fn merge(part: &mut Part, mentions: &Mentions) {
    let lists = [(&mut part.paths, &mentions.paths), (&mut part.quoted, &mentions.quoted)];
    for (into, from) in lists {
        for one in from {
            if !into.contains(one) {
                into.push(one.clone());
            }
        }
    }
}

/// Whether a clause refers to something before it, through a pronoun or a phrase like `the result`.
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
            "the" => matches!(next, "result" | "results" | "output" | "findings" | "outcome"),
            _ => piece.tongue.refers(word),
        }
    })
}

/// Whether a word refers to something mentioned earlier, or to a result.
fn is_back(piece: &Piece, word: &str) -> bool {
    words::points_back(word) || words::is_outcome(word) || piece.tongue.refers(word)
}

/// Whether the clause only asks to see the findings: `show me the result`, `print it`,
/// `give me the total`.
fn shows_outcome(piece: &Piece) -> bool {
    let says_nothing = |word: &str| {
        words::is_determiner(word)
            || matches!(word, "me" | "us" | "back" | "of" | "to" | "a" | "here")
            || [|words: &Words| words.determiners, |words: &Words| words.objects, |words: &Words| words.leads]
                .into_iter()
                .any(|list| piece.tongue.has_word(list, word))
    };
    let rest: Vec<&str> = piece.words.iter().skip(1).map(String::as_str).filter(|word| !says_nothing(word)).collect();
    match rest.as_slice() {
        [] => piece.words.len() > 1,
        [only] => is_back(piece, only),
        _ => false,
    }
}

/// Whether `earlier` makes `a report` or looks for `duplicate files`, and `later` mentions `the report` or `the duplicates`.
fn produces(earlier: &[String], later: &[String]) -> bool {
    let made = earlier
        .windows(3)
        .filter(|three| matches!(three[0].as_str(), "a" | "an" | "new"))
        .flat_map(|three| [three[1].as_str(), three[2].as_str()])
        .chain(earlier.windows(2).filter(|two| matches!(two[0].as_str(), "a" | "an")).map(|two| two[1].as_str()))
        .filter(|word| word.len() > 3 && !words::is_preposition(word));
    let bare = earlier.windows(2).filter(|two| !words::is_determiner(&two[0])).map(|two| two[1].as_str());
    let one = |word: &str| word.trim_end_matches('s').to_owned();
    let used: Vec<&str> = later
        .windows(2)
        .filter(|two| matches!(two[0].as_str(), "the" | "that" | "this"))
        .map(|two| two[1].as_str())
        .collect();
    let many = |word: &&str| word.len() > 4 && word.ends_with('s') && !word.ends_with("ss");
    made.into_iter().any(|word| used.contains(&word))
        || bare.into_iter().any(|word| used.iter().filter(|word| many(word)).any(|used| one(used) == one(word)))
}
