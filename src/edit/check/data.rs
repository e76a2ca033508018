//! Checks that JSON and TOML files still parse, and that Python keeps one kind of indentation.

use super::{Pair, Problem};
use crate::edit::paths::ending;
use crate::edit::text::line_of;
use crate::index::parts::parts;

/// The parse error of a JSON or TOML file. `None` if it parses, if the old text did not parse either, or for other
/// files.
pub fn unreadable(path: &str, before: &str, after: &str) -> Option<Problem> {
    let read = |text: &str| -> Result<(), (usize, String)> {
        match ending(path) {
            "json" => serde_json::from_str::<serde::de::IgnoredAny>(text)
                .map(drop)
                .map_err(|error| (error.line(), error.to_string())),
            "toml" => toml::from_str::<toml::Table>(text).map(drop).map_err(|error| {
                (error.span().map_or(1, |span| line_of(text, span.start)), error.message().to_owned())
            }),
            _ => Ok(()),
        }
    };
    if read(before).is_err() && !before.trim().is_empty() {
        return None;
    }
    let (line, said) = read(after).err()?;
    Some(Problem { line, message: format!("{path} can no longer be read, line {line}: {said}") })
}

/// The first new Python line with tabs in a file indented by spaces, or the other way round. Lines inside strings are
/// skipped.
pub fn mixed_indentation(pair: &Pair) -> Vec<Problem> {
    if pair.language != "python" {
        return Vec::new();
    }
    let is_tab = |line: &&str| line.starts_with('\t');
    let is_space = |line: &&str| line.starts_with("  ");
    let (tabs, spaces) = (pair.before.lines().filter(is_tab).count(), pair.before.lines().filter(is_space).count());
    // A file that mixes both already, or has no indentation, sets no rule.
    if (tabs > 0) == (spaces > 0) {
        return Vec::new();
    }
    let texts = parts(pair.path, pair.after).map(|found| found.texts).unwrap_or_default();
    let mut start = 0;
    for (number, line) in pair.after.split('\n').enumerate() {
        let in_text = texts.iter().any(|text| text.contains(&start));
        let is_other = if tabs > 0 { is_space(&line) } else { is_tab(&line) };
        if is_other && !in_text && !line.trim().is_empty() && !pair.before.contains(line) {
            let (has, wants) = if tabs > 0 { ("spaces", "tabs") } else { ("a tab", "spaces") };
            let line = number + 1;
            return vec![Problem {
                line,
                message: format!("line {line} is indented with {has}, the file with {wants}; use {wants}"),
            }];
        }
        start += line.len() + 1;
    }
    Vec::new()
}
