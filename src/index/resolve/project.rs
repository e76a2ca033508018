//! Every file's outline side by side, with the tables that names are looked up in.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

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
    pub(super) memo: RefCell<Memo>,
}

/// Names being looked up and names found: barrels may import each other in circles.
#[derive(Default)]
pub(super) struct Memo {
    pub found: HashMap<(bool, usize, String), Target>,
    pub tried: HashSet<(bool, usize, String)>,
    pub depth: usize,
}

impl<'a> Project<'a> {
    /// `crates`: folder and name of every Rust package, as in its `Cargo.toml`.
    pub fn new(files: &'a [Facts], crates: &[(String, String)]) -> Project<'a> {
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
            memo: RefCell::default(),
        };
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
        for (folder, name) in crates {
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

    pub(super) fn same_language(&self, one: usize, other: usize) -> bool {
        self.is_rust(one) == self.is_rust(other)
    }

    /// Every definition of that name. Beyond 256 nothing can be told apart and looking costs more than it finds.
    pub(super) fn named(&self, name: &str) -> Vec<(usize, usize)> {
        const CANDIDATES_MAX: usize = 256;
        let all = self.by_name.get(name).map(Vec::as_slice).unwrap_or_default();
        all.iter().copied().take(CANDIDATES_MAX).collect()
    }
}
