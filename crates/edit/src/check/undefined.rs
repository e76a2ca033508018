//! Finds names and attributes that new code uses but nothing defines.

use std::collections::HashSet;

use super::Pair;
use crate::base::near::nearest;
use crate::check::unfinished::each;
use crate::index::parts::{Sort, definitions};
use crate::index::uses::{Members, members, unbound};
use crate::text::line_of;

/// Attributes that every JavaScript object inherits.
const INHERITED: &[&str] = &["constructor", "toString", "hasOwnProperty", "valueOf", "isPrototypeOf"];

/// Names that the new text uses but does not bind. Names already unbound in the old text are
/// skipped.
pub fn names(pair: &Pair, known: &dyn Fn(&str) -> bool) -> Vec<String> {
    let Some(used) = unbound(pair.path, pair.after) else { return Vec::new() };
    let old = if pair.before.trim().is_empty() { Some(Vec::new()) } else { unbound(pair.path, pair.before) };
    let Some(old) = old else { return Vec::new() };
    let old: HashSet<&str> = old.iter().map(|one| one.name.as_str()).collect();
    let spans = definitions(pair.path, pair.after);
    // A script without imports and exports may use names that other scripts on the page define.
    let is_module =
        pair.language == "python" || ["import ", "export ", "require("].iter().any(|word| pair.after.contains(word));
    let mut reported = HashSet::new();
    let mut found = Vec::new();
    for one in used.iter().filter(|one| !old.contains(one.name.as_str()) && reported.insert(one.name.clone())) {
        let is_known = known(&one.name);
        if is_known && !is_module {
            continue;
        }
        let inside =
            spans.iter().rev().find(|span| span.bytes.start <= one.bytes.start && one.bytes.end <= span.bytes.end);
        let place = inside.map(|span| format!("in `{}` ", span.name)).unwrap_or_default();
        let names = spans.iter().filter(|span| span.container.is_empty()).map(|span| span.name.as_str());
        let member = spans.iter().find(|span| span.name == one.name && !span.container.is_empty());
        let way_out = match (is_known, member, nearest(&one.name, names)) {
            (_, Some(span), _) => format!("it is a member of `{}`: call it on one", span.container.join(".")),
            (true, ..) => "the project defines it in another file: import it".to_owned(),
            (_, _, Some(near)) if near.len() > 3 => format!("did you mean `{near}`?"),
            _ => "define it, import it, or use what the file has".to_owned(),
        };
        let line = line_of(pair.after, one.bytes.start);
        let fact = if is_known { "is not imported" } else { "is defined nowhere" };
        found.push(format!("`{}` is used {place}(line {line}) but {fact}; {way_out}", one.name));
    }
    found
}

/// Attributes of `self` or `this` that their class neither sets nor defines.
pub fn attributes(pair: &Pair) -> Vec<String> {
    let old = members(pair.path, pair.before);
    let word = if pair.language == "python" { "self" } else { "this" };
    let mut found = Vec::new();
    for class in members(pair.path, pair.after).iter().filter(|class| is_closed(class, pair)) {
        let was = old.iter().filter(|other| other.name == class.name);
        // If the old class already used attributes that it does not set, they come from elsewhere.
        if was.clone().any(|was| was.is_open || unset(was).next().is_some()) {
            continue;
        }
        let mut reported = HashSet::new();
        for one in unset(class).filter(|one| reported.insert(one.name.clone())) {
            if pair.after.contains(&format!(".{} =", one.name)) || INHERITED.contains(&one.name.as_str()) {
                continue;
            }
            let line = line_of(pair.after, one.bytes.start);
            let mut has: Vec<&str> =
                class.defined.iter().map(String::as_str).filter(|name| !name.starts_with("__")).collect();
            has.sort_unstable();
            has.truncate(12);
            found.push(format!(
                "`{word}.{}` is used (line {line}) but nothing in `{}` sets or defines it; it has {}",
                one.name,
                class.name,
                has.join(", ")
            ));
        }
    }
    found
}

/// Whether the file shows all attributes of a class: it has no base, no class derives from it, and
/// it is not a mixin.
fn is_closed(class: &Members, pair: &Pair) -> bool {
    let mut is_base = false;
    each(&pair.after_parts, &mut |part, _| {
        let head = part.body.as_ref().and_then(|body| pair.after.get(part.core.start..body.start)).unwrap_or_default();
        let mut words = head.split(|c: char| !c.is_alphanumeric() && c != '_');
        is_base |= part.sort == Sort::Class && part.name != class.name && words.any(|word| word == class.name);
    });
    let abstracts = ["Mixin", "Base", "Abstract"].iter().any(|word| class.name.contains(word));
    !class.is_open && !is_base && !abstracts
}

/// Attributes that the class uses but does not define.
fn unset(class: &Members) -> impl Iterator<Item = &crate::index::uses::Use> {
    class.used.iter().filter(|one| !class.defined.contains(&one.name) && !one.name.starts_with("__"))
}
