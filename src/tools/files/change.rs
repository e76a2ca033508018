//! A change to files, which is shown as a diff before it is made, and made atomically.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use crate::base::overwrite::{self, Names};
use crate::edit::WRITE_MAX_BYTES;
use crate::protocol::FileChange;
use crate::tools::Context;
use crate::tools::arguments::Arguments;
use crate::tools::builtin::Builtin;
use crate::tools::confine::{ConfineError, Inside};
use crate::tools::files::undone::Seen;
use crate::tools::files::{edit, write};
use crate::tools::outcome::{DIFF_MAX_BYTES, Keep, Outcome, fitted};
use crate::tools::preview::Preview;

/// Maximum time to search for the smallest diff; after that a coarser one is shown.
pub const DIFF_TIME_MAX: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Changes the text of a file. `before` is `None` if it does not exist yet; `notes` are remarks
    /// on how the change was found, one line each; `names` are the other names of the file (hard
    /// links), which also get the text if they are in the project.
    Text {
        file: Inside,
        before: Option<String>,
        after: String,
        notes: Vec<String>,
        names: Names,
    },
    /// Deletes a file. `text` is `None` if the file is not text or is larger than 1 MiB.
    Deletion {
        file: Inside,
        text: Option<String>,
        seen: Seen,
    },
    Move {
        from: Inside,
        to: Inside,
        seen: Seen,
    },
}

impl Change {
    /// Computes the change that a call would make, without making it. The error is the one that the
    /// call would fail with.
    pub fn plan(builtin: Builtin, arguments: Arguments<'_>, context: &Context) -> Result<Change, String> {
        let change = match builtin {
            Builtin::WriteFile => write::text(arguments, context),
            Builtin::ReplaceInFile => edit::replacement(arguments, context),
            Builtin::Edit => edit::plan(arguments, context),
            Builtin::DeleteFile => write::deletion(arguments, context),
            Builtin::MoveFile => write::moved(arguments, context),
            other => Err(format!("`{}` is not a tool that changes files; this is a bug in tools", other.name())),
        }?;
        change.refuse_read_only()?;
        Ok(change)
    }

    /// The change to one file's text.
    pub fn text(file: Inside, before: Option<String>, after: String, notes: Vec<String>) -> Result<Change, String> {
        let names = match before {
            Some(_) => file.other_names().map_err(|error| error.to_string())?,
            None => Names::default(),
        };
        Ok(Change::Text { file, before, after, notes, names })
    }

    /// Fails if a file or folder to be changed is not writable by its owner. This also applies to
    /// root, because a read-only mark is meant for people.
    fn refuse_read_only(&self) -> Result<(), String> {
        match self {
            Change::Text { before, after, .. } if before.as_ref() == Some(after) => Ok(()),
            Change::Text { file, before: Some(_), .. } => refuse_marked(file, file.absolute()),
            Change::Text { file, before: None, .. } => refuse_marked_folder(file),
            Change::Deletion { file, .. } => {
                refuse_marked(file, file.absolute())?;
                refuse_marked_folder(file)
            }
            Change::Move { from, to, .. } => {
                refuse_marked(from, from.absolute())?;
                refuse_marked_folder(from)?;
                refuse_marked_folder(to)
            }
        }
    }

    /// The paths that would change, relative to the project.
    pub fn paths(&self) -> Vec<PathBuf> {
        match self {
            Change::Text { file, names, .. } => [vec![file.relative().into()], changing(names)].concat(),
            Change::Deletion { file, .. } => vec![file.relative().into()],
            Change::Move { from, to, .. } => vec![from.relative().into(), to.relative().into()],
        }
    }

    /// The file whose content is changed, removed or moved.
    pub(super) fn file(&self) -> &Inside {
        match self {
            Change::Text { file, .. } | Change::Deletion { file, .. } => file,
            Change::Move { from, .. } => from,
        }
    }

    /// The path of that file, relative to the project.
    pub fn path(&self) -> String {
        self.file().relative()
    }

