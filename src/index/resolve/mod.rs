//! Turns what files say (imports, calls, bases) into edges between definitions, each with how sure it is and why.

mod modules;
mod names;
mod project;

pub use project::{Facts, Project};

use super::ids;
use super::syntax::{Kind, Outline, Reference, ReferenceKind};
use names::Target;

/// In the same file, by scope.
const IN_SCOPE: f64 = 1.0;
/// Through an import, along re-exports; or a member of a class that is known.
const BY_IMPORT: f64 = 0.95;
/// A member inherited from a base that was resolved.
const INHERITED: f64 = 0.9;
/// The only definition of that name in a project of scripts without modules, or the only macro.
const ONLY_NAME: f64 = 0.75;
/// The only method of that name, called on a value of unknown type.
const ONLY_METHOD: f64 = 0.5;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EdgeKind {
    Contains,
    Imports,
    Exports,
    Calls,
    References,
    Extends,
}

impl EdgeKind {
    pub const ALL: [EdgeKind; 6] = [
        EdgeKind::Contains,
        EdgeKind::Imports,
        EdgeKind::Exports,
        EdgeKind::Calls,
        EdgeKind::References,
        EdgeKind::Extends,
    ];

    pub fn name(self) -> &'static str {
        match self {
            EdgeKind::Contains => "contains",
            EdgeKind::Imports => "imports",
            EdgeKind::Exports => "exports",
            EdgeKind::Calls => "calls",
            EdgeKind::References => "references",
            EdgeKind::Extends => "extends",
        }
    }

    pub fn named(name: &str) -> Option<EdgeKind> {
        EdgeKind::ALL.into_iter().find(|k| k.name() == name)
    }
}

/// From one symbol to another; ids as in `ids`.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    pub source: i64,
    pub target: i64,
    pub kind: EdgeKind,
    /// 0 to 1.
    pub confidence: f64,
    pub reason: &'static str,
    /// Line in the source's file, counted from 1.
    pub line: usize,
}

/// A reference whose target is not known, kept so that "no callers" is never confused with "unknown".
#[derive(Clone, Debug, PartialEq)]
pub struct Unresolved {
    pub source: i64,
    pub name: String,
    pub kind: EdgeKind,
    pub line: usize,
    pub reason: String,
}

/// The edges one file gives rise to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resolution {
    pub edges: Vec<Edge>,
    pub unresolved: Vec<Unresolved>,
}

impl Resolution {
    /// Equal resolutions have equal hashes; never 0.
    pub fn hash(&self) -> i64 {
        ids::key(&[&format!("{self:?}")]) | 1
    }

    fn edge(&mut self, source: i64, target: i64, kind: EdgeKind, confidence: f64, reason: &'static str, line: usize) {
        if source != target {
            self.edges.push(Edge { source, target, kind, confidence, reason, line });
        }
    }

    fn lost(&mut self, source: i64, name: &str, kind: EdgeKind, line: usize, reason: impl Into<String>) {
        self.unresolved.push(Unresolved { source, name: name.to_owned(), kind, line, reason: reason.into() });
    }
}

/// Changes whenever another file's edges into this one could: what it defines, where, and what it hands out.
pub fn interface(path: &str, outline: &Outline) -> i64 {
    let mut text = String::new();
    for (definition, id) in outline.definitions.iter().zip(ids::symbols(path, outline)) {
        text.push_str(&format!("{id} {} {:?};", definition.exported, definition.container));
    }
    let bases = outline.references.iter().filter(|r| r.kind == ReferenceKind::Extends);
    bases.for_each(|r| text.push_str(&format!("{} {:?} {:?};", r.name, r.receiver, r.from)));
    let handed_out = outline.exports.iter().map(|e| format!("{} {} {:?};", e.name, e.local, e.source));
    let brought_in = outline.imports.iter().map(|i| format!("{} {} {};", i.name, i.local, i.source));
    handed_out.chain(brought_in).for_each(|line| text.push_str(&line));
    ids::key(&[&text])
}

/// Resolves everything one file says. `file` is its position in the project.
pub fn resolve(project: &Project, file: usize) -> Resolution {
    let mut out = Resolution::default();
    contains(project, file, &mut out);
    imports(project, file, &mut out);
    exports(project, file, &mut out);
    for reference in &project.files[file].outline.references {
        refer(project, file, reference, &mut out);
    }
    out
}

fn contains(project: &Project, file: usize, out: &mut Resolution) {
    for (at, definition) in project.files[file].outline.definitions.iter().enumerate() {
        let container = project.id(file, definition.container);
        out.edge(container, project.id(file, Some(at)), EdgeKind::Contains, IN_SCOPE, "stands in it", definition.start);
    }
}

fn imports(project: &Project, file: usize, out: &mut Resolution) {
    let module = project.id(file, None);
    for import in &project.files[file].outline.imports {
        let line = import.line;
        match project.module_of_import(file, import) {
            Some(target) => {
                out.edge(module, project.id(target, None), EdgeKind::Imports, BY_IMPORT, "import", line);
                if let Some(Target::Symbol(f, d)) = project.import_target(file, import) {
                    out.edge(module, project.id(f, Some(d)), EdgeKind::Imports, BY_IMPORT, "import", line);
                }
            }
            None => {
                out.lost(module, &import.source, EdgeKind::Imports, line, project.why_no_module(file, &import.source))
            }
        }
    }
}

fn exports(project: &Project, file: usize, out: &mut Resolution) {
    let module = project.id(file, None);
    for export in project.files[file].outline.exports.iter().filter(|e| e.name != "*") {
        if let Some(target) = project.exported(file, &export.name) {
            out.edge(module, project.target_id(target), EdgeKind::Exports, BY_IMPORT, "export", export.line);
        }
    }
}

