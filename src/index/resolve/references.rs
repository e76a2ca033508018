//! Finds what one call, use or base refers to, and says how sure that is.

use super::names::Target;
use super::project::Project;
use super::{BY_IMPORT, EdgeKind, IN_SCOPE, Resolution, go, python};
use crate::index::syntax::{Kind, Reference, ReferenceKind};

/// A member inherited from a base that was resolved.
const INHERITED: f64 = 0.9;
/// The only definition of that name in a project of scripts without modules, or the only macro.
const ONLY_NAME: f64 = 0.75;
/// The only method of that name, called on a value of unknown type.
const ONLY_METHOD: f64 = 0.5;

/// Adds the edge of a reference, or notes why there is none.
pub(super) fn refer(project: &Project, file: usize, reference: &Reference, out: &mut Resolution) {
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
    if let Some(target) = project.go_name(file, name).filter(|_| project.is_go(file)) {
        return Ok((target, IN_SCOPE, "same package"));
    }
    if let Some(target) = project.imported(file, name) {
        return Ok((target, BY_IMPORT, "import"));
    }
    let scripts = outline.imports.is_empty() && outline.exports.is_empty() && project.is_script(file);
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
        let found = match receiver {
            "super" => project.base_member(holder, name),
            _ => project.member(holder, name),
        };
        return match found {
            Some((target, false)) => Ok((target, BY_IMPORT, "member of the same type")),
            Some((target, true)) => Ok((target, INHERITED, "inherited member")),
            None => only_method(project, file, name, receiver),
        };
    }
    let target = match project.is_rust(file) && receiver.contains("::") {
        true => project.path(file, receiver),
        false => match project.in_scope(file, reference.from, receiver) {
            Ok(Some(target)) => Some(target),
            Ok(None) if project.is_python(file) || project.is_go(file) => {
                let named = project.go_name(file, receiver).filter(|_| project.is_go(file));
                named
                    .or_else(|| project.imported(file, receiver))
                    .or_else(|| project.dotted(file, reference.from, receiver))
            }
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
    let common = match project.files[file].language.as_str() {
        "python" => python::COMMON_METHODS,
        "go" => go::COMMON_METHODS,
        _ => &[],
    };
    if COMMON_METHODS.binary_search(&name).is_ok() || common.binary_search(&name).is_ok() {
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
