//! Resolves imports, calls and base classes to edges between definitions, each with a confidence and a reason.

mod go;
mod modules;
mod names;
mod project;
mod python;
mod queried;
mod queries;
mod references;
mod types;

pub use modules::is_manifest;
pub use names::{Meaning, Symbol};
pub use project::{Facts, Project};

use std::collections::HashMap;

use super::ids;
use super::syntax::types::Binding;
use super::syntax::{Outline, ReferenceKind};

/// Confidence of a name found in the same file, by scope.
const IN_SCOPE: f64 = 1.0;
/// Confidence of a name found through an import and its re-exports, or of a member of a known
/// class.
const BY_IMPORT: f64 = 0.95;

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
        use EdgeKind::*;
        [Contains, Imports, Exports, Calls, References, Extends].into_iter().find(|kind| kind.name() == name)
    }
}

/// An edge from one symbol to another, by their ids (see `ids`).
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
    /// Whether the reference is outside all functions, so that it runs when the file is loaded.
    pub at_load: bool,
}

/// A reference whose target is unknown, kept so that "no callers" is never confused with "unknown".
#[derive(Clone, Debug, PartialEq)]
pub struct Unresolved {
    pub source: i64,
    pub name: String,
    pub kind: EdgeKind,
    pub line: usize,
    pub reason: String,
}

/// The edges and unresolved references of one file.
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
        // A function may call itself; no other edge connects a symbol with itself.
        if source != target || kind == EdgeKind::Calls {
            self.edges.push(Edge { source, target, kind, confidence, reason, line, at_load: false });
        }
    }

    fn lost(&mut self, source: i64, name: &str, kind: EdgeKind, line: usize, reason: impl Into<String>) {
        self.unresolved.push(Unresolved { source, name: name.to_owned(), kind, line, reason: reason.into() });
    }
}

/// Hash of everything in a file on which other files' edges may depend: definitions, values of
/// local names, bases, exports and imports. For a manifest it is `content`, the hash of its text.
pub fn interface(path: &str, outline: &Outline, content: i64) -> i64 {
    if is_manifest(path) {
        return content;
    }
    let mut text = String::new();
    for (definition, id) in outline.definitions.iter().zip(ids::symbols(path, outline)) {
        text.push_str(&format!("{id} {} {:?} {:?};", definition.exported, definition.container, definition.typing));
    }
    // The values of local names decide what functions without a declared return type return. Their
    // lines shift with every edit, so only two facts count: whether a name is still bound at the
    // end of its definition, and which of two bindings is the inner one.
    let mut counts: HashMap<(Option<usize>, &str), usize> = HashMap::new();
    outline.bindings.iter().for_each(|b| *counts.entry((b.inside, b.name.as_str())).or_default() += 1);
    for binding in &outline.bindings {
        let end = binding.inside.map_or(usize::MAX, |d| outline.definitions[d].end);
        let twice = counts[&(binding.inside, binding.name.as_str())] > 1;
        let length = if twice { binding.end.saturating_sub(binding.start) } else { 0 };
        let Binding { inside, name, value, .. } = binding;
        text.push_str(&format!("{inside:?} {name} {value:?} {} {length};", binding.end >= end));
    }
    let bases = outline.references.iter().filter(|r| r.kind == ReferenceKind::Extends);
    bases.for_each(|r| text.push_str(&format!("{} {:?} {:?};", r.name, r.receiver, r.from)));
    let exports = outline.exports.iter().map(|e| format!("{} {} {:?};", e.name, e.local, e.source));
    let imports = outline.imports.iter().map(|i| format!("{} {} {};", i.name, i.local, i.source));
    exports.chain(imports).for_each(|line| text.push_str(&line));
    ids::key(&[&text])
}

/// Resolves all imports, exports and references of one file. `file` is its position in the project.
pub fn resolve(project: &Project, file: usize) -> Resolution {
    let mut out = Resolution::default();
    contains(project, file, &mut out);
    imports(project, file, &mut out);
    exports(project, file, &mut out);
    for reference in &project.files[file].outline.references {
        references::refer(project, file, reference, &mut out);
    }
    out
}

fn contains(project: &Project, file: usize, out: &mut Resolution) {
    for (at, definition) in project.files[file].outline.definitions.iter().enumerate() {
        let container = match &definition.member_of {
            Some(owner) => {
                project.owner_called(file, owner).map_or_else(|| project.id(file, None), |o| project.target_id(o))
            }
            None => project.id(file, definition.container),
        };
        out.edge(container, project.id(file, Some(at)), EdgeKind::Contains, IN_SCOPE, "stands in it", definition.start);
    }
}

fn imports(project: &Project, file: usize, out: &mut Resolution) {
    let module = project.id(file, None);
    for import in &project.files[file].outline.imports {
        let line = import.line;
        match project.module_of(file, import) {
            Some(target) => {
                // A Go import means every file in the package.
                let package = if project.is_go(file) { project.go_package(&import.source) } else { &[target] };
                for target in package {
                    out.edge(module, project.id(*target, None), EdgeKind::Imports, BY_IMPORT, "import", line);
                }
                if let Some(Meaning::Symbol(Symbol { file: f, at: d })) = project.import_target(file, import) {
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

#[cfg(test)]
mod tests;
