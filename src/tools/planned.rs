//! Plans the file changes of calls that belong together, and makes all of them or none.

use std::path::PathBuf;

use crate::base::overwrite::Names;
use crate::edit::{self, Edit};
use crate::tools::Context;
use crate::tools::arguments::Arguments;
use crate::tools::builtin::Builtin;
use crate::tools::call::ToolCall;
use crate::tools::files::change::{Change, text_of};
use crate::tools::outcome::Outcome;
use crate::tools::preview::Preview;

/// The changes that calls would make, with the content of the files that they were planned for. Two
/// plans are equal if they make the same changes to the same content; changes shown to the user are
/// made only if a new plan equals the shown one.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned(Vec<Change>);

impl Planned {
    /// Plans the changes of `calls`, one after the other; `None` if a call does more than change
    /// files, as a command does. Returns the error of the first call that would fail.
    pub fn of(calls: &[ToolCall], context: &Context) -> Result<Option<Planned>, String> {
        let mut changes: Vec<Change> = Vec::new();
        for call in calls {
            let Some(builtin) = Builtin::by_name(&call.tool).filter(|builtin| builtin.changes_files()) else {
                return Ok(None);
            };
            let change = Change::plan(builtin, Arguments(&call.arguments), context)?;
            changes.push(after_move(&changes, change)?);
        }
        Ok(Some(Planned(changes)))
    }

    /// The paths that change, relative to the project.
    pub fn paths(&self) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> = self.0.iter().flat_map(Change::paths).collect();
        paths.sort();
        paths.dedup();
        paths
    }

    /// The first path of `basis` whose text differs from the one that the changes were planned for.
    /// `basis` lists paths with their texts, `None` for a file that did not exist.
    pub fn other_than<'b>(&self, basis: &'b [(String, Option<String>)]) -> Option<&'b str> {
        let is_other = |(path, text): &&(String, Option<String>)| {
            self.0.iter().any(|change| change.is_of(path, text.as_deref()) == Some(false))
        };
        basis.iter().find(is_other).map(|(path, _)| path.as_str())
    }

    /// The first file whose change differs in `other`.
    pub fn differs_from(&self, other: &Planned) -> Option<String> {
        let differs = |(at, change): (usize, &Change)| (other.0.get(at) != Some(change)).then(|| change.path());
        self.0.iter().enumerate().find_map(differs)
    }

    /// The file that is changed first.
    pub fn first_path(&self) -> String {
        self.0.first().map(Change::path).unwrap_or_default()
    }

    /// The text shown to the user before the changes are made.
    pub fn preview(&self) -> Preview {
        let mut whole = Preview::from(String::new());
        for preview in self.0.iter().map(Change::preview) {
            whole.text.push_str(&preview.text);
            whole.changes.extend(preview.changes);
        }
        whole
    }

    /// Makes the changes in order and returns the outcome of each. If one fails, the earlier ones
    /// are reverted.
    pub(super) fn make(self) -> Result<Vec<Outcome>, String> {
        let count = self.0.len();
        if count > 1 {
            self.0.iter().try_for_each(Change::may_be_made)?;
        }
        let (mut outcomes, mut made) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for change in self.0 {
            let back = if count > 1 { change.way_back().map(Some) } else { Ok(None) };
            match back.and_then(|back| Ok((back, change.make()?))) {
                Ok((back, outcome)) => {
                    made.extend(back);
                    outcomes.push(outcome);
                }
                Err(why) => return Err(format!("{why}; {}", taken_back(made))),
            }
        }
        Ok(outcomes)
    }
}

/// Adjusts `change` for the changes `before` it: a moved file has its text at its new path.
fn after_move(before: &[Change], change: Change) -> Result<Change, String> {
    let Change::Text { file, before: None, after, notes, .. } = &change else { return Ok(change) };
    let moved = before.iter().find_map(|earlier| match earlier {
        Change::Move { from, to, .. } if to == file => Some(from),
        _ => None,
    });
    let Some(from) = moved else { return Ok(change) };
    let (text, names) = (text_of(from)?, Names::default());
    let applied = edit::apply(&file.relative(), &text, &Edit::Whole(after))?;
    Ok(Change::Text { file: file.clone(), before: Some(text), after: applied.text, notes: notes.clone(), names })
}

/// Reverts changes, last one first, and reports whether that succeeded.
fn taken_back(made: Vec<Back>) -> String {
    let mut left = Vec::new();
    for back in made.into_iter().rev() {
        if let Err(why) = back() {
            left.push(why);
        }
    }
    match left.as_slice() {
        [] => "nothing was changed".to_owned(),
        left => format!("not everything that was changed before it could be taken back: {}", left.join("; ")),
    }
}

