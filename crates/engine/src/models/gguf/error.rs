//! The flaws of a GGUF file; each message states what to do about it.

use std::io;
use std::path::PathBuf;

use crate::base::Bytes;

/// A file and its flaw.
#[derive(Debug, thiserror::Error)]
#[error("{}: {flaw}", path.display())]
pub struct GgufError {
    pub path: PathBuf,
    pub flaw: Flaw,
}

#[derive(Debug, thiserror::Error)]
pub enum Flaw {
    #[error("cannot be read: {0}")]
    Unreadable(io::Error),
    #[error("is empty (0 bytes); fetch it again")]
    Empty,
    #[error("is not a GGUF file: it looks like {looks_like}; give a file whose first four bytes are GGUF")]
    NotGguf { looks_like: &'static str },
    #[error("has GGUF version {0}, but only versions 2 and 3 can be read; convert it with a recent llama.cpp")]
    Version(u32),
    #[error("ends inside its header, at byte {at} while reading {reading}: the download was cut short; fetch it again")]
    HeaderTruncated { at: u64, reading: String },
    #[error(
        "has {have} bytes but its tensors end at byte {need} ({} are missing): the download was cut short; fetch it again",
        Bytes(need - have)
    )]
    Truncated { have: u64, need: u64 },
    #[error("its header cannot be loaded: the key {key} {why}; fetch it again, or another conversion of the model")]
    Key { key: String, why: String },
    #[error("is one of {count} parts of a split model, and {} is missing; fetch that too", part.display())]
    PartMissing { part: PathBuf, count: u32 },
    #[error(
        "is part {number} of {count} of a split model, and llama.cpp finds the parts by their names; \
         end its name in -{number:05}-of-{count:05}.gguf, and those of the others likewise"
    )]
    PartName { number: u32, count: u32 },
    #[error("has an invalid header: {0}; fetch it again")]
    Malformed(String),
    #[error(
        "stores tensor {tensor} as type {kind}, which this build of llama.cpp does not support; use another quantisation"
    )]
    TensorType { tensor: String, kind: u32 },
}

impl Flaw {
    /// A key whose value llama.cpp cannot load; `why` follows its name.
    pub(super) fn key(key: &str, why: impl Into<String>) -> Flaw {
        Flaw::Key { key: key.to_owned(), why: why.into() }
    }
}

/// Guesses the type of a non-GGUF file from its first bytes.
pub(super) fn guess(bytes: &[u8]) -> &'static str {
    let text = bytes.iter().take(64).all(|&byte| matches!(byte, b'\t' | b'\n' | b'\r' | 0x20..=0x7e));
    let start = bytes.trim_ascii_start();
    match bytes {
        // A safetensors file begins with the length of its JSON header as u64.
        [_, _, _, _, _, 0, 0, 0, b'{', ..] => "safetensors",
        [b'P', b'K', 3, 4, ..] => "a zip archive (or a PyTorch checkpoint)",
        [0x1f, 0x8b, ..] => "a gzip archive",
        [b't', b'j', b'g', b'g', ..] | [b'f', b'm', b'g', b'g', ..] | [b'l', b'm', b'g', b'g', ..] => {
            "a GGML file from before GGUF"
        }
        [b'F', b'U', b'G', b'G', ..] => "a GGUF file with its bytes swapped (big-endian)",
        _ if start.starts_with(b"version https://git-lfs") => {
            "a pointer left by git-lfs (the real file was not fetched)"
        }
        _ if start.first() == Some(&b'<') => "a web page (HTML)",
        _ if start.first() == Some(&b'{') => "JSON",
        _ if text => "plain text",
        _ if bytes.iter().take(64).all(|&byte| byte == 0) => "a file of zeros (a download that never finished)",
        _ => "something unknown",
    }
}
