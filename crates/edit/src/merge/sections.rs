//! Puts members below the `public`, `protected` or `private` line to which they belong.

use super::insert::Anchor;
use super::{Job, Scope};
use crate::index::parts::{Part, Sort};
use crate::text::indent_at;

/// Lines that determine where the members after them can be used.
const ACCESS: &[&str] = &["public", "protected", "private"];

/// Whether a statement is a line such as `private` or `private:`.
pub fn is_access_line(part: &Part, text: &str) -> bool {
    part.sort == Sort::Statement && ACCESS.contains(&text[part.core.clone()].trim_end_matches(':'))
}

impl<'a> Job<'a> {
    /// The access keyword that applies to a member of `scope`.
    fn access_of(&self, scope: &Part, old: &Part) -> &'static str {
        match old.access {
            "" if self.language == "cpp" && scope.sort == Sort::Class => "private",
            "" => "public",
            word => word,
        }
    }

    /// Whether `new` was written below an access line for which `scope` has no section.
    pub fn lacks_section(&self, scope: Scope, olds: &[Part], new: &Part) -> bool {
        let Some(scope) = scope.filter(|_| !new.access.is_empty()) else { return false };
        let has =
            |old: &Part| old.access == new.access || old.is_definition() && self.access_of(scope, old) == new.access;
        !olds.iter().any(has)
    }

    /// The place of a new member in the section in which it was written; `None` if it was written
    /// outside any section.
    pub fn anchor_in_section(&self, scope: &Part, olds: &'a [Part], new: &Part) -> Option<Anchor<'a>> {
        if new.access.is_empty() {
            return None;
        }
        let here = || {
            let is_here = |old: &&'a Part| self.access_of(scope, old) == new.access;
            olds.iter().rev().filter(|old| old.is_definition() || old.declares_several()).filter(is_here)
        };
        let line = || olds.iter().rfind(|old| is_access_line(old, self.old) && old.access == new.access);
        let beside = here().find(|old| old.sort == new.sort).or_else(|| here().next()).or_else(line);
        Some(beside.or(olds.last()).map_or(Anchor::Top, Anchor::After))
    }

    /// The access line required before `new`, with its white space; `None` if the section already
    /// exists.
    pub fn section_line(&mut self, scope: Scope, olds: &[Part], new: &Part) -> Option<(String, String)> {
        let around = scope.filter(|_| self.lacks_section(scope, olds, new))?;
        if !self.sections.insert((around.core.start, new.access)) {
            return None;
        }
        let line = olds.iter().find(|old| is_access_line(old, self.old));
        let start = line.map_or(around.core.start, |line| line.core.start);
        let base = indent_at(self.old, start).to_owned();
        Some(match self.language {
            "cpp" => (format!("{}:", new.access), base),
            _ => (new.access.to_owned(), self.base(scope, olds)),
        })
    }

    /// Notes a definition that was written below a different access line from its line in the file.
    pub fn remark_access(&mut self, scope: Scope, old: &Part, new: &Part) {
        if let Some(scope) = scope.filter(|_| !new.access.is_empty()) {
            let access = self.access_of(scope, old);
            if access != new.access {
                let name = &old.name;
                self.remark(format!(
                    "`{name}` stays `{access}`; to make it `{}`, remove it and add it again",
                    new.access
                ));
            }
        }
    }
}
