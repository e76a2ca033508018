//! Adds the imports that the written code needs and the file lacks.

use super::insert::Anchor;
use super::{Job, Scope};
use crate::index::is_queried;
use crate::index::parts::{Imported, Part, Sort};
use crate::text::{Piece, indent_at};

/// Beginnings of statements that precede the imports of a file.
const HEADS: &[&str] = &["package ", "#!["];
/// The same in languages that a query describes.
const QUERIED_HEADS: &[&str] = &["package ", "<?php", "namespace ", "declare(", "#pragma once", "@file"];

impl<'a> Job<'a> {
    /// Adds those imports above the written code that the code uses; all of them if only imports
    /// were written.
    pub fn imports(&mut self, news: &[Part]) {
        let heads = if is_queried(self.language) { QUERIED_HEADS } else { HEADS };
        let is_head = |new: &Part| heads.iter().any(|head| self.new[new.core.clone()].starts_with(head));
        let only_imports = news.iter().all(|new| new.sort == Sort::Import || is_head(new));
        let code: Vec<&str> =
            news.iter().filter(|new| new.sort != Sort::Import).map(|new| &self.new[new.whole()]).collect();
        let code = code.join("\n");
        self.import_all(None, self.old_items, news, (!only_imports).then_some(code.as_str()));
    }

    /// Adds the imports of `news` to `scope`; if `code` is given, only those that it uses. Names
    /// that join an existing statement are added first, since new statements follow it.
    pub fn import_all(&mut self, scope: Scope<'a>, olds: &'a [Part], news: &[Part], code: Option<&str>) {
        for joins in [true, false] {
            for new in news.iter().filter(|new| new.sort == Sort::Import) {
                self.import(scope, olds, new, code, joins);
            }
        }
    }

    /// Adds the missing names of one import. If `joins`, only those that can join an existing
    /// statement; otherwise only those that need a new one.
    fn import(&mut self, scope: Scope<'a>, olds: &'a [Part], new: &Part, code: Option<&str>, joins: bool) {
        let missing: Vec<&Imported> = new
            .imports
            .iter()
            .filter(|one| !self.has_import(olds, one) && code.is_none_or(|code| self.is_used(one, code)))
            .collect();
        if missing.is_empty() {
            return;
        }
        let beside = olds.iter().filter(|old| old.sort == Sort::Import && old.variant == new.variant);
        let mut beside = beside.filter(|old| {
            old.imports.iter().any(|one| one.open && (self.language == "go" || one.source == missing[0].source))
        });
        let beside = beside.next_back().filter(|_| missing.iter().all(|one| one.open) || self.language == "go");
        if beside.is_some() != joins {
            return;
        }
        match beside {
            Some(old) => missing.iter().for_each(|one| self.join_import(old, one)),
            None => {
                let all = missing.len() == new.imports.len() && !(self.language == "go" && new.body.is_some());
                let lines: Vec<String> = if all {
                    vec![self.piece(new.core.clone(), "")]
                } else {
                    missing.iter().map(|one| self.statement_of(new, one)).collect()
                };
                lines.into_iter().for_each(|line| self.new_import(scope, olds, line));
            }
        }
    }

    /// Whether the file already imports this name, or binds the local name to something else.
    fn has_import(&self, olds: &[Part], one: &Imported) -> bool {
        let same = |other: &Imported| {
            (other.source == one.source && other.name == one.name && other.local == one.local)
                || (!one.local.is_empty() && other.local == one.local)
        };
        let defined = olds.iter().any(|old| {
            old.is_definition() && old.name == one.local && old.owner.is_none() && !old.variant.starts_with("impl")
        });
        let imported = |parts: &[Part]| parts.iter().any(|part| part.imports.iter().any(same));
        // `use super::*` and other star imports may belong to a module inside the file.
        let nested = one.source.starts_with("super") || one.name == "*" || is_queried(self.language);
        defined || imported(olds) || (nested && !self.places(|part| part.imports.iter().any(same)).is_empty())
    }

    /// Whether `code` may use an import. In Rust this is not checked: always true.
    fn is_used(&self, one: &Imported, code: &str) -> bool {
        let name = one.local.split('.').next().unwrap_or_default();
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        self.language == "rust"
            || name.is_empty()
            || one.source == "__future__"
            || code
                .match_indices(name)
                .any(|(at, _)| !code[..at].ends_with(is_part) && !code[at + name.len()..].starts_with(is_part))
    }

