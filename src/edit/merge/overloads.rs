//! Tells definitions of one name apart by their heads, in languages that may have several in one place.

use super::place::Place;
use super::{Job, MergeError};
use crate::base::is_listed;
use crate::edit::text::line_of;
use crate::index::is_queried;
use crate::index::parts::{Part, Sort};

/// Whether several functions of one place may have one name.
pub fn has_overloads(language: &str) -> bool {
    is_listed("cpp csharp java kotlin scala swift", language)
}

/// The head of a part, all that is before its body, without white space.
pub fn head(part: &Part, text: &str) -> String {
    let end = part.body.as_ref().map_or(part.core.end, |body| body.start);
    let head: String = text[part.core.start..end].split_whitespace().collect();
    head.trim_end_matches(['{', '=', ';']).to_owned()
}

/// The head behind the name: the parameters, and what follows them.
fn parameters(part: &Part, text: &str) -> String {
    let head = head(part, text);
    head.split_once(&format!("{}(", part.name)).map_or(head.clone(), |(_, behind)| behind.to_owned())
}

/// Whether two functions have the same parameters.
pub fn is_same_head((one, text): (&Part, &str), (other, other_text): (&Part, &str)) -> bool {
    parameters(one, text) == parameters(other, other_text)
}

/// Whether a part of the file and a written one are of one kind, so that the written one may replace it.
pub fn is_of_kind(language: &str, old: &Part, new: &Part) -> bool {
    let is_type = |part: &Part| matches!(part.sort, Sort::Class | Sort::Record);
    !is_queried(language) || old.sort == new.sort || is_type(old) && is_type(new)
}

impl<'a> Job<'a> {
    /// Of several places of one name those with the head of `new`, if there are any.
    pub fn with_head_of(&self, new: &Part, places: &mut Vec<Place<'a>>) {
        if places.len() > 1 && is_queried(self.language) {
            self.narrow(places, |place| is_same_head((place.part, self.old), (new, self.new)));
            self.narrow(places, |place| head(place.part, self.old) == head(new, self.new));
        }
    }

    /// The place that one of several written functions of one name replaces, if its head shows it. `place` is the only one in the file.
    ///
    /// # Errors
    /// None of the written ones has the head that is in the file.
    pub fn of_several(&self, place: Place<'a>, new: &Part, news: &[&Part]) -> Result<Option<Place<'a>>, MergeError> {
        let is_same = |new: &Part| is_same_head((place.part, self.old), (new, self.new));
        match (is_same(new), news.iter().any(|new| is_same(new))) {
            (true, _) => Ok(Some(place)),
            (false, true) => Ok(None),
            (false, false) => Err(self.ambiguous(new, &[place])),
        }
    }

    /// Refuses a method that the file writes outside of its type, `int A::f()`, and that was written without that.
    pub fn refuse_other_head(&self, new: &Part) -> Result<(), MergeError> {
        let container = self.hints.container.as_deref().map(last_of);
        let is_it = |part: &Part| {
            part.name == new.name && part.sort == new.sort && part.owner.is_some() && part.owner.as_deref() == container
        };
        let places = if new.owner.is_none() && is_queried(self.language) { self.places(is_it) } else { Vec::new() };
        match places.first() {
            Some(place) => {
                let end = place.part.body.as_ref().map_or(place.part.core.end, |body| body.start);
                let head = self.old[place.part.core.start..end].split_whitespace().collect::<Vec<_>>().join(" ");
                let head = head.trim_end_matches(['{', ' ']).to_owned();
                let line = line_of(self.old, place.part.core.start);
                Err(MergeError::OtherHead { name: new.name.clone(), head, line })
            }
            None => Ok(()),
        }
    }
}

/// The last name of a path of containers.
pub fn last_of(path: &str) -> &str {
    path.rsplit(['.', ':']).next().unwrap_or(path)
}
