//! Gives the default folders of models, settings and caches.

use std::env;
use std::path::PathBuf;

/// Models of this user: `~/.local/share/monobloc/models`, on macOS `~/Library/Application Support/monobloc/models`.
pub fn model_dir() -> PathBuf {
    let base = if cfg!(target_os = "macos") {
        home().join("Library/Application Support")
    } else {
        absolute("XDG_DATA_HOME").unwrap_or_else(|| home().join(".local/share"))
    };
    base.join("monobloc/models")
}

/// Configuration of this user: `~/.config/monobloc`, on macOS `~/Library/Application Support/monobloc`.
pub fn config_dir() -> PathBuf {
    let base = if cfg!(target_os = "macos") {
        home().join("Library/Application Support")
    } else {
        absolute("XDG_CONFIG_HOME").unwrap_or_else(|| home().join(".config"))
    };
    base.join("monobloc")
}

/// Files that can be recomputed: `~/.cache/monobloc`, on macOS `~/Library/Caches/monobloc`.
pub fn cache_dir() -> PathBuf {
    let base = if cfg!(target_os = "macos") {
        home().join("Library/Caches")
    } else {
        absolute("XDG_CACHE_HOME").unwrap_or_else(|| home().join(".cache"))
    };
    base.join("monobloc")
}

/// The file with remembered checksums, see [`super::digest::sha256`].
pub fn sha256_memory() -> PathBuf {
    cache_dir().join("sha256.json")
}

/// The Hugging Face hub's cache, shared by all programs that use it: `$HF_HOME/hub`, else `~/.cache/huggingface/hub`.
pub fn hub_cache_dir() -> PathBuf {
    env::var_os("HF_HOME").map_or_else(|| home().join(".cache/huggingface"), PathBuf::from).join("hub")
}

fn home() -> PathBuf {
    env::home_dir().unwrap_or_else(|| PathBuf::from("."))
}

/// The path in an environment variable. Relative paths are ignored, as the XDG base directory specification demands.
fn absolute(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}
