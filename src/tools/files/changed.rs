//! Shows the changed places of a file: the new lines with their numbers, and a few lines around
//! them.

use similar::TextDiff;

use crate::protocol::FileChange;
use crate::tools::files::change::DIFF_TIME_MAX;
use crate::tools::outcome::cut_line;

/// Number of lines shown before and after each change.
const AROUND: usize = 2;
const LINES_MAX: usize = 60;
const LINE_MAX_CHARS: usize = 200;

/// The changed places of a file in its current state, one after the other; empty for a deleted
/// file.
pub fn lines(change: &FileChange) -> String {
    let (Some(new), old) = (&change.new, change.old.as_deref().unwrap_or_default()) else { return String::new() };
    let diff = TextDiff::configure().timeout(DIFF_TIME_MAX).diff_lines(old, new.as_ref());
    let all: Vec<&str> = new.lines().collect();
    let (mut text, mut shown, mut left) = (String::new(), 0, 0);
    for place in diff.grouped_ops(AROUND) {
        let (Some(first), Some(last)) = (place.first(), place.last()) else { continue };
        let range = first.new_range().start..last.new_range().end.min(all.len());
        if shown > 0 && !range.is_empty() && shown < LINES_MAX {
            text.push_str("…\n");
        }
        for at in range {
            if shown >= LINES_MAX {
                left += 1;
                continue;
            }
            text.push_str(&format!("{}| {}\n", at + 1, cut_line(all[at], LINE_MAX_CHARS)));
            shown += 1;
        }
    }
    if left > 0 {
        text.push_str(&format!("[{left} more lines in changed places; read_file shows them]\n"));
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
        check(
            "",
            &"a\n".repeat(100),
            &format!(
                "{}[40 more lines in changed places; read_file shows them]\n",
                (1..=60).map(|n| format!("{n}| a\n")).collect::<String>()
            ),
        );
        check("a\n", "", "");
        check("a\n", "a\n", "");
    }
}
