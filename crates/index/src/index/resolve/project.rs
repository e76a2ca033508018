//! The outlines of all files, and the tables for looking up names.

use std::cell::RefCell;

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use super::go::module as go_module;
use super::modules::Packages;
use super::names::{Meaning, Symbol};
use crate::index::ids;
use crate::index::paths::join;
use crate::index::syntax::types::Binding;
use crate::index::syntax::{Kind, Outline, ReferenceKind, is_queried};

/// Path, language and outline of one file.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    pub path: String,
    pub language: String,
    pub outline: Outline,
}

/// All files of a project. Positions in `files` identify files; positions in `Outline::definitions`
/// identify definitions.
pub struct Project<'a> {
    pub files: &'a [Facts],
    pub(super) by_path: HashMap<&'a str, usize>,
    ids: Vec<Vec<i64>>,
    /// Definitions directly inside a container, by (file, container, name); container `None` is the file itself.
    pub(super) members: HashMap<(usize, Option<usize>, &'a str), Vec<usize>>,
    by_name: HashMap<&'a str, Vec<(usize, usize)>>,
    /// Positions in `Outline::imports`, by (file, local name).
    pub(super) imports: HashMap<(usize, &'a str), Vec<usize>>,
    /// Positions in `Outline::exports`, by (file, exported name).
    pub(super) exports: HashMap<(usize, &'a str), Vec<usize>>,
    /// Parameters and local variables, by (file, definition around it, name).
    pub(super) locals: HashSet<(usize, usize, &'a str)>,
    bindings: HashMap<(usize, Option<usize>, &'a str), Vec<usize>>,
    /// Positions in `Outline::references` of the bases of a definition, by (file, definition).
    pub(super) bases: HashMap<(usize, usize), Vec<usize>>,
    /// For a Rust file, the file whose `mod name;` includes it.
    pub(super) parents: HashMap<usize, usize>,
    /// Root file of each Rust crate in the project, by the crate's name in code.
    pub(super) crates: HashMap<String, usize>,
    /// Folders that contain a top-level Python package, shortest first.
    pub(super) python_roots: Vec<String>,
    /// Folder and path of each Go module.
    pub(super) go_modules: Vec<(String, String)>,
    /// Go files by folder, tests last.
    pub(super) go_folders: HashMap<String, Vec<usize>>,
    pub(super) memo: RefCell<Memo>,
    pub(super) packages: Packages,
    /// Files of queried languages, by their names without folder and extension.
    pub(super) by_stem: HashMap<&'a str, Vec<usize>>,
    /// Results of imports in scripts and queried languages, by (folder of the importing file,
    /// import source).
    pub(super) sources: RefCell<HashMap<(String, String), Option<usize>>>,
}

/// Folder and name of a Rust package, from its `Cargo.toml`.
fn crate_name(path: &str, text: &str) -> Option<(String, String)> {
    let folder = path.strip_suffix("Cargo.toml").filter(|folder| folder.is_empty() || folder.ends_with('/'))?;
    let manifest: toml::Table = text.parse().ok()?;
    let name = manifest.get("lib").and_then(|l| l.get("name")).or_else(|| manifest.get("package")?.get("name"))?;
    Some((folder.trim_end_matches('/').to_owned(), name.as_str()?.to_owned()))
}

/// Names being looked up and names found, for `once`: index files may re-export each other in
/// cycles.
#[derive(Default)]
pub(super) struct Memo {
    pub found: HashMap<(bool, usize, String), Meaning>,
    pub tried: HashSet<(bool, usize, String)>,
    pub depth: usize,
}

impl<'a> Project<'a> {
    /// `manifests`: path and text of the files that satisfy `is_manifest`.
    pub fn new(files: &'a [Facts], manifests: &[(String, String)]) -> Project<'a> {
        let mut project = Project {
            files,
            by_path: files.iter().enumerate().map(|(i, f)| (f.path.as_str(), i)).collect(),
            ids: files.iter().map(|f| ids::symbols(&f.path, &f.outline)).collect(),
            members: HashMap::default(),
            by_name: HashMap::default(),
            imports: HashMap::default(),
            exports: HashMap::default(),
            locals: HashSet::default(),
            bindings: HashMap::default(),
            bases: HashMap::default(),
            parents: HashMap::default(),
            crates: HashMap::default(),
            python_roots: Vec::new(),
            go_modules: manifests.iter().filter_map(|(path, text)| go_module(path, text)).collect(),
            go_folders: HashMap::default(),
            memo: RefCell::default(),
            packages: Packages::new(files.iter().map(|f| f.path.as_str()), manifests),
            by_stem: HashMap::default(),
            sources: RefCell::default(),
        };
        project.find_python_roots();
        project.find_go_folders();
        project.find_stems();
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
            if let Some(file) = project.by_path.get(join(&folder, "src/lib.rs").as_str()) {
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
        for (at, binding) in outline.bindings.iter().enumerate() {
            self.bindings.entry((file, binding.inside, &binding.name)).or_default().push(at);
        }
        for (at, reference) in outline.references.iter().enumerate() {
            if let Some(from) = reference.from.filter(|_| reference.kind == ReferenceKind::Extends) {
                self.bases.entry((file, from)).or_default().push(at);
            }
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

    pub(super) fn target_id(&self, target: Meaning) -> i64 {
        match target {
            Meaning::File(file) => self.id(file, None),
            Meaning::Symbol(Symbol { file, at }) => self.id(file, Some(at)),
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

    pub(super) fn is_script(&self, file: usize) -> bool {
        matches!(self.files[file].language.as_str(), "typescript" | "tsx" | "javascript" | "jsx")
    }

    /// Whether a query describes the language of a file.
    pub(super) fn is_queried(&self, file: usize) -> bool {
        is_queried(&self.files[file].language)
    }

    /// Whether the language of a file has type annotations: TypeScript.
    pub(super) fn is_typed(&self, file: usize) -> bool {
        matches!(self.files[file].language.as_str(), "typescript" | "tsx")
    }

    pub(super) fn same_language(&self, one: usize, other: usize) -> bool {
        let is_c = |file: usize| matches!(self.files[file].language.as_str(), "c" | "cpp");
        let is_alike = |is: &dyn Fn(usize) -> bool| is(one) && is(other);
        is_alike(&|file| self.is_script(file))
            || is_alike(&is_c)
            || self.files[one].language == self.files[other].language
    }

    /// The definitions with that name, at most 256: with more, the right one cannot be determined,
    /// and searching them is slow.
    pub(super) fn called(&self, name: &str) -> Vec<(usize, usize)> {
        const CANDIDATES_MAX: usize = 256;
        let all = self.by_name.get(name).map(Vec::as_slice).unwrap_or_default();
        all.iter().copied().take(CANDIDATES_MAX).collect()
    }

    /// A definition and those around it, innermost first, ending with the file (`None`).
    pub(super) fn around(&self, file: usize, from: Option<usize>) -> impl Iterator<Item = Option<usize>> {
        let definitions = &self.files[file].outline.definitions;
        std::iter::successors(Some(from), move |scope| scope.map(|at| definitions[at].container))
    }

    /// The binding of a local name on a line inside a definition: the innermost one that covers the
    /// line.
    pub(super) fn binding(&self, file: usize, from: Option<usize>, name: &str, line: usize) -> Option<&'a Binding> {
        let outline = &self.files[file].outline;
        for scope in self.around(file, from) {
            let known = self.bindings.get(&(file, scope, name)).map(Vec::as_slice).unwrap_or_default();
            let here = known.iter().rev().map(|at| &outline.bindings[*at]);
            let covers = here.filter(|b| (b.start..=b.end).contains(&line));
            // The inner of two nested blocks is shorter; of two bindings in one block, the later
            // one counts.
            if let Some(found) = covers.min_by_key(|b| b.end.saturating_sub(b.start)) {
                return Some(found);
            }
            // An inner definition with that name hides an outer binding.
            if self.members.contains_key(&(file, scope, name)) {
                return None;
            }
        }
        None
    }

    /// The target of a name as seen inside a definition, if the file declares or imports it;
    /// ignores parameters and local variables.
    pub fn in_scope(&self, file: usize, from: Option<usize>, name: &str) -> Option<Meaning> {
        self.declared_around(file, from, name).or_else(|| self.imported_as(file, name))
    }

    pub(super) fn is_imported(&self, file: usize, name: &str) -> bool {
        self.imports.contains_key(&(file, name))
    }

    /// The value definition with the same name: a type and a value may share a name.
    pub(super) fn as_value(&self, target: Meaning) -> Meaning {
        self.sibling(target, |kind| !matches!(kind, Kind::Interface | Kind::Type))
    }

    /// The type definition with the same name: a type and a value may share a name.
    pub(super) fn as_type(&self, target: Meaning) -> Meaning {
        self.sibling(target, |kind| {
            matches!(kind, Kind::Interface | Kind::Type | Kind::Class | Kind::Enum | Kind::Module)
        })
    }

    fn sibling(&self, target: Meaning, fits: impl Fn(Kind) -> bool) -> Meaning {
        let Meaning::Symbol(Symbol { file, at }) = target else { return target };
        let definitions = &self.files[file].outline.definitions;
        if fits(definitions[at].kind) {
            return target;
        }
        let other = self.same_named(file, at).iter().find(|d| fits(definitions[**d].kind));
        other.map_or(target, |d| Meaning::symbol(file, *d))
    }

    /// The definitions with the same name in the same container, including itself.
    fn same_named(&self, file: usize, at: usize) -> &[usize] {
        let own = &self.files[file].outline.definitions[at];
        self.members.get(&(file, own.container, own.name.as_str())).map_or(&[], Vec::as_slice)
    }

    /// All declarations of a type, `at` first: interfaces with the same name are one type.
    pub(super) fn type_siblings(&self, file: usize, at: usize) -> Vec<usize> {
        let definitions = &self.files[file].outline.definitions;
        let same = self.same_named(file, at).iter().copied();
        let mut all: Vec<usize> =
            same.filter(|d| matches!(definitions[*d].kind, Kind::Interface | Kind::Class)).collect();
        all.sort_by_key(|d| *d != at);
        all
    }

    /// A definition directly inside another.
    pub(super) fn member_in(&self, file: usize, container: usize, name: &str) -> Option<usize> {
        self.members.get(&(file, Some(container), name)).and_then(|all| all.first().copied())
    }

    /// The definition with that name that begins on a line.
    pub(super) fn definition_at(&self, file: usize, name: &str, line: usize) -> Option<usize> {
        let definitions = &self.files[file].outline.definitions;
        let from = definitions.partition_point(|d| d.start < line);
        let here = definitions.iter().enumerate().skip(from.saturating_sub(1)).take_while(|(_, d)| d.start <= line);
        here.into_iter().find(|(_, d)| d.start == line && d.name == name).map(|(at, _)| at)
    }

    /// A method of an object literal inside a definition.
    pub(super) fn method_inside(&self, file: usize, inside: Option<usize>, name: &str) -> Option<Meaning> {
        let all = self.members.get(&(file, inside, name))?;
        let definitions = &self.files[file].outline.definitions;
        all.iter().find(|d| definitions[**d].kind == Kind::Method).map(|d| Meaning::symbol(file, *d))
    }
}
