//! Finds the target of one call, use or base class, with a confidence.

mod script;

use super::names::Meaning;
use super::project::Project;
use super::{BY_IMPORT, EdgeKind, IN_SCOPE, Resolution, go, python, queried};
use crate::base::is_listed;
use crate::index::syntax::{Kind, Reference, ReferenceKind};

/// Confidence of a member inherited from a base that was resolved.
pub(super) const INHERITED: f64 = 0.9;
/// Confidence of the only definition with that name in scripts without modules, or of the only
/// macro.
pub(super) const ONLY_NAME: f64 = 0.75;
/// Confidence of the only method with that name, called on a value of unknown type.
const ONLY_METHOD: f64 = 0.5;

/// Adds the edge of a reference, or the reason why it is unresolved.
pub(super) fn refer<'a>(project: &Project<'a>, file: usize, reference: &'a Reference, out: &mut Resolution) {
    let source = project.id(file, reference.from);
    let kind = match reference.kind {
        ReferenceKind::Call => EdgeKind::Calls,
        ReferenceKind::Use => EdgeKind::References,
        ReferenceKind::Extends => EdgeKind::Extends,
    };
    let script = project.is_script(file);
    match search(project, file, reference) {
        Ok(Found { target, confidence, reason, by }) => {
            out.edge(source, project.target_id(target), kind, confidence, reason, reference.line);
            if let Some(edge) = out.edges.last_mut().filter(|_| script && kind == EdgeKind::Calls) {
                edge.at_load = reference.at_load;
            }
            if let Some(by) = by.filter(|by| *by != target) {
                out.edge(source, project.target_id(by), EdgeKind::References, confidence, "alias", reference.line);
            }
        }
        // An unresolved use is a parameter, a keyword or a property, which no query asks for.
        Err(_) if reference.kind == ReferenceKind::Use => {}
        Err(reason) => out.lost(source, &reference.name, kind, reference.line, reason),
    }
}

fn search<'a>(project: &Project<'a>, file: usize, reference: &'a Reference) -> Search {
    let script = project.is_script(file);
    if project.is_queried(file) {
        return queried::search(project, file, reference);
    }
    match (&reference.receiver, reference.kind) {
        (None, ReferenceKind::Call) if script => script::bare(project, file, reference),
        (Some(receiver), ReferenceKind::Call) if script => script::member(project, file, reference, receiver),
        (None, _) => bare(project, file, reference),
        (Some(receiver), _) => member(project, file, reference, receiver),
    }
}

/// The possible meanings of a reference: its target, then the alias through which it is reached.
pub(super) fn meanings<'a>(
    project: &Project<'a>,
    file: usize,
    reference: &'a Reference,
) -> Result<Vec<Meaning>, String> {
    let found = search(project, file, reference)?;
    Ok([Some(found.target), found.by].into_iter().flatten().collect())
}

/// The possible meaning of `receiver.name` when the receiver is known only as text.
pub(super) fn untyped_meaning(project: &Project, file: usize, reference: &Reference) -> Result<Meaning, String> {
    Ok(member(project, file, reference, reference.receiver.as_deref().unwrap_or_default())?.target)
}

/// The target of a reference.
pub(super) struct Found {
    pub target: Meaning,
    pub confidence: f64,
    pub reason: &'static str,
    /// The alias through which the target is reached.
    pub by: Option<Meaning>,
}

pub(super) type Search = Result<Found, String>;

pub(super) fn found(target: Meaning, confidence: f64, reason: &'static str) -> Search {
    Ok(Found { target, confidence, reason, by: None })
}

fn bare(project: &Project, file: usize, reference: &Reference) -> Search {
    let name = reference.name.as_str();
    if let Some(target) = project.scoped(file, reference.from, name)? {
        return found(target, IN_SCOPE, "same file");
    }
    if let Some(target) = project.go_name(file, name).filter(|_| project.is_go(file)) {
        return found(target, IN_SCOPE, "same package");
    }
    if let Some(target) = project.imported_as(file, name) {
        return found(target, BY_IMPORT, "import");
    }
    undeclared(project, file, name)
}

