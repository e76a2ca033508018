//! File kinds as people name them: their extension, the format something is to become, wildcards.

use super::said::Said;
use crate::orchestrate::decompose::scan::Kind;
use crate::orchestrate::decompose::words;

/// Names of file kinds as people say them, with their extension.
pub(super) const FORMATS: &[(&str, &str)] = &[
    ("pdf", "pdf"),
    ("word", "docx"),
    ("docx", "docx"),
    ("excel", "xlsx"),
    ("xlsx", "xlsx"),
    ("csv", "csv"),
    ("markdown", "md"),
    ("md", "md"),
    ("text", "txt"),
    ("txt", "txt"),
    ("html", "html"),
    ("json", "json"),
    ("yaml", "yaml"),
    ("yml", "yml"),
    ("toml", "toml"),
    ("xml", "xml"),
    ("python", "py"),
    ("rust", "rs"),
    ("typescript", "ts"),
    ("javascript", "js"),
    ("java", "java"),
    ("go", "go"),
    ("ruby", "rb"),
    ("shell", "sh"),
    ("css", "css"),
    ("sql", "sql"),
    ("png", "png"),
    ("jpeg", "jpg"),
    ("jpg", "jpg"),
    ("gif", "gif"),
    ("svg", "svg"),
    ("mp3", "mp3"),
    ("mp4", "mp4"),
    ("wav", "wav"),
    ("zip", "zip"),
    ("log", "log"),
    ("epub", "epub"),
    ("powerpoint", "pptx"),
    ("pptx", "pptx"),
    ("latex", "tex"),
];

pub(super) fn extension(low: &str) -> Option<&'static str> {
    let bare = low.trim_start_matches(['.', '*']).trim_end_matches('s');
    FORMATS.iter().find(|(name, _)| *name == low || *name == bare).map(|(_, extension)| *extension)
}

/// The format that something is to become (`to PDF`, `as CSV`, `to a plain text file`); without such a word, the only one named.
pub(super) fn format(said: &Said) -> Option<&'static str> {
    let named: Vec<(usize, &str)> = (0..said.tokens.len())
        .filter(|&i| said.tokens[i].kind == Kind::Word)
        .filter_map(|i| Some((i, extension(said.low(i))?)))
        .collect();
    let becomes = |&&(at, _): &&(usize, &str)| {
        (1..=3)
            .filter_map(|n| at.checked_sub(n))
            .map(|i| said.low(i))
            .find(|low| !words::is_determiner(low) && !matches!(*low, "plain" | "new"))
            .is_some_and(|low| matches!(low, "to" | "into" | "as"))
    };
    let target = named.iter().rev().find(becomes);
    target.or(named.first().filter(|_| named.len() == 1)).map(|(_, extension)| *extension)
}

/// `*.rs` as written, or the wildcard of `all PDF files`.
pub(super) fn glob(said: &Said) -> Option<String> {
    if let Some(token) =
        said.tokens.iter().find(|token| token.kind == Kind::Word && token.text.contains('*') && token.text.len() > 1)
    {
        return Some(token.text.to_owned());
    }
    let kind = (0..said.tokens.len()).find(|&i| {
        matches!(said.low(i + 1), "file" | "files" | "documents" | "images" | "sources")
            && extension(said.low(i)).is_some()
    });
    let plural = (0..said.tokens.len())
        .find(|&i| said.low(i).ends_with('s') && extension(said.low(i)).is_some() && !said.low(i).ends_with("css"));
    kind.or(plural).and_then(|at| extension(said.low(at))).map(|extension| format!("*.{extension}"))
}
