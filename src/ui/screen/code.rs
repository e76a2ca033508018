//! Colours a line of code: comments, literals, numbers and keywords, without the language's grammar.

use ratatui::text::Span;

use super::theme::Theme;

/// Words that are keywords in most languages that users ask about.
const KEYWORDS: &str = " as async await bool break case catch class const continue crate def default del do elif else enum \
    except export extends false False finally fn for from func function go if impl import in int interface is lambda let \
    loop match mod module mut new nil None not null or package pass private pub public raise return Self self static \
    string struct super switch this throw trait true True try type use var void where while with yield ";

/// Languages whose comments begin with `#`.
const HASH: [&str; 12] =
    ["bash", "console", "dockerfile", "make", "python", "py", "rb", "ruby", "sh", "shell", "toml", "yaml"];

/// A line of code in `language`, as named in a fence.
pub fn painted(line: &str, language: &str, theme: Theme) -> Vec<Span<'static>> {
    let (mut spans, mut rest) = (Vec::new(), line);
    let comment = if HASH.contains(&language) { "#" } else { "//" };
    // Each iteration consumes at least one character.
    while let Some(first) = rest.chars().next() {
        let (taken, style) = if rest.starts_with(comment) || (language == "sql" && rest.starts_with("--")) {
            (rest.len(), theme.dim())
        } else if matches!(first, '"' | '`') || (first == '\'' && language != "rust") {
            (literal(rest, first), theme.good())
        } else if first.is_ascii_digit() {
            (span_of(rest, |c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_')), theme.number())
        } else if first.is_alphabetic() || first == '_' {
            let taken = span_of(rest, |c| c.is_alphanumeric() || c == '_');
            let keyword = KEYWORDS.contains(&format!(" {} ", &rest[..taken]));
            (taken, if keyword { theme.keyword() } else { theme.plain() })
        } else {
            (first.len_utf8(), theme.plain())
        };
        spans.push(Span::styled(rest[..taken].to_owned(), style));
        rest = &rest[taken..];
    }
    spans
}

/// Length, in bytes, of the quoted text at the beginning of `text`; to the end of the line if the
/// quotation is not closed.
fn literal(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

fn span_of(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|c: char| !belongs(c)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, language: &str, coloured: &[&str]) {
        let spans = painted(line, language, Theme::Coloured);
        assert_eq!(spans.iter().map(|span| &*span.content).collect::<String>(), line);
        let found: Vec<&str> = spans.iter().filter(|span| span.style.fg.is_some()).map(|span| &*span.content).collect();
        assert_eq!(found, coloured, "{line}");
    }

    #[test]
    fn comments_literals_numbers_and_keywords_are_coloured() {
        check("let x = 5; // five", "rust", &["let", "5", "// five"]);
        check("x = \"a # b\"  # c", "python", &["\"a # b\"", "# c"]);
        check("say(\"open", "js", &["\"open"]);
        check("letter = 'a\\'b'", "js", &["'a\\'b'"]);
        check("größe <'a>", "rust", &[]);
    }
}
