//! Adds text to a passage: entries after the entries of its list, other text after its text.

use crate::language::words;

/// The lines of `written` that contain new text: models repeat the lines that they were shown, or
/// their words.
pub fn new_lines(passage: &str, written: &str) -> String {
    let repeats = |line: &str, known: &str| {
        let said = words::content(line);
        known.trim() == line.trim() || !said.is_empty() && said.is_subset(&words::content(known))
    };
    let is_known = |line: &&str| !line.trim().is_empty() && passage.lines().any(|known| repeats(line, known));
    let new: Vec<&str> = written.lines().filter(|line| !is_known(line)).collect();
    new.join("\n").trim_matches('\n').to_owned()
}

/// Adds new lines to the passage `first` to `last`: entries after the last entry of its first list,
/// other text as a paragraph after its text.
pub(super) fn insert(lines: &mut Vec<String>, (first, last): (usize, usize), mut new: Vec<String>) {
    let is_blank = |line: &String| line.trim().is_empty();
    let begin = first - 1;
    let end = (begin..last).rev().find(|at| !is_blank(&lines[*at])).map_or(last, |at| at + 1);
    let is_entry = new.first().is_some_and(|line| entry(line).is_some());
    let mut is_fenced = false;
    let mut is_head = |at: &usize| {
        is_fenced ^= lines[*at].trim_start().starts_with("```");
        !is_fenced && entry(&lines[*at]).is_some()
    };
    let head = (begin..end).find(|at| is_head(at)).filter(|_| is_entry);
    let Some(head) = head else {
        let indent = lines[begin..end].iter().filter(|line| !is_blank(line)).map(|line| depth(line)).min().unwrap_or(0);
        for line in new.iter_mut().filter(|line| !is_blank(line) && depth(line) < indent) {
            *line = format!("{:indent$}{}", "", line.trim_start());
        }
        if end > begin {
            new.insert(0, String::new());
        }
        // The closing marks of a docstring remain after its text.
        let is_close = |line: &String| is_blank(line) || matches!(line.trim(), "\"\"\"" | "'''");
        if lines.get(end).is_some_and(|line| !is_close(line)) {
            new.push(String::new());
        }
        lines.splice(end..end, new);
        return;
    };
    let (indent, mark) = entry(&lines[head]).map(|(indent, mark, _)| (indent, mark.to_owned())).unwrap_or_default();
    // A list ends at the first line that is neither blank, nor an entry, nor indented below an
    // entry.
    let belongs =
        |line: &String| is_blank(line) || entry(line).is_some_and(|(at, ..)| at >= indent) || depth(line) > indent;
    let behind = head + lines[head..end].iter().take_while(|line| belongs(line)).count();
    let at = (head..behind).rev().find(|at| !is_blank(&lines[*at])).map_or(behind, |at| at + 1);
    let has_gaps = lines[head..at].iter().any(is_blank);
    let is_numbered = mark.starts_with(|first: char| first.is_ascii_digit());
    let entries = new.iter().filter(|line| !is_blank(line)).map(|line| match entry(line) {
        Some((_, own, text)) => format!("{:indent$}{} {text}", "", if is_numbered { own } else { &mark }),
        None => format!("{:indent$}  {}", "", line.trim()),
    });
    let entries: Vec<String> =
        if has_gaps { entries.flat_map(|line| [String::new(), line]).collect() } else { entries.collect() };
    lines.splice(at..at, entries);
}

fn depth(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The indentation, mark and text of a list entry: `- text`, `2. text`. `None` for other lines.
fn entry(line: &str) -> Option<(usize, &str, &str)> {
    let (mark, text) = line.trim_start().split_once(' ')?;
    let number = mark.strip_suffix(['.', ')']).unwrap_or_default();
    let is_number = !number.is_empty() && number.len() <= 3 && number.bytes().all(|digit| digit.is_ascii_digit());
    (matches!(mark, "-" | "*" | "+") || is_number).then_some((depth(line), mark, text.trim()))
}

/// Whether the text of a passage ends with a list, like a version's section in a changelog.
pub fn ends_with_list(passage: &str) -> bool {
    let lines = || passage.lines().rev().filter(|line| !line.trim().is_empty());
    // An entry may continue in indented lines.
    lines()
        .find(|line| !line.starts_with([' ', '\t']) || entry(line).is_some())
        .is_some_and(|line| entry(line).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_there_are_not_added_again() {
        assert_eq!(new_lines("# A\nx\n", "# A\n\nx\nnew\n"), "new");
        assert_eq!(new_lines("Names are short.\n", "Short names.\nLong names fail.\n"), "Long names fail.");
        assert!(ends_with_list("1.0\n\n- a\n  b\n") && !ends_with_list("- a\n\nb\n"));
    }
}
