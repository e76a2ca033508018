//! Finds the files and symbols of the project that a text names.

use std::cell::LazyCell;

use crate::index::{Index, IndexError, Node};
use crate::language::words::{is_capitalised, is_coined};
use crate::request::kind::begins_something;

use super::is_test;

/// A symbol that is named, with the definitions it may mean.
#[derive(Clone, Debug)]
pub struct Symbol {
    pub name: String,
    pub nodes: Vec<Node>,
}

/// Files and symbols that a text names.
#[derive(Clone, Debug, Default)]
pub struct Mentions {
    /// Files of the project, in the order of the text.
    pub paths: Vec<String>,
    /// Words that look like file names and that no file of the project has.
    pub new_paths: Vec<String>,
    /// Symbols that are clearly meant: written as code, quoted, called, or after a word like `function`.
    pub symbols: Vec<Symbol>,
    /// Ordinary words that are also the name of a function or class of the project.
    pub likely: Vec<Symbol>,
    /// The text speaks of tests.
    pub speaks_of_tests: bool,
    /// Names of definitions that do not exist yet: the text calls them, or describes them as a function, class or the like.
    pub new_names: Vec<String>,
    /// The text speaks of a function, class or the like.
    pub speaks_of_definitions: bool,
    /// Something new is asked for.
    pub adds: bool,
    /// New tests are asked for.
    pub adds_tests: bool,
}

/// Words that mark the next word as a name of code, even if it is an ordinary word.
const KINDS: &[&str] = &[
    "function",
    "func",
    "method",
    "class",
    "struct",
    "enum",
    "trait",
    "type",
    "interface",
    "constant",
    "variable",
    "macro",
    "decorator",
    "property",
    "helper",
    "funktion",
    "methode",
    "klasse",
    "fonction",
    "méthode",
    "classe",
    "función",
    "método",
    "clase",
    "функция",
    "функцию",
    "метод",
    "класс",
];
/// Shortest ordinary word that counts as a likely symbol; shorter ones seldom mean code.
const LIKELY_LETTERS: usize = 5;
/// Words for tests, in several languages.
const TESTS: &[&str] = &["test", "tests", "unittest", "testfall", "prueba", "pruebas", "тест", "тесты", "spec"];
/// Methods that lists, maps and strings have in most languages; a call of one on some object seldom means the project's own method.
const OF_EVERY_OBJECT: &[&str] = &[
    "add", "append", "clear", "close", "copy", "count", "delete", "entries", "extend", "filter", "find", "format",
    "get", "has", "index", "insert", "items", "join", "keys", "len", "length", "log", "lower", "map", "pop", "push",
    "read", "remove", "replace", "reverse", "set", "slice", "sort", "split", "strip", "toString", "trim", "update",
    "upper", "values", "write",
];
/// Types and values of the languages themselves, which are no new names: `1.2 -> Some(1)`.
const OF_LANGUAGES: &[&str] =
    &["Some", "None", "Ok", "Err", "Option", "Result", "Vec", "String", "Box", "True", "False", "Map", "Set", "Array"];
/// Verbs that ask for something new.
const ADDS: &[&str] = &[
    "add",
    "write",
    "create",
    "need",
    "give",
    "implement",
    "füge",
    "erstelle",
    "schreib",
    "schreibe",
    "ergänze",
    "crée",
    "crea",
    "écris",
    "ajoute",
    "escribe",
    "añade",
    "agrega",
    "напиши",
    "добавь",
];
/// Kinds of definitions that have members. A capitalised first word of a sentence is a name if it names one: `Parser needs a method f()`.
pub const TYPES: &[&str] = &["class", "struct", "interface", "trait", "enum"];
/// Pronouns: a verb of `ADDS` before one asks for nothing new, as in `a stop is missing, add it`.
const PRONOUNS: &[&str] = &["it", "them", "that", "es", "sie", "lo"];
/// Indefinite articles: `a function f` is new, `the function f` is not.
const ARTICLES: &[&str] =
    &["a", "an", "another", "ein", "eine", "einen", "weitere", "un", "une", "una", "otra", "otro", "autre"];
