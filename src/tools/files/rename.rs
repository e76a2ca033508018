//! `move_file`: moves or renames one file; overwrites nothing.

use std::path::PathBuf;
use std::{fs, io};

use crate::tools::Context;
use crate::tools::arguments::Arguments;
use crate::tools::confine::{Access, Inside};
use crate::tools::files::delete::existing;
use crate::tools::outcome::Outcome;

pub(in crate::tools) fn run(arguments: Arguments<'_>, context: &Context) -> Result<Outcome, String> {
    let (from, to) = plan(arguments, context)?;
    to.make_parents().map_err(|error| error.to_string())?;
    let (old, new) = (from.relative(), to.relative());
    fs::rename(from.absolute(), to.absolute()).map_err(|error| match error.kind() {
        io::ErrorKind::CrossesDevices => format!("{old} and {new} are on different disks; use run_command with `mv`"),
        _ => format!("{old} to {new}: {error}; run_command with `ls -ld` shows the rights of both folders"),
    })?;
    let outcome = Outcome::ok(format!("moved {old} to {new}"));
    Ok(Outcome { changed: vec![PathBuf::from(old), PathBuf::from(new)], ..outcome })
}

/// The file and its new path, at which nothing exists. With a folder as destination the file keeps its name.
pub fn plan(arguments: Arguments<'_>, context: &Context) -> Result<(Inside, Inside), String> {
    let (source, destination) = (arguments.text("source")?, arguments.text("destination")?);
    let resolve = |path: &str| context.root.resolve(path, Access::Write).map_err(|error| error.to_string());
    let from = existing(source, context)?;
    let mut to = resolve(destination)?;
    if to.is_dir() || destination.ends_with('/') {
        let name = from.absolute().file_name().unwrap_or_default().to_string_lossy().into_owned();
        to = resolve(&format!("{}/{name}", destination.trim_end_matches('/')))?;
    }
    if to.exists() {
        return Err(format!("`{}` exists already; choose another name, or delete it first", to.relative()));
    }
    Ok((from, to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::files::walk::testing::{Project, call};

    fn check(source: &str, destination: &str, expected: Result<&str, &str>) {
        let project = Project::with(&[("a.txt", "one\n"), ("dir/b.txt", "two\n")]);
        let arguments = serde_json::json!({ "source": source, "destination": destination }).to_string();
        let outcome = call(run, &project, &arguments);
        match expected {
            Ok(place) => {
                assert!(outcome.is_ok(), "{}", outcome.text);
                assert_eq!((project.text(place).as_str(), project.dir.path().join("a.txt").exists()), ("one\n", false));
            }
            Err(part) => {
                assert!(!outcome.is_ok() && outcome.text.contains(part), "{}", outcome.text);
                assert_eq!((project.text("a.txt").as_str(), project.text("dir/b.txt").as_str()), ("one\n", "two\n"));
            }
        }
    }

    #[test]
    fn a_file_gets_another_name_or_folder() {
        check("a.txt", "c.txt", Ok("c.txt"));
        check("a.txt", "dir", Ok("dir/a.txt"));
        check("a.txt", "new/deep/", Ok("new/deep/a.txt"));
        check("a.txt", "dir/c.md", Ok("dir/c.md"));
    }

    #[test]
    fn nothing_is_overwritten_and_nothing_leaves_the_project() {
        check("a.txt", "dir/b.txt", Err("`dir/b.txt` exists already"));
        check("none.txt", "c.txt", Err("`none.txt` does not exist"));
        check("dir", "other", Err("is no file"));
        check("a.txt", "../c.txt", Err("../c.txt"));
        check("a.txt", ".git/hooks/pre-commit", Err(".git"));
    }
}
