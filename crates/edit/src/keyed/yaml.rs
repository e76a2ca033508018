//! Entries of YAML files. A change is tried in several spellings; the first that yields exactly the
//! intended values is used, so nothing else changes.

mod tree;
mod write;

use serde_json::Value;

pub use tree::fault;

use super::{Change, HAS_ENTRIES, NO_ENTRIES, NO_LIST, NOT_THERE, error};

pub fn read(text: &str) -> Option<Value> {
    Some(tree::read(text)?.value())
}

pub fn changed(text: &str, changes: &[Change]) -> Result<String, String> {
    changes.iter().try_fold(text.to_owned(), |text, change| one(&text, change))
}

fn one(text: &str, change: &Change) -> Result<String, String> {
    let tree = tree::read(text).ok_or("the file is not one YAML document without anchors and tags")?;
    let before = tree.value();
    let (outer, key) = change.place()?;
    for depth in 1..=outer.len() {
        match at(&before, &outer[..depth]) {
            Some(value) if !value.is_object() && !value.is_array() => return Err(error(&outer[depth - 1], NO_ENTRIES)),
            None if !change.creates() => return Err(error(&outer[depth - 1], NOT_THERE)),
            _ => {}
        }
    }
    let change = &match (change, at(&before, change.keys())) {
        (Change::Set(keys, Value::Object(entries)), Some(Value::Object(_))) => {
            let inner = |(key, value): (&String, &Value)| {
                Change::Set(keys.iter().chain([key]).cloned().collect(), value.clone())
            };
            return changed(text, &entries.iter().map(inner).collect::<Vec<_>>());
        }
        (Change::Set(..), Some(Value::Object(_))) => return Err(error(key, HAS_ENTRIES)),
        (Change::Set(keys, value), Some(known)) => {
            let is_open = tree.below(keys).is_some_and(tree::Node::is_open);
            let keeps = is_open && known.is_string() && !value.is_string();
            Change::Set(keys.clone(), if keeps { value.clone() } else { as_kind_of(known, value) })
        }
        (Change::Add(keys, value), Some(Value::Array(all))) => {
            let value = all.last().map_or_else(|| value.clone(), |sibling| as_kind_of(sibling, value));
            if all.contains(&value) {
                return Ok(text.to_owned());
            }
            Change::Add(keys.clone(), value)
        }
        (Change::Drop(keys, value), Some(Value::Array(all))) => {
            let found = all.iter().find(|one| as_kind_of(one, value) == **one);
            let found = found.ok_or_else(|| format!("`{key}` has no {value}"))?;
            Change::Drop(keys.clone(), found.clone())
        }
        (Change::Add(..) | Change::Drop(..), Some(_)) => return Err(error(key, NO_LIST)),
        (Change::Drop(..) | Change::Remove(_), None) => return Err(error(key, NOT_THERE)),
        (change, _) => change.clone(),
    };
    let mut expected = before;
    apply(&mut expected, change)?;
    let mut pruned = expected.clone();
    if let Change::Remove(_) = change {
        prune(&mut pruned, outer);
    }
    let is_right = |after: &String| read(after).is_some_and(|now| now == expected || now == pruned);
    let alone = || format!("`{key}` cannot be changed without changing what is around it");
    write::spellings(text, &tree, change).into_iter().find(is_right).ok_or_else(alone)
}

/// The value below `keys`.
fn at<'v>(value: &'v Value, keys: &[String]) -> Option<&'v Value> {
    keys.iter().try_fold(value, |value, key| match value {
        Value::Array(all) => all.get(key.parse::<usize>().ok()?),
        _ => value.get(key),
    })
}

/// Applies the change to the values.
fn apply(value: &mut Value, change: &Change) -> Result<(), String> {
    let (outer, key) = change.place()?;
    let mut here = value;
    for outer in outer {
        let inner = match here {
            Value::Array(all) => outer.parse::<usize>().ok().and_then(|at| all.get_mut(at)),
            Value::Object(all) => Some(all.entry(outer.clone()).or_insert_with(|| Value::Object(Default::default()))),
            _ => None,
        };
        here = inner.ok_or_else(|| error(outer, NO_ENTRIES))?;
    }
    let all = here.as_object_mut().ok_or_else(|| error(key, NOT_THERE))?;
    match change {
        Change::Set(_, value) => drop(all.insert(key.to_owned(), value.clone())),
        Change::Remove(_) => drop(all.remove(key)),
        Change::Add(_, value) => match all.entry(key.to_owned()).or_insert_with(|| Value::Array(Vec::new())) {
            Value::Array(list) => list.push(value.clone()),
            _ => return Err(error(key, NO_LIST)),
        },
        Change::Drop(_, value) => {
            let list = all.get_mut(key).and_then(Value::as_array_mut).ok_or_else(|| error(key, NO_LIST))?;
            let place = list.iter().position(|one| one == value).ok_or_else(|| error(key, NOT_THERE))?;
            list.remove(place);
        }
    }
    Ok(())
}

