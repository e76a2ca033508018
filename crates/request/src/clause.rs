//! Answers questions about one clause of a request.

use crate::language::clauses::{Part, PartKind};
use crate::language::{shape, words};

/// Words allowed in an order to read files, besides paths; any other word asks for more than the
/// text of the files.
const READING: &[&str] = &[
    "read", "open", "show", "view", "print", "cat", "display", "me", "us", "the", "file", "files", "whole", "content",
    "contents", "of", "line", "lines", "first", "to", "and", "please",
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
        assert_eq!(title(&part("Delete the bread of the day from lib/oven.py")), "Delete the bread of the day");
    }
}
