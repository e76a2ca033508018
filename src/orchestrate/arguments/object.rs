//! Finds what a step takes out of a file among its words: `the line about X` in `take the line about X out of notes.md`.

use crate::orchestrate::decompose::names;
use crate::orchestrate::decompose::scan::{Kind, Token};
use crate::orchestrate::decompose::words::{is_polite, listed};

const REMOVES: &str = "remove, delete, erase, strip, удали, удалить, убери, убрать, сотри, вычеркни";
/// Take something out only together with a particle.
const WITH_OUT: &str = "take, cut, strike, cross";
const PARTICLES: &str = "out, away, off";
/// Take something out only from something: `drop a note in a.md` adds one.
const DROPS: &str = "drop, cut";
const VALUE_FOLLOWS: &str = "to, by, into";
const IN_FRONT: &str = "in, inside, from, в, из";
const WITHIN: &str = "from, out, in, inside, of, из, в";
/// Say why, not what.
const REASONS: &str = "since, because, as, so";
const TAILS: &str = "please, now, too, also, again, completely, entirely, everywhere, there, пожалуйста, везде";

/// What stands between the verb and the file, and behind it; `None` where nothing is taken out.
pub(super) fn object<'s>(tokens: &[Token<'s>]) -> Option<Vec<Token<'s>>> {
    let word =
        |at: usize| tokens.get(at).filter(|token| token.kind == Kind::Word).map_or("", |token| token.low.as_str());
    let polite = |from: usize| {
        let passed = |token: &&Token| token.kind == Kind::Comma || token.kind == Kind::Word && is_polite(&token.low);
        from + tokens[from.min(tokens.len())..].iter().take_while(passed).count()
    };
    let mut lead = polite(0);
    let in_front = listed(IN_FRONT, word(lead));
    if in_front {
        lead = polite(path_behind(tokens, lead)? + 1);
    }
    let end = (lead..tokens.len()).find(|at| tokens[*at].ends_sentence()).unwrap_or(tokens.len());
    let tokens = &tokens[..end];
    let removes = listed(REMOVES, word(lead));
    let rids = word(lead) == "get" && word(lead + 1) == "rid" && word(lead + 2) == "of";
    let takes_out = listed(WITH_OUT, word(lead)) && listed(PARTICLES, word(lead + 1));
    let from = (lead + if rids { 3 } else { 1 + usize::from(takes_out) }).min(end);
    let holder = match () {
        // `remove from notes.md the line about X`.
        () if listed("from, out, in, из", word(from)) && path_behind(tokens, from).is_some() => Some(from),
        () if in_front => None,
        () => (from..end).rfind(|at| listed(WITHIN, word(*at)) && path_behind(tokens, *at).is_some()),
    };
    let to = holder.unwrap_or_else(|| if in_front { end } else { without_pointer(tokens, from) });
    let is_from = listed("from, out, из", word(to)) || word(to) == "of" && word(to - 1) == "out";
    let parts = listed(WITH_OUT, word(lead)) && (listed(PARTICLES, word(to - 1)) || word(to) == "out");
    let drops =
        listed(DROPS, word(lead)) && is_from && !tokens[from..].iter().any(|token| is_word(token, VALUE_FOLLOWS));
    if !(removes || rids || takes_out || parts || drops) {
        return None;
    }
    let mut object = without_tail(&tokens[from..to], &[TAILS, PARTICLES]).to_vec();
    if let Some(path) = holder.and_then(|holder| path_behind(tokens, holder)) {
        let behind = &tokens[path + 1..];
        let behind = &behind[..behind.iter().position(|token| is_word(token, REASONS)).unwrap_or(behind.len())];
        object.extend_from_slice(without_tail(behind, &[TAILS, "file, файла"]));
    }
    Some(object).filter(|object| !object.is_empty())
}

/// The place of the path in `in notes.md`, `from the file notes.md`, where the preposition stands at `at`.
fn path_behind(tokens: &[Token], at: usize) -> Option<usize> {
    let is_path = |token: &Token| names::is_path(token.text.trim_matches(['`', '"', '\'']));
    (at + 1..tokens.len().min(at + 4)).find(|at| is_path(&tokens[*at]))
}

fn without_tail<'t, 's>(tokens: &'t [Token<'s>], tails: &[&str]) -> &'t [Token<'s>] {
    let says = |token: &Token| token.kind != Kind::Comma && !tails.iter().any(|tail| is_word(token, tail));
    &tokens[..tokens.iter().rposition(says).map_or(0, |last| last + 1)]
}

/// Where `from it`, `out of the file` at the end of a sentence begins; its end where there is none.
fn without_pointer(tokens: &[Token], from: usize) -> usize {
    let points = |at: &usize| {
        let rest: Vec<&str> = tokens[*at + 1..].iter().map(|token| token.low.as_str()).collect();
        let rest = rest.strip_prefix(&["of"]).unwrap_or(&rest);
        is_word(&tokens[*at], "from, out, из")
            && matches!(rest, ["it" | "there" | "them"] | ["the" | "this" | "that", "file"])
    };
    (from..tokens.len()).find(points).unwrap_or(tokens.len())
}

/// A word of this table.
fn is_word(token: &Token, table: &str) -> bool {
    token.kind == Kind::Word && listed(table, &token.low)
}
