//! Resolves names in languages that a query describes: by scope and by written types, else by name
//! alone.
//!
//! In these languages a file can use names from other files without importing each one (packages,
//! namespaces, headers). A name that is not in scope therefore means the only definition with that
//! name in the language's files or, if there are several, the one in the same folder.

use super::names::{Meaning, Symbol};
use super::project::Project;
use super::references::{INHERITED, ONLY_NAME, Search, found, only_method};
use super::{BY_IMPORT, IN_SCOPE};
use crate::index::paths::{folder_of, join};
use crate::index::syntax::types::{Type, Value};
use crate::index::syntax::{Kind, Reference, ReferenceKind};

/// Confidence of the only definition with that name in the same folder, if other folders have more.
const NEAREST_NAME: f64 = 0.6;

/// Maximum number of files with the same stem that an import is compared with.
const CANDIDATES_MAX: usize = 256;
/// Maximum number of segments in a followed receiver, such as `a.b.c.d`.
const SEGMENTS_MAX: usize = 4;

pub(super) fn search(project: &Project, file: usize, reference: &Reference) -> Search {
    match &reference.receiver {
        Some(receiver) => member(project, file, reference, receiver),
        None => bare(project, file, reference),
    }
}

fn is_type(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Class
            | Kind::Struct
            | Kind::Interface
            | Kind::Trait
            | Kind::Enum
            | Kind::Impl
            | Kind::Type
            | Kind::Module
    )
}

fn bare(project: &Project, file: usize, reference: &Reference) -> Search {
    let name = reference.name.as_str();
    let scoped = project.scoped(file, reference.from, name)?;
    if let Some(target) = scoped.filter(|target| project.fits(*target, reference.kind)) {
        return found(target, IN_SCOPE, "same file");
    }
    // A member of the surrounding type needs no receiver.
    if let Some((target, inherited)) = project.own_member(file, reference.from, name) {
        return match inherited {
            true => found(target, INHERITED, "inherited member"),
            false => found(target, BY_IMPORT, "member of the same type"),
        };
    }
    if let Some(target) = project.imported_as(file, name) {
        return found(target, BY_IMPORT, "import");
    }
    let is_method = |kind: Kind| kind == Kind::Method || kind == Kind::Variable;
    project.by_name(file, name, |kind| match reference.kind {
        ReferenceKind::Extends => is_type(kind) && kind != Kind::Module,
        ReferenceKind::Call => !is_method(kind) && kind != Kind::Module && kind != Kind::Constant,
        ReferenceKind::Use => !is_method(kind) && kind != Kind::Module,
    })
}

fn member(project: &Project, file: usize, reference: &Reference, receiver: &str) -> Search {
    let name = reference.name.as_str();
    let from = reference.from;
    if let Some(holder) = project.holder_of_self(file, from).filter(|_| matches!(receiver, "this" | "self" | "super")) {
        return match project.member_of(holder, name, receiver == "super") {
            Some((target, false)) => found(target, BY_IMPORT, "member of the same type"),
            Some((target, true)) => found(target, INHERITED, "inherited member"),
            None => only_method(project, file, name, receiver),
        };
    }
    match project.type_of(file, from, receiver, reference.line) {
        Some(Meaning::File(module)) => match project.exported(module, name) {
            Some(target) => found(target, BY_IMPORT, "member of an imported module"),
            None => Err(format!("`{receiver}` has no `{name}`")),
        },
        // Ruby creates an object with `Money.new`.
        Some(holder) if name == "new" && project.member_of(holder, name, false).is_none() => {
            found(holder, BY_IMPORT, "made by `new`")
        }
        Some(holder) => match project.member_of(holder, name, false) {
            Some((target, false)) => found(target, BY_IMPORT, "member of a known type"),
            Some((target, true)) => found(target, INHERITED, "inherited member"),
            None => Err(format!("`{receiver}` has no `{name}`")),
        },
        None => only_method(project, file, name, receiver),
    }
}

