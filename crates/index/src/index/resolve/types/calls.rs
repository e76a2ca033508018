//! Infers results and parameters of calls in TypeScript and JavaScript, with the callee's type parameters set.

use std::rc::Rc;

use super::{Look, Scope, Ty, Types, many};
use crate::index::resolve::names::{Meaning, Symbol};
use crate::index::syntax::Kind;
use crate::index::syntax::types::{Callable, Generic, Type, Typing, Value};

/// Type parameters by name, with the types they represent.
type Known<'a> = Vec<(&'a str, Ty<'a>)>;

/// The type of each type parameter.
fn solved<'a>(generics: &[Generic], known: &[(&'a str, Ty<'a>)]) -> Vec<Ty<'a>> {
    let of = |name: &str| known.iter().find(|(n, _)| *n == name).map_or(Ty::Unknown, |(_, ty)| ty.clone());
    generics.iter().map(|generic| of(&generic.name)).collect()
}

/// Maximum nesting of promises that `await` unwraps.
const LAYERS_MAX: usize = 8;

impl<'a> Types<'_, 'a> {
    /// The function behind a callable type.
    fn signature(&self, callee: &Ty<'a>) -> Option<(&'a Callable, Rc<Scope<'a>>)> {
        match callee {
            Ty::Function(callable, scope) => Some((callable, scope.clone())),
            Ty::Itself(Meaning::Symbol(Symbol { file, at })) => {
                let call = self.typing(*file, *at)?.call.as_ref()?;
                Some((call, Rc::new(self.inside(*file, *at))))
            }
            Ty::Instance(..) | Ty::Shape(..) => match self.member(callee, "()") {
                Look::Found(member) => match member.ty {
                    Ty::Function(callable, scope) => Some((callable, scope)),
                    _ => None,
                },
                _ => None,
            },
            Ty::Many(parts) => parts.iter().find_map(|part| self.step(None, || self.signature(part))),
            _ => None,
        }
    }

    /// The result type of a call. `wanted` is the type that the context expects.
    pub fn called(
        &self,
        callee: &Ty<'a>,
        arguments: &'a [Value],
        types: &'a [Type],
        scope: &Rc<Scope<'a>>,
        wanted: Option<&'a Type>,
    ) -> Ty<'a> {
        match callee {
            Ty::Builtin(how, of) => return self.builtin(how, of, arguments, scope),
            Ty::Outside => return Ty::Outside,
            _ => {}
        }
        let Some((callable, at)) = self.signature(callee) else { return Ty::Unknown };
        let inner = self.inferred(callable, &at, arguments, types, scope, wanted);
        callable.returns.as_ref().map_or(Ty::Unknown, |returns| self.ty(returns, &Rc::new(inner)))
    }

    fn builtin(&self, how: &str, of: &Rc<Ty<'a>>, arguments: &'a [Value], scope: &Rc<Scope<'a>>) -> Ty<'a> {
        let given = || match arguments.first().map(|first| self.value(first, scope)) {
            Some(Ty::Function(callable, at)) => callable.returns.as_ref().map_or(Ty::Unknown, |r| self.ty(r, &at)),
            Some(other) => self.called(&other, &[], &[], scope, None),
            None => Ty::Unknown,
        };
        match how {
            "item" | "same" => (**of).clone(),
            "map" => match given() {
                Ty::List(item) => Ty::List(item),
                item => Ty::List(Rc::new(item)),
            },
            "then" => match given() {
                Ty::Promise(of) => Ty::Promise(of),
                of => Ty::Promise(Rc::new(of)),
            },
            "reduce" => arguments.get(1).map_or(Ty::Unknown, |first| self.value(first, scope)),
            _ => Ty::Outside,
        }
    }

    /// The result type of `new`.
    pub fn constructed(
        &self,
        callee: &Ty<'a>,
        arguments: &'a [Value],
        types: &'a [Type],
        scope: &Rc<Scope<'a>>,
    ) -> Ty<'a> {
        match callee {
            Ty::Itself(Meaning::Symbol(Symbol { file, at })) if self.definition(*file, *at).kind == Kind::Class => {
                let mut given: Vec<Ty<'a>> = types.iter().map(|ty| self.ty(ty, scope)).collect();
                let constructor = self.project.member_in(*file, *at, "constructor");
                let call = constructor.and_then(|c| self.typing(*file, c)).and_then(|t| t.call.as_ref());
                if let (true, Some(call), Some(typing)) = (given.is_empty(), call, self.typing(*file, *at)) {
                    let mut known = Vec::new();
                    self.unify_arguments(call, arguments, scope, &mut known);
                    given = solved(&typing.generics, &known);
                }
                self.instance(*file, *at, given)
            }
            Ty::Instance(..) | Ty::Shape(..) => match self.member(callee, "new") {
                Look::Found(member) => self.called(&member.ty, arguments, types, scope, None),
                _ => Ty::Unknown,
            },
            Ty::Outside => match types {
                [item] => Ty::List(Rc::new(self.ty(item, scope))),
                [_, item] => Ty::Table(Rc::new(self.ty(item, scope))),
                _ => Ty::Outside,
            },
            Ty::Many(parts) => many(
                parts.iter().map(|part| self.step(Ty::Unknown, || self.constructed(part, arguments, types, scope))),
            ),
            _ => Ty::Unknown,
        }
    }

    /// The type of argument number `at` of a call, inferred from its other arguments and its
    /// expected result `wanted`.
    pub fn argument(&self, call: &'a Value, at: usize, wanted: Option<&'a Type>, scope: &Rc<Scope<'a>>) -> Ty<'a> {
        let (Value::Call(callee, arguments, types) | Value::New(callee, arguments, types)) = call else {
            return Ty::Unknown;
        };
        let mut callee = self.value(callee, scope);
        if let (Value::New(..), Ty::Itself(Meaning::Symbol(Symbol { file, at: class }))) = (call, &callee) {
            let Some(constructor) = self.project.member_in(*file, *class, "constructor") else { return Ty::Unknown };
            callee = Ty::Itself(Meaning::symbol(*file, constructor));
        }
        if let Ty::Builtin(..) = callee {
            return callee;
        }
        let Some((callable, place)) = self.signature(&callee) else { return Ty::Unknown };
        let Some(Some(param)) = callable.params.get(at) else { return Ty::Unknown };
        let inner = self.inferred(callable, &place, arguments, types, scope, wanted);
        self.ty(param, &Rc::new(inner))
    }

    /// The type of parameter number `at` of a callable.
    pub fn parameter(&self, of: &Ty<'a>, at: usize) -> Ty<'a> {
        match (of, at) {
            (Ty::Builtin("reduce", item), 1) => return (**item).clone(),
            (Ty::Builtin("reduce", _), _) => return Ty::Unknown,
            (Ty::Builtin("same", of), 0) => return self.item(of),
            (Ty::Builtin(_, item), 0) => return (**item).clone(),
            (Ty::Builtin(..), _) => return Ty::Outside,
            _ => {}
        }
        let Some((callable, scope)) = self.signature(of) else { return Ty::Unknown };
        let mut inner = (*scope).clone();
        self.set(&mut inner, &callable.generics, &[]);
        callable.params.get(at).and_then(Option::as_ref).map_or(Ty::Unknown, |ty| self.ty(ty, &Rc::new(inner)))
    }

    /// The scope inside a function for one call: its type parameters set from the type arguments,
    /// or else inferred from the expected result and the arguments.
    fn inferred(
        &self,
        callable: &'a Callable,
        at: &Rc<Scope<'a>>,
        arguments: &'a [Value],
        types: &'a [Type],
        scope: &Rc<Scope<'a>>,
        wanted: Option<&'a Type>,
    ) -> Scope<'a> {
        let mut inner = (**at).clone();
        if callable.generics.is_empty() {
            return inner;
        }
        let mut given: Vec<Ty<'a>> = types.iter().map(|ty| self.ty(ty, scope)).collect();
        if given.is_empty() {
            let mut known = Known::new();
            if let (Some(returns), Some(wanted)) = (&callable.returns, wanted) {
                self.unify(returns, &self.ty(wanted, scope), &mut known);
            }
            self.unify_arguments(callable, arguments, scope, &mut known);
            given = solved(&callable.generics, &known);
        }
        self.set(&mut inner, &callable.generics, &given);
        inner
    }

    fn unify_arguments(
        &self,
        callable: &'a Callable,
        arguments: &'a [Value],
        scope: &Rc<Scope<'a>>,
        known: &mut Known<'a>,
    ) {
        for (param, argument) in callable.params.iter().zip(arguments) {
            // A function argument adds nothing yet: the types of its parameters depend on this
            // call.
            if let (Some(param), false) = (param, matches!(argument, Value::Function(_) | Value::Unknown)) {
                let ty = self.value(argument, scope);
                self.unify(param, &ty, known);
            }
        }
    }

    /// Matches `pattern` against `ty` and adds the types of its type parameters to `known`.
    fn unify(&self, pattern: &'a Type, ty: &Ty<'a>, known: &mut Known<'a>) {
        self.step((), || match (pattern, ty) {
            (_, Ty::Unknown) => {}
            (Type::Named(name, arguments), _) if arguments.is_empty() && !known.iter().any(|(n, _)| n == name) => {
                known.push((name, ty.clone()))
            }
            (Type::Named(_, arguments), _) if arguments.is_empty() => {}
            (Type::Named(name, arguments), Ty::Instance(file, at, given)) => {
                let last = name.rsplit('.').next().unwrap_or(name);
                if self.definition(*file, *at).name == last {
                    arguments.iter().zip(given.iter()).for_each(|(p, t)| self.unify(p, t, known));
                }
            }
            (Type::List(pattern), Ty::List(item)) => self.unify(pattern, item, known),
            (Type::Named(_, arguments), Ty::List(item) | Ty::Promise(item)) if arguments.len() == 1 => {
                self.unify(&arguments[0], item, known)
            }
            (Type::Many(parts), _) => parts.iter().for_each(|part| self.unify(part, ty, known)),
            (Type::Object(fields), _) => {
                for field in fields {
                    if let Look::Found(member) = self.member(ty, &field.name) {
                        self.unify(&field.ty, &member.ty, known);
                    }
                }
            }
            _ => {}
        })
    }

    /// The item type of a list or table.
    pub fn item(&self, of: &Ty<'a>) -> Ty<'a> {
        match of {
            Ty::List(item) | Ty::Table(item) => (**item).clone(),
            Ty::Many(parts) => many(parts.iter().map(|part| self.step(Ty::Unknown, || self.item(part)))),
            Ty::Shape(fields, scope) if fields.iter().any(|f| f.name == "[]") => {
                self.field(fields, scope, "[]", of).ty()
            }
            Ty::Outside => Ty::Outside,
            _ => Ty::Unknown,
        }
    }

    pub fn awaited(&self, of: Ty<'a>) -> Ty<'a> {
        let mut of = of;
        for _ in 0..LAYERS_MAX {
            of = match of {
                Ty::Promise(inner) => (*inner).clone(),
                Ty::Many(parts) => {
                    return many(parts.iter().map(|part| self.step(Ty::Unknown, || self.awaited(part.clone()))));
                }
                other => return other,
            };
        }
        of
    }

    /// The project's function, method or class that a type represents, if any.
    pub fn code(&self, ty: &Ty<'a>) -> Option<Meaning> {
        match ty {
            Ty::Itself(target @ Meaning::Symbol(Symbol { file, at })) => {
                let kind = self.definition(*file, *at).kind;
                matches!(kind, Kind::Function | Kind::Method | Kind::Class).then_some(*target)
            }
            _ => None,
        }
    }

    /// The target of a variable that is an alias: `const a = b`, `const a = b.c`, `const a = make()`; `target` itself
    /// if it is not an alias.
    pub fn behind(&self, target: Meaning) -> Meaning {
        let Meaning::Symbol(Symbol { file, at }) = target else { return target };
        let definition = self.definition(file, at);
        let Some(Typing { ty, value: Some(value), .. }) = definition.typing.as_deref() else { return target };
        if !matches!(definition.kind, Kind::Variable | Kind::Constant) {
            return target;
        }
        let alias =
            matches!(value, Value::Name(_) | Value::Member(..)) || (ty.is_none() && matches!(value, Value::Call(..)));
        if !alias {
            return target;
        }
        let scope = Scope { from: definition.container, line: definition.start, ..self.inside(file, at) };
        match value {
            // An alias of a variable that is not itself an alias is that variable.
            Value::Name(name) => match self.project.in_scope(file, definition.container, name) {
                Some(next) if next != target => self.step(target, || self.behind(self.project.as_value(next))),
                _ => target,
            },
            Value::Member(of, name) => match self.member(&self.value(of, &Rc::new(scope)), name) {
                Look::Found(member) => member.target.filter(|next| *next != target).unwrap_or(target),
                _ => target,
            },
            value => self.code(&self.value(value, &Rc::new(scope))).unwrap_or(target),
        }
    }
}
