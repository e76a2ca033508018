//! Distinguishes paths, file names, quotations and numbers from ordinary words.

use super::scan::{Kind, Token};
use super::words::listed;

/// Well-known file names without an extension.
const BARE_FILES: &str = "\
    makefile, dockerfile, license, readme, changelog, gemfile, procfile, justfile, rakefile, vagrantfile, \
    jenkinsfile, codeowners";

/// Words with a dot that name a product, not a file.
const PRODUCTS: &[&str] =
    &["node.js", "next.js", "vue.js", "react.js", "express.js", "three.js", "d3.js", "asp.net", "vb.net", "socket.io"];

/// Whether `text` (a word without surrounding punctuation) names a file or a folder, or is a URL.
pub fn is_path(text: &str) -> bool {
    let low = text.to_lowercase();
    if is_url(&low) {
        return true;
    }
    if text.contains(['(', '<', '>', '{', '=', '"', '|', ';', ','])
        || text.contains("::")
        || text.contains('@') && !text.contains('/')
    {
        return false;
    }
    if low.starts_with("~/") || low.starts_with("./") || low.starts_with("../") || low == "~" {
        return true;
    }
    let windows = low.as_bytes().get(1) == Some(&b':') && low.contains('\\') && low.as_bytes()[0].is_ascii_alphabetic();
    if windows
        || low.starts_with('/')
            && low.len() > 1
            && low[1..].starts_with(|c: char| c.is_alphanumeric() || c == '.' || c == '_')
    {
        return true;
    }
    if text.contains('/') {
        return is_relative(text, &low);
    }
    listed(BARE_FILES, &low) && text.starts_with(char::is_uppercase)
        || has_extension(&low) && !PRODUCTS.contains(&low.as_str())
        || low.starts_with('.')
            && low.len() > 2
            && low[1..].chars().all(|c| c.is_alphanumeric() || "._-".contains(c))
            && !low[1..].starts_with(|c: char| c.is_ascii_digit())
}

pub fn is_url(low: &str) -> bool {
    ["http://", "https://", "file://", "ftp://", "ssh://", "s3://"].iter().any(|scheme| low.starts_with(scheme))
        || low.starts_with("www.")
}

/// Whether a word with a slash is a path: `src/a.rs` and `src/models/` are, `and/or`, `24/7`, `I/O` are not.
fn is_relative(text: &str, low: &str) -> bool {
    if low.chars().all(|c| c.is_ascii_digit() || c == '/' || c == '.') {
        return false;
    }
    if listed(
        "and/or, i/o, w/o, n/a, he/she, yes/no, true/false, on/off, tcp/ip, ci/cd, a/b, input/output, \
        read/write, client/server",
        low,
    ) {
        return false;
    }
    let segments: Vec<&str> = text.split('/').collect();
    let fine = |segment: &&str| segment.chars().all(|c| c.is_alphanumeric() || "._-@*+~[]$ ".contains(c));
    segments.iter().all(fine) && segments.iter().filter(|s| !s.is_empty()).count() >= 1
}

/// Whether a word is `name.ext`, with one to five letters or digits after the last dot, the first of them a letter (or `7z`).
fn has_extension(low: &str) -> bool {
    let Some((stem, extension)) = low.rsplit_once('.') else { return false };
    let fine = (1..=5).contains(&extension.len()) && extension.chars().all(|c| c.is_ascii_alphanumeric());
    let letter = extension.starts_with(|c: char| c.is_ascii_alphabetic()) || matches!(extension, "7z");
    let numeric = stem.chars().all(|c| c.is_ascii_digit() || c == '.' || c == '$');
    fine && letter
        && !stem.is_empty()
        && !numeric
        && !stem.ends_with('.')
        && stem.chars().any(char::is_alphanumeric)
        && !matches!(low, "e.g" | "i.e" | "a.m" | "p.m" | "u.s" | "u.k" | "vs.no" | "т.е" | "т.д" | "т.п")
        && !is_method_call(stem, extension)
}

/// Whether a word with a dot is a field or method (`user.name`, `self.x`) because its name is not a
/// file extension.
fn is_method_call(stem: &str, extension: &str) -> bool {
    const FIELDS: &[&str] = &[
        "name", "len", "id", "get", "set", "map", "push", "parse", "new", "run", "call", "size", "count", "value",
        "key", "data", "type", "state", "title", "close", "open", "read", "write", "send", "init", "start", "stop",
        "then", "catch", "find", "sort", "keys", "text",
    ];
    FIELDS.contains(&extension) || stem == "self" || stem == "this"
}

/// The text inside a quotation, backticks or a code fence.
pub fn unquoted<'a>(token: &Token<'a>) -> &'a str {
    let text = token.text;
    if let Some(inner) = text.strip_prefix("```") {
        let inner = inner.strip_suffix("```").unwrap_or(inner);
        return inner.split_once('\n').map_or(inner, |(_, body)| body).trim_end_matches('\n');
    }
    let mut chars = text.chars();
    chars.next();
    chars.next_back();
    chars.as_str()
}

/// The paths and quotations among some tokens, without duplicates and in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Mentions {
    pub paths: Vec<String>,
    pub quoted: Vec<String>,
}

impl Mentions {
    pub fn add(&mut self, token: &Token) {
        let keep = |list: &mut Vec<String>, text: &str| {
            if !text.is_empty() && !list.iter().any(|one| one == text) {
                list.push(text.to_owned());
            }
        };
        match token.kind {
            Kind::Opaque => {
                let inner = unquoted(token);
                if is_path(inner) && !inner.contains(char::is_whitespace) {
                    keep(&mut self.paths, inner);
                }
                keep(&mut self.quoted, inner);
            }
            Kind::Word if is_path(token.text) => keep(&mut self.paths, token.text),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_told_apart_from_words_with_dots_and_slashes() {
        let paths = "src/a.rs main.rs /tmp/x.jpg ~/notes ../b src/models/ Makefile .gitignore a-b.test.tsx https://a.b/c \
                     C:\\x\\y.txt backup.7z src/*.rs";
        let words = "and/or 24/7 e.g v1.2.3 1.5 Node.js user.name foo() std::fs a@b.com I/O 10/12/2026";
        assert_eq!(paths.split(' ').filter(|path| !is_path(path)).collect::<Vec<_>>(), [""; 0]);
        assert_eq!(words.split(' ').filter(|word| is_path(word)).collect::<Vec<_>>(), [""; 0]);
    }
}
