//! Decides from the wording of a clause which built-in tool it asks for.
//!
//! `what does F import` and `which files import F` contain almost the same words in a different
//! order. Bags of words and vectors ignore order, so grammar rules choose between the built-in
//! tools here and fill in their arguments.

mod code;
mod files;
#[cfg(test)]
mod tests;
mod values;

pub use values::project_command;
pub(crate) use values::{Known, arguments, runs_all_tests};

use super::arguments::{removes, shows_command};
use crate::base::tool::Builtin;
use crate::index::{Graph, Index};
use crate::language::clauses::Part;
use crate::language::clauses::words::{is_polite, listed};
use crate::language::shape::{self, is_compound};
use serde_json::{Map, Value};
use std::path::Path;

/// Where paths and symbols in a request are looked up; either is absent when only tools are
/// evaluated.
#[derive(Clone, Copy)]
pub struct Project<'a> {
    /// Where symbols are looked up.
    pub index: Option<&'a Index>,
    /// The folder in which paths are looked up.
    pub root: Option<&'a Path>,
}

/// The calls of `tool` that a part of a request spells out, completed with the project's paths and
/// symbols.
///
/// # Errors
/// If something is missing; the error names it for the user.
pub fn calls(project: Project<'_>, tool: Builtin, part: &Part) -> Result<Vec<Map<String, Value>>, String> {
    let Project { index, root } = project;
    let symbol = symbol_of(index, part);
    let files = |name: &str| {
        let mut paths = index.and_then(|index| index.paths().ok()).unwrap_or_default();
        paths.retain(|path| path.rsplit('/').next() == Some(name));
        paths
    };
    arguments(tool, part, &Known { symbol: symbol.as_deref(), root, files: &files })
}

/// The code symbol that a step is about, looked up in the index if there is one.
pub fn symbol_of(index: Option<&Index>, part: &Part) -> Option<String> {
    let graph = index.and_then(|index| index.graph().ok());
    symbol(part, graph.as_deref())
}

/// The code symbol in a step. Candidates, in order of preference: a quotation that is in the index;
/// another name in the index, names written like code first, then longer ones; a name written like
/// code that is not a path.
pub fn symbol(part: &Part, graph: Option<&Graph>) -> Option<String> {
    let text = part.full_text();
    let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '.' | ':' | '/');
    let words: Vec<&str> = text.split(|c| !is_part(c)).map(|word| word.trim_matches(['.', ':', '/'])).collect();
    // A plain lower-case word counts only where a name is expected; a word that is common in
    // requests counts only after a kind (`function list`).
    let may_be_name = |at: &usize| {
        let (word, before) = (words[*at], at.checked_sub(1).map(|before| words[before].to_lowercase()));
        let before = before.as_deref().unwrap_or_default();
        let is_plain = word.chars().all(|letter| letter.is_lowercase());
        if listed(USUAL, &word.to_lowercase()) {
            listed(KINDS, before) || listed("calls, call", before) && *at + 1 == words.len()
        } else {
            !is_plain || listed(KINDS, before) || listed(LEAD_NAMES, before)
        }
    };
    let mut names: Vec<&str> = (0..words.len()).filter(may_be_name).map(|at| words[at]).collect();
    names.sort_by_key(|name| std::cmp::Reverse((is_compound(name), name.len())));
    let known = |name: &&str| {
        name.len() > 1 && graph.is_some_and(|graph| graph.named(name).iter().any(|node| node.kind != "module"))
    };
    let quoted = part.quoted.iter().map(String::as_str);
    let found = quoted.chain(names.iter().copied()).find(known);
    found.or_else(|| names.into_iter().find(|name| is_compound(name) && !shape::is_path(name))).map(str::to_owned)
}

/// Words that ask a question.
const ASKS: &str = "how, why, where, what, who, which, explain, describe, tell, understand, know";
/// Kinds of definitions.
const KINDS: &str = "function, class, struct, enum, trait, type, interface, method, constant, variable, macro";
/// Words before the name of a symbol.
const LEAD_NAMES: &str = "\
    call, calls, calling, invoke, invokes, use, uses, using, of, does, do, is, to, change, changing, changed, rename, renaming, renamed, remove, \
    removing, removed, delete, deleting, deleted, modify, modifying, touch, by, inside, for, what, how";
/// First words of requests to look at something.
const LOOKS: &str = "\
    find, search, grep, look, show, list, ls, locate, get, give, see, check, tell, view, open, print, display, count, let, what, what's, \
    which, where, where's, how, who, who's, scan, jump, go, is, are, was, were, does, do, did, has, have, any";
/// Words common in requests about code; they do not count as symbols even if the project has
/// symbols with those names.
const USUAL: &str = "\
    list, show, find, read, open, see, look, search, check, tell, give, get, make, set, change, add, insert, remove, delete, move, rename, \
    replace, update, fix, run, build, use, uses, used, using, call, calls, called, caller, callers, callee, callees, import, imports, imported, \
    file, files, folder, directory, function, functions, method, methods, type, types, class, classes, struct, structs, trait, enum, code, line, \
    lines, text, word, words, string, name, names, named, path, paths, what, which, where, how, why, who, does, do, did, is, are, was, be, the, \
    all, every, each, any, in, of, from, to, for, with, and, or, not, that, this, it, its, them, can, has, have, new, test, tests, changes, project, \
    definition, defined, default, number, value, version, outline, first, last, one, two, other, me, we, you, model, models, memory, answer, \
    request, program, tool, tools, step, error, write, create, save, copy, comment, comments, places, place, at, on, into, about, impact";

