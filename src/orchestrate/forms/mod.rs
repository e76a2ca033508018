//! Reads from the form of a clause which built-in tool it asks for: `what does F import` and `which files import F` hold the same words,
//! only their order differs, and who names a file wants that file.
//!
//! Bags of words and vectors do not see order, so grammar decides between the built-in tools here, and says their arguments.

mod code;
mod files;
#[cfg(test)]
mod tests;
mod values;

pub use values::{Known, arguments, project_command};

use super::arguments::{removes, shows_command};
use super::decompose::words::{is_polite, listed};
use super::decompose::{Part, names};
use super::toolkit::Toolkit;
use crate::index::Graph;
use crate::tools::builtin::Builtin;
use serde_json::{Map, Value};

/// The calls of `tool` that a part of a request spells out, with what the project knows.
///
/// # Errors
/// What is missing, in words for the user.
pub fn calls(toolkit: &Toolkit, tool: Builtin, part: &Part) -> Result<Vec<Map<String, Value>>, String> {
    let symbol = symbol_of(toolkit, part);
    let root = toolkit.context.as_ref().map(|context| context.root.path());
    let index = toolkit.index.as_ref();
    let files = |name: &str| index.and_then(|index| index.find_files(name, FILES_MAX).ok()).unwrap_or_default();
    arguments(tool, part, &Known { symbol: symbol.as_deref(), root, files: &files })
}

/// The name of code that a step is about, by the index where there is one.
pub fn symbol_of(toolkit: &Toolkit, part: &Part) -> Option<String> {
    let graph = toolkit.index.as_ref().and_then(|index| index.graph().ok());
    symbol(part, graph.as_deref())
}

/// The name of code in a step: what stands in quotation marks first, then what is written as code is, then the longest that the index
/// knows; a name that is written as code is counts without the index as well, if it cannot be a path.
pub fn symbol(part: &Part, graph: Option<&Graph>) -> Option<String> {
    let text = part.full_text();
    let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '.' | ':' | '/');
    let words: Vec<&str> = text.split(|c| !is_part(c)).map(|word| word.trim_matches(['.', ':', '/'])).collect();
    // A word of plain small letters is a name only where a name has to stand; one that requests are made of, behind its kind alone.
    let may_be_name = |at: &usize| {
        let (word, before) = (words[*at], at.checked_sub(1).map(|before| words[before].to_lowercase()));
        let before = before.as_deref().unwrap_or_default();
        let is_plain = word.chars().all(|letter| letter.is_lowercase());
        match listed(USUAL, &word.to_lowercase()) {
            true => listed(KINDS, before) || listed("calls, call", before) && *at + 1 == words.len(),
            false => !is_plain || listed(KINDS, before) || listed(LEAD_NAMES, before),
        }
    };
    let mut names: Vec<&str> = (0..words.len()).filter(may_be_name).map(|at| words[at]).collect();
    names.sort_by_key(|name| std::cmp::Reverse((is_coined(name), name.len())));
    let known = |name: &&str| {
        name.len() > 1 && graph.is_some_and(|graph| graph.named(name).iter().any(|node| node.kind != "module"))
    };
    let quoted = part.quoted.iter().map(String::as_str);
    let found = quoted.chain(names.iter().copied()).find(known);
    found.or_else(|| names.into_iter().find(|name| is_coined(name) && !names::is_path(name))).map(str::to_owned)
}

/// Written as names of code are: `a_b`, `a::b`, `a.b`, `aB`.
fn is_coined(name: &str) -> bool {
    name.trim_matches('_').contains(['_', '.', ':'])
        || name.chars().zip(name.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase())
}

/// Files that may be meant by a bare name.
const FILES_MAX: usize = 5;
const ASKS: &str = "how, why, where, what, who, which, explain, describe, tell, understand, know";
const KINDS: &str = "function, class, struct, enum, trait, type, interface, method, constant, variable, macro";
/// Stand before the name of what is asked about.
const LEAD_NAMES: &str = "\
    call, calls, calling, invoke, invokes, use, uses, using, of, does, do, is, to, change, changing, changed, rename, renaming, renamed, remove, \
    removing, removed, delete, deleting, deleted, modify, modifying, touch, by, inside, for, what, how";
/// Begin requests to look at something.
const LOOKS: &str = "\
    find, search, grep, look, show, list, ls, locate, get, give, see, check, tell, view, open, print, display, count, let, what, what's, \
    which, where, where's, how, who, who's, scan, jump, go, is, are, was, were, does, do, did, has, have, any";
