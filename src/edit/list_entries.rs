//! Restores entries of a list or table that a model left out when it rewrote it to add one.

use crate::language::words;

/// Shortest list that is checked, in lines; a model rewrites a shorter one completely.
const LINES_MIN: usize = 4;
const CLOSERS: [char; 4] = ['}', ']', ')', ';'];
/// Shortest word, in bytes, by which the request can ask for an entry.
const WORD_LETTERS: usize = 3;

/// `old`, a list with one entry a line, with those new entries of `new` that the request `asked` names. `None` if `new` may stay as it is: it
/// has lost at most one entry, which may be a changed one. If the request names no new entry, the error says what was lost.
pub fn kept(old: &str, new: &str, asked: &str) -> Option<Result<String, String>> {
    let body = old.trim_end().trim_end_matches(CLOSERS);
    let (body, end) = (body.trim_end(), &old[body.trim_end().len()..]);
    let lines: Vec<&str> = body.lines().collect();
    if lines.len() < LINES_MIN || !end.contains(CLOSERS) {
        return None;
    }
    let entries = |text: &str| -> Vec<String> {
        let body = text.trim_end().trim_end_matches(CLOSERS);
        let bare = body.lines().skip(1).map(|line| line.trim().trim_end_matches(',').to_owned());
        bare.filter(|line| line.len() > 1 && !line.starts_with(['#', '/'])).collect()
    };
    let (was, is) = (entries(old), entries(new));
    let lost: Vec<&String> = was.iter().filter(|entry| !is.contains(entry)).collect();
    if lost.len() < 2 {
        return None;
    }
    let asked: Vec<String> = words::split(asked).iter().map(|word| word.to_lowercase()).collect();
    let is_asked = |entry: &&String| {
        let said = |word: &str| asked.iter().any(|one| one == word);
        words::split(entry).iter().any(|word| word.len() >= WORD_LETTERS && said(&word.to_lowercase()))
    };
    let added: Vec<&String> = is.iter().filter(|entry| !was.contains(entry)).filter(is_asked).collect();
    if added.is_empty() {
        let lost: Vec<&str> = lost.iter().take(3).map(|entry| entry.as_str()).collect();
        return Some(Err(format!("it has lost {}; write all that is there", lost.join(", "))));
    }
    let last = lines.last()?;
    let indent = &last[..last.len() - last.trim_start().len()];
    let has_comma = last.ends_with(',');
    let added: Vec<String> = added.iter().map(|entry| format!("\n{indent}{entry}")).collect();
    let (before, behind) = if has_comma { ("", ",") } else { (",", "") };
    let text = format!("{body}{before}{}{behind}{end}", added.join(","));
    Some(Ok(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "NAMES = {\n    'fish',\n    'sheep',\n    'rice'}";

    #[test]
    fn lost_entries_are_kept_and_the_requested_one_is_added() {
        let old = "NAMES = {\n    'fish',\n    'sheep',\n    'rice',\n}";
        let tight = kept(OLD, "NAMES = {\n    'feedback'}", "'feedback' has no plural").unwrap().unwrap();
        assert_eq!(tight, "NAMES = {\n    'fish',\n    'sheep',\n    'rice',\n    'feedback'}");
        let new = "NAMES = {\n    'feedback',\n    'octopus',\n    'sheep',\n}";
        let kept = kept(old, new, "'feedback' has no plural").unwrap().unwrap();
        assert_eq!(kept, "NAMES = {\n    'fish',\n    'sheep',\n    'rice',\n    'feedback',\n}");
    }

    #[test]
    fn a_list_that_lost_at_most_one_entry_stays_as_written() {
        let check = |new: &str| assert_eq!(kept(OLD, new, "'feedback' has no plural"), None, "{new}");
        check("NAMES = {\n    'fish',\n    'sheep',\n    'feedback',\n    'rice'}");
        let old = "NAMES = [\n    'fish',\n    'sheep',\n    'rice',\n]";
        assert_eq!(kept(old, "NAMES = [\n    'fish',\n    'lamb',\n    'rice',\n]", "sheep is to be lamb"), None);
        let lost = kept(old, "NAMES = [\n    'cow',\n]", "add a goat").unwrap().unwrap_err();
        assert!(lost.contains("'fish'"), "{lost}");
    }
}
