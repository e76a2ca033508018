//! Shows the changed places of a file: the new lines with their numbers, and a few lines around
//! them.

use std::ops::Range;

use similar::TextDiff;

use crate::protocol::FileChange;
use crate::tools::files::change::DIFF_TIME_MAX;
use crate::tools::outcome::cut_line;

/// Number of lines shown before and after each change.
const AROUND: usize = 2;
const LINES_MAX: usize = 60;
/// Lines of one changed line with those around it; no place is cut to fewer.
const PLACE_MIN: usize = 2 * AROUND + 1;
const LINE_MAX_CHARS: usize = 200;

/// The changed places of a file in its current state, one after the other; empty for a deleted
/// file. Long places are cut in the middle, so that more places are shown.
pub fn lines(change: &FileChange) -> String {
    let (Some(new), old) = (&change.new, change.old.as_deref().unwrap_or_default()) else { return String::new() };
    let diff = TextDiff::configure().timeout(DIFF_TIME_MAX).diff_lines(old, new.as_ref());
    let all: Vec<&str> = new.lines().collect();
    let mut places: Vec<Range<usize>> = Vec::new();
    for place in diff.grouped_ops(AROUND) {
        let (Some(first), Some(last)) = (place.first(), place.last()) else { continue };
        places.push(first.new_range().start..last.new_range().end.min(all.len()));
    }
    places.retain(|place| !place.is_empty());
    let more = places.split_off(places.len().min(LINES_MAX / PLACE_MIN));
    // The maximum number of lines of a place with which all places fit.
    let fits = |each: &usize| places.iter().map(|place| place.len().min(*each)).sum::<usize>() <= LINES_MAX;
    let each = (PLACE_MIN..=LINES_MAX).rev().find(fits).unwrap_or(PLACE_MIN);
    let mut text = String::new();
    for (at, place) in places.iter().enumerate() {
        text.push_str(if at > 0 { "…\n" } else { "" });
        let left_out = place.len() - place.len().min(each);
        let (head, tail) = (place.start + each.div_ceil(2), place.end - each / 2);
        for at in place.clone() {
            if left_out == 0 || at < head || at >= tail {
                text.push_str(&format!("{}| {}\n", at + 1, cut_line(all[at], LINE_MAX_CHARS)));
            } else if at == head {
                text.push_str(&format!("[{left_out} lines; read_file shows them]\n"));
            }
        }
    }
    if !more.is_empty() {
        text.push_str(&format!("[{} more changed places; read_file shows them]\n", more.len()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(old: &str, new: &str, expected: &str) {
        let change = FileChange { path: "f".into(), old: Some(old.into()), new: Some(new.into()) };
        assert_eq!(lines(&change), expected);
    }

    #[test]
    fn changed_places_are_shown_with_their_numbers_and_what_is_around_them() {
        let text = |changed: &[(usize, &str)]| {
            let line = |n: usize| {
                changed.iter().find(|(at, _)| *at == n).map_or_else(|| format!("{n}\n"), |(_, line)| (*line).to_owned())
            };
            (1..=20).map(line).collect::<String>()
        };
        check(&text(&[]), &text(&[(4, "four\n")]), "2| 2\n3| 3\n4| four\n5| 5\n6| 6\n");
        check(&text(&[]), &text(&[(1, ""), (20, "x\ny")]), "1| 2\n2| 3\n…\n17| 18\n18| 19\n19| x\n20| y\n");
        let numbered = |lines: Range<usize>| lines.map(|n| format!("{n}| a\n")).collect::<String>();
        let cut =
            |head, lines, tail| format!("{}[{lines} lines; read_file shows them]\n{}", numbered(head), numbered(tail));
        check("", &"a\n".repeat(100), &cut(1..31, 40, 71..101));
        let long = format!("{}{}b\n", "a\n".repeat(70), text(&[]));
        let near = "…\n89| 19\n90| 20\n91| b\n";
        check(&text(&[]), &long, &format!("{}71| 1\n72| 2\n{near}", cut(1..30, 15, 45..71)));
        let many = |first: &str| format!("{first}{}", "a\n".repeat(5)).repeat(70);
        let shown =
            lines(&FileChange { path: "f".into(), old: Some(many("b\n").into()), new: Some(many("c\n").into()) });
        assert!(shown.ends_with("[58 more changed places; read_file shows them]\n"), "{shown}");
        assert_eq!((shown.matches("| c\n").count(), shown.matches("| a\n").count()), (12, 46));
        check("a\n", "", "");
        check("a\n", "a\n", "");
    }
}
