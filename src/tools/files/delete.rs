//! `delete_file`: one file, for good; a checkpoint keeps it for `undo`.

use std::fs;
use std::path::PathBuf;

use crate::base::Bytes;
use crate::checkpoint::FILE_MAX;
use crate::tools::Context;
use crate::tools::arguments::Arguments;
use crate::tools::confine::{Access, Inside};
use crate::tools::files::change::{Change, text_of};
use crate::tools::outcome::Outcome;

pub(in crate::tools) fn run(arguments: Arguments<'_>, context: &Context) -> Result<Outcome, String> {
    let file = existing(arguments.text("path")?, context)?;
    let (path, diff) = (file.relative(), diff(&file));
    fs::remove_file(file.absolute()).map_err(|error| format!("{path}: {error}"))?;
    let outcome = Outcome::ok(format!("deleted {path}"));
    Ok(Outcome { diff: Some(diff), changed: vec![PathBuf::from(path)], ..outcome })
}

/// What would be lost, without losing it.
pub fn plan(arguments: Arguments<'_>, context: &Context) -> Result<(String, PathBuf), String> {
    let file = existing(arguments.text("path")?, context)?;
    Ok((diff(&file), file.relative().into()))
}

/// A file that is there and is no folder and no link.
pub fn existing(path: &str, context: &Context) -> Result<Inside, String> {
    let is_link = context.root.path().join(path).is_symlink();
    let file = context.root.resolve(path, Access::Write).map_err(|error| error.to_string())?;
    match fs::symlink_metadata(file.absolute()) {
        Err(_) => Err(format!("`{}` does not exist; find_files looks for files by name", file.relative())),
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

fn diff(file: &Inside) -> String {
    match text_of(file) {
        Ok(before) => {
            Change { file: file.clone(), before: Some(before), after: String::new(), notes: Vec::new() }.diff()
        }
        // Not a text, or a very long one.
        Err(_) => format!("{} would be gone\n", file.relative()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::files::walk::testing::{Project, call};

    #[test]
    fn a_file_goes_and_the_rest_stays() {
        let project = Project::with(&[("a.txt", "one\n"), ("b/c.txt", "two\n")]);
        let outcome = call(run, &project, r#"{"path":"b/c.txt"}"#);
        assert_eq!(
            (outcome.text.as_str(), outcome.changed.as_slice()),
            ("deleted b/c.txt", &[PathBuf::from("b/c.txt")][..])
        );
        assert!(outcome.diff.unwrap().contains("-two"));
        assert!(!project.dir.path().join("b/c.txt").exists() && project.text("a.txt") == "one\n");
    }

    #[test]
    fn folders_links_and_what_is_kept_stay() {
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