    /// Whether it changes this text of the file `path`; `None` if it concerns another file. A text
    /// of `None` means that the file does not exist.
    pub fn is_of(&self, path: &str, text: Option<&str>) -> Option<bool> {
        (self.path() == path).then(|| match self {
            Change::Text { before, .. } => before.as_deref() == text,
            Change::Deletion { seen, .. } | Change::Move { seen, .. } => {
                text.is_some_and(|text| Seen::of_bytes(text.as_bytes()) == *seen)
            }
        })
    }

    /// The full texts, before and after, of the file whose text changes.
    fn texts(&self) -> Vec<FileChange> {
        let (file, old, new) = match self {
            Change::Text { file, before, after, .. } if before.as_ref() != Some(after) => (file, before, Some(after)),
            Change::Deletion { file, text: text @ Some(_), .. } => (file, text, None),
            _ => return Vec::new(),
        };
        let [old, new] = [old.as_ref(), new].map(|text| text.map(|text| text.as_str().into()));
        vec![FileChange { path: file.relative(), old, new }]
    }

    /// The text shown to the user before the change is made.
    pub fn preview(&self) -> Preview {
        let changes = self.texts();
        let diffs = changes.iter().map(|one| diff(&one.path, one.old.as_deref(), one.new.as_deref()));
        let mut text: String = diffs.collect();
        match self {
            Change::Text { file, before: Some(_), .. } if text.is_empty() => {
                text = format!("{} would be unchanged\n", file.relative());
            }
            Change::Text { file, .. } if text.is_empty() => {
                text = format!("{} would be created empty\n", file.relative())
            }
            Change::Deletion { file, .. } if text.is_empty() => {
                text = format!("{} would be deleted\n", file.relative())
            }
            Change::Move { from, to, .. } => text = format!("{} becomes {}\n", from.relative(), to.relative()),
            _ => {}
        }
        if let Change::Text { notes, names, .. } = self {
            notes.iter().chain(&linked(names)).for_each(|note| text.push_str(&format!("note: {note}\n")));
        }
        Preview { text, changes }
    }

    /// Makes the change if the file still has the content that it was planned for.
    pub(in crate::tools) fn make(self) -> Result<Outcome, String> {
        self.is_as_seen()?;
        let (text, diff) = match &self {
            Change::Text { file, before, after, .. } if before.as_ref() == Some(after) => {
                let path = file.relative();
                return Ok(Outcome::ok(format!("{path} already has exactly this content; nothing was written")));
            }
            Change::Text { file, before, after, notes, names } => {
                write(file, after.as_bytes()).map_err(|error| error.to_string())?;
                let path = file.relative();
                let verb = if before.is_some() { "changed" } else { "created" };
                let (diff, added, removed) = compare(&path, before.as_deref(), Some(after));
                let notes: String = notes.iter().map(|note| format!("\nnote: {note}")).collect();
                let links = linked(names).map_or(String::new(), |links| format!("; {links}"));
                (format!("{verb} {path} (+{added} -{removed} lines){links}{notes}"), Some(diff))
            }
            Change::Deletion { file, text, .. } => {
                let path = file.relative();
                fs::remove_file(file.absolute()).map_err(|error| format!("{path}: {error}"))?;
                (format!("deleted {path}"), text.as_ref().map(|text| diff(&path, Some(text), None)))
            }
            Change::Move { from, to, .. } => (rename(from, to)?, None),
        };
        Ok(Outcome { diff, changes: self.texts(), changed: self.paths(), ..Outcome::ok(text) })
    }
}

pub(super) fn rename(from: &Inside, to: &Inside) -> Result<String, String> {
    to.make_parents().map_err(|error| error.to_string())?;
    let (old, new) = (from.relative(), to.relative());
    fs::rename(from.absolute(), to.absolute()).map_err(|error| match error.kind() {
        io::ErrorKind::CrossesDevices => format!("{old} and {new} are on different disks; use run_command with `mv`"),
        _ => format!("{old} to {new}: {error}; run_command with `ls -ld` shows the permissions of both folders"),
    })?;
    Ok(format!("moved {old} to {new}"))
}

/// A unified diff with three lines of context; a text of `None` stands for a file that does not
/// exist.
pub fn diff(path: &str, before: Option<&str>, after: Option<&str>) -> String {
    compare(path, before, after).0
}

