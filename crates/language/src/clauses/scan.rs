//! Splits a request into tokens so that nothing inside a quotation, path or number counts as
//! punctuation.

use super::words::listed;

/// The kind of a token for the clause rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A word, path, number or identifier, without trailing punctuation.
    Word,
    /// A quotation, a piece in backticks or a fenced block, with its delimiters.
    Opaque,
    Comma,
    /// A full stop, except inside a name or a number.
    Stop,
    Question,
    Bang,
    Semicolon,
    Colon,
    Dash,
    Open,
    Close,
    Newline,
    /// One or more empty lines.
    Blank,
    /// Any other single symbol: `*`, `•`, `->`.
    Mark,
}

/// A piece of the request with its byte offset.
#[derive(Clone, Debug)]
pub struct Token<'a> {
    /// The kind, which the clause rules look at first.
    pub kind: Kind,
    /// The token as written, with its delimiters.
    pub text: &'a str,
    /// The text in lower case, with straight apostrophes.
    pub low: String,
    /// Its first byte in the request.
    pub start: usize,
    /// The byte after its last one.
    pub end: usize,
}

impl Token<'_> {
    /// Whether a sentence, or a clause that stands alone, ends here.
    pub fn ends_sentence(&self) -> bool {
        matches!(self.kind, Kind::Stop | Kind::Question | Kind::Bang | Kind::Semicolon | Kind::Blank)
    }

    /// Whether the token is a line break or an empty line.
    pub(crate) fn is_line_end(&self) -> bool {
        matches!(self.kind, Kind::Newline | Kind::Blank)
    }

    /// A word written with a capital first letter.
    pub fn is_capitalised(&self) -> bool {
        self.kind == Kind::Word && self.text.chars().next().is_some_and(char::is_uppercase)
    }
}

/// Words that keep their full stop. `etc.` ends a sentence if a capital follows.
const ABBREVIATIONS: &str = "\
    e.g., i.e., etc., vs., mr., mrs., ms., dr., prof., approx., no., fig., cf., inc., ltd., a.m., p.m., т.е., \
    т.д., т.п., др., напр., z.b., d.h., bzw., usw., ca., nr., hr., mme., sr., sra.";

const QUOTES: &[(char, char)] = &[('"', '"'), ('“', '”'), ('«', '»'), ('「', '」'), ('‘', '’'), ('\'', '\'')];

/// The tokens of `text`, in order. Linear in its length.
pub fn scan(text: &str) -> Vec<Token<'_>> {
    let mut scanner = Scanner { text, tokens: Vec::new(), unclosed_before: [0; 8] };
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        at = scanner.step(at, c);
    }
    scanner.tokens
}

/// The tokens of `text`, without line breaks.
pub fn scan_line(text: &str) -> Vec<Token<'_>> {
    scan(text).into_iter().filter(|token| !token.is_line_end()).collect()
}

struct Scanner<'a> {
    text: &'a str,
    tokens: Vec<Token<'a>>,
    /// Per kind of quotation mark: no closing mark occurs before this byte. Avoids rescanning, so the scan stays linear.
    unclosed_before: [usize; 8],
}

impl<'a> Scanner<'a> {
    fn push(&mut self, kind: Kind, start: usize, end: usize) -> usize {
        let text = &self.text[start..end];
        let low = match kind {
            Kind::Word => text.to_lowercase().replace('’', "'"),
            _ => String::new(),
        };
        self.tokens.push(Token { kind, text, low, start, end });
        end
    }

    fn step(&mut self, at: usize, c: char) -> usize {
        if c.is_whitespace() {
            return self.space(at);
        }
        if let Some(end) = self.opaque_end(at, c) {
            return self.push(Kind::Opaque, at, end);
        }
        let after = at + c.len_utf8();
        match c {
            '(' | '[' | '{' => self.push(Kind::Open, at, after),
            _ => match mark(c) {
                Some(kind) if !(c == '.' && starts_name(&self.text[after..]) || self.is_sign(at)) => {
                    self.push(kind, at, after)
                }
                _ => self.word(at),
            },
        }
    }

