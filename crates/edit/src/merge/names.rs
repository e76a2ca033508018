//! Places value declarations where one statement declares several: `int a, b;`,
//! `attr_reader :a, :b`. No name can be replaced alone, so the statement is replaced as a whole,
//! and only by one that declares all of its names.

use super::container::Target;
use super::overloads::accessor;
use super::place::Place;
use super::{Job, MergeError, Scope};
use crate::index::parts::{Part, Sort};
use crate::text::{line_of, nth_line};

impl<'a> Job<'a> {
    /// The target of a written declaration if it, or an old one of its names, declares several
    /// names; `None` if each name has its own declaration.
    ///
    /// # Errors
    /// The old statement declares other names too, which would be lost.
    pub fn of_names(&self, scope: Scope<'a>, olds: &'a [Part], new: &Part) -> Result<Option<Target<'a>>, MergeError> {
        let own = new.names();
        if own.is_empty() {
            return Ok(None);
        }
        let places = self.sharing(scope, olds, new);
        if !new.declares_several() && !places.iter().any(|place| place.part.declares_several()) {
            return Ok(None);
        }
        let words = accessor(new, self.new);
        let is_there = |name: &&str| {
            let same = |place: &Place| accessor(place.part, self.old) == words && place.part.names().contains(name);
            places.iter().any(same)
        };
        if words.is_some() && own.iter().all(is_there) {
            return Ok(Some(Target::Skip));
        }
        match places.as_slice() {
            [] => Ok(Some(Target::New)),
            [one] if one.part.names().iter().all(|name| own.contains(name)) => Ok(Some(Target::Old(one.clone()))),
            [one, ..] => {
                let shared = one.part.names().into_iter().find(|name| own.contains(name)).unwrap_or_default();
                let line = line_of(self.old, one.part.core.start);
                let text = nth_line(self.old, line).trim().to_owned();
                Err(MergeError::Together { name: shared.to_owned(), text, line })
            }
        }
    }

    /// The old declarations of any name in `new`.
    fn sharing(&self, scope: Scope<'a>, olds: &'a [Part], new: &Part) -> Vec<Place<'a>> {
        let (own, words) = (new.names(), accessor(new, self.new));
        // In Ruby, a reader and a writer are different methods.
        let is_other = |old: &Part| match (accessor(old, self.old), words) {
            (Some(was), Some(now)) => was != now && was != "attr_accessor" && now != "attr_accessor",
            (was, now) => was.is_some() != now.is_some(),
        };
        let shares = |old: &Part| old.names().iter().any(|name| own.contains(name)) && !is_other(old);
        if scope.is_some() {
            let here = olds.iter().filter(|old| shares(old));
            return here.map(|part| Place { part, around: scope.into_iter().collect() }).collect();
        }
        let mut places = self.places(shares);
        if let Some(name) = self.hints.container.as_deref() {
            places.retain(|place| place.is_in(name));
        }
        places.retain(|place| self.language != "c" || self.hints.container.is_some() || !place.is_member());
        self.narrow(&mut places, |place| place.is_member() == new.has_receiver);
        places
    }

    /// A statement with several names, treated as a single value to be added next to values.
    pub fn as_value(new: &Part) -> Part {
        let name = new.names().join(", ");
        Part { sort: Sort::Value, name, ..new.clone() }
    }
}
