//! Reads the small files in an embedder's folder, each up to a maximum size.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use serde_json::Value;

use super::error::EmbedError;
use crate::base::Bytes;

/// Maximum size of a configuration. The largest known one, of a classifier with its labels, is 100
/// KB.
const CONFIG_BYTES_MAX: u64 = 1 << 20;
/// Maximum size of `tokenizer.json`. Gemma's, with 262,144 tokens, is 33 MB.
pub const TOKENIZER_BYTES_MAX: u64 = 128 << 20;

/// The complete file; fails if it has more than `limit` bytes.
pub fn read(file: &Path, limit: u64) -> Result<Vec<u8>, EmbedError> {
    let failed = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => EmbedError::Missing(file.to_owned()),
        _ => unreadable(file, &error),
    };
    let mut content = Vec::new();
    File::open(file).map_err(failed)?.take(limit + 1).read_to_end(&mut content).map_err(failed)?;
    match content.len() as u64 > limit {
        true => Err(EmbedError::TooLarge { file: file.to_owned(), limit: Bytes(limit) }),
        false => Ok(content),
    }
}

/// The JSON of a configuration, and its bytes.
pub fn json(file: &Path) -> Result<(Value, Vec<u8>), EmbedError> {
    let bytes = read(file, CONFIG_BYTES_MAX)?;
    let value = serde_json::from_slice(&bytes).map_err(|error| damaged(file, error.to_string()))?;
    Ok((value, bytes))
}

pub fn damaged(file: &Path, reason: String) -> EmbedError {
    EmbedError::Damaged { file: file.to_owned(), reason }
}

pub fn unreadable(file: &Path, error: &std::io::Error) -> EmbedError {
    EmbedError::Unreadable { file: file.to_owned(), reason: error.to_string() }
}

/// The error for an unsupported value in `field` of `file`.
pub fn unsupported(file: &Path, field: &str, found: &Value, supported: &str) -> EmbedError {
    let (field, supported) = (field.to_owned(), supported.to_owned());
    EmbedError::Unsupported { file: file.to_owned(), field, found: found.to_string(), supported }
}

/// The number in `field`, at least 1.
pub fn number(file: &Path, value: &Value, field: &str) -> Result<usize, EmbedError> {
    let found = &value[field];
    let number = found.as_u64().and_then(|number| usize::try_from(number).ok()).filter(|number| *number > 0);
    number.ok_or_else(|| match found {
        Value::Null => damaged(file, format!("missing field `{field}`")),
        found => damaged(file, format!("`{field}` is {found}, not a number above 0")),
    })
}
