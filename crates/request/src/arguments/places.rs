//! Finds complete occurrences of a text in a file, and scores how well a line matches a description.

use crate::edit::is_comment;
use crate::language::shape::is_joined;
use crate::language::words;

/// Units that may directly follow a number, each with its word in requests.
const UNITS: &[(&str, &str)] = &[
    ("s", "second"),
    ("sec", "second"),
    ("ms", "millisecond"),
    ("us", "microsecond"),
    ("ns", "nanosecond"),
    ("m", "minute"),
    ("min", "minute"),
    ("h", "hour"),
    ("d", "day"),
    ("w", "week"),
    ("px", "pixel"),
    ("pt", "point"),
    ("%", "percent"),
    ("k", "thousand"),
    ("kb", "kilobyte"),
    ("mb", "megabyte"),
    ("gb", "gigabyte"),
    ("x", "time"),
    ("cm", "centimetre"),
];
/// Types that code writes after a number.
const TYPES: &[&str] = &[
    "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32", "f64", "L", "UL",
    "LL", "ULL", "U", "u", "ul", "n",
];

/// The byte offsets of `text` in `file` where it is not part of a longer word, number, name or
/// symbol. A unit may follow a number if `about`, the surrounding words of the request, mentions
/// that unit.
pub(super) fn whole(file: &str, text: &str, about: &[String]) -> Vec<usize> {
    if text.is_empty() {
        return Vec::new();
    }
    let is_number = text.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-' | '_'))
        && text.contains(|c: char| c.is_ascii_digit());
    let ends = |at: &usize| {
        let (before, behind) = (&file[..*at], &file[at + text.len()..]);
        if is_number {
            begins_number(before, text) && ends_number(behind, about)
        } else {
            !goes_on(text, behind) && !goes_on_before(before, text)
        }
    };
    file.match_indices(text).map(|(at, _)| at).filter(ends).collect()
}

/// Whether a number that follows `before` begins there, rather than being the end of `-5`, `1.5`,
/// `0x5`, `1e-5`, `$5` or `1,500`.
fn begins_number(before: &str, number: &str) -> bool {
    let mut letters = before.chars().rev();
    let (last, beyond) = (letters.next().unwrap_or(' '), letters.next().unwrap_or(' '));
    let is_group = last == ','
        && beyond.is_ascii_digit()
        && number.len() >= 3
        && number.as_bytes()[..3].iter().all(u8::is_ascii_digit);
    let is_negative = number.starts_with('-');
    !(is_word(last)
        || matches!(last, '.' | '$' | '€' | '£' | '#' | '−')
        || is_group
        || !is_negative && matches!(last, '-' | '+'))
}

/// Whether a number ends before `behind`, rather than continuing as `50`, `5.5`, `5_000`, `5e3`,
/// `5-rc1` or with a unit that is not in `about`.
fn ends_number(behind: &str, about: &[String]) -> bool {
    let mut letters = behind.chars();
    let (next, beyond) = (letters.next().unwrap_or(' '), letters.next().unwrap_or(' '));
    match next {
        '.' => !beyond.is_alphanumeric(),
        ',' => {
            let digits = behind[1..].chars().take_while(char::is_ascii_digit).count();
            digits != 3
        }
        '-' | '+' => !beyond.is_alphanumeric(),
        c if is_word(c) || c == '%' => {
            let unit =
                if c == '%' { "%" } else { &behind[..behind.find(|c: char| !is_word(c)).unwrap_or(behind.len())] };
            let low = unit.to_lowercase();
            let is_said = |(short, word): &(&str, &str)| *short == low && about.iter().any(|said| same(said, word));
            TYPES.contains(&unit) || about.contains(&low) || UNITS.iter().any(is_said)
        }
        _ => !joins(next),
    }
}

/// Whether a text is a type that code writes after a number.
pub(super) fn is_type(text: &str) -> bool {
    TYPES.contains(&text)
}

/// The byte offsets of `text` in `file`, except where it is part of a longer word: wherever `text`
/// begins or ends with a letter, digit or underscore, no such character may be adjacent.
pub(super) fn apart(file: &str, text: &str) -> Vec<usize> {
    let (first, last) = (text.chars().next(), text.chars().next_back());
    let is_word_at = |c: Option<char>| c.is_some_and(is_word);
    let is_apart = |at: &usize| {
        let (before, behind) = (file[..*at].chars().next_back(), file[at + text.len()..].chars().next());
        !(is_word_at(first) && is_word_at(before) || is_word_at(last) && is_word_at(behind))
    };
    let places = if text.is_empty() { Vec::new() } else { file.match_indices(text).map(|(at, _)| at).collect() };
    places.into_iter().filter(is_apart).collect()
}

