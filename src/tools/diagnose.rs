//! Lists damage that a change may have done: syntax errors, unknown names, removed definitions,
//! callers of a changed signature.

use std::collections::HashMap;

use regex::Regex;

use crate::edit;
use crate::index::parts::{Sort, Span, definitions};
use crate::index::{Graph, language_of};
use crate::protocol::FileChange;
use crate::tools::Context;
use crate::tools::confine::Access;
use crate::tools::files::change::text_of;
use crate::tools::outcome::cut_line;

/// Maximum number of reported lines for all changes together; later problems usually follow from
/// the first.
const SAID_MAX: usize = 12;
/// Maximum number of places per line, and of characters of their code.
const PLACES_MAX: usize = 6;
const CODE_CHARS: usize = 80;

/// The possible damage from `changes`, which have already been made: one line each, most certain
/// first. A definition that was removed or has other parameters is followed by the places that use
/// it according to the index, except for places that no longer contain its name.
pub fn diagnose(context: &Context, changes: &[FileChange]) -> Vec<String> {
    let graph = context.index.as_ref().and_then(|index| index.graph().ok());
    let look = Look { context, graph: graph.as_deref(), changes };
    let mut said: Vec<String> = changes.iter().flat_map(|change| look.at(change)).collect();
    let more = said.len().saturating_sub(SAID_MAX);
    said.truncate(SAID_MAX);
    if more > 0 {
        said.push(format!("{more} more of this kind"));
    }
    said
}

struct Look<'a> {
    context: &'a Context,
    graph: Option<&'a Graph>,
    changes: &'a [FileChange],
}

/// Identifies a definition: the names of the definitions around it, and its own name.
type Key<'s> = (&'s [String], &'s str);

