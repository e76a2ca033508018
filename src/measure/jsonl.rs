//! Reads files of JSON lines.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde::de::DeserializeOwned;

/// The values of a file with one JSON object per line; blank lines are skipped, and a file without
/// values is an error. `form` shows such an object in messages, for example `{"id", "prompt"}`.
pub fn read<T: DeserializeOwned>(file: &Path, form: &str) -> Result<Vec<T>> {
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("{} cannot be read; name a file with one {form} a line", file.display()))?;
    let mut values = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let value = serde_json::from_str(line)
            .with_context(|| format!("{}:{} is not of the form {form}", file.display(), number + 1))?;
        values.push(value);
    }
    if values.is_empty() {
        bail!("{} is empty; write one {form} a line", file.display());
    }
    Ok(values)
}
