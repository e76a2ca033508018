//! Makes the file changes of a step: all or none, and only if the files still have the text that
//! the changes were planned for.

use serde_json::{Value, json};

use crate::agent::budget::Guided;
use crate::agent::consent::Wanted;
use crate::agent::evidence::Evidence;
use crate::agent::execute::{self, Made};
use crate::agent::toolkit::TurnError;
use crate::tools::builtin::Builtin;

use super::{Done, Job};

impl Job<'_> {
    /// Makes changes that belong together: all or none. `notes` list, for the user, the places left
    /// out.
    pub async fn make_all(
        self,
        edits: &[FileEdit],
        notes: &[String],
        evidence: &mut Evidence,
    ) -> Result<Made, TurnError> {
        let (mut calls, mut basis) = (Vec::new(), Vec::new());
        for edit in edits {
            let (tool, arguments) = edit.call();
            calls.push(self.call(tool, arguments)?);
            basis.push((edit.path.clone(), edit.before.clone()));
        }
        if calls.is_empty() {
            return Ok(Made::All);
        }
        let wanted = Wanted { calls: &calls, basis: &basis, notes };
        execute::perform_all(self.scene, self.step.id, wanted, evidence).await
    }

    /// Like `make_all`, with edits from `work_out`, which is called again if somebody else has
    /// changed a file in the meantime. The returned texts are notes for the user; the inner error
    /// gives the reason why nothing was done.
    pub async fn work_out_and_make<T>(
        self,
        mut work_out: impl FnMut() -> Result<(Vec<FileEdit>, Vec<String>, T), String>,
        evidence: &mut Evidence,
    ) -> Result<Result<(Made, T), String>, TurnError> {
        let mut stale = String::new();
        for _ in 0..Guided::STALE_ROUNDS {
            let (edits, notes, more) = match work_out() {
                Ok(worked_out) => worked_out,
                Err(why) if stale.is_empty() => return Ok(Err(why)),
                Err(why) => return Ok(Err(format!("{stale} was changed in the meantime, and now {why}"))),
            };
            match self.make_all(&edits, &notes, evidence).await? {
                Made::Stale(path) => {
                    self.scene
                        .host
                        .notice(&format!("{path} was changed in the meantime; the change is worked out again"));
                    stale = path;
                }
                made => return Ok(Ok((made, more))),
            }
        }
        Ok(Err(format!("somebody else keeps changing {stale}; ask again")))
    }

    /// Writes a file whose text was `before`; returns whether that succeeded. If somebody else has
    /// changed it in the meantime, a notice says so.
    pub async fn write(
        self,
        path: &str,
        before: Option<&str>,
        text: &str,
        evidence: &mut Evidence,
    ) -> Result<bool, TurnError> {
        let edit = FileEdit::text(path, before, text);
        let made = self.make_all(&[edit], &[], evidence).await?;
        if let Made::Stale(path) = &made {
            self.scene.host.notice(&changed_meanwhile(path));
        }
        Ok(made == Made::All)
    }

    /// Replaces `before`, the text of a file, by `after`. If somebody else has changed the file in
    /// the meantime, a note says so, since overwriting it would lose that change.
    pub async fn replace(
        self,
        path: &str,
        before: &str,
        after: &str,
        evidence: &mut Evidence,
    ) -> Result<Done, TurnError> {
        match self.make_all(&[FileEdit::text(path, Some(before), after)], &[], evidence).await? {
            Made::Stale(path) => Ok(Done::note(changed_meanwhile(&path))),
            Made::All | Made::Nothing => Ok(Done::default()),
        }
    }
}

/// A change to one file, with the text that it was planned for.
#[derive(Clone, Debug)]
pub struct FileEdit {
    path: String,
    /// `None` if there was no file.
    before: Option<String>,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Text(String),
    /// Replaces the old passage by the new one.
    Passage(String, String),
    MoveTo(String),
    Delete,
}

impl FileEdit {
    pub fn text(path: &str, before: Option<&str>, after: &str) -> FileEdit {
        FileEdit { path: path.to_owned(), before: before.map(str::to_owned), what: What::Text(after.to_owned()) }
    }

    pub fn passage(path: &str, before: &str, old: &str, new: &str) -> FileEdit {
        let what = What::Passage(old.to_owned(), new.to_owned());
        FileEdit { path: path.to_owned(), before: Some(before.to_owned()), what }
    }

    pub fn move_to(path: &str, before: &str, to: &str) -> FileEdit {
        FileEdit { path: path.to_owned(), before: Some(before.to_owned()), what: What::MoveTo(to.to_owned()) }
    }

    pub fn delete(path: &str, before: &str) -> FileEdit {
        FileEdit { path: path.to_owned(), before: Some(before.to_owned()), what: What::Delete }
    }

    /// The tool that makes the change, and the arguments of the call.
    fn call(&self) -> (Builtin, Value) {
        let path = &self.path;
        match &self.what {
            What::Text(text) => (Builtin::WriteFile, json!({ "path": path, "content": text })),
            What::Passage(old, new) => (Builtin::ReplaceInFile, json!({ "path": path, "old": old, "new": new })),
            What::MoveTo(to) => (Builtin::MoveFile, json!({ "source": path, "destination": to })),
            What::Delete => (Builtin::DeleteFile, json!({ "path": path })),
        }
    }
}

/// The note for a file that somebody else changed during the step.
pub fn changed_meanwhile(path: &str) -> String {
    format!("not done: {path} was changed by somebody else in the meantime; ask again")
}
