//! Rules for requests to find, search, read, list or change files.

use super::{Clause, has_ending};
use crate::base::tool::Builtin;
use crate::language::clauses::Part;
use crate::language::clauses::words::{is_determiner, is_preposition, listed};
use crate::language::shape;

/// Prepositions between a text and the file that contains it.
const WITHIN: &str = "in, from, of";
const DELETES: &str = "delete, remove, erase";
const MOVES: &str = "move, rename";
/// Words that may follow a file that is a verb's object. Before other words, the file only
/// describes the object (`delete old.css import`).
const BEHIND_FILE: &str = "\
    and, or, to, into, as, onto, under, below, at, with, file, please, now, too, also, completely, entirely, permanently, then, again, if, \
    since, because";
/// Words between a verb and the file that is its object.
const BESIDE_FILE: &str = "the, a, this, that, my, our, file, script, module, document, old, unused, obsolete, empty, temporary, called, named";
/// Verbs that change part of a file.
const EDITS: &str = "\
    change, replace, set, bump, increase, decrease, raise, lower, reduce, update, fix, correct, edit, modify, swap, substitute, comment, \
    uncomment, append, prepend, insert, adjust, toggle, enable, disable, turn, switch, double, halve, shorten, lengthen, extend, simplify, refactor, \
    rewrite, reword, optimise, optimize, improve, sort, reformat, invert";
/// Words before the file to change.
const HELD_BY: &str = "in, inside, within, of, from, at, on, to, into, by, the, this, my, our, file, module, script";
/// Verbs that create a file, or part of one.
const MAKES: &str = "create, write, save, generate, store, draft, export, make, add";
/// Verbs that add something to a file.
const PUTS: &str = "put, place, leave, write, add, make, create";
/// Words that state where in a file something is added.
const BESIDE: &str = "above, below, before, after, top, bottom, end, beginning, line, behind";
/// Words before a file to be created.
const TO_MAKE: &str = "file, to, into, in, as, called, named, script, module, document";
/// Verbs that create parts of a file as well as files.
const MAKES_PARTS: &str = "create, write, generate, draft, make, add";
/// Words that ask for the content of a file.
const READS: &str = "\
    read, open, show, see, view, print, cat, display, check, look, take, have, let, summarize, summarise, explain, describe, review, walk, inspect, \
    examine, study, tell, give, compare, quote, understand, know, what, what's, which, how, why, who, is, are, was, does, do, did, has";
/// Words in requests to list a location, in any order.
const LISTS: &str = "\
    list, ls, show, see, open, view, print, display, what, what's, which, how, many, me, us, the, a, all, every, everything, folder, folders, \
    directory, directories, dir, file, files, subfolders, is, are, there, in, inside, within, under, below, of, contents, content, tree, structure, does, \
    do, we, have, find, give, get, let, tell, look, at";
const BEHIND_FOLDER: &str = "contain, contains, have, hold, holds, folder, directory, look, like, please, recursively";
const THIS_PROJECT: &str = "this, project, here, repo, repository, current, root, top, level";
/// Kinds of files, before `files`.
pub(super) const KINDS_OF_FILES: &str = "\
    toml, markdown, md, rust, rs, python, py, typescript, ts, tsx, javascript, js, jsx, json, yaml, yml, css, html, go, c, java, shell, sh, sql, txt, \
    csv, xml, svg, png, image, text, config, configuration, test, readme, lock, log, source, hidden";
const HOLDS: &str = "contain, contains, containing, say, says, saying, with, include, includes, including, hold, holds, mention, mentions";
const OCCURS: &str =
    "occurrence, occurrences, mention, mentions, mentioned, occur, occurs, appear, appears, todo, todos, fixme, fixmes";
pub(super) const TEXT: &str = "word, words, text, string, phrase";
/// Words after `search for` that begin a description instead of a literal text.
const DESCRIBED: &str = "code, part, place, logic, implementation, function, method, how, where, why, what";

