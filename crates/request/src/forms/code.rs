//! Rules for questions about code: callers, imports and dependencies, where something is defined, how it works.

use super::{ASKS, Clause, KINDS, has_ending};
use crate::base::tool::Builtin;
use crate::language::clauses::words::listed;

const IMPORTS: &str = "\
    import, imports, imported, importing, depend, depends, require, requires, use, uses, used, using, include, includes, need, needs, needed";
const CALLS: &str = "call, calls, called, calling, invoke, invokes, invoked, use, uses, used";
const DEFINED: &str = "defined, declared, definition, definitions, defines, declares, signature, source";
const INSIDE: &str =
    "functions, classes, structs, methods, symbols, definitions, types, outline, structure, signatures, defined";
const CHANGES: &str =
    "change, changed, rename, renamed, remove, removed, delete, deleted, modify, modified, touch, touched";
const USES: &str = "callers, caller, usage, usages, references, reference";
/// Nouns for the subject or object of a call.
const CODE: &str = "function, functions, method, methods, class, classes, code, symbol, symbols, helper, helpers, else, other, others, file, files";
/// Things other than code: the index cannot answer an open question about them.
const NOT_CODE: &str = "folder, folders, directory, directories, commit, commits, branch, branches";

/// The tool for questions about callers, imports, dependencies and definitions.
pub(super) fn related(clause: &Clause) -> Option<Builtin> {
    match clause.name {
        Some(name) => of_symbol(clause, name).or_else(|| of_file(clause)),
        None => of_file(clause),
    }
}

/// The tool for a question about the relations of the symbol at index `name`.
fn of_symbol(clause: &Clause, name: usize) -> Option<Builtin> {
    let has = |table: &str| clause.has(table);
    let first = clause.verb();
    let asks = clause.is_question() || looks_up(clause) || listed("is, are, does, do", first);
    if has(USES) && clause.looks() {
        Some(Builtin::IndexCallers)
    } else if has("callees") {
        Some(Builtin::IndexCallees)
    } else if has("impact, break, breaks, broken, affected, affects, radius, consequences")
        || has(CHANGES) && has("if") && (listed("i, we, you, one", clause.behind("if")) || clause.before(name) == "if")
    {
        Some(Builtin::IndexImpact)
    } else if asks && has(CALLS) && !asks_for_a_thing(clause) {
        callers_or_callees(clause, name)
    } else if !(asks || clause.looks() || first == "in") {
        None
    } else if has(DEFINED) || has(KINDS) && listed("where, find, show, in", first) || listed("go, jump", first) {
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
    if listed("by, inside, within, in", clause.behind(CALLS)) {
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
    let has = |table: &str| clause.has(table);
    let precedes = || Some(path < clause.place(IMPORTS)?);
    if has("imports, dependencies") && clause.before(path) == "of" {
        Some(Builtin::IndexImports)
    } else if has("dependents, importers") {
        Some(Builtin::IndexDependents)
    } else if clause.place("imports, dependencies").is_some_and(|at| listed("which, what", clause.before(at))) {
        Some(Builtin::IndexImports)
    } else if listed("is, are", clause.verb()) && is_file && has("imported, used, needed, required") {
        Some(Builtin::IndexDependents)
    } else if (clause.is_question() || looks_up(clause)) && has(IMPORTS) && is_file {
        let imports = precedes()? && (has("does, do, did") || !has("who, which, where"));
        Some(if imports { Builtin::IndexImports } else { Builtin::IndexDependents })
    } else if has("import, imports") && is_file && clause.looks() && precedes() == Some(false) {
        Some(Builtin::IndexDependents)
    } else if has(INSIDE) && is_file && clause.name.is_none() && clause.looks() {
        Some(Builtin::IndexReadFile)
    } else {
        None
    }
}

/// The tool for questions about lessons from earlier work.
pub(super) fn remembered(clause: &Clause) -> Option<Builtin> {
    let learned = clause.has("learn, learned, learnt, remember") && clause.has("you, we, i");
    let worked = clause.words.ends_with(&["worked", "before"]);
    (clause.looks() && (learned || worked || clause.has("lesson, lessons, memories")))
        .then_some(Builtin::IndexListMemories)
}

/// The search tool, for an open question that contains no file and no quotation and is not about
/// something that another tool handles.
pub(super) fn explained(clause: &Clause) -> Option<Builtin> {
    let asks = clause.is_question() || looks_up(clause) || seeks_code(clause);
    let of_files = clause.place("files").is_some_and(|files| listed("which, what, many", clause.before(files)));
    let is_open = clause.path.is_none() && !clause.quotes && !of_files && !clause.has(NOT_CODE);
    (asks && is_open).then_some(Builtin::IndexSearch)
}

/// Whether the clause asks for the answer to a question: `show who`, `find out what`.
fn looks_up(clause: &Clause) -> bool {
    let words = &clause.words[clause.lead..];
    let lead = words
        .iter()
        .take_while(|word| listed("show, find, list, see, check, tell, know, understand, me, us, out", word))
        .count();
    lead > 0 && words.get(lead).is_some_and(|next| listed(ASKS, next))
}

/// Whether the clause looks for code by its function: `find the code that …`.
fn seeks_code(clause: &Clause) -> bool {
    let place = clause.place("code, part, logic, implementation, piece, place");
    place.is_some_and(|place| {
        let next = clause.words.get(place + 1).copied().unwrap_or_default();
        listed("that, which, where, for, of, similar, like, responsible", next)
    }) && listed("find, show, search, locate, look, is, are, do, does, have", clause.verb())
}
