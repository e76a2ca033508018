//! Reads one value in JSON, Python or a lenient notation: `{"a": 1}`, `{'a': True,}`, `{a: 1}`, `[1, "x"]`, `None`.

use serde_json::{Number, Value};

/// Maximum nesting depth of a value.
const DEPTH_MAX: usize = 24;
/// Maximum number of characters that a reader consumes, so that malicious text takes limited time.
pub const FUEL: usize = 2_000_000;

/// A position in a text, and the number of characters that may still be read.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    pub text: &'a str,
    pub at: usize,
    pub fuel: usize,
}

impl<'a> Reader<'a> {
    pub fn new(text: &'a str) -> Reader<'a> {
        Reader { text, at: 0, fuel: FUEL }
    }

    pub fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        self.fuel = self.fuel.checked_sub(1)?;
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    pub fn skip_blank(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) && self.next().is_some() {}
    }

    pub fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        found && self.next().is_some()
    }

    /// The longest word of letters, digits, `_`, `-` and `.` at this position.
    pub fn word(&mut self) -> &'a str {
        self.word_with("_-.")
    }

    /// The longest word of letters, digits and the given `marks` at this position.
    pub fn word_with(&mut self, marks: &str) -> &'a str {
        let start = self.at;
        while self.peek().is_some_and(|c| c.is_alphanumeric() || marks.contains(c)) && self.next().is_some() {}
        &self.text[start..self.at]
    }

    /// Reads one value. After `None` the position is undefined.
    pub fn value(&mut self) -> Option<Value> {
        self.value_at(0)
    }

    fn value_at(&mut self, depth: usize) -> Option<Value> {
        if depth > DEPTH_MAX {
            return None;
        }
        self.skip_blank();
        match self.peek()? {
            '{' => self.object(depth),
            '[' => self.list(']', depth),
            '(' => self.list(')', depth),
            '"' | '\'' => self.string().map(Value::String),
            _ => plain(self.word_with("_-.+")),
        }
    }

    /// Comma-separated items up to `close`, after the opening bracket; a comma may follow the last
    /// item.
    pub fn separated<T>(&mut self, close: char, mut item: impl FnMut(&mut Reader<'a>) -> Option<T>) -> Option<Vec<T>> {
        let mut items = Vec::new();
        loop {
            self.skip_blank();
            if self.eat(close) {
                return Some(items);
            }
            items.push(item(self)?);
            self.skip_blank();
            if !self.eat(',') && self.peek() != Some(close) {
                return None;
            }
        }
    }

    fn list(&mut self, close: char, depth: usize) -> Option<Value> {
        self.next()?;
        self.separated(close, |reader| reader.value_at(depth + 1)).map(Value::Array)
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        self.next()?;
        if self.is_set() {
            return self.separated('}', |reader| reader.value_at(depth + 1)).map(Value::Array);
        }
        let fields = self.separated('}', |reader| {
            let name = match reader.peek()? {
                '"' | '\'' => reader.string()?,
                _ => Some(reader.word()).filter(|word| !word.is_empty())?.to_owned(),
            };
            reader.skip_blank();
            let value = reader.eat(':').then(|| reader.value_at(depth + 1))??;
            Some((name, value))
        })?;
        Some(Value::Object(fields.into_iter().collect()))
    }

    /// Whether a string that is not followed by a colon comes next, as in Python sets.
    fn is_set(&self) -> bool {
        let mut probe = self.clone();
        probe.skip_blank();
        let is_text = matches!(probe.peek(), Some('"' | '\'')) && probe.string().is_some();
        probe.skip_blank();
        is_text && matches!(probe.peek(), Some(',' | '}'))
    }

    /// A string in single, double or triple quotes, with JSON escapes except in triple quotes. It
    /// may span lines.
    pub fn string(&mut self) -> Option<String> {
        let triple = ["\"\"\"", "'''"].into_iter().find(|quotes| self.rest().starts_with(quotes));
        if let Some(quotes) = triple {
            let inner = &self.rest()[3..];
            let end = inner.find(quotes);
            let end = end.or_else(|| {
                self.at = self.text.len();
                None
            })?;
            self.fuel = self.fuel.checked_sub(end)?;
            self.at += end + 6;
            return Some(inner[..end].to_owned());
        }
        let quote = self.next()?;
        let mut out = String::new();
        loop {
            match self.next()? {
                c if c == quote => return Some(out),
                '\\' => self.escape(&mut out)?,
                c => out.push(c),
            }
        }
    }

    fn escape(&mut self, out: &mut String) -> Option<()> {
        match self.next()? {
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            '0' => out.push('\0'),
            'x' => out.push(char::from_u32(self.hex(2)?)?),
            'u' => {
                let first = self.hex(4)?;
                let second = (0xd800..0xdc00).contains(&first) && self.rest().starts_with("\\u");
                let code = if second {
                    self.at += 2;
                    let low = self.hex(4)?;
                    0x10000 + ((first - 0xd800) << 10) + low.wrapping_sub(0xdc00) % 0x400
                } else {
                    first
                };
                out.push(char::from_u32(code).unwrap_or('\u{fffd}'));
            }
            '\n' => {}
            c @ ('"' | '\'' | '\\' | '/' | '`') => out.push(c),
            // Not an escape: the model wrote a regular expression or a Windows path.
            other => out.extend(['\\', other]),
        }
        Some(())
    }

    fn hex(&mut self, count: usize) -> Option<u32> {
        if self.rest().len() < count {
            self.at = self.text.len();
        }
        let digits = self.rest().get(..count)?;
        let code = u32::from_str_radix(digits, 16).ok()?;
        self.at += count;
        Some(code)
    }
}

