//! Recognises requests to add a few words to a document and leave the rest unchanged.

use std::sync::LazyLock;

use regex::Regex;

use crate::base::pattern::pattern;
use crate::language::clauses::parts;

use super::lists::{REMOVE, SHORTENS};
use super::{has_word, only_forbids};

const COUNT: &str = r"(?:an?|one|two|another|some|eine?n?|une?|una?)";
const SAYS: &str =
    "say mention state document describe erwähne dokumentiere mentionne documente menciona documenta упомяни";
/// Words of requests that change existing text or add more than a few words.
const OTHERWISE: &str = "\
    change update replace instead rather reword rephrase correct fix raise bump typo typos spelling translate format \
    move rename example examples snippet code usage links";

/// Whether a text asks to add a few words to a document: `add a sentence on limits`,
/// `mention it in the guide`, `put both in the docs too`.
pub(crate) fn adds_words(text: &str) -> bool {
    static ADDED: LazyLock<Regex> = LazyLock::new(|| {
        let nouns = "sentences?|lines?|notes?|remarks?|hints?|warnings?|bullets?|entry|entries|items?|paragraphs?|satz|zeile|\
                     hinweis|eintrag|absatz|phrase|ligne|remarque|frase|línea|nota|entrada";
        let object =
            r"(?:(?:put|add|include|list)\s+(?:it|this|that|both|them|these|those)|add\s+(?:\S+\s+){1,6}that)\b";
        pattern(format!(r"(?i)\b{COUNT}\s+(?:[\w-]+\s+){{0,2}}(?:{nouns})\b|\b{object}"))
    });
    // `add a section on limits`, but not `add a sentence to the section on limits`.
    static PARTS: LazyLock<Regex> = LazyLock::new(|| {
        let nouns = "sections?|chapters?|headings?|tables?|rows?|columns?";
        pattern(format!(r"(?i)\b{COUNT}\s+(?:[\w-]+\s+){{0,2}}(?:{nouns})\b"))
    });
    let asked: Vec<String> = parts(text).into_iter().map(|part| part.text).filter(|part| !only_forbids(part)).collect();
    let asked = asked.join(". ");
    (has_word(&asked, SAYS) || ADDED.is_match(&asked))
        && !PARTS.is_match(&asked)
        && ![OTHERWISE, SHORTENS, REMOVE].iter().any(|list| has_word(&asked, list))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_added_to_a_document() {
        for text in [
            "Please add a short note to the chapter on limits: 0 means none",
            "There is a chapter on setup in the guide. Please also mention there that git has to be installed, and drop nothing.",
            "mention --quiet in the readme",
            "add to the Limits part of GUIDE.md that names are short",
            "put both in the docs too",
            "and put an entry for it into HISTORY.md",
            "Ergänze einen Hinweis auf die Lizenz",
        ] {
            assert!(adds_words(text), "{text}");
        }
        for text in [
            "Add a section on limits",
            "say 'now' instead of 'then' in the readme",
            "add a row for --quiet to the table of options",
            "Add a usage example to the readme",
            "the readme should say 3.10, not 3.8: correct that line",
            "remove the line about npm",
            "reword the first sentence",
        ] {
            assert!(!adds_words(text), "{text}");
        }
    }
}
