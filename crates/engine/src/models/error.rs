//! Errors when looking for a role's model; each states the file, the places searched and a remedy.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Role;
use super::gguf::GgufError;

#[derive(Clone, Debug, thiserror::Error)]
pub enum ModelsError {
    #[error(
        "the model folder {} does not exist; make it and put GGUF files in, name another with --model-dir, \
         or fetch the default models with scripts/fetch-models or `monobloc models pull`", path.display()
    )]
    NoFolder { path: PathBuf },
    #[error("the model folder {} cannot be read: {why}", path.display())]
    Folder { path: PathBuf, why: String },
    #[error("{}: {why}", path.display())]
    Manifest { path: PathBuf, why: String },
    #[error(
        "{role}: no model found; looked in {}{notes}. `monobloc fit --suggest` says which suit this machine; fetch one with \
         `monobloc models pull {role}` or scripts/fetch-models, or name a folder of GGUF files with --model-dir",
        paths(looked)
    )]
    NoModel { role: Role, looked: Vec<PathBuf>, notes: String },
    #[error(
        "{role}: models.toml names {file}, which is not there; looked in {}. Correct the name, or fetch it with \
         `monobloc models pull {role}`",
        paths(looked)
    )]
    NamedFileMissing { role: Role, file: String, looked: Vec<PathBuf> },
    #[error("{role}: {0}", role = .1)]
    Broken(Arc<GgufError>, Role),
    #[error(
        "{role}: {} has the architecture `{architecture}`, which {why}; choose another model for [{role}] in models.toml",
        path.display()
    )]
    Architecture { role: Role, path: PathBuf, architecture: String, why: &'static str },
    #[error(
        "{role}: {} has sha256 {found}, but models.toml says {wanted}; delete it and fetch it again with \
         `monobloc models pull {role}`, or correct models.toml",
        path.display()
    )]
    Checksum { role: Role, path: PathBuf, found: String, wanted: String },
    #[error("{role}: its URL {why}")]
    Url { role: Role, why: String },
    #[error(
        "{role}: it is played by {url}, but --offline is on; leave that out, or remove `url` from [{role}] in models.toml"
    )]
    Offline { role: Role, url: String },
    #[error("no model is called {name}; {} has {}", dir.display(), there.join(", "))]
    Unknown { name: String, dir: PathBuf, there: Vec<String> },
    #[error("{name} is ambiguous: it may be any of {}; give more of the name", names.join(", "))]
    Ambiguous { name: String, names: Vec<String> },
    #[error(
        "{role}: {} is a LoRA adapter, not a model; name the model it was made for, and the adapter as \
         `lora = [{{ file = … }}]` of [{role}] in models.toml",
        path.display()
    )]
    OnlyAdapter { role: Role, path: PathBuf },
    #[error("{role}: {} is {kind}; choose a chat model for [{role}] in models.toml", path.display())]
    NoText { role: Role, path: PathBuf, kind: &'static str },
    #[error(
        "{role}: models.toml names the LoRA adapter {}, which is not there; looked in {}. Correct the name or take it \
         out of [{role}]",
        file.display(), paths(looked)
    )]
    AdapterMissing { role: Role, file: PathBuf, looked: Vec<PathBuf> },
    #[error("{role}: the LoRA adapter {} {why}; remove it from [{role}] in models.toml, or name another", path.display())]
    AdapterUnfit { role: Role, path: PathBuf, why: String },
    /// `why` follows the file's name.
    #[error("{role}: {} {why}", path.display())]
    Unfit { role: Role, path: PathBuf, why: String },
    #[error("{role}: {} cannot be read for its checksum: {why}", path.display())]
    Unreadable { role: Role, path: PathBuf, why: String },
}

fn paths(all: &[PathBuf]) -> String {
    let shown = |path: &PathBuf| Path::display(path).to_string();
    all.iter().map(shown).collect::<Vec<_>>().join(", ")
}
