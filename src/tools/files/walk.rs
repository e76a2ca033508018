//! Walks the files of the project: without ignored files, `.git` and `.monobloc`, and without following links.

use std::path::PathBuf;

use crate::base;
use crate::tools::Context;
use crate::tools::confine::Inside;

/// Most entries of one walk; a bound for a home folder given by mistake.
pub const WALK_MAX_ENTRIES: usize = 200_000;

#[derive(Clone, Debug)]
pub struct Entry {
    /// Relative to the project, with `/`.
    pub path: String,
    /// The same from the root on, with its own bytes.
    pub absolute: PathBuf,
    pub is_dir: bool,
    pub is_file: bool,
}

/// Calls `visit` with every entry below `start`, sorted by name, until it returns false. Whether all were visited; an error
/// if the call was cancelled.
pub fn walk(context: &Context, start: &Inside, mut visit: impl FnMut(&Entry) -> bool) -> Result<bool, String> {
    for (seen, entry) in base::walk::walk(context.root.path(), start.absolute()).build().enumerate() {
        if context.cancel.is_cancelled() {
            return Err("the call was cancelled".to_owned());
        }
        if seen >= WALK_MAX_ENTRIES {
            return Ok(false);
        }
        // Unreadable entries are left out.
        let Ok(entry) = entry else { continue };
        if entry.depth() == 0 && start.is_dir() {
            continue;
        }
        let path = entry.path().strip_prefix(context.root.path()).unwrap_or(entry.path());
        let kind = entry.file_type();
        let shown = Entry {
            path: path.to_string_lossy().into_owned(),
            absolute: entry.path().to_owned(),
            is_dir: kind.is_some_and(|kind| kind.is_dir()),
            is_file: kind.is_some_and(|kind| kind.is_file()),
        };
        if !visit(&shown) {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
pub mod testing {
    //! A small project in a temporary folder, and the way to call a tool in it.

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

    /// Makes the change that a call of a tool asks for.
    pub fn change(tool: Builtin, project: &Project, arguments: serde_json::Value) -> Outcome {
        let plan = Change::plan(tool, Arguments(arguments.as_object().unwrap()), &project.context);
        plan.and_then(Change::make).unwrap_or_else(Outcome::error)
    }
}
