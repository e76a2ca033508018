//! Finds private data in text by patterns: email addresses, phone, card and account numbers, keys and passwords.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::pattern::pattern;

/// A kind of private data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Key,
    Email,
    Iban,
    Card,
    Phone,
}

impl Kind {
    /// The placeholder that replaces it.
    pub fn mask(self) -> &'static str {
        match self {
            Kind::Key => "[secret]",
            Kind::Email => "[email]",
            Kind::Iban => "[account]",
            Kind::Card => "[card]",
            Kind::Phone => "[phone]",
        }
    }
}

/// Byte ranges of private data, in order, without overlaps.
pub fn find(text: &str) -> Vec<(Kind, Range<usize>)> {
    let mut found: Vec<(Kind, Range<usize>)> = Vec::new();
    for (kind, pattern, holds) in &*PATTERNS {
        for groups in pattern.captures_iter(text) {
            // A pattern that also matches context has its private part in the group `it`.
            let Some(part) = groups.name("it").or_else(|| groups.get(0)) else { continue };
            let free = found.iter().all(|(_, other)| part.end() <= other.start || other.end <= part.start());
            if free && holds(text, part.range()) {
                found.push((*kind, part.range()));
            }
        }
    }
    found.sort_by_key(|(_, range)| range.start);
    found
}

/// The text with each private part replaced by [`Kind::mask`].
pub fn mask(text: &str) -> Cow<'_, str> {
    let found = find(text);
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let (mut masked, mut at) = (String::with_capacity(text.len()), 0);
    for (kind, range) in found {
        masked.push_str(&text[at..range.start]);
        masked.push_str(kind.mask());
        at = range.end;
    }
    masked.push_str(&text[at..]);
    Cow::Owned(masked)
}

type Test = fn(&str, Range<usize>) -> bool;

