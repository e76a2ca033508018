//! Names of code that every project has, and words for well-known files.

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
/// Kinds of definitions that have members. A capitalised first word of a sentence counts as a name
/// if it refers to one: `Parser needs a method f()`.
pub const TYPES: &[&str] = &["class", "struct", "interface", "trait", "enum"];
/// Words for well-known files, and the names of these files.
pub(super) const WELL_KNOWN_FILES: &[(&str, &[&str])] = &[
    ("readme", &["readme.md", "readme.rst", "readme.txt", "readme"]),
    ("changelog", &["changelog.md", "changes.md", "history.md", "changelog.rst", "changes.rst", "changelog"]),
    ("license", &["license", "license.md", "license.txt"]),
    ("pyproject", &["pyproject.toml"]),
];
