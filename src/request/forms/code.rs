//! Rules for questions about code: callers, imports and dependencies, where something is defined, how it works.

use super::{Clause, has_ending};
use crate::language::lexicon::{Class, Forms, listed};
use crate::tools::builtin::Builtin;

/// Verbs for the dependency of one file on another, and for a call.
const IMPORTS: Forms<Class> = Forms(Class::Depends);
const CALLS: Forms<&str> = Forms("call invoke use");
const DEFINED: Forms<Class> = Forms(Class::Defined);
const CHANGES: Forms<(&[Class], &str)> = Forms((&[Class::Changes, Class::Renames, Class::Removes], "touch"));
/// Nouns for the subject or object of a call.
const CODE: Forms<[Class; 2]> = Forms([Class::Kind, Class::OfCode]);

/// The tool for questions about callers, imports, dependencies and definitions.
pub(super) fn related(clause: &Clause) -> Option<Builtin> {
    match clause.name {
        Some(name) => of_symbol(clause, name).or_else(|| of_file(clause)),
        None => of_file(clause),
    }
}

/// The tool for a question about the relations of the symbol at index `name`.
fn of_symbol(clause: &Clause, name: usize) -> Option<Builtin> {
    let first = clause.verb();
    let asks = clause.is_question() || looks_up(clause) || listed(Class::Auxiliary, first);
    if clause.has(Forms("caller usage reference")) && clause.looks() {
        Some(Builtin::IndexCallers)
    } else if clause.has("callees") {
        Some(Builtin::IndexCallees)
    } else if clause.has(Forms(Class::Impact))
        || clause.has(CHANGES)
            && clause.has("if")
            && (listed((Class::Asked, "one"), clause.behind("if")) || clause.before(name) == "if")
    {
        Some(Builtin::IndexImpact)
    } else if asks && clause.has(CALLS) && !asks_for_a_thing(clause) {
        callers_or_callees(clause, name)
    } else if !(asks || clause.looks() || first == "in") {
        None
    } else if clause.has(DEFINED)
        || clause.has(Class::Kind) && (listed("where, find, show", first) || first == "in")
        || listed("go, jump", first)
    {
        Some(Builtin::IndexFindFiles)
    } else {
        None
    }
}

/// Whether a question with a verb like `call` is about the callers or the callees of the symbol at
/// index `name`.
fn callers_or_callees(clause: &Clause, name: usize) -> Option<Builtin> {
    if clause.place(CALLS).is_some_and(|verb| name < verb) {
        // `what does F call`, `what F calls`.
        let next = clause.words.get(name + 1).copied().unwrap_or_default();
        let calls = clause.has("does, do, did") || listed("calls, invokes, uses", next);
        let callees = calls && clause.verb() != "where";
        return Some(if callees { Builtin::IndexCallees } else { Builtin::IndexCallers });
    }
    if listed((Class::Within, "by"), clause.behind(CALLS)) {
        // `what is called by F`.
        Some(Builtin::IndexCallees)
    } else if clause.before(name) == "with" {
        // `what can be called with F`.
        None
    } else {
        Some(Builtin::IndexCallers)
    }
}

/// Whether the clause asks which thing other than code a symbol uses: `what clock does f use`.
fn asks_for_a_thing(clause: &Clause) -> bool {
    let thing = clause.words.get(1).unwrap_or(&"");
    listed("what, which", clause.verb())
        && listed("does, do, did", clause.words.get(2).unwrap_or(&""))
        && !listed(CODE, thing)
}

/// The tool for a question about the relations of the file named in the clause.
fn of_file(clause: &Clause) -> Option<Builtin> {
    let path = clause.path?;
    let is_file = has_ending(clause.words[path]);
    let precedes = || Some(path < clause.place(IMPORTS)?);
    if clause.has("imports, dependencies") && clause.before(path) == "of" {
        Some(Builtin::IndexImports)
    } else if clause.has("dependents, importers") {
        Some(Builtin::IndexDependents)
    } else if clause.place("imports, dependencies").is_some_and(|at| listed("which, what", clause.before(at))) {
        Some(Builtin::IndexImports)
    } else if listed("is, are", clause.verb()) && is_file && clause.has(IMPORTS) {
        Some(Builtin::IndexDependents)
    } else if (clause.is_question() || looks_up(clause)) && clause.has(IMPORTS) && is_file {
        let imports = precedes()? && (clause.has("does, do, did") || !clause.has("who, which, where"));
        Some(if imports { Builtin::IndexImports } else { Builtin::IndexDependents })
    } else if clause.has("import, imports") && is_file && clause.looks() && precedes() == Some(false) {
        Some(Builtin::IndexDependents)
    } else if clause.has(Class::Inside) && is_file && clause.name.is_none() && clause.looks() {
        Some(Builtin::IndexReadFile)
    } else {
        None
    }
}

/// The tool for questions about lessons from earlier work.
pub(super) fn remembered(clause: &Clause) -> Option<Builtin> {
    let learned = clause.has(Forms("learn learnt remember")) && clause.has("you, we, i");
    let worked = clause.words.ends_with(&["worked", "before"]);
    (clause.looks() && (learned || worked || clause.has(Forms("lesson memory")))).then_some(Builtin::IndexListMemories)
}

/// The search tool, for an open question that contains no file and no quotation and is not about
/// something that another tool handles.
pub(super) fn explained(clause: &Clause) -> Option<Builtin> {
    let asks = clause.is_question() || looks_up(clause) || seeks_code(clause);
    let of_files = clause.place("files").is_some_and(|files| listed("which, what, many", clause.before(files)));
    let is_open = clause.path.is_none() && !clause.quotes && !of_files && !clause.has(Forms(Class::NotCode));
    (asks && is_open).then_some(Builtin::IndexSearch)
}

/// Whether the clause asks for the answer to a question: `show who`, `find out what`.
fn looks_up(clause: &Clause) -> bool {
    let words = &clause.words[clause.lead..];
    let lead = words.iter().take_while(|word| listed(Class::Seeks, word)).count();
    lead > 0 && words.get(lead).is_some_and(|next| listed(Class::AsksOfCode, next))
}

/// Whether the clause looks for code by its function: `find the code that …`.
fn seeks_code(clause: &Clause) -> bool {
    let place = clause.place(Class::CodePart);
    place.is_some_and(|place| {
        let next = clause.words.get(place + 1).copied().unwrap_or_default();
        listed(Class::Describes, next)
    }) && listed(Class::LooksUp, clause.verb())
}
