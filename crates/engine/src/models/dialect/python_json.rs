//! Writes JSON like Python's `json.dumps`: spaces after commas and colons, and floats in Python's format.

use serde_json::{Number, Value};

/// The arguments of `json.dumps`.
#[derive(Clone, Debug)]
pub struct Style {
    /// Non-ASCII characters become `\uXXXX`.
    pub ascii: bool,
    /// Written once per level before each item, which gets its own line.
    pub indent: Option<String>,
    pub comma: String,
    pub colon: String,
    pub sorted: bool,
}

impl Default for Style {
    fn default() -> Style {
        Style { ascii: false, indent: None, comma: ", ".to_owned(), colon: ": ".to_owned(), sorted: false }
    }
}

/// `value` in this style. Recurses as deep as `value`, whose depth serde_json and minijinja limit.
pub fn write(value: &Value, style: &Style) -> String {
    let mut out = String::new();
    style.value(value, 0, &mut out);
    out
}

impl Style {
    fn value(&self, value: &Value, depth: usize, out: &mut String) {
        match value {
            Value::String(text) => self.text(text, out),
            Value::Number(number) => out.push_str(&self::number(number)),
            Value::Array(all) => self.items(('[', ']'), all.iter(), depth, out, |one, out| {
                self.value(one, depth + 1, out);
            }),
            Value::Object(all) => {
                let mut all: Vec<_> = all.iter().collect();
                if self.sorted {
                    all.sort_by_key(|(name, _)| *name);
                }
                self.items(('{', '}'), all.into_iter(), depth, out, |(name, one), out| {
                    self.text(name, out);
                    out.push_str(&self.colon);
                    self.value(one, depth + 1, out);
                });
            }
            Value::Null | Value::Bool(_) => out.push_str(&value.to_string()),
        }
    }

    fn items<T>(
        &self,
        (open, close): (char, char),
        all: impl ExactSizeIterator<Item = T>,
        depth: usize,
        out: &mut String,
        mut write: impl FnMut(T, &mut String),
    ) {
        let line = |depth: usize, out: &mut String| {
            if let Some(indent) = &self.indent {
                out.push('\n');
                out.push_str(&indent.repeat(depth));
            }
        };
        let is_empty = all.len() == 0;
        out.push(open);
        for (index, one) in all.enumerate() {
            out.push_str(if index > 0 { &self.comma } else { "" });
            line(depth + 1, out);
            write(one, out);
        }
        if !is_empty {
            line(depth, out);
        }
        out.push(close);
    }

    fn text(&self, text: &str, out: &mut String) {
        let quoted = Value::from(text).to_string();
        if !self.ascii {
            out.push_str(&quoted);
            return;
        }
        for letter in quoted.chars() {
            if letter.is_ascii() {
                out.push(letter);
            } else {
                out.extend(letter.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
            }
        }
    }
}

/// Python uses exponents for floats below 0.0001 and from 1e16 on, with a sign and two digits.
fn number(number: &Number) -> String {
    let Some(float) = number.as_f64().filter(|_| number.is_f64()) else { return number.to_string() };
    let size = float.abs();
    if size == 0.0 || (1e-4..1e16).contains(&size) {
        return format!("{float:?}");
    }
    let text = format!("{float:e}");
    match text.split_once('e') {
        Some((digits, exponent)) => {
            let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
            format!("{digits}e{sign}{exponent:0>2}")
        }
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_is_written_as_python_writes_it() {
        let value = json!({ "b": [1, 2.0, 1e20, 1.5e-7, null, true], "a": {}, "é": "\"\n\u{1}😀", "c": [] });
        let check = |style: Style, expected: &str| assert_eq!(write(&value, &style), expected);
        check(
            Style::default(),
            "{\"b\": [1, 2.0, 1e+20, 1.5e-07, null, true], \"a\": {}, \"é\": \"\\\"\\n\\u0001😀\", \"c\": []}",
        );
        check(
            Style { ascii: true, sorted: true, comma: ",".into(), colon: ":".into(), indent: None },
            "{\"a\":{},\"b\":[1,2.0,1e+20,1.5e-07,null,true],\"c\":[],\"\\u00e9\":\"\\\"\\n\\u0001\\ud83d\\ude00\"}",
        );
        let lines = Style { indent: Some(" ".into()), comma: ",".into(), ..Style::default() };
        assert_eq!(write(&json!({ "a": [1, {}], "b": [] }), &lines), "{\n \"a\": [\n  1,\n  {}\n ],\n \"b\": []\n}");
    }
}
