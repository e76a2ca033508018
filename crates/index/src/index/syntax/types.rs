//! Types and values as written in a source file, to the extent that member lookup needs them.

use serde::{Deserialize, Serialize};

/// A type as written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Type {
    /// `a.B<C>`.
    Named(String, Vec<Type>),
    /// `T[]`; tuples are lists of any of their parts.
    List(Box<Type>),
    Object(Vec<Field>),
    Function(Box<Callable>),
    /// A union or an intersection: members are looked up in each part.
    Many(Vec<Type>),
    /// `T["x"]`.
    Field(Box<Type>, String),
    /// `typeof x`, or the type of a value without a declared type.
    Of(Box<Value>),
    This,
    /// `string`, `5` and so on: its members are not in the project.
    Basic,
    Unknown,
}

/// A property or method of an object type. `new` is the constructor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Field {
    pub name: String,
    pub ty: Type,
    pub line: Line,
}

/// A line, counted from 1. `Debug` prints it without the number: `resolve::interface` hashes
/// printed types to see whether a change affects other files, and a change of line numbers alone
/// does not.
#[derive(Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Line(pub usize);

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("_")
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Callable {
    pub generics: Vec<Generic>,
    pub params: Vec<Option<Type>>,
    pub returns: Option<Type>,
}

/// `T extends Bound = Default`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Generic {
    pub name: String,
    pub bound: Option<Type>,
    pub default: Option<Type>,
}

/// An expression, to the extent that its type can be inferred.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Value {
    Name(String),
    This,
    Super,
    Member(Box<Value>, String),
    /// Callee, arguments and type arguments.
    Call(Box<Value>, Vec<Value>, Vec<Type>),
    New(Box<Value>, Vec<Value>, Vec<Type>),
    /// An item of a list: `x[0]`, `for (… of x)`.
    Item(Box<Value>),
    Awaited(Box<Value>),
    /// A value whose type is declared (`x as T`) or evident (`"text"`).
    Is(Type),
    Object(Vec<(String, Value)>),
    /// `[a, b]`: its first elements.
    List(Vec<Value>),
    /// `a ?? b`, `c ? a : b`.
    Either(Vec<Value>),
    Function(Box<Callable>),
    /// The type of one argument of a call: (the call, number of the argument, expected type of the
    /// call's result).
    Argument(Box<Value>, usize, Option<Type>),
    /// A parameter of a function: (the function, number of the parameter).
    Parameter(Box<Value>, usize),
    Unknown,
}

/// The field name for `...x` in an object literal.
pub const SPREAD: &str = "...";

/// Facts about a definition's type.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Typing {
    pub generics: Vec<Generic>,
    pub bases: Vec<Type>,
    /// For an interface or class its fields, for an alias its target, for a variable its type.
    pub ty: Option<Type>,
    /// For a function or method.
    pub call: Option<Callable>,
    /// For a variable, its initial value.
    pub value: Option<Value>,
}

/// A local name and its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Binding {
    /// Position in `Outline::definitions` of the innermost definition around it.
    pub inside: Option<usize>,
    pub name: String,
    pub value: Value,
    /// First and last line on which it is visible, counted from 1.
    pub start: usize,
    pub end: usize,
}
