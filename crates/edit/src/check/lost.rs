//! Finds definitions that a change lost or duplicated, and existing code that it repeated.

use std::collections::{HashMap, HashSet};

use super::Pair;
use crate::check::unfinished::each;
use crate::index::is_queried;
use crate::index::parts::{Part, Sort};

/// Identifies a definition: the names of the definitions around it, its owner type, and its own
/// name.
type Key = (Vec<String>, String);

fn key(part: &Part, around: &[&Part]) -> Key {
    let names = around.iter().filter(|part| part.is_definition()).map(|part| part.name.clone());
    (names.chain(part.owner.clone()).collect(), part.name.clone())
}

/// A definition of the old text outside any function.
struct Old {
    key: Key,
    /// Whether it is a value directly inside a struct, enum or object.
    is_entry: bool,
}

/// Definitions of the old text that are missing from the new one. Moved definitions, renamed
/// entries and names in `asked` are not reported.
pub fn lost(pair: &Pair, asked: &[String]) -> Vec<String> {
    let mut old: Vec<Old> = Vec::new();
    each(&pair.before_parts, &mut |part, around| {
        let in_function = around.iter().any(|part| matches!(part.sort, Sort::Function | Sort::Value | Sort::Test));
        if part.is_definition() && !in_function {
            let is_entry = around.last().is_some_and(|part| part.sort == Sort::Record) && part.sort == Sort::Value;
            old.push(Old { key: key(part, around), is_entry });
        }
    });
    let mut new: HashMap<Key, usize> = HashMap::new();
    each(&pair.after_parts, &mut |part, around| {
        if part.is_definition() {
            *new.entry(key(part, around)).or_default() += 1;
        }
    });
    // Each of several overloads counts, and so do both a declaration and its definition.
    let mut times: HashMap<&Key, usize> = HashMap::new();
    old.iter().filter(|_| is_queried(pair.language)).for_each(|one| *times.entry(&one.key).or_default() += 1);
    let is_gone = |key: &Key| match new.get(key) {
        Some(now) => times.get(key).is_some_and(|was| now < was),
        None => true,
    };
    let before: HashSet<&Key> = old.iter().map(|one| &one.key).collect();
    let added: Vec<&Key> = new.keys().filter(|key| !before.contains(key)).collect();
    let gone: Vec<&Old> = old.iter().filter(|one| is_gone(&one.key)).collect();
    let is_asked = |name: &str| asked.iter().any(|one| one == name || one.rsplit(['.', ':']).next() == Some(name));
    let mut reported = HashSet::new();
    let mut found = Vec::new();
    for Old { key: (around, name), is_entry } in gone.iter().copied() {
        // Not reported: members of a lost container, moved definitions, and renamed entries.
        let with_container = gone.iter().any(|other| {
            around.last() == Some(&other.key.1) && around.starts_with(&other.key.0) && other.key.0.len() < around.len()
        });
        let moved = added.iter().any(|(_, other)| other == name);
        let renamed = *is_entry && added.iter().any(|(other, _)| other == around);
        let allowed = is_asked(name) || around.iter().any(|outer| is_asked(outer));
        if with_container || moved || renamed || allowed || !reported.insert((around, name)) {
            continue;
        }
        let of = around.last().map(|outer| format!(" of `{outer}`")).unwrap_or_default();
        found.push(format!("`{name}`{of} was in {} and is gone; nobody asked for that, so keep it", pair.path));
    }
    found
}

