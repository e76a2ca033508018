//! Lists and changes entries of JSON, TOML and YAML files by their keys; everything else stays as written.

mod json;
mod toml;
pub(crate) mod yaml;

use serde_json::Value;

use super::paths;

/// The path of an entry: its keys, outermost first. The key of a YAML list element is its index,
/// counted from 0.
pub type Keys = Vec<String>;

/// A change of one entry, named by its keys.
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

#[derive(Clone, Copy)]
enum Form {
    Json,
    Toml,
    Yaml,
}

impl Form {
    fn of(path: &str) -> Option<Form> {
        match paths::ending(path) {
            "json" => Some(Form::Json),
            "toml" => Some(Form::Toml),
            "yaml" | "yml" => Some(Form::Yaml),
            _ => None,
        }
    }
}

/// All entries of a file, parents first. `None` if it has none of the three formats, cannot be
/// read, or is not an object.
pub fn entries(path: &str, text: &str) -> Option<Vec<(Keys, Sort)>> {
    let form = Form::of(path)?;
    let all = read(path, text).filter(Value::is_object)?;
    let mut found = Vec::new();
    walk(&all, matches!(form, Form::Yaml), &mut Vec::new(), &mut |keys, value| {
        let sort = match value {
            Value::Object(_) => Sort::Object,
            Value::Array(_) => Sort::List,
            _ => Sort::Value,
        };
        found.push((keys.clone(), sort));
    });
    Some(found)
}

/// The values of a file in one of the three formats.
pub(super) fn read(path: &str, text: &str) -> Option<Value> {
    match Form::of(path)? {
        Form::Json => json::read(text),
        Form::Toml => toml::read(text),
        Form::Yaml => yaml::read(text),
    }
}

/// Calls `look` with every entry at any depth and its keys; if `into_lists`, also with those of
/// objects in lists.
fn walk(value: &Value, into_lists: bool, keys: &mut Keys, look: &mut dyn FnMut(&Keys, &Value)) {
    for (key, value) in value.as_object().into_iter().flatten() {
        keys.push(key.clone());
        look(keys, value);
        walk(value, into_lists, keys, look);
        keys.pop();
    }
    for (at, value) in value.as_array().into_iter().flatten().enumerate().filter(|_| into_lists) {
        keys.push(at.to_string());
        walk(value, into_lists, keys, look);
        keys.pop();
    }
}

/// Makes the changes one after the other and returns the new text.
///
/// # Errors
/// An entry is missing, or is not of the kind that the change needs; the message names it.
pub(super) fn changed(path: &str, text: &str, changes: &[Change]) -> Result<String, String> {
    match Form::of(path) {
        Some(Form::Toml) => toml::changed(text, changes),
        Some(Form::Yaml) => yaml::changed(text, changes),
        Some(Form::Json) | None => json::changed(text, changes),
    }
}

impl Change {
    /// The path of the entry that it changes.
    pub fn keys(&self) -> &Keys {
        let (Change::Set(keys, _) | Change::Add(keys, _) | Change::Drop(keys, _) | Change::Remove(keys)) = self;
        keys
    }

    /// [`Change::keys`], to write the path as the file spells it.
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