/// The diff, and the numbers of lines that it adds and removes.
fn compare(path: &str, before: Option<&str>, after: Option<&str>) -> (String, usize, usize) {
    let name = |side: &str, text: Option<&str>| text.map_or("/dev/null".to_owned(), |_| format!("{side}/{path}"));
    let lines = TextDiff::configure().timeout(DIFF_TIME_MAX).diff_lines(before.unwrap_or(""), after.unwrap_or(""));
    let count = |tag: ChangeTag| lines.iter_all_changes().filter(|change| change.tag() == tag).count();
    let mut unified = lines.unified_diff();
    let text = unified.context_radius(3).header(&name("a", before), &name("b", after)).to_string();
    (fitted(&text, DIFF_MAX_BYTES, Keep::HeadTail), count(ChangeTag::Insert), count(ChangeTag::Delete))
}

/// The text of a file to be changed, which must be UTF-8 of at most [`WRITE_MAX_BYTES`].
pub fn text_of(file: &Inside) -> Result<String, String> {
    let path = file.relative();
    let mut bytes = Vec::new();
    let mut open = file.open().map_err(|e| e.to_string())?.take(WRITE_MAX_BYTES as u64 + 1);
    open.read_to_end(&mut bytes).map_err(|e| format!("{path}: {e}"))?;
    if bytes.len() > WRITE_MAX_BYTES {
        return Err(format!("{path} is larger than 1 MiB, the limit for one call; use run_command"));
    }
    String::from_utf8(bytes).map_err(|_| format!("{path} is not UTF-8 text; only text files are changed"))
}

pub(super) fn write(file: &Inside, bytes: &[u8]) -> Result<(), ConfineError> {
    file.make_parents()?;
    if fs::symlink_metadata(file.absolute()).is_ok_and(|meta| !meta.is_file()) {
        return Err(ConfineError::Replaced { path: file.relative() });
    }
    let written = overwrite::write(file.absolute(), bytes, None, file.root());
    written.map_err(|source| ConfineError::Io { path: file.relative(), source })
}

/// The other names of a file whose content changes with it.
fn changing(names: &Names) -> Vec<PathBuf> {
    if names.elsewhere { Vec::new() } else { names.inside.clone() }
}

/// Describes the effect on the other names of a file; `None` if it has none.
fn linked(names: &Names) -> Option<String> {
    let shown: Vec<String> = changing(names).iter().map(|path| path.display().to_string()).collect();
    match (names.elsewhere, shown.is_empty()) {
        (true, _) => Some("its other name outside the project (a hard link) keeps the old text".to_owned()),
        (false, false) => Some(format!("{} is the same file (a hard link) and changes too", shown.join(", "))),
        (false, true) => None,
    }
}

/// Fails if the file or folder at `at` is marked as read-only.
fn refuse_marked(inside: &Inside, at: &Path) -> Result<(), String> {
    let Some(mode) = overwrite::read_only_mode(at) else { return Ok(()) };
    let path = inside.relative_of(at);
    Err(format!(
        "`{path}` is marked read-only (mode {mode:03o}), so it stays as it is; `chmod u+w` on it allows changes"
    ))
}

