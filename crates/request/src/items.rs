//! Splits a request into the items of a checklist: list items and sentences as written, or clauses
//! if each is an order for a different place. Facts before the first order are left out; later ones
//! are mostly conditions of an order.

use crate::base::OrBug;
use crate::language::clauses::{self, Part, PartKind};
use crate::language::grounding;

use super::{Step, Text};

impl Text {
    /// The items of the text, in order; empty if it only asks a question.
    pub fn items(&self) -> Vec<Step> {
        of(self.raw())
    }
}

fn of(request: &str) -> Vec<Step> {
    let mut parts: Vec<Part> = Vec::new();
    for Unit { text, is_item } in units(request) {
        let of_unit = clauses::parts(&text);
        let is_fact = of_unit.iter().all(|part| part.kind == PartKind::Given) && !Text::of(text.as_str()).is_order();
        if is_fact && !is_item && parts.is_empty() {
            continue;
        }
        if is_list(&of_unit) { parts.extend(of_unit) } else { parts.push(whole(text, of_unit)) }
    }
    if parts.iter().all(|part| Text::of(&part.text).asks_something()) {
        return Vec::new();
    }
    parts.into_iter().enumerate().map(|(at, part)| Step::of_part(at + 1, part, Vec::new())).collect()
}

/// Whether each clause is an order for a different place.
fn is_list(parts: &[Part]) -> bool {
    let is_own = |at: usize| {
        let others = || parts.iter().enumerate().filter(move |(other, _)| *other != at).map(|(_, part)| part);
        let mut names = parts[at].paths.iter().chain(&parts[at].quoted);
        names.any(|name| others().all(|part| !part.paths.contains(name) && !part.quoted.contains(name)))
    };
    let is_order = |part: &Part| part.kind == PartKind::Act && part.verb.is_some() && part.context.is_empty();
    parts.len() > 1 && parts.iter().all(is_order) && (0..parts.len()).all(is_own)
}

/// A sentence or list item as one part, with everything that its clauses name.
fn whole(text: String, parts: Vec<Part>) -> Part {
    let act = parts.iter().position(|part| part.kind == PartKind::Act).unwrap_or(0);
    let mut whole = parts[act].clone();
    for part in parts {
        for (names, more) in [(&mut whole.paths, part.paths), (&mut whole.quoted, part.quoted)] {
            let new: Vec<String> = more.into_iter().filter(|name| !names.contains(name)).collect();
            names.extend(new);
        }
    }
    Part { text, context: String::new(), depends_on: Vec::new(), ..whole }
}

/// A sentence or a list item.
struct Unit {
    text: String,
    is_item: bool,
}

/// The list items and sentences of a request, without fenced code.
fn units(request: &str) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    let mut prose = String::new();
    let (mut in_code, mut in_item) = (false, false);
    let end = |prose: &mut String, units: &mut Vec<Unit>| {
        units.extend(sentences(&std::mem::take(prose)).into_iter().map(|text| Unit { text, is_item: false }));
    };
    for line in request.lines() {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        if in_code || is_fence {
            continue;
        }
        let text = line.trim();
        if let Some(item) = without_mark(text) {
            end(&mut prose, &mut units);
            units.push(Unit { text: item.to_owned(), is_item: true });
            in_item = true;
        } else if in_item && !text.is_empty() && line.starts_with(char::is_whitespace) {
            // A list item continues on an indented line.
            let last = units.last_mut().or_bug("an item came before");
            last.text = format!("{} {text}", last.text);
        } else {
            in_item = false;
            if text.is_empty() {
                end(&mut prose, &mut units);
            } else {
                prose = format!("{prose} {text}");
            }
        }
    }
    end(&mut prose, &mut units);
    units
}

/// The text of a list item; `None` for other lines.
fn without_mark(line: &str) -> Option<&str> {
    let numbered = || {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        (1..=2).contains(&(line.len() - rest.len())).then(|| rest.strip_prefix(['.', ')']))?
    };
    let text = line.strip_prefix(['-', '*', '+', '•']).or_else(numbered)?;
    let text = text.strip_prefix([' ', '\t'])?.trim();
    (!text.is_empty()).then_some(text)
}

/// The sentences of a paragraph. A sentence that begins in lower case or inside brackets belongs to
/// the previous one: `(e.g. "this")`.
fn sentences(prose: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for sentence in grounding::sentences(prose.trim()) {
        let sentence = sentence.trim();
        match all.last_mut() {
            Some(last)
                if sentence.starts_with(char::is_lowercase)
                    || last.matches(['(', '[']).count() > last.matches([')', ']']).count() =>
            {
                *last = format!("{last} {sentence}");
            }
            _ if sentence.is_empty() => {}
            _ => all.push(sentence.to_owned()),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(request: &str, expected: &[&str]) {
        let items = of(request);
        assert_eq!(items.iter().map(|item| item.text.raw()).collect::<Vec<_>>(), expected, "{request}");
    }

    #[test]
    fn sentences_and_list_items_stay_as_they_were_written() {
        check(
            "Add a flag `--quiet` that hides the progress bar, so that logs stay short and can be read. \
             Update the README where it lists the flags, and keep the order. Run the tests at the end.",
            &[
                "Add a flag `--quiet` that hides the progress bar, so that logs stay short and can be read.",
                "Update the README where it lists the flags, and keep the order.",
                "Run the tests at the end.",
            ],
        );
        check(
            "The loader is due:\n- make `load` accept a folder,\n  as `save` does\n- check the types and fix what is wrong\n3) say what was hard",
            &[
                "make `load` accept a folder, as `save` does",
                "check the types and fix what is wrong",
                "say what was hard",
            ],
        );
    }

    #[test]
    fn orders_for_places_of_their_own_are_items_and_clauses_of_one_thought_are_not() {
        check(
            "Set LIMIT in src/a.rs to 7, explain it in docs.md and write why in CHANGES.md",
            &["Set LIMIT in src/a.rs to 7", "Explain it in docs.md", "Write why in CHANGES.md"],
        );
        for whole in
            ["Rename the parser and adapt whatever calls it", "Move `a` from src/x.rs to src/y.rs and fix imports"]
        {
            check(whole, &[whole]);
        }
    }

    #[test]
    fn facts_before_an_order_code_and_mere_questions_are_no_items() {
        check("The build is red since yesterday. Fix it.\n```\n1. error in line 4. Stop. Run it.\n```", &["Fix it."]);
        check("Where is the port read? Which default does it have?", &[]);
        check("", &[]);
    }

    #[test]
    fn conditions_are_items_whether_they_stand_after_an_order_or_in_a_list() {
        check(
            "Each store should accept on_close. It runs once per file. Document it.",
            &["Each store should accept on_close.", "It runs once per file.", "Document it."],
        );
        check(
            "I want hidden commands, but:\n- a hidden one still runs\n- the help leaves it out",
            &["I want hidden commands, but:", "a hidden one still runs", "the help leaves it out"],
        );
        check(
            "Log the port too (from server.port, e.g. '8080'). Without one leave the key out.",
            &["Log the port too (from server.port, e.g. '8080').", "Without one leave the key out."],
        );
        check(
            "Drop the globals in lib. Table and Row become arguments under these names.",
            &["Drop the globals in lib.", "Table and Row become arguments under these names."],
        );
    }
}