    fn space(&mut self, at: usize) -> usize {
        let rest = &self.text[at..];
        let length = rest.find(|c: char| !c.is_whitespace()).unwrap_or(rest.len());
        let kind = match rest[..length].bytes().filter(|&b| b == b'\n').count() {
            0 => return at + length,
            1 => Kind::Newline,
            _ => Kind::Blank,
        };
        self.push(kind, at, at + length)
    }

    /// Byte offset after the quotation that opens at `at`; `None` if there is none.
    fn opaque_end(&mut self, at: usize, c: char) -> Option<usize> {
        let rest = &self.text[at..];
        if let Some(inner) = rest.strip_prefix("```") {
            return Some(inner.find("```").map_or(self.text.len(), |n| at + n + 6));
        }
        if c == '`' {
            return self.closing(at, '`', 7);
        }
        let which = QUOTES.iter().position(|(open, _)| *open == c)?;
        let single = matches!(c, '\'' | '‘');
        if single && self.text[..at].chars().next_back().is_some_and(char::is_alphanumeric) {
            return None;
        }
        self.closing(at, QUOTES[which].1, which)
    }

    fn closing(&mut self, at: usize, close: char, which: usize) -> Option<usize> {
        let from = at + self.text[at..].chars().next()?.len_utf8();
        if at < self.unclosed_before[which] {
            return None;
        }
        let line_end = self.text[from..].find('\n').map_or(self.text.len(), |n| from + n);
        let single = matches!(close, '\'' | '’');
        let mut search = from;
        while let Some(n) = self.text[search..line_end].find(close) {
            let end = search + n + close.len_utf8();
            let next = self.text[end..].chars().next();
            let glued = next.is_some_and(char::is_alphanumeric);
            // `""` is a quotation without text; in `"""` the quotation marks are themselves quoted.
            let is_empty = search + n == from;
            if !(single && glued || is_empty && next.is_some_and(|next| next == close || next.is_alphanumeric())) {
                return Some(end);
            }
            search = end;
        }
        self.unclosed_before[which] = line_end;
        None
    }

    /// Whether the character at `at` begins an operator (`!=`, `:=`), or is a comma or stop between
    /// spaces. Such a character is mentioned as a symbol and is not punctuation.
    fn is_sign(&self, at: usize) -> bool {
        let begins = self.text[..at].ends_with(char::is_whitespace);
        let run = self.text[at..].split(char::is_whitespace).next().unwrap_or_default();
        let is_operator =
            run.len() > 1 && run.chars().all(|c| c.is_ascii_punctuation()) && run.contains(['=', '<', '>']);
        let ends = self.text[at + run.len()..].starts_with(char::is_whitespace);
        begins && (is_operator || ends && matches!(run, "," | "."))
    }

    fn word(&mut self, at: usize) -> usize {
        let mut end = at;
        let mut before = ' ';
        for (offset, c) in self.text[at..].char_indices() {
            let next = self.text[at + offset + c.len_utf8()..].chars().next().unwrap_or(' ');
            let breaks = match c {
                '"' | '`' | '“' | '”' | '«' | '»' | '—' | '。' | '，' | '、' | '；' | '！' | '？' | '：' => {
                    true
                }
                ',' => !(before.is_ascii_digit() && next.is_ascii_digit()),
                ';' => true,
                _ => c.is_whitespace(),
            };
            if breaks && offset > 0 {
                break;
            }
            end = at + offset + c.len_utf8();
            before = c;
        }
        let run = &self.text[at..end];
        let bare = self.trimmed(run, at);
        let kind = match bare {
            "-" | "–" | "--" => Kind::Dash,
            "&" => Kind::Word,
            _ if bare.chars().any(char::is_alphanumeric) || bare.len() > 1 && bare.contains(['/', '.', '*', '~']) => {
                Kind::Word
            }
            _ => Kind::Mark,
        };
        let mut place = self.push(kind, at, at + bare.len());
        for c in run[bare.len()..].chars() {
            place = self.push(mark(c).unwrap_or(Kind::Mark), place, place + c.len_utf8());
        }
        place
    }

