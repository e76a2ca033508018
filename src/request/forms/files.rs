//! Rules for requests to find, search, read, list or change files.

use super::{Clause, has_ending};
use crate::language::clauses::Part;
use crate::language::clauses::words::{is_determiner, is_preposition};
use crate::language::lexicon::{Class, Forms, listed};
use crate::language::shape;
use crate::tools::builtin::Builtin;

/// Prepositions between a text and the file that contains it.
const WITHIN: &str = "in, from, of";
const DELETES: &str = "delete, remove, erase";
const MOVES: &str = "move, rename";
/// Words that may follow a file that is a verb's object. Before any other word, the file only
/// describes the object (`delete old.css import`).
const BEHIND_FILE: [Class; 3] = [Class::BehindFile, Class::Tail, Class::Reason];
/// Words between a verb and the file that is its object.
const BESIDE_FILE: [Class; 3] = [Class::Determiner, Class::FileNoun, Class::Stale];
/// Verbs that change part of a file.
const EDITS: [Class; 2] = [Class::Changes, Class::Inserts];
/// Words before the file in which something is changed.
const HELD_BY: ([Class; 4], &str) =
    ([Class::Within, Class::Beside, Class::Determiner, Class::FileNoun], "to, into, by");
/// Verbs that create a file, or part of one.
const MAKES: ([Class; 3], &str) = ([Class::Creates, Class::Writes, Class::Adds], "store");
/// Verbs that create parts of a file as well as files, and verbs that add something to a file.
const MAKES_PARTS: ([Class; 2], &str) = ([Class::Creates, Class::Adds], "write");
const PUTS: ([Class; 3], &str) = ([Class::Creates, Class::Adds, Class::Puts], "write");
/// Words before a file to be created.
const TO_MAKE: [Class; 2] = [Class::Target, Class::FileNoun];
const HOLDS: Forms<Class> = Forms(Class::Holds);
/// Words after `search for` that begin a description instead of a literal text.
const DESCRIBED: ([Class; 2], &str) = ([Class::CodePart, Class::AsksOfCode], "function, method");

/// The tool for files searched by name.
pub(super) fn found(clause: &Clause) -> Option<Builtin> {
    let by_kind = clause.place("files").is_some_and(|files| {
        let kind = clause.before(files);
        let is_kind = listed(Class::FileKind, kind) || kind.starts_with(['.', '*']) && kind.len() > 1;
        is_kind && clause.are_up_to(files - 1, Class::Lists)
    });
    let is_last = |path: usize| path + 1 == clause.words.len();
    let plainly = |path: usize| clause.are_up_to(path, Class::Locates);
    if !clause.looks() || clause.has(HOLDS) {
        return None;
    }
    let found = if clause.has("file, files") && clause.has("named, called") {
        let shows = listed(Class::Opens, clause.verb()) && clause.file().is_some();
        !shows && !is_preposition(clause.behind("named, called"))
    } else if by_kind {
        !clause.has((Forms(Class::Depends), Forms("call change define")))
    } else if clause.words.iter().any(|word| word.starts_with("*.")) {
        true
    } else if listed("where, find, locate", clause.verb()) {
        clause.path.is_some_and(|path| is_last(path) && plainly(path) && !clause.words[path].ends_with('/'))
    } else {
        false
    };
    found.then_some(Builtin::FindFiles)
}

/// The tool for text searched in files.
pub(super) fn searched(clause: &Clause) -> Option<Builtin> {
    let verb = clause.verb();
    let sought = clause.place("for").and_then(|at| clause.words[at + 1..].iter().find(|word| !is_determiner(word)));
    let searched = if verb == "grep" {
        true
    } else if listed("search, scan", verb) && sought.is_some()
        || verb == "look" && (clause.behind_verb(1) == "for" || sought.is_some() && clause.file().is_none())
    {
        !clause.has("file, files, named") && !sought.is_some_and(|sought| listed(DESCRIBED, sought))
    } else if !clause.looks() || clause.has((Forms(Class::Defined), "called, imported")) {
        false
    } else if clause.quotes && (verb == "where" || clause.has(Forms("place spot")))
        || clause.cites && clause.has(Class::TextNoun)
    {
        true
    } else if clause.has(Forms(Class::Occurs)) {
        // A question about the content of a named file is answered by reading the file.
        clause.file().is_none() || !listed("what, which, how", verb)
    } else if clause.has(HOLDS) && (clause.has(Class::TextNoun) || clause.quotes) {
        true
    } else if clause.place("line, lines") < clause.place("with, containing, that") && clause.has("line, lines") {
        clause.file().is_none() || listed("find, list", verb)
    } else {
        listed("find, locate", verb) && (clause.has(Class::TextNoun) || clause.quotes) && !clause.has("file, files")
    };
    searched.then_some(Builtin::SearchText)
}

