//! Where the tests find the small models.

use std::path::PathBuf;

/// The models folder, which `scripts/fetch-models --all` fills.
pub fn folder() -> PathBuf {
    std::env::var_os("MONOBLOC_TEST_MODELS").map(PathBuf::from).unwrap_or_else(|| {
        let home = PathBuf::from(std::env::var_os("HOME").expect("HOME is set"));
        home.join(".local/share/monobloc/models")
    })
}

/// A file of the models folder.
pub fn model(name: &str) -> PathBuf {
    let file = folder().join(name);
    assert!(file.exists(), "{} is missing: run scripts/fetch-models --all", file.display());
    file
}

pub fn smollm() -> PathBuf {
    model("SmolLM2-135M-Instruct.Q4_1.gguf")
}

pub fn gemma() -> PathBuf {
    model("gemma-3-270m.Q4_K_M.gguf")
}
