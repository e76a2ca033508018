//! `write_file`, `delete_file` and `move_file`: plan their changes, and refuse unsafe ones.

use std::{fs, io};

use crate::base::Bytes;
use crate::checkpoint::FILE_MAX;
use crate::edit::{self, Edit, WRITE_MAX_BYTES};
use crate::tools::Context;
use crate::tools::arguments::Arguments;
use crate::tools::confine::{Access, Inside};
use crate::tools::files::change::{Change, text_of};
use crate::tools::files::undone::Seen;

/// `write_file`: creates or replaces a whole file.
pub fn text(arguments: Arguments<'_>, context: &Context) -> Result<Change, String> {
    let (path, content) = (arguments.text("path")?, arguments.text("content")?);
    if content.len() > WRITE_MAX_BYTES {
        let size = content.len();
        return Err(format!("`content` has {size} bytes; at most {WRITE_MAX_BYTES} are written; write it in parts"));
    }
    let file = resolve(path, context)?;
    if file.is_dir() || path.ends_with('/') {
        return Err(format!("`{}` is a folder; give the path of a file in it", file.relative()));
    }
    let before = if file.exists() { Some(text_of(&file)?) } else { None };
    let old = before.as_deref().unwrap_or_default();
    let applied = edit::apply(&file.relative(), old, &Edit::Whole(content))?;
    Change::text(file, before, applied.text, applied.notes)
}

/// `delete_file`: deletes one file, whose content a checkpoint keeps for `undo`.
pub fn deletion(arguments: Arguments<'_>, context: &Context) -> Result<Change, String> {
    let file = existing(arguments.text("path")?, context)?;
    let (seen, text) = (Seen::of(&file)?, text_of(&file).ok());
    Ok(Change::Deletion { file, text, seen })
}

/// `move_file`: never overwrites a file. If the destination is a folder, the file keeps its name.
pub fn moved(arguments: Arguments<'_>, context: &Context) -> Result<Change, String> {
    let (source, destination) = (arguments.text("source")?, arguments.text("destination")?);
    let from = existing(source, context)?;
    let mut to = resolve(destination, context)?;
    if to.is_dir() || destination.ends_with('/') {
        let name = from.absolute().file_name().unwrap_or_default().to_string_lossy().into_owned();
        to = resolve(&format!("{}/{name}", destination.trim_end_matches('/')), context)?;
    }
    if to.exists() {
        return Err(format!("`{}` already exists; choose another name, or delete it first", to.relative()));
    }
    let seen = Seen::of(&from)?;
    Ok(Change::Move { from, to, seen })
}

fn resolve(path: &str, context: &Context) -> Result<Inside, String> {
    context.root.resolve(path, Access::Write).map_err(|error| error.to_string())
}