    /// Adds a name to an import statement for the same source.
    fn join_import(&mut self, old: &Part, one: &Imported) {
        let text = self.new[one.bytes.clone()].to_owned();
        let is_own = |path: &str| path.split('/').next().is_some_and(|first| first.contains('.'));
        let open = || old.imports.iter().filter(|other| other.open);
        let alike = open().rfind(|other| self.language != "go" || is_own(&other.source) == is_own(&one.source));
        let Some(last) = alike.or_else(|| open().next_back()) else { return };
        let own_line = indent_at(self.old, last.bytes.start);
        let many_lines = self.old[old.core.clone()].contains('\n');
        let new = match (self.language, many_lines) {
            ("go", _) => format!("\n{own_line}{text}"),
            (_, true) => format!(",\n{own_line}{text}"),
            (_, false) => format!(", {text}"),
        };
        self.edits.push(Piece { range: last.bytes.end..last.bytes.end, new });
    }

    /// A statement that imports one name of `new`, in the style of `new`.
    fn statement_of(&self, new: &Part, one: &Imported) -> String {
        let (text, source) = (&self.new[one.bytes.clone()], &one.source);
        let core = &self.new[new.core.clone()];
        let quote = if core.contains('"') { '"' } else { '\'' };
        let end = if core.ends_with(';') { ";" } else { "" };
        let named = if one.open { format!("{{ {text} }}") } else { text.to_owned() };
        match (self.language, new.variant.as_str()) {
            ("python", _) if one.name.is_empty() => format!("import {text}"),
            ("python", _) => format!("from {source} import {text}"),
            ("go", _) => format!("import {text}"),
            ("rust", _) => {
                let path = if source.is_empty() { one.name.clone() } else { format!("{source}::{}", one.name) };
                let has_alias = !one.local.is_empty() && one.local != one.name;
                let alias = if has_alias { format!(" as {}", one.local) } else { String::new() };
                format!("use {path}{alias};")
            }
            (_, "require") => format!("const {named} = require({quote}{source}{quote}){end}"),
            (_, "type") => format!("import type {named} from {quote}{source}{quote}{end}"),
            _ => format!("import {named} from {quote}{source}{quote}{end}"),
        }
    }

    /// Adds an import statement after the last import of `scope`, or at its top.
    fn new_import(&mut self, scope: Scope<'a>, olds: &'a [Part], line: String) {
        let is_code = |old: &Part| old.is_definition() && (old.sort != Sort::Value || !is_queried(self.language));
        let first_code = olds.iter().position(is_code).unwrap_or(olds.len());
        let last_import = |olds: &'a [Part]| olds.iter().rev().find(|old| old.sort == Sort::Import);
        let is_future = line.starts_with("from __future__");
        let head = |old: &&'a Part| {
            let text = &self.old[old.core.clone()];
            old.sort == Sort::Statement
                && (text.starts_with(['"', '\'']) || HEADS.iter().any(|head| text.starts_with(head)))
        };
        let before = last_import(&olds[..first_code]).filter(|_| !is_future);
        let (anchor, gap) = match (before, olds.iter().take_while(head).last(), olds.first()) {
            (Some(last), ..) => (Anchor::After(last), 0),
            (None, Some(head), _) => (Anchor::After(head), 1),
            (None, None, Some(first)) => {
                let blank = if self.language == "python" && first.sort != Sort::Value { 2 } else { 1 };
                (Anchor::Before(first), if first.sort == Sort::Import { 0 } else { blank })
            }
            (None, None, None) => (Anchor::End, 0),
        };
        let base =
            scope.map(|scope| indent_at(self.old, scope.core.start).to_owned() + &self.unit.text()).unwrap_or_default();
        // If several imports are added above the first definition, only the first is preceded by
        // empty lines.
        let gap = if self.has_new_import && matches!(anchor, Anchor::After(part) if part.sort != Sort::Import) {
            0
        } else {
            gap
        };
        self.write(scope, line, &base, gap, anchor);
        self.has_new_import = true;
    }
}