/// Whether a word of a request, in the singular, names a unit.
pub(super) fn is_unit(word: &str) -> bool {
    UNITS.iter().any(|(short, long)| short.len() > 1 && *short == word || *long == word)
        || matches!(word, "byte" | "bytes" | "kib" | "mib" | "gib" | "thousand" | "million" | "hundred")
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether a character combines with the previous one: an accent, a skin tone, a joiner.
fn joins(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}')
}

fn is_sign(c: char) -> bool {
    matches!(c, '=' | '!' | '<' | '>' | '+' | '-' | '*' | '/' | '&' | '|' | '^' | '%' | ':' | '~')
}

/// Whether a text contains no letters or digits: `!=`, `,`, `🙂`.
pub(super) fn is_of_signs(text: &str) -> bool {
    !text.contains(char::is_alphanumeric)
}

/// Whether a name continues after a dash or dot. In names of code (`max_size.x`), a dot does not
/// continue the name.
fn is_link(c: char, text: &str) -> bool {
    c == '-' || c == '.' && !is_joined(text)
}

/// Whether `text` is only the start of a longer word with `behind`: `light` in `lighter`,
/// `light-blue`, `==` in `===`.
fn goes_on(text: &str, behind: &str) -> bool {
    let last = text.chars().next_back().unwrap_or(' ');
    let mut letters = behind.chars();
    let (next, beyond) = (letters.next().unwrap_or(' '), letters.next().unwrap_or(' '));
    joins(next)
        || is_word(last) && (is_word(next) || is_link(next, text) && is_word(beyond))
        || is_of_signs(text) && is_sign(last) && is_sign(next)
}

/// Whether `before` and `text` form one word: `blue` in `light-blue`, `$name`, `=` in `!=`.
fn goes_on_before(before: &str, text: &str) -> bool {
    let first = text.chars().next().unwrap_or(' ');
    let mut letters = before.chars().rev();
    let (last, beyond) = (letters.next().unwrap_or(' '), letters.next().unwrap_or(' '));
    last == '\u{200d}'
        || is_word(first)
            && (is_word(last) || last == '$' && !is_joined(text) || is_link(last, text) && is_word(beyond))
        || is_of_signs(text) && is_sign(first) && is_sign(last)
}

/// The words of an identifier or a phrase, in lower case, without a plural `s`: `maxRetries_left` -> max, retrie, left.
pub(super) fn parts(text: &str) -> Vec<String> {
    let singular = |word: &String| {
        let bare = word.strip_suffix('s').filter(|bare| bare.len() > 2 && !bare.ends_with('s'));
        bare.unwrap_or(word).to_owned()
    };
    words::split(text).iter().map(singular).collect()
}

/// Whether two words have the same meaning: they are equal or share most of their beginning
/// (`retry`, `retrie`; `max`, `maximum`).
pub(super) fn same(a: &str, b: &str) -> bool {
    let shared = a.chars().zip(b.chars()).take_while(|(x, y)| x == y).count();
    a == b
        || shared >= 4 && shared + 2 >= a.chars().count().min(b.chars().count())
        || shared == 3 && (a == "max" || b == "max" || a == "min" || b == "min")
}

/// Score of line `at` for the words in `about`: 2 for each on the line itself, 1 for each in the
/// comment or heading above it.
pub(super) fn answers(lines: &[&str], at: usize, about: &[String]) -> f32 {
    let own = parts(lines[at]);
    let above: Vec<String> = comment_above(lines, at).chain(heading(lines, at)).flat_map(parts).collect();
    let mut score = 0.0;
    for word in about {
        if own.iter().any(|one| same(one, word)) {
            score += 2.0;
        } else if above.iter().any(|one| same(one, word)) {
            score += 1.0;
        }
    }
    score
}

/// Up to three comment lines directly above line `at`.
fn comment_above<'a>(lines: &'a [&'a str], at: usize) -> impl Iterator<Item = &'a str> {
    lines[..at].iter().rev().take(3).copied().take_while(|line| is_comment(line) || line.trim_start().starts_with("#["))
}

/// The nearest less indented line above, which heads the table or block of a line (`[planner]`,
/// `"server": {`, `class Pool:`).
fn heading<'a>(lines: &'a [&'a str], at: usize) -> Option<&'a str> {
    /// Number of lines searched upwards for a heading.
    const HEADING_MAX: usize = 60;
    let indent = |line: &str| line.len() - line.trim_start().len();
    let own = indent(lines[at]);
    lines[..at].iter().rev().take(HEADING_MAX).copied().find(|line| {
        !line.trim().is_empty() && (indent(line) < own && !is_comment(line) || own == 0 && line.starts_with('['))
    })
}
