//! Adds and removes monobloc's entries in the text of a JSON or TOML file; everything else stays unchanged.

use std::path::Path;

use anyhow::{Result, anyhow};
use serde_json::Value;

use crate::edit::keyed::{self, Change, Keys};
use crate::edit::{self, Edit, line_of};

const TOML: &str = "toml";

/// An entry in a file. Null marks an unwanted entry, which is removed.
pub type Entry = (Keys, Value);

/// The text with these entries; blank text counts as an empty file.
///
/// # Errors
/// If the file cannot be parsed, or has something else in the place of an entry; the message names
/// file and place.
pub fn put(file: &Path, text: &str, entries: &[Entry]) -> Result<String> {
    let form = form(file);
    let empty = if form.ends_with(TOML) { "" } else { "{}\n" };
    let mut text = if text.trim().is_empty() { empty.to_owned() } else { text.to_owned() };
    parsed(file, &text)?;
    let mut all = Vec::new();
    for (keys, value) in entries {
        leaves(keys, value, &mut all);
    }
    let (unwanted, wanted): (Vec<Entry>, Vec<Entry>) = all.into_iter().partition(|(_, value)| value.is_null());
    for (keys, _) in unwanted {
        text = removed(form, text, &keys).map_err(|why| named(file, &why))?;
    }
    let wanted: Vec<Change> = wanted.into_iter().map(|(keys, value)| Change::Set(keys, value)).collect();
    changed(form, &text, &wanted).map_err(|why| named(file, &why))
}

/// The text without these entries, and without objects that become empty.
pub fn without(file: &Path, text: &str, entries: &[Entry]) -> Result<String> {
    parsed(file, text)?;
    let form = form(file);
    let mut text = text.to_owned();
    for (keys, _) in entries {
        text = removed(form, text, keys).map_err(|why| named(file, &why))?;
    }
    Ok(text)
}

/// Whether an entry called monobloc exists.
pub fn has(file: &Path, text: &str, entries: &[Entry]) -> Result<bool> {
    let there = parsed(file, text)?;
    let own = |keys: &Keys| keys.iter().any(|key| key == "monobloc");
    Ok(entries.iter().any(|(keys, _)| own(keys) && there.contains(keys)))
}

/// Whether the text is empty, without even a comment.
pub fn is_bare(text: &str) -> bool {
    let text: String = text.split_whitespace().collect();
    matches!(text.as_str(), "" | "{}")
}

/// The keys of all entries.
fn parsed(file: &Path, text: &str) -> Result<Vec<Keys>> {
    let form = form(file);
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    if form.ends_with(TOML) {
        toml::from_str::<toml::Table>(text).map_err(|error| {
            let line = error.span().map_or(1, |span| line_of(text, span.start));
            named(file, &format!("{} on line {line}", error.message().replace('\n', ", ")))
        })?;
    }
    // Without changes this only parses; the error gives the position of the fault.
    changed(form, text, &[]).map_err(|why| named(file, &why))?;
    let all = keyed::entries(form, text).ok_or_else(|| named(file, "it has no entries"))?;
    Ok(all.into_iter().map(|(keys, _)| keys).collect())
}

fn named(file: &Path, why: &str) -> anyhow::Error {
    anyhow!(
        "{}: {why}; nothing was written. Correct that first, or copy what `monobloc connect CLIENT` prints",
        file.display()
    )
}

/// The values in an entry that are not objects, with the keys of each.
fn leaves(keys: &[String], value: &Value, found: &mut Vec<Entry>) {
    let Value::Object(entries) = value else {
        found.push((keys.to_vec(), value.clone()));
        return;
    };
    for (key, value) in entries {
        let mut inner = keys.to_vec();
        inner.push(key.clone());
        leaves(&inner, value, found);
    }
}

fn changed(form: &str, text: &str, changes: &[Change]) -> Result<String, String> {
    Ok(edit::apply(form, text, &Edit::Entries(changes))?.text)
}

/// A name whose extension shows [`keyed`] the format of a file; the client's file may end in
/// `.jsonc`.
fn form(file: &Path) -> &'static str {
    if file.extension().is_some_and(|ending| ending == TOML) { "client.toml" } else { "client.json" }
}

/// The text without an entry, and without each enclosing object that becomes empty and has no
/// comment.
fn removed(form: &str, text: String, keys: &[String]) -> Result<String, String> {
    let all = |text: &str| keyed::entries(form, text).unwrap_or_default();
    if !all(&text).iter().any(|(one, _)| one == keys) {
        return Ok(text);
    }
    let shorter = changed(form, &text, &[Change::Remove(keys.to_vec())])?;
    let outer = &keys[..keys.len() - 1];
    let inside = |one: &Keys| one.len() > outer.len() && one.starts_with(outer);
    if outer.is_empty() || all(&shorter).iter().any(|(one, _)| inside(one)) {
        return Ok(shorter);
    }
    let pruned = removed(form, shorter.clone(), outer)?;
    Ok(if comments(&pruned) < comments(&shorter) { shorter } else { pruned })
}

/// Counts the characters that begin comments. Some are in strings, but only a difference matters.
fn comments(text: &str) -> usize {
    ["//", "/*", "#"].iter().map(|sign| text.matches(sign).count()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entries() -> Vec<Entry> {
        let keys = |all: &[&str]| -> Keys { all.iter().map(|&key| key.to_owned()).collect() };
        let value = json!({ "command": "/m", "args": ["acp"], "limit": { "context": 8 } });
        vec![(keys(&["s", "monobloc"]), value), (keys(&["unwanted"]), Value::Null)]
    }

    /// Entries are added once and removed again.
    fn check(name: &str, text: &str) -> String {
        let file = Path::new(name);
        let with = put(file, text, &entries()).unwrap();
        assert!(has(file, &with, &entries()).unwrap() && !has(file, text, &entries()).unwrap(), "{with}");
        assert_eq!(put(file, &with, &entries()).unwrap(), with, "a second time changes nothing");
        let without = without(file, &with, &entries()).unwrap();
        assert!(!has(file, &without, &entries()).unwrap(), "{without}");
        without
    }

    #[test]
    fn what_goes_in_comes_out() {
        let json = "{\n  // mine\n  \"s\": {\n    \"o\": 1 // keep\n  }\n}\n";
        assert!(check("a.json", json).contains("\"o\": 1"));
        assert!(check("a.jsonc", "{ \"a\": 1 }").contains("\"a\": 1"));
        assert!(check("a.json", "{\n  \"s\": {\n    // only this\n  }\n}\n").contains("// only this"));
        assert_eq!(check("a.toml", "# mine\na = 1 # why\n"), "# mine\na = 1 # why\n");
        assert!(is_bare(&check("a.json", "")) && is_bare(&check("a.toml", "\n")));
    }

    #[test]
    fn an_entry_that_is_not_wanted_is_taken_out() {
        let with = put(Path::new("a.toml"), "unwanted = 1\n", &entries()).unwrap();
        assert!(!with.contains("unwanted"), "{with}");
    }
}