impl Look<'_> {
    fn at(&self, change: &FileChange) -> Vec<String> {
        let (path, old) = (change.path.as_str(), change.old.as_deref().unwrap_or_default());
        let Some(new) = change.new.as_deref() else { return self.without_file(path) };
        let before = definitions(path, old);
        // Removed definitions are reported below with their uses.
        let names: Vec<String> = before.iter().map(|span| span.name.clone()).collect();
        let known = |name: &str| self.knows(name);
        let mut said: Vec<String> =
            edit::problems(path, old, new, &names, &known).into_iter().map(|why| within(path, &why)).collect();
        let after = definitions(path, new);
        let is_whole = !said.iter().any(|why| why.contains("does not parse"));
        if is_whole {
            said.extend(self.gone(path, (&before, &after), new));
            said.extend(self.called_otherwise(path, (old, &before), (new, &after)));
        }
        said
    }

    /// Whether the project defines that name anywhere.
    fn knows(&self, name: &str) -> bool {
        let is_new = |change: &FileChange| {
            let text = change.new.as_deref().unwrap_or_default();
            definitions(&change.path, text).iter().any(|span| span.name == name)
        };
        self.graph.is_some_and(|graph| !graph.named(name).is_empty()) || self.changes.iter().any(is_new)
    }

    /// The files that import a removed file.
    fn without_file(&self, path: &str) -> Vec<String> {
        let found = self.graph.map(|graph| graph.dependents(path)).unwrap_or_default();
        let gone = |path: &str| self.changes.iter().any(|change| change.path == path && change.new.is_none());
        let places = found.into_iter().filter(|near| !gone(&near.node.path)).map(|near| (near.node.path, near.line));
        let stem = path.rsplit('/').next().and_then(|name| name.split('.').next()).unwrap_or(path);
        let still = self.still(places.collect(), stem);
        if still.is_empty() {
            Vec::new()
        } else {
            vec![format!("{path} is gone but still imported: {}", listed(&still))]
        }
    }

    /// Definitions that are missing from the new text.
    fn gone(&self, path: &str, (before, after): (&[Span], &[Span]), new: &str) -> Vec<String> {
        let now: Vec<Key> = after.iter().map(key).collect();
        let outside = |span: &&Span| !is_inner(span, before) && span.sort != Sort::Test;
        let gone: Vec<&Span> = before.iter().filter(outside).filter(|span| !now.contains(&key(span))).collect();
        // Members of a removed container are not reported; a member of the same name in another
        // container means that it has moved.
        let with_container = |span: &Span| gone.iter().any(|other| span.container.last() == Some(&other.name));
        let moved = |span: &Span| after.iter().any(|other| other.name == span.name);
        let (mut said, mut unused): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        for span in gone.iter().filter(|span| !with_container(span) && !moved(span)) {
            let uses = self.uses(path, span, new);
            let name = shown(span);
            match uses.is_empty() {
                true => unused.push(format!("`{name}`")),
                false => said.push(format!("`{name}` is gone from {path} but still used: {}", listed(&uses))),
            }
        }
        unused.dedup();
        // An alias (`exports.name`) of a reported name is not listed separately.
        unused.retain(|one| !said.iter().any(|of| of.starts_with(&format!("`{}` is gone", last_name(one)))));
        if !unused.is_empty() {
            let more = if unused.len() > SAID_MAX { ", …" } else { "" };
            unused.truncate(SAID_MAX);
            said.push(format!("no longer in {path}: {}{more}; no uses are known", unused.join(", ")));
        }
        said
    }

    /// Functions whose parameters or result have changed so that calls may now be wrong, with their
    /// callers.
    fn called_otherwise(
        &self,
        path: &str,
        (old, before): (&str, &[Span]),
        (new, after): (&str, &[Span]),
    ) -> Vec<String> {
        let mut earlier: HashMap<Key, Vec<&Span>> = HashMap::new();
        before.iter().for_each(|span| earlier.entry(key(span)).or_default().push(span));
        let mut said = Vec::new();
        for now in after.iter().filter(|span| span.sort == Sort::Function) {
            // Overloads are not compared.
            let [was] = earlier.get(&key(now)).map(Vec::as_slice).unwrap_or_default() else { continue };
            let [was_head, now_head] = [(*was, old), (now, new)].map(|(span, text)| Head::of(span, text));
            if !was_head.breaks(&now_head, language_of(path)) || is_inner(now, after) {
                continue;
            }
            let uses: Vec<Use> = self.uses(path, now, new).into_iter().filter(|one| one.is_call(&now.name)).collect();
            if !uses.is_empty() {
                let (name, uses) = (shown(now), listed(&uses));
                said.push(format!("`{name}` took {was_head} and now takes {now_head}; its calls: {uses}"));
            }
        }
        said
    }

    /// The uses of a definition in `path`: in that file's new text, outside the head; in other
    /// files, according to the index.
    fn uses(&self, path: &str, span: &Span, new: &str) -> Vec<Use> {
        let name = span.name.as_str();
        let handle = match span.container.last() {
            Some(container) => format!("{path}::{container}.{name}"),
            None => format!("{path}::{name}"),
        };
        let Some(word) = word(name) else { return Vec::new() };
        let own: Vec<usize> = definitions(path, new)
            .iter()
            .filter(|one| one.name == name)
            .map(|one| one.body.as_ref().map_or(one.bytes.clone(), |body| one.bytes.start..body.start))
            .flat_map(|head| edit::line_of(new, head.start)..=edit::line_of(new, head.end))
            .collect();
        let here = new.lines().enumerate().filter(|(at, line)| {
            // The name of a member alone is weak evidence, since many definitions share it.
            let is_use = word.is_match(line) && !edit::is_comment(line.trim());
            is_use && !own.contains(&(at + 1)) && (span.container.is_empty() || is_called(line, name))
        });
        let mut uses: Vec<Use> = here.map(|(at, line)| Use::new(path, at + 1, line)).collect();
        let Some(graph) = self.graph else { return uses };
        let callers = graph.callers(&handle).into_iter().chain(graph.dependents(&handle));
        let mut places: Vec<(String, usize)> = callers.map(|near| (near.node.path, near.line)).collect();
        if graph.named(&handle).is_empty() && span.container.is_empty() {
            // If the index already contains the change, the uses are references with an unknown
            // target.
            let around: Vec<String> = graph.dependents(path).into_iter().map(|near| near.node.path).collect();
            let unknown = self.context.index.as_ref().and_then(|index| index.unresolved(name).ok()).unwrap_or_default();
            places.extend(unknown.into_iter().filter(|(of, ..)| around.contains(of)).map(|(of, line, _)| (of, line)));
        }
        places.retain(|(of, _)| of != path);
        uses.extend(self.still(places, name));
        uses
    }

    /// The places whose line still contains the name on disk.
    fn still(&self, mut places: Vec<(String, usize)>, name: &str) -> Vec<Use> {
        places.sort();
        places.dedup();
        let Some(word) = word(name) else { return Vec::new() };
        let mut texts: HashMap<String, String> = HashMap::new();
        let mut uses = Vec::new();
        for (path, line) in places {
            let text = texts.entry(path.clone()).or_insert_with(|| {
                let file = self.context.root.resolve(&path, Access::Read);
                file.ok().and_then(|file| text_of(&file).ok()).unwrap_or_default()
            });
            let code = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
            if word.is_match(code) {
                uses.push(Use::new(&path, line, code));
            }
        }
        uses
    }
}

