//! Finds the comments of a text: by its syntax where that can be read, else by the signs of its language. Refuses where a sign may be text.

use std::ops::Range;

use crate::index::{language_of, spans};

use super::blocks;

/// How comments are written in a language.
struct Signs {
    /// Begins a comment that ends with its line.
    line: &'static str,
    block: Option<(&'static str, &'static str)>,
    quotes: &'static str,
    /// Begin texts of several lines: in a file with one of these nothing is sure.
    spoilers: &'static [&'static str],
}

fn signs(path: &str) -> Option<Signs> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let c_block = Some(("/*", "*/"));
    Some(match name.rsplit('.').next().unwrap_or_default() {
        "c" | "h" | "cc" | "cpp" | "cxx" | "hpp" | "java" | "cs" | "jsonc" => {
            Signs { line: "//", block: c_block, quotes: "\"'", spoilers: &["\"\"\"", "R\"", "@\"", "$\""] }
        }
        "sh" | "bash" | "zsh" => Signs { line: "#", block: None, quotes: "\"'", spoilers: &["<<"] },
        "toml" => Signs { line: "#", block: None, quotes: "\"'", spoilers: &["\"\"\"", "'''"] },
        "yaml" | "yml" => Signs { line: "#", block: None, quotes: "\"'", spoilers: &[": |", ": >", "- |", "- >"] },
        "rb" => Signs { line: "#", block: None, quotes: "\"'", spoilers: &["<<", "=begin", "%", "/"] },
        "sql" => Signs { line: "--", block: c_block, quotes: "\"'", spoilers: &["$$"] },
        "lua" => Signs { line: "--", block: None, quotes: "\"'", spoilers: &["[[", "[="] },
        "css" | "scss" | "less" => Signs { line: "", block: c_block, quotes: "\"'", spoilers: &[] },
        "html" | "htm" | "xml" | "svg" => {
            Signs { line: "", block: Some(("<!--", "-->")), quotes: "", spoilers: &["<script"] }
        }
        "md" | "markdown" => Signs { line: "", block: Some(("<!--", "-->")), quotes: "`", spoilers: &[] },
        _ => return None,
    })
}

/// The bytes of each comment of `text`, without line ends; an error says why they are not sure.
pub(super) fn comments(path: &str, text: &str) -> Result<Vec<Range<usize>>, String> {
    let found = match (spans(path, text), signs(path)) {
        (Some(spans), _) => spans?.comments,
        (None, Some(signs)) if language_of(path) == "markdown" => scanned(&blocks::without_fences(text), &signs)?,
        (None, Some(signs)) => scanned(text, &signs)?,
        (None, None) => return Err("how comments are written in such files is not known".to_owned()),
    };
    // The first says what runs the file, the second what is compiled.
    let is_code = |comment: &Range<usize>| {
        let said = &text[comment.clone()];
        comment.start == 0 && said.starts_with("#!") || said.starts_with("//go:") || said.starts_with("// +build")
    };
    Ok(found.into_iter().filter(|comment| !is_code(comment)).collect())
}

fn scanned(text: &str, signs: &Signs) -> Result<Vec<Range<usize>>, String> {
    let Signs { line, block, quotes, spoilers } = signs;
    let doubt = |at: usize| format!("line {} may be text or a comment", text[..at].matches('\n').count() + 1);
    if let Some(spoiler) = spoilers.iter().find(|spoiler| text.contains(**spoiler)) {
        return Err(format!("`{spoiler}` may begin a text of several lines"));
    }
    let mut found = Vec::new();
    let mut quote: Option<char> = None;
    // A mark of this line may be an apostrophe.
    let mut is_doubtful = false;
    let (mut at, mut before) = (0, '\n');
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let mut length = c.len_utf8();
        // A shell has quotations within quotations.
        is_doubtful |= *line == "#" && (rest.starts_with("$(") || rest.starts_with(":-\""));
        let in_block = block.filter(|(open, _)| quote.is_none() && rest.starts_with(open));
        let in_line = quote.is_none()
            && !line.is_empty()
            && rest.starts_with(line)
            && (*line == "//" || before.is_whitespace())
            && !(at == 0 && rest.starts_with("#!"));
        if in_block.is_some() || in_line {
            length = match in_block {
                Some((open, close)) => {
                    let inside = rest[open.len()..].find(close).ok_or_else(|| doubt(at))?;
                    open.len() + inside + close.len()
                }
                None => rest.lines().next().unwrap_or_default().trim_end().len(),
            };
            if is_doubtful {
                return Err(doubt(at));
            }
            found.push(at..at + length);
        } else if c == '\n' {
            if quote.is_some() {
                return Err(doubt(at));
            }
            is_doubtful = false;
        } else if let Some(open) = quote {
            let next = rest[length..].chars().next();
            if c == '\\' && next == Some(open) && open == '\'' && *line != "//" {
                return Err(doubt(at));
            }
            if c == '\\' && open != '`' {
                length += next.map_or(0, char::len_utf8);
            } else if c == open {
                quote = None;
            }
        } else if quotes.contains(c) {
            match before.is_alphanumeric() && c == '\'' || before.is_ascii_digit() {
                true => is_doubtful = true,
                false => quote = Some(c),
            }
        }
        before = text[at..at + length].chars().next_back().unwrap_or(c);
        at += length;
    }
    match quote {
        Some(_) => Err(doubt(text.len())),
        None => Ok(found),
    }
}
