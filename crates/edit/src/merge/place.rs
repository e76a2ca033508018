//! Finds the definition in a file that a written one is meant to replace.

use super::overloads::{head, is_of_kind, last_of};
use super::{Hints, Job, MergeError};
use crate::index::is_queried;
use crate::index::parts::{MODULE, Part, Sort};
use crate::text::line_of;

/// An old part and the parts around it, outermost first.
#[derive(Clone, Debug)]
pub struct Place<'p> {
    pub part: &'p Part,
    pub around: Vec<&'p Part>,
}

impl<'p> Place<'p> {
    /// The innermost container that has a name.
    pub fn container(&self) -> Option<&'p Part> {
        self.around.iter().rev().copied().find(|part| !part.name.is_empty())
    }

    /// Whether its own container has that name, or it belongs to that container. A member of a
    /// class within that container is only in the inner one.
    pub fn is_in(&self, name: &str) -> bool {
        let name = last_of(name);
        let is_own = self.container().is_some_and(|part| last_of(&part.name) == name);
        is_own || self.part.owner.as_deref() == Some(name)
    }

    /// Whether it is a member of a class or object, not of a function or file.
    pub fn is_member(&self) -> bool {
        self.part.owner.as_ref().is_some_and(|owner| !owner.contains("exports"))
            || self
                .around
                .last()
                .is_some_and(|part| matches!(part.sort, Sort::Class | Sort::Record) && !is_module(part))
    }
}

/// Whether a part is a module, namespace or `describe`; functions inside are not methods.
pub fn is_module(part: &Part) -> bool {
    part.sort == Sort::Class && part.variant == MODULE
}

/// Whether two parts have the same name, variant and owner.
pub fn same_name(a: &Part, b: &Part) -> bool {
    let owners = a.owner.is_none() || b.owner.is_none() || a.owner == b.owner;
    a.name == b.name && a.variant == b.variant && owners && (a.sort == Sort::Test) == (b.sort == Sort::Test)
}

