//! Merges statements that define nothing: a route, a call at load, the main block of a script.

use super::insert::{Anchor, first_line};
use super::{Job, MergeError};
use crate::edit::omissions::has_marks;
use crate::edit::text::indent_at;
use crate::index::parts::{Part, Sort};

/// Beginnings of calls that only try out the written code. They are left out unless the file
/// already has such calls.
const DEMOS: &[&str] =
    &["print(", "console.log(", "fmt.Print", "println!(", "assert ", "if __name__", "console.assert("];
/// Beginnings of statements that are never added: heads of files, strings, and `pass`.
const HEADS: &[&str] = &[
    "package ",
    "namespace ",
    "<?php",
    "declare(",
    "#pragma once",
    "'use strict'",
    "\"use strict\"",
    "#!",
    "extern crate",
    "pass",
    "...",
    "\"\"\"",
    "'''",
];
/// Lines that say which members below them can be used outside of a class; the place of a new member heeds them.
const ACCESS: &[&str] = &["public", "protected", "private"];

impl<'a> Job<'a> {
    /// Merges the statement `new`: it replaces an older version of itself or is added, unless the
    /// file already has it or has no use for it.
    pub fn statement(&mut self, scope: Option<&'a Part>, olds: &'a [Part], new: &Part) -> Result<(), MergeError> {
        let text = self.new[new.core.clone()].trim().to_owned();
        let is_string = text.starts_with(['"', '\'', '`']);
        if is_string
            || HEADS.iter().any(|head| text.starts_with(head))
            || ACCESS.contains(&text.trim_end_matches(':'))
            || text.lines().all(|line| self.is_mark(line) || line.trim().is_empty())
        {
            return Ok(());
        }
        let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = plain(&text);
        let is_same = |part: &Part| plain(&self.old[part.core.clone()]) == words;
        if !self.places(|part| part.sort == Sort::Statement && is_same(part)).is_empty() {
            return Ok(());
        }
        if let Some(group) = self.group_of(olds, new) {
            return self.scope(Some(group), &group.members, &new.members);
        }
        if let Some(old) = self.version_of(olds, &text) {
            return self.restate(scope, old, new, &text);
        }
        let shown = DEMOS.iter().find(|show| text.starts_with(**show));
        let has_such = |show: &str| olds.iter().any(|old| self.old[old.core.clone()].starts_with(show));
        if has_marks(&text, self.old) || shown.is_some_and(|show| !has_such(show) || show.starts_with("if ")) {
            return Ok(());
        }
        let callee = callee(&text);
        let is_like = |old: &&'a Part| {
            old.sort == Sort::Statement && !callee.is_empty() && self::callee(&self.old[old.core.clone()]) == callee
        };
        let anchor = olds.iter().rev().find(is_like).map_or_else(|| self.anchor_at_end(olds), Anchor::After);
        self.insert(scope, olds, new, anchor);
        Ok(())
    }

    /// The old group (`const ( … )`, `(function () { … })()`) that has one of the members of the
    /// written group.
    fn group_of(&self, olds: &'a [Part], new: &Part) -> Option<&'a Part> {
        let shares = |old: &&'a Part| {
            old.sort == Sort::Statement
                && old.members.iter().any(|member| new.members.iter().any(|other| other.name == member.name))
        };
        olds.iter().find(shares)
    }

    /// The only old statement that begins in the same way: with the same line, or with the same
    /// call and first argument.
    fn version_of(&self, olds: &'a [Part], text: &str) -> Option<&'a Part> {
        const LINE_MIN: usize = 8;
        let call = |text: &str| {
            let (head, _) = text.split_once(',')?;
            (head.contains(['\'', '"']) && head.contains('(')).then(|| head.split_whitespace().collect::<String>())
        };
        let line = first_line(text);
        let only = |found: Vec<&'a Part>| if let [one] = found.as_slice() { Some(*one) } else { None };
        let statements = || olds.iter().filter(|old| old.sort == Sort::Statement);
        let opens = line.len() >= LINE_MIN && line.ends_with(['{', ':', '(']);
        let by_line = statements().filter(|old| opens && first_line(&self.old[old.core.clone()]) == line).collect();
        let by_call = || {
            statements().filter(|old| call(text).is_some() && call(&self.old[old.core.clone()]) == call(text)).collect()
        };
        only(by_line).or_else(|| only(by_call()))
    }

    /// Replaces an older version of a statement.
    fn restate(&mut self, scope: Option<&'a Part>, old: &'a Part, new: &Part, text: &str) -> Result<(), MergeError> {
        if has_marks(text, self.old) {
            let mark = text.lines().find(|line| self.is_mark(line)).unwrap_or_default().trim().to_owned();
            return Err(MergeError::Unclear { name: first_line(text), mark });
        }
        // Models often add a main block that shows how their function is called.
        if text.starts_with("if __name__") {
            return Ok(());
        }
        let base = indent_at(self.old, old.core.start).to_owned();
        let core = self.piece(new.core.clone(), &base);
        if self.edit(old.core.clone(), core) {
            self.note(&first_line(text), scope);
        }
        Ok(())
    }
}

/// The name of the called function, `app.get` in `app.get('/x', …)`; empty for other statements.
fn callee(text: &str) -> &str {
    match text.split_once('(') {
        Some((head, _)) if head.chars().all(|c| c.is_alphanumeric() || "._$".contains(c)) => head,
        _ => "",
    }
}
