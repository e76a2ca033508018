//! Checks that JSON and TOML files still parse.

use crate::edit::paths::ending;
use crate::edit::text::line_of;

/// The parse error of a JSON or TOML file. `None` if it parses, if the old text did not parse either, or for other
/// files.
pub fn unreadable(path: &str, before: &str, after: &str) -> Option<String> {
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
    Some(format!("{path} can no longer be read, line {line}: {said}"))
}
