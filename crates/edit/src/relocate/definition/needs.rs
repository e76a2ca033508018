//! Finds the names that the moved code uses: imports of them are copied or moved along, and other
//! definitions in the old file are imported from there.

use std::collections::{BTreeMap, BTreeSet};

use super::statement::{self, Statement};
use super::{Move, MoveError, place, python, rust, script, stuck};
use crate::index::{Meaning, Occurrence, Role, language_of, names as places, whole_words};
use crate::rename::Doubt;
use crate::text::{line_at, line_of, line_start};

/// Operators that assign a new value to the name before them.
const ASSIGNS: [&str; 12] = ["++", "--", "+=", "-=", "*=", "/=", "%=", "|=", "&=", "||=", "&&=", "??="];

/// Names that the old file imports and the moved code uses: index of the statement, index of the
/// name, and whether the rest of the old file still uses it.
type Imports = BTreeMap<(usize, usize), bool>;

/// Records the imports that the new file needs and those that the old file no longer needs.
pub fn read(work: &mut Move) -> Result<(), MoveError> {
    let (path, text) = (work.view.from, work.old());
    let statements = statement::all(path, text);
    let mut imports = Imports::new();
    for word in words(work) {
        if work.language == "go" {
            let qualifies = |at: usize| text[at + word.len()..].starts_with('.');
            let used: Vec<usize> = whole_words(text, &word).filter(|at| qualifies(*at)).collect();
            let (own, rest): (Vec<usize>, Vec<usize>) = used.into_iter().partition(|at| work.holds(path, *at));
            let found = statements.iter().enumerate().find_map(|(at, statement)| {
                statement.names.iter().position(|one| one.local == word).map(|name| (at, name))
            });
            imports.extend(found.filter(|_| !own.is_empty()).map(|found| (found, !rest.is_empty())));
            continue;
        }
        let Some(Ok((all, _))) = places(language_of(path), text, &word) else {
            return Err(stuck(path, text, work.ranges[0].start));
        };
        read_word(work, &statements, (&word, &all), &mut imports)?;
    }
    if work.language == "rust" {
        rust::paths_inside(work)?;
        without_names(work, &statements)?;
    }
    let mut gone: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for ((at, name), is_still_used) in imports {
        bring(work, &statements[at], name)?;
        if !is_still_used {
            gone.entry(at).or_default().push(name);
        }
    }
    for (at, names) in gone {
        let edits = statements[at].without(path, text, &names)?;
        work.draft(path).edits.extend(edits);
    }
    Ok(())
}

/// The words in the moved code that also occur in the rest of its file.
fn words(work: &Move) -> Vec<String> {
    let text = work.old();
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    let all = work.ranges.iter().flat_map(|range| text[range.clone()].split(|c| !is_part(c)));
    let all: BTreeSet<&str> = all.filter(|word| !word.is_empty() && !word.starts_with(char::is_numeric)).collect();
    let in_rest = |word: &&str| whole_words(text, word).any(|at| !work.holds(work.view.from, at));
    all.into_iter().filter(|word| *word != work.name).filter(in_rest).map(str::to_owned).collect()
}

/// Records the meaning of a word in the moved code, if code outside binds the word.
fn read_word(
    work: &mut Move,
    statements: &[Statement],
    (word, all): (&str, &[Occurrence]),
    imports: &mut Imports,
) -> Result<(), MoveError> {
    let (path, text) = (work.view.from, work.old());
    let is_inside = |one: &Occurrence| work.holds(path, one.bytes.start);
    let reads = |one: &&Occurrence| {
        let role = matches!(one.role, Role::Reference | Role::Shorthand | Role::Unclear);
        role && is_inside(one) && one.binder.is_some_and(|at| !is_inside(&all[at]))
    };
    let used: Vec<&Occurrence> = all.iter().filter(reads).collect();
    let Some(binder) = used.first().and_then(|one| one.binder) else { return Ok(()) };
    let bound = &all[binder];
    let found = statements.iter().enumerate();
    let found = found.filter_map(|(at, s)| s.name_at(bound.bytes.start).map(|name| (at, name))).next();
    if let Some((at, name)) = found {
        if !statements[at].is_plain {
            return Err(stuck(path, text, bound.bytes.start));
        }
        let still = |one: &Occurrence| one.binder == Some(binder) && one.bytes != bound.bytes && !is_inside(one);
        imports.insert((at, name), all.iter().any(still));
        return Ok(());
    }
    if matches!(bound.role, Role::Import { .. } | Role::Alias) {
        return Err(stuck(path, text, bound.bytes.start));
    }
    let assigned = used.iter().find(|one| {
        let behind = text[one.bytes.end..].trim_start();
        let is_set = behind.starts_with('=') && !behind.starts_with("==") && !behind.starts_with("=>");
        is_set || ASSIGNS.iter().any(|operator| behind.starts_with(operator))
    });
    match assigned.filter(|_| matches!(work.language, "script" | "python")) {
        Some(one) => Err(stuck(path, text, one.bytes.start)),
        None => helper(work, word, bound),
    }
}

