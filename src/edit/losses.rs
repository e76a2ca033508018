//! Takes back what a model left out of definitions that it only repeated beside the change it was asked for.

use crate::index::parts::{self, Span};

/// `after` with every definition of `before` that has lost lines and gained none, and that is not `asked` for, as it was. Where nothing
/// else has changed, losing lines is the change, and `after` stays.
pub fn taken_back(path: &str, before: &str, after: &str, asked: &dyn Fn(&str) -> bool) -> String {
    let (old, new) = (parts::definitions(path, before), parts::definitions(path, after));
    let same = |one: &Span| old.iter().find(|other| key(other) == key(one));
    let is_leaf = |one: &Span| !new.iter().any(|other| other.container.last() == Some(&one.name));
    let mut gained = false;
    let mut lost: Vec<(&Span, &str)> = Vec::new();
    for one in new.iter().filter(|one| is_leaf(one)) {
        let now = &after[one.bytes.clone()];
        match same(one).map(|other| &before[other.bytes.clone()]) {
            Some(was) if was == now => {}
            Some(was) if only_loses(was, now) && !asked(&one.name) => lost.push((one, was)),
            _ => gained = true,
        }
    }
    if !gained {
        return after.to_owned();
    }
    let mut text = after.to_owned();
    lost.sort_by_key(|(one, _)| std::cmp::Reverse(one.bytes.start));
    for (one, was) in lost {
        text.replace_range(one.bytes.clone(), was);
    }
    text
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
        assert_eq!(taken_back("a.py", BEFORE, after, &|_| false), expected);
        assert_eq!(taken_back("a.py", BEFORE, after, &|name| name == "__init__"), after);
    }

    #[test]
    fn a_change_that_only_removes_stays() {
        let after = BEFORE.replace("        self.y = 2\n", "");
        assert_eq!(taken_back("a.py", BEFORE, &after, &|_| false), after);
    }
}
