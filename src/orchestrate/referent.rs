//! Says what `it` is in a clause that asks about code: the symbol that an earlier clause names, or the one that its step found.

use std::collections::BTreeSet;

use crate::index::Graph;
use crate::tools::builtin::Builtin;

use super::decompose::scan::{Kind, scan};
use super::decompose::words::{is_preposition, listed};
use super::decompose::{Part, PartKind};
use super::evidence::Evidence;
use super::plan::Step;
use super::toolkit::Toolkit;
use super::{folders, forms, recall, words};

const POINTS: &str = "it, them, they";
const OWNS: &str = "its, their";
const THAT: &str = "that, this, the";
const KINDS: &str = "function, method, class, type, interface, struct, enum, trait, macro, symbol, definition, helper";
/// Files of a result whose definitions are looked at.
const FILES_MAX: usize = 8;
/// Candidates that are named when none of them is clear.
const NAMED_MAX: usize = 5;

/// The parts of a request, with the folders they name and what a conversation and its own earlier clauses say of `it`.
pub fn parts(toolkit: &Toolkit, request: &str) -> Vec<Part> {
    let mut parts = recall::parts(request, &toolkit.earlier);
    if let Some(context) = &toolkit.context {
        folders::named(&mut parts, &context.root);
    }
    if parts.len() > 1 {
        let graph = toolkit.index.as_ref().and_then(|index| index.graph().ok());
        named(&mut parts, graph.as_deref());
    }
    parts
}

/// Puts the symbol that an earlier clause names in the place of `it`, where the later one asks about code.
fn named(parts: &mut [Part], graph: Option<&Graph>) {
    for place in 1..parts.len() {
        let (earlier, later) = parts.split_at_mut(place);
        let part = &mut later[0];
        if !is_open(part) {
            continue;
        }
        let Some(symbol) = subject(earlier, graph) else { continue };
        if let Some(text) = with(&part.text, &symbol) {
            // Who calls a symbol is found by a step, not told from what others found.
            part.kind = PartKind::Act;
            part.text = text;
            part.refers_back = false;
            part.depends_on.clear();
        }
    }
}

/// The symbol that the latest of these clauses is about; one that names a file or only describes something has none.
fn subject(earlier: &[Part], graph: Option<&Graph>) -> Option<String> {
    let part = earlier.iter().rev().find(|part| !is_open(part))?;
    let symbol = forms::symbol(part, graph)?;
    if part.paths.iter().any(|path| *path != symbol) {
        return None;
    }
    let asked = forms::asked(part, Some(&symbol));
    (forms::symbol(part, None).as_ref() == Some(&symbol) || asked.is_some_and(is_about_symbol)).then_some(symbol)
}

/// The step with the symbol that the steps it needs have found in the place of `it`. An error says what is missing: a word like `it` is
/// nothing to search for.
pub fn found(toolkit: &Toolkit, step: &Step, steps: &[Step], evidence: &Evidence) -> Result<Step, String> {
    if !is_open(&step.part) || toolkit.index.is_none() {
        return Ok(step.clone());
    }
    let sought = steps.iter().rev().find(|earlier| step.needs.contains(&earlier.id));
    let (clear, others) = sought.map_or((None, Vec::new()), |sought| candidates(toolkit, sought, evidence));
    match clear.and_then(|symbol| with(&step.part.text, &symbol)) {
        Some(text) => {
            let mut step = step.clone();
            step.description = text.clone();
            (step.part.text, step.part.refers_back) = (text, false);
            Ok(step)
        }
        // A file may be meant as well.
        None if sought.is_some_and(|sought| !sought.part.paths.is_empty()) => Ok(step.clone()),
        None if others.is_empty() => Err("what `it` is was not said; name the function or the type".to_owned()),
        None => Err(format!("`it` may be {}; name the one that is meant", others.join(", "))),
    }
}