/// Reverts a change that was made; the error names the part of it that remains.
pub(super) type Back = Box<dyn FnOnce() -> Result<(), String> + Send>;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use serde_json::{Value, json};

    use super::*;
    use crate::tools::files::walk::testing::Project;

    fn call(tool: &str, arguments: Value) -> ToolCall {
        ToolCall { tool: tool.to_owned(), arguments: arguments.as_object().cloned().unwrap() }
    }

    fn write(path: &str, content: &str) -> ToolCall {
        call("write_file", json!({ "path": path, "content": content }))
    }

    fn planned(project: &Project, calls: &[ToolCall]) -> Planned {
        Planned::of(calls, &project.context).unwrap().unwrap()
    }

    #[test]
    fn if_the_last_change_fails_the_others_are_taken_back() {
        let project = Project::with(&[("a.txt", "a\n"), ("b.txt", "b\n"), ("c.txt", "c\n"), ("d/e.txt", "e\n")]);
        let root = project.dir.path();
        let mode = fs::Permissions::from_mode(0o750);
        fs::set_permissions(root.join("b.txt"), mode.clone()).unwrap();
        let calls = [
            write("a.txt", "A\n"),
            write("new/deep/n.txt", "n\n"),
            call("delete_file", json!({ "path": "b.txt" })),
            call("move_file", json!({ "source": "d/e.txt", "destination": "f/e.txt" })),
            write("f/e.txt", "E\n"),
            write("c.txt", "C\n"),
        ];
        let plan = planned(&project, &calls);
        // Another program writes the last file after planning.
        fs::write(root.join("c.txt"), "theirs\n").unwrap();
        let why = plan.make().unwrap_err();
        assert_eq!(why, "c.txt was changed meanwhile; nothing was changed");
        let texts = ["a.txt", "b.txt", "c.txt", "d/e.txt"].map(|path| project.text(path));
        assert_eq!(texts, ["a\n", "b\n", "theirs\n", "e\n"]);
        assert_eq!(fs::metadata(root.join("b.txt")).unwrap().permissions().mode() & 0o777, 0o750);
        assert_eq!(fs::read_dir(root).unwrap().count(), 4, "no new folder is left");
        let outcomes = planned(&project, &calls).make().unwrap();
        assert_eq!(outcomes.len(), calls.len());
        assert_eq!((project.text("f/e.txt").as_str(), project.text("c.txt").as_str()), ("E\n", "C\n"));
    }

    #[test]
    fn if_a_change_cannot_be_taken_back_those_before_it_are() {
        let project = Project::with(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
        let calls = [write("a.txt", "A\n"), call("delete_file", json!({ "path": "b.txt" })), write("c.txt", "c\n")];
        let plan = planned(&project, &calls);
        // Its content cannot be kept, because the file is gone.
        fs::remove_file(project.dir.path().join("b.txt")).unwrap();
        let why = plan.make().unwrap_err();
        assert!(why.starts_with("b.txt: ") && why.ends_with("; nothing was changed"), "{why}");
        assert_eq!(project.text("a.txt"), "a\n");
        assert!(!project.dir.path().join("c.txt").exists());
    }

    #[test]
    fn what_is_made_is_compared_with_what_it_was_worked_out_from() {
        let project = Project::with(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
        let calls = [write("a.txt", "A\n"), call("move_file", json!({ "source": "b.txt", "destination": "c.txt" }))];
        let plan = planned(&project, &calls);
        let text = |path: &str, text: Option<&str>| vec![(path.to_owned(), text.map(str::to_owned))];
        assert_eq!(plan.other_than(&text("a.txt", Some("a\n"))), None);
        assert_eq!(plan.other_than(&text("a.txt", Some("older\n"))), Some("a.txt"));
        assert_eq!(plan.other_than(&text("a.txt", None)), Some("a.txt"));
        assert_eq!(plan.other_than(&text("b.txt", Some("b\n"))), None);
        assert_eq!(plan.other_than(&text("b.txt", Some("older\n"))), Some("b.txt"));
        fs::write(project.dir.path().join("b.txt"), "c\n").unwrap();
        assert_eq!(plan.differs_from(&planned(&project, &calls)).as_deref(), Some("b.txt"));
        assert_eq!(plan.make().unwrap_err(), "b.txt was changed meanwhile; nothing was changed");
        assert_eq!(project.text("a.txt"), "a\n");
    }

    #[test]
    fn what_no_file_tool_does_is_not_planned() {
        let project = Project::with(&[]);
        let command = call("run_command", json!({ "command": "true" }));
        assert_eq!(Planned::of(&[command], &project.context), Ok(None));
        assert!(Planned::of(&[call("delete_file", json!({ "path": "none" }))], &project.context).is_err());
    }
}
