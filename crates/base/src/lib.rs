//! Helpers shared by all crates of monobloc: amounts, identifiers, cancellation, locks, atomic file replacement, ignored folders.

// A failure that a caller can act on is an error; all others go through `OrBug`.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod address;
pub mod bug;
pub mod cancel;
pub mod file;
mod hidden;
mod ids;
pub mod ignored;
mod lock;
pub mod near;
pub mod overwrite;
pub mod pattern;
pub mod places;
mod server_url;
pub mod stamp;
pub mod state;
pub mod storage;
pub mod tool;
pub mod units;
pub mod walk;

pub use address::path_of;
pub use bug::OrBug;
pub use cancel::Cancel;
pub use hidden::Hidden;
pub use ids::{CallId, ConversationId, StepId};
pub use lock::{lock, read_lock, write_lock};
pub use server_url::server_url;
pub use units::Bytes;

/// Serialises a path, replacing bytes that are not UTF-8 with `�`, because JSON cannot hold them.
pub fn lossy<S: serde::Serializer>(path: impl AsRef<std::path::Path>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&path.as_ref().to_string_lossy())
}

/// [`lossy`] for several paths.
pub fn all_lossy<S: serde::Serializer>(paths: &[std::path::PathBuf], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(paths.iter().map(|path| path.to_string_lossy()))
}

/// Bytes in hexadecimal, two digits each.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether `word` is in `list`, whose words are separated by white space.
pub fn is_listed(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|one| one == word)
}

/// The first `chars_max` characters, followed by `…` if something was cut.
pub fn cut_line(line: &str, chars_max: usize) -> String {
    match line.char_indices().nth(chars_max) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

/// The length in bytes of the longest suffix of `text` that is a proper prefix of `mark`.
pub fn half_of(text: &str, mark: &str) -> usize {
    let (text, mark) = (text.as_bytes(), mark.as_bytes());
    (1..mark.len()).rev().find(|&length| text.ends_with(&mark[..length])).unwrap_or(0)
}

/// Whether this program was built for an accelerator.
pub const ACCELERATED: bool = cfg!(feature = "accelerated");