/// The value of a word: a number, `true`, `false` or `null`; `None` for any other word.
fn plain(word: &str) -> Option<Value> {
    match word {
        "true" | "True" => Some(Value::Bool(true)),
        "false" | "False" => Some(Value::Bool(false)),
        "null" | "None" => Some(Value::Null),
        _ if !word.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.')) => None,
        _ => {
            let whole = word.parse::<i64>().map(Number::from).or_else(|_| word.parse::<u64>().map(Number::from));
            whole.ok().or_else(|| word.parse().ok().and_then(Number::from_f64)).map(Value::Number)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, expected: Option<&str>) {
        let mut reader = Reader::new(text);
        assert_eq!(reader.value().map(|value| value.to_string()).as_deref(), expected, "{text}");
    }

    #[test]
    fn json_python_and_loose_notation_are_read() {
        check(r#"{"a": [1, 2.5, true, null]}"#, Some(r#"{"a":[1,2.5,true,null]}"#));
        check("{'a': True, 'b': None, 'c': (1, 2,),}", Some(r#"{"a":true,"b":null,"c":[1,2]}"#));
        check("{path: \"x\"}", Some(r#"{"path":"x"}"#));
        check("-3", Some("-3"));
        check("'it\\'s'", Some("\"it's\""));
        check("\"a\\\\d\\d\"", Some(r#""a\\d\\d""#));
        check("\"\"\"two\nlines \"x\" \"\"\"", Some(r#""two\nlines \"x\" ""#));
        check("\"\\ud83d\\ude00\"", Some("\"😀\""));
        check("\"\"", Some("\"\""));
    }

    #[test]
    fn broken_values_are_none() {
        for text in ["", "word", "{", "{\"a\" 1}", "[1 2]", "\"open", "{\"a\":}", "\"\\u12", "2024-01-01"] {
            check(text, None);
        }
        check(&"[".repeat(1_000), None);
    }

    proptest! {
        #[test]
        fn every_json_value_is_read_as_itself(text in "\\PC{0,20}", number in -1_000_000i64..1_000_000, flag: bool) {
            let value = serde_json::json!({ "t": text, "n": [number], "f": { "x": flag } });
            prop_assert_eq!(Reader::new(&value.to_string()).value(), Some(value));
        }
    }
}