impl<'a> Job<'a> {
    /// Every old part, at any depth, for which `wanted` is true.
    pub fn places(&self, wanted: impl Fn(&Part) -> bool) -> Vec<Place<'a>> {
        let mut found = Vec::new();
        for item in self.old_items {
            if wanted(item) {
                found.push(Place { part: item, around: Vec::new() });
            }
            item.walk(&mut Vec::new(), &mut |part, around| {
                if wanted(part) {
                    found.push(Place { part, around: around.to_vec() });
                }
            });
        }
        found
    }

    /// The old part that is replaced by a part written outside any class; hints and heads decide
    /// between several with one name. `news` holds all written parts with that name.
    pub fn meant(&self, new: &Part, news: &[&Part]) -> Result<Option<Place<'a>>, MergeError> {
        let mut places = self.places(|part| part.is_definition() && same_name(part, new));
        if places.is_empty() && self.language == "ruby" && new.variant.is_empty() {
            // A method of `class << self` is written without `self`, like one of its instances.
            places = self.places(|part| part.name == new.name && part.variant == "singleton" && part.sort == new.sort);
            let is_other = |place: &Place| head(place.part, self.old) != head(new, self.new);
            if places.iter().any(|place| self.may_be(place, new) && is_other(place)) {
                return Err(MergeError::NotPlaced { name: new.name.clone() });
            }
        }
        places.retain(|place| self.may_be(place, new));
        self.narrow(&mut places, |place| place.part.sort == new.sort);
        if let Some(name) = self.container_of(new) {
            self.narrow(&mut places, |place| place.is_in(name));
        }
        self.with_head_of(new, &mut places);
        if let Some(line) = self.hints.line.filter(|_| places.len() > 1) {
            self.narrow(&mut places, |place| {
                let whole = place.part.whole();
                (line_of(self.old, whole.start)..=line_of(self.old, whole.end)).contains(&line)
            });
        }
        let queried = is_queried(self.language);
        self.narrow(&mut places, |place| {
            if queried { place.is_member() == new.has_receiver } else { place.around.is_empty() != new.has_receiver }
        });
        self.narrow(&mut places, |place| place.part.owner == new.owner);
        match places.as_slice() {
            [] => Ok(None),
            [one] if queried => self.only_one(one.clone(), new, news),
            [one] => Ok(Some(one.clone())),
            many if self.hints.is_overload && !many.iter().any(|place| self.is_same_head(place.part, new)) => Ok(None),
            many => Err(self.ambiguous(new, many)),
        }
    }

    /// The named container of a written part. It may have been written with its class, or with
    /// everything around it.
    pub fn container_of(&self, new: &Part) -> Option<&'a str> {
        let hints: &'a Hints = self.hints;
        let path = hints.container.as_deref()?;
        let is_type = matches!(new.sort, Sort::Class | Sort::Record);
        if !is_queried(self.language) || !is_type {
            return Some(path);
        }
        let mut inner = false;
        new.walk(&mut Vec::new(), &mut |part, _| inner |= part.body.is_some() && part.name == last_of(path));
        let own = last_of(&new.name);
        let is_own = |at: &usize| last_of(&path[..*at]) == own;
        let mut ends = path.match_indices(['.', ':', '\\']).map(|(at, _)| at).chain([path.len()]);
        match ends.rfind(is_own) {
            Some(end) => {
                Some(path[..end - own.len()].trim_end_matches(['.', ':', '\\'])).filter(|rest| !rest.is_empty())
            }
            None => Some(path).filter(|_| !inner),
        }
    }

    /// Keeps only places that satisfy `keep`, if any do.
    pub fn narrow(&self, places: &mut Vec<Place<'a>>, keep: impl Fn(&Place<'a>) -> bool) {
        if places.iter().any(&keep) {
            places.retain(keep);
        }
    }

    /// Whether a part written outside any class can replace the part at that place.
    fn may_be(&self, place: &Place, new: &Part) -> bool {
        let named = self.container_of(new);
        if is_queried(self.language) {
            // Methods and functions are written alike, so the place alone decides.
            let is_there = new.owner.is_some() || named.is_none_or(|name| place.is_in(name));
            // A C variable is written like a field, but a field is in its struct.
            let is_field = self.language == "c" && new.sort == Sort::Value && place.is_member();
            return is_there
                && (!is_field || named.is_some())
                && place.part.owner == new.owner
                && is_of_kind(self.language, place.part, new);
        }
        if named.is_some() && place.around.iter().any(|part| Some(part.name.as_str()) == named) {
            return true;
        }
        if place.part.owner.is_some() && place.part.owner == new.owner {
            return true;
        }
        let explicit_receiver = matches!(self.language, "python" | "rust" | "go");
        let at_top = place.around.iter().all(|part| is_module(part));
        match (new.sort, place.part.sort) {
            (Sort::Class | Sort::Record | Sort::Test, _) => true,
            // A method and a function without a receiver do not replace each other.
            (Sort::Function, Sort::Function) if explicit_receiver => place.part.has_receiver == new.has_receiver,
            // `name = () => …` looks like a class member.
            (Sort::Function, Sort::Function) if new.value.is_some() && place.is_member() => {
                self.new[new.core.clone()].starts_with(&new.name)
            }
            // In JavaScript, a function replaces a method only if it is written as a method.
            (Sort::Function, _) => new.has_receiver && !explicit_receiver || !place.is_member(),
            (Sort::Value, Sort::Value) => at_top || new.has_receiver || self.language == "python" && place.is_member(),
            _ => at_top || new.has_receiver,
        }
    }

    /// The error that lists the places of an ambiguous name.
    pub fn ambiguous(&self, new: &Part, places: &[Place]) -> MergeError {
        /// Maximum number of places that the error lists.
        const NAMED_MAX: usize = 8;
        let named = places.iter().take(NAMED_MAX).map(|place| {
            let line = line_of(self.old, place.part.core.start);
            match place.container() {
                Some(container) => format!("line {line} in `{}`", container.name),
                None => format!("line {line}"),
            }
        });
        let way_out = if is_queried(self.language) {
            "write it inside the one class that is meant, with the head that it has in the file, or give that head as the name"
        } else {
            "write it inside the one that is meant, with its class line"
        };
        MergeError::Ambiguous { name: new.name.clone(), places: named.collect(), way_out }
    }
}