/// Resolves a name that its file neither declares nor imports from the project.
pub(super) fn undeclared(project: &Project, file: usize, name: &str) -> Search {
    let outline = &project.files[file].outline;
    if project.is_imported(file, name) {
        return Err("imported from outside the project".into());
    }
    let scripts = outline.imports.is_empty() && outline.exports.is_empty() && project.is_script(file);
    match project.called(name).as_slice() {
        [(f, d)] if project.same_language(file, *f) => {
            let kind = project.files[*f].outline.definitions[*d].kind;
            let others = &project.files[*f].outline;
            let global = others.imports.is_empty() && others.exports.is_empty();
            if kind == Kind::Macro || (scripts && global && !matches!(kind, Kind::Method)) {
                return found(Meaning::symbol(*f, *d), ONLY_NAME, "only definition of that name");
            }
            Err("not declared or imported here".into())
        }
        _ => Err("not declared in the project".into()),
    }
}

fn member(project: &Project, file: usize, reference: &Reference, receiver: &str) -> Search {
    let name = reference.name.as_str();
    let member_or_only = |member: Option<(Meaning, bool)>, reason: &'static str| match member {
        Some((target, false)) => found(target, BY_IMPORT, reason),
        Some((target, true)) => found(target, INHERITED, "inherited member"),
        None => only_method(project, file, name, receiver),
    };
    let is_own = matches!(receiver, "this" | "self" | "Self" | "super");
    if let Some(holder) = project.holder_of_self(file, reference.from).filter(|_| is_own) {
        // `super` excludes the type itself.
        return member_or_only(project.member_of(holder, name, receiver == "super"), "member of the same type");
    }
    let target = if project.is_rust(file) && receiver.contains("::") {
        project.rust_path(file, receiver)
    } else {
        match project.scoped(file, reference.from, receiver) {
            Ok(Some(target)) => Some(target),
            Ok(None) if project.is_python(file) || project.is_go(file) => {
                project.free(file, receiver).or_else(|| project.dotted(file, reference.from, receiver))
            }
            Ok(None) => project.imported_as(file, receiver).or_else(|| project.rust_path(file, receiver)),
            Err(_) => None,
        }
    };
    match target {
        Some(Meaning::File(f)) => match project.exported(f, name) {
            Some(target) => found(target, BY_IMPORT, "member of an imported module"),
            None => Err(format!("`{receiver}` has no `{name}`")),
        },
        Some(holder) => member_or_only(project.member_of(holder, name, false), "member of a known type"),
        None => only_method(project, file, name, receiver),
    }
}

/// Methods of built-in types: a call to such a name on an unknown receiver rarely means a method in
/// the project.
const COMMON_METHODS: &str = "\
    add all and_then any append apply as_ref as_str at bind call catch chars clear clone close collect concat contains \
    delete end entries entry eq err exec expect extend filter finally find first flat flush fmt forEach from get has \
    hash includes indexOf insert into is_empty iter join keys last len lines lock log map map_err match max min new \
    next ok on once open or parse path poll pop push read reduce remove replace resolve send set shift slice some sort \
    splice split start stop take test text then toString to_owned to_string trim unwrap update values wait write zip";

/// Whether a method with that name usually belongs to a built-in type of the language.
pub(super) fn is_common(language: &str, name: &str) -> bool {
    let common = match language {
        "python" => python::COMMON_METHODS,
        "go" => go::COMMON_METHODS,
        _ => "",
    };
    is_listed(COMMON_METHODS, name) || is_listed(common, name)
}

pub(super) fn only_method(project: &Project, file: usize, name: &str, receiver: &str) -> Search {
    if is_common(&project.files[file].language, name) {
        return Err(format!("type of `{receiver}` is not known"));
    }
    let all = project.called(name);
    let methods: Vec<_> = all
        .iter()
        .filter(|(f, d)| {
            project.same_language(file, *f) && project.files[*f].outline.definitions[*d].kind == Kind::Method
        })
        .collect();
    match methods.as_slice() {
        [(f, d)] => found(Meaning::symbol(*f, *d), ONLY_METHOD, "only method of that name"),
        [] => Err(format!("no method `{name}` in the project")),
        many => Err(format!("type of `{receiver}` is not known; {} methods have that name", many.len())),
    }
}