/// The built-in tool that `part` asks for; `None` if no rule matches. `symbol` is the code symbol
/// that [`symbol_of`] finds in `part`.
pub fn asked(part: &Part, symbol: Option<&str>) -> Option<Builtin> {
    // `Refactor the app: create F with the text "…"`.
    let behind_colon = || {
        let (_, text) = part.text.split_once(": ")?;
        asked_as_it_stands(&Part { text: text.to_owned(), ..part.clone() }, symbol)
    };
    asked_as_it_stands(part, symbol).or_else(|| behind_colon().filter(|tool| *tool == Builtin::WriteFile))
}

fn asked_as_it_stands(part: &Part, symbol: Option<&str>) -> Option<Builtin> {
    let text = part.text.to_lowercase();
    let clause = Clause::of(&text, part, symbol)?;
    if shows_command(&part.text) || values::runs(&clause, part) {
        return Some(Builtin::RunCommand);
    }
    files::found(&clause)
        .or_else(|| files::searched(&clause))
        .or_else(|| files::changed(&clause, removes(&part.text)))
        .or_else(|| code::related(&clause))
        .or_else(|| files::looked_at(&clause))
        .or_else(|| files::pointed_at(&clause, part))
        .or_else(|| code::remembered(&clause))
        .or_else(|| code::explained(&clause))
}

/// A lower-case clause split into words. Positions are indexes into `words`.
struct Clause<'c> {
    /// The words, without surrounding punctuation.
    words: Vec<&'c str>,
    /// Index of the first word that is not a polite filler: the verb or question word.
    lead: usize,
    /// Whether the clause contains a quotation.
    cites: bool,
    /// Whether the clause contains a quotation that is not a path.
    quotes: bool,
    /// Index of the code symbol.
    name: Option<usize>,
    /// Index of the first path.
    path: Option<usize>,
}

impl<'c> Clause<'c> {
    /// `None` for a clause without words.
    fn of(text: &'c str, part: &Part, symbol: Option<&str>) -> Option<Clause<'c>> {
        let words: Vec<&str> = text.split_whitespace().map(bare).filter(|word| !word.is_empty()).collect();
        let named = symbol.map(str::to_lowercase);
        let is_name = |word: &&str| named.as_deref().is_some_and(|name| word.trim_end_matches("()") == name);
        let lead = words.iter().position(|word| !is_polite(word))?;
        let cites = !part.quoted.is_empty();
        let quotes = part.quoted.iter().any(|quoted| !shape::is_path(quoted));
        let name = words.iter().position(is_name);
        let is_path = |word: &str| shape::is_path(word) || part.paths.iter().any(|path| path.to_lowercase() == word);
        let path = words.iter().position(|word| is_path(word) && !is_name(word));
        Some(Clause { words, lead, cites, quotes, name, path })
    }

    /// Whether the verb or a later word is in `table`.
    fn has(&self, table: &str) -> bool {
        self.place(table).is_some()
    }

    /// Index of the first word in `table`, starting at the verb.
    fn place(&self, table: &str) -> Option<usize> {
        (self.lead..self.words.len()).find(|&at| listed(table, self.words[at]))
    }

    /// The first word after polite fillers: a verb or a question word.
    fn verb(&self) -> &'c str {
        self.words[self.lead]
    }

    /// The word `after` places after the verb; empty if there is none.
    fn behind_verb(&self, after: usize) -> &'c str {
        self.words.get(self.lead + after).copied().unwrap_or_default()
    }

    /// The word before an index; empty if there is none.
    fn before(&self, place: usize) -> &'c str {
        place.checked_sub(1).map_or("", |before| self.words[before])
    }

    /// The word after the first one in `table`; empty if there is none.
    fn behind(&self, table: &str) -> &'c str {
        self.place(table).and_then(|place| self.words.get(place + 1)).copied().unwrap_or_default()
    }

    /// Whether every word between the verb and an index is in `table`.
    fn are_up_to(&self, place: usize, table: &str) -> bool {
        self.words.get(self.lead..place).is_some_and(|words| words.iter().all(|word| listed(table, word)))
    }

    fn looks(&self) -> bool {
        listed(LOOKS, self.verb()) && !(self.verb() == "get" && self.behind_verb(1) == "rid")
    }

    fn is_question(&self) -> bool {
        listed(ASKS, self.verb()) || self.verb() == "list"
    }

    /// Index of the path if its extension or the words of the clause show that it is a file.
    fn file(&self) -> Option<usize> {
        self.path.filter(|&path| !self.is_folder(path))
    }

    /// Index of the path if it is a folder.
    fn folder(&self) -> Option<usize> {
        self.path.filter(|&path| self.is_folder(path))
    }

    fn is_folder(&self, path: usize) -> bool {
        let word = self.words[path];
        let lists =
            listed("list, ls", self.verb()) || self.has("folder, directory, dir, files, in, inside, under, below");
        word.ends_with('/') || !has_ending(word) && word.contains('/') && lists
    }
}

fn has_ending(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.contains('.'))
}

/// A word without surrounding punctuation.
fn bare(word: &str) -> &str {
    let word = word.trim_matches(|c: char| ",;!?\"'`".contains(c)).trim_end_matches(['.', ':']);
    // `where's X called` begins with `where`.
    let asks = word
        .strip_suffix("'s")
        .or(word.strip_suffix("’s"))
        .filter(|rest| listed("where, who, what", &rest.to_lowercase()));
    asks.unwrap_or(word)
}
