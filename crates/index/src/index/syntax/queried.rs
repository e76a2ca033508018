//! Reads files into outlines by one query per language (`queries/`), for all languages without a visitor of their own.
//!
//! A query names its results as tree-sitter's `tags.scm` does: `@definition.class`, `.function`, …
//! or `@reference.call`, `.use`, `.extends` is the whole node and `@name` its name. In addition,
//! there are
//!
//! - `@owner`: the type of a method that is written outside it, `int Box::size()`;
//! - `@receiver`: the value or type before the dot of a call;
//! - `@type`: the written type of a variable or field, or the class that its value is made of;
//! - `@outline.class`: a class that the grammar takes for something else; the outline has it, the parts of a file do not;
//! - `@declaration.function`: a function whose body is elsewhere; the parts of a file have it, its outline does not;
//! - `@local`: a parameter or local variable; a `@definition.variable` in a function is one too;
//! - `@import`, with `@source`, `@under` (the path before the braces), `@alias` and `@all` (`.*`).
//!
//! If several patterns find the same name, the first one counts.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::time::Instant;

use tree_sitter::{Language, Node, Query, QueryCursor, QueryCursorOptions, QueryCursorState, StreamingIterator, Tree};

use super::outline::{Kind, ReferenceKind};
use super::reader::Reader;
use super::types::{Type, Typing, Value};
use super::{DEPTH_MAX, Walked, content, walk};
use crate::base::is_listed;

/// Maximum number of matches open at once in one file; a query that needs more loses the oldest.
const OPEN_MATCHES_MAX: u32 = 4_096;

/// Maximum bytes of a name, type or path to keep: people write no longer ones, and each is stored
/// often.
pub(super) const NAME_BYTES_MAX: usize = 1_000;

/// A language with its grammar and its query.
pub(super) struct Queried {
    pub(super) name: &'static str,
    grammar: fn() -> Language,
    /// The query, in pieces: C++ also has C's patterns.
    query: &'static [&'static str],
    compiled: OnceLock<Option<Compiled>>,
}

struct Compiled {
    query: Query,
    /// The role of each capture, by its number.
    roles: Vec<Option<Role>>,
}

/// The role of a node in a match.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    Whole(What),
    Name,
    Owner,
    Receiver,
    Type,
    Source,
    Under,
    Alias,
    All,
}

/// Kinds of matches, recorded in this order at the same position.
#[derive(Clone, Copy, PartialEq)]
enum What {
    Definition(Kind),
    Declaration(Kind),
    Outline(Kind),
    Local,
    Import,
    Reference(ReferenceKind),
}

impl Queried {
    const fn new(name: &'static str, grammar: fn() -> Language, query: &'static [&'static str]) -> Queried {
        Queried { name, grammar, query, compiled: OnceLock::new() }
    }

    pub(super) fn grammar(&self) -> Language {
        (self.grammar)()
    }

    /// Compiled on first use, which takes 3 to 300 ms. `None` if the query does not fit the
    /// grammar, which a test rules out.
    fn compiled(&self) -> Option<&Compiled> {
        let compile = || {
            let query = Query::new(&self.grammar(), &self.query.concat());
            let query = query.inspect_err(|error| tracing::error!(language = self.name, %error, "query")).ok()?;
            let roles = query.capture_names().iter().map(|name| role(name)).collect();
            Some(Compiled { query, roles })
        };
        self.compiled.get_or_init(compile).as_ref()
    }
}

static LANGUAGES: [Queried; 11] = [
    Queried::new("c", || tree_sitter_c::LANGUAGE.into(), &[include_str!("queries/c.scm")]),
    Queried::new(
        "cpp",
        || tree_sitter_cpp::LANGUAGE.into(),
        &[include_str!("queries/cpp.scm"), include_str!("queries/c.scm")],
    ),
    Queried::new("csharp", || tree_sitter_c_sharp::LANGUAGE.into(), &[include_str!("queries/csharp.scm")]),
    Queried::new("java", || tree_sitter_java::LANGUAGE.into(), &[include_str!("queries/java.scm")]),
    Queried::new("kotlin", || tree_sitter_kotlin_ng::LANGUAGE.into(), &[include_str!("queries/kotlin.scm")]),
    Queried::new("lua", || tree_sitter_lua::LANGUAGE.into(), &[include_str!("queries/lua.scm")]),
    Queried::new("php", || tree_sitter_php::LANGUAGE_PHP.into(), &[include_str!("queries/php.scm")]),
    Queried::new("ruby", || tree_sitter_ruby::LANGUAGE.into(), &[include_str!("queries/ruby.scm")]),
    Queried::new("scala", || tree_sitter_scala::LANGUAGE.into(), &[include_str!("queries/scala.scm")]),
    Queried::new("shell", || tree_sitter_bash::LANGUAGE.into(), &[include_str!("queries/shell.scm")]),
    Queried::new("swift", || tree_sitter_swift::LANGUAGE.into(), &[include_str!("queries/swift.scm")]),
];

/// The only document language (see `documents`) that a query describes.
pub(super) static HTML: Queried =
    Queried::new("html", || tree_sitter_html::LANGUAGE.into(), &[include_str!("queries/html.scm")]);

/// The language with that name, if a query describes it.
pub(super) fn of(language: &str) -> Option<&'static Queried> {
    LANGUAGES.iter().find(|known| known.name == language)
}

