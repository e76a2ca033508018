//! Moves a file or one definition and updates its imports, by code: the complete plan is made
//! before anything is written.

use std::io::{self, ErrorKind};

use crate::agent::evidence::Evidence;
use crate::agent::execute::Made;
use crate::agent::toolkit::TurnError;
use crate::edit::relocate;
use crate::edit::rename::{Plan, Read};
use crate::index::Index;
use crate::request::mentions::Mentions;
use crate::request::moves::Move;
use crate::tools::files::left_out;

use super::together::FileEdit;
use super::{Done, Job, rename};

/// Moves the file or definition that the step names; a note gives the reason if this or the new
/// path is unclear. `None` if the step names neither.
pub async fn relocate(job: Job<'_>, evidence: &mut Evidence) -> Result<Option<Done>, TurnError> {
    let Some(wanted) = job.step.text.moved() else { return Ok(None) };
    let known = job.index.paths()?;
    let named = wanted.what.mentions(job.index)?;
    if let Some((name, from)) = definition_of(&wanted, &named, job.index)? {
        return Ok(Some(definition(job, (&name, from.as_deref()), &wanted, evidence).await?));
    }
    let Some(from) = file_of(&named) else { return Ok(None) };
    let read = reader(job);
    let to = wanted.only_one(from, &known).and_then(|()| wanted.destination(Some(from), &known));
    let work_out = || {
        let to = to.clone()?;
        let plan = relocate::file(job.index, &read, from, &to).map_err(|error| error.to_string())?;
        let name = from.rsplit('/').next().unwrap_or(from);
        let stem = name.split('.').next().unwrap_or(name);
        let outside = rename::outside(job, left_out::module(stem), stem)?;
        Ok((edits(&plan, &read, from, &to)?, outside.clone(), (plan, outside)))
    };
    Ok(Some(match job.work_out_and_make(work_out, evidence).await? {
        Ok((Made::All, (plan, outside))) => Done { said: rename::left(&plan, &outside), ..Done::default() },
        Ok(_) => Done::default(),
        Err(why) => Done::note(format!("not done: {why}")),
    }))
}

/// Reads the files of the project; the error kind distinguishes a missing file from a non-text
/// file.
fn reader<'a>(job: Job<'a>) -> impl Fn(&str) -> io::Result<String> + 'a {
    move |path| {
        let kind = if job.exists(path) { ErrorKind::Other } else { ErrorKind::NotFound };
        job.text(path).ok_or_else(|| io::Error::new(kind, "it is not a text file of at most 1 MiB"))
    }
}

/// Moves one definition out of a file, or out of the only file that contains it, to the file that
/// `wanted` names.
async fn definition(
    job: Job<'_>,
    (name, from): (&str, Option<&str>),
    wanted: &Move,
    evidence: &mut Evidence,
) -> Result<Done, TurnError> {
    let (known, read) = (job.index.paths()?, reader(job));
    let to = wanted.destination(from, &known);
    let work_out = || {
        let plan =
            relocate::definition(job.index, &read, name, from, &to.clone()?).map_err(|error| error.to_string())?;
        let outside = rename::outside(job, left_out::word(name), name)?;
        let edits = plan.edits.iter().map(|edit| {
            let before = text_of(&read, &edit.path)?;
            Ok(FileEdit::text(&edit.path, before.as_deref(), &edit.text_after))
        });
        Ok((edits.collect::<Result<_, String>>()?, outside.clone(), (plan, outside)))
    };
    Ok(match job.work_out_and_make(work_out, evidence).await? {
        Ok((Made::All, (plan, outside))) => Done { said: rename::left(&plan, &outside), ..Done::default() },
        Ok(_) => Done::default(),
        Err(why) => Done::note(format!("not done: {why}")),
    })
}

/// The definition that `wanted` names (`NAME from PATH` or one name of the project), with its file
/// if given; `None` if it names a file.
fn definition_of(
    wanted: &Move,
    named: &Mentions,
    index: &Index,
) -> Result<Option<(String, Option<String>)>, TurnError> {
    if let Some(name) = wanted.out_of_file() {
        let path = named.paths.first().or(named.new_paths.first());
        return Ok(path.map(|path| (name.to_owned(), Some(path.clone()))));
    }
    let alone = wanted.name();
    if named.paths.is_empty() && index.graph()?.named(alone).iter().any(|node| node.kind != "module") {
        return Ok(Some((alone.to_owned(), None)));
    }
    Ok(match (named.symbols.as_slice(), named.paths.as_slice()) {
        ([one], [] | [_]) if file_of(named).is_none() => Some((one.name.clone(), named.paths.first().cloned())),
        _ => None,
    })
}

/// The move of the file, then the new texts of the other files that change.
fn edits(plan: &Plan, read: &Read<'_>, from: &str, to: &str) -> Result<Vec<FileEdit>, String> {
    let moved = text_of(read, from)?.ok_or_else(|| format!("{from} is gone"))?;
    let mut edits = vec![FileEdit::move_to(from, &moved, to)];
    for edit in &plan.edits {
        let before = if edit.path == to { Some(moved.clone()) } else { text_of(read, &edit.path)? };
        edits.push(FileEdit::text(&edit.path, before.as_deref(), &edit.text_after));
    }
    Ok(edits)
}

/// The text of a file; `None` if there is no file.
fn text_of(read: &Read<'_>, path: &str) -> Result<Option<String>, String> {
    match read(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{path} cannot be read: {error}")),
    }
}

/// The file to move; `None` if the step means a definition in it.
fn file_of(named: &Mentions) -> Option<&str> {
    let from = named.paths.first()?;
    let name = from.rsplit('/').next()?;
    let stem = name.split('.').next()?;
    let of_file = named.symbols.iter().all(|symbol| symbol.name == stem);
    (of_file && !named.speaks_of_definitions).then_some(from)
}
