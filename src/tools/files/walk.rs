//! Walks the files of the project, without ignored files, `.git` and `.monobloc`, and without
//! following links.

use std::path::{Path, PathBuf};

use crate::base;
use crate::tools::Context;
use crate::tools::confine::Inside;

/// Maximum number of entries per walk, in case the project is a home folder given by mistake.
pub const WALK_MAX_ENTRIES: usize = 200_000;

#[derive(Clone, Debug)]
pub struct Entry {
    /// Relative to the project, with `/`.
    pub path: String,
    /// The same path as an absolute path with its original bytes.
    pub absolute: PathBuf,
    pub is_dir: bool,
    pub is_file: bool,
}

/// The result of a walk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Walked {
    /// Whether every entry except hidden ones was visited.
    pub whole: bool,
    /// Number of files and folders that a rule hides; entries of hidden folders are not counted.
    pub hidden: usize,
}

impl Walked {
    /// A line with the number of entries that a rule has hidden from the result; empty if there are
    /// none.
    pub fn note(&self) -> String {
        match self.hidden {
            0 => String::new(),
            1 => "[1 file or folder is left out by a rule]\n".to_owned(),
            many => format!("[{many} files or folders are left out by a rule]\n"),
        }
    }
}

/// Calls `visit` with every entry below `start`, sorted by name, until it returns false. Fails if
/// the call was cancelled.
pub fn walk(context: &Context, start: &Inside, mut visit: impl FnMut(&Entry) -> bool) -> Result<Walked, String> {
    let mut walked = Walked::default();
    let hides = |path: &Path| context.root.hides(&path.to_string_lossy());
    for (seen, entry) in base::walk::walk(context.root.path(), start.absolute()).build().enumerate() {
        if context.cancel.is_cancelled() {
            return Err("the call was cancelled".to_owned());
        }
        if seen >= WALK_MAX_ENTRIES {
            return Ok(walked);
        }
        // Skip unreadable entries.
        let Ok(entry) = entry else { continue };
        if entry.depth() == 0 && start.is_dir() {
            continue;
        }
        let path = entry.path().strip_prefix(context.root.path()).unwrap_or(entry.path());
        if hides(path) {
            // Entries of a hidden folder are not counted.
            walked.hidden += usize::from(!path.parent().is_some_and(hides));
            continue;
        }
        let kind = entry.file_type();
        let shown = Entry {
            path: path.to_string_lossy().into_owned(),
            absolute: entry.path().to_owned(),
            is_dir: kind.is_some_and(|kind| kind.is_dir()),
            is_file: kind.is_some_and(|kind| kind.is_file()),
        };
        if !visit(&shown) {
            return Ok(walked);
        }
    }
    walked.whole = true;
    Ok(walked)
}

#[cfg(test)]
pub mod testing {
    //! A small project in a temporary folder, and functions that call a tool in it.

    use super::*;
    use crate::base::Cancel;
    use crate::tools::Outcome;
    use crate::tools::arguments::Arguments;
    use crate::tools::builtin::Builtin;
    use crate::tools::confine::Root;
    use crate::tools::files::change::Change;

    pub struct Project {
        pub dir: tempfile::TempDir,
        pub context: Context,
    }

    impl Project {
        pub fn with(files: &[(&str, &str)]) -> Project {
            let dir = tempfile::tempdir().unwrap();
            for (path, content) in files {
                let path = dir.path().join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, content).unwrap();
            }
            let context = Context::new(Root::open(dir.path()).unwrap(), Cancel::new());
            Project { dir, context }
        }

        pub fn text(&self, path: &str) -> String {
            std::fs::read_to_string(self.dir.path().join(path)).unwrap()
        }
    }

    type Tool = fn(Arguments<'_>, &Context) -> Result<Outcome, String>;

    pub fn call(tool: Tool, project: &Project, arguments: &str) -> Outcome {
        let arguments = serde_json::from_str(arguments).unwrap();
        tool(Arguments(&arguments), &project.context).unwrap_or_else(Outcome::error)
    }

    /// Makes the change that a tool call asks for.
    pub fn change(tool: Builtin, project: &Project, arguments: serde_json::Value) -> Outcome {
        let plan = Change::plan(tool, Arguments(arguments.as_object().unwrap()), &project.context);
        plan.and_then(Change::make).unwrap_or_else(Outcome::error)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::testing::{Project, call};
    use crate::base::Hidden;
    use crate::tools::files::{find, list, read, search};

    #[test]
    fn no_tool_gives_away_what_is_hidden() {
        let mut project = Project::with(&[("open.txt", "mark\n"), ("kept/deep/a.txt", "mark\n"), ("x.key", "mark\n")]);
        std::os::unix::fs::symlink("kept", project.dir.path().join("link")).unwrap();
        let hidden = Hidden::by(|path| path == "kept" || path.starts_with("kept/") || path.ends_with(".key"));
        project.context.root = project.context.root.clone().hiding(hidden);
        let note = "[2 files or folders are left out by a rule]";
        let text = |outcome: crate::tools::Outcome| outcome.text;
        let found = text(call(search::run, &project, r#"{"pattern":"mark"}"#));
        assert!(found.contains("open.txt:1") && !found.contains("kept") && found.contains(note), "{found}");
        let listed = text(call(list::run, &project, "{}"));
        assert!(!listed.contains("kept") && !listed.contains("x.key") && listed.contains(note), "{listed}");
        let below = text(call(list::run, &project, r#"{"recursive":true}"#));
        assert!(!below.contains("kept") && below.contains(note), "{below}");
        let named = text(call(find::run, &project, r#"{"pattern":"a.txt"}"#));
        assert!(!named.contains("deep") && named.contains(note), "{named}");
        for path in [
            "kept",
            "kept/",
            "./kept",
            "kept/deep",
            "kept/deep/a.txt",
            "link",
            "link/deep/a.txt",
            "open/../kept",
            "x.key",
        ] {
            let arguments = json!({ "pattern": "mark", "path": path }).to_string();
            let all = [
                call(read::run, &project, &arguments),
                call(list::run, &project, &arguments),
                call(search::run, &project, &arguments),
            ];
            for outcome in all {
                assert!(!outcome.is_ok() && !outcome.text.contains("a.txt:"), "{arguments}: {}", outcome.text);
            }
        }
    }
}
