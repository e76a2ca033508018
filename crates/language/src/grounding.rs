//! Checks a model's sentences against the evidence: rejects names, numbers and paths that no source
//! contains.

use super::shape::{is_coined_word, is_path};
use super::words;
use crate::base::is_listed;

/// Whether every mark of `sentence` (number, path, identifier) has a source, and at least half of
/// its content words occur in `evidence` or `request`.
pub fn is_grounded(sentence: &str, evidence: &[&str], request: &str) -> bool {
    if !has_known_marks(sentence, evidence, request) {
        return false;
    }
    let content = words::content(sentence);
    !content.is_empty() && {
        let sources = || evidence.iter().copied().chain([request]);
        let backed = content.iter().filter(|word| sources().any(|source| words::content(source).contains(*word)));
        backed.count() * 2 >= content.len()
    }
}

/// Whether every mark of `sentence` occurs in `evidence`. A file name must occur in full;
/// `Cache.get` occurs if both of its names do, `4th` if `4` does. Only numbers may also come from
/// `request`, because a name in a question may be wrong.
pub fn has_known_marks(sentence: &str, evidence: &[&str], request: &str) -> bool {
    let occurs = |mark: &str| evidence.iter().any(|source| is_backed(source, mark));
    let is_number = |mark: &str| occurs(mark) || is_backed(request, mark);
    let known = |mark: &str| {
        let digits = mark.len() - mark.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if !mark.contains(char::is_alphabetic) {
            return is_number(mark);
        }
        if digits > 0 {
            return occurs(mark) || !mark.contains('.') && is_number(&mark[..digits]);
        }
        if let Some((path, line)) = file(mark) {
            return evidence.iter().any(|source| names_file(source, path)) && line.is_none_or(is_number);
        }
        let mut parts = mark.split(['.', ':', '#']).filter(|part| !part.is_empty()).peekable();
        occurs(mark) || !mark.contains('/') && parts.peek().is_some() && parts.all(occurs)
    };
    words::marks(sentence).iter().all(|mark| known(mark))
}

/// The path and line of `src/a.rs:14` or `a.rs`; `None` if the mark does not name a file.
fn file(mark: &str) -> Option<(&str, Option<&str>)> {
    let is_line = |line: &str| !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit());
    let (path, line) = match mark.rsplit_once(':') {
        Some((path, line)) if is_line(line) => (path, Some(line)),
        _ => (mark, None),
    };
    (is_path(path) && path.contains(['.', '/'])).then_some((path, line))
}

/// Whether a text contains the file `path`, or a file with this name in a folder; `a.rs` is not in
/// `data.rs`, `b-a.rs` or `a.rs.bak`.
fn names_file(source: &str, path: &str) -> bool {
    let goes_on = |text: &str| {
        let mut letters = text.chars();
        matches!(letters.next(), Some('.' | '-')) && letters.next().is_some_and(char::is_alphanumeric)
    };
    let path = path.trim_start_matches("./");
    places(source, path).any(|at| !source[..at].ends_with(['-', '.']) && !goes_on(&source[at + path.len()..]))
}

