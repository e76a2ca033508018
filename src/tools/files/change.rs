//! A change to one file: shown as a diff before it is made, made atomically.

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use crate::protocol::FileChange;
use crate::tools::confine::{ConfineError, Inside};
use crate::tools::outcome::{DIFF_MAX_BYTES, Outcome, cut_middle};

/// Most that is written to one file, and the largest file that is changed.
pub const WRITE_MAX_BYTES: usize = 1 << 20;
/// Longest search for the smallest diff; after that a coarser one is shown.
const DIFF_TIME_MAX: Duration = Duration::from_secs(1);

/// The text of a file before and after a change.
#[derive(Clone, Debug)]
pub struct Change {
    pub file: Inside,
    /// `None` when the file does not exist yet.
    pub before: Option<String>,
    pub after: String,
    /// Remarks on how the change was found, one line each.
    pub notes: Vec<String>,
}

impl Change {
    /// Empty when nothing changes.
    pub fn diff(&self) -> String {
        diff(&self.file.relative(), self.before.as_deref(), Some(&self.after))
    }

    /// The file's full text before and after.
    pub fn texts(&self) -> FileChange {
        let (old, new) = (self.before.as_deref().map(Into::into), Some(self.after.as_str().into()));
        FileChange { path: self.file.relative(), old, new }
    }

    /// Writes the file beside itself and renames it into place, so that a reader sees the old text or the new one.
    pub fn make(self) -> Outcome {
        let path = self.file.relative();
        if self.before.as_deref() == Some(self.after.as_str()) {
            return Outcome::ok(format!("{path} already has exactly this content; nothing was written"));
        }
        if let Err(error) = write_atomically(&self.file, self.after.as_bytes()) {
            return Outcome::error(error.to_string());
        }
        let verb = if self.before.is_some() { "changed" } else { "created" };
        let (diff, added, removed) = compare(&path, self.before.as_deref(), Some(&self.after));
        let mut text = format!("{verb} {path} (+{added} -{removed} lines)");
        for note in &self.notes {
            text.push_str("\nnote: ");
            text.push_str(note);
        }
        let changes = vec![self.texts()];
        Outcome { diff: Some(diff), changes, changed: vec![PathBuf::from(path)], ..Outcome::ok(text) }
    }
}

/// A unified diff with three lines around each change; `None` where there is no file before or after.
pub fn diff(path: &str, before: Option<&str>, after: Option<&str>) -> String {
    compare(path, before, after).0
}

/// The diff, and how many lines it adds and removes.
fn compare(path: &str, before: Option<&str>, after: Option<&str>) -> (String, usize, usize) {
    let name = |side: &str, text: Option<&str>| text.map_or("/dev/null".to_owned(), |_| format!("{side}/{path}"));
    let lines = TextDiff::configure().timeout(DIFF_TIME_MAX).diff_lines(before.unwrap_or(""), after.unwrap_or(""));
    let count = |tag: ChangeTag| lines.iter_all_changes().filter(|change| change.tag() == tag).count();
    let mut unified = lines.unified_diff();
    let text = unified.context_radius(3).header(&name("a", before), &name("b", after)).to_string();
    (cut_middle(text, DIFF_MAX_BYTES), count(ChangeTag::Insert), count(ChangeTag::Delete))
}

/// The text of a file that is to be changed: UTF-8, at most [`WRITE_MAX_BYTES`].
pub fn text_of(file: &Inside) -> Result<String, String> {
    let path = file.relative();
    let mut bytes = Vec::new();
    let mut open = file.open().map_err(|e| e.to_string())?.take(WRITE_MAX_BYTES as u64 + 1);
    open.read_to_end(&mut bytes).map_err(|e| format!("{path}: {e}"))?;
    if bytes.len() > WRITE_MAX_BYTES {
        return Err(format!("{path} is larger than 1 MiB, the most that is changed in one call; use run_command"));
    }
    String::from_utf8(bytes).map_err(|_| format!("{path} is not UTF-8 text; only text files are changed"))
}

fn write_atomically(file: &Inside, bytes: &[u8]) -> Result<(), ConfineError> {
    let io = |source| ConfineError::Io { path: file.relative(), source };
    let parent = file.make_parents()?;
    let existing = fs::symlink_metadata(file.absolute()).ok();
    if existing.as_ref().is_some_and(|meta| !meta.is_file()) {
        return Err(ConfineError::Replaced { path: file.relative() });
    }
    let temporary = parent.join(format!(".monobloc-{:016x}", fastrand::u64(..)));
    let written = (|| {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC);
        let mut out = options.open(&temporary)?;
        out.write_all(bytes)?;
        if let Some(meta) = &existing {
            out.set_permissions(meta.permissions())?;
        }
        out.sync_all()?;
        fs::rename(&temporary, file.absolute())
    })();
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written.map_err(io)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::confine::{Access, Root};
    use std::os::unix::fs::PermissionsExt;

    fn change(root: &Root, path: &str, after: &str) -> Change {
        let file = root.resolve(path, Access::Write).unwrap();
        let before = file.exists().then(|| text_of(&file).unwrap());
        Change { file, before, after: after.to_owned(), notes: Vec::new() }
    }

    #[test]
    fn a_change_keeps_the_mode_and_leaves_no_temporary_file() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(dir.path()).unwrap();
        let path = dir.path().join("run.sh");
        fs::write(&path, "a\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
        let outcome = change(&root, "run.sh", "b\n").make();
        assert!(outcome.is_ok(), "{outcome:?}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o750);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        insta::assert_snapshot!(outcome.diff.unwrap(), @r"
        --- a/run.sh
        +++ b/run.sh
        @@ -1 +1 @@
        -a
        +b
        ");
    }

    #[test]
    fn a_file_that_is_hard_linked_outside_stays_as_it_was_there() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("project")).unwrap();
        let outside = dir.path().join("outside");
        fs::write(&outside, "old\n").unwrap();
        fs::hard_link(&outside, dir.path().join("project/inside")).unwrap();
        let root = Root::open(&dir.path().join("project")).unwrap();
        assert!(change(&root, "inside", "new\n").make().is_ok());
        assert_eq!(fs::read_to_string(outside).unwrap(), "old\n");
    }

    #[test]
    fn a_new_file_gets_its_folders() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(dir.path()).unwrap();
        let outcome = change(&root, "deep/er/new.txt", "text\n").make();
        assert_eq!(outcome.text, "created deep/er/new.txt (+1 -0 lines)");
        assert!(outcome.diff.unwrap().starts_with("--- /dev/null\n+++ b/deep/er/new.txt"));
        assert_eq!(outcome.changed, [PathBuf::from("deep/er/new.txt")]);
    }
}
