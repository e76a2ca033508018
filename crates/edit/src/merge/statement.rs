//! Merges statements that define nothing: a route, a call at load time, the main block of a script.

use super::insert::{Anchor, first_line};
use super::sections::is_access_line;
use super::{Job, MergeError, Scope};
use crate::heads::squeezed;
use crate::index::is_queried;
use crate::index::parts::{Part, Sort};
use crate::omissions::has_marks;
use crate::text::{indent_at, line_of};

/// Beginnings of calls that only try out the written code. They are left out unless the file
/// already has such calls.
const DEMOS: &[&str] =
    &["print(", "console.log(", "fmt.Print", "println!(", "assert ", "if __name__", "console.assert("];
/// Beginnings of statements that are never added: heads of files, strings, and `pass`.
const HEADS: &[&str] =
    &["package ", "'use strict'", "\"use strict\"", "#!", "extern crate", "pass", "...", "\"\"\"", "'''"];
/// The same for languages that a query describes, where the others are ordinary names and texts.
const QUERIED_HEADS: &[&str] = &["package ", "namespace ", "<?php", "declare(", "#pragma once", "#!"];
/// Beginnings of statements at the top of a class.
const MIXINS: &[&str] = &["include ", "extend ", "prepend ", "use "];

impl<'a> Job<'a> {
    /// Merges the statement `new`: it replaces an older version of itself or is added, unless the
    /// file already has it or does not need it. `news` are all parts written beside it.
    pub fn statement(
        &mut self,
        scope: Option<&'a Part>,
        olds: &'a [Part],
        (new, news): (&Part, &[Part]),
    ) -> Result<(), MergeError> {
        let queried = is_queried(self.language);
        // A member was written without its class.
        let home = if queried && scope.is_none() && new.has_receiver { self.home(new)? } else { None };
        let (scope, olds) = home.map_or((scope, olds), |home| (Some(home), home.members.as_slice()));
        let text = self.new[new.core.clone()].trim().to_owned();
        let is_string = text.starts_with(['"', '\'', '`']) && !queried;
        let heads = if queried { QUERIED_HEADS } else { HEADS };
        if is_string
            || heads.iter().any(|head| text.starts_with(head))
            || is_access_line(new, self.new)
            || text.lines().all(|line| self.is_mark(line) || line.trim().is_empty())
        {
            return Ok(());
        }
        let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = plain(&text);
        let is_same = |part: &Part| plain(&self.old[part.core.clone()]) == words;
        let is_there = match queried {
            true => olds.iter().any(|part| part.sort == Sort::Statement && is_same(part)),
            false => !self.places(|part| part.sort == Sort::Statement && is_same(part)).is_empty(),
        };
        if is_there {
            return Ok(());
        }
        if let Some(group) = self.group_of(olds, new) {
            self.refuse_other_lines(group, new)?;
            return self.scope(Some(group), &group.members, &new.members);
        }
        // A statement that is written again stays.
        let is_again = |old: &&Part| {
            let words = || self.old[old.core.clone()].split_whitespace();
            news.iter()
                .any(|new| new.sort == Sort::Statement && self.new[new.core.clone()].split_whitespace().eq(words()))
        };
        if let Some(old) = self.version_of(scope, olds, &text).filter(|old| !is_again(old)) {
            return self.restate(scope, old, new, &text);
        }
        // A Go file has only declarations, and each name once.
        let is_known = |member: &Part| olds.iter().any(|old| old.owner.is_none() && old.name == member.name);
        let is_group = !new.members.is_empty() && !new.members.iter().any(is_known);
        if self.language == "go" && scope.is_none() && !is_group && !DEMOS.iter().any(|show| text.starts_with(show)) {
            return Err(MergeError::NotPlaced { name: first_line(&text) });
        }
        let shown = DEMOS.iter().find(|show| text.starts_with(**show));
        let has_such = |show: &str| olds.iter().any(|old| self.old[old.core.clone()].starts_with(show));
        if has_marks(&text, self.old) || shown.is_some_and(|show| !has_such(show) || show.starts_with("if ")) {
            self.remark(format!("the statement `{}` was left out", first_line(&text)));
            return Ok(());
        }
        let callee = callee(&text);
        let is_like = |old: &&'a Part| {
            old.sort == Sort::Statement && !callee.is_empty() && self::callee(&self.old[old.core.clone()]) == callee
        };
        let mixin = MIXINS.iter().find(|word| queried && scope.is_some() && text.starts_with(**word));
        let is_mixin = |old: &&'a Part| mixin.is_some_and(|word| self.old[old.core.clone()].starts_with(word));
        let anchor = match (olds.iter().rev().find(|old| is_like(old) || is_mixin(old)), mixin) {
            (Some(old), _) => Anchor::After(old),
            (None, Some(_)) => Anchor::Top,
            (None, None) => self.anchor_at_end(olds),
        };
        if queried {
            self.remark(format!("the statement `{}` was added", first_line(&text)));
        }
        self.insert(scope, olds, new, anchor);
        Ok(())
    }

    /// The old group (`const ( … )`, `(function () { … })()`) that contains a member of the written
    /// group.
    fn group_of(&self, olds: &'a [Part], new: &Part) -> Option<&'a Part> {
        let line = |part: &Part, text: &str| first_line(&text[part.core.clone()]);
        let shares = |old: &&'a Part| {
            // `class << self`, `#ifdef FAST`
            let is_same_block = || is_queried(self.language) && line(old, self.old) == line(new, self.new);
            let has = |member: &Part| new.members.iter().any(|other| other.name == member.name);
            old.sort == Sort::Statement
                && !old.members.is_empty()
                && !new.members.is_empty()
                && (old.members.iter().any(has) || is_same_block())
        };
        olds.iter().find(shares)
    }

    /// Refuses a written group with lines outside its definitions that the old group lacks, since
    /// only definitions are merged into the group.
    fn refuse_other_lines(&self, group: &Part, new: &Part) -> Result<(), MergeError> {
        let outside = |part: &Part, text: &str| -> Vec<String> {
            let mut rest = String::new();
            let mut done = part.core.start;
            for member in &part.members {
                rest.push_str(text.get(done..member.start()).unwrap_or_default());
                done = member.whole().end.max(done);
            }
            rest.push_str(text.get(done..part.core.end).unwrap_or_default());
            rest.lines().map(squeezed).filter(|line| !line.is_empty()).collect()
        };
        let known = outside(group, self.old);
        let is_other = |line: &String| !known.contains(line) && !self.is_mark(line);
        match outside(new, self.new).into_iter().find(is_other) {
            Some(mark) if is_queried(self.language) => {
                Err(MergeError::Unclear { name: first_line(&self.new[new.core.clone()]), mark })
            }
            _ => Ok(()),
        }
    }

    /// The only old statement that begins the same way: with the same line, or the same call and
    /// first argument; in a class also with the same head.
    fn version_of(&self, scope: Scope, olds: &'a [Part], text: &str) -> Option<&'a Part> {
        const LINE_MIN: usize = 8;
        let call = |text: &str| {
            let (head, _) = text.split_once(',')?;
            let is_autoload = self.language == "ruby" && head.starts_with("autoload :");
            let is_call = head.contains(['\'', '"']) && head.contains('(') || is_autoload;
            is_call.then(|| head.split_whitespace().collect::<String>())
        };
        let line = first_line(text);
        let only = |found: Vec<&'a Part>| if let [one] = found.as_slice() { Some(*one) } else { None };
        let statements = || olds.iter().filter(|old| old.sort == Sort::Statement);
        let opens = line.len() >= LINE_MIN && line.ends_with(['{', ':', '(']);
        let by_line = statements().filter(|old| opens && first_line(&self.old[old.core.clone()]) == line).collect();
        let by_call = || {
            statements().filter(|old| call(text).is_some() && call(&self.old[old.core.clone()]) == call(text)).collect()
        };
        // Members that no query names: operators, initializers, Kotlin constructors.
        let head = |text: &str| {
            let end = text.find('{').into_iter().chain(text.find("=>")).min()?;
            Some(squeezed(&text[..end]))
        };
        let is_member = is_queried(self.language) && scope.is_some();
        let own = head(text).filter(|_| is_member);
        let by_head = || statements().filter(|old| own.is_some() && head(&self.old[old.core.clone()]) == own).collect();
        only(by_line).or_else(|| only(by_call())).or_else(|| only(by_head()))
    }

    /// Replaces an older version of a statement.
    fn restate(&mut self, scope: Option<&'a Part>, old: &'a Part, new: &Part, text: &str) -> Result<(), MergeError> {
        if has_marks(text, self.old) {
            let mark = text.lines().find(|line| self.is_mark(line)).unwrap_or_default().trim().to_owned();
            return Err(MergeError::Unclear { name: first_line(text), mark });
        }
        // Models often add a main block that demonstrates their function.
        if text.starts_with("if __name__") {
            return Ok(());
        }
        let base = indent_at(self.old, old.core.start).to_owned();
        let core = self.piece(new.core.clone(), &base);
        if self.edit(old.core.clone(), core) {
            if is_queried(self.language) {
                let line = line_of(self.old, old.core.start);
                self.remark(format!("the statement `{}` at line {line} was replaced", first_line(text)));
            }
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