/// The evidence marks (`[e2]`) and files in a sentence. A model that saw no evidence must not cite
/// any.
pub fn citations(sentence: &str) -> Vec<String> {
    let is_mark = |word: &str| {
        word.strip_prefix('e')
            .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let marked = sentence.split('[').skip(1).filter_map(|rest| rest.split_once(']')).map(|(inner, _)| inner.trim());
    let files = words::marks(sentence).into_iter().filter(|mark| file(mark).is_some());
    marked.filter(|inner| is_mark(inner)).map(|inner| format!("[{inner}]")).chain(files).collect()
}

/// Number of neighbouring lines that must support a sentence, and share of its content words that
/// they must contain.
const WINDOW_LINES: usize = 24;
const WINDOW_SHARE: f64 = 0.4;

/// Whether a few neighbouring lines of `shown` support a sentence: they contain all of its marks
/// that are not in the question, and enough of its words. A sentence that claims that something is
/// missing is never supported.
pub fn is_said_by(sentence: &str, shown: &str, question: &str) -> bool {
    let marks = words::marks(sentence);
    let known = words::content(question);
    let content: Vec<String> = words::content(sentence).into_iter().filter(|word| !known.contains(word)).collect();
    let lines: Vec<&str> = shown.lines().collect();
    let step = WINDOW_LINES / 2;
    let is_in = |from: usize| {
        let window = lines[from..lines.len().min(from + WINDOW_LINES)].join("\n");
        let has = words::content(&window);
        let held = content.iter().filter(|word| has.contains(*word)).count();
        marks.iter().all(|mark| has_known_marks(mark, &[&window], question))
            && held as f64 >= WINDOW_SHARE * content.len() as f64
    };
    !says_missing(sentence) && (0..lines.len()).step_by(step).any(is_in)
}

/// Whether a question asks for a value, but the sentence gives none (number, name or constant) that
/// is in `shown` and not in the question. Such a sentence would fit any code:
/// `it returns the value that was given`.
pub fn names_no_value(sentence: &str, shown: &str, question: &str) -> bool {
    const VALUES: &str =
        "return returns returned give gives yield yields default defaults value values raise raises throw throws many";
    const CONSTANTS: &[&str] = &["None", "True", "False", "null", "nil", "true", "false", "undefined", "NaN", "empty"];
    let asks = words::split(question).iter().any(|word| is_listed(VALUES, word));
    let inside = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '.');
    let mut all = sentence.split(|letter| !inside(letter)).map(|word| word.trim_matches('.'));
    let is_value = |word: &str| CONSTANTS.contains(&word) || is_coined_word(word) || word.parse::<f64>().is_ok();
    asks && !all.any(|word| is_value(word) && is_backed(shown, word) && !is_backed(question, word))
}

/// Whether a sentence claims that something is missing.
fn says_missing(sentence: &str) -> bool {
    const MISSING: &[&str] = &[
        "there is no ",
        "there are no ",
        "not exist",
        "not support",
        "n't support",
        "n't exist",
        "not defined",
        "not implemented",
        "no such ",
        "nothing in the",
        "not used",
        "never used",
        "not called",
        "not mention",
    ];
    let low = sentence.to_lowercase();
    MISSING.iter().any(|words| low.contains(words))
}

/// Whether `mark` occurs in `source` as a whole word: `5` is not in `15`, `a.rs` is in `src/a.rs`.
pub fn is_backed(source: &str, mark: &str) -> bool {
    places(source, mark).next().is_some()
}

/// Byte offsets of `mark` in `source` with no letter, digit or underscore next to it.
pub fn places<'a>(source: &'a str, mark: &'a str) -> impl Iterator<Item = usize> + 'a {
    let edge = |letter: Option<char>| letter.is_none_or(|letter| !letter.is_alphanumeric() && letter != '_');
    let is_whole =
        move |at: &usize| edge(source[..*at].chars().next_back()) && edge(source[at + mark.len()..].chars().next());
    source.match_indices(mark).map(|(at, _)| at).filter(is_whole)
}

/// Splits a stream of text into sentences, holding back the unfinished last one.
#[derive(Debug, Default)]
pub struct Sentences {
    held: String,
}

impl Sentences {
    /// Adds text; returns the sentences that are now complete, each with the white space after it.
    pub fn push(&mut self, text: &str) -> Vec<String> {
        self.held.push_str(text);
        let mut whole = Vec::new();
        while let Some(end) = sentence_end(&self.held) {
            whole.push(self.held.drain(..end).collect());
        }
        whole
    }

    /// The unfinished sentence at the end of the stream; `None` if it is blank.
    pub fn rest(&mut self) -> Option<String> {
        let rest = std::mem::take(&mut self.held);
        (!rest.trim().is_empty()).then_some(rest)
    }
}

/// All sentences of a complete text.
pub fn sentences(text: &str) -> Vec<String> {
    let mut cut = Sentences::default();
    let mut all = cut.push(text);
    all.extend(cut.rest());
    all
}

