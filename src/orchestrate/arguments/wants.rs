//! What a parameter asks for, read from its name, its type, its format and its description.

use crate::tools::spec::Parameter;

/// The sort of value a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    /// A file or folder to work on.
    Path,
    /// Where something is to be written.
    Destination,
    Url,
    /// Text to write, send or copy, as it stands.
    Content,
    /// What to look for.
    Query,
    /// File names by wildcard, or a text pattern.
    Pattern,
    /// The name of a new thing: title, subject.
    Title,
    /// A whole question.
    Question,
    Person,
    /// A name of an existing thing: application, function, table.
    Name,
    /// A file format, without its dot.
    Format,
    From,
    Until,
    Day,
    Number,
    Flag,
    Choice,
    Command,
    Place,
    Id,
    /// The text to be replaced, and what replaces it.
    Old,
    New,
    Object,
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
    if parameter.choices().is_some() {
        return Want::Choice;
    }
    match kind {
        "boolean" => return Want::Flag,
        "integer" | "number" => return Want::Number,
        "object" => return Want::Object,
        _ => {}
    }
    let dated =
        format.starts_with("date") || format == "time" || says(&["iso 8601", "iso-8601", "yyyy-mm-dd", "rfc 3339"]);
    if dated
        || has(&["date", "datetime", "deadline", "day", "timestamp", "when", "due"])
        || name.ends_with("time") && !has(&["preferred"])
    {
        return match () {
            () if has(&["start", "from", "since", "after", "begin", "min"]) => Want::From,
            () if has(&["end", "until", "to", "before", "till", "max"]) => Want::Until,
            () => Want::Day,
        };
    }
    let pathlike = has(&["path", "file", "filename", "filepath", "folder", "dir", "directory", "root", "cwd"]);
    if has(&["url", "uri", "link", "href"]) || matches!(format, "uri" | "url") {
        return Want::Url;
    }
    if has(&["type", "extension", "format", "encoding", "language", "lang"]) {
        return if has(&["format", "type", "extension"]) { Want::Format } else { Want::Other };
    }
    if has(&["destination", "dest", "target", "output", "out"])
        && (pathlike || says(&["path", "file", "where to", "folder"]))
    {
        return Want::Destination;
    }
    if pathlike && !has(&["pattern", "glob", "name"])
        || has(&["source", "src", "input", "document"]) && says(&["path", "file"])
        || described.starts_with("path to")
    {
        return Want::Path;
    }
    if has(&["filename"]) || has(&["name"]) && has(&["file", "folder", "directory"]) {
        return Want::Path;
    }
    match () {
        () if has(&["old", "search", "find", "before"]) && has(&["text", "string", "str", "content", "value"])
            || matches!(name.as_str(), "old" | "find") =>
        {
            Want::Old
        }
        () if has(&["new", "replacement", "replace", "with"]) && !has(&["name"]) => Want::New,
        () if has(&["pattern", "glob", "regex", "wildcard", "filter"]) => Want::Pattern,
        () if has(&["question", "prompt"]) => Want::Question,
        () if has(&["query", "keyword", "search", "term", "topic", "symbol", "text", "phrase"])
            && !says(&["sql"])
            && !(has(&["text"]) && says(&["content", "write", "insert", "send", "extracted", "ocr"])) =>
        {
            Want::Query
        }
        () if has(&["content", "body", "text", "message", "note", "data", "description", "comment"]) => Want::Content,
        () if has(&["title", "subject", "summary", "headline", "caption"]) => Want::Title,
        () if has(&[
            "to",
            "recipient",
            "cc",
            "bcc",
            "attendee",
            "participant",
            "assignee",
            "sender",
            "from",
            "contact",
            "person",
            "invitee",
            "email",
            "author",
            "user",
        ]) && (says(&[
            "email",
            "recipient",
            "person",
            "people",
            "who",
            "user",
            "contact",
            "name",
            "sender",
            "address",
        ]) || described.is_empty()) =>
        {
            Want::Person
        }
        () if has(&["command", "cmd", "script", "shell"]) => Want::Command,
        () if has(&["location", "city", "place", "country", "origin", "destination", "region", "venue", "state"]) => {
            Want::Place
        }
        () if has(&["id", "uuid", "key", "token", "hash", "sha"]) => Want::Id,
        () if has(&[
            "name",
            "app",
            "application",
            "browser",
            "table",
            "function",
            "class",
            "identifier",
            "process",
            "package",
            "module",
            "branch",
            "artist",
            "song",
            "device",
        ]) =>
        {
            Want::Name
        }
        () => Want::Other,
    }
}