/// Resolves an existing regular file. Fails for a link, a folder, and a file too large for a
/// checkpoint.
fn existing(path: &str, context: &Context) -> Result<Inside, String> {
    let is_link = context.root.path().join(path).is_symlink();
    let file = resolve(path, context)?;
    match fs::symlink_metadata(file.absolute()) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Err(format!("`{}` does not exist; find_files looks for files by name", file.relative()))
        }
        Err(error) => Err(format!("`{}` cannot be examined: {error}", file.relative())),
        Ok(_) if is_link => Err(format!("`{path}` is a link; use run_command with `rm` or `mv`")),
        Ok(meta) if !meta.is_file() => {
            Err(format!("`{}` is not a file; for folders use run_command with `rm` or `mv`", file.relative()))
        }
        Ok(meta) if meta.len() > FILE_MAX.0 => {
            let (path, size) = (file.relative(), Bytes(meta.len()));
            Err(format!("`{path}` has {size}, and anything over {FILE_MAX} could not be restored; use run_command"))
        }
        Ok(_) => Ok(file),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::builtin::Builtin;
    use crate::tools::files::walk::testing::{Project, change};
    use serde_json::{Value, json};

    fn moved(source: &str, destination: &str) -> Value {
        json!({ "source": source, "destination": destination })
    }

    #[test]
    fn a_file_that_is_written_whole_keeps_its_line_ends_and_its_byte_order_mark() {
        for (before, content, expected) in [
            ("a\r\nb\r\n", "a\nc\n", "a\r\nc\r\n"),
            ("a\r\nb\nc\n", "a\nb\nd", "a\r\nb\nd\n"),
            ("\u{feff}a\nb", "a\nc\n", "\u{feff}a\nc"),
            ("a\r\nb\r\n", "a\nb\n", "a\nb\n"),
        ] {
            let project = Project::with(&[("a.txt", before)]);
            let outcome = change(Builtin::WriteFile, &project, json!({ "path": "a.txt", "content": content }));
            assert!(outcome.is_ok(), "{}", outcome.text);
            assert_eq!(project.text("a.txt"), expected, "{before:?}");
        }
    }

    #[test]
    fn one_file_is_deleted_and_the_rest_stays() {
        let project = Project::with(&[("a.txt", "one\n"), ("b/c.txt", "two\n")]);
        let outcome = change(Builtin::DeleteFile, &project, json!({ "path": "b/c.txt" }));
        assert_eq!((outcome.text.as_str(), outcome.changed), ("deleted b/c.txt", vec!["b/c.txt".into()]));
        assert!(outcome.diff.unwrap().contains("-two"));
        assert!(!project.dir.path().join("b/c.txt").exists() && project.text("a.txt") == "one\n");
        fs::write(project.dir.path().join("d.bin"), [0xff]).unwrap();
        assert_eq!(change(Builtin::DeleteFile, &project, json!({ "path": "d.bin" })).diff, None);
    }

    #[test]
    fn a_file_gets_another_name_or_folder() {
        for (destination, place) in
            [("c.txt", "c.txt"), ("dir", "dir/a.txt"), ("new/deep/", "new/deep/a.txt"), ("dir/c.md", "dir/c.md")]
        {
            let project = Project::with(&[("a.txt", "one\n"), ("dir/b.txt", "two\n")]);
            let outcome = change(Builtin::MoveFile, &project, moved("a.txt", destination));
            assert!(outcome.is_ok(), "{}", outcome.text);
            assert_eq!((project.text(place).as_str(), project.dir.path().join("a.txt").exists()), ("one\n", false));
        }
    }

    #[test]
    fn what_must_not_be_written_moved_or_deleted_is_refused() {
        let project = Project::with(&[("dir/b.txt", "two\n"), (".git/config", ""), ("a.txt", "one\n")]);
        std::os::unix::fs::symlink("a.txt", project.dir.path().join("link")).unwrap();
        fs::write(project.dir.path().join("bin"), [0xff, 0xfe]).unwrap();
        let large = fs::File::create(project.dir.path().join("large")).unwrap();
        large.set_len(FILE_MAX.0 + 1).unwrap();
        let (path, write) = (|path: &str| json!({ "path": path }), |path: &str| json!({ "path": path, "content": "" }));
        for (builtin, arguments, part) in [
            (Builtin::WriteFile, write("dir"), "is a folder"),
            (Builtin::WriteFile, write("new/"), "is a folder"),
            (Builtin::WriteFile, write("bin"), "not UTF-8"),
            (Builtin::WriteFile, write(".git/config"), ".git"),
            (Builtin::WriteFile, write("../a"), "outside"),
            (Builtin::WriteFile, write("dir/b.txt/c"), "dir/b.txt/c"),
            (Builtin::WriteFile, json!({ "path": "a", "content": "x".repeat(WRITE_MAX_BYTES + 1) }), "at most"),
            (Builtin::DeleteFile, path("dir"), "is not a file"),
            (Builtin::DeleteFile, path("."), "is not a file"),
            (Builtin::DeleteFile, path(""), "is not a file"),
            (Builtin::DeleteFile, path("link"), "is a link"),
            (Builtin::DeleteFile, path(".git/config"), ".git"),
            (Builtin::DeleteFile, path("../a"), "outside"),
            (Builtin::DeleteFile, path("dir/../../x"), "outside"),
            (Builtin::DeleteFile, path("none"), "does not exist"),
            (Builtin::DeleteFile, path(&format!("dir/{}", "x".repeat(300))), "cannot be examined"),
            (Builtin::DeleteFile, path("large"), "could not be restored"),
            (Builtin::MoveFile, moved("a.txt", "dir/b.txt"), "already exists"),
            (Builtin::MoveFile, moved("none.txt", "c.txt"), "does not exist"),
            (Builtin::MoveFile, moved("dir", "other"), "is not a file"),
            (Builtin::MoveFile, moved("a.txt", "../c.txt"), "../c.txt"),
            (Builtin::MoveFile, moved("a.txt", ".git/hooks/pre-commit"), ".git"),
        ] {
            let outcome = change(builtin, &project, arguments);
            assert!(!outcome.is_ok() && outcome.text.contains(part), "{builtin:?}: {}", outcome.text);
        }
        assert_eq!((project.text("a.txt").as_str(), project.text("dir/b.txt").as_str()), ("one\n", "two\n"));
        assert_eq!(fs::read_dir(project.dir.path()).unwrap().count(), 6);
    }
}