/// The tool to create, change, move or delete a file. `removes`: the clause removes something.
pub(super) fn changed(clause: &Clause, removes: bool) -> Option<Builtin> {
    let path = clause.path?;
    let verb = clause.verb();
    let lead = clause.before(path);
    if has_ending(clause.words[path])
        && let Some(tool) = whole_or_part(clause, path, removes)
    {
        return Some(tool);
    }
    let file = clause.file()?;
    if listed("me, us", clause.behind_verb(1)) {
        return None;
    }
    let edits = listed(EDITS, verb) && (listed(HELD_BY, lead) || file == clause.lead + 1);
    if edits || listed(PUTS, verb) && clause.has(Class::BesideLine) {
        return Some(Builtin::ReplaceInFile);
    }
    if !listed(MAKES, verb) {
        return None;
    }
    // `create a function in F` adds to the file and does not replace it.
    let makes_part = lead == "in" && listed(MAKES_PARTS, verb) && !clause.has("file, copy, backup");
    if verb == "add" && listed(([Class::Within, Class::Beside], "to, into"), lead) || makes_part {
        Some(Builtin::ReplaceInFile)
    } else if listed(TO_MAKE, lead) || file == clause.lead + 1 {
        Some(Builtin::WriteFile)
    } else if is_determiner(lead) || listed("new, empty", lead) {
        let next = clause.words.get(file + 1);
        next.is_none_or(|next| listed((Class::Describes, "with, containing"), next)).then_some(Builtin::WriteFile)
    } else {
        None
    }
}

/// The tool to delete or move a whole file, or to remove or rename a text in it. `file` is the
/// index of its path.
fn whole_or_part(clause: &Clause, file: usize, removes: bool) -> Option<Builtin> {
    let (words, lead, verb) = (&clause.words, clause.lead, clause.verb());
    let is_object = |after: usize| {
        let between = words.get(lead + after..file);
        let whole = words.get(file + 1).is_none_or(|next| listed(BEHIND_FILE, next) || shape::is_path(next));
        whole && between.is_some_and(|between| between.iter().all(|word| listed(BESIDE_FILE, word)))
    };
    let holds = |at: usize| has_ending(words[at]) && shape::is_path(words[at]) && listed(WITHIN, clause.before(at));
    let gets_rid = words[lead..].starts_with(&["get", "rid", "of"]);
    // The `of` of `get rid of` belongs to the verb.
    let behind_verb = lead + if gets_rid { 4 } else { 1 };
    let within = (behind_verb..words.len()).any(holds);
    if verb == "in" && file == lead + 1 {
        let next = words.get(file + 1).copied().unwrap_or_default();
        (removes || next == "rename" || listed(EDITS, next)).then_some(Builtin::ReplaceInFile)
    } else if within && (removes || verb == "rename") {
        Some(Builtin::ReplaceInFile)
    } else if words.iter().skip(file).any(|word| listed(WITHIN, word)) {
        None
    } else if listed(DELETES, verb) && is_object(1) || gets_rid && is_object(3) {
        Some(Builtin::DeleteFile)
    } else if listed(MOVES, verb) && is_object(1) {
        Some(Builtin::MoveFile)
    } else {
        None
    }
}

/// The tool for a question whose answer is in one file, according to another sentence:
/// `See src/a.rs. How often …?`
pub(super) fn pointed_at(clause: &Clause, part: &Part) -> Option<Builtin> {
    let [path] = part.paths.as_slice() else { return None };
    let beside = clause.path.is_none() && clause.name.is_none() && part.context.contains(path.as_str());
    (beside && has_ending(path) && clause.is_question()).then_some(Builtin::ReadFile)
}

/// The tool to read a file or list a folder.
pub(super) fn looked_at(clause: &Clause) -> Option<Builtin> {
    if let Some(folder) = clause.folder() {
        let behind = clause.words[folder + 1..].iter().all(|word| listed([Class::BehindFolder, Class::Lists], word));
        return (clause.are_up_to(folder, Class::Lists) && behind).then_some(Builtin::ListDir);
    }
    if let Some(file) = clause.file() {
        // `in F, how many …`.
        let leads = clause.are_up_to(file, Class::LeadsFile);
        let verb = if leads { clause.words.get(file + 1).copied().unwrap_or_default() } else { clause.verb() };
        let goes_through = verb == "go" && listed("through, over", clause.behind_verb(1));
        return ((listed(Class::Reads, verb) || goes_through) && !clause.has(Class::GitNoun))
            .then_some(Builtin::ReadFile);
    }
    let of_this_project = |word: &&str| listed([Class::Lists, Class::ThisProject, Class::BehindFolder], word);
    let lists =
        clause.looks() && clause.has(Class::Contents) && clause.words[clause.lead..].iter().all(of_this_project);
    lists.then_some(Builtin::ListDir)
}
