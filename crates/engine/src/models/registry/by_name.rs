//! Finds a model file by its path, its name or a unique part of its name.

use std::path::{Path, PathBuf};

use super::{Registry, name_of};
use crate::models::ModelsError;

impl Registry {
    pub(super) fn path_of(&self, name: &str) -> Result<PathBuf, ModelsError> {
        if Path::new(name).is_file() {
            return Ok(PathBuf::from(name));
        }
        let wanted = name.to_lowercase();
        let named = |test: &dyn Fn(&str) -> bool| -> Vec<&Path> {
            let all = self.files.iter().map(|file| file.path.as_path());
            let mut found: Vec<&Path> = all.filter(|path| test(&name_of(path).to_lowercase())).collect();
            let by_name = self.files.iter().filter(|file| test(&file.name.to_lowercase()));
            found.extend(by_name.map(|file| file.path.as_path()));
            found.sort();
            found.dedup();
            found
        };
        let whole = named(&|file| file == wanted || file.strip_suffix(".gguf") == Some(&wanted));
        let part = if whole.is_empty() { named(&|file| file.contains(&wanted)) } else { whole };
        match part.as_slice() {
            [one] => Ok(one.to_path_buf()),
            [] => {
                let there = self.files.iter().map(|file| name_of(&file.path)).collect();
                Err(ModelsError::Unknown { name: name.to_owned(), dir: self.dir.clone(), there })
            }
            several => {
                let names = several.iter().map(|path| name_of(path)).collect();
                Err(ModelsError::Ambiguous { name: name.to_owned(), names })
            }
        }
    }
}
