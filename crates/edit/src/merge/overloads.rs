//! Distinguishes definitions of the same name by their heads, in languages that allow several in
//! one place.

use super::place::Place;
use super::{Job, MergeError};
use crate::base::is_listed;
use crate::heads::{parameters, squeezed};
use crate::index::is_queried;
use crate::index::parts::{Part, Sort};
use crate::text::line_of;

/// Whether several functions in one place may share a name.
pub fn has_overloads(language: &str) -> bool {
    is_listed("cpp csharp java kotlin scala swift", language)
}

/// The head of a part: everything before its body.
fn head_of<'t>(part: &Part, text: &'t str) -> &'t str {
    let end = part.body.as_ref().map_or(part.core.end, |body| body.start);
    text[part.core.start..end].trim_end_matches(|c: char| c.is_whitespace() || "{=;".contains(c))
}

/// The head of a part without white space.
pub fn head(part: &Part, text: &str) -> String {
    squeezed(head_of(part, text))
}

/// The head of a part as shown in messages.
pub fn shown_head(part: &Part, text: &str) -> String {
    /// Maximum length of a head in messages, in characters.
    const SHOWN_CHARS_MAX: usize = 120;
    let head = head_of(part, text).split_whitespace().collect::<Vec<_>>().join(" ");
    crate::base::cut_line(&head, SHOWN_CHARS_MAX)
}

/// The features that distinguish a function from others with its name; empty where the name is
/// enough.
pub fn distinction(language: &str, part: &Part, text: &str) -> Vec<String> {
    match part.sort {
        Sort::Function if has_overloads(language) => parameters(language, &part.name, head_of(part, text)),
        Sort::Value if language == "ruby" => accessor(part, text).map(str::to_owned).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// The Ruby keyword that declares methods for reading or writing a variable.
pub fn accessor<'t>(part: &Part, text: &'t str) -> Option<&'t str> {
    let is_accessor = |word: &&str| matches!(*word, "attr_reader" | "attr_writer" | "attr_accessor");
    // A word like `private` may precede it.
    text[part.core.clone()].split(|c: char| !c.is_alphanumeric() && c != '_').take(2).find(is_accessor)
}

/// Whether a part of the file and a written one are of the same kind, so that the written part may
/// replace the old one.
pub fn is_of_kind(language: &str, old: &Part, new: &Part) -> bool {
    let is_type = |part: &Part| matches!(part.sort, Sort::Class | Sort::Record);
    !is_queried(language) || old.owner == new.owner && (old.sort == new.sort || is_type(old) && is_type(new))
}

impl<'a> Job<'a> {
    /// Whether an old and a written function have the same parameters.
    pub fn is_same_head(&self, old: &Part, new: &Part) -> bool {
        distinction(self.language, old, self.old) == distinction(self.language, new, self.new)
    }

    /// Narrows several places of one name to those with the head of `new`, if any.
    pub fn with_head_of(&self, new: &Part, places: &mut Vec<Place<'a>>) {
        if places.len() > 1 && is_queried(self.language) {
            let (own, whole) = (distinction(self.language, new, self.new), head(new, self.new));
            self.narrow(places, |place| distinction(self.language, place.part, self.old) == own);
            self.narrow(places, |place| head(place.part, self.old) == whole);
        }
    }

    /// The only old function of a name if `new`, one of the written functions `news` with that
    /// name, replaces it; `None` if `new` is an additional overload.
    ///
    /// # Errors
    /// It has other parameters, so that `new` may be a changed version of it or an overload.
    pub fn only_one(&self, place: Place<'a>, new: &Part, news: &[&Part]) -> Result<Option<Place<'a>>, MergeError> {
        let is_overloaded = new.sort == Sort::Function && has_overloads(self.language);
        let is_hinted = self.hints.line.is_some_and(|line| self.lines(place.part).contains(&line));
        if !is_overloaded || self.is_same_head(place.part, new) {
            return Ok(Some(place));
        }
        if self.hints.is_overload || news.iter().any(|other| self.is_same_head(place.part, other)) {
            return Ok(None);
        }
        if is_hinted && news.len() == 1 {
            return Ok(Some(place));
        }
        let line = line_of(self.old, place.part.core.start);
        Err(MergeError::OtherParameters { name: new.name.clone(), head: shown_head(place.part, self.old), line })
    }

    /// Refuses a method that the file defines outside its type, `int A::f()`, if it was not written
    /// in that form.
    pub fn refuse_other_head(&self, new: &Part) -> Result<(), MergeError> {
        let container = self.hints.container.as_deref().map(last_of);
        let is_it = |part: &Part| {
            part.name == new.name && part.sort == new.sort && part.owner.is_some() && part.owner.as_deref() == container
        };
        let places = if new.owner.is_none() && is_queried(self.language) { self.places(is_it) } else { Vec::new() };
        match places.first() {
            Some(place) => Err(MergeError::OtherHead {
                name: new.name.clone(),
                head: shown_head(place.part, self.old),
                line: line_of(self.old, place.part.core.start),
            }),
            None => Ok(()),
        }
    }
}

/// The last name in a path of containers.
pub fn last_of(path: &str) -> &str {
    path.rsplit(['.', ':', '\\']).next().unwrap_or(path)
}