/// The tool for finding files by name.
pub(super) fn found(clause: &Clause) -> Option<Builtin> {
    let has = |table: &str| clause.has(table);
    let by_kind = clause.place("files").is_some_and(|files| {
        let kind = clause.before(files);
        let is_kind = listed(KINDS_OF_FILES, kind) || kind.starts_with(['.', '*']) && kind.len() > 1;
        is_kind && clause.are_up_to(files - 1, LISTS)
    });
    let is_last = |path: usize| path + 1 == clause.words.len();
    let plainly = |path: usize| {
        clause.are_up_to(path, "where, where's, is, are, find, locate, the, a, file, script, module, does, live, can, could, do, i, we, you")
    };
    if !clause.looks() || has(HOLDS) {
        return None;
    }
    let found = if has("file, files") && has("named, called") {
        let shows = listed("show, open, view, print, display, see", clause.verb()) && clause.file().is_some();
        !shows && !is_preposition(clause.behind("named, called"))
    } else if by_kind {
        !has("import, imports, use, uses, call, calls, depend, changed, define, defines")
    } else if clause.words.iter().any(|word| word.starts_with("*.")) {
        true
    } else if listed("where, where's, find, locate", clause.verb()) {
        clause.path.is_some_and(|path| is_last(path) && plainly(path) && !clause.words[path].ends_with('/'))
    } else {
        false
    };
    found.then_some(Builtin::FindFiles)
}

/// The tool for finding text in files.
pub(super) fn searched(clause: &Clause) -> Option<Builtin> {
    let has = |table: &str| clause.has(table);
    let verb = clause.verb();
    let sought = clause.place("for").and_then(|at| clause.words[at + 1..].iter().find(|word| !is_determiner(word)));
    let searched = if verb == "grep" {
        true
    } else if listed("search, scan", verb) && sought.is_some()
        || verb == "look" && (clause.behind_verb(1) == "for" || sought.is_some() && clause.file().is_none())
    {
        !has("file, files, named") && !sought.is_some_and(|sought| listed(DESCRIBED, sought))
    } else if !clause.looks() || has("defined, declared, definition, called, imported") {
        false
    } else if clause.quotes && (listed("where, where's", verb) || has("place, places, spot, spots"))
        || clause.cites && has(TEXT)
    {
        true
    } else if has(OCCURS) {
        // A question about the content of a named file is answered by reading the file.
        clause.file().is_none() || !listed("what, which, how", verb)
    } else if has(HOLDS) && (has(TEXT) || clause.quotes) {
        true
    } else if clause.place("line, lines") < clause.place("with, containing, that") && has("line, lines") {
        clause.file().is_none() || listed("find, list", verb)
    } else {
        listed("find, locate", verb) && (has(TEXT) || clause.quotes) && !has("file, files")
    };
    searched.then_some(Builtin::SearchText)
}

/// The tool to create, change, move or delete a file. `removes` states whether the clause removes
/// something.
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
    if edits || listed(PUTS, verb) && clause.has(BESIDE) {
        return Some(Builtin::ReplaceInFile);
    }
    if !listed(MAKES, verb) {
        return None;
    }
    // `create a function in F` adds to the file and does not replace it.
    let makes_part = lead == "in" && listed(MAKES_PARTS, verb) && !clause.has("file, copy, backup");
    if verb == "add" && listed("to, in, into, of, at", lead) || makes_part {
        Some(Builtin::ReplaceInFile)
    } else if listed(TO_MAKE, lead) || file == clause.lead + 1 {
        Some(Builtin::WriteFile)
    } else if is_determiner(lead) || listed("new, empty", lead) {
        let next = clause.words.get(file + 1);
        next.is_none_or(|next| listed("that, which, with, for, containing", next)).then_some(Builtin::WriteFile)
    } else {
        None
    }
}

/// The tool to delete or move a complete file, or to remove or rename a text in it. `file` is the
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
        let behind = clause.words[folder + 1..].iter().all(|word| listed(BEHIND_FOLDER, word) || listed(LISTS, word));
        return (clause.are_up_to(folder, LISTS) && behind).then_some(Builtin::ListDir);
    }
    if let Some(file) = clause.file() {
        // `in F, how many …`
        let leads = clause.are_up_to(file, "in, inside, for, from, at, of, according, based, on, to, the, file");
        let verb = if leads { clause.words.get(file + 1).copied().unwrap_or_default() } else { clause.verb() };
        let goes_through = verb == "go" && listed("through, over", clause.behind_verb(1));
        return ((listed(READS, verb) || goes_through) && !clause.has("diff, history, log, blame, commits"))
            .then_some(Builtin::ReadFile);
    }
    let of_this_project =
        |word: &&str| listed(LISTS, word) || listed(THIS_PROJECT, word) || listed(BEHIND_FOLDER, word);
    let lists = clause.looks()
        && clause.has("files, everything, folder, folders, directory, directories, contents, tree")
        && clause.words[clause.lead..].iter().all(of_this_project);
    lists.then_some(Builtin::ListDir)
}