/// Removes empty containers of `keys`, innermost first: a block without entries cannot be written.
fn prune(value: &mut Value, keys: &[String]) {
    for depth in (1..=keys.len()).rev() {
        let is_empty = at(value, &keys[..depth]).and_then(Value::as_object).is_some_and(|all| all.is_empty());
        if !is_empty || apply(value, &Change::Remove(keys[..depth].to_vec())).is_err() {
            return;
        }
    }
}

/// `new` with the type of `old`: text, or a number or boolean if it is written the same way.
fn as_kind_of(old: &Value, new: &Value) -> Value {
    match (old, new) {
        (Value::String(_), Value::Number(_) | Value::Bool(_)) => Value::String(new.to_string()),
        // A block of lines ends with a line ending.
        (Value::String(old), Value::String(new)) if old.ends_with('\n') && new.trim_end().contains('\n') => {
            Value::String(format!("{}\n", new.trim_end()))
        }
        (Value::Number(_) | Value::Bool(_), Value::String(text)) => {
            let read = serde_json::from_str::<Value>(text).ok();
            let is_same = |read: &Value| {
                let written = read.to_string();
                (read.is_number() || read.is_boolean()) && written == *text
            };
            read.filter(is_same).unwrap_or_else(|| new.clone())
        }
        _ => new.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::keyed::entries;

    const WORKFLOW: &str = "\
# what runs on every push
on: [push]
jobs:
  bake:
    runs-on: ubuntu-22.04 # the oldest
    strategy:
      matrix:
        flour: [\"3.8\", \"3.9\"]
        oven:
          - gas
          - wood
    steps:
      - uses: actions/checkout@v4
      - name: knead
        uses: actions/setup-flour@v3
        with:
          flour-version: 3.9
          cache: 'sacks'
      - run: |
          knead --slowly
          rest
    env:
      SALT: yes please
";

    fn keys(all: &str) -> Vec<String> {
        all.split(" > ").map(str::to_owned).collect()
    }

    fn check(change: Change, old: &str, new: &str) {
        let expected = WORKFLOW.replacen(old, new, 1);
        assert_ne!(expected, WORKFLOW, "{old} is not there");
        assert_eq!(changed(WORKFLOW, std::slice::from_ref(&change)), Ok(expected), "{change:?}");
    }

    #[test]
    fn entries_in_lists_have_their_index() {
        let found: Vec<String> =
            entries("a.yml", WORKFLOW).unwrap().into_iter().map(|(keys, _)| keys.join(" > ")).collect();
        assert!(found.contains(&"jobs > bake > steps > 1 > with > flour-version".to_owned()), "{found:?}");
        assert!(!found.contains(&"jobs > bake > steps > 1".to_owned()), "{found:?}");
    }

    #[test]
    fn a_value_changes_and_all_else_stays() {
        let set = |all: &str, value: Value| Change::Set(keys(all), value);
        check(set("jobs > bake > runs-on", json!("ubuntu-24.04")), "ubuntu-22.04 #", "ubuntu-24.04 #");
        check(set("jobs > bake > steps > 1 > with > cache", json!("bags")), "'sacks'", "'bags'");
        check(set("jobs > bake > steps > 1 > uses", json!("actions/setup-flour@v5")), "flour@v3", "flour@v5");
        check(
            set("jobs > bake > steps > 2 > run", json!("bake")),
            "|\n          knead --slowly\n          rest",
            "bake",
        );
        check(
            set("jobs > bake > timeout-minutes", json!(5)),
            "SALT: yes please\n",
            "SALT: yes please\n    timeout-minutes: 5\n",
        );
        check(set("jobs > bake > env > OIL", json!("no")), "please\n", "please\n      OIL: \"no\"\n");
    }

    #[test]
    fn a_number_that_reads_as_another_is_quoted() {
        let set = |value: Value| Change::Set(keys("jobs > bake > steps > 1 > with > flour-version"), value);
        check(set(json!("3.11")), "version: 3.9", "version: 3.11");
        check(set(json!("3.10")), "version: 3.9", "version: \"3.10\"");
    }

    #[test]
    fn a_truth_a_mode_and_a_block_stay_what_they_are() {
        let set = |text: &str, value: Value| changed(text, &[Change::Set(keys("a"), value)]);
        assert_eq!(set("a: True\n", json!(false)), Ok("a: false\n".to_owned()));
        assert_eq!(set("a: yes\n", json!("no")), Ok("a: no\n".to_owned()));
        assert_eq!(set("a: 0644\n", json!("0755")), Ok("a: 0755\n".to_owned()));
        assert_eq!(set("a: 2020-01-01\n", json!("2021-01-01")), Ok("a: 2021-01-01\n".to_owned()));
        assert_eq!(set("a: |\n  x\nb: 1\n", json!("y\n\nz")), Ok("a: |\n  y\n\n  z\nb: 1\n".to_owned()));
        assert_eq!(
            set("a: |\nb: 1\n", json!("y\nz")),
            Err("`a` cannot be changed without changing what is around it".to_owned())
        );
        let drop = |text: &str, value: Value| changed(text, &[Change::Drop(keys("a"), value)]);
        assert_eq!(drop("a: [\"3.10\", 3.9]\n", json!("3.9")), Ok("a: [\"3.10\"]\n".to_owned()));
        // A comment above a remaining entry is not lost.
        assert!(changed("- a: 1\n", &[Change::Remove(keys("0 > a"))]).is_err());
        let pinned = "s:\n  - a: 1\n    # pinned\n    b: 2\n";
        assert!(changed(pinned, &[Change::Remove(keys("s > 0 > a"))]).unwrap_err().contains("around it"));
    }

    #[test]
    fn lists_grow_and_shrink() {
        let (flours, ovens) = ("jobs > bake > strategy > matrix > flour", "jobs > bake > strategy > matrix > oven");
        check(Change::Add(keys(flours), json!("3.10")), "\"3.9\"]", "\"3.9\", \"3.10\"]");
        check(Change::Add(keys(flours), json!(3.11)), "\"3.9\"]", "\"3.9\", \"3.11\"]");
        check(Change::Add(keys(ovens), json!("steam")), "- wood\n", "- wood\n          - steam\n");
        check(Change::Add(keys("on"), json!("pull_request")), "[push]", "[push, pull_request]");
        check(Change::Drop(keys(flours), json!(3.8)), "\"3.8\", ", "");
        check(Change::Drop(keys(ovens), json!("gas")), "          - gas\n", "");
        let lines = "a: [\n  x,\n  y,\n]\n";
        assert_eq!(changed(lines, &[Change::Add(keys("a"), json!("z"))]), Ok("a: [\n  x,\n  y,\n  z,\n]\n".to_owned()));
        assert_eq!(changed("a: []", &[Change::Add(keys("a"), json!("z"))]), Ok("a: [z]".to_owned()));
    }

    #[test]
    fn what_is_removed_takes_its_empty_block_along() {
        check(Change::Remove(keys("jobs > bake > env > SALT")), "    env:\n      SALT: yes please\n", "");
        check(Change::Remove(keys("jobs > bake > steps > 1 > name")), "- name: knead\n        uses", "- uses");
    }

    #[test]
    fn what_cannot_be_changed_alone_is_refused_with_its_name() {
        let refused = |text: &str, change: Change| changed(text, &[change]).unwrap_err();
        assert!(refused(WORKFLOW, Change::Remove(keys("jobs > fry"))).contains("`fry` is not there"));
        assert!(refused(WORKFLOW, Change::Set(keys("jobs"), json!(1))).contains("name the one"));
        assert!(
            refused(WORKFLOW, Change::Set(keys("jobs > bake > runs-on > x"), json!(1))).contains("`runs-on` has no")
        );
        assert!(refused(WORKFLOW, Change::Drop(keys("on"), json!("tag"))).contains("has no \"tag\""));
        for odd in ["a: &x 1\nb: *x\n", "a: !Ref b\n", "a: 1\n---\nb: 2\n", "1: a\n", "a: [\n", "a: !!str 1\n"] {
            assert_eq!(entries("a.yaml", odd), None, "{odd}");
        }
        let deep = format!("a: {}{}", "[".repeat(50_000), "]".repeat(50_000));
        assert_eq!(entries("a.yaml", &deep), None);
        assert_eq!(entries("a.yaml", "a: 1\na: 2\n"), None);
        assert!(entries("a.yaml", "if: ${{ !failed() }}\n").is_some());
    }
}
