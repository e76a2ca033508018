//! The outline of a file: its definitions, imports, exports and references.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::types::{Binding, Typing, Value};

/// The declarations in one file and its references to others. Stored with postcard, which has no
/// field names: raise `VERSION` of the store when fields change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outline {
    /// In source order; a container comes before what it contains.
    pub definitions: Vec<Definition>,
    pub imports: Vec<Import>,
    pub exports: Vec<Export>,
    /// Each (from, name, receiver, kind) once, at its first line.
    pub references: Vec<Reference>,
    /// Parameters and local variables, by the definition around them; within it they hide imports
    /// and outer definitions.
    pub locals: Vec<(usize, String)>,
    /// Local names with their values and lines, in languages whose types are inferred.
    pub bindings: Vec<Binding>,
    /// Why part of the file is missing from the outline.
    pub incomplete: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Module,
    Function,
    Method,
    Class,
    Struct,
    Interface,
    Trait,
    Impl,
    Type,
    Enum,
    Variable,
    Constant,
    Macro,
    /// A heading with everything below it.
    Section,
    /// An HTML element.
    Element,
    /// A CSS rule.
    Rule,
    /// A YAML key.
    Key,
    Table,
    View,
    /// Another database object: an index, a trigger, a sequence, …
    Object,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Module => "module",
            Kind::Function => "function",
            Kind::Method => "method",
            Kind::Class => "class",
            Kind::Struct => "struct",
            Kind::Interface => "interface",
            Kind::Trait => "trait",
            Kind::Impl => "impl",
            Kind::Type => "type",
            Kind::Enum => "enum",
            Kind::Variable => "variable",
            Kind::Constant => "constant",
            Kind::Macro => "macro",
            Kind::Section => "section",
            Kind::Element => "element",
            Kind::Rule => "rule",
            Kind::Key => "key",
            Kind::Table => "table",
            Kind::View => "view",
            Kind::Object => "object",
        }
    }

    pub fn named(name: &str) -> Option<Kind> {
        use Kind::*;
        let all = [
            Module, Function, Method, Class, Struct, Interface, Trait, Impl, Type, Enum, Variable, Constant, Macro,
            Section, Element, Rule, Key, Table, View, Object,
        ];
        all.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether members are looked up in it by `receiver.name` or `Receiver::name`.
    pub fn has_members(self) -> bool {
        !matches!(self, Kind::Function | Kind::Method | Kind::Macro)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    pub name: String,
    pub kind: Kind,
    /// First and last line, counted from 1, without the doc comment.
    pub start: usize,
    pub end: usize,
    /// First line of the doc comment or attributes above it; `start` if there are none.
    pub doc_start: usize,
    /// Its bytes, without the doc comment. Not stored.
    #[serde(skip)]
    pub bytes: Range<usize>,
    /// Text up to the body, on one line. Not stored here, because the store keeps it with the
    /// symbol.
    #[serde(skip)]
    pub signature: String,
    /// The comment above it, without comment markers. Not stored here either.
    #[serde(skip)]
    pub doc: String,
    pub exported: bool,
    /// Position in `definitions` of the definition around it.
    pub container: Option<usize>,
    pub typing: Option<Box<Typing>>,
    /// The type it is a member of, if a receiver names that type instead of nesting (Go).
    pub member_of: Option<String>,
}

/// One imported name: `import {name as local} from 'source'`, `use source::name as local`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Import {
    pub source: String,
    /// Name in the other module; `default`; `*` for everything; empty for an import for side
    /// effects only.
    pub name: String,
    /// Name in this file; empty if it binds none.
    pub local: String,
    pub line: usize,
}

/// One exported name: `export {local as name} from 'source'`, `pub use source::local as name`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Export {
    /// Name for importers; `default`; `*` for everything `source` exports.
    pub name: String,
    /// Name in this file or, with a source, in the source; `*` for the whole source as one
    /// namespace.
    pub local: String,
    pub source: Option<String>,
    pub line: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReferenceKind {
    Call,
    Use,
    Extends,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reference {
    pub name: String,
    /// The text before the dot or `::`, as written; `None` for a bare name.
    pub receiver: Option<String>,
    pub kind: ReferenceKind,
    pub line: usize,
    /// Position in `definitions` of the innermost definition around it; `None` at the top of the file.
    pub from: Option<usize>,
    /// Whether it is outside all functions, so that it runs when the file is loaded.
    pub at_load: bool,
    /// The receiver as a value, in languages whose types are inferred.
    pub value: Option<Box<Value>>,
}
