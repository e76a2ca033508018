//! Recognises a plain word as a folder of the project: `what is in src?`, `look for TODO in tests`.

use crate::confine::{Access, Root};

use crate::language::clauses::Part;
use crate::language::clauses::scan::{Kind, Token, scan};
use crate::language::clauses::words::{is_connective, is_determiner, listed};
use crate::language::shape::is_path;

/// First words of clauses that list or search a location. In other clauses, a folder name often
/// means something else.
const LOOKS: &str = "list, ls, look, search, find, grep, show, count, what, which, how";
/// Words that may precede the name of a folder.
const LEADS: &str = "in, inside, within, under, below, list, ls, across, throughout, folder, directory, dir";
/// `of` precedes a folder only after these nouns: `the number of tests` does not name a folder.
const CONTENTS: &str = "files, contents, content, folders, entries";
const FOLDER_NOUNS: &str = "folder, directory, dir";

/// Writes names of top-level folders as paths (`src` as `src/`) in clauses that search or list them
/// and contain no path yet.
pub fn named(parts: &mut [Part], root: &Root) {
    let is_folder = |name: &str| root.resolve(name, Access::Read).is_ok_and(|place| place.is_dir());
    for part in parts.iter_mut().filter(|part| part.paths.is_empty()) {
        if let Some((text, path)) = with_folder(&part.text, is_folder) {
            part.text = text;
            part.paths.push(path);
        }
    }
}

/// `text` with the first folder name written as a path, and that path.
fn with_folder(text: &str, is_folder: impl Fn(&str) -> bool) -> Option<(String, String)> {
    let tokens = scan(text);
    let word =
        |at: usize| tokens.get(at).filter(|token| token.kind == Kind::Word).map_or("", |token| token.low.as_str());
    let looks = listed(LOOKS, word(0)) && (word(0) != "how" || word(1) == "many");
    let ends = |token: Option<&Token>| {
        token.is_none_or(|token| {
            token.kind != Kind::Word || is_connective(&token.low) || listed(FOLDER_NOUNS, &token.low)
        })
    };
    let leads = |at: usize| {
        listed(LEADS, word(at))
            || word(at) == "of" && at.checked_sub(1).is_some_and(|before| listed(CONTENTS, word(before)))
    };
    let is_named = |at: &usize| {
        let lead = if is_determiner(word(at - 1)) { at.checked_sub(2) } else { at.checked_sub(1) };
        let name = tokens[*at].text;
        tokens[*at].kind == Kind::Word
            && lead.is_some_and(leads)
            && ends(tokens.get(at + 1))
            && name.chars().all(|c| c.is_alphanumeric() || "_-".contains(c))
            && !is_path(name)
            && is_folder(name)
    };
    let at = (1..tokens.len()).filter(|_| looks).find(is_named)?;
    let path = format!("{}/", tokens[at].text);
    Some((format!("{}{path}{}", &text[..tokens[at].start], &text[tokens[at].end..]), path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        let made = with_folder(text, |name| matches!(name, "src" | "tests" | "my-docs"));
        assert_eq!(made.as_ref().map(|(text, _)| text.as_str()), expected, "{text}");
    }

    #[test]
    fn a_word_after_in_is_a_folder_if_the_project_has_it() {
        check("What is in src?", Some("What is in src/?"));
        check("List src", Some("List src/"));
        check("How many lines are in the tests folder?", Some("How many lines are in the tests/ folder?"));
        check("Look for TODO in src and in tests", Some("Look for TODO in src/ and in tests"));
        check("Show the files of my-docs", Some("Show the files of my-docs/"));
    }

    #[test]
    fn other_words_are_not_taken_for_folders() {
        check("What is in lib?", None);
        check("What is in src code?", None);
        check("Look for src", None);
        check("How are tests run in tests?", None);
        check("Rename src in a list", None);
        check("Count the number of tests", None);
        check("Show the list of tests", None);
        check("src", None);
        check("", None);
    }
}
