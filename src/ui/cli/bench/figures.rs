//! The figures of a measurement as text: the names and values of its JSON, one a line, with their units.

use anyhow::Result;
use serde::Serialize;
use serde_json::Value;

use crate::base::{Bytes, visible};

/// Ends of names that say a unit, longest first.
const UNITS: [(&str, &str); 5] =
    [("_tokens_per_s", " tokens/s"), ("_bytes_per_s", " bytes/s"), ("_bytes", BYTES), ("_ms", " ms"), ("_s", " s")];
const BYTES: &str = " bytes";

/// A line a figure, in the order of `figures`, and an empty line.
pub fn text(figures: &impl Serialize) -> Result<String> {
    let mut text = String::new();
    add("", "", &serde_json::to_value(figures)?, &mut text);
    Ok(text + "\n")
}

/// Adds what is called `name`; values within it have its `unit` unless they say another.
fn add(name: &str, unit: &str, value: &Value, text: &mut String) {
    let shown = match value {
        Value::Null => return,
        Value::Object(all) => {
            for (key, value) in all {
                let (key, unit) = UNITS
                    .iter()
                    .find_map(|(end, unit)| Some((key.strip_suffix(end)?, *unit)))
                    .unwrap_or((key.as_str(), unit));
                add(
                    &format!("{name}{}{}", if name.is_empty() { "" } else { ", " }, key.replace('_', " ")),
                    unit,
                    value,
                    text,
                );
            }
            return;
        }
        // A list of pairs: for how many, and the figure.
        Value::Array(all) => {
            for pair in all {
                add(&format!("{name}, {}", pair[0]), unit, &pair[1], text);
            }
            return;
        }
        Value::Number(bytes) if unit == BYTES => Bytes(bytes.as_u64().unwrap_or_default()).to_string(),
        Value::Number(number) if number.is_f64() => format!("{:.2}{unit}", number.as_f64().unwrap_or_default()),
        Value::String(said) => visible(said),
        other => format!("{other}{unit}"),
    };
    text.push_str(&format!("  {name:<32} {shown}\n"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn figures_have_their_units() {
        let figures = json!({ "model": "m", "load_ms": 12, "search_ms": { "p50": 0.5 }, "decode_tokens_per_s": [[2, 31.0]],
            "peak_memory_bytes": 1 << 20, "bare": null });
        let lines = text(&figures).expect("figures");
        let lines: Vec<String> =
            lines.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        let expected =
            ["model m", "load 12 ms", "search, p50 0.50 ms", "decode, 2 31.00 tokens/s", "peak memory 1.0 MiB", ""];
        assert_eq!(lines, expected);
    }
}