/// The definition that answers best to what a step looked for, if one does, and the names of those that were found.
fn candidates(toolkit: &Toolkit, sought: &Step, evidence: &Evidence) -> (Option<String>, Vec<String>) {
    let Some(index) = &toolkit.index else { return (None, Vec::new()) };
    let wanted = words::content(&sought.text());
    let findings: Vec<_> =
        evidence.of(sought.id).filter(|entry| entry.succeeded()).flat_map(|entry| &entry.outcome.findings).collect();
    let mut paths: Vec<&str> = Vec::new();
    for finding in &findings {
        if !paths.contains(&finding.path.as_str()) && paths.len() < FILES_MAX {
            paths.push(&finding.path);
        }
    }
    let mut ranked: Vec<(usize, String)> = Vec::new();
    for path in paths {
        let here: BTreeSet<&str> = findings
            .iter()
            .filter(|finding| finding.path == path)
            .flat_map(|finding| finding.text.split(|c: char| !c.is_alphanumeric() && c != '_'))
            .collect();
        for symbol in index.file_symbols(path).unwrap_or_default() {
            if !matches!(symbol.kind.as_str(), "module" | "variable") && here.contains(symbol.name.as_str()) {
                let said = words::content(&format!("{} {}", symbol.name, symbol.doc));
                ranked.push((said.intersection(&wanted).count(), symbol.name));
            }
        }
    }
    ranked.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    let best = ranked.first().map_or(0, |(score, _)| *score);
    let clear: BTreeSet<&String> = ranked.iter().filter(|(score, _)| *score == best).map(|(_, name)| name).collect();
    let clear = (best > 0 && clear.len() == 1 || ranked.len() == 1).then(|| ranked[0].1.clone());
    (clear, ranked.iter().take(NAMED_MAX).map(|(_, name)| format!("`{name}`")).collect())
}

/// Whether a clause asks about a symbol and only points at it.
fn is_open(part: &Part) -> bool {
    const STAND_IN: &str = "thatSymbol";
    let said = || with(&part.text, STAND_IN).map(|text| Part { text, ..part.clone() });
    part.paths.is_empty()
        && part.quoted.is_empty()
        && forms::symbol(part, None).is_none()
        && said().is_some_and(|part| forms::asked(&part, Some(STAND_IN)).is_some_and(is_about_symbol))
}

fn is_about_symbol(tool: Builtin) -> bool {
    matches!(tool, Builtin::IndexCallers | Builtin::IndexCallees | Builtin::IndexImpact | Builtin::IndexFindFiles)
}

/// `text` with `name` for the first word that points back: `who calls it`, `its callers`, `who calls that function`.
fn with(text: &str, name: &str) -> Option<String> {
    let tokens = scan(text);
    let word =
        |at: usize| tokens.get(at).filter(|token| token.kind == Kind::Word).map_or("", |token| token.low.as_str());
    let points = |at: usize| match () {
        () if listed(POINTS, word(at)) => Some((name.to_owned(), 1)),
        () if listed(OWNS, word(at)) && !word(at + 1).is_empty() => {
            Some((format!("the {} of {name}", tokens[at + 1].text), 2))
        }
        // `the function` of `the function foo` is no pronoun.
        () if listed(THAT, word(at)) && listed(KINDS, word(at + 1)) => {
            let next = word(at + 2);
            (next.is_empty() || is_preposition(next)).then(|| (name.to_owned(), 2))
        }
        () => None,
    };
    let (at, (said, length)) = (0..tokens.len()).find_map(|at| Some((at, points(at)?)))?;
    Some(format!("{}{said}{}", &text[..tokens[at].start], &text[tokens[at + length - 1].end..]))
}

#[cfg(test)]
mod tests {
    use super::super::decompose;
    use super::*;

    fn check(request: &str, expected: &[&str]) {
        let mut parts = decompose::parts(request);
        named(&mut parts, None);
        let acts = parts.iter().filter(|part| part.kind == PartKind::Act);
        assert_eq!(acts.map(|part| part.text.as_str()).collect::<Vec<_>>(), expected, "{request}");
    }

    #[test]
    fn it_is_what_the_clause_before_names() {
        check("Where is parseDate defined and who calls it?", &["Where is parseDate defined", "Who calls parseDate?"]);
        check("Explain parse_date and show its callers", &["Explain parse_date", "Show the callers of parse_date"]);
        check("Find loadAll and tell me who calls it", &["Find loadAll", "Tell me who calls loadAll"]);
        check(
            "Where is store_save defined? Who calls that function?",
            &["Where is store_save defined?", "Who calls store_save?"],
        );
        check(
            "Where is parseDate defined, who calls it, and what does it call?",
            &["Where is parseDate defined", "Who calls parseDate", "What does parseDate call?"],
        );
    }

    #[test]
    fn what_is_no_symbol_is_left_as_it_is() {
        check("Read src/a.ts, then find who calls it", &["Read src/a.ts", "Find who calls it"]);
        check("Find parseDate, then rename it to parseDay", &["Find parseDate", "Rename it to parseDay"]);
        check(
            "Find the function that retries requests, then show who calls it",
            &["Find the function that retries requests", "Show who calls it"],
        );
        check(
            "Where is parseDate and who calls formatDay with it?",
            &["Where is parseDate", "Who calls formatDay with it?"],
        );
    }
}
