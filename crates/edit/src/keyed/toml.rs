//! Entries of TOML.

use serde_json::Value;
use toml_edit::{Array, DocumentMut, InlineTable, Item, TableLike};

use super::{Change, HAS_ENTRIES, NO_ENTRIES, NO_LIST, NOT_THERE, error};

pub fn read(text: &str) -> Option<Value> {
    toml::from_str(text).ok()
}

pub fn changed(text: &str, changes: &[Change]) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| error.message().to_owned())?;
    for change in changes {
        let (outer, key) = change.place()?;
        let mut table: &mut dyn TableLike = document.as_table_mut();
        for outer in outer {
            if change.creates() && !table.contains_key(outer) {
                table.insert(outer, toml_edit::table());
            }
            table = table.get_mut(outer).and_then(Item::as_table_like_mut).ok_or_else(|| error(outer, NO_ENTRIES))?;
        }
        let known = table.get_mut(key);
        match (change, known) {
            (Change::Set(_, value), _) => set(table, key, value)?,
            (Change::Add(_, value), Some(known)) => {
                let list = known.as_array_mut().ok_or_else(|| error(key, NO_LIST))?;
                if place_in(list, value)?.is_some() {
                    continue;
                }
                // In a list with one entry per line, the new entry gets a line of its own.
                let last = list.iter().last().and_then(|last| last.decor().prefix()?.as_str().map(str::to_owned));
                match last.filter(|prefix| prefix.contains('\n')) {
                    Some(prefix) => list.push_formatted(value_of(value)?.decorated(prefix, "")),
                    None => list.push(value_of(value)?),
                }
            }
            (Change::Add(_, value), None) => {
                let list: Array = [value_of(value)?].into_iter().collect();
                drop(table.insert(key, Item::Value(list.into())));
            }
            (Change::Drop(_, value), known) => {
                let list =
                    known.ok_or_else(|| error(key, NOT_THERE))?.as_array_mut().ok_or_else(|| error(key, NO_LIST))?;
                let at = place_in(list, value)?.ok_or_else(|| format!("`{key}` has no {value}"))?;
                list.remove(at);
            }
            (Change::Remove(_), known) => {
                known.ok_or_else(|| error(key, NOT_THERE))?;
                table.remove(key);
            }
        }
    }
    Ok(document.to_string())
}

/// Sets an entry of a TOML table. The white space and comments around an old value stay.
fn set(table: &mut dyn TableLike, key: &str, value: &Value) -> Result<(), String> {
    match (table.get_mut(key), value) {
        (Some(known), Value::Object(entries)) if known.is_table_like() => {
            let inner = known.as_table_like_mut().ok_or_else(|| error(key, NO_ENTRIES))?;
            for (key, value) in entries {
                set(inner, key, value)?;
            }
            // The space before `}` used to follow the last value.
            if let Some(inline) = known.as_inline_table_mut() {
                inline.fmt();
            }
        }
        (Some(known), _) => {
            let known = known.as_value_mut().filter(|known| !known.is_inline_table());
            let known = known.ok_or_else(|| error(key, HAS_ENTRIES))?;
            let decor = known.decor().clone();
            *known = value_of(value)?;
            *known.decor_mut() = decor;
        }
        (None, _) => drop(table.insert(key, Item::Value(value_of(value)?))),
    }
    Ok(())
}

/// The position of a value in a TOML list.
fn place_in(list: &Array, value: &Value) -> Result<Option<usize>, String> {
    let wanted = value_of(value)?.to_string();
    Ok(list.iter().position(|one| one.to_string().trim() == wanted.trim()))
}

fn value_of(value: &Value) -> Result<toml_edit::Value, String> {
    Ok(match value {
        Value::Null => return Err("TOML has no null".to_owned()),
        Value::Bool(truth) => (*truth).into(),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => whole.into(),
            (None, Some(part)) => part.into(),
            _ => return Err(format!("{number} is too large for TOML")),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(all) => {
            let all: Result<Array, String> = all.iter().map(value_of).collect();
            all?.into()
        }
        Value::Object(map) => {
            let mut table = InlineTable::new();
            for (key, value) in map {
                table.insert(key, value_of(value)?);
            }
            table.into()
        }
    })
}