/// Byte offset after the first sentence, which ends with a newline, or with `.`, `!` or `?` and
/// white space. `None` if it is unfinished.
fn sentence_end(text: &str) -> Option<usize> {
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let after = at + letter.len_utf8();
        if letter == '\n' {
            return Some(after);
        }
        if matches!(letter, '.' | '!' | '?')
            && let Some(&(_, next)) = letters.peek()
            && next.is_whitespace()
        {
            return Some(after + next.len_utf8());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "src/pull.rs:14: pub const ATTEMPTS_DEFAULT: u32 = 5;";

    fn check(sentence: &str, expected: bool) {
        assert_eq!(
            is_grounded(sentence, &[SOURCE], "how many attempts does download.rs get by default, 9?"),
            expected,
            "{sentence}"
        );
    }

    #[test]
    fn a_sentence_that_the_evidence_backs_passes() {
        check("A download gets 5 attempts by default.", true);
        check("It is 5 attempts by default, not 9.", true);
        check("`ATTEMPTS_DEFAULT` in src/pull.rs is 5.", true);
    }

    #[test]
    fn a_sentence_that_nothing_backs_is_refused() {
        check("A download gets 15 attempts by default.", false);
        check("See src/fetch.rs for the attempts.", false);
        check("The attempts by default are in download.rs.", false);
        check("The attempts by default are in src/pull.rs:14, see pull.rs.", true);
        check("The attempts by default are in ll.rs.", false);
        check("The quick brown fox jumps over dogs.", false);
    }

    #[test]
    fn names_and_numbers_are_known_by_their_parts() {
        let check = |sentence: &str, expected: bool| {
            let source = "class Cache:\n    def get_or(self, n=4):\n        return 1.5\n";
            assert_eq!(has_known_marks(sentence, &[source], "which of them, set_or?"), expected, "{sentence}");
        };
        check("`Cache.get_or` gives the 4th one, e.g. the last and/or first.", true);
        check("`Cache.get_all` gives the fifth one.", false);
        check("It is 4.5, not 1.5.", false);
        check("`Cache.set_or` gives the 4th one.", false);
        check("It is the 7th one.", false);
    }

    #[test]
    fn marks_of_evidence_and_files_are_citations() {
        assert_eq!(citations("It is in lib/x.ts:3 [e12], or [else]."), ["[e12]", "lib/x.ts:3"]);
        assert_eq!(citations("Hello! I can help you with code."), [""; 0]);
    }

    #[test]
    fn a_sentence_is_said_by_lines_that_stand_together() {
        let far = "filler\n".repeat(60);
        let shown = format!("def load(path):\n    retries = 5\n    return fetch(path, retries)\n{far}PAUSE_MAX = 30\n");
        let check = |sentence: &str, expected: bool| {
            assert_eq!(is_said_by(sentence, &shown, "How often does load try?"), expected, "{sentence}");
        };
        check("`load` has 5 retries.", true);
        check("`load` makes 5 retries with a `PAUSE_MAX` between.", false);
        check("`load` sends mails to the administrator of the cluster.", false);
        check("There is no retry in load.", false);
    }

    #[test]
    fn a_question_for_a_value_is_answered_by_one() {
        let shown = "def load(path, tries=5):\n    if not path:\n        return None\n    return fetch_all(path)\n";
        let check = |sentence: &str, question: &str, expected: bool| {
            assert_eq!(names_no_value(sentence, shown, question), expected, "{sentence}");
        };
        let question = "What does load return without a path?";
        check("`load` returns the value that was specified.", question, true);
        check("`load` returns None.", question, false);
        check("`load` returns what `fetch_all` gives.", question, false);
        check("`load` returns 7.", question, true);
        check("It is tried five times, see `tries`.", "How many tries are there by default?", true);
        check("There are 5 of them.", "How many tries are there by default?", false);
        check("It reads a file.", "What is load for?", false);
    }

    #[test]
    fn sentences_come_whole() {
        let mut sentences = Sentences::default();
        assert!(sentences.push("It is 5 in a.rs").is_empty());
        assert_eq!(sentences.push(". And"), ["It is 5 in a.rs. "]);
        assert_eq!(sentences.rest().as_deref(), Some("And"));
    }
}