/// Imports another definition from the old file; fails if other files cannot see it.
fn helper(work: &mut Move, word: &str, bound: &Occurrence) -> Result<(), MoveError> {
    let view = work.view;
    let file = view.names.file(view.from).unwrap_or_default();
    let is_seen = match work.language {
        "python" => !word.starts_with('_'),
        "rust" => {
            let begin = line_start(work.old(), bound.bytes.start);
            let before = work.old()[begin..bound.bytes.start].trim_start();
            if before.split_whitespace().any(|word| word == "mod") {
                return Err(stuck(view.from, work.old(), bound.bytes.start));
            }
            before.starts_with("pub")
        }
        _ => matches!(view.names.exported(file, word), Some(Meaning::Symbol(symbol)) if symbol.file == file),
    };
    if !is_seen {
        let (name, helper, path) = (work.name.to_owned(), word.to_owned(), view.from.to_owned());
        return Err(MoveError::Private { name, helper, path });
    }
    not_taken(work, word, view.from)?;
    let style = if view.text(view.to).trim().is_empty() { work.old() } else { view.text(view.to) };
    let line = match work.language {
        "python" => Some(format!("from {} import {word}", place::python_module(view, view.to, view.from))),
        "rust" => Some(format!("use {}::{word};", rust::path_of(view.from).unwrap_or_default())),
        _ => crate::imports::script(view.to, style, view.from, word),
    };
    let line = line.ok_or_else(|| stuck(view.from, work.old(), bound.bytes.start))?;
    work.import(view.to, line);
    Ok(())
}

/// Fails if a name to be imported from the file `source` has another meaning in the new file.
fn not_taken(work: &Move, local: &str, source: &str) -> Result<(), MoveError> {
    let names = work.view.names;
    let Some(file) = names.file(work.view.to) else { return Ok(()) };
    let outline = names.outline(file);
    let taken = |line| MoveError::NameTaken { path: work.view.to.to_owned(), name: local.to_owned(), line };
    if let Some(own) = outline.definitions.iter().find(|d| d.name == local && d.container.is_none()) {
        return Err(taken(own.start));
    }
    let leads = |source: &str| names.module(file, source).map(|module| names.path(module).to_owned());
    let other = outline.imports.iter().find(|import| {
        import.local == local && import.source != source && leads(&import.source).as_deref() != Some(source)
    });
    other.map_or(Ok(()), |other| Err(taken(other.line)))
}

/// Also imports into the new file a name that the old file imports.
fn bring(work: &mut Move, statement: &Statement, name: usize) -> Result<(), MoveError> {
    let view = work.view;
    let (path, text) = (view.from, work.old());
    let one = &statement.names[name];
    let no = || stuck(path, text, one.bytes.start);
    let file = view.names.file(path).unwrap_or_default();
    let leads = view.names.module(file, &one.source).map(|module| view.names.path(module).to_owned());
    if leads.as_deref() == Some(view.to) {
        // The definition that it imported is now in the same file.
        let is_same = one.local == one.name && one.name != "default" && one.name != "*";
        return if is_same { Ok(()) } else { Err(no()) };
    }
    let source = match work.language {
        "script" => script::own(&one.source, view).unwrap_or_else(|| one.source.clone()),
        "python" if one.source.starts_with('.') => python::import_name_of_target(view, view.to, &one.source),
        "rust" => rust::absolute(view, &one.source).ok_or_else(no)?,
        _ => one.source.clone(),
    };
    if work.language != "go" {
        not_taken(work, &one.local, leads.as_deref().unwrap_or(&source))?;
    }
    let line = statement.line(path, text, name, &source);
    work.import(view.to, line);
    Ok(())
}

/// Copies Rust imports that are used without being named: traits, whose methods are called, and
/// star imports from other crates.
fn without_names(work: &mut Move, statements: &[Statement]) -> Result<(), MoveError> {
    let (view, text) = (work.view, work.old());
    for statement in statements.iter().filter(|statement| statement.is_plain) {
        for (at, one) in statement.names.iter().enumerate() {
            let is_public = text[statement.bytes.clone()].starts_with("pub");
            let is_star = one.name == "*";
            let silent = || match places("rust", text, &one.local) {
                Some(Ok((all, _))) => {
                    all.iter().all(|o| matches!(o.role, Role::Import { .. } | Role::Alias | Role::Comment))
                }
                _ => false,
            };
            if is_public || !(is_star || one.local == "_" || silent()) {
                continue;
            }
            let source = rust::absolute(view, &one.source).unwrap_or_default();
            let is_own = source.starts_with("crate");
            if is_star && is_own {
                return Err(stuck(view.from, text, one.bytes.start));
            }
            work.import(view.to, statement.line(view.from, text, at, &source));
            let line = line_of(text, one.bytes.start);
            let why = "both files have this import now; one of them may not need it".to_owned();
            let shown = line_at(text, one.bytes.start).trim().to_owned();
            work.found.plan.doubtful.push(Doubt { path: view.from.to_owned(), line, text: shown, why });
        }
    }
    Ok(())
}
