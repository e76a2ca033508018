//! Finds what a step removes from a file: `the line about X` in `take the line about X out of notes.md`.

use crate::language::clauses::scan::{Kind, Token};
use crate::language::clauses::words::{is_polite, listed};
use crate::language::shape;

const REMOVES: &str = "remove, delete, erase, strip, удали, удалить, убери, убрать, сотри, вычеркни";
/// Verbs that mean removal only together with a particle.
const WITH_PARTICLE: &str = "take, cut, strike, cross";
const PARTICLES: &str = "out, away, off";
/// Verbs that mean removal only with `from`: `drop a note in a.md` adds a note.
const DROPS: &str = "drop, cut";
/// Words that introduce a new value: `drop the limit to 5 from a.md` removes nothing.
const VALUE_FOLLOWS: &str = "to, by, into";
/// Prepositions before a file at the start of the clause: `in a.md, remove …`.
const IN_FRONT: &str = "in, inside, from, в, из";
/// Prepositions before a file after the object: `remove … from a.md`.
const WITHIN: &str = "from, out, in, inside, of, из, в";
/// Words that begin a reason.
const REASONS: &str = "since, because, as, so";
/// Trailing words that do not describe the object.
const TAILS: &str = "please, now, too, also, again, completely, entirely, everywhere, there, пожалуйста, везде";

/// The tokens that name the object of the removal, before and after the file; `None` if nothing is
/// removed.
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
    let gets_rid = word(lead) == "get" && word(lead + 1) == "rid" && word(lead + 2) == "of";
    let takes_out = listed(WITH_PARTICLE, word(lead)) && listed(PARTICLES, word(lead + 1));
    let from = (lead + if gets_rid { 3 } else { 1 + usize::from(takes_out) }).min(end);
    let preposition = if listed("from, out, in, из", word(from)) && path_behind(tokens, from).is_some() {
        // `remove from notes.md the line about X`
        Some(from)
    } else if in_front {
        None
    } else {
        (from..end).rfind(|at| listed(WITHIN, word(*at)) && path_behind(tokens, *at).is_some())
    };
    let to = preposition.unwrap_or_else(|| if in_front { end } else { without_pointer(tokens, from) });
    let is_from = listed("from, out, из", word(to)) || word(to) == "of" && word(to - 1) == "out";
    let particle_later = listed(WITH_PARTICLE, word(lead)) && (listed(PARTICLES, word(to - 1)) || word(to) == "out");
    let drops =
        listed(DROPS, word(lead)) && is_from && !tokens[from..].iter().any(|token| is_word(token, VALUE_FOLLOWS));
    if !(removes || gets_rid || takes_out || particle_later || drops) {
        return None;
    }
    let mut object = without_tail(&tokens[from..to], &[TAILS, PARTICLES]).to_vec();
    if let Some(path) = preposition.and_then(|at| path_behind(tokens, at)) {
        let behind = &tokens[path + 1..];
        let behind = &behind[..behind.iter().position(|token| is_word(token, REASONS)).unwrap_or(behind.len())];
        object.extend_from_slice(without_tail(behind, &[TAILS, "file, файла"]));
    }
    Some(object).filter(|object| !object.is_empty())
}

/// Index of the path after the preposition at `at`: `in notes.md`, `from the file notes.md`.
fn path_behind(tokens: &[Token], at: usize) -> Option<usize> {
    let is_path = |token: &Token| shape::is_path(token.text.trim_matches(['`', '"', '\'']));
    (at + 1..tokens.len().min(at + 4)).find(|at| is_path(&tokens[*at]))
}

/// The tokens without trailing commas and the trailing words in `tails`.
fn without_tail<'t, 's>(tokens: &'t [Token<'s>], tails: &[&str]) -> &'t [Token<'s>] {
    let says = |token: &Token| token.kind != Kind::Comma && !tails.iter().any(|tail| is_word(token, tail));
    &tokens[..tokens.iter().rposition(says).map_or(0, |last| last + 1)]
}

/// Index at which a final `from it` or `out of the file` begins; the end of the text if there is
/// none.
fn without_pointer(tokens: &[Token], from: usize) -> usize {
    let points = |at: &usize| {
        let rest: Vec<&str> = tokens[*at + 1..].iter().map(|token| token.low.as_str()).collect();
        let rest = rest.strip_prefix(&["of"]).unwrap_or(&rest);
        is_word(&tokens[*at], "from, out, из")
            && matches!(rest, ["it" | "there" | "them"] | ["the" | "this" | "that", "file"])
    };
    (from..tokens.len()).find(points).unwrap_or(tokens.len())
}

/// Whether the token is a word in this table.
fn is_word(token: &Token, table: &str) -> bool {
    token.kind == Kind::Word && listed(table, &token.low)
}
