//! Whether a value that a model proposed stands on anything that was said.

use serde_json::Value;

use crate::orchestrate::decompose::words::listed;

/// Values that models write when they know none.
const PLACEHOLDERS: &str = "\
    string, str, text, value, path, file, filename, name, id, none, null, n/a, na, unknown, todo, tbd, example, \
    placeholder, path/to/file, /path/to/file, path/to/folder, /path/to/folder, path/to, example.com, \
    user@example.com, john@example.com, file.txt, example.txt, your_file, default, content, query, title, \
    undefined, number, integer, boolean, optional, required";

pub(super) fn is_placeholder(text: &str) -> bool {
    let low = text.trim().to_lowercase();
    low.is_empty()
        || listed(PLACEHOLDERS, &low)
        || low.starts_with('<') && low.ends_with('>')
        || low.starts_with("path/to/")
        || low.starts_with("/path/to/")
        || low.starts_with("{{")
        || low.starts_with("${")
        || low.starts_with("your ")
        || low.starts_with("your_")
        || low.ends_with("@example.com")
        || low.contains("example.com/")
        || low.starts_with('[') && low.ends_with(']') && !low.contains(',')
        || low.chars().all(|c| c == '.' || c == 'x')
}

/// Letters and digits in lower case, one space between words.
fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len() + 2);
    shown.push(' ');
    for c in text.chars() {
        if c.is_alphanumeric() || c == '_' {
            shown.extend(c.to_lowercase());
        } else if !shown.ends_with(' ') {
            shown.push(' ');
        }
    }
    if !shown.ends_with(' ') {
        shown.push(' ');
    }
    shown
}

/// Everything that was said, ready to be searched.
#[derive(Debug)]
pub(super) struct Ground {
    plain: String,
}

impl Ground {
    pub fn new<'t>(texts: impl IntoIterator<Item = &'t str>) -> Ground {
        let mut all = String::from(" ");
        for text in texts {
            all.push_str(&plain(text));
        }
        Ground { plain: all }
    }

    /// Every string and number in `value` was said, word for word. Truth values are judged elsewhere.
    pub fn holds(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.says(text),
            Value::Number(number) => {
                let shown = number.as_f64().map_or_else(|| number.to_string(), |n| n.to_string());
                self.plain.contains(&plain(&shown)) || number.as_f64().is_some_and(|n| self.spelled(n))
            }
            Value::Array(all) => !all.is_empty() && all.iter().all(|one| self.holds(one)),
            Value::Object(map) => !map.is_empty() && map.values().all(|one| self.holds(one)),
            Value::Bool(_) | Value::Null => false,
        }
    }

    fn says(&self, text: &str) -> bool {
        let shown = plain(text);
        !is_placeholder(text) && shown.len() > 1 && self.plain.contains(&shown)
    }

    /// `two` for 2; a thousands comma in `1,500`.
    fn spelled(&self, number: f64) -> bool {
        const NAMES: &[&str] =
            &["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
        let named = (number.fract() == 0.0 && (1.0..=12.0).contains(&number)).then(|| NAMES[number as usize - 1]);
        let grouped = format!(" {} {:03} ", (number / 1000.0).trunc(), number % 1000.0);
        named.is_some_and(|name| self.plain.contains(&format!(" {name} ")))
            || number >= 1000.0 && self.plain.contains(&grouped)
    }
}
