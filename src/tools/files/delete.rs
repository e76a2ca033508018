//! `delete_file`: deletes one file; a checkpoint keeps its content for `undo`.

use std::path::PathBuf;
use std::{fs, io};

use crate::base::Bytes;
use crate::checkpoint::FILE_MAX;
use crate::protocol::FileChange;
use crate::tools::Context;
use crate::tools::arguments::Arguments;
use crate::tools::confine::{Access, Inside};
use crate::tools::files::change::{self, text_of};
use crate::tools::outcome::Outcome;
use crate::tools::preview::Preview;

pub(in crate::tools) fn run(arguments: Arguments<'_>, context: &Context) -> Result<Outcome, String> {
    let file = existing(arguments.text("path")?, context)?;
    let (path, text) = (file.relative(), text_of(&file).ok());
    fs::remove_file(file.absolute()).map_err(|error| format!("{path}: {error}"))?;
    let outcome = Outcome::ok(format!("deleted {path}"));
    let (diff, changes) = (text.as_deref().map(|text| diff(&path, text)), texts(&path, text.as_deref()));
    Ok(Outcome { diff, changes, changed: vec![PathBuf::from(path)], ..outcome })
}

/// What the call would do; deletes nothing.
pub fn plan(arguments: Arguments<'_>, context: &Context) -> Result<Preview, String> {
    let file = existing(arguments.text("path")?, context)?;
    let (path, text) = (file.relative(), text_of(&file).ok());
    let changes = texts(&path, text.as_deref());
    Ok(Preview { text: text.map_or_else(|| format!("{path} would be gone\n"), |text| diff(&path, &text)), changes })
}

/// Resolves an existing regular file; errors for a link, a folder, and a file too large for a checkpoint.
pub fn existing(path: &str, context: &Context) -> Result<Inside, String> {
    let is_link = context.root.path().join(path).is_symlink();
    let file = context.root.resolve(path, Access::Write).map_err(|error| error.to_string())?;
    match fs::symlink_metadata(file.absolute()) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Err(format!("`{}` does not exist; find_files looks for files by name", file.relative()))
        }
        Err(error) => Err(format!("`{}` cannot be looked at: {error}", file.relative())),
        Ok(_) if is_link => Err(format!("`{path}` is a link; use run_command with `rm` or `mv`")),
        Ok(meta) if !meta.is_file() => {
            Err(format!("`{}` is no file; for folders use run_command with `rm` or `mv`", file.relative()))
        }
        Ok(meta) if meta.len() > FILE_MAX.0 => {
            let (path, size) = (file.relative(), Bytes(meta.len()));
            Err(format!("`{path}` has {size}, and what has more than {FILE_MAX} could not come back; use run_command"))
        }
        Ok(_) => Ok(file),
    }
}

fn diff(path: &str, text: &str) -> String {
    change::diff(path, Some(text), None)
}

/// The deleted text; empty if the file is not text or has over 1 MiB.
fn texts(path: &str, text: Option<&str>) -> Vec<FileChange> {
    let change = text.map(|text| FileChange { path: path.to_owned(), old: Some(text.into()), new: None });
    change.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::files::walk::testing::{Project, call};

    fn path(path: &str) -> serde_json::Map<String, serde_json::Value> {
        [("path".to_owned(), path.into())].into_iter().collect()
    }

    #[test]
    fn one_file_is_deleted_and_the_rest_stays() {
        let project = Project::with(&[("a.txt", "one\n"), ("b/c.txt", "two\n")]);
        let outcome = call(run, &project, r#"{"path":"b/c.txt"}"#);
        assert_eq!(
            (outcome.text.as_str(), outcome.changed.as_slice()),
            ("deleted b/c.txt", &[PathBuf::from("b/c.txt")][..])
        );
        assert!(outcome.diff.unwrap().contains("-two"));
        assert!(!project.dir.path().join("b/c.txt").exists() && project.text("a.txt") == "one\n");
        std::fs::write(project.dir.path().join("d.bin"), [0xff]).unwrap();
        assert_eq!(plan(Arguments(&path("d.bin")), &project.context).unwrap().text, "d.bin would be gone\n");
        assert_eq!(call(run, &project, r#"{"path":"d.bin"}"#).diff, None);
        let long = format!("b/{}", "x".repeat(300));
        let refused = plan(Arguments(&path(&long)), &project.context).unwrap_err();
        assert!(refused.contains("cannot be looked at"), "{refused}");
    }

    #[test]
    fn folders_links_protected_and_large_files_are_not_deleted() {
        let project = Project::with(&[("dir/a", ""), (".git/config", ""), ("a.txt", "one\n")]);
        std::os::unix::fs::symlink("a.txt", project.dir.path().join("link")).unwrap();
        for path in ["dir", ".", "link", ".git/config", "../a", "none", "dir/../../x", ""] {
            let arguments = serde_json::json!({ "path": path }).to_string();
            assert!(!call(run, &project, &arguments).is_ok(), "{path}");
        }
        assert_eq!(project.text("a.txt"), "one\n");
        let large = std::fs::File::create(project.dir.path().join("large")).unwrap();
        large.set_len(FILE_MAX.0 + 1).unwrap();
        let refused = call(run, &project, r#"{"path":"large"}"#);
        assert!(refused.text.contains("could not come back") && project.dir.path().join("large").exists());
    }
}