fn role(capture: &str) -> Option<Role> {
    let what = match capture {
        "name" => return Some(Role::Name),
        "owner" => return Some(Role::Owner),
        "receiver" => return Some(Role::Receiver),
        "type" => return Some(Role::Type),
        "source" => return Some(Role::Source),
        "under" => return Some(Role::Under),
        "alias" => return Some(Role::Alias),
        "all" => return Some(Role::All),
        "local" => What::Local,
        "import" => What::Import,
        "reference.call" => What::Reference(ReferenceKind::Call),
        "reference.use" => What::Reference(ReferenceKind::Use),
        "reference.extends" => What::Reference(ReferenceKind::Extends),
        // Other captures serve the query's predicates.
        _ => match capture.split_once('.')? {
            ("definition", kind) => What::Definition(Kind::named(kind)?),
            ("declaration", kind) => What::Declaration(Kind::named(kind)?),
            ("outline", kind) => What::Outline(Kind::named(kind)?),
            _ => return None,
        },
    };
    Some(Role::Whole(what))
}

/// One match of the query.
struct Found<'t> {
    what: What,
    whole: Node<'t>,
    pattern: usize,
    others: Vec<(Role, Node<'t>)>,
}

impl<'t> Found<'t> {
    fn node(&self, role: Role) -> Option<Node<'t>> {
        self.others.iter().find(|(known, _)| *known == role).map(|(_, node)| *node)
    }

    fn text(&self, role: Role, source: &'t str) -> Option<&'t str> {
        let node = self.node(role).filter(|node| role == Role::Source || node.byte_range().len() <= NAME_BYTES_MAX);
        node.map(|node| content(node, source))
    }

    /// The node that only one match may refer to: its name or, for an import, its source.
    fn named(&self) -> Node<'t> {
        self.node(if self.what == What::Import { Role::Source } else { Role::Name }).unwrap_or(self.whole)
    }

    /// Source order, outer before inner, definitions first.
    fn order(&self) -> (usize, Reverse<usize>, u8, usize) {
        let rank = match self.what {
            What::Definition(_) | What::Declaration(_) | What::Outline(_) => 0,
            What::Local => 1,
            What::Import => 2,
            What::Reference(ReferenceKind::Extends) => 3,
            What::Reference(ReferenceKind::Call) => 4,
            What::Reference(ReferenceKind::Use) => 5,
        };
        (self.whole.start_byte(), Reverse(self.whole.end_byte()), rank, self.pattern)
    }
}

