//! Proposes differences from similar definitions as changes: a line forgotten in one definition is
//! often present in the other.

use std::ops::Range;

use similar::{DiffOp, TextDiff};

use crate::index::parts;

use super::Mutant;

/// Minimum similarity, from 0 to 1, and maximum number of definitions that are compared.
const LIKE_MIN: f32 = 0.5;
const SIBLINGS_MAX: usize = 3;
/// Maximum length of a difference, in lines.
const HUNK_LINES_MAX: usize = 4;

/// The differences between the definition at `within` and the most similar definitions in the file,
/// each as a change.
pub(super) fn hunks(path: &str, text: &str, within: &Range<usize>) -> Vec<Mutant> {
    let lines_of = |bytes: Range<usize>| text[bytes].trim_end().split('\n').collect::<Vec<&str>>();
    let own = lines_of(within.clone());
    let others = parts::definitions(path, text).into_iter().map(|one| one.bytes);
    let apart = others.filter(|other| other.end <= within.start || within.end <= other.start);
    let mut like: Vec<(f32, Vec<&str>)> = apart
        .map(lines_of)
        .filter(|lines| lines.len() > 1)
        .map(|lines| (TextDiff::from_slices(&own, &lines).ratio(), lines))
        .filter(|(ratio, _)| *ratio >= LIKE_MIN)
        .collect();
    like.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let start_of = |line: usize| {
        let before = own[..line].iter().map(|line| line.len() + 1).sum::<usize>();
        (within.start + before).min(text.len())
    };
    let mut found = Vec::new();
    for (_, other) in like.into_iter().take(SIBLINGS_MAX) {
        for op in TextDiff::from_slices(&own, &other).ops() {
            let (old, new) = (op.old_range(), op.new_range());
            let is_change = !matches!(op, DiffOp::Equal { .. }) && old.start > 0;
            if is_change && old.len() <= HUNK_LINES_MAX && new.len() <= HUNK_LINES_MAX {
                let bytes = start_of(old.start)..start_of(old.end);
                found.push(Mutant { bytes, new: other[new].iter().map(|line| format!("{line}\n")).collect(), rank: 1 });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_similar_function_is_proposed() {
        let text = "def a(x):\n    y = x\n    y = y + 1\n    return y\n\n\ndef b(self, x):\n    y = x\n    return y\n";
        let start = text.find("def b").unwrap();
        let found = hunks("a.py", text, &(start..text.len()));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].applied(text).ends_with("def b(self, x):\n    y = x\n    y = y + 1\n    return y\n"));
    }
}
