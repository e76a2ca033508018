//! Collects the paths and quotations in a clause.

use crate::shape::is_path;

use super::scan::{Kind, Token};

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

/// The paths and quotations in a range of tokens, in order and without duplicates.
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