/// The matches in a tree, each name once, in the order in which they are recorded, and whether time
/// ran out.
fn matches<'t>(
    compiled: &Compiled,
    (tree, source): (&'t Tree, &'t str),
    until: Instant,
    with_declarations: bool,
) -> (Vec<Found<'t>>, bool) {
    let mut cursor = QueryCursor::new();
    cursor.set_match_limit(OPEN_MATCHES_MAX);
    cursor.set_max_start_depth(Some(DEPTH_MAX as u32));
    let mut is_late = false;
    let mut on_progress = |_: &QueryCursorState| {
        is_late = Instant::now() >= until;
        if is_late { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = QueryCursorOptions::new().progress_callback(&mut on_progress);
    let mut all = cursor.matches_with_options(&compiled.query, tree.root_node(), source.as_bytes(), options);
    let mut found = Vec::new();
    while let Some(one) = all.next() {
        let roles = one.captures().iter().filter_map(|c| Some((compiled.roles[c.index as usize]?, c.node)));
        let (whole, others): (Vec<_>, Vec<_>) = roles.partition(|(role, _)| matches!(role, Role::Whole(_)));
        if let Some((Role::Whole(what), node)) = whole.first()
            && (with_declarations || !matches!(what, What::Declaration(_)))
        {
            found.push(Found { what: *what, whole: *node, pattern: one.pattern_index, others });
        }
    }
    drop(all);
    // A declared or called name does not count as a use; if two patterns find it, the first counts.
    let is_use = |found: &Found| found.what == What::Reference(ReferenceKind::Use);
    found.sort_by_key(|found| (is_use(found), found.pattern));
    let mut seen = HashSet::new();
    let is_short = |found: &Found| found.what == What::Import || found.named().byte_range().len() <= NAME_BYTES_MAX;
    found.retain(|found| is_short(found) && seen.insert((found.named().id(), found.what == What::Import)));
    found.sort_by_key(Found::order);
    (found, is_late)
}

/// Records everything that the query finds in `tree`.
pub(super) fn read<'t>(language: &Queried, tree: &'t Tree, reader: &mut Reader<'t>, until: Instant) -> Walked {
    let Some(compiled) = language.compiled() else { return Walked::All };
    reader.keeps_uses = true;
    // The query does not reveal the depth of the tree.
    let walked = walk(|_, _| {}, tree, reader, until);
    let source = reader.source;
    let (all, mut is_late) = matches(compiled, (tree, source), until, false);
    let mut last = None;
    for found in all {
        // Some steps below search all siblings of a node.
        is_late |= Instant::now() >= until;
        if is_late {
            break;
        }
        reader.enter(found.whole.start_byte(), None);
        match found.what {
            What::Definition(kind) | What::Outline(kind) => {
                if last == Some(found.whole.id()) {
                    // `int a, b;`: siblings, not nested.
                    reader.leave_before(found.whole.end_byte());
                }
                last = Some(found.whole.id());
                define(language.name, &found, kind, reader);
            }
            What::Declaration(_) => {}
            What::Local => local(&found, reader),
            What::Import => import(language.name, &found, reader),
            What::Reference(kind) => {
                let name = found.named();
                let receiver = found.text(Role::Receiver, source).map(receiver);
                let name_text = content(name, source);
                let name_text = if language.name == "ruby" { name_text } else { last_name(name_text) };
                reader.refer(name, name_text, receiver, kind);
            }
        }
    }
    if is_late { Walked::TooLong } else { walked }
}

fn define<'t>(language: &str, found: &Found<'t>, kind: Kind, reader: &mut Reader<'t>) {
    let source = reader.source;
    let is_value = matches!(kind, Kind::Variable | Kind::Constant);
    if is_value && reader.in_function() {
        return local(found, reader);
    }
    let owner = found.text(Role::Owner, source).map(last_name);
    let is_member = owner.is_some() || reader.kind_inside().is_some_and(has_methods);
    let kind = if kind == Kind::Function && is_member { Kind::Method } else { kind };
    let named = found.named();
    let name = match kind {
        Kind::Section => Cow::Owned(untagged(content(named, source))),
        Kind::Element => Cow::Borrowed(content(named, source)),
        _ => Cow::Borrowed(name(language, found, kind, source)),
    };
    let head = source.get(found.whole.start_byte()..named.start_byte()).unwrap_or_default();
    let is_hidden = |word: &str| {
        is_listed("private fileprivate local", word)
            || word == "static" && is_listed("c cpp", language) && reader.inside().is_none()
    };
    let exported = !head.split(|c: char| !c.is_alphanumeric()).any(is_hidden);
    // The comment of a template is above its parameters.
    let template = found.whole.parent().filter(|outer| outer.kind() == "template_declaration");
    if !reader.define(template.unwrap_or(found.whole), found.whole, &name, kind, exported) {
        return;
    }
    if let Some(owner) = owner {
        reader.member_of(owner);
    }
    if let Some(ty) = written_type(found, source) {
        reader.typed(Typing { ty: Some(ty), ..Typing::default() });
    }
    if matches!(kind, Kind::Function | Kind::Method) {
        reader.function(found.whole);
    }
}

fn name<'t>(language: &str, found: &Found<'t>, kind: Kind, source: &'t str) -> &'t str {
    let name = content(found.named(), source).trim_start_matches(':');
    // Ruby names may end in `?`, `=` and the like.
    if kind == Kind::Module || language == "ruby" { name } else { last_name(name) }
}

