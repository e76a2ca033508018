//! What a parameter asks for, read from its name, its type, its format and its description.

use crate::tools::spec::Parameter;

/// The sort of value a parameter takes, as far as code can tell it from a step; the rest is a model's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    /// A file or folder to work on.
    Path,
    /// Where something is to be written.
    Destination,
    Url,
    /// Text to write, as it stands.
    Content,
    /// What to look for: a quotation.
    Query,
    /// A whole question.
    Question,
    Number,
    Choice,
    Command,
    /// The text to be replaced, and what replaces it.
    Old,
    New,
    Other,
}

/// The words of a parameter's name: `outputPath` -> output, path.
pub(super) fn name_words(name: &str) -> Vec<String> {
    super::places::parts(name)
}

pub(super) fn want(parameter: &Parameter, kind: &str) -> Want {
    let name = parameter.name.to_lowercase();
    let words = name_words(parameter.name);
    let described = parameter.description().to_lowercase();
    let format = parameter.schema.get("format").and_then(serde_json::Value::as_str).unwrap_or("");
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let says = |list: &[&str]| list.iter().any(|word| described.contains(word));
    let pathlike = has(&["path", "file", "filename", "filepath", "folder", "dir", "directory", "root", "cwd"]);
    match () {
        () if parameter.choices().is_some() => Want::Choice,
        () if matches!(kind, "integer" | "number") => Want::Number,
        () if kind != "string" || format.starts_with("date") || format == "time" => Want::Other,
        () if has(&["url", "uri", "link", "href"]) || matches!(format, "uri" | "url") => Want::Url,
        () if has(&["type", "extension", "format", "encoding", "language", "lang"]) => Want::Other,
        () if has(&["destination", "dest", "target", "output", "out"])
            && (pathlike || says(&["path", "file", "where to", "folder"])) =>
        {
            Want::Destination
        }
        () if pathlike && !has(&["pattern", "glob"])
            || has(&["source", "src", "input", "document"]) && says(&["path", "file"])
            || described.starts_with("path to") =>
        {
            Want::Path
        }
        () if has(&["old", "search", "find", "before"]) && has(&["text", "string", "str", "content", "value"])
            || matches!(name.as_str(), "old" | "find") =>
        {
            Want::Old
        }
        () if has(&["new", "replacement", "replace", "with"]) && !has(&["name"]) => Want::New,
        () if has(&["question", "prompt"]) => Want::Question,
        () if has(&["query", "keyword", "search", "pattern", "glob", "term", "topic", "symbol", "phrase"])
            && !says(&["sql"]) =>
        {
            Want::Query
        }
        () if has(&["content", "body", "text", "message", "note", "data", "description", "comment"]) => Want::Content,
        () if has(&["command", "cmd", "script", "shell"]) => Want::Command,
        () => Want::Other,
    }
}
