//! Replaces one definition and keeps the parts that the model left out: comments, decorators, lines
//! that a mark stands for.

use std::collections::HashSet;

use super::container::words;
use super::leading::{Led, led};
use super::modifiers::with_modifiers;
use super::overloads::shown_head;
use super::{Job, MergeError, Scope};
use crate::indent::{are_inside, indent};
use crate::index::is_queried;
use crate::index::parts::{Part, Sort};
use crate::omissions::{Body, has_marks, is_left_out, is_mark, splice};
use crate::text::{indent_at, line_of};

impl<'a> Job<'a> {
    /// Replaces `old`, a part of `scope`, with `new`.
    pub fn replace(&mut self, scope: Scope, old: &Part, new: &Part) -> Result<(), MergeError> {
        if lacks_body(self.language, (old, self.old), (new, self.new)) {
            self.refuse_new_head(old, new)?;
            self.lead_only(scope, old, new);
            return Ok(());
        }
        let base = indent_at(self.old, old.core.start).to_owned();
        let core = self.as_written(old, new).unwrap_or_else(|| self.piece(new.core.clone(), &base));
        let core = self.with_docstring(old, new, core, &base);
        let core = self.unmarked(old, new, core)?;
        if is_queried(self.language) {
            self.put_queried(scope, old, new, (core, &base));
            return Ok(());
        }
        let changed = match self.assigned_value(old).filter(|_| new.value.is_none()) {
            Some(value) if core.starts_with("function") || core.starts_with("async function") => self.edit(value, core),
            _ => {
                let core = with_modifiers(self.language, &self.old[old.core.clone()], core);
                let core = self.separated(old, core);
                self.put_below_lead(old, new, core, &base)
            }
        };
        if changed {
            self.note(&old.name, scope);
        }
        Ok(())
    }

    /// The new text with its own indentation, if most of its lines outside strings are in the old
    /// text, with their white space, and all are inside the definition there.
    fn as_written(&self, old: &Part, new: &Part) -> Option<String> {
        let piece = &self.new[new.core.clone()];
        let base = indent_at(self.old, old.core.start);
        let from = line_of(self.new, new.core.start);
        let first = indent(self.own.get(from.checked_sub(1)?)?);
        if !first.is_empty() && first != base {
            return None;
        }
        let own = self.own.get(from..from + piece.matches('\n').count())?;
        let known: HashSet<&str> = self.old[old.core.clone()].lines().skip(1).collect();
        let texts = self.frozen.iter().flat_map(|text| line_of(self.new, text.start)..line_of(self.new, text.end));
        let texts: HashSet<usize> = texts.collect();
        let code = own.iter().enumerate().filter(|(at, line)| !line.trim().is_empty() && !texts.contains(&(from + at)));
        let code: Vec<&str> = code.map(|(_, line)| line.as_str()).collect();
        if !are_inside(base, code.iter().copied()) {
            return None;
        }
        let (same, other): (Vec<&str>, Vec<&str>) = code.into_iter().partition(|line| known.contains(line));
        // The piece may end within its last line.
        let lines = own.iter().zip(piece.lines().skip(1)).map(|(own, line)| {
            own.trim_start().starts_with(line.trim_start()).then(|| format!("{}{}", indent(own), line.trim_start()))
        });
        let lines: Option<Vec<String>> = lines.collect();
        let rest = lines.filter(|lines| lines.len() == own.len() && same.len() > other.len())?;
        let first = piece.lines().next()?.to_owned();
        Some(std::iter::once(first).chain(rest).collect::<Vec<_>>().join("\n"))
    }

    /// Refuses a function shown without its body if its head differs from the old one.
    fn refuse_new_head(&self, old: &Part, new: &Part) -> Result<(), MergeError> {
        if !is_queried(self.language) || new.sort != Sort::Function {
            return Ok(());
        }
        let [was, now] = [shown_head(old, self.old), shown_head(new, self.new)];
        let known = words(&was);
        match words(&now).iter().all(|word| known.contains(word)) {
            true => Ok(()),
            false => Err(MergeError::Unclear { name: new.name.clone(), mark: now }),
        }
    }