/// Words after one of `KINDS` that are no names: `a function that`, `another helper in`.
const STOPS: &[&str] = &[
    "in", "that", "which", "to", "for", "of", "on", "with", "and", "or", "is", "are", "from", "by", "called", "named",
    "should", "has", "must", "does", "the", "a", "an", "at", "into", "as", "it", "die", "der", "das", "in", "zu",
    "für", "que", "para", "pour", "qui", "dans", "en",
];
/// Number of words after a verb of `ADDS` in which a word for tests is looked for: `write a few more unit tests`.
const OBJECT_WORDS: usize = 5;
/// Words for well-known files, and the names of these files.
const WELL_KNOWN_FILES: &[(&str, &[&str])] = &[
    ("readme", &["readme.md", "readme.rst", "readme.txt", "readme"]),
    ("changelog", &["changelog.md", "changes.md", "history.md", "changelog.rst", "changes.rst", "changelog"]),
    ("license", &["license", "license.md", "license.txt"]),
    ("pyproject", &["pyproject.toml"]),
];

/// Finds what `text` names of the project that `index` knows; an error if the index cannot be read.
pub fn of(text: &str, index: &Index) -> Result<Mentions, IndexError> {
    let graph = index.graph()?;
    let known = index.paths()?;
    let mut found = Mentions::default();
    // The function that the package exports without a name: it is called by the name of the package.
    let own = LazyCell::new(|| crate::edit::package_function::function_of(index.project()));
    let is_inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | '-' | '$' | ':' | '@');
    let words: Vec<(usize, &str)> = split(text, is_inside);
    // New names that the text calls or describes as definitions. If there are any, other unknown names do not count: they may be types of the
    // language or names of values.
    let mut declared: Vec<&str> = Vec::new();
    for (place, &(at, raw)) in words.iter().enumerate() {
        let word = raw.trim_matches(['.', ':', '-', '/']);
        let low = word.to_lowercase();
        found.speaks_of_tests |= TESTS.contains(&low.as_str());
        found.speaks_of_definitions |= KINDS.contains(&low.as_str());
        let next = words.get(place + 1).map(|next| next.1.to_lowercase()).unwrap_or_default();
        found.adds |= ADDS.contains(&low.as_str()) && !PRONOUNS.contains(&next.as_str());
        found.adds_tests |= ADDS.contains(&low.as_str()) && names_tests(&words[place + 1..]);
        if let Some((_, files)) = WELL_KNOWN_FILES.iter().find(|(usual, _)| low == *usual) {
            let file = known.iter().find(|path| files.contains(&path.to_lowercase().as_str()));
            found.add_path(file.cloned());
        }
        if let Some(path) = path_of(word, &known) {
            found.add_path(Some(path));
            continue;
        }
        if is_file_name(word) && graph.named(word).is_empty() {
            found.new_paths.push(word.trim_start_matches("./").to_owned());
            continue;
        }
        let before = place.checked_sub(1).map(|before| words[before].1.to_lowercase()).unwrap_or_default();
        let after = text[at + raw.len()..].chars().next();
        let quoted = text[..at].ends_with(['`', '"', '\'']) && matches!(after, Some('`' | '"' | '\'' | '('));
        let called = after == Some('(');
        // The first word of a sentence has a capital in any case.
        let begins = text[..at].trim_end().is_empty() || text[..at].trim_end().ends_with(['.', '!', '?', ':']);
        let is_type =
            || !begins_something(&low) && graph.named(word).iter().any(|node| TYPES.contains(&node.kind.as_str()));
        let coined = if begins && is_capitalised(word) { is_type() } else { is_coined(word) };
        let named = coined || quoted || called || KINDS.contains(&before.as_str());
        let named_so = |name: &str| -> Vec<Node> {
            graph.named(name).into_iter().filter(|node| node.kind != "module").cloned().collect()
        };
        let mut nodes = named_so(word);
        if nodes.is_empty()
            && (called || quoted)
            && let Some(own) = own.as_ref().filter(|own| own.name == word)
        {
            found.add_path(Some(own.path.clone()));
            continue;
        }
        let (mut word, mut is_of_object) = (word, false);
        if let Some((object, member)) = word.rsplit_once('.').filter(|_| nodes.is_empty()) {
            // `db.search(q)`: the request made up the variable `db`, so only the member counts.
            is_of_object = named_so(object.rsplit('.').next().unwrap_or(object)).is_empty();
            if is_of_object && called && !OF_EVERY_OBJECT.contains(&member) {
                (word, nodes) = (member, named_so(member));
            }
        }
        // A new name after a colon: `another helper in a.py: tail, like head`.
        let listed = found.speaks_of_definitions
            && text[..at].trim_end().ends_with(':')
            && after.is_none_or(|c| ",.".contains(c))
            && word.len() > 2;
        let introduced = matches!(before.as_str(), "called" | "named" | "namens" | "nommée" | "llamada");
        let plain = STOPS.contains(&low.as_str());
        let beside = before == "and" && place >= 2 && declared.last().is_some_and(|last| *last == words[place - 2].1);
        let is_declared = called || listed || introduced || KINDS.contains(&before.as_str()) || coined && beside;
        if nodes.is_empty()
            && !plain
            && !is_of_object
            && (is_declared || coined && !is_capitalised(word))
            && is_identifier(word)
            && !OF_LANGUAGES.contains(&word)
            && !found.new_names.iter().any(|name| name == word)
            && !is_inside_value(text, at)
        {
            found.new_names.push(word.to_owned());
            declared.extend(is_declared.then_some(word));
            // Words that ask for something new: `new function f(a)`, `export f(a) from b.js`, `Parser needs a method f()`.
            let behind = |back: usize, list: &[&str]| {
                place >= back && list.contains(&words[place - back].1.to_lowercase().as_str())
            };
            let is_new = (1..=2).any(|back| behind(back, &["new", "export"]));
            let is_one = KINDS.contains(&before.as_str()) && (2..=3).any(|back| behind(back, ARTICLES));
            found.adds |= is_declared && (is_new || is_one);
        }
        let known = |symbols: &[Symbol]| symbols.iter().any(|symbol| symbol.name == word);
        if nodes.is_empty() || known(&found.symbols) || known(&found.likely) {
            continue;
        }
        let symbol = Symbol { name: word.to_owned(), nodes };
        if named {
            found.symbols.push(symbol);
        } else if word.len() >= LIKELY_LETTERS && is_lower_case(word) && symbol.nodes.iter().any(is_free) {
            found.likely.push(symbol);
        }
    }
    if !declared.is_empty() {
        found.new_names.retain(|name| declared.contains(&name.as_str()));
    }
    let files = found.paths.clone();
    for symbol in found.symbols.iter_mut().chain(&mut found.likely) {
        // Of several definitions, those in a named file come first, and code comes before tests.
        symbol.nodes.sort_by_key(|node| (!files.contains(&node.path), is_test(&node.path)));
    }
    Ok(found)
}

