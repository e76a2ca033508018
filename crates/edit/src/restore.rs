//! Restores code that a model omitted from definitions that it repeated in addition to the
//! requested change.

use std::collections::{HashMap, HashSet};

use crate::index::parts::{self, Sort, Span};

/// Restores in `after` each definition of `before` that only lost lines, and the entries of partly
/// repeated lists. `may_lose` returns whether the request asks to remove something from a
/// definition.
///
/// # Errors
/// Nothing would change after the restoration.
pub fn taken_back(path: &str, before: &str, after: &str, may_lose: &dyn Fn(&str) -> bool) -> Result<String, String> {
    let (old, new) = (parts::definitions(path, before), parts::definitions(path, after));
    // If several share a name, as overloads do, only an identical one is known to be the same.
    let mut by_key: HashMap<_, Vec<&Span>> = HashMap::new();
    old.iter().for_each(|one| by_key.entry(key(one)).or_default().push(one));
    let same = |one: &Span| match by_key.get(&key(one)).map(Vec::as_slice) {
        Some([only]) => Some(*only),
        Some(several) => several.iter().copied().find(|other| before[other.bytes.clone()] == after[one.bytes.clone()]),
        None => None,
    };
    let containers: HashSet<&String> = new.iter().filter_map(|one| one.container.last()).collect();
    let is_leaf = |one: &Span| !containers.contains(&one.name);
    let mut gained = false;
    let mut kept: Vec<(&Span, String)> = Vec::new();
    let mut lost = None;
    for one in new.iter().filter(|one| is_leaf(one)) {
        let now = &after[one.bytes.clone()];
        match same(one).map(|other| &before[other.bytes.clone()]) {
            Some(was) if was == now => {}
            _ if may_lose(&one.name) => gained = true,
            Some(was) if only_loses(was, now) => {
                lost = Some(one.name.clone());
                kept.push((one, was.to_owned()));
            }
            Some(was) => {
                gained = true;
                if one.sort == Sort::Value
                    && let Some(whole) = with_entries(was, now)
                {
                    kept.push((one, whole));
                }
            }
            None => gained = true,
        }
    }
    gained |= new.len() < old.len();
    if let (Some(name), false) = (lost, gained) {
        return Err(format!(
            "the answer leaves out lines of `{name}` and adds none; write only what is new or different"
        ));
    }
    let mut text = after.to_owned();
    kept.sort_by_key(|(one, _)| std::cmp::Reverse(one.bytes.start));
    for (one, was) in kept {
        text.replace_range(one.bytes.clone(), &was);
    }
    Ok(text)
}

/// Number of lines that a list may lose without being restored.
const ENTRIES_LOST_MAX: usize = 2;

/// A list that was only partly repeated: the old entries, with the new ones where they were
/// written. `None` if it did not get much shorter.
fn with_entries(was: &str, now: &str) -> Option<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (was.lines().collect(), now.lines().collect());
    if new.len() + ENTRIES_LOST_MAX >= old.len() {
        return None;
    }
    let diff = similar::TextDiff::from_slices(&old, &new);
    let lines: Vec<&str> = diff.iter_all_changes().map(|change| change.value()).collect();
    Some(lines.join("\n"))
}

fn key(span: &Span) -> (&[String], &str, &str) {
    (&span.container, &span.name, &span.variant)
}

/// Whether `now` equals `was` except for missing lines.
fn only_loses(was: &str, now: &str) -> bool {
    let lines = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
    };
    let (was, now) = (lines(was), lines(now));
    let mut old = was.iter();
    now.len() < was.len() && now.iter().all(|line| old.any(|other| other == line))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "class A:\n    def __init__(self):\n        self.x = 1\n        self.y = 2\n\n    def get(self):\n        return self.x\n";

    #[test]
    fn a_definition_that_was_repeated_in_part_is_restored() {
        let after = "class A:\n    def __init__(self):\n        self.x = 1\n\n    def get(self):\n        return self.x\n\n    def two(self):\n        return 2\n";
        let expected = format!("{BEFORE}\n    def two(self):\n        return 2\n");
        assert_eq!(taken_back("a.py", BEFORE, after, &|_| false).unwrap(), expected);
        assert_eq!(taken_back("a.py", BEFORE, after, &|name| name == "__init__").unwrap(), after);
    }

    #[test]
    fn a_change_that_only_removes_needs_a_request_for_it() {
        let after = BEFORE.replace("        self.y = 2\n", "");
        assert_eq!(taken_back("a.py", BEFORE, &after, &|name| name == "__init__").unwrap(), after);
        assert!(taken_back("a.py", BEFORE, &after, &|_| false).is_err_and(|why| why.contains("lines of `__init__`")));
    }

    #[test]
    fn a_list_repeated_in_part_keeps_its_entries() {
        let before = "L = [\n    1,\n    2,\n    3,\n    4,\n    5,\n    6,\n]\n";
        let after = "L = [\n    1,\n    7,\n]\n";
        let kept = taken_back("a.py", before, after, &|_| false).unwrap();
        assert!((1..=7).all(|entry| kept.contains(&format!("    {entry},\n"))), "{kept}");
        assert_eq!(taken_back("a.py", before, after, &|_| true).unwrap(), after);
    }
}
