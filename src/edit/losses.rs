//! Takes back what a model left out of definitions that it only repeated beside the change it was asked for.

use crate::index::parts::{self, Sort, Span};

/// A change that takes lines away and adds none, where nothing was to go.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what was written leaves lines of `{name}` out and adds none; write only what is new or different")]
pub struct OnlyLoses {
    name: String,
}

/// `after` with every definition of `before` that has lost lines and gained none as it was, and with the entries of lists that were repeated
/// in part. `may_lose` says of a name whether the request asks for something of it to go.
pub fn taken_back(path: &str, before: &str, after: &str, may_lose: &dyn Fn(&str) -> bool) -> Result<String, OnlyLoses> {
    let (old, new) = (parts::definitions(path, before), parts::definitions(path, after));
    let same = |one: &Span| old.iter().find(|other| key(other) == key(one));
    let is_leaf = |one: &Span| !new.iter().any(|other| other.container.last() == Some(&one.name));
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
        return Err(OnlyLoses { name });
    }
    let mut text = after.to_owned();
    kept.sort_by_key(|(one, _)| std::cmp::Reverse(one.bytes.start));
    for (one, was) in kept {
        text.replace_range(one.bytes.clone(), &was);
    }
    Ok(text)
}

/// More than so many lines lost for each new one in their place are a loss, not a change.
const PUT_BACK_SHARE: usize = 2;
/// Entries that a list may lose beside those that it gains.
const ENTRIES_LOST_MAX: usize = 2;

/// A list of many lines that was repeated only in part: the old entries, with the new ones where they were written.
fn with_entries(was: &str, now: &str) -> Option<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (was.lines().collect(), now.lines().collect());
    if new.len() + ENTRIES_LOST_MAX >= old.len() {
        return None;
    }
    let diff = similar::TextDiff::from_slices(&old, &new);
    let lines: Vec<&str> = diff.iter_all_changes().map(|change| change.value()).collect();
    Some(lines.join("\n"))
}

/// `now` with the lines of `was` that it has lost and put little or nothing in the place of; `None` if there are none.
pub fn put_back(was: &str, now: &str) -> Option<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (was.split_inclusive('\n').collect(), now.split_inclusive('\n').collect());
    let mut lines: Vec<&str> = Vec::new();
    let mut lost = false;
    for op in similar::TextDiff::from_slices(&old, &new).ops() {
        let (was, now) = (op.old_range(), op.new_range());
        lines.extend(&new[now.clone()]);
        let words = old[was.clone()].iter().any(|line| !line.trim().is_empty());
        if op.tag() != similar::DiffTag::Equal && words && was.len() > PUT_BACK_SHARE * now.len() {
            lines.extend(&old[was]);
            lost = true;
        }
    }
    lost.then(|| lines.concat())
}

fn key(span: &Span) -> (&[String], &str, &str) {
    (&span.container, &span.name, &span.variant)
}

/// Whether the lines of `now` are lines of `was` in the same order, and some of those are missing.
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
    fn what_was_only_repeated_in_part_is_as_it_was() {
        let after = "class A:\n    def __init__(self):\n        self.x = 1\n\n    def get(self):\n        return self.x\n\n    def two(self):\n        return 2\n";
        let expected = format!("{BEFORE}\n    def two(self):\n        return 2\n");
        assert_eq!(taken_back("a.py", BEFORE, after, &|_| false).unwrap(), expected);
        assert_eq!(taken_back("a.py", BEFORE, after, &|name| name == "__init__").unwrap(), after);
    }

    #[test]
    fn a_change_that_only_removes_needs_a_request_for_it() {
        let after = BEFORE.replace("        self.y = 2\n", "");
        assert_eq!(taken_back("a.py", BEFORE, &after, &|name| name == "__init__").unwrap(), after);
        assert_eq!(taken_back("a.py", BEFORE, &after, &|_| false), Err(OnlyLoses { name: "__init__".into() }));
    }

    #[test]
    fn a_list_repeated_in_part_keeps_its_entries() {
        let before = "L = [\n    1,\n    2,\n    3,\n    4,\n    5,\n    6,\n]\n";
        let after = "L = [\n    1,\n    7,\n]\n";
        let kept = taken_back("a.py", before, after, &|_| false).unwrap();
        assert!((1..=7).all(|entry| kept.contains(&format!("    {entry},\n"))), "{kept}");
        assert_eq!(taken_back("a.py", before, after, &|_| true).unwrap(), after);
    }

    #[test]
    fn lines_that_were_lost_are_put_back_behind_what_came() {
        let was = "def f(s):\n    if not s:\n        raise E\n\n    s = s.upper()\n    if s == 'N':\n        return 0\n    return g(s)\n";
        let now = "def f(s):\n    if not s:\n        raise E\n\n    s = s.strip()\n    return g(s)\n";
        let back = put_back(was, now).expect("lines were lost");
        assert!(back.contains("    s = s.strip()\n") && back.contains("    s = s.upper()\n"), "{back}");
        assert_eq!(put_back("a = 1\nb = 2\n", "a = 2\nb = 2\nc = 3\n"), None);
        assert_eq!(put_back("a\nb\nc\n", "a\nc\n").as_deref(), Some("a\nb\nc\n"));
    }
}
