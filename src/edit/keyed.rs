//! Lists and changes entries of JSON and TOML files by their keys; all other text stays unchanged.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstObject, CstRootNode};
use serde_json::Value;
use toml_edit::{Array, DocumentMut, InlineTable, Item, TableLike};

use super::paths;

/// The path of an entry: its keys, outermost first.
pub type Keys = Vec<String>;

/// A change of one entry.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Sets the entry. An object is merged into an existing one.
    Set(Keys, Value),
    /// Adds the value to the end of a list unless the list already has it; a missing list is
    /// created.
    Add(Keys, Value),
    /// Removes the value from a list.
    Drop(Keys, Value),
    Remove(Keys),
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// It contains entries.
    Object,
    List,
    Value,
}

/// All entries of a file, each after the one that contains it. `None` if the file is neither JSON
/// nor TOML, does not parse, or is not an object.
pub fn entries(path: &str, text: &str) -> Option<Vec<(Keys, Sort)>> {
    let all = read(path, text).filter(Value::is_object)?;
    let mut found = Vec::new();
    walk(&all, &mut Vec::new(), &mut |keys, value| {
        let sort = match value {
            Value::Object(_) => Sort::Object,
            Value::Array(_) => Sort::List,
            _ => Sort::Value,
        };
        found.push((keys.clone(), sort));
    });
    Some(found)
}

fn read(path: &str, text: &str) -> Option<Value> {
    match paths::ending(path) {
        "json" => CstRootNode::parse(text, &ParseOptions::default()).ok()?.to_serde_value(),
        "toml" => toml::from_str(text).ok(),
        _ => None,
    }
}

/// Calls `look` with every entry at any depth and its keys.
fn walk(value: &Value, keys: &mut Keys, look: &mut dyn FnMut(&Keys, &Value)) {
    for (key, value) in value.as_object().into_iter().flatten() {
        keys.push(key.clone());
        look(keys, value);
        walk(value, keys, look);
        keys.pop();
    }
}

/// Makes the changes one after the other and returns the new text.
///
/// # Errors
/// An entry is missing, or is not of the kind that the change needs; the message names it.
pub(super) fn changed(path: &str, text: &str, changes: &[Change]) -> Result<String, String> {
    if path.ends_with(".toml") { in_toml(text, changes) } else { in_json(text, changes) }
}

impl Change {
    pub fn keys(&self) -> &Keys {
        let (Change::Set(keys, _) | Change::Add(keys, _) | Change::Drop(keys, _) | Change::Remove(keys)) = self;
        keys
    }

    pub fn keys_mut(&mut self) -> &mut Keys {
        let (Change::Set(keys, _) | Change::Add(keys, _) | Change::Drop(keys, _) | Change::Remove(keys)) = self;
        keys
    }

    /// The keys of the containers, and the entry's own key.
    fn place(&self) -> Result<(&[String], &str), String> {
        let (last, outer) = self.keys().split_last().ok_or("a change names no entry")?;
        Ok((outer, last))
    }

    /// Whether the change creates missing containers.
    fn creates(&self) -> bool {
        matches!(self, Change::Set(..) | Change::Add(..))
    }
}

const NO_ENTRIES: &str = "has no entries of its own";
const NO_LIST: &str = "is not a list";
const NOT_THERE: &str = "is not there";
const HAS_ENTRIES: &str = "has entries of its own; name the one that changes, with `>` between the keys";

fn error(key: &str, what: &str) -> String {
    format!("`{key}` {what}")
}

fn in_json(text: &str, changes: &[Change]) -> Result<String, String> {
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
            (Change::Set(_, value), _) => set_in_json(&object, key, value)?,
            (Change::Add(_, value), Some(_)) => {
                let list = list()?;
                if !list.elements().iter().any(|one| one.to_serde_value().as_ref() == Some(value)) {
                    list.append(json_input(value));
                }
            }
            (Change::Add(_, value), None) => {
                drop(object.append(key, CstInputValue::Array(vec![json_input(value)])));
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

fn set_in_json(object: &CstObject, key: &str, value: &Value) -> Result<(), String> {
    match (object.get(key), object.object_value(key), value) {
        (_, Some(known), Value::Object(entries)) => {
            for (key, value) in entries {
                set_in_json(&known, key, value)?;
            }
        }
        (_, Some(_), _) => return Err(error(key, HAS_ENTRIES)),
        (Some(known), None, _) => known.set_value(json_input(value)),
        (None, None, _) => drop(object.append(key, json_input(value))),
    }
    Ok(())
}

fn json_input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(truth) => CstInputValue::Bool(*truth),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(all) => CstInputValue::Array(all.iter().map(json_input).collect()),
        Value::Object(map) => {
            CstInputValue::Object(map.iter().map(|(key, value)| (key.clone(), json_input(value))).collect())
        }
    }
}

