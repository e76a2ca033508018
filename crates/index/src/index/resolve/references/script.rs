//! Resolves calls in TypeScript and JavaScript by the types of their receivers.

use std::rc::Rc;

use super::{Search, found, only_method, undeclared};
use crate::index::resolve::names::Meaning;
use crate::index::resolve::project::Project;
use crate::index::resolve::types::{Look, Scope, Ty, Types};
use crate::index::resolve::{BY_IMPORT, IN_SCOPE};
use crate::index::syntax::Reference;

/// Confidence of a function held by a local variable or a property.
const BY_VALUE: f64 = 0.9;
/// Confidence of a member of a type inferred from annotations, `new` and results.
const BY_TYPE: f64 = 0.95;

pub(super) fn bare<'a>(project: &Project<'a>, file: usize, reference: &'a Reference) -> Search {
    let name = reference.name.as_str();
    let types = Types::new(project);
    if name == "super" {
        return match types.base_class(file, reference.from) {
            Some(target) => found(target, BY_TYPE, "base class"),
            None => Err("the base class is outside the project".into()),
        };
    }
    if let Some(binding) = project.binding(file, reference.from, name, reference.line) {
        let scope = scope(file, reference);
        return match types.code(&types.bound(binding, &scope)) {
            Some(target) => found(target, BY_VALUE, "held by a local variable"),
            None => Err(format!("`{name}` is a local value")),
        };
    }
    let (target, confidence, reason) = match project.declared_around(file, reference.from, name) {
        Some(target) => (target, IN_SCOPE, "same file"),
        None => match project.imported_as(file, name) {
            Some(target) => (target, BY_IMPORT, "import"),
            None => return undeclared(project, file, name),
        },
    };
    through(&types, project.as_value(target), confidence, reason)
}

pub(super) fn member<'a>(project: &Project<'a>, file: usize, reference: &'a Reference, receiver: &str) -> Search {
    let Some(value) = &reference.value else { return super::member(project, file, reference, receiver) };
    // A call chain may span several lines; a reason is a single line.
    let receiver = &receiver.split_whitespace().collect::<String>();
    let types = Types::new(project);
    let of = types.value(value, &scope(file, reference));
    match types.member(&of, &reference.name) {
        Look::Found(member) => match member.target {
            Some(target) => {
                let (confidence, reason) = match of {
                    Ty::Itself(Meaning::File(_)) => (BY_IMPORT, "member of an imported module"),
                    _ if receiver == "this" => (BY_TYPE, "member of the same type"),
                    _ => (BY_TYPE, "member of a known type"),
                };
                through(&types, project.as_value(target), confidence, reason)
            }
            None => match types.code(&member.ty) {
                Some(target) => found(target, BY_VALUE, "held by a property"),
                None => Err(format!("`{receiver}` has a `{}` that is not declared in the project", reference.name)),
            },
        },
        Look::Outside => Err(format!("`{receiver}` is of a type outside the project")),
        // In TypeScript, the only method with that name is wrong in two of three cases.
        Look::Unknown if project.is_typed(file) => Err(format!("type of `{receiver}` is not known")),
        Look::Unknown => only_method(project, file, &reference.name, receiver),
    }
}

/// The search result for a target; an alias is replaced by its target.
fn through(types: &Types, target: Meaning, confidence: f64, reason: &'static str) -> Search {
    let behind = types.behind(target);
    let mut search = found(behind, confidence, reason)?;
    search.by = (behind != target).then_some(target);
    Ok(search)
}

fn scope<'a>(file: usize, reference: &Reference) -> Rc<Scope<'a>> {
    Rc::new(Scope { file, from: reference.from, line: reference.line, generics: Vec::new(), this: None })
}
