//! Converts a file URI to its path.

use std::path::PathBuf;

/// The path of `file:///a/b%20c#L3`: `/a/b c`.
pub fn path_of(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    let path = rest.split(['#', '?']).next().unwrap_or(rest);
    Some(PathBuf::from(unescaped(path)))
}

/// Decodes `%20` and the like; leaves other text unchanged.
fn unescaped(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, tail @ ..] = rest {
        let hex = |byte: u8| char::from(byte).to_digit(16);
        match (first, tail) {
            (b'%', [high, low, ..]) if hex(*high).is_some() && hex(*low).is_some() => {
                bytes.push((hex(*high).unwrap_or(0) * 16 + hex(*low).unwrap_or(0)) as u8);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
