//! Entries of YAML. Each change is held to the tree of values that it should give: nothing else may change with it.

use serde_json::Value;
use yamlpatch::{Op, Patch, Style, apply_yaml_patches};
use yamlpath::{Document, Route};

use super::{Change, HAS_ENTRIES, NO_ENTRIES, NO_LIST, NOT_THERE, error};
use crate::base::pattern::static_regex;

/// The values of one document with keys of text. `None` for several documents, and for anchors and tags, whose meaning
/// is not in the place where they are written.
pub fn read(text: &str) -> Option<Value> {
    static_regex!(TAG = r"(?m)(?:^|[:\-?,\[]|[^{]\{)[ \t]*![\w!<]");
    if TAG.is_match(text) || Document::new(text).ok()?.has_anchors() {
        return None;
    }
    yaml_serde::from_str(text).ok()
}

pub fn changed(text: &str, changes: &[Change]) -> Result<String, String> {
    changes.iter().try_fold(text.to_owned(), |text, change| one(&text, change))
}

fn one(text: &str, change: &Change) -> Result<String, String> {
    let before = read(text).ok_or("the file is no single YAML document, or it has anchors or tags")?;
    let (outer, key) = change.place()?;
    let known = at(&before, change.keys());
    let change = &match (change, known) {
        (Change::Set(keys, Value::Object(entries)), Some(Value::Object(_))) => {
            let inner = |(key, value): (&String, &Value)| {
                Change::Set(keys.iter().chain([key]).cloned().collect(), value.clone())
            };
            return changed(text, &entries.iter().map(inner).collect::<Vec<_>>());
        }
        (Change::Set(_, _), Some(Value::Object(_))) => return Err(error(key, HAS_ENTRIES)),
        (Change::Set(keys, value), Some(known)) => Change::Set(keys.clone(), as_kind_of(known, value)),
        (Change::Add(keys, value), Some(Value::Array(all))) => {
            let value = all.last().map_or_else(|| value.clone(), |sibling| as_kind_of(sibling, value));
            if all.contains(&value) {
                return Ok(text.to_owned());
            }
            Change::Add(keys.clone(), value)
        }
        (Change::Drop(keys, value), Some(Value::Array(all))) => {
            let value = all.first().map_or_else(|| value.clone(), |sibling| as_kind_of(sibling, value));
            Change::Drop(keys.clone(), value)
        }
        (Change::Add(..) | Change::Drop(..), Some(_)) => return Err(error(key, NO_LIST)),
        (Change::Drop(..) | Change::Remove(_), None) => return Err(error(key, NOT_THERE)),
        (change, _) => change.clone(),
    };
    for depth in 1..=outer.len() {
        match at(&before, &outer[..depth]) {
            Some(value) if !value.is_object() && !value.is_array() => return Err(error(&outer[depth - 1], NO_ENTRIES)),
            None if !change.creates() => return Err(error(&outer[depth - 1], NOT_THERE)),
            _ => {}
        }
    }
    let after = written(text, change, &before)?;
    let (now, mut expected) = (read(&after), before);
    apply(&mut expected, change)?;
    let mut pruned = expected.clone();
    if let Change::Remove(_) = change {
        prune(&mut pruned, outer);
    }
    if now.as_ref() == Some(&expected) || now == Some(pruned) {
        Ok(after)
    } else {
        Err(format!("`{key}` cannot be changed without changing what is around it"))
    }
}

/// The text with a change that is possible.
fn written(text: &str, change: &Change, before: &Value) -> Result<String, String> {
    let document = Document::new(text).map_err(|error| error.to_string())?;
    let keys = change.keys();
    let route = route(before, keys);
    let patched = |route: Route<'_>, operation: Op<'_>| {
        let patched =
            apply_yaml_patches(&document, &[Patch { route, operation }]).map_err(|error| error.to_string())?;
        let source = patched.source();
        // The patch adds a missing line end.
        let is_bare = !text.ends_with('\n');
        Ok(if is_bare { source.strip_suffix('\n').unwrap_or(source) } else { source }.to_owned())
    };
    match (change, at(before, keys)) {
        (Change::Remove(_), _) => patched(route, Op::Remove),
        (Change::Drop(_, value), Some(Value::Array(all))) => {
            let place = all.iter().position(|one| one == value);
            let place = place.ok_or_else(|| format!("`{}` has no {value}", keys.join(" > ")))?;
            patched(route.with_key(place), Op::Remove)
        }
        (Change::Set(_, value) | Change::Add(_, value), known) => {
            let feature = document.query_exact(&route).ok().flatten().filter(|_| known.is_some());
            let style = feature.as_ref().map(|feature| Style::from_feature(feature, &document));
            let in_place = match (change, style, &feature) {
                (Change::Set(..), Some(style), Some(feature)) => {
                    scalar(value, style).map(|new| (feature.location.byte_span, new))
                }
                (_, Some(Style::FlowSequence | Style::MultilineFlowSequence), Some(feature)) => {
                    Some((feature.location.byte_span, longer(document.extract(feature), value)))
                }
                _ => None,
            };
            if let Some(((start, end), new)) = in_place {
                return Ok(format!("{}{new}{}", &text[..start], &text[end..]));
            }
            let new = yaml_serde::to_value(value).map_err(|error| error.to_string())?;
            match (change, known) {
                (Change::Set(..), Some(_)) => patched(route, Op::Replace(new)),
                (_, Some(_)) => patched(route, Op::Append { value: new }),
                (change, None) => {
                    let depth = (0..keys.len()).rev().find(|depth| at(before, &keys[..*depth]).is_some()).unwrap_or(0);
                    let leaf =
                        if let Change::Add(..) = change { Value::Array(vec![value.clone()]) } else { value.clone() };
                    let inner = keys[depth + 1..]
                        .iter()
                        .rev()
                        .fold(leaf, |inner, key| Value::Object([(key.clone(), inner)].into_iter().collect()));
                    let value = yaml_serde::to_value(&inner).map_err(|error| error.to_string())?;
                    patched(self::route(before, &keys[..depth]), Op::Add { key: keys[depth].clone(), value })
                }
            }
        }
        (Change::Drop(..), _) => Err(error(&keys.join(" > "), NO_LIST)),
    }
}

