//! Reads which relation in code a step asks for: `what does F import` and `which files import F` hold the same words, only their order differs.
//!
//! Bags of words and vectors do not see order, so grammar decides between the built-in tools here. It never takes a step away from a tool of
//! another program: it is asked only where the chooser has taken a built-in one.

use super::arguments::{removes, shows_command};
use super::decompose::words::{is_polite, listed};
use super::decompose::{Part, names};
use super::route::Choice;
use super::toolkit::Toolkit;
use crate::index::Graph;
use crate::tools::Ranked;
use crate::tools::builtin::Builtin;

/// The built-in tool that the form of a question about code asks for, where the best candidate is a built-in one too.
pub fn choice(toolkit: &Toolkit, part: &Part, ranked: &[Ranked]) -> Option<Choice> {
    let specs = toolkit.catalog.specs();
    toolkit.catalog.executor(&specs[ranked.first()?.index].name)?;
    let asked = asked(part, symbol_of(toolkit, part).as_deref())?;
    let tool = specs.iter().position(|spec| spec.name == asked.name())?;
    let others = ranked.iter().map(|one| one.index).filter(|other| *other != tool);
    let order = std::iter::once(tool).chain(others).collect();
    Some(Choice { tool, fits: f32::INFINITY, confidence: 1.0, scored: false, order, rivals: 0 })
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
    let mut names: Vec<&str> = text.split(|c| !is_part(c)).map(|word| word.trim_matches(['.', ':', '/'])).collect();
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

const IMPORTS: &str =
    "import, imports, imported, importing, depend, depends, require, requires, use, uses, using, include, includes";
const CALLS: &str = "call, calls, called, calling, invoke, invokes, invoked, use, uses, used";
const ASKS: &str = "how, why, where, what, who, which, explain, describe, tell";
const DEFINED: &str = "defined, declared, definition, definitions, defines, declares";
const KINDS: &str = "function, class, struct, enum, trait, type, interface, method, constant, variable, macro";
const INSIDE: &str =
    "functions, classes, structs, methods, symbols, definitions, types, outline, structure, signatures";
/// Things that are not code: a step that speaks of them is left to the chooser.
const NOT_CODE: &str = "\
    file, files, folder, folders, directory, directories, word, text, string, phrase, line, lines, learn, learned, learnt, lesson, lessons, \
    remember, memory, memories, command, tests, changed, commit";
const SEARCHES: &str = "search, grep, look";
const DELETES: &str = "delete, remove, erase";
const MOVES: &str = "move, rename";
/// Stand between what is in a file and the file.
const WITHIN: &str = "in, from, of";
/// May stand behind a file that a verb is about: with anything else the file only describes what is meant (`delete old.css import`).
const BEHIND_FILE: &str = "\
    and, or, to, into, as, onto, under, below, at, with, file, please, now, too, also, completely, entirely, permanently, then, again, if, \
    since, because";
/// Stand between a verb and the file that it is about.
const BESIDE_FILE: &str = "the, a, this, that, my, our, file, script, module, document, old, unused, obsolete, empty, temporary, called, named";

/// The built-in tool for what `part` asks about code; `None` where its form says nothing. `symbol` is the name in it that the index knows.
pub fn asked(part: &Part, symbol: Option<&str>) -> Option<Builtin> {
    let text = part.text.to_lowercase();
    let words: Vec<&str> = text.split_whitespace().map(bare).filter(|word| !word.is_empty()).collect();
    let has = |table: &str| words.iter().any(|word| listed(table, word));
    let place = |table: &str| words.iter().position(|word| listed(table, word));
    let named = symbol.map(str::to_lowercase);
    let is_name = |word: &&str| named.as_deref().is_some_and(|name| word.trim_end_matches("()") == name);
    let file = words.iter().position(|word| names::is_path(word) && !is_name(word));
    // Whether the name stands before the verb: `what does F import` against `which files import F`.
    let precedes = |name: usize, verbs: &str| place(verbs).map(|verb| name < verb);
    let first = *words.first()?;
    if shows_command(&part.text) {
        return Some(Builtin::RunCommand);
    }

    if listed(SEARCHES, first) && words.get(1) == Some(&"for") || first == "grep" {
        return (!has("file, files, named")).then_some(Builtin::SearchText);
    }
    if let Some(file) = file {
        let is_file = has_ending(words[file]);
        // Nothing but where: `how many files are in src/`, not `how many files import src/`.
        let is_plain = |between: std::ops::Range<usize>| {
            let mut between = words.get(between).unwrap_or_default().iter();
            words.len() <= file + 2 && between.all(|word| listed("are, there, in, inside, under, within, the", word))
        };
        if let Some(tool) = of_a_file(&words, file, removes(&part.text)).filter(|_| is_file) {
            return Some(tool);
        }
        return match () {
            () if has("imports, dependencies") && before(&words, file) == Some("of") => Some(Builtin::IndexImports),
            () if has("dependents, importers") => Some(Builtin::IndexDependents),
            () if is_question(&words) && has(IMPORTS) && is_file => match precedes(file, IMPORTS)? {
                true if has("who, which") => Some(Builtin::IndexDependents),
                true => Some(Builtin::IndexImports),
                false => Some(Builtin::IndexDependents),
            },
            () if has("import, imports") && is_file && precedes(file, IMPORTS) == Some(false) => {
                Some(Builtin::IndexDependents)
            }
            () if has(INSIDE) && is_file && symbol.is_none() => Some(Builtin::IndexReadFile),
            () if !is_file && words.starts_with(&["what"]) && has("in, inside, under") => Some(Builtin::ListDir),
            () if !is_file && words.starts_with(&["list"]) && file == 1 => Some(Builtin::ListDir),
            () if !is_file && words.starts_with(&["how", "many", "files"]) && is_plain(3..file) => {
                Some(Builtin::ListDir)
            }
            () if is_file && (words.starts_with(&["summarize"]) || words.starts_with(&["what", "is", "in"])) => {
                Some(Builtin::ReadFile)
            }
            () => None,
        };
    }
    let asks = is_question(&words);
    if let Some(name) = words.iter().position(is_name) {
        return match () {
            () if has("callers") => Some(Builtin::IndexCallers),
            () if has("callees") => Some(Builtin::IndexCallees),
            () if has("impact, break, breaks, broken, affected, affects") => Some(Builtin::IndexImpact),
            () if (asks || looks_up(&words)) && has(CALLS) => match precedes(name, CALLS)? {
                true if has("does, do, did") && first != "where" => Some(Builtin::IndexCallees),
                // `where are F calls made` has a noun there.
                true if first != "where"
                    && words.get(name + 1).is_some_and(|verb| listed("calls, invokes, uses", verb)) =>
                {
                    Some(Builtin::IndexCallees)
                }
                _ => Some(Builtin::IndexCallers),
            },
            () if has(DEFINED)
                || has(KINDS) && (first == "where" || first == "find" || first == "show" || first == "in") =>
            {
                Some(Builtin::IndexFindFiles)
            }
            () if asks && is_about_code(part, &words) => Some(Builtin::IndexSearch),
            () => None,
        };
    }
    (asks && is_about_code(part, &words)).then_some(Builtin::IndexSearch)
}

/// Whether a whole file is deleted or moved, or what stands in it removed or renamed. `file` is the place of its path; `removes` says that
/// something is taken away.
fn of_a_file(words: &[&str], file: usize, removes: bool) -> Option<Builtin> {
    let lead = words.iter().position(|word| !is_polite(word))?;
    let verb = words[lead];
    let is_object = |after: usize| {
        let between = words.get(lead + after..file);
        let whole = words.get(file + 1).is_none_or(|next| listed(BEHIND_FILE, next) || names::is_path(next));
        whole && between.is_some_and(|between| between.iter().all(|word| listed(BESIDE_FILE, word)))
    };
    let holds = |at: usize| {
        let (word, lead) = (words[at], before(words, at));
        has_ending(word) && names::is_path(word) && lead.is_some_and(|lead| listed(WITHIN, lead))
    };
    // The `of` of `get rid of` is the verb's.
    let own = if words[lead..].starts_with(&["get", "rid", "of"]) { 4 } else { 1 };
    let within = (lead + own..words.len()).any(holds);
    match () {
        () if verb == "in" && file == lead + 1 => {
            let next = words.get(file + 1).copied().unwrap_or_default();
            (removes || next == "rename").then_some(Builtin::ReplaceInFile)
        }
        () if within && (removes || verb == "rename") => Some(Builtin::ReplaceInFile),
        () if words.iter().skip(file).any(|word| listed(WITHIN, word)) => None,
        () if listed(DELETES, verb) && is_object(1) => Some(Builtin::DeleteFile),
        () if words[lead..].starts_with(&["get", "rid", "of"]) && is_object(3) => Some(Builtin::DeleteFile),
        () if listed(MOVES, verb) && is_object(1) => Some(Builtin::MoveFile),
        () => None,
    }
}

/// An open question: nothing in it is a file, a quotation or a thing that another tool looks after.
fn is_about_code(part: &Part, words: &[&str]) -> bool {
    part.quoted.is_empty() && !words.iter().any(|word| listed(NOT_CODE, word))
}

fn is_question(words: &[&str]) -> bool {
    words.first().is_some_and(|first| listed(ASKS, first)) || words.first() == Some(&"list")
}

/// `show who`, `find out what`: looks for the answer to a question.
fn looks_up(words: &[&str]) -> bool {
    let lead = words.iter().take_while(|word| listed("show, find, list, see, check, me, us, out", word)).count();
    lead > 0 && words.get(lead).is_some_and(|next| listed(ASKS, next))
}

fn has_ending(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.contains('.'))
}

