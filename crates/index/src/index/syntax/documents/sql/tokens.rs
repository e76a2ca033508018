//! The SQL tokens that matter for finding the ends of statements.

use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    Blank,
    Comment,
    Word,
    /// A name in `"…"`, `` `…` `` or `[…]`.
    Quoted,
    /// A string in `'…'`.
    Text,
    /// A string in `$…$ … $…$`, which is usually the body of a function.
    Dollar,
    /// One other character.
    Mark,
}

#[derive(Clone, Debug)]
pub struct Token {
    pub sort: Sort,
    pub bytes: Range<usize>,
}

impl Token {
    /// Whether it is this word, ignoring case.
    pub fn is(&self, source: &str, word: &str) -> bool {
        self.sort == Sort::Word && source[self.bytes.clone()].eq_ignore_ascii_case(word)
    }
}

/// The token that begins at a byte; `None` at the end.
pub fn next(source: &str, at: usize) -> Option<Token> {
    let rest = source.get(at..)?;
    let first = rest.chars().next()?;
    let line = || rest.find('\n').unwrap_or(rest.len());
    let until = |from: usize, end: &str| rest[from..].find(end).map(|found| from + found + end.len());
    let (sort, length) = match first {
        // Each line break is a separate token, so that the beginning of a line is recognised.
        '\n' => (Sort::Blank, 1),
        _ if first.is_whitespace() => {
            let is_end = |letter: char| !letter.is_whitespace() || letter == '\n';
            (Sort::Blank, rest.find(is_end).unwrap_or(rest.len()))
        }
        '-' if rest.starts_with("--") => (Sort::Comment, line()),
        '#' if at == 0 || source[..at].ends_with('\n') => (Sort::Comment, line()),
        '/' if rest.starts_with("/*") => (Sort::Comment, until(2, "*/").unwrap_or(rest.len())),
        '\'' => (Sort::Text, text(rest)),
        '"' | '`' => match until(1, if first == '"' { "\"" } else { "`" }) {
            Some(end) => (Sort::Quoted, end),
            None => (Sort::Mark, 1),
        },
        '[' => match bracketed(rest) {
            Some(end) => (Sort::Quoted, end),
            None => (Sort::Mark, 1),
        },
        '$' => match tag(rest).and_then(|tag| until(tag.len(), tag)) {
            Some(end) => (Sort::Dollar, end),
            None => (Sort::Mark, 1),
        },
        _ if is_of_word(first) => (Sort::Word, rest.find(|c: char| !is_of_word(c) && c != '$').unwrap_or(rest.len())),
        _ => (Sort::Mark, first.len_utf8()),
    };
    Some(Token { sort, bytes: at..at + length })
}

/// `@name` is a SQL Server variable, and `@schema@` is replaced when a PostgreSQL extension is
/// installed.
fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '@')
}

/// The word after the white space at a byte, in lower case; empty if there is none.
pub fn word_after(source: &str, at: usize) -> String {
    let rest = source[at..].trim_start();
    rest[..rest.find(|c: char| !is_of_word(c)).unwrap_or(rest.len())].to_ascii_lowercase()
}

/// Bytes of the string at the beginning of `rest`, which may contain `''`. A backslash before a
/// quote counts only in MySQL: there a letter follows, as in `it\'s`; elsewhere the string ends.
fn text(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let mut at = 1;
    while let Some(found) = rest[at..].find('\'') {
        let quote = at + found;
        let is_next = |fits: fn(&u8) -> bool| bytes.get(quote + 1).is_some_and(fits);
        let is_escaped = bytes[quote - 1] == b'\\' && quote > 1 && is_next(u8::is_ascii_alphanumeric);
        if is_next(|next| *next == b'\'') {
            at = quote + 2;
        } else if is_escaped {
            at = quote + 1;
        } else {
            return quote + 1;
        }
    }
    rest.len()
}

/// Bytes of the name in `[…]` at the beginning of `rest`; `None` for an index or a list.
fn bracketed(rest: &str) -> Option<usize> {
    /// SQL Server allows 128 characters.
    const BYTES_MAX: usize = 512;
    let end = rest.bytes().take(BYTES_MAX).position(|byte| byte == b']')?;
    let name = rest.get(1..end)?;
    let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_') && !name.contains(['\n', ',', '(', '\'']);
    is_name.then_some(end + 1)
}

/// The mark that begins a string: `$$`, `$body$`.
fn tag(rest: &str) -> Option<&str> {
    let end = 1 + rest[1..].find(|c: char| !c.is_alphanumeric() && c != '_')?;
    let is_tag = rest[end..].starts_with('$') && !rest[1..].starts_with(|c: char| c.is_ascii_digit());
    is_tag.then(|| &rest[..=end])
}
