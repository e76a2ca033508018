//! Infers types of values in TypeScript and JavaScript from annotations, `new`, results and fields, and looks up members.

mod builtin;
mod calls;
mod members;

use std::cell::Cell;
use std::rc::Rc;

use super::names::{Meaning, Symbol};
use super::project::Project;
use crate::index::syntax::types::{Binding, Callable, Field, Generic, Type, Typing, Value};
use crate::index::syntax::{Definition, Kind};

/// Maximum nesting of types followed; deeper nesting comes from self-referential generics.
const DEPTH_MAX: usize = 40;
/// Maximum number of steps for one query: some library types are programs in themselves.
const STEPS_MAX: usize = 4_000;
/// Maximum number of union members considered.
const PARTS_MAX: usize = 24;

/// The type of a value.
#[derive(Clone, Debug)]
pub(super) enum Ty<'a> {
    Unknown,
    /// Text, numbers, other packages' types: their members are not in the project.
    Outside,
    /// A class or interface, with its type arguments.
    Instance(usize, usize, Rc<[Ty<'a>]>),
    /// The thing itself: a module, class, function or enum.
    Itself(Meaning),
    /// An object type as written.
    Shape(&'a [Field], Rc<Scope<'a>>),
    /// An object literal.
    Literal(&'a [(String, Value)], Rc<Scope<'a>>),
    Function(&'a Callable, Rc<Scope<'a>>),
    List(Rc<Ty<'a>>),
    /// A built-in method of a list, table or promise: how its result is computed, and from which
    /// type.
    Builtin(&'static str, Rc<Ty<'a>>),
    Promise(Rc<Ty<'a>>),
    /// `Map`, `Record`: the type of the values.
    Table(Rc<Ty<'a>>),
    /// A union or an intersection.
    Many(Rc<[Ty<'a>]>),
}

/// A place in a file where names are resolved, with the type parameters and `this` in effect there.
#[derive(Clone, Debug)]
pub(super) struct Scope<'a> {
    pub file: usize,
    pub from: Option<usize>,
    pub line: usize,
    pub generics: Vec<(&'a str, Ty<'a>)>,
    pub this: Option<Ty<'a>>,
}

/// The result of a member lookup.
#[derive(Clone, Debug)]
pub(super) struct Member<'a> {
    /// Its declaration.
    pub target: Option<Meaning>,
    pub ty: Ty<'a>,
}

/// The result of looking up a member.
#[derive(Clone, Debug)]
pub(super) enum Look<'a> {
    Found(Member<'a>),
    /// The type is known, and is outside the project or has no such member.
    Outside,
    Unknown,
}

impl<'a> Look<'a> {
    fn ty(self) -> Ty<'a> {
        match self {
            Look::Found(member) => member.ty,
            Look::Outside => Ty::Outside,
            Look::Unknown => Ty::Unknown,
        }
    }
}

/// Answers one query within `DEPTH_MAX` and `STEPS_MAX`; create a new one for each query.
pub(super) struct Types<'p, 'a> {
    pub project: &'p Project<'a>,
    depth: Cell<usize>,
    steps: Cell<usize>,
}

impl<'p, 'a> Types<'p, 'a> {
    pub fn new(project: &'p Project<'a>) -> Types<'p, 'a> {
        Types { project, depth: Cell::new(0), steps: Cell::new(0) }
    }

    /// Runs one step; returns `otherwise` if the query is too deep or too long.
    fn step<T>(&self, otherwise: T, run: impl FnOnce() -> T) -> T {
        if self.depth.get() >= DEPTH_MAX || self.steps.get() >= STEPS_MAX {
            return otherwise;
        }
        self.steps.set(self.steps.get() + 1);
        self.depth.set(self.depth.get() + 1);
        let done = run();
        self.depth.set(self.depth.get() - 1);
        done
    }

    fn definition(&self, file: usize, at: usize) -> &'a Definition {
        &self.project.files[file].outline.definitions[at]
    }

    fn typing(&self, file: usize, at: usize) -> Option<&'a Typing> {
        self.definition(file, at).typing.as_deref()
    }

    /// The scope inside a definition, with its own type parameters unset.
    fn inside(&self, file: usize, at: usize) -> Scope<'a> {
        Scope { file, from: Some(at), line: self.definition(file, at).end, generics: Vec::new(), this: None }
    }

    pub fn value(&self, value: &'a Value, scope: &Rc<Scope<'a>>) -> Ty<'a> {
        self.step(Ty::Unknown, || match value {
            Value::Name(name) => self.name(name, scope),
            Value::This => scope.this.clone().unwrap_or_else(|| self.own(scope.file, scope.from)),
            Value::Super => self.bases(&self.own(scope.file, scope.from)),
            Value::Member(of, name) => self.member(&self.value(of, scope), name).ty(),
            Value::Call(callee, arguments, types) => {
                let callee = self.value(callee, scope);
                self.called(&callee, arguments, types, scope, None)
            }
            Value::New(callee, arguments, types) => {
                let callee = self.value(callee, scope);
                self.constructed(&callee, arguments, types, scope)
            }
            Value::Item(of) => self.item(&self.value(of, scope)),
            Value::Awaited(of) => self.awaited(self.value(of, scope)),
            Value::Is(ty) => self.ty(ty, scope),
            Value::Object(fields) => Ty::Literal(fields, scope.clone()),
            Value::List(parts) => Ty::List(Rc::new(many(parts.iter().map(|part| self.value(part, scope))))),
            Value::Either(parts) => many(parts.iter().map(|part| self.value(part, scope))),
            Value::Function(callable) => Ty::Function(callable, scope.clone()),
            Value::Argument(call, at, wanted) => self.argument(call, *at, wanted.as_ref(), scope),
            Value::Parameter(of, at) => self.parameter(&self.value(of, scope), *at),
            Value::Unknown => Ty::Unknown,
        })
    }

    /// The type of the value of a bare name.
    fn name(&self, name: &str, scope: &Scope<'a>) -> Ty<'a> {
        if name == "undefined" {
            return Ty::Outside;
        }
        let project = self.project;
        if let Some(binding) = project.binding(scope.file, scope.from, name, scope.line) {
            return self.bound(binding, scope);
        }
        match project.in_scope(scope.file, scope.from, name) {
            Some(target) => self.held(project.as_value(target)),
            None if project.is_imported(scope.file, name) => Ty::Outside,
            None => builtin::global(name).unwrap_or(Ty::Unknown),
        }
    }

    /// The type of the value of a local name.
    pub fn bound(&self, binding: &'a Binding, scope: &Scope<'a>) -> Ty<'a> {
        // The value is evaluated at the beginning of its binding's lines, not where the name is
        // used.
        let scope = Scope { from: binding.inside, line: binding.start, ..scope.clone() };
        self.value(&binding.value, &Rc::new(scope))
    }

    /// The type of a definition's value.
    pub fn held(&self, target: Meaning) -> Ty<'a> {
        let Meaning::Symbol(Symbol { file, at }) = target else { return Ty::Itself(target) };
        self.step(Ty::Unknown, || {
            let definition = self.definition(file, at);
            let scope = || {
                let outer = Scope { from: definition.container, line: definition.start, ..self.inside(file, at) };
                Rc::new(outer)
            };
            match (definition.kind, definition.typing.as_deref()) {
                (
                    Kind::Variable | Kind::Constant | Kind::Method | Kind::Function,
                    Some(Typing { ty: Some(ty), .. }),
                ) => self.ty(ty, &scope()),
                (Kind::Variable | Kind::Constant, Some(Typing { value: Some(value), .. })) => {
                    self.value(value, &scope())
                }
                (Kind::Variable | Kind::Constant | Kind::Interface | Kind::Type, _) => Ty::Unknown,
                _ => Ty::Itself(target),
            }
        })
    }

    /// The type of `this` at a place: the class or object around it.
    fn own(&self, file: usize, from: Option<usize>) -> Ty<'a> {
        // Inside a class, `this` is assumed to be an instance, because callbacks in methods are
        // nearly always arrow functions.
        let mut around = self.project.around(file, from).flatten();
        if let Some(at) = around.find(|at| self.definition(file, *at).kind == Kind::Class) {
            return self.instance(file, at, Vec::new());
        }
        match self.project.holder_of_self(file, from) {
            Some(Meaning::Symbol(Symbol { file: f, at: d })) if self.definition(f, d).kind == Kind::Class => {
                self.instance(f, d, Vec::new())
            }
            Some(target) => self.held(target),
            None => Ty::Unknown,
        }
    }

    pub fn ty(&self, ty: &'a Type, scope: &Rc<Scope<'a>>) -> Ty<'a> {
        self.step(Ty::Unknown, || match ty {
            Type::Named(name, arguments) => self.named(name, arguments, scope),
            Type::List(of) => Ty::List(Rc::new(self.ty(of, scope))),
            Type::Object(fields) => Ty::Shape(fields, scope.clone()),
            Type::Function(callable) => Ty::Function(callable, scope.clone()),
            Type::Many(parts) => many(parts.iter().take(PARTS_MAX).map(|part| self.ty(part, scope))),
            Type::Field(of, name) if name == "[]" => self.item(&self.ty(of, scope)),
            Type::Field(of, name) => self.member(&self.ty(of, scope), name).ty(),
            Type::Of(value) => self.value(value, scope),
            Type::This => scope.this.clone().unwrap_or_else(|| self.own(scope.file, scope.from)),
            Type::Basic => Ty::Outside,
            Type::Unknown => Ty::Unknown,
        })
    }

    fn named(&self, name: &'a str, arguments: &'a [Type], scope: &Rc<Scope<'a>>) -> Ty<'a> {
        if let Some((_, known)) = scope.generics.iter().rev().find(|(generic, _)| *generic == name) {
            return known.clone();
        }
        if let Some(generic) = self.generic(name, scope) {
            // An unknown type parameter is at least the type that it extends.
            return generic.bound.as_ref().map_or(Ty::Unknown, |bound| self.ty(bound, scope));
        }
        let evaluated = || arguments.iter().map(|argument| self.ty(argument, scope)).collect::<Vec<_>>();
        match self.type_target(name, scope) {
            Some(Meaning::Symbol(Symbol { file, at })) => self.instance(file, at, evaluated()),
            Some(module) => Ty::Itself(module),
            None => builtin::named(name, &evaluated()),
        }
    }

    /// The definition that a dotted type name refers to.
    fn type_target(&self, name: &str, scope: &Scope<'a>) -> Option<Meaning> {
        let mut pieces = name.split('.');
        let mut target = self.project.in_scope(scope.file, scope.from, pieces.next()?)?;
        for piece in pieces {
            target = match self.project.as_type(target) {
                Meaning::File(file) => self.project.exported(file, piece)?,
                symbol => self.project.member_of(symbol, piece, false)?.0,
            };
        }
        Some(self.project.as_type(target))
    }

    /// A type parameter of the definitions around a place.
    fn generic(&self, name: &str, scope: &Scope<'a>) -> Option<&'a Generic> {
        self.project.around(scope.file, scope.from).flatten().find_map(|at| {
            let typing = self.typing(scope.file, at)?;
            let mut own = typing.generics.iter().chain(typing.call.iter().flat_map(|call| &call.generics));
            own.find(|generic| generic.name == name)
        })
    }

    /// The type that a declaration names; an alias is replaced by its target.
    fn instance(&self, file: usize, at: usize, arguments: Vec<Ty<'a>>) -> Ty<'a> {
        let definition = self.definition(file, at);
        let typing = definition.typing.as_deref();
        match definition.kind {
            Kind::Type => {
                let Some(ty) = typing.and_then(|t| t.ty.as_ref()) else { return Ty::Unknown };
                let scope = Rc::new(self.with_arguments(file, at, &arguments));
                self.ty(ty, &scope)
            }
            Kind::Class | Kind::Interface => Ty::Instance(file, at, arguments.into()),
            Kind::Enum => Ty::Outside,
            // A function used as a constructor, or a value that represents its type.
            _ => Ty::Unknown,
        }
    }

    /// The scope inside a type, with its type parameters set.
    fn with_arguments(&self, file: usize, at: usize, arguments: &[Ty<'a>]) -> Scope<'a> {
        let mut scope = self.inside(file, at);
        let generics = self.typing(file, at).map_or(&[][..], |t| &t.generics);
        self.set(&mut scope, generics, arguments);
        scope
    }

    /// Sets type parameters to the given types, else to their defaults, else to their bounds.
    fn set(&self, scope: &mut Scope<'a>, generics: &'a [Generic], given: &[Ty<'a>]) {
        for (at, generic) in generics.iter().enumerate() {
            let known = given.get(at).filter(|ty| !matches!(ty, Ty::Unknown)).cloned();
            let ty = known.or_else(|| {
                let spare = generic.default.as_ref().filter(|d| !matches!(d, Type::Basic | Type::Unknown));
                let spare = spare.or(generic.bound.as_ref())?;
                Some(self.ty(spare, &Rc::new(scope.clone())))
            });
            scope.generics.push((&generic.name, ty.unwrap_or(Ty::Unknown)));
        }
    }

    /// The base class that `super()` calls inside a definition.
    pub fn base_class(&self, file: usize, from: Option<usize>) -> Option<Meaning> {
        match self.bases(&self.own(file, from)) {
            Ty::Instance(file, at, _) => Some(self.project.as_value(Meaning::symbol(file, at))),
            Ty::Many(all) => all.iter().find_map(|base| match base {
                Ty::Instance(file, at, _) if self.definition(*file, *at).kind == Kind::Class => {
                    Some(Meaning::symbol(*file, *at))
                }
                _ => None,
            }),
            _ => None,
        }
    }

    /// The type of `super`.
    fn bases(&self, own: &Ty<'a>) -> Ty<'a> {
        let Ty::Instance(file, at, arguments) = own else { return Ty::Unknown };
        let scope = Rc::new(self.with_arguments(*file, *at, arguments));
        many(self.typing(*file, *at).into_iter().flat_map(|t| &t.bases).map(|base| self.ty(base, &scope)))
    }
}

pub(super) fn found(ty: Ty<'_>) -> Look<'_> {
    Look::Found(Member { target: None, ty })
}

/// The union of several types, without unknown and outside types.
pub(super) fn many<'a>(parts: impl Iterator<Item = Ty<'a>>) -> Ty<'a> {
    let mut all: Vec<Ty<'a>> = Vec::new();
    let mut unknown = false;
    for part in parts {
        match part {
            Ty::Unknown => unknown = true,
            Ty::Outside => {}
            Ty::Many(inner) => all.extend(inner.iter().cloned()),
            part => all.push(part),
        }
    }
    all.truncate(PARTS_MAX);
    match all.len() {
        0 if unknown => Ty::Unknown,
        0 => Ty::Outside,
        1 => all.remove(0),
        _ => Ty::Many(all.into()),
    }
}
