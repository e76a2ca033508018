//! Finds a role's LoRA adapters from models.toml and checks that they fit its model, before anything is loaded.

use std::path::{Path, PathBuf};

use super::gguf::{self, Header, Kind};
use super::manifest::LoraTable;
use super::{ModelsError, Role};
use crate::base::Bytes;

/// An adapter whose header fits its model.
#[derive(Clone, Debug, PartialEq)]
pub struct Adapter {
    pub path: PathBuf,
    /// Scale factor of its change to the weights.
    pub scale: f32,
    /// Size of its matrices, which are all copied into memory.
    pub bytes: Bytes,
}

impl Adapter {
    /// Looks for the file in the folders `places` (an absolute path is used as is) and compares it
    /// with the model's header. Fails if the file is missing, is not an adapter, or changes tensors
    /// that the model does not have.
    pub fn open(role: Role, table: &LoraTable, base: &Header, places: &[&Path]) -> Result<Adapter, ModelsError> {
        let Some(path) = places.iter().map(|place| place.join(&table.file)).find(|path| path.is_file()) else {
            let looked = places.iter().map(|&place| place.to_owned()).collect();
            return Err(ModelsError::AdapterMissing { role, file: table.file.clone(), looked });
        };
        let unfit = |why: String| ModelsError::AdapterUnfit { role, path: path.clone(), why };
        let header = gguf::inspect(&path).map_err(|error| unfit(format!("cannot be read ({})", error.flaw)))?;
        if header.kind != Kind::Adapter {
            return Err(unfit("is a whole model".into()));
        }
        if header.architecture != base.architecture {
            let (its, ours) = (&header.architecture, &base.architecture);
            return Err(unfit(format!("was made for `{its}`, but {} is `{ours}`", base.path.display())));
        }
        if let Some(stray) = header.tensors.iter().find(|tensor| !fits(&tensor.name, base)) {
            return Err(unfit(format!("changes {}, which {} does not have", stray.name, base.path.display())));
        }
        let bytes = header.tensors.iter().filter(|tensor| target(&tensor.name).is_some()).map(|tensor| tensor.bytes);
        Ok(Adapter { scale: table.scale, bytes: bytes.sum(), path })
    }
}

/// The tensor changed by an adapter's tensor: `blk.0.attn_q.weight` for
/// `blk.0.attn_q.weight.lora_a`.
fn target(tensor: &str) -> Option<&str> {
    tensor.strip_suffix(".lora_a").or_else(|| tensor.strip_suffix(".lora_b"))
}

/// Whether llama.cpp accepts this adapter tensor: it ignores norms and refuses every other tensor
/// that the model lacks.
fn fits(tensor: &str, base: &Header) -> bool {
    match target(tensor) {
        Some(target) => base.tensors.iter().any(|own| own.name == target),
        None => tensor.ends_with("_norm.weight"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::models::gguf::{TensorType, write::HeaderWriter};

    fn file(dir: &Path, name: &str, kind: &str, architecture: &str, tensors: &[&str]) {
        let mut writer = HeaderWriter::new(architecture).text("general.type", kind);
        tensors.iter().for_each(|tensor| writer.tensor(tensor, &[64, 4], TensorType::by_name("f32").unwrap()));
        fs::write(dir.join(name), writer.finish_with_zeros()).unwrap();
    }

    fn open(name: &str, kind: &str, architecture: &str, tensors: &[&str]) -> Result<Adapter, String> {
        let dir = tempfile::tempdir().unwrap();
        file(dir.path(), "base.gguf", "model", "lfm2", &["w"]);
        file(dir.path(), "x.gguf", kind, architecture, tensors);
        let base = gguf::inspect(&dir.path().join("base.gguf")).unwrap();
        let table = LoraTable { file: name.into(), scale: 0.5 };
        Adapter::open(Role::Router, &table, &base, &[dir.path()]).map_err(|error| error.to_string())
    }

    fn check(opened: Result<Adapter, String>, expected: &str) {
        let said = opened.unwrap_err();
        assert!(said.starts_with("router: ") && said.contains(expected), "`{said}` does not say `{expected}`");
    }

    #[test]
    fn an_adapter_that_fits_is_counted() {
        let opened = open("x.gguf", "adapter", "lfm2", &["w.lora_a", "w.lora_b", "w_norm.weight"]).unwrap();
        assert_eq!((opened.bytes, opened.scale), (Bytes(2 * 64 * 4 * 4), 0.5));
    }

    #[test]
    fn an_adapter_that_does_not_fit_is_named_with_the_way_out() {
        let pair = ["w.lora_a", "w.lora_b"];
        check(
            open("y.gguf", "adapter", "lfm2", &pair),
            "names the LoRA adapter y.gguf, which is not there; looked in ",
        );
        check(open("x.gguf", "model", "lfm2", &["w"]), "x.gguf is a whole model; remove it from [router]");
        check(open("x.gguf", "adapter", "llama", &pair), "was made for `llama`, ");
        check(open("x.gguf", "adapter", "lfm2", &["v.lora_a"]), "changes v.lora_a, which ");
    }
}
