//! Converts a unified diff back into the old and new lines of each hunk.
//!
//! ```text
//! --- a/src/retry.ts
//! +++ b/src/retry.ts
//! @@ -1,2 +1,2 @@
//!  /** How many times a request is tried. */
//! -export const MAX_ATTEMPTS = 5;
//! +export const MAX_ATTEMPTS = 3;
//! ```

use std::str::SplitInclusive;

use crate::protocol::FileChange;

/// The name in a diff for a file that does not exist.
const NO_FILE: &str = "/dev/null";

/// One change per hunk. Empty if the text is not a diff or is truncated.
pub fn changes(diff: &str) -> Vec<FileChange> {
    read(diff).unwrap_or_default()
}

fn read(diff: &str) -> Option<Vec<FileChange>> {
    let (mut changes, mut names) = (Vec::new(), None);
    let mut lines = diff.split_inclusive('\n');
    while let Some(line) = lines.next() {
        if let Some(before) = line.strip_prefix("--- ") {
            names = Some((before.trim_end(), lines.next()?.strip_prefix("+++ ")?.trim_end()));
        } else if line.starts_with("@@ ") {
            let (before, after) = names?;
            let (old, new) = hunk(sizes(line)?, &mut lines)?;
            let side = |name: &str, text: String| (name != NO_FILE).then(|| text.into());
            let path = if after == NO_FILE { before.strip_prefix("a/")? } else { after.strip_prefix("b/")? };
            changes.push(FileChange { path: path.to_owned(), old: side(before, old), new: side(after, new) });
        } else if !line.starts_with("note: ") && !line.starts_with('\\') {
            return None;
        }
    }
    Some(changes)
}

/// The number of old and new lines in a hunk, from its head `@@ -1,5 +1,6 @@`.
fn sizes(head: &str) -> Option<(usize, usize)> {
    let mut words = head.split(' ').skip(1);
    let mut size = |sign: char| {
        let range = words.next()?.strip_prefix(sign)?;
        range.split_once(',').map_or(Some(1), |(_, size)| size.parse().ok())
    };
    Some((size('-')?, size('+')?))
}

/// The old and new text of a hunk.
fn hunk(sizes: (usize, usize), lines: &mut SplitInclusive<'_, char>) -> Option<(String, String)> {
    let (mut before, mut after) = sizes;
    let (mut old, mut new) = (String::new(), String::new());
    while before > 0 || after > 0 {
        let (sign, text) = lines.next()?.split_at_checked(1)?;
        if !matches!(sign, " " | "-" | "+" | "\\") {
            return None;
        }
        if matches!(sign, " " | "-") {
            before = before.checked_sub(1)?;
            old.push_str(text);
        }
        if matches!(sign, " " | "+") {
            after = after.checked_sub(1)?;
            new.push_str(text);
        }
    }
    Some((old, new))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::files::change::diff;

    /// Each change as path, old text and new text.
    fn check(diff: &str, expected: &[(&str, Option<&str>, Option<&str>)]) {
        let read = changes(diff);
        let shown: Vec<_> =
            read.iter().map(|one| (one.path.as_str(), one.old.as_deref(), one.new.as_deref())).collect();
        assert_eq!(shown, expected, "{diff}");
    }

    #[test]
    fn every_hunk_of_a_diff_is_a_change_with_the_lines_around_it() {
        let lines: Vec<String> = (1..=20).map(|at| format!("{at}\n")).collect();
        let before = lines.concat();
        let after = before.replace("2\n3\n", "2\n-- three\n").replace("19\n", "");
        let (first, second) = ("1\n2\n3\n4\n5\n6\n", "16\n17\n18\n19\n20\n");
        let (first_new, second_new) = (first.replace("3\n", "-- three\n"), second.replace("19\n", ""));
        check(
            &diff("a b.txt", Some(&before), Some(&after)),
            &[("a b.txt", Some(first), Some(&first_new)), ("a b.txt", Some(second), Some(&second_new))],
        );
    }

    #[test]
    fn a_file_that_comes_or_goes_has_one_text() {
        check(&diff("a", None, Some("one\n")), &[("a", None, Some("one\n"))]);
        check(&diff("a", Some("one\n"), None), &[("a", Some("one\n"), None)]);
        check(&(diff("a", Some("one"), Some("two\n")) + "note: n\n"), &[("a", Some("one\n"), Some("two\n"))]);
    }

    #[test]
    fn what_is_no_whole_diff_has_no_changes() {
        check("$ make all", &[]);
        check("a becomes b\n", &[]);
        let whole = diff("a", Some("one\ntwo\n"), Some("one\nthree\n"));
        check(&whole.replace("-two\n", "[… 9 bytes left out …]\n"), &[]);
        check(whole.trim_end_matches("+three\n"), &[]);
        check(&format!("{whole}[… 9 bytes left out …]\n"), &[]);
    }
}
