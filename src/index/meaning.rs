//! Says what names mean in the texts as they are now: which definition, which file. Edits that follow a name stand on this.

use std::collections::{HashMap, HashSet};

use super::resolve::{Facts, Lead, Project};
use super::syntax::{self, Definition, Import, Kind, Outline};
use super::{Index, IndexError};

/// What the files of a project declare, with some of them as given texts.
#[derive(Clone, Debug)]
pub struct Snapshot {
    facts: Vec<Facts>,
    manifests: Vec<(String, String)>,
}

/// A definition: its file and its position there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol {
    pub file: usize,
    pub at: usize,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Meaning {
    File(usize),
    Symbol(Symbol),
}

/// A name behind a dot: what it may mean, in order, or why that is not known.
pub type MemberMeaning = Result<Vec<Meaning>, String>;

impl Index {
    /// What the project declares, with the files of `texts` (path, text) read anew.
    pub fn snapshot(&self, texts: &[(String, String)]) -> Result<Snapshot, IndexError> {
        let stored = self.reader().outlines()?;
        let facts = stored.iter().map(|one| Facts {
            path: one.path.clone(),
            language: one.language.clone(),
            outline: one.outline(),
        });
        let facts: Vec<Facts> = facts.collect();
        let manifests = self.manifests(&facts);
        let mut snapshot = Snapshot { facts, manifests };
        texts.iter().for_each(|(path, text)| snapshot.put(path, text));
        Ok(snapshot)
    }
}

impl Snapshot {
    /// Reads one file anew, or for the first time.
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

    /// One file has another path; nothing else changes.
    pub fn move_file(&mut self, from: &str, to: &str) {
        if let Some(facts) = self.facts.iter_mut().find(|f| f.path == from) {
            to.clone_into(&mut facts.path);
            syntax::language_of(to).clone_into(&mut facts.language);
        }
    }

    pub fn names(&self) -> Names<'_> {
        Names { project: Project::new(&self.facts, &self.manifests) }
    }
}

/// Answers what names mean.
pub struct Names<'a> {
    project: Project<'a>,
}

impl<'a> Names<'a> {
    /// Position of a file; positions are good for this snapshot only.
    pub fn file(&self, path: &str) -> Option<usize> {
        self.project.files.iter().position(|f| f.path == path)
    }

