//! Splits a request into sentences and list items, in any language.

use super::lookahead;
use super::scan::{Kind, Token};
use super::tongue::Tongue;

/// A sentence or a list item: tokens `from..to`, without its marker.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    pub from: usize,
    pub to: usize,
    pub item: Item,
    /// Whether it ends in a colon and so may introduce a list.
    pub introduces: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    None,
    Numbered,
    Bullet,
}

/// A list marker: tokens `at..body` are the marker itself.
#[derive(Clone, Copy)]
struct Marker {
    at: usize,
    body: usize,
    item: Item,
    /// Whether it begins a line, in which case its item may have several sentences.
    own_line: bool,
    /// Whether punctuation precedes it. If not, only the number sequence shows that it is a marker.
    fresh: bool,
}

/// The sentences and list items of a request, in order.
pub(super) fn units(tokens: &[Token], tongue: Tongue) -> Vec<Unit> {
    let markers = markers(tokens, tongue);
    let mut units = Vec::new();
    let mut at = 0;
    for (i, marker) in markers.iter().enumerate() {
        sentences(tokens, (at, marker.at), tongue, &mut units);
        let next = markers.get(i + 1).map_or(tokens.len(), |next| next.at);
        let end = item_end(tokens, marker, next, i + 1 < markers.len());
        push(tokens, marker.body, end, marker.item, &mut units);
        at = end;
    }
    sentences(tokens, (at, tokens.len()), tongue, &mut units);
    units
}

/// End of an item: the next marker; for the last item, the end of its line, or of its sentence in
/// an inline list.
fn item_end(tokens: &[Token], marker: &Marker, next: usize, followed: bool) -> usize {
    let stops = |kind: Kind| match (marker.own_line, followed) {
        (_, true) => kind == Kind::Blank,
        (true, false) => matches!(kind, Kind::Blank | Kind::Newline),
        (false, false) => matches!(kind, Kind::Blank | Kind::Newline | Kind::Stop | Kind::Question | Kind::Bang),
    };
    let end = (marker.body..next).find(|&i| stops(tokens[i].kind)).map_or(next, |i| i + 1);
    end.min(next)
}

/// Adds a unit without surrounding blank tokens, if it contains a word.
fn push(tokens: &[Token], from: usize, to: usize, item: Item, units: &mut Vec<Unit>) {
    let blank = |i: usize| matches!(tokens[i].kind, Kind::Newline | Kind::Blank);
    let (mut from, mut to) = (from, to);
    while from < to && (blank(from) || matches!(tokens[from].kind, Kind::Comma | Kind::Semicolon | Kind::Stop)) {
        from += 1;
    }
    while to > from && blank(to - 1) {
        to -= 1;
    }
    let says = |i: usize| matches!(tokens[i].kind, Kind::Word | Kind::Opaque | Kind::Mark);
    if (from..to).any(says) {
        units.push(Unit { from, to, item, introduces: tokens[to - 1].kind == Kind::Colon });
    }
}

fn sentences(tokens: &[Token], (from, to): (usize, usize), tongue: Tongue, units: &mut Vec<Unit>) {
    let mut start = from;
    for i in from..to {
        let ends = match tokens[i].kind {
            Kind::Newline => breaks_line(tokens, start, (i, to), tongue),
            Kind::Stop | Kind::Question | Kind::Bang => {
                !tokens.get(i + 1).is_some_and(|next| next.kind == Kind::Close && next.start == tokens[i].end)
            }
            _ => tokens[i].ends_sentence(),
        };
        if ends {
            push(tokens, start, i + 1, Item::None, units);
            start = i + 1;
        }
    }
    push(tokens, start, to, Item::None, units);
}

/// Whether a single line break also ends a sentence, rather than just wrapping the text.
fn breaks_line(tokens: &[Token], start: usize, (at, to): (usize, usize), tongue: Tongue) -> bool {
    let Some(next) = tokens.get(at + 1).filter(|_| at > start && at + 1 < to) else { return true };
    let line: Vec<&Token> = tokens[at + 1..to.min(at + 12)].iter().collect();
    next.is_capitalised()
        || lookahead::verb_at(&line, 0).is_some()
        || lookahead::opens_question(&line, 0)
        || tongue.begins_order(&next.low) && !tongue.is_closed(&tokens[at - 1].low)
}

