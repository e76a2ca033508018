//! Locates the model files of other programs on this machine, including Ollama's, which have no extension.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::base::places;

/// Maximum number of manifests read, and maximum size of each in bytes.
const MANIFESTS_MAX: usize = 2_000;
const MANIFEST_BYTES_MAX: u64 = 1 << 20;
/// Number of path levels below `manifests`: host, user, model and tag.
const LEVELS: usize = 4;

/// The folders of other programs, with the programs' names.
pub fn of_this_user() -> Vec<(&'static str, PathBuf)> {
    vec![
        ("Ollama", places::ollama_dir()),
        ("LM Studio", places::lm_studio_dir()),
        ("llama.cpp's cache", places::llama_cache_dir()),
        ("the hub's cache", places::hub_cache_dir()),
    ]
}

/// The program that manages the models in `dir`; `None` for any other folder.
pub fn kept_by(dir: &Path) -> Option<&'static str> {
    let ends = |end: &str| dir.ends_with(end);
    let programs = [
        ("Ollama", is_ollama(dir) || ends(".ollama")),
        ("LM Studio", ends(".lmstudio/models") || ends("lm-studio/models")),
        ("llama.cpp's cache", ends("llama.cpp")),
        ("the hub's cache", ends("huggingface/hub")),
    ];
    programs.into_iter().find(|(_, fits)| *fits).map(|(program, _)| program)
}

/// Whether the folder is an Ollama store.
pub fn is_ollama(dir: &Path) -> bool {
    dir.join("manifests").is_dir() && dir.join("blobs").is_dir()
}

#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    layers: Vec<Layer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Layer {
    #[serde(default)]
    media_type: String,
    #[serde(default)]
    digest: String,
}

/// The model, projector and adapter files in Ollama's store at `dir`, by Ollama's names, such as
/// `qwen2.5:1.5b`. Unreadable manifests are skipped.
pub fn ollama(dir: &Path) -> Vec<(String, PathBuf)> {
    let root = dir.join("manifests");
    let (mut found, mut left) = (Vec::new(), MANIFESTS_MAX);
    let mut pending = vec![(root.clone(), LEVELS)];
    while let Some((folder, levels)) = pending.pop() {
        for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if left == 0 {
                return found;
            }
            left -= 1;
            if path.is_dir() && levels > 0 {
                pending.push((path, levels - 1));
            } else if path.is_file() {
                let name = name(path.strip_prefix(&root).unwrap_or(&path));
                let files = layers(&path).into_iter().filter_map(|layer| blob(dir, &layer));
                found.extend(files.map(|file| (name.clone(), file)));
            }
        }
    }
    found.sort();
    found
}

fn layers(manifest: &Path) -> Vec<Layer> {
    let short = fs::metadata(manifest).is_ok_and(|about| about.len() <= MANIFEST_BYTES_MAX);
    let text = short.then(|| fs::read(manifest).ok()).flatten().unwrap_or_default();
    serde_json::from_slice::<Manifest>(&text).map_or_else(|_| Vec::new(), |manifest| manifest.layers)
}

/// The file of a GGUF layer; other layers contain templates, parameters and licences.
fn blob(dir: &Path, layer: &Layer) -> Option<PathBuf> {
    let what = layer.media_type.strip_prefix("application/vnd.ollama.image.")?;
    let digest = layer.digest.strip_prefix("sha256:")?;
    let is_hash = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    (["model", "projector", "adapter"].contains(&what) && is_hash).then(|| dir.join(format!("blobs/sha256-{digest}")))
}

/// `registry.ollama.ai/library/qwen2.5/1.5b` becomes `qwen2.5:1.5b`; other hosts and users stay in
/// the name.
fn name(path: &Path) -> String {
    let whole = path.to_string_lossy();
    let short = whole.strip_prefix("registry.ollama.ai/").unwrap_or(&whole);
    let short = short.strip_prefix("library/").unwrap_or(short);
    short.rsplit_once('/').map_or_else(|| short.to_owned(), |(model, tag)| format!("{model}:{tag}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ollamas_models_are_found_by_their_manifests() {
        let dir = tempfile::tempdir().unwrap();
        let hash = |digit: &str| digit.repeat(64);
        let layer = |kind: &str, digit: &str| {
            format!(r#"{{"mediaType": "application/vnd.ollama.image.{kind}", "digest": "sha256:{}"}}"#, hash(digit))
        };
        let manifest = |path: &str, layers: &[String]| {
            let path = dir.path().join("manifests").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!(r#"{{"schemaVersion": 2, "layers": [{}]}}"#, layers.join(","))).unwrap();
        };
        fs::create_dir_all(dir.path().join("blobs")).unwrap();
        manifest("registry.ollama.ai/library/qwen2.5/1.5b", &[layer("model", "a"), layer("template", "b")]);
        manifest("registry.ollama.ai/me/tuned/latest", &[layer("model", "a"), layer("adapter", "c")]);
        manifest("hf.co/org/model-GGUF/Q4_K_M", &[layer("model", "d"), layer("projector", "e")]);
        manifest("registry.ollama.ai/library/odd/latest", &[r#"{"digest": "sha256:../../x"}"#.into()]);
        fs::write(dir.path().join("manifests/broken"), "{").unwrap();
        let found = ollama(dir.path());
        let blob = |digit: &str| dir.path().join("blobs").join(format!("sha256-{}", hash(digit)));
        let expected = [
            ("hf.co/org/model-GGUF:Q4_K_M", "d"),
            ("hf.co/org/model-GGUF:Q4_K_M", "e"),
            ("me/tuned:latest", "a"),
            ("me/tuned:latest", "c"),
            ("qwen2.5:1.5b", "a"),
        ];
        assert_eq!(found, expected.map(|(name, digit)| (name.to_owned(), blob(digit))));
    }
}
