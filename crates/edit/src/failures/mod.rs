//! Reads the output of a test run, compiler or program: how it ended, which tests failed, and where.

mod places;
mod read;
mod summary;

pub use places::missing_package;
pub use read::read;
pub use summary::summary;

/// Maximum number of failures kept. A small model is shown only a few, and one cause often fails
/// hundreds of tests.
pub(crate) const FAILURES_MAX: usize = 50;

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Everything that ran passed.
    Passed,
    /// Tests ran and some failed, or a program ended with an error.
    #[default]
    Failed,
    /// Code does not parse, compile or load, so nothing in it ran.
    Broken,
    /// The run was stopped at a time limit. The report has the failures printed by then.
    Hung,
    /// A runner started but found no tests.
    NoTests,
    /// The program, module or file to run does not exist.
    Missing,
}

/// A place in a traceback that is inside the project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Path from the project's root. Go prints only the file name; [`Report::located`] completes
    /// it.
    pub file: String,
    /// Counted from 1.
    pub line: usize,
}

/// One failed test, one compiler error, or one uncaught error of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failure {
    /// The test's name in the runner's output.
    pub test: Option<String>,
    /// The place where the failure appears: in the test's file, or where the compiler points.
    pub file: Option<String>,
    /// Its line in that file, counted from 1.
    pub line: Option<usize>,
    /// A few of the lines that the runner printed about the failure, without places.
    pub message: String,
    /// Places inside the project, from the origin of the error to the test.
    pub frames: Vec<Frame>,
}

/// The result of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Number of passed tests. Without `-v` Go names only packages, so passed packages are counted.
    pub passed: usize,
    /// Number of failed tests and files that could not be loaded. This may exceed the length of
    /// `errors`.
    pub failed: usize,
    /// At most [`FAILURES_MAX`]; never empty if the kind is `Failed` or `Broken`.
    pub errors: Vec<Failure>,
    /// How the run ended.
    pub kind: Kind,
}

impl Report {
    /// Replaces the files in all frames with their paths in the project, and removes frames in
    /// other files. `paths` holds all files of the project.
    pub fn located(mut self, paths: &[&str]) -> Report {
        let ends = |long: &str, short: &str| {
            long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
        };
        let place = |file: &str| {
            let whole = paths.iter().filter(|path| ends(file, path)).max_by_key(|path| path.len());
            let mut deeper = paths.iter().filter(|path| ends(path, file));
            let only = || deeper.next().filter(|_| deeper.next().is_none());
            whole.or_else(only).map(|path| (*path).to_owned())
        };
        for failure in &mut self.errors {
            failure.frames.retain_mut(|frame| match place(&frame.file) {
                Some(path) => {
                    frame.file = path;
                    true
                }
                None => false,
            });
            failure.file = failure.file.as_deref().map(|file| place(file).unwrap_or_else(|| file.to_owned()));
        }
        self
    }

    /// Whether everything that fails here also failed in `before`.
    pub fn is_no_worse_than(&self, before: &Report) -> bool {
        // Line numbers are not compared, since every change moves them.
        let same = |one: &Failure, other: &Failure| match (&one.test, &other.test) {
            (None, None) => (&one.file, one.message.lines().next()) == (&other.file, other.message.lines().next()),
            (one, other) => one == other,
        };
        let is_unlisted = |one: &Failure| one.test.is_some() && before.failed > before.errors.len();
        let is_old = |one: &Failure| is_unlisted(one) || before.errors.iter().any(|other| same(one, other));
        let is_counted = matches!(self.kind, Kind::Passed | Kind::Failed) || self.kind == before.kind;
        is_counted && self.failed <= before.failed && self.errors.iter().all(is_old)
    }
}

#[cfg(test)]
mod tests;