/// Tried in order, most certain first: text matched by an earlier pattern is not matched again.
static PATTERNS: LazyLock<Vec<(Kind, Regex, Test)>> = LazyLock::new(|| {
    vec![
        (Kind::Key, pattern(r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.{1,8000}?)-----END [A-Z ]*PRIVATE KEY-----"), any),
        (
            Kind::Key,
            pattern(concat!(
                r"\b(?:sk-(?:ant-|proj-)?[A-Za-z0-9_-]{20,}|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{40,}",
                r"|glpat-[A-Za-z0-9_-]{20,}|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{40,}|hf_[A-Za-z0-9]{30,}",
                r"|xox[abprs]-[A-Za-z0-9-]{10,}|A(?:KIA|SIA)[0-9A-Z]{16}|AIza[A-Za-z0-9_-]{35}",
                r"|[rs]k_(?:live|test)_[A-Za-z0-9]{16,}|eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,})"
            )),
            whole,
        ),
        (Kind::Key, pattern(r"(?i)\bbearer\s+(?P<it>[A-Za-z0-9._~+/-]{16,}=*)"), varied),
        (Kind::Key, pattern(r#"://[^\s/:@]{1,64}:(?P<it>[^\s/@]{3,128})@"#), literal),
        (
            Kind::Key,
            pattern(concat!(
                r#"(?i)(?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|auth[_-]?token|access[_-]?token)"#,
                r#"["']?\s*(?:[:=]|is)\s*["']?(?P<it>[^\s"',;<>()\[\]{}]{6,128})"#
            )),
            literal,
        ),
        (Kind::Email, pattern(r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}\.)+[A-Za-z]{2,24}\b"), address),
        (Kind::Iban, pattern(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b"), iban),
        (Kind::Card, pattern(r"\b[3-6]\d{3}(?:[ -]?\d){8,15}\b"), card),
        (Kind::Phone, pattern(r"\+\d{1,3}[ .-]?(?:\(0?\d{1,4}\)[ .-]?)?\d{1,4}(?:[ ./-]?\d{2,4}){1,5}\b"), phone),
        (Kind::Phone, pattern(r"(?:\(\d{3}\) ?|\b\d{3}[-.])\d{3}[-.]\d{4}\b"), whole),
        (Kind::Phone, pattern(r"\b0\d{2,4}[ /-]\d{3,4}[ -]?\d{3,5}\b"), whole),
    ]
});

fn any(_: &str, _: Range<usize>) -> bool {
    true
}

/// Whether the match is not part of a longer word or number.
fn whole(text: &str, at: Range<usize>) -> bool {
    let joins = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !text[..at.start].ends_with(joins) && !text[at.end..].starts_with(joins) && !text[at.end..].starts_with(".0")
}

/// Whether the value mixes letters and digits, which ordinary words do not.
fn varied(text: &str, at: Range<usize>) -> bool {
    let value = &text[at];
    value.bytes().any(|b| b.is_ascii_digit()) && value.bytes().any(|b| b.is_ascii_alphabetic())
}

/// Whether the value is a literal, not a variable's name, a call or a placeholder.
fn literal(text: &str, at: Range<usize>) -> bool {
    let value = &text[at.clone()];
    let placeholder =
        value.starts_with(['$', '%', '<', '*', '&', '@']) || value.contains("env") || value.contains("...");
    // `password: String`, `secret = config.secret`, `token = getToken(`: code.
    let name = value.bytes().all(|b| b.is_ascii_alphabetic() || b"_.:".contains(&b)) || text[at.end..].starts_with('(');
    let repeated = value.bytes().all(|b| b == value.as_bytes()[0]);
    !placeholder && !name && !repeated
}

/// Whether it is a person's address rather than a git remote (`git@host:path`), an example domain
/// or a file name (`icon@2x.png`).
fn address(text: &str, at: Range<usize>) -> bool {
    let value = &text[at.clone()];
    let repository = value.starts_with("git@") || text[at.end..].starts_with(':') && !text[at.end..].starts_with(": ");
    let domain = value.rsplit('@').next().unwrap_or_default().to_ascii_lowercase();
    let sample = ["example.com", "example.org", "example.net"].contains(&domain.as_str());
    let file = [".png", ".jpg", ".svg", ".js", ".ts", ".json", ".md"].iter().any(|end| domain.ends_with(end));
    !repository && !sample && !file && !value.starts_with('.')
}

/// Checks an IBAN by ISO 13616: with the first four characters moved to the end and letters read as
/// numbers, it is 1 modulo 97.
fn iban(text: &str, at: Range<usize>) -> bool {
    let plain: Vec<u8> = text[at].bytes().filter(|b| *b != b' ').collect();
    if !(15..=34).contains(&plain.len()) {
        return false;
    }
    let digit = |rest: u32, byte: &u8| match byte {
        b'0'..=b'9' => (rest * 10 + u32::from(byte - b'0')) % 97,
        _ => (rest * 100 + u32::from(byte - b'A') + 10) % 97,
    };
    plain[4..].iter().chain(&plain[..4]).fold(0, digit) == 1
}

/// Checks a card number by its Luhn sum (ISO/IEC 7812): 13 to 19 digits, not all equal, not part of a longer number.
fn card(text: &str, at: Range<usize>) -> bool {
    let digits: Vec<u32> = text[at.clone()].chars().filter_map(|c| c.to_digit(10)).collect();
    let double = |n: u32| if n > 4 { 2 * n - 9 } else { 2 * n };
    let sum: u32 = digits.iter().rev().enumerate().map(|(i, n)| if i % 2 == 1 { double(*n) } else { *n }).sum();
    (13..=19).contains(&digits.len())
        && sum.is_multiple_of(10)
        && digits.iter().any(|n| *n != digits[0])
        && whole(text, at)
}

/// Checks a phone number: 8 to 15 digits (E.164), not part of a longer number.
fn phone(text: &str, at: Range<usize>) -> bool {
    let digits = text[at.clone()].bytes().filter(u8::is_ascii_digit).count();
    (8..=15).contains(&digits) && whole(text, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_data_is_masked_and_the_rest_stays() {
        assert_eq!(mask("mail ada@lovelace.org or +44 20 7946 0958!"), "mail [email] or [phone]!");
        assert_eq!(mask("password = \"hunter2x\""), "password = \"[secret]\"");
        assert!(matches!(mask("nothing here, version 1.2.3"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_masked_text_has_nothing_left_to_find() {
        let text = "DE89 3704 0044 0532 0130 00, 4111 1111 1111 1111, ada@lovelace.org, AKIAIOSFODNN7EXAMPLE";
        assert_eq!(mask(text), "[account], [card], [email], [secret]");
        assert!(find(&mask(text)).is_empty());
    }
}
