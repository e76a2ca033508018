//! Types and values as a file writes them, as far as members are looked up in them.

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
    /// A union or an intersection: members are looked for in each part.
    Many(Vec<Type>),
    /// `T["x"]`.
    Field(Box<Type>, String),
    /// `typeof x`, or the type of a value where none is written.
    Of(Box<Value>),
    This,
    /// `string`, `5`, …: nothing in the project.
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

/// A line, counted from 1. It says nothing when it is printed, since prints of types tell whether other files are affected by a change,
/// and a change of lines alone affects none.
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

/// An expression, as far as its type may be told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Value {
    Name(String),
    This,
    Super,
    Member(Box<Value>, String),
    /// What is called, with what, and the types it is called with.
    Call(Box<Value>, Vec<Value>, Vec<Type>),
    New(Box<Value>, Vec<Value>, Vec<Type>),
    /// One of many: `x[0]`, `for (… of x)`.
    Item(Box<Value>),
    Awaited(Box<Value>),
    /// Something of a type that is written or plain.
    Is(Type),
    Object(Vec<(String, Value)>),
    /// `[a, b]`, told by its first parts.
    List(Vec<Value>),
    /// `a ?? b`, `c ? a : b`.
    Either(Vec<Value>),
    Function(Box<Callable>),
    /// What a function takes as its argument of that number: `(of what is called, number, what the call should give)`.
    Argument(Box<Value>, usize, Option<Type>),
    /// The parameter of that number of a function.
    Parameter(Box<Value>, usize),
    Unknown,
}

/// The name of a part of an object that is another object: `{ ...x }`.
pub const SPREAD: &str = "...";

/// What is known of a definition's type.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Typing {
    pub generics: Vec<Generic>,
    pub bases: Vec<Type>,
    /// Of an interface its fields, of an alias what it stands for, of a variable its type.
    pub ty: Option<Type>,
    /// Of a function or method.
    pub call: Option<Callable>,
    /// Of a variable, the value it begins with.
    pub value: Option<Value>,
}

/// A local name and what it holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Binding {
    /// Position in `Outline::definitions` of the innermost definition around it.
    pub inside: Option<usize>,
    pub name: String,
    pub value: Value,
    /// Lines on which it holds, counted from 1.
    pub start: usize,
    pub end: usize,
}
