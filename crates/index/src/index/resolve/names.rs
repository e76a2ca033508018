//! Resolves names by scope, through imports and re-exports, and as members of types.

use std::borrow::Cow;

use super::project::{Memo, Project};
use crate::index::syntax::{Import, Kind};

/// A definition: the position of its file in the project, and its position in that file's
/// `Outline::definitions`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol {
    pub file: usize,
    pub at: usize,
}

/// The target of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Meaning {
    /// The module of this file.
    File(usize),
    Symbol(Symbol),
}

impl Meaning {
    pub(super) fn symbol(file: usize, at: usize) -> Meaning {
        Meaning::Symbol(Symbol { file, at })
    }
}

/// Maximum length of a followed chain of re-exports, aliases and bases.
const CHAIN_MAX: usize = 32;

impl Project<'_> {
    /// Looks a name up in `from` and the definitions around it, up to the top of the file. Fails if
    /// a parameter or local variable with that name hides outer definitions.
    pub(super) fn scoped(&self, file: usize, from: Option<usize>, name: &str) -> Result<Option<Meaning>, String> {
        for scope in self.around(file, from) {
            if let Some(found) = self.declared_in(file, scope, name) {
                return Ok(Some(found));
            }
            if scope.is_some_and(|inside| self.locals.contains(&(file, inside, name))) {
                return Err(format!("`{name}` is a local value"));
            }
        }
        Ok(None)
    }

    /// Like `scoped`, ignoring local names.
    pub(super) fn declared_around(&self, file: usize, from: Option<usize>, name: &str) -> Option<Meaning> {
        self.around(file, from).find_map(|scope| self.declared_in(file, scope, name))
    }

    /// A definition directly inside `scope` that is visible there by its bare name.
    fn declared_in(&self, file: usize, scope: Option<usize>, name: &str) -> Option<Meaning> {
        let definitions = &self.files[file].outline.definitions;
        // Members of a class are not in scope by their bare names.
        let bare = scope.is_none_or(|s| {
            matches!(definitions[s].kind, Kind::Function | Kind::Method | Kind::Module | Kind::Variable)
        });
        let found = self.members.get(&(file, scope, name)).filter(|_| bare)?;
        // Methods of objects, and functions assigned to members, are not visible by their bare names.
        let mut plain = found.iter().filter(|d| !matches!(definitions[**d].kind, Kind::Impl | Kind::Method));
        let best = plain.next().or(found.first().filter(|_| self.is_rust(file)));
        best.map(|d| Meaning::symbol(file, *d))
    }

    /// A name bound by an import of the file.
    pub(super) fn imported_as(&self, file: usize, name: &str) -> Option<Meaning> {
        self.once(false, file, name, |project| {
            let imports = &project.files[file].outline.imports;
            let named = project.imports.get(&(file, name)).into_iter().flatten();
            let target = named.filter(|_| !name.is_empty()).find_map(|i| project.import_target(file, &imports[*i]));
            target.or_else(|| {
                let globs = imports.iter().filter(|i| i.local == "*");
                globs
                    .filter_map(|i| project.holder(file, &project.path_from_top(file, i)))
                    .find_map(|holder| project.inside(holder, name))
            })
        })
    }

    /// The target of a name for a file that imports it from this one.
    pub fn exported(&self, file: usize, name: &str) -> Option<Meaning> {
        self.once(true, file, name, |project| {
            match project.files[file].language.as_str() {
                "python" => return project.python_exported(file, name),
                "go" => return project.go_name(file, name),
                _ if project.is_queried(file) => return project.top_of(file, name),
                _ => {}
            }
            let exports = &project.files[file].outline.exports;
            let rust = project.is_rust(file);
            let own = |name: &str| project.scoped(file, None, name).ok().flatten();
            if let Some(target) = own(name).filter(|_| rust) {
                return Some(target);
            }
            for export in project.exports.get(&(file, name)).into_iter().flatten().map(|e| &exports[*e]) {
                let target = match &export.source {
                    Some(source) if export.local == "*" => project.module(file, source).map(Meaning::File),
                    Some(source) => {
                        let found =
                            project.holder(file, source).and_then(|holder| project.inside(holder, &export.local));
                        found.or_else(|| {
                            project.rust_path(file, &format!("{source}::{}", export.local)).filter(|_| rust)
                        })
                    }
                    None if export.local.is_empty() => Some(Meaning::File(file)),
                    None => own(&export.local).or_else(|| project.imported_as(file, &export.local)),
                };
                if target.is_some() {
                    return target;
                }
            }
            let everything =
                exports.iter().filter(|e| e.name == "*").filter_map(|e| project.holder(file, e.source.as_deref()?));
            let target = everything.filter(|_| name != "default").find_map(|holder| project.inside(holder, name));
            // `require` of a file that assigns to `exports` returns the whole module.
            target
                .or_else(|| (name == "default" && !rust && !exports.is_empty()).then_some(Meaning::File(file)))
                .or_else(|| project.imported_as(file, name).filter(|_| rust))
        })
    }

    pub fn import_target(&self, file: usize, import: &Import) -> Option<Meaning> {
        if import.name.is_empty() {
            return None;
        }
        if self.is_rust(file) {
            let source = self.path_from_top(file, import);
            return match import.name.as_str() {
                "*" => self.rust_path(file, &source),
                name if source.is_empty() => self.rust_path(file, name),
                name => self.rust_path(file, &format!("{source}::{name}")),
            };
        }
        if self.is_python(file) {
            return self.python_import(file, import);
        }
        let target = self.module(file, &import.source)?;
        match import.name.as_str() {
            "*" => Some(Meaning::File(target)),
            name => self.exported(target, name),
        }
    }

    /// The source of a Rust import as seen from the top of its file: `self` for `super` in an
    /// inline `mod tests`.
    pub(super) fn path_from_top<'i>(&self, file: usize, import: &'i Import) -> Cow<'i, str> {
        let supers = import.source.split("::").take_while(|piece| *piece == "super").count();
        let definitions = self.files[file].outline.definitions.iter();
        let around = definitions.filter(|d| d.kind == Kind::Module && (d.start..=d.end).contains(&import.line));
        match around.take(supers).count() {
            0 => Cow::Borrowed(&import.source),
            left => {
                let pieces = std::iter::once("self").chain(import.source.split("::").skip(left));
                Cow::Owned(pieces.collect::<Vec<_>>().join("::"))
            }
        }
    }

    /// The target of an import source: a module, or in Rust also an enum whose variants are
    /// imported.
    fn holder(&self, file: usize, source: &str) -> Option<Meaning> {
        if self.is_rust(file) { self.rust_path(file, source) } else { self.module(file, source).map(Meaning::File) }
    }

    fn inside(&self, holder: Meaning, name: &str) -> Option<Meaning> {
        match holder {
            Meaning::File(file) => self.exported(file, name),
            symbol => self.member_of(symbol, name, false).map(|(target, _)| target),
        }
    }

    /// A Rust path, `crate::a::B`, `super::c`, `Self::D` or a bare name, as seen from the top of a file.
    pub fn rust_path(&self, file: usize, path: &str) -> Option<Meaning> {
        if !self.is_rust(file) {
            return None;
        }
        let path = path.split('<').next().unwrap_or_default();
        let mut segments = path.split("::").filter(|s| !s.is_empty());
        let mut target = match segments.next()? {
            "crate" => Meaning::File(self.crate_root(file)),
            "self" => Meaning::File(file),
            // The parent module of a file; for imports in an inline module see `path_from_top`.
            "super" => Meaning::File(self.parents.get(&file).copied().unwrap_or(file)),
            name => self.by_bare_name(file, name).or_else(|| self.crates.get(name).map(|root| Meaning::File(*root)))?,
        };
        for name in segments {
            target = match (target, name) {
                (Meaning::File(f), "super") => Meaning::File(self.parents.get(&f).copied()?),
                (Meaning::File(f), name) => match self.exported(f, name) {
                    Some(found) => found,
                    None => Meaning::File(self.child_module(f, name)?),
                },
                (symbol, name) => self.member_of(symbol, name, false)?.0,
            };
        }
        Some(target)
    }

    /// The target of a bare name at the top level of a file.
    pub(super) fn by_bare_name(&self, file: usize, name: &str) -> Option<Meaning> {
        let found = self.scoped(file, None, name).ok().flatten().or_else(|| self.free(file, name));
        found.or_else(|| self.type_called(file, name).filter(|_| self.is_queried(file)))
    }

    /// The class, impl or object that `this` or `self` refers to inside `from`.
    pub(super) fn holder_of_self(&self, file: usize, from: Option<usize>) -> Option<Meaning> {
        self.around(file, from).flatten().find_map(|at| {
            let definition = &self.files[file].outline.definitions[at];
            match &definition.member_of {
                Some(owner) => self.owner_called(file, owner),
                None if definition.kind == Kind::Method => definition.container.map(|at| Meaning::symbol(file, at)),
                None => None,
            }
        })
    }

    /// A member of a definition or of its bases, nearest first; true if it was inherited.
    /// `of_bases` excludes the definition itself.
    pub(super) fn member_of(&self, holder: Meaning, name: &str, of_bases: bool) -> Option<(Meaning, bool)> {
        let mut waiting = vec![holder];
        for step in 0..CHAIN_MAX {
            let Meaning::Symbol(Symbol { file, at }) = *waiting.get(step)? else { continue };
            let definitions = &self.files[file].outline.definitions;
            let own = &definitions[at];
            // A Rust type's members are in impl blocks with its name, here or in another file of
            // the crate.
            let blocks: Vec<(usize, usize)> = if self.is_rust(file) && own.kind.has_members() {
                let same_name = self.called(&own.name).into_iter();
                let same_crate = same_name.filter(|(f, _)| self.crate_root(*f) == self.crate_root(file));
                let is_block = |f: usize, d: usize| self.files[f].outline.definitions[d].kind == Kind::Impl;
                same_crate.filter(|(f, d)| is_block(*f, *d) || (*f, *d) == (file, at)).collect()
            } else {
                vec![(file, at)]
            };
            let found = blocks
                .iter()
                .find_map(|(f, d)| self.members.get(&(*f, Some(*d), name)).map(|m| Meaning::symbol(*f, m[0])))
                .or_else(|| self.go_method(file, &own.name, name).filter(|_| self.is_go(file)))
                .or_else(|| self.method_outside(file, &own.name, name).filter(|_| self.is_queried(file)));
            if let Some(found) = found.filter(|_| step > 0 || !of_bases) {
                return Some((found, step > 0));
            }
            for (f, d) in blocks {
                let bases = self.bases.get(&(f, d)).into_iter().flatten();
                for base in bases.map(|at| &self.files[f].outline.references[*at]) {
                    let target = match base.receiver.as_deref().filter(|_| !self.is_rust(f)) {
                        Some(receiver) => match self.by_bare_name(f, receiver) {
                            Some(Meaning::File(module)) => self.exported(module, &base.name),
                            // Not `member_of`, which would search its bases and return to this one.
                            Some(Meaning::Symbol(Symbol { file: f, at: d })) => {
                                self.members.get(&(f, Some(d), &base.name)).map(|m| Meaning::symbol(f, m[0]))
                            }
                            None => None,
                        },
                        None => self.by_bare_name(f, &base.name),
                    };
                    waiting.extend(target.filter(|t| !waiting.contains(t)));
                }
            }
        }
        None
    }

    /// Runs a lookup and caches its result. `None` if the same lookup is already running or has
    /// failed in this query.
    fn once(
        &self,
        exported: bool,
        file: usize,
        name: &str,
        look: impl FnOnce(&Self) -> Option<Meaning>,
    ) -> Option<Meaning> {
        let key = (exported, file, name.to_owned());
        {
            let memo = &mut *self.memo.borrow_mut();
            let Memo { found, tried, depth } = memo;
            if let Some(target) = found.get(&key) {
                return Some(*target);
            }
            if *depth == 0 {
                tried.clear();
            }
            if *depth >= CHAIN_MAX || !tried.insert(key.clone()) {
                return None;
            }
            *depth += 1;
        }
        let target = look(self);
        let mut memo = self.memo.borrow_mut();
        memo.depth -= 1;
        if let Some(target) = target {
            memo.found.insert(key, target);
        }
        target
    }
}