fn in_toml(text: &str, changes: &[Change]) -> Result<String, String> {
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
            (Change::Set(_, value), _) => set_in_toml(table, key, value)?,
            (Change::Add(_, value), Some(known)) => {
                let list = known.as_array_mut().ok_or_else(|| error(key, NO_LIST))?;
                if place_in(list, value)?.is_some() {
                    continue;
                }
                // In a list with one entry a line, the new entry gets its own line.
                let last = list.iter().last().and_then(|last| last.decor().prefix()?.as_str().map(str::to_owned));
                match last.filter(|prefix| prefix.contains('\n')) {
                    Some(prefix) => list.push_formatted(toml_value(value)?.decorated(prefix, "")),
                    None => list.push(toml_value(value)?),
                }
            }
            (Change::Add(_, value), None) => {
                let list: Array = [toml_value(value)?].into_iter().collect();
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
fn set_in_toml(table: &mut dyn TableLike, key: &str, value: &Value) -> Result<(), String> {
    match (table.get_mut(key), value) {
        (Some(known), Value::Object(entries)) if known.is_table_like() => {
            let inner = known.as_table_like_mut().ok_or_else(|| error(key, NO_ENTRIES))?;
            for (key, value) in entries {
                set_in_toml(inner, key, value)?;
            }
            // The space before `}` belonged to the value that used to be last.
            if let Some(inline) = known.as_inline_table_mut() {
                inline.fmt();
            }
        }
        (Some(known), _) => {
            let known = known.as_value_mut().filter(|known| !known.is_inline_table());
            let known = known.ok_or_else(|| error(key, HAS_ENTRIES))?;
            let decor = known.decor().clone();
            *known = toml_value(value)?;
            *known.decor_mut() = decor;
        }
        (None, _) => drop(table.insert(key, Item::Value(toml_value(value)?))),
    }
    Ok(())
}

/// The position of a value in a TOML list.
fn place_in(list: &Array, value: &Value) -> Result<Option<usize>, String> {
    let wanted = toml_value(value)?.to_string();
    Ok(list.iter().position(|one| one.to_string().trim() == wanted.trim()))
}

fn toml_value(value: &Value) -> Result<toml_edit::Value, String> {
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
            let all: Result<Array, String> = all.iter().map(toml_value).collect();
            all?.into()
        }
        Value::Object(map) => {
            let mut table = InlineTable::new();
            for (key, value) in map {
                table.insert(key, toml_value(value)?);
            }
            table.into()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn keys(all: &str) -> Keys {
        all.split(" > ").map(str::to_owned).collect()
    }

    fn check(path: &str, text: &str, change: Change, expected: &str) {
        assert_eq!(changed(path, text, std::slice::from_ref(&change)).as_deref(), Ok(expected), "{change:?}");
    }

    const JSON: &str = "{\n  \"a\": 1,\n  \"b\": {\n    \"c-d\": \"x\"\n  },\n  \"l\": [\n    \"p\"\n  ]\n}\n";
    const TOML: &str = "# head\n[a]\nb = 1 # why\nl = [\n    \"p\",\n    \"q\",\n]\n\n[a.c]\nd = \"x\"\n";

    #[test]
    fn entries_are_listed_with_their_keys() {
        let found = entries("a.json", JSON).unwrap();
        let found: Vec<(String, Sort)> = found.into_iter().map(|(keys, sort)| (keys.join(" > "), sort)).collect();
        let expected = [("a", Sort::Value), ("b", Sort::Object), ("b > c-d", Sort::Value), ("l", Sort::List)]
            .map(|(k, s)| (k.to_owned(), s));
        assert_eq!(found, expected);
        assert_eq!(entries("a.toml", TOML).unwrap().len(), 5);
        assert_eq!((entries("a.md", "x"), entries("a.json", "{"), entries("a.json", "[1]")), (None, None, None));
    }

    #[test]
    fn entries_of_json_change_and_all_else_stays() {
        check("a.json", JSON, Change::Set(keys("a"), json!(2)), &JSON.replace("1,", "2,"));
        check("a.json", JSON, Change::Set(keys("b > c-d"), json!("y")), &JSON.replace("\"x\"", "\"y\""));
        check("a.json", JSON, Change::Set(keys("b > e"), json!(3)), &JSON.replace("\"x\"", "\"x\",\n    \"e\": 3"));
        check("a.json", JSON, Change::Set(keys("b"), json!({"e": 3})), &JSON.replace("\"x\"", "\"x\",\n    \"e\": 3"));
        check("a.json", JSON, Change::Add(keys("l"), json!("q")), &JSON.replace("\"p\"", "\"p\",\n    \"q\""));
        check("a.json", JSON, Change::Add(keys("l"), json!("p")), JSON);
        check("a.toml", TOML, Change::Add(keys("a > l"), json!("p")), TOML);
        check("a.json", JSON, Change::Remove(keys("a")), &JSON.replace("  \"a\": 1,\n", ""));
        let refused = |change: Change| changed("a.json", JSON, &[change]).unwrap_err();
        assert!(refused(Change::Set(keys("b"), json!(1))).contains("name the one"));
        assert!(refused(Change::Add(keys("a"), json!(1))).contains("is not a list"));
        assert!(refused(Change::Remove(keys("b > z"))).contains("is not there"));
        assert!(refused(Change::Drop(keys("l"), json!("z"))).contains("has no"));
    }

    #[test]
    fn entries_of_toml_change_and_all_else_stays() {
        check("a.toml", TOML, Change::Set(keys("a > b"), json!(2)), &TOML.replace("b = 1", "b = 2"));
        check("a.toml", TOML, Change::Set(keys("a > c > e"), json!("y")), &format!("{TOML}e = \"y\"\n"));
        check("a.toml", TOML, Change::Add(keys("a > l"), json!("r")), &TOML.replace("\"q\",", "\"q\",\n    \"r\","));
        check("a.toml", TOML, Change::Drop(keys("a > l"), json!("q")), &TOML.replace("    \"q\",\n", ""));
        check("a.toml", TOML, Change::Remove(keys("a > b")), &TOML.replace("b = 1 # why\n", ""));
        check("a.toml", "x = [1]\n", Change::Add(keys("x"), json!(2)), "x = [1, 2]\n");
        check("a.toml", "x = { a = 1 }\n", Change::Set(keys("x"), json!({"b": 2})), "x = { a = 1, b = 2 }\n");
        check("a.toml", TOML, Change::Set(keys("a"), json!({"b": 2})), &TOML.replace("b = 1", "b = 2"));
        assert!(changed("a.toml", TOML, &[Change::Set(keys("a"), json!(1))]).is_err());
    }
}
