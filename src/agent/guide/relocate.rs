//! Moves a file or one definition and updates its imports, by code: the whole plan is made before
//! anything is written.

use std::io::{self, ErrorKind};

use crate::agent::evidence::Evidence;
use crate::agent::execute::Made;
use crate::agent::toolkit::TurnError;
use crate::context::mentions::{self, Mentions};
use crate::edit::relocate;
use crate::edit::rename::{Plan, Read};
use crate::index::Index;
use crate::tools::files::left_out;

use super::together::FileEdit;
use super::{Done, Job, rename};

/// Moves the file or definition that the step names; a note gives the reason if it or the new path
/// is unclear. `None` if the step names neither.
pub async fn relocate(job: Job<'_>, evidence: &mut Evidence) -> Result<Option<Done>, TurnError> {
    let Some((what, place)) = job.step.text.split_once(" -> ") else { return Ok(None) };
    let known = job.index.paths()?;
    let named = mentions::of(what, job.index)?;
    if let Some((name, from)) = definition_of(what, &named, job.index)? {
        return Ok(Some(definition(job, (&name, from.as_deref()), place, evidence).await?));
    }
    let Some(from) = file_of(&named) else { return Ok(None) };
    let read = reader(job);
    let to = only_one(what, from, &known).and_then(|()| destination(place, from, &known));
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

/// Reads the files of the project; the error kind distinguishes a missing file from one that is not
/// text.
fn reader<'a>(job: Job<'a>) -> impl Fn(&str) -> io::Result<String> + 'a {
    move |path| {
        let kind = if job.exists(path) { ErrorKind::Other } else { ErrorKind::NotFound };
        job.text(path).ok_or_else(|| io::Error::new(kind, "it is not a text file of at most 1 MiB"))
    }
}

/// Moves one definition out of a file, or out of the only file that contains it, to the file that
/// `place` names.
async fn definition(
    job: Job<'_>,
    (name, from): (&str, Option<&str>),
    place: &str,
    evidence: &mut Evidence,
) -> Result<Done, TurnError> {
    let (known, read) = (job.index.paths()?, reader(job));
    let to = destination(place, from.unwrap_or(place), &known);
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

/// The definition that `what` names (`NAME from PATH` or one name of the project), with its file if
/// that is given; `None` if it names a file.
fn definition_of(what: &str, named: &Mentions, index: &Index) -> Result<Option<(String, Option<String>)>, TurnError> {
    if let Some((name, _)) = what.split_once(" from ").filter(|(name, _)| !name.trim().contains(' ')) {
        let path = named.paths.first().or(named.new_paths.first());
        return Ok(path.map(|path| (name.trim_matches(['`', ' ']).to_owned(), Some(path.clone()))));
    }
    let alone = what.trim_matches(['`', ' ']);
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

/// The file to move; `None` if a definition in it is meant.
fn file_of(named: &Mentions) -> Option<&str> {
    let from = named.paths.first()?;
    let name = from.rsplit('/').next()?;
    let stem = name.split('.').next()?;
    let of_file = named.symbols.iter().all(|symbol| symbol.name == stem);
    (of_file && !named.speaks_of_definitions).then_some(from)
}

/// Fails if `what` may also mean another file.
fn only_one(what: &str, from: &str, known: &[String]) -> Result<(), String> {
    let name = from.rsplit('/').next().unwrap_or(from);
    let same: Vec<&str> =
        known.iter().map(String::as_str).filter(|path| path.rsplit('/').next() == Some(name)).collect();
    if what.contains(from) || same.len() < 2 {
        Ok(())
    } else {
        Err(format!("`{name}` may be {}; give the whole path", same.join(" or ")))
    }
}

/// The new path of `from`: a word of `text` with the extension of the file, else a folder, in which
/// the file keeps its name. The error says why there is none.
fn destination(text: &str, from: &str, known: &[String]) -> Result<String, String> {
    let name = from.rsplit('/').next().unwrap_or(from);
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    const MARKS: [char; 11] = ['`', '"', '\'', ',', ';', ':', '(', ')', '.', '?', '!'];
    let words = text.split_whitespace().map(|word| word.trim_start_matches(&MARKS[..8]).trim_end_matches(MARKS));
    let words: Vec<&str> = words.filter(|word| *word != from).collect();
    let is_file = |word: &&&str| {
        word.rsplit('/').next().is_some_and(|last| last.rsplit_once('.').is_some_and(|(_, e)| e == ending))
    };
    let is_folder = |word: &str| known.iter().any(|path| path.starts_with(&format!("{}/", word.trim_matches('/'))));
    let file = words.iter().find(is_file);
    let folder = words.iter().find(|word| word.contains('/')).or_else(|| words.iter().find(|word| is_folder(word)));
    match (file, folder) {
        (Some(file), _) if !file.contains('/') && from.contains('/') => {
            Err(format!("`{file}` has no folder; write `./{file}` for the project's own folder"))
        }
        (Some(file), _) => Ok(file.trim_start_matches("./").to_owned()),
        (None, Some(folder)) => Ok(format!("{}/{name}", folder.trim_start_matches("./").trim_end_matches('/'))
            .trim_start_matches('/')
            .to_owned()),
        (None, None) => Err(format!("`{text}` does not say to which path {from} goes")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_new_path_is_found_among_other_words() {
        let known: Vec<String> = ["src/a.ts", "src/utils/a.ts", "lib/b.ts"].map(str::to_owned).to_vec();
        let check =
            |text: &str, expected: Result<&str, &str>| match (destination(text, "src/utils/a.ts", &known), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{text}"),
                (Err(why), Err(part)) => assert!(why.contains(part), "{text}: {why}"),
                (found, _) => panic!("{text}: {found:?}"),
            };
        check("to src/b.ts and fix the imports", Ok("src/b.ts"));
        check("`src/codec/a.ts`.", Ok("src/codec/a.ts"));
        check("into src/codec/", Ok("src/codec/a.ts"));
        check("the lib folder", Ok("lib/a.ts"));
        check("./b.ts", Ok("b.ts"));
        check("./", Ok("a.ts"));
        check("b.ts", Err("write `./b.ts`"));
        check("somewhere else", Err("does not say"));
    }

    #[test]
    fn a_file_name_that_two_files_have_is_refused() {
        let known: Vec<String> = ["src/a.ts", "lib/a.ts"].map(str::to_owned).to_vec();
        assert!(only_one("move a.ts", "lib/a.ts", &known).unwrap_err().contains("src/a.ts or lib/a.ts"));
        assert!(only_one("move lib/a.ts", "lib/a.ts", &known).is_ok());
    }
}