/// Functions and types defined several times in the same place, and more often than before.
pub fn doubled(pair: &Pair) -> Vec<String> {
    let count = |items: &[Part], text: &str| {
        let mut counts: HashMap<(Key, String), (usize, usize)> = HashMap::new();
        each(items, &mut |part, around| {
            if let Some(variant) = distinction(part, around, text, pair.language) {
                let entry = counts.entry((key(part, around), variant)).or_default();
                *entry = (entry.0 + 1, part.core.start);
            }
        });
        counts
    };
    let before = count(&pair.before_parts, pair.before);
    let mut found: Vec<(usize, String)> = Vec::new();
    for (key, (times, at)) in count(&pair.after_parts, pair.after) {
        if times > 1 && before.get(&key).is_none_or(|(old, _)| times > *old) {
            found.push((at, format!("`{}` is defined {times} times in the same place; keep one", key.0.1)));
        }
    }
    found.sort_unstable();
    found.into_iter().map(|(_, message)| message).collect()
}

/// Distinguishes definitions with the same name in the same place; `None` for those that may occur
/// more than once.
fn distinction(part: &Part, around: &[&Part], text: &str, language: &str) -> Option<String> {
    let is_compared = matches!(part.sort, Sort::Function | Sort::Class | Sort::Record);
    let may_repeat = matches!(part.variant.as_str(), "overload" | "register") || part.variant.starts_with("impl");
    let special = matches!(part.name.as_str(), "_" | "init" | "default" | "module.exports" | "export {}");
    // Branches of `if` and `else`, `cfg` variants, and Python functions with decorators such as `@x.setter` are
    // alternatives. Definitions inside a function are not compared.
    let has_cfg = |part: &&Part| part.attributes.iter().any(|a| text.get(a.clone()).is_some_and(|a| a.contains("cfg")));
    let alternative = around.iter().any(|part| !part.is_definition() || part.sort == Sort::Function || has_cfg(part))
        || part.attributes.iter().any(|range| {
            let words = text.get(range.clone()).unwrap_or_default();
            words.contains("cfg")
                || language == "python"
                    && !["property", "staticmethod", "classmethod"].iter().any(|w| words.contains(w))
        });
    // Two `impl` blocks for different traits or type arguments may each have a method with the same
    // name.
    let impl_head = around.last().filter(|part| part.variant.starts_with("impl")).and_then(|part| {
        let head = text.get(part.core.start..part.body.as_ref()?.start)?;
        Some(head.split_whitespace().collect::<String>())
    });
    let impl_head = impl_head.unwrap_or_default();
    if !is_compared || may_repeat || special || alternative {
        return None;
    }
    let core = text.get(part.core.clone()).unwrap_or_default();
    // Overloads differ in their parameters.
    let head = if is_queried(language) && part.sort == Sort::Function {
        let end = part.body.as_ref().map_or(part.core.end, |body| body.start);
        text.get(part.core.start..end).unwrap_or_default().split_whitespace().collect()
    } else {
        String::new()
    };
    let is_static = core.split_whitespace().take(3).any(|word| word == "static");
    // In some languages a type and a value, or a declaration and an assignment, may share a name.
    let owner = part.owner.clone().unwrap_or_default();
    Some(format!("{} {:?} {impl_head} {is_static} {owner} {head}", part.variant, part.sort))
}

/// A run of this many identical lines counts as a copy; similar functions share fewer.
const REPEATED_LINES: usize = 16;

/// Reports a run of old lines that occurs once more in the new text, because the model repeated
/// existing code. Test files are skipped.
pub fn repeated(pair: &Pair) -> Option<String> {
    if crate::testing::is_test_file(pair.path) {
        return None;
    }
    fn lines(text: &str) -> Vec<&str> {
        text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
    }
    fn counted<'t>(lines: &'t [&'t str]) -> HashMap<&'t [&'t str], usize> {
        let mut found = HashMap::new();
        lines.windows(REPEATED_LINES).for_each(|window| *found.entry(window).or_default() += 1);
        found
    }
    let (before, after) = (lines(pair.before), lines(pair.after));
    let (known, now) = (counted(&before), counted(&after));
    let is_new = |window: &&[&str]| known.get(window).is_some_and(|times| now[window] > *times);
    let first = after.windows(REPEATED_LINES).find(is_new)?[0];
    Some(format!("{} already has the lines from `{first}` on; write only new and changed code", pair.path))
}