    /// Replaces `old` in a language that a query describes, and notes what it loses.
    fn put_queried(&mut self, scope: Scope, old: &Part, new: &Part, (core, base): (String, &str)) {
        let was = &self.old[old.core.clone()];
        let name = if old.name.is_empty() { old.names().join("`, `") } else { old.name.clone() };
        let Led { code, note, bare } = led(self.language, &name, was, core);
        let core = self.separated(old, code);
        if self.put_below_lead(old, new, core, base) {
            note.into_iter().for_each(|note| self.remark(note));
            self.remark_members(&name, old, new);
            let names: Vec<String> = new.names().into_iter().map(str::to_owned).collect();
            match names.as_slice() {
                [] | [_] => self.note(&name, scope),
                several => several.iter().for_each(|name| self.note(name, scope)),
            }
        } else if let Some(modifiers) = bare {
            self.bare.push((name, modifiers));
        }
    }

    /// `new` with the modifiers of `old` that were not written; notes those that differ.
    pub fn led(&mut self, name: &str, old: &str, new: String) -> String {
        let led = led(self.language, name, old, new);
        led.note.into_iter().for_each(|note| self.remark(note));
        led.code
    }

    /// Notes the missing members of a part that was replaced as a whole.
    fn remark_members(&mut self, name: &str, old: &Part, new: &Part) {
        /// Maximum number of members listed in a note.
        const LISTED_MAX: usize = 8;
        if old.sort == Sort::Statement {
            return;
        }
        let is_gone =
            |member: &&Part| member.is_definition() && !new.members.iter().any(|other| other.name == member.name);
        let mut gone: Vec<&str> = old.members.iter().filter(is_gone).map(|member| member.name.as_str()).collect();
        let more = if gone.len() > LISTED_MAX { ", …" } else { "" };
        gone.truncate(LISTED_MAX);
        if !gone.is_empty() {
            self.remark(format!("`{name}` was replaced completely and no longer has `{}`{more}", gone.join("`, `")));
        }
    }

    /// The function in `exports.add = function …` or `add: function …`, the only part that a
    /// written declaration replaces.
    fn assigned_value(&self, old: &Part) -> Option<std::ops::Range<usize>> {
        let value = old.value.clone()?;
        let left = &self.old[old.core.start..value.start];
        let is_variable = ["const ", "let ", "var "].iter().any(|word| left.contains(word));
        (!is_variable && left.trim_end().ends_with(['=', ':'])).then_some(value)
    }

    /// `core`, ending in a semicolon only if the old part does.
    fn separated(&self, old: &Part, core: String) -> String {
        let was = &self.old[old.core.clone()];
        if matches!(self.language, "python" | "go") {
            core
        } else if was.ends_with(';') {
            if core.ends_with([';', '}']) { core } else { core + ";" }
        } else if was.ends_with('}') && old.end == old.core.end {
            core
        } else {
            core.trim_end_matches(';').to_owned()
        }
    }

    /// Replaces only the comments, attributes and docstring of a definition whose body was left
    /// out.
    fn lead_only(&mut self, scope: Scope, old: &Part, new: &Part) {
        let base = indent_at(self.old, old.core.start).to_owned();
        let mut changed = self.docstring(old, new);
        changed |= self.put_below_lead(old, new, self.old[old.core.clone()].to_owned(), &base);
        if changed {
            self.note(&old.name, scope);
        }
    }

