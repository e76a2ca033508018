//! Finds problems in a changed file: syntax errors, lost or duplicate definitions, unfinished code,
//! undefined names.
//!
//! Each message is written for the model that made the change. A false alarm costs more than a
//! miss, so doubtful cases are not reported.

mod lost;
mod undefined;
mod unfinished;

pub use unfinished::TO_BE_WRITTEN;

use crate::index::language_of;
use crate::index::parts::{Part, parts};
use crate::keyed;
use crate::paths::ending;
use crate::text::{Source, line_of, nth_line};

/// Maximum number of problems reported; later ones usually follow from the first.
const PROBLEMS_MAX: usize = 12;

/// The old and the new text of one file, with their parsed parts.
struct Pair<'a> {
    path: &'a str,
    language: &'static str,
    before: &'a str,
    after: &'a str,
    before_parts: Vec<Part>,
    after_parts: Vec<Part>,
}

/// The problems in `after` that `before` did not have, at most `PROBLEMS_MAX`. The request allows
/// the names in `asked` to vanish; `known` returns whether the project defines a name.
pub fn problems(path: &str, before: &str, after: &str, asked: &[String], known: &dyn Fn(&str) -> bool) -> Vec<String> {
    let (before, after) = (Source::new(before).text, Source::new(after).text);
    if let Some(found) = unreadable(path, &before, &after) {
        return vec![found];
    }
    let items = |text: &str| parts(path, text).map(|found| (found.items, found.faults));
    let (Some((before_parts, old_faults)), Some((after_parts, faults))) = (items(&before), items(&after)) else {
        return unfinished::marks(&before, &after);
    };
    let pair = Pair { path, language: language_of(path), before: &before, after: &after, before_parts, after_parts };
    let mut found = Vec::new();
    if faults.len() > old_faults.len() {
        found.push(fault(&pair, &old_faults, &faults));
    }
    found.extend(unfinished::marks(&before, &after));
    found.extend(unfinished::bodies(&pair));
    found.extend(unfinished::entries(&pair));
    found.extend(lost::lost(&pair, asked));
    found.extend(lost::doubled(&pair));
    found.extend(lost::repeated(&pair));
    if faults.is_empty() {
        found.extend(undefined::names(&pair, known));
        found.extend(undefined::attributes(&pair));
    }
    found.truncate(PROBLEMS_MAX);
    found
}

/// The parse error of a JSON, TOML or YAML file. `None` if it parses, if the old text did not parse
/// either, or if the file is of another type.
fn unreadable(path: &str, before: &str, after: &str) -> Option<String> {
    let read = |text: &str| -> Result<(), (usize, String)> {
        match ending(path) {
            "json" => serde_json::from_str::<serde::de::IgnoredAny>(text)
                .map(drop)
                .map_err(|error| (error.line(), error.to_string())),
            "toml" => toml::from_str::<toml::Table>(text).map(drop).map_err(|error| {
                (error.span().map_or(1, |span| line_of(text, span.start)), error.message().to_owned())
            }),
            "yaml" | "yml" => keyed::yaml::fault(text).map_or(Ok(()), Err),
            _ => Ok(()),
        }
    };
    if read(before).is_err() && !before.trim().is_empty() {
        return None;
    }
    let (line, said) = read(after).err()?;
    Some(format!("{path} can no longer be read, line {line}: {said}"))
}

/// The message for the first line that does not parse and was not there before.
fn fault(pair: &Pair, old_faults: &[usize], faults: &[usize]) -> String {
    let new = new_fault((pair.before, old_faults), (pair.after, faults)).unwrap_or(faults[0]);
    let shown: String = nth_line(pair.after, new).trim().chars().take(160).collect();
    format!("{} does not parse at line {new}: `{shown}`; balance its braces, quotes and indentation", pair.path)
}

/// The first line of `after` that does not parse, unless the same line does not parse in `before`
/// either. Each text comes with the numbers of its unparsable lines.
pub(super) fn new_fault((before, old_faults): (&str, &[usize]), (after, faults): (&str, &[usize])) -> Option<usize> {
    let known: Vec<&str> = old_faults.iter().map(|number| nth_line(before, *number).trim()).collect();
    faults.iter().copied().find(|number| !known.contains(&nth_line(after, *number).trim()))
}

#[cfg(test)]
mod tests;
