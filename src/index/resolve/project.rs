//! Every file's outline side by side, with the tables that names are looked up in.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use super::go::module as go_module;
use super::names::Target;
use crate::index::ids;
use crate::index::syntax::Outline;

/// What is known of one file.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    pub path: String,
    pub language: String,
    pub outline: Outline,
}

/// All files of a project. Positions in `files` name them; positions in `Outline::definitions` name definitions.
pub struct Project<'a> {
    pub files: &'a [Facts],
    pub(super) by_path: HashMap<&'a str, usize>,
    ids: Vec<Vec<i64>>,
    /// Definitions that stand directly in a container, by name; container `None` is the file itself.
    pub(super) members: HashMap<(usize, Option<usize>, &'a str), Vec<usize>>,
    by_name: HashMap<&'a str, Vec<(usize, usize)>>,
    pub(super) imports: HashMap<(usize, &'a str), Vec<usize>>,
    pub(super) exports: HashMap<(usize, &'a str), Vec<usize>>,
    pub(super) locals: HashSet<(usize, usize, &'a str)>,
    /// Files whose `mod name;` brings a Rust file in, by the child.
    pub(super) parents: HashMap<usize, usize>,
    /// Root file of each Rust crate of the project, by its name in code.
    pub(super) crates: HashMap<String, usize>,
    /// Folders in which Python packages begin, shortest first.
    pub(super) python_roots: Vec<String>,
    /// Folder and path of each Go module.
    pub(super) go_modules: Vec<(String, String)>,
    /// Go files by folder, tests last.
    pub(super) go_folders: HashMap<String, Vec<usize>>,
    pub(super) memo: RefCell<Memo>,
}

/// Folder and name of a Rust package, from its `Cargo.toml`.
fn crate_name(path: &str, text: &str) -> Option<(String, String)> {
    let folder = path.strip_suffix("Cargo.toml").filter(|folder| folder.is_empty() || folder.ends_with('/'))?;
    let manifest: toml::Table = text.parse().ok()?;
    let name = manifest.get("lib").and_then(|l| l.get("name")).or_else(|| manifest.get("package")?.get("name"))?;
    Some((folder.trim_end_matches('/').to_owned(), name.as_str()?.to_owned()))
}

/// Names being looked up and names found: barrels may import each other in circles.
#[derive(Default)]
pub(super) struct Memo {
    pub found: HashMap<(bool, usize, String), Target>,
    pub tried: HashSet<(bool, usize, String)>,
    pub depth: usize,
}

impl<'a> Project<'a> {
    /// `manifests`: path and text of the files for which `is_manifest` holds.
    pub fn new(files: &'a [Facts], manifests: &[(String, String)]) -> Project<'a> {
        let mut project = Project {
            files,
            by_path: files.iter().enumerate().map(|(i, f)| (f.path.as_str(), i)).collect(),
            ids: files.iter().map(|f| ids::symbols(&f.path, &f.outline)).collect(),
            members: HashMap::new(),
            by_name: HashMap::new(),
            imports: HashMap::new(),
            exports: HashMap::new(),
            locals: HashSet::new(),
            parents: HashMap::new(),
            crates: HashMap::new(),
            python_roots: Vec::new(),
            go_modules: manifests.iter().filter_map(|(path, text)| go_module(path, text)).collect(),
            go_folders: HashMap::new(),
            memo: RefCell::default(),
        };
        project.find_python_roots();
        project.find_go_folders();
        for (file, facts) in files.iter().enumerate() {
            project.add(file, &facts.outline);
        }
        for (file, facts) in files.iter().enumerate().filter(|(_, f)| f.language == "rust") {
            for import in facts.outline.imports.iter().filter(|i| i.name == "*" && i.local != "*") {
                if let Some(child) = project.child_module(file, &import.local) {
                    project.parents.entry(child).or_insert(file);
                }
            }
        }
        for (folder, name) in manifests.iter().filter_map(|(path, text)| crate_name(path, text)) {
            let root = if folder.is_empty() { "src/lib.rs".to_owned() } else { format!("{folder}/src/lib.rs") };
            if let Some(file) = project.by_path.get(root.as_str()) {
                project.crates.insert(name.replace('-', "_"), *file);
            }
        }
        project
    }

    fn add(&mut self, file: usize, outline: &'a Outline) {
        for (at, definition) in outline.definitions.iter().enumerate() {
            self.members.entry((file, definition.container, &definition.name)).or_default().push(at);
            self.by_name.entry(&definition.name).or_default().push((file, at));
        }
        for (at, import) in outline.imports.iter().enumerate() {
            self.imports.entry((file, &import.local)).or_default().push(at);
        }
        for (at, export) in outline.exports.iter().enumerate() {
            self.exports.entry((file, &export.name)).or_default().push(at);
        }
        self.locals.extend(outline.locals.iter().map(|(inside, name)| (file, *inside, name.as_str())));
    }

    /// The id of a definition, or of the file's module.
    pub fn id(&self, file: usize, definition: Option<usize>) -> i64 {
        match definition {
            Some(at) => self.ids[file][at],
            None => ids::module(&self.files[file].path),
        }
    }

    pub(super) fn target_id(&self, target: Target) -> i64 {
        match target {
            Target::Module(file) => self.id(file, None),
            Target::Symbol(file, at) => self.id(file, Some(at)),
        }
    }

    pub(super) fn is_rust(&self, file: usize) -> bool {
        self.files[file].language == "rust"
    }

    pub(super) fn is_python(&self, file: usize) -> bool {
        self.files[file].language == "python"
    }

    pub(super) fn is_go(&self, file: usize) -> bool {
        self.files[file].language == "go"
    }

    /// Whether the file is TypeScript or JavaScript in one of their forms.
    pub(super) fn is_script(&self, file: usize) -> bool {
        !self.is_rust(file) && !self.is_python(file) && !self.is_go(file)
    }

    pub(super) fn same_language(&self, one: usize, other: usize) -> bool {
        let language = |file: usize| if self.is_script(file) { "script" } else { self.files[file].language.as_str() };
        language(one) == language(other)
    }

    /// Every definition of that name. Beyond 256 nothing can be told apart and looking costs more than it finds.
    pub(super) fn named(&self, name: &str) -> Vec<(usize, usize)> {
        const CANDIDATES_MAX: usize = 256;
        let all = self.by_name.get(name).map(Vec::as_slice).unwrap_or_default();
        all.iter().copied().take(CANDIDATES_MAX).collect()
    }
}