/// A line that uses a name.
struct Use {
    path: String,
    line: usize,
    code: String,
}

impl Use {
    fn new(path: &str, line: usize, code: &str) -> Use {
        Use { path: path.to_owned(), line, code: cut_line(code.trim(), CODE_CHARS) }
    }

    fn is_call(&self, name: &str) -> bool {
        is_called(&self.code, name)
    }
}

fn listed(uses: &[Use]) -> String {
    let shown = uses.iter().take(PLACES_MAX).map(|one| format!("{}:{} `{}`", one.path, one.line, one.code));
    let more = uses.len().saturating_sub(PLACES_MAX);
    let more = if more > 0 { format!(", {more} more") } else { String::new() };
    format!("{}{more}", shown.collect::<Vec<_>>().join(", "))
}

/// Prefixes `why` with the file that it concerns.
fn within(path: &str, why: &str) -> String {
    if why.contains(path) { why.to_owned() } else { format!("{path}: {why}") }
}

fn key(span: &Span) -> Key<'_> {
    (&span.container, &span.name)
}

fn shown(span: &Span) -> String {
    span.container.last().map_or_else(|| span.name.clone(), |container| format!("{container}.{}", span.name))
}

/// The last name of a dotted path in backticks.
fn last_name(name: &str) -> &str {
    let name = name.trim_matches('`');
    name.rsplit('.').next().unwrap_or(name)
}

/// Whether a definition is inside a function, where no other code can use it.
fn is_inner(span: &Span, all: &[Span]) -> bool {
    let is_around = |other: &&Span| other.bytes.start < span.bytes.start && span.bytes.end <= other.bytes.end;
    all.iter().filter(is_around).any(|other| matches!(other.sort, Sort::Function | Sort::Value | Sort::Test))
}

fn word(name: &str) -> Option<Regex> {
    Regex::new(&format!(r"(?:^|[^\w$]){}(?:[^\w$]|$)", regex::escape(name))).ok()
}

fn is_called(line: &str, name: &str) -> bool {
    let behind = |at: usize| line[at + name.len()..].trim_start();
    line.match_indices(name)
        .any(|(at, _)| behind(at).starts_with(['(', '<', '!', '`']) || behind(at).starts_with("::<"))
}

/// The parameters and the result of a function.
struct Head {
    /// Name and type of each parameter, and whether it is optional.
    parameters: Vec<(String, Option<String>, bool)>,
    result: Option<String>,
}

impl std::fmt::Display for Head {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let one = |(name, ty, may_miss): &(String, Option<String>, bool)| {
            let name = if name.is_empty() { ty.as_deref().unwrap_or("…") } else { name };
            format!("{name}{}", if *may_miss { "=…" } else { "" })
        };
        let all: Vec<String> = self.parameters.iter().map(one).collect();
        write!(f, "({}){}", all.join(", "), self.result.as_deref().unwrap_or_default())
    }
}

