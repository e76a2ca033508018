//! Holds what every layer shares: units, identifiers, cancellation, configuration, files, folders and line ends, nearest names, regular
//! expressions, the masking of private data, and what text looks like on a terminal.

mod address;
pub(crate) mod bug;
pub(crate) mod cancel;
pub mod config;
pub(crate) mod file;
pub mod folder;
mod hidden;
pub(crate) mod ids;
pub(crate) mod ignored;
pub(crate) mod line_ends;
mod lock;
pub mod mask;
pub mod names;
pub(crate) mod near;
pub(crate) mod overwrite;
pub(crate) mod pattern;
pub mod places;
pub mod private;
mod server_url;
pub(crate) mod stamp;
pub mod state;
pub mod storage;
pub mod trial;
pub(crate) mod units;
mod visible;
pub(crate) mod walk;

pub use address::path_of;
pub(crate) use bug::OrBug;
pub use cancel::Cancel;
pub use config::Config;
pub use hidden::Hidden;
pub use ids::{CallId, ConversationId, StepId};
pub use lock::{lock, read_lock, write_lock};
pub use server_url::server_url;
pub use units::Bytes;
pub use visible::visible;

/// Writes a path into JSON, which has no bytes: those that are not UTF-8 become `�`.
pub fn lossy<S: serde::Serializer>(path: impl AsRef<std::path::Path>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&path.as_ref().to_string_lossy())
}

/// [`lossy`] for several paths.
pub fn all_lossy<S: serde::Serializer>(paths: &[std::path::PathBuf], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(paths.iter().map(|path| path.to_string_lossy()))
}

/// Bytes as hexadecimal digits, two each.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether `word` is one of the words of `list`, which are separated by white space.
pub fn is_listed(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|one| one == word)
}

/// How many bytes at the end of `text` are the beginning of `mark`, but not all of it.
pub fn half_of(text: &str, mark: &str) -> usize {
    let (text, mark) = (text.as_bytes(), mark.as_bytes());
    (1..mark.len()).rev().find(|&length| text.ends_with(&mark[..length])).unwrap_or(0)
}

/// Whether this program was built for an accelerator.
pub const ACCELERATED: bool = cfg!(any(feature = "cuda", feature = "metal", feature = "vulkan"));