impl Mentions {
    fn add_path(&mut self, path: Option<String>) {
        if let Some(path) = path.filter(|path| !self.paths.contains(path)) {
            self.paths.push(path);
        }
    }
}

/// Whether the words after a verb of `ADDS` name tests as its object; `one` alone means a test, too: `Write one in test_a.py`.
fn names_tests(behind: &[(usize, &str)]) -> bool {
    let low: Vec<String> =
        behind.iter().take(OBJECT_WORDS).map(|(_, word)| word.trim_matches(['.', ':']).to_lowercase()).collect();
    let until = low
        .iter()
        .position(|word| matches!(word.as_str(), "and" | "with" | "to" | "in" | "that" | "for"))
        .unwrap_or(low.len());
    let is_one = low.first().is_some_and(|word| word == "one") && until <= 1;
    is_one || low[..until].iter().any(|word| TESTS.contains(&word.as_str()))
}

/// Whether a word is an identifier, or several with dots between them, with a lower-case letter.
fn is_identifier(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && word.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '$'))
        && word.chars().any(char::is_lowercase)
}

/// Whether the byte `at` of a text is inside quotation marks or parentheses.
fn is_inside_value(text: &str, at: usize) -> bool {
    let mut quote: Option<char> = None;
    let mut depth = 0i32;
    let mut before = ' ';
    for letter in text[..at].chars() {
        match (quote, letter) {
            (Some(mark), _) if mark == letter => quote = None,
            (Some(_), _) => {}
            (None, '"') => quote = Some(letter),
            // After a letter it is an apostrophe.
            (None, '\'') if !before.is_alphanumeric() => quote = Some(letter),
            (None, '(') => depth += 1,
            (None, ')') => depth -= 1,
            _ => {}
        }
        before = letter;
    }
    quote.is_some() || depth > 0
}

