//! Reads import statements, and writes them without some of their names or for a single name.

use std::ops::Range;

use super::{MoveError, stuck, whole_lines};
use crate::base::pattern::static_regex;
use crate::index::parts::{Imported, Part, Sort, parts};
use crate::index::{ImportForm, import_sites, language_of};
use crate::text::{Piece, Source, line_start};

/// One import statement.
pub struct Statement {
    pub bytes: Range<usize>,
    pub names: Vec<Imported>,
    /// The name of the module, if the statement contains it exactly once.
    pub source: Option<Range<usize>>,
    /// Whether it begins a line and has no attributes.
    pub is_plain: bool,
    variant: String,
}

/// The import statements of a file; those inside functions are included if the language lists them.
pub fn all(path: &str, text: &str) -> Vec<Statement> {
    let sites = import_sites(language_of(path), text).unwrap_or_default();
    let is_plain = |at: usize| line_start(text, at) == at;
    let mut found: Vec<Statement> = Vec::new();
    if language_of(path) == "python" {
        for site in sites {
            match found.iter_mut().find(|one| one.bytes == site.statement) {
                Some(one) => one.names.extend(whole_module(site.names, site.form)),
                None => found.push(Statement {
                    is_plain: is_plain(site.statement.start),
                    bytes: site.statement,
                    names: whole_module(site.names, site.form),
                    source: (site.form == ImportForm::From).then_some(site.source_bytes),
                    variant: String::new(),
                }),
            }
        }
        return found;
    }
    let mut note = |part: &Part| {
        if part.sort == Sort::Import {
            let source = sites.iter().find(|site| part.core.contains(&site.source_bytes.start));
            found.push(Statement {
                bytes: part.core.clone(),
                names: part.imports.clone(),
                source: source.map(|site| site.source_bytes.clone()),
                is_plain: is_plain(part.core.start) && part.attributes.is_empty(),
                variant: part.variant.clone(),
            });
        }
    };
    for item in parts(path, text).map(|found| found.items).unwrap_or_default() {
        note(&item);
        item.walk(&mut Vec::new(), &mut |part, _| note(part));
    }
    found
}

/// A Rust path with the braces around a single name removed.
fn without_braces(statement: &str) -> String {
    static_regex!(ITSELF = r"::\{\s*self\s*,?\s*\}");
    static_regex!(ALONE = r"\{\s*([\w:]+(?: as \w+)?)\s*,?\s*\}");
    ALONE.replace_all(&ITSELF.replace_all(statement, ""), "$1").into_owned()
}

/// The names of an import. For `import a.b`, which imports the module itself, the name is left
/// empty.
fn whole_module(names: Vec<Imported>, form: ImportForm) -> Vec<Imported> {
    let plain = |one: Imported| Imported { name: String::new(), ..one };
    if form == ImportForm::Module { names.into_iter().map(plain).collect() } else { names }
}

impl Statement {
    /// The index of the name that contains the byte `at`.
    pub fn name_at(&self, at: usize) -> Option<usize> {
        self.names.iter().position(|one| one.bytes.contains(&at))
    }

    /// The edits that remove some names, or the whole statement if no names are left.
    pub fn without(&self, path: &str, text: &str, gone: &[usize]) -> Result<Vec<Piece>, MoveError> {
        let empty = |range| Piece { range, new: String::new() };
        if gone.len() >= self.names.len() {
            return Ok(vec![empty(whole_lines(text, &self.bytes))]);
        }
        if language_of(path) == "go" {
            return Ok(gone.iter().map(|at| empty(whole_lines(text, &self.names[*at].bytes))).collect());
        }
        let mut edits = Vec::new();
        for group in self.groups(text) {
            let is_gone = |at: &usize| gone.contains(at);
            let Some(first) = group.clone().find(is_gone) else { continue };
            match group.clone().rfind(|at| !is_gone(at)) {
                Some(kept) => {
                    for at in group.clone().filter(|at| is_gone(at) && *at < kept) {
                        edits.push(empty(self.names[at].bytes.start..self.names[at + 1].bytes.start));
                    }
                    if kept + 1 < group.end {
                        edits.push(empty(self.names[kept].bytes.end..self.names[group.end - 1].bytes.end));
                    }
                }
                None => edits.push(empty(self.whole_group(path, text, &group, first)?)),
            }
        }
        if language_of(path) != "rust" {
            return Ok(edits);
        }
        let shifted = edits.into_iter().map(|edit| {
            let bytes = edit.range.start - self.bytes.start..edit.range.end - self.bytes.start;
            Piece { range: bytes, ..edit }
        });
        let (left, _) = Source::new(&text[self.bytes.clone()]).apply(&shifted.collect::<Vec<_>>());
        Ok(vec![Piece { range: self.bytes.clone(), new: without_braces(&left) }])
    }

    /// Runs of names separated only by commas.
    fn groups(&self, text: &str) -> Vec<Range<usize>> {
        let mut groups: Vec<Range<usize>> = Vec::new();
        for at in 0..self.names.len() {
            let joined = at > 0
                && text.get(self.names[at - 1].bytes.end..self.names[at].bytes.start).is_some_and(|b| b.trim() == ",");
            match groups.last_mut().filter(|_| joined) {
                Some(group) => group.end = at + 1,
                None => groups.push(at..at + 1),
            }
        }
        groups
    }

    /// The bytes of `D,` or `, { a, b }` in `import D, { a, b } from 'x'`.
    fn whole_group(
        &self,
        path: &str,
        text: &str,
        group: &Range<usize>,
        first: usize,
    ) -> Result<Range<usize>, MoveError> {
        let own = self.names[group.start].bytes.start..self.names[group.end - 1].bytes.end;
        let is_script = matches!(language_of(path), "typescript" | "tsx" | "javascript" | "jsx");
        let before = group.start.checked_sub(1).map(|at| self.names[at].bytes.end);
        let brace = |from: usize, mark: char| text[from..self.bytes.end].find(mark).map(|at| from + at);
        let found = match before {
            Some(before) => brace(own.end, '}').map(|close| before..close + 1),
            None => brace(own.end, '{').map(|open| own.start..open),
        };
        found.filter(|_| is_script).ok_or_else(|| stuck(path, text, self.names[first].bytes.start))
    }

    /// A statement that imports only the name at index `at` from the module `source`.
    pub fn line(&self, path: &str, text: &str, at: usize, source: &str) -> String {
        let (one, core) = (&self.names[at], &text[self.bytes.clone()]);
        let spec = &text[one.bytes.clone()];
        match language_of(path) {
            "python" if one.name.is_empty() => format!("import {spec}"),
            "python" => format!("from {source} import {spec}"),
            "go" => format!("import {spec}"),
            "rust" => {
                let visible = core.split("use ").next().unwrap_or_default();
                let name = if source.is_empty() { one.name.clone() } else { format!("{source}::{}", one.name) };
                let is_alias = !one.local.is_empty() && one.local != one.name;
                let alias = if is_alias { format!(" as {}", one.local) } else { String::new() };
                format!("{visible}use {name}{alias};")
            }
            _ => {
                let quote = if core.contains('"') { '"' } else { '\'' };
                let end = if core.ends_with(';') { ";" } else { "" };
                let named = if one.open { format!("{{ {spec} }}") } else { spec.to_owned() };
                match self.variant.as_str() {
                    "require" => format!("const {named} = require({quote}{source}{quote}){end}"),
                    "type" => format!("import type {named} from {quote}{source}{quote}{end}"),
                    _ => format!("import {named} from {quote}{source}{quote}{end}"),
                }
            }
        }
    }
}