/// The value below `keys`.
fn at<'v>(value: &'v Value, keys: &[String]) -> Option<&'v Value> {
    keys.iter().try_fold(value, |value, key| match value {
        Value::Array(all) => all.get(key.parse::<usize>().ok()?),
        _ => value.get(key),
    })
}

fn route(value: &Value, keys: &[String]) -> Route<'static> {
    (0..keys.len()).fold(Route::default(), |route, depth| {
        let index = at(value, &keys[..depth]).filter(|outer| outer.is_array()).and_then(|_| keys[depth].parse().ok());
        index.map_or_else(|| route.with_key(keys[depth].clone()), |index: usize| route.with_key(index))
    })
}

/// Makes the change in the tree of values.
fn apply(value: &mut Value, change: &Change) -> Result<(), String> {
    let (outer, key) = change.place()?;
    let mut here = value;
    for outer in outer {
        here = match here {
            Value::Array(all) => outer.parse::<usize>().ok().and_then(|at| all.get_mut(at)),
            Value::Object(all) => Some(all.entry(outer.clone()).or_insert_with(|| Value::Object(Default::default()))),
            _ => None,
        }
        .ok_or_else(|| error(outer, NO_ENTRIES))?;
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

/// Removes the containers of `keys` that are empty, from the innermost out: a block without entries cannot be written.
fn prune(value: &mut Value, keys: &[String]) {
    for depth in (1..=keys.len()).rev() {
        let is_empty = at(value, &keys[..depth]).and_then(Value::as_object).is_some_and(|all| all.is_empty());
        if !is_empty || apply(value, &Change::Remove(keys[..depth].to_vec())).is_err() {
            return;
        }
    }
}

/// `new` in the kind of `old`: text where text was, a number or a truth where one was, if it is written the same way.
fn as_kind_of(old: &Value, new: &Value) -> Value {
    match (old, new) {
        (Value::String(_), Value::Number(number)) => Value::String(number.to_string()),
        (Value::String(_), Value::Bool(truth)) => Value::String(truth.to_string()),
        (Value::Number(_) | Value::Bool(_), Value::String(text)) => {
            let read = serde_json::from_str::<Value>(text).ok();
            let is_same = |read: &Value| (read.is_number() || read.is_boolean()) && read.to_string() == *text;
            read.filter(is_same).unwrap_or_else(|| new.clone())
        }
        _ => new.clone(),
    }
}

/// A value of one line in the style of the one that it replaces; `None` where one of them takes several lines.
fn scalar(value: &Value, style: Style) -> Option<String> {
    match (value, style) {
        (_, Style::PlainScalar | Style::DoubleQuoted | Style::SingleQuoted) => {}
        _ => return None,
    }
    match value {
        Value::Object(_) | Value::Array(_) => None,
        Value::String(text) if text.contains(['\n', '\r']) => None,
        Value::String(text) if style == Style::SingleQuoted => Some(format!("'{}'", text.replace('\'', "''"))),
        Value::String(_) if style == Style::DoubleQuoted => Some(value.to_string()),
        value => Some(yaml_serde::to_string(value).ok()?.trim_end().to_owned()),
    }
}

/// `[a, b]` with one more value.
fn longer(list: &str, value: &Value) -> String {
    let inner = list.trim_start_matches('[').trim_end_matches(']');
    let filled = inner.trim_end();
    let body = filled.trim_end_matches(',');
    let style = match body.trim_end().chars().last() {
        Some('"') => Style::DoubleQuoted,
        Some('\'') => Style::SingleQuoted,
        _ => Style::PlainScalar,
    };
    let value = scalar(value, style).unwrap_or_else(|| value.to_string());
    if body.trim().is_empty() {
        return format!("[{value}]");
    }
    let last = body.lines().next_back().unwrap_or_default();
    let indent: String = last.chars().take_while(|letter| letter.is_whitespace()).collect();
    let between = if body.trim_start_matches(' ').starts_with('\n') { format!("\n{indent}") } else { " ".to_owned() };
    let comma = &filled[body.len()..];
    format!("[{body},{between}{value}{comma}{}]", &inner[filled.len()..])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::entries;
    use super::*;

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
        check(set("jobs > bake > env > OIL", json!("no")), "please\n", "please\n      OIL: 'no'\n");
    }

    #[test]
    fn a_number_that_reads_as_another_is_quoted() {
        let set = |value: Value| Change::Set(keys("jobs > bake > steps > 1 > with > flour-version"), value);
        check(set(json!("3.11")), "version: 3.9", "version: 3.11");
        check(set(json!("3.10")), "version: 3.9", "version: '3.10'");
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
        assert!(entries("a.yaml", "if: ${{ !failed() }}\n").is_some());
    }
}