fn is_lower_case(word: &str) -> bool {
    word.chars().all(char::is_lowercase)
}

/// Whether a node is a function or class, no method, and not in a test file.
fn is_free(node: &Node) -> bool {
    matches!(node.kind.as_str(), "function" | "class") && !is_test(&node.path)
}

/// The words of a text with the byte where each begins; `is_inside` says which characters belong to a word.
fn split(text: &str, is_inside: impl Fn(char) -> bool) -> Vec<(usize, &str)> {
    let mut words = Vec::new();
    let mut start = None;
    for (at, letter) in text.char_indices().chain([(text.len(), ' ')]) {
        match (start, is_inside(letter)) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                words.push((from, &text[from..at]));
                start = None;
            }
            _ => {}
        }
    }
    words
}

/// The file of the project that a word names, by its path or the end of its path; of several the one with the shortest path.
fn path_of(word: &str, known: &[String]) -> Option<String> {
    let word = word.trim_start_matches("./");
    // An existing file counts whatever its ending: `MANIFEST.in`. A name without a dot may be an ordinary word.
    if word.contains('.') && known.iter().any(|path| path == word) {
        return Some(word.to_owned());
    }
    if !is_file_name(word) {
        return None;
    }
    let low = word.to_lowercase();
    let ends = |path: &&String| {
        let path = path.to_lowercase();
        path == low || path.ends_with(&format!("/{low}"))
    };
    let mut fitting: Vec<&String> = known.iter().filter(ends).collect();
    fitting.sort_by_key(|path| path.len());
    fitting.first().map(|path| (*path).clone())
}

/// Whether a word looks like a file name: it has a known ending, or is `Makefile` or `Dockerfile`.
fn is_file_name(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let ending = name.rsplit_once('.');
    let known = |ending: &str| crate::index::language_of(&format!("x.{ending}")) != "text";
    match ending {
        Some((_, ending)) => {
            known(ending) || matches!(ending, "txt" | "cfg" | "ini" | "lock" | "rst" | "env" | "xml" | "csv")
        }
        None => matches!(name, "Makefile" | "Dockerfile"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_in_quotes_or_parentheses_is_no_new_name() {
        let text = "It's f(max_size), so f('a_b') is \"c_d\" and g_h";
        let inside = |word: &str| is_inside_value(text, text.find(word).unwrap());
        assert!(inside("max_size") && inside("a_b") && inside("c_d"));
        assert!(!inside("g_h") && !inside("f("));
    }

    #[test]
    fn tests_are_asked_for_only_as_the_object_of_the_verb() {
        let check = |text: &str, expected: bool| {
            let words = split(text, |c| c.is_alphanumeric());
            assert_eq!(names_tests(&words[1..]), expected, "{text}");
        };
        check("write a few unit tests for it", true);
        check("Write one in test_a.py", true);
        check("Add a test for zero and one for ten", true);
        check("Add a method clear with a test", false);
        check("Add one function", false);
    }

    #[test]
    fn a_file_is_named_by_its_path_or_the_end_of_it() {
        let known = ["src/a/http.js".to_owned(), "test/http.js".to_owned(), "setup.cfg".to_owned()];
        assert_eq!(path_of("a/http.js", &known).as_deref(), Some("src/a/http.js"));
        assert_eq!(path_of("./setup.cfg", &known).as_deref(), Some("setup.cfg"));
        assert_eq!(path_of("http", &known), None);
        assert_eq!(path_of("other.js", &known), None);
    }
}
