//! Words of several languages that refer to code: kinds of definitions, tests, verbs that ask for
//! something new.

/// Words after which the next word is a name in code, even if it is an ordinary word.
pub(super) const KINDS: &str = "\
    function func method class struct enum trait type interface constant variable macro decorator property \
    helper funktion methode klasse fonction méthode classe función método clase функция функцию метод класс";
/// Words after which the next word is the name of an option, parameter or the like.
pub(super) const OPTIONS: &str = "\
    option flag parameter argument attribute field setting keyword schalter parameter paramètre opción parámetro";
/// Words for tests in several languages.
pub(super) const TESTS: &[&str] =
    &["test", "tests", "unittest", "testfall", "prueba", "pruebas", "тест", "тесты", "spec"];
/// Methods that lists, maps and strings have in most languages; a call to one on some object rarely
/// means the project's own method.
pub(super) const OF_EVERY_OBJECT: &[&str] = &[
    "add", "append", "clear", "close", "copy", "count", "delete", "entries", "extend", "filter", "find", "format",
    "get", "has", "index", "insert", "items", "join", "keys", "len", "length", "log", "lower", "map", "pop", "push",
    "read", "remove", "replace", "reverse", "set", "slice", "sort", "split", "strip", "toString", "trim", "update",
    "upper", "values", "write",
];
/// Types and values of the languages themselves, which are not new names: `1.2 -> Some(1)`.
pub(super) const OF_LANGUAGES: &[&str] =
    &["Some", "None", "Ok", "Err", "Option", "Result", "Vec", "String", "Box", "True", "False", "Map", "Set", "Array"];
/// Verbs that ask for something new.
pub(super) const ADDS: &str = "\
    add write create need give implement füge erstelle schreib schreibe ergänze crée crea écris ajoute escribe \
    añade agrega напиши добавь";
/// Kinds of definitions that have members. A capitalised first word of a sentence counts as a name
/// if it refers to one: `Parser needs a method f()`.
pub const TYPES: &[&str] = &["class", "struct", "interface", "trait", "enum"];
/// Pronouns: a verb in `ADDS` followed by one adds nothing new, as in `a stop is missing, add it`.
pub(super) const PRONOUNS: &[&str] = &["it", "them", "that", "es", "sie", "lo"];
/// Indefinite articles: `a function f` is new, `the function f` is not.
pub(super) const ARTICLES: &[&str] =
    &["a", "an", "another", "ein", "eine", "einen", "weitere", "un", "une", "una", "otra", "otro", "autre"];
/// Words after one of `KINDS` that are not names: `a function that`, `another helper in`.
pub(super) const STOPS: &[&str] = &[
    "in", "that", "which", "to", "for", "of", "on", "with", "and", "or", "is", "are", "from", "by", "called", "named",
    "should", "has", "must", "does", "the", "a", "an", "at", "into", "as", "it", "die", "der", "das", "in", "zu",
    "für", "que", "para", "pour", "qui", "dans", "en",
];
/// Words for well-known files, and the names of those files.
pub(super) const WELL_KNOWN_FILES: &[(&str, &[&str])] = &[
    ("readme", &["readme.md", "readme.rst", "readme.txt", "readme"]),
    ("changelog", &["changelog.md", "changes.md", "history.md", "changelog.rst", "changes.rst", "changelog"]),
    ("license", &["license", "license.md", "license.txt"]),
    ("pyproject", &["pyproject.toml"]),
];
