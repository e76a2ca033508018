//! Finds text whose form may be that of a person's name or a home address; [`super::mask::Judge`] decides whether it is one.

use std::ops::Range;

/// The kind of a candidate, by its form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Up to three capitalised words.
    Name,
    /// A number before two or more capitalised words (`14 Birch Lane`), or after a street name
    /// (`Hauptstraße 12`).
    Address,
}

/// A part of a text that may be private, with all its possible extents: `Call Ada Lovelace` may
/// also be `Ada Lovelace`.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    pub form: Form,
    /// Byte ranges in the text.
    pub readings: Vec<Range<usize>>,
}

/// Maximum number of words in one name.
const WORDS_MAX: usize = 3;
/// Titles before a name, which are not masked.
const TITLES: [&str; 8] = ["Mr", "Mrs", "Ms", "Dr", "Prof", "Dear", "Aunt", "Uncle"];
/// Endings of German street names written as one word.
const STREETS: [&str; 5] = ["straße", "strasse", "weg", "platz", "gasse"];

struct Word<'t> {
    text: &'t str,
    at: Range<usize>,
    /// The punctuation directly after the word, which ends a name.
    mark: Option<char>,
    /// Whether a bracket or quote is directly before the word, which begins a name.
    opened: bool,
}

/// All candidates in order, without overlaps. A single capitalised word at the beginning of a sentence is not one.
pub fn candidates(text: &str) -> Vec<Candidate> {
    let (mut found, mut from) = (Vec::new(), 0);
    for line in text.split_inclusive('\n') {
        in_line(&words(line, from), &mut found);
        from += line.len();
    }
    found
}

fn in_line(words: &[Word<'_>], found: &mut Vec<Candidate>) {
    let (mut at, mut begins) = (0, true);
    while let Some(word) = words.get(at) {
        let number = is_number(word);
        let run = run(&words[at + usize::from(number)..]);
        let last = match (number, words.get(at + 1)) {
            (true, _) if run >= 2 => at + run,
            (false, Some(next)) if is_street(word) && next.text.parse::<u16>().is_ok() => at + 1,
            (false, _) if run > 0 => at + run - 1,
            _ => at,
        };
        let whole = word.at.start..words[last].at.end;
        if number && run >= 2 || is_street(word) && last == at + 1 && run < 2 {
            found.push(Candidate { form: Form::Address, readings: vec![whole] });
        } else if run > 1 || run == 1 && !begins && !number {
            let mut readings = vec![whole.clone()];
            readings.extend((begins && run > 1).then(|| words[at + 1].at.start..whole.end));
            found.push(Candidate { form: Form::Name, readings });
        }
        begins = matches!(words[last].mark, Some('.' | '!' | '?' | ':')) || word.text.is_empty();
        at = last + 1;
    }
}

/// The words of a line that begins at byte `from` of the text, without surrounding punctuation.
fn words(line: &str, from: usize) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    for part in line.split_whitespace() {
        let opened = part.trim_start_matches(['(', '"', '\'', '`', '«', '“', '‹', '[', '<', '*', '-', '#']);
        let closed =
            opened.trim_end_matches([',', '.', ';', ':', '!', '?', ')', '"', '\'', '`', '’', '»', '”', ']', '>', '*']);
        let mark = opened[closed.len()..].chars().next();
        let text = closed.strip_suffix("'s").or_else(|| closed.strip_suffix("’s")).unwrap_or(closed);
        // `opened` is a slice of `line`, so the difference of their addresses is its offset in the line.
        let start = from + (opened.as_ptr() as usize - line.as_ptr() as usize);
        let mark = mark.or_else(|| (text.len() < closed.len()).then_some('\''));
        words.push(Word { text, at: start..start + text.len(), mark, opened: opened.len() < part.len() });
    }
    words
}

/// Number of leading words that may form one name.
fn run(words: &[Word<'_>]) -> usize {
    let mut count = 0;
    for word in words.iter().take(WORDS_MAX) {
        if !is_name(word.text) || TITLES.contains(&word.text) || word.opened && count > 0 {
            break;
        }
        count += 1;
        if word.mark.is_some() {
            break;
        }
    }
    count
}

/// `Ada`, `O'Neill`, `McKay`, `Anne-Marie`; not `README`, `OrderService` or `config.ts`.
fn is_name(word: &str) -> bool {
    let part = |part: &str| {
        let part = part.strip_prefix("Mc").filter(|rest| !rest.is_empty()).unwrap_or(part);
        let mut letters = part.chars();
        letters.next().is_some_and(char::is_alphabetic) && letters.all(char::is_lowercase)
    };
    word.starts_with(char::is_uppercase) && word.contains(char::is_lowercase) && word.split(['\'', '’', '-']).all(part)
}

fn is_number(word: &Word<'_>) -> bool {
    word.mark.is_none()
        && word.text.len() <= 4
        && word.text.bytes().all(|b| b.is_ascii_digit())
        && !word.text.is_empty()
}

fn is_street(word: &Word<'_>) -> bool {
    word.mark.is_none() && is_name(word.text) && STREETS.iter().any(|end| word.text.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&[&str]]) {
        let found = candidates(text);
        let found: Vec<Vec<&str>> =
            found.iter().map(|one| one.readings.iter().map(|at| &text[at.clone()]).collect()).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn runs_of_capital_words_may_be_names() {
        check("Please ask Ada Lovelace, then Anne-Marie's friend.", &[&["Ada Lovelace"], &["Anne-Marie"]]);
        check("Call Ada Lovelace now", &[&["Call Ada Lovelace", "Ada Lovelace"]]);
        check("Dear Mr Peter McKay, hello", &[&["Peter McKay"]]);
        check("ok. Mail it\nWrite (Bob O'Neill) `Ada`", &[&["Bob O'Neill"], &["Ada"]]);
        check("Спроси Анну Петрову завтра", &[&["Спроси Анну Петрову", "Анну Петрову"]]);
    }

    #[test]
    fn a_number_beside_capital_words_may_be_an_address() {
        check("ship to 14 Birch Lane, Leeds", &[&["14 Birch Lane"], &["Leeds"]]);
        check("lives at Hauptstraße 12 now", &[&["Hauptstraße 12"]]);
        check("in 2024 Python grew", &[&["Python"]]);
    }

    #[test]
    fn code_and_the_first_word_of_a_sentence_are_no_names() {
        check("Read README.md and OrderService. Run it. It works: Fine", &[]);
        check("let Some(x) = y::Z; # Title", &[]);
        check("", &[]);
    }
}
