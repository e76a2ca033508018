//! Looks up members of types in TypeScript and JavaScript: of instances, object types, literals, modules and classes.

use std::rc::Rc;

use super::{Look, Member, Scope, Ty, Types, builtin, found, many};
use crate::index::resolve::names::{Meaning, Symbol};
use crate::index::syntax::Kind;
use crate::index::syntax::types::{Field, SPREAD, Type, Typing, Value};

impl<'a> Types<'_, 'a> {
    /// Looks up a member of a type.
    pub fn member(&self, of: &Ty<'a>, name: &str) -> Look<'a> {
        self.step(Look::Unknown, || match of {
            Ty::Unknown => Look::Unknown,
            Ty::Outside => Look::Outside,
            Ty::Instance(file, at, arguments) => self.member_of_instance(*file, *at, arguments, name, of),
            Ty::Itself(target) => self.member_of_thing(*target, name),
            Ty::Shape(fields, scope) => self.field(fields, scope, name, of),
            Ty::Literal(fields, scope) => self.part(fields, scope, name),
            Ty::Function(..) | Ty::Builtin(..) => Look::Outside,
            Ty::List(item) | Ty::Table(item) => builtin::method(name, item.clone(), of),
            Ty::Promise(of) => match name {
                "then" | "catch" | "finally" => found(Ty::Builtin("then", of.clone())),
                _ => Look::Outside,
            },
            Ty::Many(parts) => {
                let mut unknown = false;
                let mut all: Vec<Member<'a>> = Vec::new();
                for part in parts.iter() {
                    match self.member(part, name) {
                        Look::Found(member) => all.push(member),
                        Look::Unknown => unknown = true,
                        Look::Outside => {}
                    }
                }
                match all.iter().find_map(|member| member.target) {
                    None if all.is_empty() && unknown => Look::Unknown,
                    None if all.is_empty() => Look::Outside,
                    target => Look::Found(Member { target, ty: many(all.into_iter().map(|member| member.ty)) }),
                }
            }
        })
    }

    pub(super) fn field(&self, fields: &'a [Field], scope: &Rc<Scope<'a>>, name: &str, this: &Ty<'a>) -> Look<'a> {
        let Some(field) = fields.iter().find(|f| f.name == name).or_else(|| fields.iter().find(|f| f.name == "[]"))
        else {
            return Look::Outside;
        };
        let this = scope.this.clone().or_else(|| Some(this.clone()));
        let target = self.project.definition_at(scope.file, name, field.line.0).map(|d| Meaning::symbol(scope.file, d));
        let scope = Rc::new(Scope { this, ..(**scope).clone() });
        Look::Found(Member { target, ty: self.ty(&field.ty, &scope) })
    }

    /// Looks up a property of an object literal.
    fn part(&self, fields: &'a [(String, Value)], scope: &Rc<Scope<'a>>, name: &str) -> Look<'a> {
        let Some((_, value)) = fields.iter().find(|(field, _)| field == name) else {
            let spread = fields.iter().rev().filter(|(field, _)| field == SPREAD);
            let looks = spread.map(|(_, value)| self.member(&self.value(value, scope), name));
            return looks.into_iter().find(|look| matches!(look, Look::Found(_))).unwrap_or(Look::Unknown);
        };
        let target = match value {
            Value::Function(_) => self.project.method_inside(scope.file, scope.from, name),
            _ => None,
        };
        match target {
            Some(target) => Look::Found(Member { target: Some(target), ty: Ty::Itself(target) }),
            None => found(self.value(value, scope)),
        }
    }

    fn member_of_instance(&self, file: usize, at: usize, arguments: &[Ty<'a>], name: &str, this: &Ty<'a>) -> Look<'a> {
        let scope = Rc::new(Scope { this: Some(this.clone()), ..self.with_arguments(file, at, arguments) });
        let mut unknown = false;
        // Interfaces with the same name are one type, as are a class and an interface with the same
        // name.
        for sibling in self.project.type_siblings(file, at) {
            let sibling_scope = if sibling == at {
                scope.clone()
            } else {
                Rc::new(Scope { this: Some(this.clone()), ..self.with_arguments(file, sibling, arguments) })
            };
            let typing = self.typing(file, sibling);
            if let Some(member) = self.project.member_in(file, sibling, name) {
                return Look::Found(self.declared_member(file, member, &sibling_scope));
            }
            if let Some(Type::Object(fields)) = typing.and_then(|t| t.ty.as_ref())
                && fields.iter().any(|field| field.name == name)
            {
                return self.field(fields, &sibling_scope, name, this);
            }
            for base in typing.into_iter().flat_map(|t| &t.bases) {
                match self.member(&self.ty(base, &sibling_scope), name) {
                    Look::Found(member) => return Look::Found(member),
                    Look::Unknown => unknown = true,
                    Look::Outside => {}
                }
            }
        }
        if unknown { Look::Unknown } else { Look::Outside }
    }

    /// A field or method with a definition, as seen through an instance.
    fn declared_member(&self, file: usize, at: usize, scope: &Rc<Scope<'a>>) -> Member<'a> {
        let target = Meaning::symbol(file, at);
        let definition = self.definition(file, at);
        let ty = match definition.typing.as_deref() {
            Some(Typing { ty: Some(ty), .. }) => self.ty(ty, scope),
            Some(Typing { call: Some(call), .. }) => {
                Ty::Function(call, Rc::new(Scope { from: Some(at), line: definition.end, ..(**scope).clone() }))
            }
            Some(Typing { value: Some(value), .. }) => self.value(value, scope),
            _ => Ty::Unknown,
        };
        Member { target: Some(target), ty }
    }

    fn member_of_thing(&self, target: Meaning, name: &str) -> Look<'a> {
        match target {
            Meaning::File(file) => match self.project.exported(file, name) {
                Some(target) => {
                    let target = self.project.as_value(target);
                    Look::Found(Member { target: Some(target), ty: self.held(target) })
                }
                None if name == "default" => found(Ty::Itself(target)),
                None => Look::Unknown,
            },
            Meaning::Symbol(Symbol { file, at }) => match self.project.member_of(target, name, false) {
                Some((target, _)) => {
                    let ty = self.held(target);
                    Look::Found(Member { target: Some(target), ty })
                }
                None if self.definition(file, at).kind == Kind::Class && !self.has_foreign_base(file, at) => {
                    Look::Outside
                }
                None if matches!(name, "call" | "apply" | "bind" | "toString") => Look::Outside,
                None => Look::Unknown,
            },
        }
    }

    fn has_foreign_base(&self, file: usize, at: usize) -> bool {
        self.typing(file, at).is_none_or(|t| !t.bases.is_empty())
    }
}