fn before<'w>(words: &[&'w str], place: usize) -> Option<&'w str> {
    place.checked_sub(1).map(|before| words[before])
}

/// A word without the punctuation around it.
fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| ",;!?\"'`".contains(c)).trim_end_matches(['.', ':'])
}

#[cfg(test)]
mod tests {
    use super::super::decompose::parts;
    use super::*;

    fn check(step: &str, symbol: Option<&str>, expected: Option<Builtin>) {
        assert_eq!(asked(&parts(step)[0], symbol), expected, "{step}");
    }

    #[test]
    fn who_imports_whom_is_read_from_the_order_of_words() {
        check("which files import src/pull.rs", None, Some(Builtin::IndexDependents));
        check("Which modules use src/words.rs?", None, Some(Builtin::IndexDependents));
        check("What depends on src/lib.rs?", None, Some(Builtin::IndexDependents));
        check("List the files that import src/lib.rs", None, Some(Builtin::IndexDependents));
        check("What does src/pull.rs import?", None, Some(Builtin::IndexImports));
        check("What are the dependencies of src/pull.rs?", None, Some(Builtin::IndexImports));
    }

    #[test]
    fn who_calls_whom_is_read_from_the_order_of_words() {
        let save = Some("Store.save");
        check("Who calls Store.save?", save, Some(Builtin::IndexCallers));
        check("Show me who calls Store.save", save, Some(Builtin::IndexCallers));
        check("Find out what Store.save calls", save, Some(Builtin::IndexCallees));
        check("Where is Store.save used?", save, Some(Builtin::IndexCallers));
        check("Where are parseDate calls made?", Some("parseDate"), Some(Builtin::IndexCallers));
        check("What does Store.save call?", save, Some(Builtin::IndexCallees));
        check("Which functions does Store.save use?", save, Some(Builtin::IndexCallees));
        check("What would break if I rename Store.save?", save, Some(Builtin::IndexImpact));
    }

