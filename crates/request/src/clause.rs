//! Answers questions about one clause of a request.

use std::path::Path;

use crate::language::clauses::{Part, PartKind};
use crate::language::{shape, words};

/// Words allowed in an order to read files, besides paths; any other word asks for more than the
/// text of the files.
const READING: &[&str] = &[
    "read", "open", "show", "view", "print", "cat", "display", "me", "us", "the", "file", "files", "whole", "content",
    "contents", "of", "line", "lines", "first", "to", "and", "please",
];
/// Words allowed in an order to delete files, besides paths; any other word may be a condition, or
/// mean a part of the file.
const DELETING: &[&str] = &[
    "delete",
    "remove",
    "erase",
    "get",
    "rid",
    "of",
    "the",
    "a",
    "this",
    "that",
    "my",
    "our",
    "old",
    "unused",
    "obsolete",
    "empty",
    "temporary",
    "script",
    "module",
    "document",
    "called",
    "named",
    "and",
    "please",
    "now",
    "too",
    "also",
    "completely",
    "entirely",
    "permanently",
    "again",
];
/// Maximum length, in words, of a clause that asks only for a list.
const LIST_WORDS_MAX: usize = 16;
/// Number of words of a title.
const TITLE_WORDS: usize = 6;

/// Whether a clause is an order that can be understood on its own.
pub fn is_order(part: &Part) -> bool {
    part.kind == PartKind::Act && part.context.is_empty() && !part.text.contains('?')
}

/// Whether an order to read files contains no word that asks for more.
pub fn only_reads(part: &Part) -> bool {
    let is_path = |word: &str| shape::is_path(word) || part.paths.iter().any(|path| path.eq_ignore_ascii_case(word));
    let own = part.text.split_whitespace().map(|word| word.trim_matches(['`', '"', '\'', ',', '.', ':', ';']));
    own.filter(|word| !is_path(word))
        .flat_map(words::split)
        .all(|word| READING.contains(&word.as_str()) || word.chars().all(|letter| letter.is_ascii_digit()))
}

/// The paths of the files that an order names in its own words and deletes completely, relative to
/// the project's folder `root`. `None` if it may mean anything else, or if one is not a file there:
/// missing, a folder or a link.
pub fn only_deletes(part: &Part, root: &Path) -> Option<Vec<String>> {
    if !is_order(part) {
        return None;
    }
    let is_file = |path: &str| root.join(path).symlink_metadata().is_ok_and(|data| data.is_file());
    // A name with spaces stands as one word.
    const SPACE: char = '\u{e020}';
    let mut text = part.text.clone();
    for path in part.paths.iter().filter(|path| path.contains(' ')) {
        text = text.replace(path, &path.replace(' ', &SPACE.to_string()));
    }
    let mut paths: Vec<String> = Vec::new();
    let edges = |letter: char| "`\"'“”‘’,;:!".contains(letter);
    let all: Vec<&str> = text.split_whitespace().map(|word| word.trim_matches(edges).trim_end_matches('.')).collect();
    for (at, word) in all.iter().enumerate().filter(|(_, word)| !word.is_empty()) {
        let low = word.to_lowercase();
        // `the a.py file header` is a part of the file.
        let is_noun = matches!(low.as_str(), "file" | "files") && (paths.is_empty() || at + 1 == all.len());
        if DELETING.contains(&low.as_str()) || is_noun {
            continue;
        }
        let said = word.strip_prefix("./").unwrap_or(word).replace(SPACE, " ");
        let is_there = root.join(&said).symlink_metadata().is_ok();
        // A bare name that is not in the root folder means the file that was found for it.
        let found = || part.paths.iter().find(|path| path.ends_with(&format!("/{said}"))).cloned();
        paths.push(if is_there { said } else { found()? });
    }
    let is_inside =
        |path: &String| !path.starts_with('/') && !path.split('/').any(|part| part == "..") && is_file(path);
    (!paths.is_empty() && paths.iter().all(is_inside)).then_some(paths)
}

/// Whether a clause asks only for a list, and not for what happens, how or why; `if` may introduce
/// a question about the impact of a change.
pub fn asks_for_list_alone(part: &Part, is_of_impact: bool) -> bool {
    const MORE: &[&str] = &["happens", "happen", "how", "why", "when", "explain", "if"];
    let clause = words::split(&part.text);
    let wants_more = |word: &String| MORE.contains(&word.as_str()) && !(is_of_impact && *word == "if");
    clause.len() <= LIST_WORDS_MAX && !clause.iter().any(wants_more)
}

/// The first words of a clause, as the name of its step.
pub fn title(part: &Part) -> String {
    let mut title: String = part.text.split_whitespace().take(TITLE_WORDS).collect::<Vec<_>>().join(" ");
    title.truncate(title.trim_end_matches(['.', ',', ';', ':']).len());
    title
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::clauses;

    #[test]
    fn a_clause_asks_for_a_list_or_a_text_and_nothing_else() {
        let part = |text: &str| clauses::parts(text).remove(0);
        assert!(only_reads(&part("Print lines 3 to 8 of lib/oven.py")));
        assert!(!only_reads(&part("Show me the bugs of lib/oven.py")));
        assert!(asks_for_list_alone(&part("who calls bake"), false));
        assert!(!asks_for_list_alone(&part("why is bake called"), false));
        assert!(asks_for_list_alone(&part("what breaks if bake goes"), true));
        assert!(is_order(&part("Delete lib/oven.py")) && !is_order(&part("Who bakes the bread?")));
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        std::fs::create_dir(root.join("lib")).unwrap();
        for path in ["oven.py", "pan.py", "my pan.py", "lib/tray.py"] {
            std::fs::write(root.join(path), "").unwrap();
        }
        std::os::unix::fs::symlink("lib/tray.py", root.join("link.py")).unwrap();
        let check = |text: &str, expected: &[&str]| {
            let mut part = part(text);
            // As the names of a request are found: on the disk, without links, else in the index.
            for (said, path) in [("link.py", "lib/tray.py"), ("tray.py", "lib/tray.py"), ("my pan.py", "my pan.py")] {
                part.paths.extend(text.contains(said).then(|| path.to_owned()));
            }
            let found = only_deletes(&part, root).unwrap_or_default();
            assert_eq!(found, expected, "{text}");
        };
        check("Delete oven.py", &["oven.py"]);
        check("please remove the old file ./oven.py, too.", &["oven.py"]);
        check("Erase `oven.py` and pan.py", &["oven.py", "pan.py"]);
        check("get rid of tray.py", &["lib/tray.py"]);
        check("Delete the file \"my pan.py\"", &["my pan.py"]);
        for text in [
            "Delete oven.py if it is unused",
            "Delete the oven.py file header",
            "Remove oven.py as a dependency",
            "Delete oven.py or pan.py",
            "Delete oven.py with care but keep bake",
            "Delete oven.py at line 3",
            "Delete oven.py and its tests",
            "Remove oven.py too, but ask me first",
            "Delete oven.py to pan.py",
            "Delete lib",
            "Delete link.py",
            "Delete ../oven.py",
            "Delete lost.py",
            "Do not delete oven.py",
            "Shall I delete oven.py?",
        ] {
            check(text, &[]);
        }
        assert_eq!(title(&part("Delete the bread of the day from lib/oven.py")), "Delete the bread of the day");
    }
}