    /// Replaces the core of `old`, and its comments and attributes if there are new ones. Returns
    /// false if this changes nothing.
    pub fn put_below_lead(&mut self, old: &Part, new: &Part, core: String, base: &str) -> bool {
        let (comments, attributes) = self.lead(new, base);
        let plain = |texts: &[String]| texts.join(" ").split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let of_old = |ranges: &[std::ops::Range<usize>]| -> Vec<String> {
            ranges.iter().map(|range| self.old[range.clone()].to_owned()).collect()
        };
        let (old_comments, old_attributes) = (of_old(&old.comments), of_old(&old.attributes));
        // Comments that only repeat the end of the old ones are not new.
        let new_comments = !comments.is_empty() && !plain(&old_comments).ends_with(&plain(&comments));
        let new_attributes = !attributes.is_empty() && plain(&attributes) != plain(&old_attributes);
        if !new_comments && !new_attributes {
            return self.edit(old.core.clone(), core);
        }
        if is_queried(self.language) {
            let now = plain(&attributes).join(" ");
            let lost =
                old_attributes.iter().find(|one| new_attributes && !now.contains(&plain(&[(*one).clone()]).join(" ")));
            let lost = lost.map(|one| format!("`{}` no longer has `{one}`", old.name));
            let other = (new_comments && !old_comments.is_empty())
                .then(|| format!("the comment above `{}` was replaced", old.name));
            lost.into_iter().chain(other).for_each(|note| self.remark(note));
        }
        let mut lines = if new_comments { comments } else { old_comments };
        lines.extend(if new_attributes { attributes } else { old_attributes });
        lines.push(core);
        self.edit(old.start()..old.core.end, lines.join(&format!("\n{base}")))
    }

    /// `core`, with the old docstring if the model omitted it.
    fn with_docstring(&self, old: &Part, new: &Part, core: String, base: &str) -> String {
        let (Some(doc), None, Some(body)) = (&old.docstring, &new.docstring, &new.body) else { return core };
        if !self.new[body.clone()].trim_start_matches(' ').starts_with('\n') {
            return core;
        }
        let head = self.new[new.core.start..body.start].matches('\n').count() + 1;
        let mut lines: Vec<String> = core.split('\n').map(str::to_owned).collect();
        lines.insert(head.min(lines.len()), format!("{base}{}{}", self.unit.text(), &self.old[doc.clone()]));
        lines.join("\n")
    }

    /// `core` with the marks replaced by the old lines.
    fn unmarked(&self, old: &Part, new: &Part, core: String) -> Result<String, MergeError> {
        if !has_marks(&core, self.old) {
            return Ok(core);
        }
        let mark = core.lines().find(|line| is_mark(line, self.old)).unwrap_or_default().trim().to_owned();
        let unclear = || MergeError::Unclear { name: old.name.clone(), mark: mark.clone() };
        let head = |part: &Part, text: &str| {
            part.body.as_ref().map(|body| text[part.core.start..body.start].matches('\n').count() + 1)
        };
        let (Some(old_head), Some(mut new_head)) = (head(old, self.old), head(new, self.new)) else {
            return Err(unclear());
        };
        let old_text = &self.old[old.core.clone()];
        if new.docstring.is_none() && old.docstring.is_some() {
            // The old docstring was restored below the head.
            new_head += old.docstring.clone().map_or(0, |doc| self.old[doc].matches('\n').count() + 1);
        }
        let doc_lines =
            |part: &Part, text: &str| part.docstring.clone().map_or(0, |doc| text[doc].matches('\n').count() + 1);
        let old_head = old_head + doc_lines(old, self.old);
        let new_head = new_head + doc_lines(new, self.new);
        let old_body = Body { lines: old_text.split('\n').collect(), head: old_head };
        let new_body = Body { lines: core.split('\n').collect(), head: new_head };
        splice(&old_body, &new_body, self.old).map(|lines| lines.join("\n")).ok_or_else(unclear)
    }
}

/// Whether the body was omitted completely.
pub fn lacks_body(language: &str, (old, was): (&Part, &str), (new, now): (&Part, &str)) -> bool {
    let inside = |part: &Part, text: &str| {
        let body = part.body.clone()?;
        let start = part.docstring.as_ref().map_or(body.start, |doc| doc.end);
        text.get(start..body.end.max(start)).map(str::to_owned)
    };
    let (Some(now), Some(own)) = (inside(new, now), inside(old, was)) else { return false };
    // In Python, a docstring followed only by comments is not a body.
    let only_docstring = language == "python" && now.trim().is_empty() && !own.trim().is_empty();
    let is_idle = |body: &str| matches!(body.trim(), "" | "pass" | "...");
    (is_left_out(&now, was) || only_docstring) && !is_idle(&own)
}
