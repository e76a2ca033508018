//! Finds the file that an import refers to.

mod packages;

use super::names::{Meaning, Symbol};
use super::project::Project;
use crate::index::paths::{folder_of, join};
use crate::index::syntax::Import;

pub(super) use packages::Packages;
pub use packages::is_manifest;

impl Project<'_> {
    /// The file that an import refers to, if it is in the project.
    pub fn module_of(&self, file: usize, import: &Import) -> Option<usize> {
        if self.is_script(file) || self.is_go(file) || self.is_queried(file) {
            return self.module(file, &import.source);
        }
        if self.is_python(file) {
            return match self.python_import(file, import) {
                Some(Meaning::File(target)) => Some(target),
                _ => self.python_module(file, &import.source),
            };
        }
        match self.import_target(file, import) {
            Some(Meaning::File(target) | Meaning::Symbol(Symbol { file: target, .. })) => Some(target),
            None => self.module(file, &self.path_from_top(file, import)),
        }
    }

    /// The file of the module named by an import source: `./x`, `crate::a::b`.
    pub fn module(&self, file: usize, source: &str) -> Option<usize> {
        match self.files[file].language.as_str() {
            "python" => return self.python_module(file, source),
            "go" => return self.go_module(source),
            "rust" => {}
            _ if self.is_queried(file) => return self.queried_module(file, source),
            _ => return self.script_module(file, source),
        }
        match self.rust_path(file, source) {
            Some(Meaning::File(target)) => Some(target),
            _ => None,
        }
    }

    pub(super) fn why_no_module(&self, file: usize, source: &str) -> String {
        if self.is_rust(file) {
            let first = source.split("::").next().unwrap_or_default();
            return match first {
                "crate" | "self" | "super" | "" => format!("no module `{source}`"),
                name => format!("crate `{name}` is outside the project"),
            };
        }
        if source.starts_with('.') {
            format!("no file for `{source}`")
        } else {
            format!("package `{source}` is outside the project")
        }
    }

    fn script_module(&self, file: usize, source: &str) -> Option<usize> {
        let path = self.files[file].path.as_str();
        let folder = folder_of(path);
        let key = (folder.to_owned(), source.to_owned());
        if let Some(known) = self.sources.borrow().get(&key) {
            return *known;
        }
        let found = self.packages.find(path, source).and_then(|path| self.by_path.get(path.as_str()).copied());
        self.sources.borrow_mut().insert(key, found);
        found
    }

    /// The file of `mod name;` in a Rust file.
    pub(super) fn child_module(&self, file: usize, name: &str) -> Option<usize> {
        let path = &self.files[file].path;
        let below = path.strip_suffix(".rs")?;
        let (beside, stem) = below.rsplit_once('/').unwrap_or(("", below));
        // `mod.rs`, `lib.rs` and `main.rs` have their child modules next to them, other files in a
        // folder with the same name; the other place is tried second.
        let folders = if matches!(stem, "mod" | "lib" | "main") { [beside, below] } else { [below, beside] };
        let candidates = folders.into_iter().flat_map(|f| ["", "/mod"].map(|end| join(f, &format!("{name}{end}.rs"))));
        candidates.filter_map(|path| self.by_path.get(path.as_str()).copied()).find(|child| *child != file)
    }

    /// The root file of the crate a Rust file belongs to.
    pub(super) fn crate_root(&self, file: usize) -> usize {
        /// Modules rarely nest deeper than a few levels.
        const DEPTH_MAX: usize = 64;
        let up = std::iter::successors(Some(file), |at| self.parents.get(at).copied());
        up.take(DEPTH_MAX).last().unwrap_or(file)
    }
}