    pub fn path(&self, file: usize) -> &'a str {
        &self.project.files[file].path
    }

    pub fn language(&self, file: usize) -> &'a str {
        &self.project.files[file].language
    }

    pub fn files(&self) -> impl Iterator<Item = &'a str> {
        let files: &'a [Facts] = self.project.files;
        files.iter().map(|f| f.path.as_str())
    }

    pub fn outline(&self, file: usize) -> &'a Outline {
        &self.project.files[file].outline
    }

    pub fn definition(&self, symbol: Symbol) -> &'a Definition {
        &self.outline(symbol.file).definitions[symbol.at]
    }

    /// Every definition of that name; blocks that only add members to a type are left out.
    pub fn named(&self, name: &str) -> Vec<Symbol> {
        let all = self.project.files.iter().enumerate().flat_map(|(file, facts)| {
            let own = facts.outline.definitions.iter().enumerate().filter(move |(_, d)| d.name == name);
            own.filter(|(_, d)| d.kind != Kind::Impl).map(move |(at, _)| Symbol { file, at })
        });
        all.collect()
    }

    /// `Class.name`, `name`: a definition with what it is a member of.
    pub fn handle(&self, symbol: Symbol) -> String {
        let definition = self.definition(symbol);
        let outer = definition.container.map(|c| self.outline(symbol.file).definitions[c].name.as_str());
        match definition.member_of.as_deref().or(outer) {
            Some(owner) => format!("{owner}.{}", definition.name),
            None => definition.name.clone(),
        }
    }

    /// Whether it is reached through a value or a type, not by its bare name.
    pub fn is_member(&self, symbol: Symbol) -> bool {
        let definition = self.definition(symbol);
        let container = definition.container.map(|c| self.outline(symbol.file).definitions[c].kind);
        let held = container.is_some_and(|k| k.has_members() && !matches!(k, Kind::Module | Kind::Variable));
        held || definition.kind == Kind::Method || definition.member_of.is_some()
    }

    /// The definitions that stand beside one under the same name: overloads, a type with a value of its name, parts of one interface.
    pub fn siblings(&self, symbol: Symbol) -> Vec<Symbol> {
        let own = self.definition(symbol);
        let all = self.outline(symbol.file).definitions.iter().enumerate();
        let same = all.filter(|(_, d)| d.name == own.name && d.container == own.container && d.kind != Kind::Impl);
        let same = same.filter(|(_, d)| d.member_of == own.member_of);
        same.map(|(at, _)| Symbol { file: symbol.file, at }).collect()
    }

    /// What an import of `name` from `source` brings in.
    pub fn imported(&self, file: usize, source: &str, name: &str) -> Option<Meaning> {
        let import = Import { source: source.to_owned(), name: name.to_owned(), local: name.to_owned(), line: 0 };
        self.project.import_lead(file, &import).map(meaning)
    }

    /// The file that `source` means in an import.
    pub fn module(&self, file: usize, source: &str) -> Option<usize> {
        self.project.module_lead(file, source)
    }

    /// The file that an import brings in.
    pub fn module_of(&self, file: usize, import: &Import) -> Option<usize> {
        self.project.file_of_import(file, import)
    }

    /// What a bare name means that no declaration of its own file binds: names of the same package, and of imports with a star.
    pub fn free(&self, file: usize, name: &str) -> Option<Meaning> {
        self.project.free_lead(file, name).map(meaning)
    }

    /// A path of Rust as seen from the top of a file.
    pub fn rust_path(&self, file: usize, path: &str) -> Option<Meaning> {
        self.project.path_lead(file, path).map(meaning)
    }

    /// What the file hands out under a name.
    pub fn exported(&self, file: usize, name: &str) -> Option<Meaning> {
        self.project.exported_lead(file, name).map(meaning)
    }

    /// What `receiver.name` means on a line inside a definition.
    pub fn member(&self, file: usize, inside: Option<usize>, receiver: &str, name: &str, line: usize) -> MemberMeaning {
        let found = self.project.member_leads(file, inside, (receiver, name), line)?;
        Ok(found.into_iter().map(meaning).collect())
    }

    /// Whether types of the language's own library have methods of that name, so that an unknown receiver says nothing.
    pub fn is_common(&self, file: usize, name: &str) -> bool {
        self.project.is_common(file, name)
    }

    /// A method with those that override it or that it overrides, in all files; without what stands outside the project.
    pub fn family(&self, symbol: Symbol) -> HashSet<Symbol> {
        let name = self.definition(symbol).name.as_str();
        let mut all: HashSet<Symbol> = self.siblings(symbol).into_iter().collect();
        if !self.is_member(symbol) {
            return all;
        }
        all.extend(self.relatives(symbol, name));
        all
    }

    /// Members called `name` of a member's type and of the types above and below it.
    pub fn relatives(&self, symbol: Symbol, name: &str) -> Vec<Symbol> {
        if !self.is_member(symbol) {
            return Vec::new();
        }
        let related = self.related_types(symbol);
        let all = self.named(name).into_iter();
        all.filter(|one| self.owner(*one).is_some_and(|owner| related.contains(&owner))).collect()
    }

    /// What a bare name means inside a definition.
    pub fn in_scope(&self, file: usize, inside: Option<usize>, name: &str) -> Option<Meaning> {
        self.project.scope_lead(file, inside, name).map(meaning)
    }

    /// The type a member belongs to, as one symbol for all its blocks.
    fn owner(&self, symbol: Symbol) -> Option<Symbol> {
        let definition = self.definition(symbol);
        if let Some(owner) = &definition.member_of {
            return match self.project.free_lead(symbol.file, owner) {
                Some(Lead::Symbol(file, at)) => Some(Symbol { file, at }),
                _ => None,
            };
        }
        definition.container.map(|at| self.whole_type(Symbol { file: symbol.file, at }))
    }

    /// The type itself for an impl block of Rust.
    fn whole_type(&self, symbol: Symbol) -> Symbol {
        let definition = self.definition(symbol);
        if definition.kind != Kind::Impl {
            return symbol;
        }
        match self.project.path_lead(symbol.file, &definition.name) {
            Some(Lead::Symbol(file, at)) => Symbol { file, at },
            _ => symbol,
        }
    }

    /// The types above and below the owner of a member, itself among them.
    fn related_types(&self, symbol: Symbol) -> HashSet<Symbol> {
        let Some(start) = self.owner(symbol) else { return HashSet::new() };
        let mut links: HashMap<Symbol, Vec<Symbol>> = HashMap::new();
        for (source, target) in self.project.bases() {
            let [own, base] = [source, target].map(|(file, at)| self.whole_type(Symbol { file, at }));
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

    /// The base of a member's type that is not in the project, if the type has one: what the member is called may be decided there.
    pub fn foreign_base(&self, symbol: Symbol) -> Option<String> {
        let container = self.definition(symbol).container?;
        self.project.unknown_base(symbol.file, container)
    }
}

fn meaning(lead: Lead) -> Meaning {
    match lead {
        Lead::File(file) => Meaning::File(file),
        Lead::Symbol(file, at) => Meaning::Symbol(Symbol { file, at }),
    }
}