fn refer(project: &Project, file: usize, reference: &Reference, out: &mut Resolution) {
    let source = project.id(file, reference.from);
    let kind = match reference.kind {
        ReferenceKind::Call => EdgeKind::Calls,
        ReferenceKind::Use => EdgeKind::References,
        ReferenceKind::Extends => EdgeKind::Extends,
    };
    let found = match &reference.receiver {
        None => bare(project, file, reference),
        Some(receiver) => member(project, file, reference, receiver),
    };
    match found {
        Ok((target, confidence, reason)) => {
            out.edge(source, project.target_id(target), kind, confidence, reason, reference.line)
        }
        // A use that leads nowhere is a parameter, a keyword or a property: nothing anyone would look for.
        Err(_) if reference.kind == ReferenceKind::Use => {}
        Err(reason) => out.lost(source, &reference.name, kind, reference.line, reason),
    }
}

type Found = Result<(Target, f64, &'static str), String>;

fn bare(project: &Project, file: usize, reference: &Reference) -> Found {
    let name = reference.name.as_str();
    let outline = &project.files[file].outline;
    if let Some(target) = project.in_scope(file, reference.from, name)? {
        return Ok((target, IN_SCOPE, "same file"));
    }
    if let Some(target) = project.imported(file, name) {
        return Ok((target, BY_IMPORT, "import"));
    }
    let scripts = outline.imports.is_empty() && outline.exports.is_empty() && !project.is_rust(file);
    match project.named(name).as_slice() {
        [(f, d)] if project.same_language(file, *f) => {
            let kind = project.files[*f].outline.definitions[*d].kind;
            if kind == Kind::Macro || (scripts && !matches!(kind, Kind::Method)) {
                return Ok((Target::Symbol(*f, *d), ONLY_NAME, "only definition of that name"));
            }
            Err("not declared or imported here".into())
        }
        _ if outline.imports.iter().any(|i| i.local == name) => Err("imported from outside the project".into()),
        _ => Err("not declared in the project".into()),
    }
}

fn member(project: &Project, file: usize, reference: &Reference, receiver: &str) -> Found {
    let name = reference.name.as_str();
    if let Some(holder) =
        project.holder_of_self(file, reference.from).filter(|_| matches!(receiver, "this" | "self" | "Self" | "super"))
    {
        return match project.member(holder, name) {
            Some((target, false)) => Ok((target, BY_IMPORT, "member of the same type")),
            Some((target, true)) => Ok((target, INHERITED, "inherited member")),
            None => only_method(project, file, name, receiver),
        };
    }
    let target = match project.is_rust(file) && receiver.contains("::") {
        true => project.path(file, receiver),
        false => match project.in_scope(file, reference.from, receiver) {
            Ok(Some(target)) => Some(target),
            Ok(None) => project.imported(file, receiver).or_else(|| project.path(file, receiver)),
            Err(_) => None,
        },
    };
    match target {
        Some(Target::Module(f)) => match project.exported(f, name) {
            Some(target) => Ok((target, BY_IMPORT, "member of an imported module")),
            None => Err(format!("`{receiver}` has no `{name}`")),
        },
        Some(holder) => match project.member(holder, name) {
            Some((target, false)) => Ok((target, BY_IMPORT, "member of a known type")),
            Some((target, true)) => Ok((target, INHERITED, "inherited member")),
            None => only_method(project, file, name, receiver),
        },
        None => only_method(project, file, name, receiver),
    }
}

/// Methods of the languages' own types: a method of the project that shares such a name is usually not what is called.
const COMMON_METHODS: &[&str] = &[
    "add",
    "all",
    "and_then",
    "any",
    "append",
    "apply",
    "as_ref",
    "as_str",
    "at",
    "bind",
    "call",
    "catch",
    "chars",
    "clear",
    "clone",
    "close",
    "collect",
    "concat",
    "contains",
    "delete",
    "end",
    "entries",
    "entry",
    "eq",
    "err",
    "exec",
    "expect",
    "extend",
    "filter",
    "finally",
    "find",
    "first",
    "flat",
    "flush",
    "fmt",
    "forEach",
    "from",
    "get",
    "has",
    "hash",
    "includes",
    "indexOf",
    "insert",
    "into",
    "is_empty",
    "iter",
    "join",
    "keys",
    "last",
    "len",
    "lines",
    "lock",
    "log",
    "map",
    "map_err",
    "match",
    "max",
    "min",
    "new",
    "next",
    "ok",
    "on",
    "once",
    "open",
    "or",
    "parse",
    "path",
    "poll",
    "pop",
    "push",
    "read",
    "reduce",
    "remove",
    "replace",
    "resolve",
    "send",
    "set",
    "shift",
    "slice",
    "some",
    "sort",
    "splice",
    "split",
    "start",
    "stop",
    "take",
    "test",
    "text",
    "then",
    "toString",
    "to_owned",
    "to_string",
    "trim",
    "unwrap",
    "update",
    "values",
    "wait",
    "write",
    "zip",
];

fn only_method(project: &Project, file: usize, name: &str, receiver: &str) -> Found {
    if COMMON_METHODS.binary_search(&name).is_ok() {
        return Err(format!("type of `{receiver}` is not known"));
    }
    let all = project.named(name);
    let methods: Vec<_> = all
        .iter()
        .filter(|(f, d)| {
            project.same_language(file, *f) && project.files[*f].outline.definitions[*d].kind == Kind::Method
        })
        .collect();
    match methods.as_slice() {
        [(f, d)] => Ok((Target::Symbol(*f, *d), ONLY_METHOD, "only method of that name")),
        [] => Err(format!("no method `{name}` in the project")),
        many => Err(format!("type of `{receiver}` is not known; {} methods have that name", many.len())),
    }
}

#[cfg(test)]
mod tests;