/// The text of a heading without tags.
fn untagged(text: &str) -> String {
    let plain: String = text.split('<').map(|piece| piece.split_once('>').map_or(piece, |(_, text)| text)).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A definition or import, for the parts of a file.
pub(super) struct Described<'t> {
    pub whole: Node<'t>,
    pub named: Node<'t>,
    pub name: &'t str,
    pub owner: Option<&'t str>,
    /// `None` for an import.
    pub kind: Option<Kind>,
}

/// The definitions, declarations and imports of `tree`, outer before inner; `None` if time ran out.
pub(super) fn described<'t>(
    language: &Queried,
    (tree, source): (&'t Tree, &'t str),
    until: Instant,
) -> Option<Vec<Described<'t>>> {
    let (all, is_late) = matches(language.compiled()?, (tree, source), until, true);
    let one = |found: Found<'t>| {
        let kind = match found.what {
            What::Definition(kind) | What::Declaration(kind) => Some(kind),
            What::Import => None,
            What::Local | What::Outline(_) | What::Reference(_) => return None,
        };
        let owner = found.text(Role::Owner, source).map(last_name).filter(|owner| !owner.is_empty());
        let name = kind.map_or("", |kind| name(language.name, &found, kind, source));
        Some(Described { whole: found.whole, named: found.named(), name, owner, kind })
    };
    (!is_late).then(|| all.into_iter().filter_map(one).collect())
}

/// Whether functions in a definition of that kind are methods.
fn has_methods(kind: Kind) -> bool {
    matches!(kind, Kind::Class | Kind::Struct | Kind::Interface | Kind::Trait | Kind::Impl | Kind::Enum)
}

fn local<'t>(found: &Found<'t>, reader: &mut Reader<'t>) {
    let name = content(found.named(), reader.source);
    reader.local(name);
    if let Some(ty) = written_type(found, reader.source) {
        reader.bind(name, Value::Is(ty), (found.whole.start_position().row + 1, usize::MAX));
    }
}

fn written_type(found: &Found, source: &str) -> Option<Type> {
    let name = last_name(found.text(Role::Type, source)?);
    (!name.is_empty()).then(|| Type::Named(name.to_owned(), Vec::new()))
}

/// The last name of a path, without type arguments, pointers and marks: `Map` in
/// `const std::Map<int>&`.
pub(super) fn last_name(path: &str) -> &str {
    if path.starts_with("operator") || path.starts_with('~') {
        return path;
    }
    // A quoted name in Kotlin, Scala or Swift: `` `the lid is on` ``.
    if let Some(quoted) = path.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')) {
        return quoted;
    }
    let plain = path.split('<').next().unwrap_or_default();
    let plain = plain.trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
    let end = plain.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + 1);
    // `end` may lie inside a multi-byte character.
    plain.get(end..).unwrap_or(plain)
}

/// A receiver in which all languages' words for the object itself and its base class are unified.
fn receiver(text: &str) -> &str {
    match text.trim_start_matches(['$', '&', '*']) {
        "parent" | "base" => "super",
        "static" => "self",
        plain => plain,
    }
}

/// `import a.b.C`, `import a.b.{C, D => E}`, `#include "c.h"`, `require 'c'`.
fn import<'t>(language: &str, found: &Found<'t>, reader: &mut Reader<'t>) {
    let source = reader.source;
    let text = found.text(Role::Source, source).unwrap_or_default();
    let text = text.trim_start_matches("import ").trim().trim_matches(['"', '\'', '<', '>']);
    let binds = is_listed("java kotlin scala php", language) && !text.contains('/');
    let alias = found.text(Role::Alias, source);
    if found.node(Role::All).is_some() || text.ends_with("._") || text.ends_with(".*") {
        return reader.import(found.whole, text.trim_end_matches(['_', '*', '.']), "*", "*");
    }
    if let Some((path, list)) = text.split_once('{') {
        if path.len() > NAME_BYTES_MAX {
            return;
        }
        for selected in list.trim_end_matches('}').split(',') {
            let (name, local) =
                selected.split_once("=>").or(selected.split_once(" as ")).unwrap_or((selected, selected));
            reader.import(found.whole, &format!("{path}{}", name.trim()), name.trim(), local.trim());
        }
        return;
    }
    let path = match found.text(Role::Under, source) {
        Some(under) => format!("{under}\\{text}"),
        None => text.to_owned(),
    };
    match alias {
        Some(alias) if !binds => reader.import(found.whole, &path, "*", alias),
        _ if binds => reader.import(found.whole, &path, last_name(text), alias.unwrap_or(last_name(text))),
        _ => reader.import(found.whole, &path, "", ""),
    }
}

#[cfg(test)]
mod tests;
