//! Derives the commands that test, compile, build, lint and format a project from its manifests and files.

mod cargo;
mod files;
mod golang;
mod loading;
mod make;
mod python;
mod script;
mod tests_of;

use std::path::Path;

use files::Files;
pub(crate) use files::quoted;
pub use loading::{is_module, loading};
pub use script::Style;
pub use tests_of::{count, is_test, is_test_file, tests_of};

/// A kind of check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    Test,
    /// Checks only whether the code compiles.
    Compile,
    Build,
    Lint,
    Format,
}

/// The commands for projects of one language or build tool.
struct Kit {
    /// The commands for the whole project, by task.
    whole: Vec<(Task, String)>,
    /// The reason none of these commands can run here, if the project's files show one.
    lacks: Option<String>,
    /// Whether `covering` can run this test file.
    runs: fn(&str) -> bool,
    covering: Box<Covering>,
}

/// The narrowest command that runs these test files, given at least one.
type Covering = dyn Fn(&[&str]) -> Option<String>;

/// The commands that check a project; earlier kits take precedence.
pub struct Checks {
    kits: Vec<Kit>,
    /// Reasons why a check cannot run, written for people.
    pub notes: Vec<String>,
}

/// The test framework of the project's JavaScript and TypeScript files; `None` if it cannot be
/// determined.
pub fn script_style(root: &Path) -> Option<Style> {
    script::read(&Files { root, paths: crate::index::files_of(root) })?.style
}

/// The commands that check the project at `root`.
pub fn of(root: &Path) -> Checks {
    of_files(root, crate::index::files_of(root), &python::imports_pytest)
}

/// Like [`of`], for known `paths`, which must include all files of the project.
/// `imports_pytest(root, python)` returns whether that Python has pytest; it is only called if
/// tests need pytest.
fn of_files(root: &Path, paths: Vec<String>, imports_pytest: &dyn Fn(&Path, &str) -> bool) -> Checks {
    let files = Files { root, paths };
    let mut notes = Vec::new();
    let kits = [
        cargo::kit(&files),
        script::kit(&files),
        golang::kit(&files),
        python::kit(&files, imports_pytest, &mut notes),
        make::kit(&files),
    ];
    Checks { kits: kits.into_iter().flatten().collect(), notes }
}

impl Checks {
    /// The shell command for the whole project, to be run in its root folder; `None` if no manifest
    /// or file suggests one.
    pub fn command(&self, task: Task) -> Option<String> {
        let mut commands = self.kits.iter().flat_map(|kit| &kit.whole);
        commands.find(|(known, _)| *known == task).map(|(_, line)| line.clone())
    }

    /// Like [`Checks::command`], but only if the command can run here.
    ///
    /// # Errors
    /// No command is known, its program is not installed, or the project lacks what it needs.
    pub fn ready(&self, root: &Path, task: Task) -> Result<String, String> {
        let mut why = self.notes.clone();
        for kit in &self.kits {
            for (_, line) in kit.whole.iter().filter(|(known, _)| *known == task) {
                match kit.lacks.clone().or_else(|| files::missing_program(root, line)) {
                    None => return Ok(line.clone()),
                    Some(lacks) => why.push(format!("`{line}` cannot run here: {lacks}")),
                }
            }
        }
        Err(if why.is_empty() { "the project has no known check".to_owned() } else { why.join("; ") })
    }

    /// The narrowest command that runs these test files (see [`tests_of()`]). If they are in
    /// several languages, it only runs those for the first kit that can run any.
    pub fn covering(&self, files: &[String]) -> Option<String> {
        self.kits.iter().find_map(|kit| {
            let own: Vec<&str> = files.iter().map(String::as_str).filter(|path| (kit.runs)(path)).collect();
            if own.is_empty() { None } else { (kit.covering)(&own) }
        })
    }
}

#[cfg(test)]
mod tests;
