//! Removes backslashes and quotes from the text of words as a shell does.

use crate::tools::shell::word::Word;

/// Adds unquoted text: backslashes are removed, and wildcards become unknown text.
pub fn bare(text: &str, word: &mut Word, torn: &mut bool) {
    let mut chars = text.chars();
    let (mut brace, mut quote) = (false, None);
    while let Some(c) = chars.next() {
        match c {
            // Empty quotes inside a word are part of its text here.
            '\'' | '"' if quote.is_none_or(|open| open == c) => quote = if quote.is_none() { Some(c) } else { None },
            _ if quote.is_some() => word.push(c.encode_utf8(&mut [0; 4])),
            '\\' => match chars.next() {
                Some('\n') | None => {}
                Some(other) => word.push(other.encode_utf8(&mut [0; 4])),
            },
            '*' | '?' => word.push_wildcard(),
            '[' => {
                word.push_wildcard();
                if chars.as_str().contains(']') {
                    chars.by_ref().take_while(|c| *c != ']').for_each(drop);
                }
            }
            '$' | '`' => *torn = true,
            _ => {
                brace |= c == '{';
                *torn |= brace && c == ',';
                word.push(c.encode_utf8(&mut [0; 4]));
            }
        }
    }
}

/// Adds text inside double quotes.
pub fn quoted(text: &str, word: &mut Word) {
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some('\n')) => {
                chars.next();
            }
            ('\\', Some('$' | '`' | '"' | '\\')) => {
                word.push(chars.next().unwrap_or_default().encode_utf8(&mut [0; 4]));
            }
            ('`', _) => word.push_open(),
            _ => word.push(c.encode_utf8(&mut [0; 4])),
        }
    }
}

/// The text of `$'…'`; `None` if it has an escape that is not supported here.
pub fn ansi_c(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut chars = text.strip_prefix("$'")?.strip_suffix('\'')?.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let escape = chars.next()?;
        let (radix, most) = match escape {
            'x' => (16, 2),
            'u' => (16, 4),
            'U' => (16, 8),
            '0'..='7' => (8, 3),
            'n' => {
                out.push('\n');
                continue;
            }
            't' => {
                out.push('\t');
                continue;
            }
            '\\' | '\'' | '"' | '?' => {
                out.push(escape);
                continue;
            }
            _ => return None,
        };
        let mut digits = String::new();
        if radix == 8 {
            digits.push(escape);
        }
        while digits.len() < most && chars.peek().is_some_and(|c| c.is_digit(radix)) {
            digits.extend(chars.next());
        }
        let read = char::from_u32(u32::from_str_radix(&digits, radix).ok()?)?;
        out.push(Some(read).filter(|c| *c != '\0')?);
    }
    Some(out)
}