/// Fails if the folder in which a file would be created or deleted is marked as read-only.
fn refuse_marked_folder(file: &Inside) -> Result<(), String> {
    let mut above = file.absolute().ancestors().skip(1).take_while(|folder| folder.starts_with(file.root()));
    above.find(|folder| folder.exists()).map_or(Ok(()), |folder| refuse_marked(file, folder))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::files::walk::testing::{Project, change};
    use std::os::unix::fs::PermissionsExt;

    fn write(project: &Project, path: &str, content: &str) -> Outcome {
        change(Builtin::WriteFile, project, serde_json::json!({ "path": path, "content": content }))
    }

    #[test]
    fn a_change_keeps_the_mode_and_leaves_no_temporary_file() {
        let project = Project::with(&[("run.sh", "a\n")]);
        let path = project.dir.path().join("run.sh");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
        let outcome = write(&project, "run.sh", "b\n");
        assert_eq!(outcome.text, "changed run.sh (+1 -1 lines)");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o750);
        assert_eq!(fs::read_dir(project.dir.path()).unwrap().count(), 1);
        assert_eq!(outcome.diff.unwrap(), "--- a/run.sh\n+++ b/run.sh\n@@ -1 +1 @@\n-a\n+b\n");
        let again = write(&project, "run.sh", "b\n");
        assert!(again.is_ok() && again.changed.is_empty(), "{again:?}");
    }

    #[test]
    fn a_file_that_is_hard_linked_outside_stays_as_it_was_there() {
        let (project, outside) = (Project::with(&[]), tempfile::NamedTempFile::new().unwrap());
        fs::write(outside.path(), "old\n").unwrap();
        fs::hard_link(outside.path(), project.dir.path().join("inside")).unwrap();
        let outcome = write(&project, "inside", "new\n");
        assert!(outcome.text.contains("other name outside"), "{}", outcome.text);
        assert_eq!(fs::read_to_string(outside.path()).unwrap(), "old\n");
    }

    #[test]
    fn the_other_names_of_a_file_change_with_it_and_are_named() {
        let project = Project::with(&[("a/one.cfg", "old\n")]);
        fs::hard_link(project.dir.path().join("a/one.cfg"), project.dir.path().join("two.cfg")).unwrap();
        let outcome = write(&project, "a/one.cfg", "new\n");
        assert!(outcome.text.contains("two.cfg is the same file"), "{}", outcome.text);
        assert_eq!(outcome.changed, ["a/one.cfg", "two.cfg"].map(PathBuf::from));
        assert_eq!(project.text("two.cfg"), "new\n");
    }

    #[test]
    fn what_is_marked_read_only_is_refused_with_its_mode() {
        let project = Project::with(&[("a.cfg", "old\n"), ("kept/b.cfg", "old\n"), ("c.cfg", "old\n")]);
        let mode = |path: &str, mode| {
            fs::set_permissions(project.dir.path().join(path), fs::Permissions::from_mode(mode)).unwrap();
        };
        mode("a.cfg", 0o444);
        mode("kept", 0o555);
        let moved =
            |source: &str, destination: &str| serde_json::json!({ "source": source, "destination": destination });
        let path = |path: &str| serde_json::json!({ "path": path });
        let replace = serde_json::json!({ "path": "a.cfg", "old": "old", "new": "new" });
        let (text, new) = (|path: &str| serde_json::json!({ "path": path, "content": "new\n" }), "kept/deep/new");
        for (builtin, arguments, expected) in [
            (Builtin::WriteFile, text("a.cfg"), "`a.cfg` is marked read-only (mode 444)"),
            (Builtin::ReplaceInFile, replace, "`a.cfg` is marked read-only (mode 444)"),
            (Builtin::DeleteFile, path("a.cfg"), "`a.cfg` is marked read-only (mode 444)"),
            (Builtin::MoveFile, moved("a.cfg", "d.cfg"), "`a.cfg` is marked read-only (mode 444)"),
            (Builtin::WriteFile, text(new), "`kept` is marked read-only (mode 555)"),
            (Builtin::DeleteFile, path("kept/b.cfg"), "`kept` is marked read-only (mode 555)"),
            (Builtin::MoveFile, moved("kept/b.cfg", "b.cfg"), "`kept` is marked read-only (mode 555)"),
            (Builtin::MoveFile, moved("c.cfg", "kept/c.cfg"), "`kept` is marked read-only (mode 555)"),
        ] {
            let outcome = change(builtin, &project, arguments);
            assert!(outcome.text.contains(expected) && outcome.text.contains("chmod u+w"), "{}", outcome.text);
        }
        assert_eq!(project.text("a.cfg"), "old\n");
        assert!(write(&project, "kept/b.cfg", "new\n").is_ok(), "the file itself may be written");
        mode("kept", 0o755);
    }

    #[test]
    fn a_new_file_gets_its_folders() {
        let outcome = write(&Project::with(&[]), "deep/er/new.txt", "text\n");
        assert_eq!(outcome.text, "created deep/er/new.txt (+1 -0 lines)");
        assert!(outcome.diff.unwrap().starts_with("--- /dev/null\n+++ b/deep/er/new.txt"));
        assert_eq!(outcome.changed, [PathBuf::from("deep/er/new.txt")]);
    }
}