/// What requests about code are made of, whatever the project calls by these names.
const USUAL: &str = "\
    list, show, find, read, open, see, look, search, check, tell, give, get, make, set, change, add, insert, remove, delete, move, rename, \
    replace, update, fix, run, build, use, uses, used, using, call, calls, called, caller, callers, callee, callees, import, imports, imported, \
    file, files, folder, directory, function, functions, method, methods, type, types, class, classes, struct, structs, trait, enum, code, line, \
    lines, text, word, words, string, name, names, named, path, paths, what, which, where, how, why, who, does, do, did, is, are, was, be, the, \
    all, every, each, any, in, of, from, to, for, with, and, or, not, that, this, it, its, them, can, has, have, new, test, tests, changes, project, \
    definition, defined, default, number, value, version, outline, first, last, one, two, other, me, we, you, model, models, memory, answer, \
    request, program, tool, tools, step, error, write, create, save, copy, comment, comments, places, place, at, on, into, about, impact";

/// The built-in tool for what `part` asks; `None` where its form says nothing. `symbol` is the name in it that the index knows.
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

/// A clause in small letters, taken apart.
struct Clause<'c> {
    /// Without the punctuation around them.
    words: Vec<&'c str>,
    /// Place of the first word that is not there for politeness.
    lead: usize,
    /// Something stands in quotation marks, and something but a path does.
    cites: bool,
    quotes: bool,
    /// Place of the name of code.
    name: Option<usize>,
    /// Place of the first path.
    path: Option<usize>,
}

impl<'c> Clause<'c> {
    /// `None` for a clause without a word.
    fn of(text: &'c str, part: &Part, symbol: Option<&str>) -> Option<Clause<'c>> {
        let words: Vec<&str> = text.split_whitespace().map(bare).filter(|word| !word.is_empty()).collect();
        let named = symbol.map(str::to_lowercase);
        let is_name = |word: &&str| named.as_deref().is_some_and(|name| word.trim_end_matches("()") == name);
        let lead = words.iter().position(|word| !is_polite(word))?;
        let cites = !part.quoted.is_empty();
        let quotes = part.quoted.iter().any(|quoted| !names::is_path(quoted));
        let name = words.iter().position(is_name);
        let is_path = |word: &str| names::is_path(word) || part.paths.iter().any(|path| path.to_lowercase() == word);
        let path = words.iter().position(|word| is_path(word) && !is_name(word));
        Some(Clause { words, lead, cites, quotes, name, path })
    }

    /// Whether a word from the verb on is one of `table`.
    fn has(&self, table: &str) -> bool {
        self.place(table).is_some()
    }

    fn place(&self, table: &str) -> Option<usize> {
        (self.lead..self.words.len()).find(|&at| listed(table, self.words[at]))
    }

    /// What the clause begins with: a verb or a question word.
    fn verb(&self) -> &'c str {
        self.words[self.lead]
    }

    /// The word so many behind the verb.
    fn behind_verb(&self, after: usize) -> &'c str {
        self.words.get(self.lead + after).copied().unwrap_or_default()
    }

    /// The word before a place.
    fn before(&self, place: usize) -> &'c str {
        place.checked_sub(1).map_or("", |before| self.words[before])
    }

    /// The word behind the first one of `table`.
    fn behind(&self, table: &str) -> &'c str {
        self.place(table).and_then(|place| self.words.get(place + 1)).copied().unwrap_or_default()
    }

    /// Whether every word from the verb up to a place, without it, is one of `table`.
    fn are_up_to(&self, place: usize, table: &str) -> bool {
        self.words.get(self.lead..place).is_some_and(|words| words.iter().all(|word| listed(table, word)))
    }

    fn looks(&self) -> bool {
        listed(LOOKS, self.verb()) && !(self.verb() == "get" && self.behind_verb(1) == "rid")
    }

    fn is_question(&self) -> bool {
        listed(ASKS, self.verb()) || self.verb() == "list"
    }

    /// The path, where it is a file: nothing but its form tells, and what is said of it where the form does not.
    fn file(&self) -> Option<usize> {
        self.path.filter(|&path| !self.is_folder(path))
    }

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

/// A word without the punctuation around it.
fn bare(word: &str) -> &str {
    let word = word.trim_matches(|c: char| ",;!?\"'`".contains(c)).trim_end_matches(['.', ':']);
    // `where's X called`
    let asks = word
        .strip_suffix("'s")
        .or(word.strip_suffix("’s"))
        .filter(|rest| listed("where, who, what", &rest.to_lowercase()));
    asks.unwrap_or(word)
}