/// Maximum number of markers after a `1.` that are searched for its `2.`.
const MARKERS_AHEAD_MAX: usize = 50;

/// The markers that actually belong to a list.
fn markers(tokens: &[Token], tongue: Tongue) -> Vec<Marker> {
    let found: Vec<(Marker, u32, bool)> = (0..tokens.len()).filter_map(|i| marker(tokens, i)).collect();
    let mut kept: Vec<Marker> = Vec::new();
    let mut expected = 1;
    for (i, (marker, value, letter)) in found.iter().enumerate() {
        if marker.item == Item::Bullet {
            kept.push(*marker);
            continue;
        }
        let continued =
            found.iter().skip(i + 1).take(MARKERS_AHEAD_MAX).any(|(_, next, l)| *next == value + 1 && l == letter);
        if *value == 1 && (continued && marker.fresh || marker.own_line) {
            kept.push(*marker);
            expected = 2;
        } else if *value == expected && expected > 1 && (marker.fresh || opens(tokens, marker.body, tongue)) {
            kept.push(*marker);
            expected += 1;
        } else if marker.own_line && *value > 0 {
            kept.push(*marker);
            expected = value + 1;
        }
    }
    kept
}

/// Whether a capital letter or a verb follows a marker in the middle of a line.
fn opens(tokens: &[Token], at: usize, tongue: Tongue) -> bool {
    tokens
        .get(at)
        .is_some_and(|t| t.is_capitalised() || super::verbs::class(&t.low).is_some() || tongue.begins_order(&t.low))
}

/// The marker at `at` (`1.`, `1)`, `a)`, `-`, `*`, `•`), with its number and whether it is a letter.
fn marker(tokens: &[Token], at: usize) -> Option<(Marker, u32, bool)> {
    let before = at.checked_sub(1).map(|i| tokens[i].kind);
    let own_line = matches!(before, None | Some(Kind::Newline | Kind::Blank));
    let fresh = own_line
        || before.is_some_and(|kind| {
            matches!(
                kind,
                Kind::Stop | Kind::Question | Kind::Bang | Kind::Semicolon | Kind::Colon | Kind::Comma | Kind::Close
            )
        });
    let kind = |i: usize| tokens.get(i).map(|token| token.kind);
    let apart =
        |i: usize| tokens.get(i).is_some_and(|token| token.start > tokens[i - 1].end || token.kind == Kind::Opaque);
    let bullet = kind(at) == Some(Kind::Dash)
        || kind(at) == Some(Kind::Mark) && matches!(tokens[at].text, "*" | "•" | "+" | "·" | "‣" | "●");
    if own_line && bullet && apart(at + 1) {
        // `- [x]`
        let close = (at + 2..at + 4).find(|&i| kind(i) == Some(Kind::Close));
        let body = close.filter(|_| kind(at + 1) == Some(Kind::Open)).map_or(at + 1, |close| close + 1);
        return Some((Marker { at, body, item: Item::Bullet, own_line, fresh }, 0, false));
    }
    // The marker's number, and whether it is a letter.
    let label = |i: usize| {
        let token = tokens.get(i).filter(|token| token.kind == Kind::Word)?;
        match token.low.as_bytes() {
            [letter @ b'a'..=b'z'] => Some((u32::from(letter - b'a') + 1, true)),
            digits if digits.len() <= 3 => token.text.parse::<u32>().ok().map(|number| (number, false)),
            _ => None,
        }
    };
    let (number, is_letter) = label(at).filter(|_| before != Some(Kind::Open))?;
    let closes = kind(at + 1) == Some(Kind::Close) || !is_letter && kind(at + 1) == Some(Kind::Stop);
    let is_marker = closes && tokens[at + 1].start == tokens[at].end && apart(at + 2);
    is_marker.then_some((Marker { at, body: at + 2, item: Item::Numbered, own_line, fresh }, number, is_letter))
}
