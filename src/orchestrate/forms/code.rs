//! Forms of questions about code: who calls, imports or needs whom, where something is defined, how something works.

use super::{ASKS, Clause, KINDS, has_ending};
use crate::orchestrate::decompose::words::listed;
use crate::tools::builtin::Builtin;

const IMPORTS: &str = "\
    import, imports, imported, importing, depend, depends, require, requires, use, uses, used, using, include, includes, need, needs, needed";
const CALLS: &str = "call, calls, called, calling, invoke, invokes, invoked, use, uses, used";
const DEFINED: &str = "defined, declared, definition, definitions, defines, declares, signature, source";
const INSIDE: &str =
    "functions, classes, structs, methods, symbols, definitions, types, outline, structure, signatures, defined";
const CHANGES: &str =
    "change, changed, rename, renamed, remove, removed, delete, deleted, modify, modified, touch, touched";
const USES: &str = "callers, caller, usage, usages, references, reference";
/// What calls and is called.
const CODE: &str = "function, functions, method, methods, class, classes, code, symbol, symbols, helper, helpers, else, other, others, file, files";
/// Things that are not code: a question that speaks of them is left to the chooser.
const NOT_CODE: &str = "folder, folders, directory, directories, commit, commits, branch, branches";

/// Who calls, imports, needs or defines whom.
pub(super) fn related(clause: &Clause) -> Option<Builtin> {
    match clause.name {
        Some(name) => of_symbol(clause, name).or_else(|| of_file(clause)),
        None => of_file(clause),
    }
}

/// A relation of the symbol at that place.
fn of_symbol(clause: &Clause, name: usize) -> Option<Builtin> {
    let has = |table: &str| clause.has(table);
    let first = clause.verb();
    let asks = clause.is_question() || looks_up(clause) || listed("is, are, does, do", first);
    match () {
        () if has(USES) && clause.looks() => Some(Builtin::IndexCallers),
        () if has("callees") => Some(Builtin::IndexCallees),
        () if has("impact, break, breaks, broken, affected, affects, radius, consequences")
            || has(CHANGES)
                && has("if")
                && (listed("i, we, you, one", clause.behind("if")) || clause.before(name) == "if") =>
        {
            Some(Builtin::IndexImpact)
        }
        () if asks && has(CALLS) && !asks_for_a_thing(clause) => match clause
            .place(CALLS)
            .is_some_and(|verb| name < verb)
        {
            true if has("does, do, did") && first != "where" => Some(Builtin::IndexCallees),
            true if listed("calls, invokes, uses", clause.words.get(name + 1).unwrap_or(&"")) && first != "where" => {
                Some(Builtin::IndexCallees)
            }
            // `what is called by F`.
            false if listed("by, inside, within, in", clause.behind(CALLS)) => Some(Builtin::IndexCallees),
            // `what can be called with F`.
            false if clause.before(name) == "with" => None,
            _ => Some(Builtin::IndexCallers),
        },
        () if !(asks || clause.looks() || first == "in") => None,
        () if has(DEFINED) || has(KINDS) && listed("where, find, show, in", first) || listed("go, jump", first) => {
            Some(Builtin::IndexFindFiles)
        }
        () => None,
    }
}

/// Whether it asks which of some other things a symbol uses: `what clock does f use`.
fn asks_for_a_thing(clause: &Clause) -> bool {
    let thing = clause.words.get(1).unwrap_or(&"");
    listed("what, which", clause.verb())
        && listed("does, do, did", clause.words.get(2).unwrap_or(&""))
        && !listed(CODE, thing)
}

/// A relation of the file that the clause names.
fn of_file(clause: &Clause) -> Option<Builtin> {
    let path = clause.path?;
    let is_file = has_ending(clause.words[path]);
    let has = |table: &str| clause.has(table);
    let precedes = || Some(path < clause.place(IMPORTS)?);
    match () {
        () if has("imports, dependencies") && clause.before(path) == "of" => Some(Builtin::IndexImports),
        () if has("dependents, importers") => Some(Builtin::IndexDependents),
        () if clause.place("imports, dependencies").is_some_and(|at| listed("which, what", clause.before(at))) => {
            Some(Builtin::IndexImports)
        }
        () if listed("is, are", clause.verb()) && is_file && has("imported, used, needed, required") => {
            Some(Builtin::IndexDependents)
        }
        () if (clause.is_question() || looks_up(clause)) && has(IMPORTS) && is_file => match precedes()? {
            true if has("does, do, did") => Some(Builtin::IndexImports),
            true if has("who, which, where") => Some(Builtin::IndexDependents),
            true => Some(Builtin::IndexImports),
            false => Some(Builtin::IndexDependents),
        },
        () if has("import, imports") && is_file && clause.looks() && precedes() == Some(false) => {
            Some(Builtin::IndexDependents)
        }
        () if has(INSIDE) && is_file && clause.name.is_none() && clause.looks() => Some(Builtin::IndexReadFile),
        () => None,
    }
}

/// What was learned from earlier work.
pub(super) fn remembered(clause: &Clause) -> Option<Builtin> {
    let learned = clause.has("learn, learned, learnt, remember") && clause.has("you, we, i");
    let worked = clause.words.ends_with(&["worked", "before"]);
    (clause.looks() && (learned || worked || clause.has("lesson, lessons, memories")))
        .then_some(Builtin::IndexListMemories)
}

/// An open question: nothing in it is a file, a quotation or a thing that another tool looks after.
pub(super) fn explained(clause: &Clause) -> Option<Builtin> {
    let asks = clause.is_question() || looks_up(clause) || seeks_code(clause);
    let of_files = clause.place("files").is_some_and(|files| listed("which, what, many", clause.before(files)));
    let is_open = clause.path.is_none() && !clause.quotes && !of_files && !clause.has(NOT_CODE);
    (asks && is_open).then_some(Builtin::IndexSearch)
}

/// `show who`, `find out what`: looks for the answer to a question.
fn looks_up(clause: &Clause) -> bool {
    let words = &clause.words[clause.lead..];
    let lead = words
        .iter()
        .take_while(|word| listed("show, find, list, see, check, tell, know, understand, me, us, out", word))
        .count();
    lead > 0 && words.get(lead).is_some_and(|next| listed(ASKS, next))
}

/// `find the code that …`: looks for a place by what is done there.
fn seeks_code(clause: &Clause) -> bool {
    let place = clause.place("code, part, logic, implementation, piece, place");
    place.is_some_and(|place| {
        let next = clause.words.get(place + 1).copied().unwrap_or_default();
        listed("that, which, where, for, of, similar, like, responsible", next)
    }) && listed("find, show, search, locate, look, is, are, do, does, have", clause.verb())
}
