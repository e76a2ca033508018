//! Checks the text after a merge in a language that a query describes: it must parse and contain
//! each definition the right number of times.
//!
//! A query describes lists and blocks less precisely than a walk through the tree, so the result is
//! read again.

use std::collections::{HashMap, HashSet};

use super::overloads::distinction;
use super::{MergeError, parse, shown};
use crate::check::new_fault;
use crate::index::language_of;
use crate::index::parts::{NAME, Part, Parts, Sort, parts};
use crate::text::{Source, line_of};

/// Identifies a definition: the names around it, its own name, its variant, and the features that
/// distinguish it from other overloads.
type Key = (Vec<String>, String, String, Sort, Vec<String>);

/// # Errors
/// The text after the merge no longer parses, defines something twice, or lacks something written.
/// `left_out` are the offsets of written parts that do not go into the file.
pub fn verified(
    path: &str,
    (before, old): (&str, &Parts),
    (new, left_out): (&parse::Written, &HashSet<usize>),
    after: &str,
) -> Result<(), MergeError> {
    let language = language_of(path);
    let after = Source::new(after).text;
    let now = parts(path, &after).ok_or_else(|| MergeError::NoGrammar { path: path.to_owned() })?;
    if now.faults.len() > old.faults.len() {
        let line = new_fault((before, &old.faults), (&after, &now.faults)).unwrap_or(now.faults[0]);
        return Err(MergeError::Breaks { path: path.to_owned(), line, text: shown(&after, line) });
    }
    let (was, is) = (counted(language, &old.items, before), counted(language, &now.items, &after));
    let is_doubled = |(key, places): &(&Key, &Vec<usize>)| was.get(*key).is_some_and(|old| old.len() < places.len());
    if let Some((key, places)) = is.iter().filter(is_doubled).min_by_key(|(_, places)| places[0]) {
        let lines = places.iter().map(|at| line_of(&after, *at).to_string()).collect();
        return Err(MergeError::Doubled { name: key.1.clone(), lines });
    }
    let has: HashSet<(&str, &[String])> = is.keys().map(|key| (key.1.as_str(), key.4.as_slice())).collect();
    let mut lost = None;
    each(&new.items, &mut |part, _| {
        // Classes are merged with those in the file.
        let is_class = !matches!(part.sort, Sort::Function | Sort::Value);
        let is_there =
            is_class || has.contains(&(part.name.as_str(), distinction(language, part, &new.text).as_slice()));
        if lost.is_none() && !is_there && !left_out.contains(&part.core.start) {
            lost = Some(part.name.clone());
        }
    });
    lost.map_or(Ok(()), |name| Err(MergeError::NotPlaced { name }))
}

/// Calls `look` with each definition outside functions, and the definitions around it.
fn each<'p>(items: &'p [Part], look: &mut dyn FnMut(&'p Part, &[&'p Part])) {
    let mut one = |part: &'p Part, around: &[&'p Part]| {
        let is_inner = around.iter().any(|outer| outer.sort == Sort::Function);
        if part.is_definition() && part.variant != NAME && !is_inner {
            look(part, around);
        }
    };
    for item in items {
        one(item, &[]);
        item.walk(&mut Vec::new(), &mut one);
    }
}

/// The offsets of a text's definitions, by key.
fn counted(language: &str, items: &[Part], text: &str) -> HashMap<Key, Vec<usize>> {
    let mut found: HashMap<Key, Vec<usize>> = HashMap::new();
    each(items, &mut |part, around| {
        // An extension has the members of its type.
        let variant =
            |part: &Part| if part.variant.starts_with("impl") { "" } else { part.variant.as_str() }.to_owned();
        let names = around.iter().filter(|outer| outer.is_definition());
        let names =
            names.map(
                |outer| if variant(outer) == "object" { format!("object {}", outer.name) } else { outer.name.clone() },
            );
        let path: Vec<String> = names.chain(part.owner.clone()).collect();
        // A class may be opened in several blocks.
        if matches!(part.sort, Sort::Function | Sort::Value) {
            let variant = if part.variant == "singleton" { "self".to_owned() } else { variant(part) };
            let key = (path, part.name.clone(), variant, part.sort, distinction(language, part, text));
            found.entry(key).or_default().push(part.core.start);
        }
    });
    found
}
