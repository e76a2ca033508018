//! Resolves names to definitions and files in given texts, for edits such as a rename.

use std::collections::{HashMap, HashSet};

use super::resolve::{Facts, Meaning, Project, Symbol};
use super::syntax::{self, Definition, Import, Kind, Outline};
use super::{Index, IndexError};

/// The outlines of a project's files, some of them read from given texts instead of the index.
#[derive(Clone, Debug)]
pub struct Snapshot {
    facts: Vec<Facts>,
    manifests: Vec<(String, String)>,
}

impl Index {
    /// The outlines of the indexed files, with the files in `texts` (path, text) read from the
    /// given text.
    pub fn snapshot(&self, texts: &[(String, String)]) -> Result<Snapshot, IndexError> {
        let facts: Vec<Facts> = self.reader().outlines()?.into_iter().map(|(facts, _)| facts).collect();
        let manifests = self.manifests(&facts);
        let mut snapshot = Snapshot { facts, manifests };
        texts.iter().for_each(|(path, text)| snapshot.put(path, text));
        Ok(snapshot)
    }
}

impl Snapshot {
    /// Adds a file, or reads it again.
    pub fn put(&mut self, path: &str, text: &str) {
        let language = syntax::language_of(path);
        let outline = syntax::outline(language, text);
        match self.facts.iter_mut().find(|f| f.path == path) {
            Some(facts) => facts.outline = outline,
            None => self.facts.push(Facts { path: path.to_owned(), language: language.to_owned(), outline }),
        }
        if let Some((_, known)) = self.manifests.iter_mut().find(|(known, _)| known == path) {
            *known = text.to_owned();
        }
    }

    /// Changes only the path of one file.
    pub fn move_file(&mut self, from: &str, to: &str) {
        if let Some(facts) = self.facts.iter_mut().find(|f| f.path == from) {
            to.clone_into(&mut facts.path);
            syntax::language_of(to).clone_into(&mut facts.language);
        }
    }

    pub fn names(&self) -> Project<'_> {
        Project::new(&self.facts, &self.manifests)
    }
}

/// Queries about the names of one snapshot.
impl<'a> Project<'a> {
    /// Position of a file, valid for this snapshot only.
    pub fn file(&self, path: &str) -> Option<usize> {
        self.files.iter().position(|f| f.path == path)
    }

    pub fn path(&self, file: usize) -> &'a str {
        &self.files[file].path
    }

    pub fn language(&self, file: usize) -> &'a str {
        &self.files[file].language
    }

    pub fn files(&self) -> impl Iterator<Item = &'a str> {
        let files: &'a [Facts] = self.files;
        files.iter().map(|f| f.path.as_str())
    }

    pub fn outline(&self, file: usize) -> &'a Outline {
        &self.files[file].outline
    }

    pub fn definition(&self, symbol: Symbol) -> &'a Definition {
        &self.outline(symbol.file).definitions[symbol.at]
    }

    /// Every definition with that name, except Rust's `impl` blocks.
    pub fn named(&self, name: &str) -> Vec<Symbol> {
        let all = self.files.iter().enumerate().flat_map(|(file, facts)| {
            let own = facts.outline.definitions.iter().enumerate().filter(move |(_, d)| d.name == name);
            own.filter(|(_, d)| d.kind != Kind::Impl).map(move |(at, _)| Symbol { file, at })
        });
        all.collect()
    }

    /// The name of a definition, qualified by its owner if it is a member: `Class.name` or `name`.
    pub fn handle(&self, symbol: Symbol) -> String {
        let definition = self.definition(symbol);
        let outer = definition.container.map(|c| self.outline(symbol.file).definitions[c].name.as_str());
        match definition.member_of.as_deref().or(outer) {
            Some(owner) => format!("{owner}.{}", definition.name),
            None => definition.name.clone(),
        }
    }

    /// Whether it is accessed through a value or a type (`x.name`), not by its bare name.
    pub fn is_member(&self, symbol: Symbol) -> bool {
        let definition = self.definition(symbol);
        let container = definition.container.map(|c| self.outline(symbol.file).definitions[c].kind);
        let held = container.is_some_and(|k| k.has_members() && !matches!(k, Kind::Module | Kind::Variable));
        held || definition.kind == Kind::Method || definition.member_of.is_some()
    }

    /// Definitions with the same name in the same container, including itself: overloads, a type
    /// and a value with one name, parts of one interface.
    pub fn siblings(&self, symbol: Symbol) -> Vec<Symbol> {
        let own = self.definition(symbol);
        let all = self.outline(symbol.file).definitions.iter().enumerate();
        let same = all.filter(|(_, d)| d.name == own.name && d.container == own.container && d.kind != Kind::Impl);
        let same = same.filter(|(_, d)| d.member_of == own.member_of);
        same.map(|(at, _)| Symbol { file: symbol.file, at }).collect()
    }

    /// The target of an import of `name` from `source`.
    pub fn imported(&self, file: usize, source: &str, name: &str) -> Option<Meaning> {
        let import = Import { source: source.to_owned(), name: name.to_owned(), local: name.to_owned(), line: 0 };
        self.import_target(file, &import)
    }

    /// A definition with its siblings; for a method also those that it overrides or that override
    /// it, within the project.
    pub fn family(&self, symbol: Symbol) -> HashSet<Symbol> {
        let name = self.definition(symbol).name.as_str();
        let mut all: HashSet<Symbol> = self.siblings(symbol).into_iter().collect();
        all.extend(self.relatives(symbol, name));
        all
    }

    /// Members called `name` of the type that `symbol` is a member of, and of its base and derived types.
    pub fn relatives(&self, symbol: Symbol, name: &str) -> Vec<Symbol> {
        if !self.is_member(symbol) {
            return Vec::new();
        }
        let related = self.related_types(symbol);
        let all = self.named(name).into_iter();
        all.filter(|one| self.owner(*one).is_some_and(|owner| related.contains(&owner))).collect()
    }

    /// The type that contains a member; for a member of an `impl` block, the type itself.
    fn owner(&self, symbol: Symbol) -> Option<Symbol> {
        let definition = self.definition(symbol);
        if let Some(owner) = &definition.member_of {
            return match self.free(symbol.file, owner) {
                Some(Meaning::Symbol(owner)) => Some(owner),
                _ => None,
            };
        }
        definition.container.map(|at| self.whole_type(Symbol { file: symbol.file, at }))
    }

    /// The type of a Rust `impl` block; any other symbol is returned unchanged.
    fn whole_type(&self, symbol: Symbol) -> Symbol {
        let definition = self.definition(symbol);
        if definition.kind != Kind::Impl {
            return symbol;
        }
        match self.rust_path(symbol.file, &definition.name) {
            Some(Meaning::Symbol(whole)) => whole,
            _ => symbol,
        }
    }

    /// The type that owns a member, with all its base and derived types.
    fn related_types(&self, symbol: Symbol) -> HashSet<Symbol> {
        let Some(start) = self.owner(symbol) else { return HashSet::new() };
        let mut links: HashMap<Symbol, Vec<Symbol>> = HashMap::new();
        for (source, target) in self.bases() {
            let [own, base] = [source, target].map(|one| self.whole_type(one));
            links.entry(own).or_default().push(base);
            links.entry(base).or_default().push(own);
        }
        let mut all = HashSet::from([start]);
        let mut waiting = vec![start];
        while let Some(next) = waiting.pop() {
            let around = links.get(&next).into_iter().flatten();
            waiting.extend(around.filter(|other| all.insert(**other)));
        }
        all
    }
}
