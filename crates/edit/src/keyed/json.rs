//! Entries of JSON files, with or without comments.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstObject, CstRootNode};
use serde_json::Value;

use super::{Change, HAS_ENTRIES, NO_ENTRIES, NO_LIST, NOT_THERE, error};

pub fn read(text: &str) -> Option<Value> {
    CstRootNode::parse(text, &ParseOptions::default()).ok()?.to_serde_value()
}

pub fn changed(text: &str, changes: &[Change]) -> Result<String, String> {
    let root = CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| error.to_string())?;
    let top = root.object_value().ok_or("the file has no entries")?;
    for change in changes {
        let (outer, key) = change.place()?;
        let mut object: CstObject = top.clone();
        for outer in outer {
            let inner =
                if change.creates() { object.object_value_or_create(outer) } else { object.object_value(outer) };
            object = inner.ok_or_else(|| error(outer, NO_ENTRIES))?;
        }
        let list = || -> Result<CstArray, String> {
            let entry = object.get(key).ok_or_else(|| error(key, NOT_THERE))?;
            entry.array_value().ok_or_else(|| error(key, NO_LIST))
        };
        match (change, object.get(key)) {
            (Change::Set(_, value), _) => set(&object, key, value)?,
            (Change::Add(_, value), Some(_)) => {
                let list = list()?;
                if !list.elements().iter().any(|one| one.to_serde_value().as_ref() == Some(value)) {
                    list.append(input(value));
                }
            }
            (Change::Add(_, value), None) => {
                drop(object.append(key, CstInputValue::Array(vec![input(value)])));
            }
            (Change::Drop(_, value), _) => {
                let elements = list()?.elements();
                let found = elements.into_iter().find(|one| one.to_serde_value().as_ref() == Some(value));
                found.ok_or_else(|| format!("`{key}` has no {value}"))?.remove();
            }
            (Change::Remove(_), known) => known.ok_or_else(|| error(key, NOT_THERE))?.remove(),
        }
    }
    Ok(root.to_string())
}

fn set(object: &CstObject, key: &str, value: &Value) -> Result<(), String> {
    match (object.get(key), object.object_value(key), value) {
        (_, Some(known), Value::Object(entries)) => {
            for (key, value) in entries {
                set(&known, key, value)?;
            }
        }
        (_, Some(_), _) => return Err(error(key, HAS_ENTRIES)),
        (Some(known), None, _) => known.set_value(input(value)),
        (None, None, _) => drop(object.append(key, input(value))),
    }
    Ok(())
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(truth) => CstInputValue::Bool(*truth),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(all) => CstInputValue::Array(all.iter().map(input).collect()),
        Value::Object(map) => {
            CstInputValue::Object(map.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}