    /// `run` without trailing punctuation. Never empty.
    fn trimmed(&self, run: &'a str, at: usize) -> &'a str {
        let mut bare = run;
        while let Some(last) = bare.chars().next_back() {
            let inner = &bare[..bare.len() - last.len_utf8()];
            let trims = match last {
                '.' => !self.keeps_stop(bare, at + bare.len()),
                ')' => !inner.contains('('),
                ']' => !inner.contains('['),
                '}' => !inner.contains('{'),
                '*' | '_' => inner.starts_with(last) && inner.len() > 1,
                ',' | ':' | '!' | '?' | '…' | '\'' | '’' => true,
                _ => false,
            };
            if !trims || inner.is_empty() {
                break;
            }
            bare = inner;
        }
        bare
    }

    /// Whether the full stop at the end of `run` belongs to an abbreviation.
    fn keeps_stop(&self, run: &str, end: usize) -> bool {
        let low = run.to_lowercase();
        // French `M. Dupont`; a lower-case `m.` also ends a sentence: `10 m.`
        let known = listed(ABBREVIATIONS, low.trim_start_matches('(')) || run == "M.";
        let next = self.text[end..].trim_start().chars().next();
        let ends_often = matches!(
            low.as_str(),
            "etc." | "no." | "inc." | "ltd." | "a.m." | "p.m." | "usw." | "т.д." | "т.п." | "др."
        );
        known && next.is_some() && !(ends_often && next.is_some_and(char::is_uppercase))
    }
}

/// Whether a dot before `rest` begins a name, as in `.gitignore`, `./x`, `../y`, `.5`, and is not a
/// full stop.
fn starts_name(rest: &str) -> bool {
    rest.chars().next().is_some_and(|c| c.is_alphanumeric() || c == '/' || c == '.')
}

fn mark(c: char) -> Option<Kind> {
    Some(match c {
        ',' | '，' | '、' => Kind::Comma,
        '.' | '…' | '。' => Kind::Stop,
        '?' | '？' => Kind::Question,
        '!' | '！' => Kind::Bang,
        ';' | '；' => Kind::Semicolon,
        ':' | '：' => Kind::Colon,
        '—' => Kind::Dash,
        ')' | ']' | '}' => Kind::Close,
        '¿' | '¡' => Kind::Mark,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the tokens' texts, written with `|` between them and `⏎` for line breaks.
    fn check(text: &str, expected: &str) {
        let seen: Vec<&str> = scan(text).iter().map(|t| if t.text.trim().is_empty() { "⏎" } else { t.text }).collect();
        assert_eq!(seen.join("|"), expected, "{text}");
    }

    #[test]
    fn names_paths_and_numbers_keep_their_dots() {
        check("Read src/a.rs.", "Read|src/a.rs|.");
        check("Go to v1.2.3, e.g. now", "Go|to|v1.2.3|,|e.g.|now");
        check("Add 1,000 and 2.5", "Add|1,000|and|2.5");
        check("Edit .gitignore and ../x", "Edit|.gitignore|and|../x");
        check("Use foo() (now)", "Use|foo()|(|now|)");
    }

    #[test]
    fn quotations_are_one_token() {
        check("say \"a, b. c\" now", "say|\"a, b. c\"|now");
        check("run `x; y` it's", "run|`x; y`|it's");
        check("the users' files and 'my file'", "the|users|'|files|and|'my file'");
        check("replace != with ==", "replace|!=|with|==");
        check("replace , with : now", "replace|,|with|:|now");
        check("from \"\" to \"x\"", "from|\"\"|to|\"x\"");
        check("```\na. b\n``` go", "```\na. b\n```|go");
    }

    #[test]
    fn unclosed_quotes_do_not_swallow_the_rest() {
        check("5\" disk, then", "5|\"|disk|,|then");
        check("a ` b. C", "a|`|b|.|C");
    }

    #[test]
    fn line_ends_are_tokens() {
        check("a\nb\n\nc", "a|⏎|b|⏎|c");
    }
}
