//! The models for tests: a folder with only the small ones, and the small model that writes code.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

pub const SMALLEST: &str = "SmolLM2-135M-Instruct.Q4_1.gguf";

/// The small model that writes code. A turn with it takes ten seconds or more, so few tests use it.
pub const WRITER: &str = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf";

/// The models for all other tests: a turn with them takes a second.
const SMALL: [&str; 3] = [SMALLEST, "gemma-3-270m.Q4_K_M.gguf", "all-MiniLM-L6-v2"];

/// A model folder with only the small models, so that these play every role.
pub fn folder() -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let linked = || folder_of("small-models", &SMALL);
    FOLDER.get_or_init(linked).clone()
}

/// A model folder with links to these fetched models. It is the same in every run, so that cached
/// data about its files stays valid.
pub fn folder_of(name: &str, models: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).expect("a folder");
    for model in models {
        link(&fetched(model), &folder.join(model));
    }
    folder
}

/// Creates a link with an atomic rename, because other processes may create the same link at the
/// same time.
fn link(file: &Path, link: &Path) {
    if fs::read_link(link).is_ok_and(|found| found == file) {
        return;
    }
    let new = link.with_extension(format!("{}.new", std::process::id()));
    symlink(file, &new).expect("a link");
    fs::rename(&new, link).expect("a link in its place");
}

/// A file in the models folder that `scripts/fetch-models --tests` fills.
fn fetched(name: &str) -> PathBuf {
    let folder = std::env::var_os("MONOBLOC_TEST_MODELS").map(PathBuf::from).unwrap_or_else(|| {
        let home = PathBuf::from(std::env::var_os("HOME").expect("HOME is set"));
        home.join(".local/share/monobloc/models")
    });
    let file = folder.join(name);
    assert!(file.exists(), "{} is missing: run scripts/fetch-models --tests", file.display());
    file
}

/// A small model, by its name in the folder.
pub fn model(name: &str) -> PathBuf {
    folder().join(name)
}

pub fn smollm() -> PathBuf {
    model(SMALLEST)
}

pub fn gemma() -> PathBuf {
    model("gemma-3-270m.Q4_K_M.gguf")
}
