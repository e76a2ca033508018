//! Says how a project is tested, compiled and linted: by its manifests and by the files that are there. Runs nothing of the project.

mod cargo;
mod covers;
mod files;
mod golang;
mod loading;
mod make;
mod python;
mod script;

use std::path::Path;

pub use covers::{is_test_file, tests_of};
use files::Files;
pub use files::quoted;
pub use loading::loading;
pub use script::Style;

/// What a project can be checked by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    Test,
    /// Only whether the code compiles.
    Compile,
    Build,
    Lint,
    Format,
}

/// A line for `sh`, to be run at the root of the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    pub task: Task,
    pub line: String,
}

/// How the projects of one language are checked.
trait Kit {
    /// The command for the whole project.
    fn whole(&self, task: Task) -> Option<String>;
    /// Whether this test file is one that [`Kit::covering`] can run.
    fn runs(&self, path: &str) -> bool;
    /// The narrowest command that runs these test files, which are at least one.
    fn covering(&self, files: &[&str]) -> Option<String>;
}

/// How a project is checked. What stands first is asked first.
pub struct Checks {
    kits: Vec<Box<dyn Kit>>,
    /// What hinders a check, in words for a person.
    notes: Vec<String>,
}

/// What tests in JavaScript and TypeScript are written for in a project; `None` where nothing says it.
pub fn script_style(root: &Path) -> Option<Style> {
    script::kit(&Files::new(root, crate::index::files_of(root)))?.style()
}

/// How the project at `root` is checked.
pub fn of(root: &Path) -> Checks {
    of_files(root, crate::index::files_of(root), &python::imports_pytest)
}

/// The same for known `paths`, which are all files of the project. `imports_pytest(root, python)` says whether that Python has pytest;
/// it is asked only if tests need it.
pub fn of_files(root: &Path, paths: Vec<String>, imports_pytest: &dyn Fn(&Path, &str) -> bool) -> Checks {
    let files = Files::new(root, paths);
    let mut notes = Vec::new();
    let kits: [Option<Box<dyn Kit>>; 5] = [
        cargo::kit(&files).map(boxed),
        script::kit(&files).map(boxed),
        golang::kit(&files).map(boxed),
        python::kit(&files, imports_pytest, &mut notes).map(boxed),
        make::kit(&files).map(boxed),
    ];
    Checks { kits: kits.into_iter().flatten().collect(), notes }
}

fn boxed(kit: impl Kit + 'static) -> Box<dyn Kit> {
    Box::new(kit)
}

impl Checks {
    /// The command for the whole project; `None` if nothing says one.
    pub fn command(&self, task: Task) -> Option<Command> {
        let line = self.kits.iter().find_map(|kit| kit.whole(task))?;
        Some(Command { task, line })
    }

    /// The narrowest command that runs these test files (see [`tests_of`]). Files of several languages: those of the first one's.
    pub fn covering(&self, files: &[String]) -> Option<Command> {
        let line = self.kits.iter().find_map(|kit| {
            let own: Vec<&str> = files.iter().map(String::as_str).filter(|path| kit.runs(path)).collect();
            if own.is_empty() { None } else { kit.covering(&own) }
        });
        line.map(|line| Command { task: Task::Test, line })
    }

    /// What hinders a check, in words for a person.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

#[cfg(test)]
mod tests;
