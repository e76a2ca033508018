//! Default folders for models, settings and caches.

use std::env;
use std::path::PathBuf;

/// This user's data: `~/.local/share/monobloc`, on macOS
/// `~/Library/Application Support/monobloc`.
pub fn data_dir() -> PathBuf {
    of_this_program("Library/Application Support", "XDG_DATA_HOME", ".local/share")
}

/// This user's models, in the folder `models` of their data.
pub fn model_dir() -> PathBuf {
    data_dir().join("models")
}

/// This user's configuration: `~/.config/monobloc`, on macOS
/// `~/Library/Application Support/monobloc`.
pub fn config_dir() -> PathBuf {
    of_this_program("Library/Application Support", "XDG_CONFIG_HOME", ".config")
}

/// Files that can be recomputed: `~/.cache/monobloc`, on macOS `~/Library/Caches/monobloc`.
pub fn cache_dir() -> PathBuf {
    of_this_program("Library/Caches", "XDG_CACHE_HOME", ".cache")
}

/// monobloc's folder: `~/{macos}` on macOS; elsewhere `${variable}`, or `~/{usual}` if that is not
/// set. A relative path in the variable is ignored, as the XDG Base Directory Specification
/// requires.
fn of_this_program(macos: &str, variable: &str, usual: &str) -> PathBuf {
    let said = || env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = if cfg!(target_os = "macos") { None } else { said() };
    base.unwrap_or_else(|| home().join(if cfg!(target_os = "macos") { macos } else { usual })).join("monobloc")
}

/// The file with cached checksums, see `models::digest::sha256`.
pub fn sha256_memory() -> PathBuf {
    cache_dir().join("sha256.json")
}

/// The Hugging Face hub's cache, shared by all programs that use it: `$HF_HOME/hub`, else `~/.cache/huggingface/hub`.
pub fn hub_cache_dir() -> PathBuf {
    env::var_os("HF_HOME").map_or_else(|| home().join(".cache/huggingface"), PathBuf::from).join("hub")
}

/// Ollama's store: `$OLLAMA_MODELS`, else `~/.ollama/models`.
pub fn ollama_dir() -> PathBuf {
    env::var_os("OLLAMA_MODELS").map_or_else(|| home().join(".ollama/models"), PathBuf::from)
}

/// LM Studio's models, in folders by owner and repository.
pub fn lm_studio_dir() -> PathBuf {
    home().join(".lmstudio/models")
}

/// Models that llama.cpp has downloaded: `$LLAMA_CACHE`, else `~/.cache/llama.cpp`, on macOS `~/Library/Caches/llama.cpp`.
pub fn llama_cache_dir() -> PathBuf {
    let usual = if cfg!(target_os = "macos") { "Library/Caches/llama.cpp" } else { ".cache/llama.cpp" };
    env::var_os("LLAMA_CACHE").map_or_else(|| home().join(usual), PathBuf::from)
}

fn home() -> PathBuf {
    env::home_dir().unwrap_or_else(|| PathBuf::from("."))
}