impl Head {
    fn of(span: &Span, text: &str) -> Head {
        let plain = |range: std::ops::Range<usize>| {
            text.get(range).unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let parameters = span
            .signature
            .parameters
            .iter()
            // A separator between parameters (`*`, `/`) has neither a name nor a type.
            .filter(|one| !one.name.is_empty() || one.annotation.is_some())
            .map(|one| (one.name.clone(), one.annotation.clone().map(plain), one.default.is_some()));
        let result = span.signature.returns.clone().map(|range| format!(" {}", plain(range)));
        Head { parameters: parameters.collect(), result }
    }

    /// Whether calls that fit this head may no longer fit `now`.
    fn breaks(&self, now: &Head, language: &str) -> bool {
        let required = |head: &Head| head.parameters.iter().filter(|one| !one.2).count();
        let place = |name: &str| now.parameters.iter().position(|one| one.0 == name);
        let other_type = |a: &Option<String>, b: &Option<String>| a.is_some() && b.is_some() && a != b;
        let changed = |(at, (name, ty, _)): (usize, &(String, Option<String>, bool))| match place(name) {
            Some(there) => there != at || other_type(ty, &now.parameters[there].1),
            // Only Python callers name parameters.
            None => language == "python" || other_type(ty, &now.parameters[at].1),
        };
        now.parameters.len() < self.parameters.len()
            || required(now) > required(self)
            || self.parameters.iter().enumerate().any(changed)
            || other_type(&self.result, &now.result)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::base::Cancel;
    use crate::index::Index;
    use crate::tools::files::walk::testing::Project;

    const TILL: &str =
        "def total(prices):\n    return sum(prices)\n\n\ndef tax(price, rate):\n    return price * rate\n";
    const SHOP: &str = "from till import tax, total\n\n\ndef sell(prices):\n    return tax(total(prices), 0.2)\n";

    /// Checks the warnings about a change of `path` in a small shop. `is_known`: the index was
    /// refreshed after the change.
    fn check_in(is_known: bool, path: &str, new: Option<&str>, expected: &[&str]) {
        let mut project = Project::with(&[("till.py", TILL), ("shop.py", SHOP)]);
        let index = Index::open(project.dir.path()).unwrap();
        index.refresh_lexical(&mut |_| {}, &Cancel::new()).unwrap();
        let at = project.dir.path().join(path);
        let old = std::fs::read_to_string(&at).ok();
        match new {
            Some(new) => std::fs::write(&at, new).unwrap(),
            None => std::fs::remove_file(&at).unwrap(),
        }
        if is_known {
            index.refresh_lexical(&mut |_| {}, &Cancel::new()).unwrap();
        }
        project.context.index = Some(Arc::new(index));
        let change = FileChange { path: path.to_owned(), old: old.map(Into::into), new: new.map(Into::into) };
        let said = diagnose(&project.context, &[change]);
        let fits = said.len() == expected.len() && said.iter().zip(expected).all(|(one, part)| one.contains(part));
        assert!(fits, "{is_known}: {said:?}");
    }

    fn check(path: &str, new: Option<&str>, expected: &[&str]) {
        for is_known in [false, true] {
            check_in(is_known, path, new, expected);
        }
    }

    #[test]
    fn a_change_that_breaks_nothing_says_nothing() {
        check("till.py", Some(&TILL.replace("price * rate", "round(price * rate)")), &[]);
        check("till.py", Some(&TILL.replace("(price, rate)", "(price, rate, digits=2)")), &[]);
        check("notes.txt", Some("def total( -> {\n"), &[]);
        check("new.py", Some("def other():\n    return 1\n"), &[]);
    }

    #[test]
    fn what_does_not_parse_or_is_not_defined_is_named_with_its_line() {
        check("till.py", Some(&TILL.replace("sum(prices)", "sum(prices")), &["till.py does not parse at line"]);
        check(
            "till.py",
            Some(&TILL.replace("price * rate", "price * quota")),
            &["till.py: `quota` is used in `tax` (line 6)"],
        );
        check("settings.json", Some("{\"a\": }"), &["settings.json can no longer be read, line 1"]);
    }

    #[test]
    fn a_definition_that_is_gone_is_named_with_its_uses() {
        let without_tax = &TILL[..TILL.find("\n\n\ndef tax").unwrap() + 1];
        check_in(false, "till.py", Some(without_tax), &["`tax` is gone from till.py but still used: shop.py:"]);
        check_in(true, "till.py", Some(without_tax), &["`tax` is gone from till.py but still used: shop.py:"]);
        check("shop.py", Some("from till import tax\n"), &["no longer in shop.py: `sell`; no uses are known"]);
        let renamed = TILL.replace("def total", "def sum_of");
        check("till.py", Some(&renamed), &["`total` is gone from till.py but still used: shop.py:"]);
    }

    #[test]
    fn callers_of_a_changed_signature_are_named() {
        let tax =
            "`tax` took (price, rate) and now takes (price); its calls: shop.py:5 `return tax(total(prices), 0.2)`";
        check(
            "till.py",
            Some(&TILL.replace("(price, rate):\n    return price * rate", "(price):\n    return price")),
            &[tax],
        );
        let other = "`tax` took (price, rate) and now takes (rate, price)";
        check("till.py", Some(&TILL.replace("(price, rate)", "(rate, price)")), &[other]);
    }

    #[test]
    fn files_that_import_one_that_is_gone_are_named() {
        check_in(
            false,
            "till.py",
            None,
            &["till.py is gone but still imported: shop.py:1 `from till import tax, total`"],
        );
    }
}