    #[test]
    fn places_and_open_questions_go_to_the_index() {
        check("Where is the function hub_dir defined?", Some("hub_dir"), Some(Builtin::IndexFindFiles));
        check("Explain what Pool.lease does", Some("Pool.lease"), Some(Builtin::IndexSearch));
        check("How does the budget manager evict models?", None, Some(Builtin::IndexSearch));
        check("Where is the retry limit defined?", None, Some(Builtin::IndexSearch));
        check("Show the functions in src/app.rs", None, Some(Builtin::IndexReadFile));
    }

    #[test]
    fn whole_files_and_what_stands_in_them_are_told_apart() {
        check("Delete the file notes.txt", None, Some(Builtin::DeleteFile));
        check("Remove src/legacy/old.rs", None, Some(Builtin::DeleteFile));
        check("Please get rid of the file tmp/debug.log", None, Some(Builtin::DeleteFile));
        check("Could you rename src/a.rs to src/b.rs", None, Some(Builtin::MoveFile));
        check("Move docs/old.md into archive/", None, Some(Builtin::MoveFile));
        check("Remove the unused imports from src/lib.rs", None, Some(Builtin::ReplaceInFile));
        check("In src/app.rs rename getUser to loadUser", None, Some(Builtin::ReplaceInFile));
        check("Remove config.json from .gitignore", None, Some(Builtin::ReplaceInFile));
        check("Remove jquery.min.js from index.html", None, Some(Builtin::ReplaceInFile));
        check("Delete old.css import from a.html", None, Some(Builtin::ReplaceInFile));
        check("Rename config.json in README.md to settings.json", None, Some(Builtin::ReplaceInFile));
        check("Delete the notes.txt link", None, None);
        check("Delete notes.txt from the list", None, None);
        check("Get rid of a.txt of the backup", None, None);
        check("Move a.rs out of src/ of the project", None, None);
        check("Delete a.txt and b.txt", None, Some(Builtin::DeleteFile));
        check("Move a.txt, please", None, Some(Builtin::MoveFile));
        check("Delete every file below tmp", None, None);
        check("In src/app.rs remove the field of Store", None, Some(Builtin::ReplaceInFile));
        check("Where in src/app.rs do we delete rows?", None, None);
        check("Remove the word old from the title", None, None);
        check("Take the line about retries out of notes.md", None, Some(Builtin::ReplaceInFile));
        check("Get rid of the TODO in src/b.rs", None, Some(Builtin::ReplaceInFile));
        check("Strip the comments from src/b.rs", None, Some(Builtin::ReplaceInFile));
        check("Remove from notes.md the line about retries", None, Some(Builtin::ReplaceInFile));
        check("Drop a TODO in src/b.rs", None, None);
        check("Drop a note about the deadline in notes.md", None, None);
        check("Leave a comment in src/a.rs that we time out", None, None);
        check("Leave debug off in config.toml", None, None);
    }

    #[test]
    fn what_has_another_form_is_left_to_the_chooser() {
        check("Which files contain the word retry?", None, None);
        check("What did we learn about tests?", None, None);
        check("Read src/app.rs", None, None);
        check("Replace 5 with 3 in src/retry.rs", None, None);
        check("Run the tests", None, None);
        check("Show the git log", None, Some(Builtin::RunCommand));
        check("Show me where git status is parsed", None, None);
        check("Explain how the git log is read", None, Some(Builtin::IndexSearch));
        check("Search for TODO in src", None, Some(Builtin::SearchText));
        check("What files are in src/budget?", None, Some(Builtin::ListDir));
        check("List src/", None, Some(Builtin::ListDir));
        check("How many files are in tests/?", None, Some(Builtin::ListDir));
        check("How many files in src/ import a.ts?", None, None);
    }
}