impl Project<'_> {
    /// Files of queried languages by their stems.
    pub(super) fn find_stems(&mut self) {
        for (file, facts) in self.files.iter().enumerate() {
            if self.is_queried(file) {
                let name = facts.path.rsplit('/').next().unwrap_or_default();
                let stem = name.split('.').next().unwrap_or_default();
                self.by_stem.entry(stem).or_default().push(file);
            }
        }
    }

    /// The owner type named by a definition outside it.
    pub(super) fn owner_called(&self, file: usize, owner: &str) -> Option<Meaning> {
        if self.is_queried(file) { self.by_bare_name(file, owner) } else { self.go_name(file, owner) }
    }

    /// A definition at the top level of a file, or in a namespace there.
    pub(super) fn top_of(&self, file: usize, name: &str) -> Option<Meaning> {
        let definitions = &self.files[file].outline.definitions;
        let is_top = |at: Option<usize>| at.is_none_or(|at| definitions[at].kind == Kind::Module);
        let here = self.called(name).into_iter().filter(|(f, d)| *f == file && is_top(definitions[*d].container));
        let mut all: Vec<usize> = here.map(|(_, at)| at).collect();
        all.sort_unstable();
        all.first().map(|at| Meaning::symbol(file, *at))
    }

    /// A method written outside its type, in any file of the language.
    pub(super) fn method_outside(&self, file: usize, owner: &str, name: &str) -> Option<Meaning> {
        let mut all = self.called(name).into_iter();
        let is_it = |f: usize, at: usize| self.files[f].outline.definitions[at].member_of.as_deref() == Some(owner);
        all.find(|(f, at)| self.same_language(file, *f) && is_it(*f, *at)).map(|(f, at)| Meaning::symbol(f, at))
    }

    /// The only type with that name.
    pub(super) fn type_called(&self, file: usize, name: &str) -> Option<Meaning> {
        self.by_name(file, name, |kind| is_type(kind) && kind != Kind::Impl).ok().map(|found| found.target)
    }

    fn fits(&self, target: Meaning, kind: ReferenceKind) -> bool {
        let Meaning::Symbol(Symbol { file, at }) = target else { return false };
        let own = self.files[file].outline.definitions[at].kind;
        kind != ReferenceKind::Extends || is_type(own)
    }

    /// A member of the type around a definition, or of its bases; true if it was inherited.
    fn own_member(&self, file: usize, from: Option<usize>, name: &str) -> Option<(Meaning, bool)> {
        let definitions = &self.files[file].outline.definitions;
        let around = self.around(file, from).flatten();
        let of_around = around
            .filter(|at| is_type(definitions[*at].kind) && definitions[*at].kind != Kind::Module)
            .map(|at| Meaning::symbol(file, at));
        let holders: Vec<Meaning> = of_around.chain(self.holder_of_self(file, from)).collect();
        holders.into_iter().find_map(|holder| self.member_of(holder, name, false))
    }

    /// The only definition with that name in the language's files, or else the only one in the same
    /// folder.
    pub(super) fn by_name(&self, file: usize, name: &str, fits: impl Fn(Kind) -> bool) -> Search {
        let definition = |(f, at): (usize, usize)| &self.files[f].outline.definitions[at];
        let mut all = self.called(name);
        all.retain(|(f, at)| self.same_language(file, *f) && fits(definition((*f, *at)).kind));
        // In C, a second declaration and the other branch of an `#if` mean the same definition.
        let place = |one: (usize, usize)| {
            let own = definition(one);
            let container = own.container.map(|at| definition((one.0, at)).name.as_str());
            (own.member_of.as_deref().or(container), own.kind)
        };
        let one = |all: &[(usize, usize)]| {
            let (first, rest) = all.split_first()?;
            rest.iter().all(|other| place(*other) == place(*first)).then_some(*first)
        };
        if all.is_empty() {
            return Err("not declared in the project".into());
        }
        let symbol = |(f, at): (usize, usize)| Meaning::symbol(f, at);
        let is_spread = all.iter().any(|(f, _)| *f != all[0].0);
        // Across two files, only members of one type can be the same: a declaration and its
        // definition.
        if let Some(only) = one(&all).filter(|first| !is_spread || place(*first).0.is_some()) {
            return found(symbol(only), ONLY_NAME, "only definition of that name");
        }
        let folder = folder_of(&self.files[file].path);
        let near: Vec<(usize, usize)> =
            all.iter().copied().filter(|(f, _)| folder_of(&self.files[*f].path) == folder).collect();
        match one(&near) {
            Some(nearest) => found(symbol(nearest), NEAREST_NAME, "nearest definition of that name"),
            None => Err(format!("{} definitions have that name", all.len())),
        }
    }

    /// The type of a receiver (`a.b`, `this.b`, `Type`, `module`), if it is written in the code.
    fn type_of(&self, file: usize, from: Option<usize>, receiver: &str, line: usize) -> Option<Meaning> {
        let receiver = receiver.replace("->", ".").replace("::", ".").replace("?.", ".").replace('\\', ".");
        let segments: Vec<&str> = receiver.split('.').map(|s| s.trim_end_matches(['?', '!'])).collect();
        if segments.len() > SEGMENTS_MAX {
            return None;
        }
        let (first, rest) = segments.split_first()?;
        let written = |value: &Value| match value {
            Value::Is(Type::Named(name, _)) => self.by_bare_name(file, name),
            _ => None,
        };
        let mut at = match *first {
            "this" | "self" => self.holder_of_self(file, from)?,
            name if self.binding(file, from, name, line).is_some() => {
                written(&self.binding(file, from, name, line)?.value)?
            }
            name => {
                let scoped = self.scoped(file, from, name).ok()?;
                let known = self.imported_as(file, name).or(scoped);
                let known = known.or_else(|| self.own_member(file, from, name).map(|(target, _)| target));
                let known = known.or_else(|| self.type_called(file, name))?;
                self.value_type(known)?
            }
        };
        for name in rest {
            let inside = match at {
                Meaning::File(module) => self.exported(module, name),
                holder => self.member_of(holder, name, false).map(|(target, _)| target),
            };
            at = self.value_type(inside?)?;
        }
        Some(at)
    }

    /// A type or module itself, or the written type of a variable or field.
    fn value_type(&self, target: Meaning) -> Option<Meaning> {
        let Meaning::Symbol(Symbol { file, at }) = target else { return Some(target) };
        let definition = &self.files[file].outline.definitions[at];
        match &definition.typing.as_ref().and_then(|typing| typing.ty.clone()) {
            Some(Type::Named(name, _)) => self.by_bare_name(file, name),
            _ => (is_type(definition.kind) || definition.kind == Kind::Variable).then_some(target),
        }
    }

    /// The file of the same language that an import names: relative to its own folder, else the
    /// file whose path best matches the end of the import.
    pub(super) fn queried_module(&self, file: usize, source: &str) -> Option<usize> {
        let key = (folder_of(&self.files[file].path).to_owned(), source.to_owned());
        if let Some(known) = self.sources.borrow().get(&key) {
            return *known;
        }
        let found = self.module_named(file, source);
        self.sources.borrow_mut().insert(key, found);
        found
    }

    fn module_named(&self, file: usize, source: &str) -> Option<usize> {
        let loads_paths = matches!(self.files[file].language.as_str(), "c" | "cpp" | "ruby" | "shell");
        let is_path = loads_paths || source.contains('/');
        let path = if is_path { source.to_owned() } else { source.replace(['.', '\\'], "/").replace("::", "/") };
        let name = path.rsplit('/').next()?;
        let stem = name.split('.').next().filter(|stem| !stem.is_empty())?;
        let relative = join(folder_of(&self.files[file].path), path.trim_start_matches("./"));
        let without = |path: &str| -> Vec<String> {
            let named = path.rsplit_once('/').map_or(("", path), |(folder, name)| (folder, name));
            let stem = named.1.split('.').next().unwrap_or_default();
            named.0.split('/').filter(|s| !matches!(*s, "" | "." | "..")).chain([stem]).map(str::to_owned).collect()
        };
        let wanted = without(&path);
        let extension = name.split_once('.').map(|(_, extension)| extension);
        let score = |candidate: usize| {
            let own = self.files[candidate].path.as_str();
            let is_beside = own == relative || own.strip_prefix(relative.as_str()).is_some_and(|e| e.starts_with('.'));
            let alike = without(own).iter().rev().zip(wanted.iter().rev()).take_while(|(a, b)| a == b).count();
            (is_beside, alike)
        };
        let candidates = self.by_stem.get(stem)?.iter().copied().take(CANDIDATES_MAX);
        let fits = |other: &usize| {
            let own = &self.files[*other].path;
            *other != file
                && self.same_language(file, *other)
                && (!is_path || extension.is_none_or(|extension| own.ends_with(&format!(".{extension}"))))
        };
        let all: Vec<((bool, usize), usize)> = candidates.filter(fits).map(|other| (score(other), other)).collect();
        let best = all.iter().map(|(score, _)| *score).max()?;
        // A path with folders must agree with at least one of them.
        let is_enough = best.0 || best.1 > 1 || wanted.len() == 1;
        let mut first = all.iter().filter(|(score, _)| *score == best).map(|(_, other)| *other);
        let only = first.next().filter(|_| first.next().is_none());
        only.filter(|_| is_enough)
    }
}

#[cfg(test)]
mod tests;
