//! Reads the output of test runners, compilers and programs: which tests failed, with what message, and where.

mod go;
mod lines;
mod node;
mod python;
mod runners;
mod rust;
mod summary;
mod text;
mod trace;

use std::path::Path;

pub use lines::missing_package;
pub use summary::summary;

/// Maximum number of failures kept. A small model is shown a few of them; one cause often fails hundreds of tests.
pub const FAILURES_MAX: usize = 50;

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Everything that was run passed.
    Passed,
    /// Tests ran and some failed, or a program ended with an error.
    Failed,
    /// Code does not parse, compile or load, so nothing in it was run.
    Broken,
    /// The run was stopped at a time limit. Failures printed until then are in the report.
    Hung,
    /// A runner started and found no test.
    NoTests,
    /// The program, module or file that was to be run does not exist.
    Missing,
    /// The output says none of this. Then the exit status decides.
    #[default]
    Unclear,
}

/// A place on a traceback, inside the project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Path from the project's root. For a Go test it begins with the package's import path until [`Report::located`].
    pub file: String,
    /// Counted from 1.
    pub line: usize,
    /// The line of code, if it was printed.
    pub code: String,
}

/// One failed test, one error of a compiler, or one uncaught error of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failure {
    /// The test as its runner names it.
    pub test: Option<String>,
    /// Where the failure appears: in the file of the test, or where the compiler points to.
    pub file: Option<String>,
    pub line: Option<usize>,
    /// The assertion with expected and actual value, or the error; a few lines.
    pub message: String,
    /// Places inside the project, the one where the error arose first, the test last.
    pub frames: Vec<Frame>,
}

/// The result of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Tests that passed. Without `-v` Go names only packages, so its passed packages are counted.
    pub passed: usize,
    /// Tests that failed and files that could not be loaded. May be more than `errors` has.
    pub failed: usize,
    /// At most [`FAILURES_MAX`].
    pub errors: Vec<Failure>,
    pub kind: Kind,
}

/// Reads the output of a run, stdout and stderr together, with or without colours. `root` is the project's folder as
/// the runner saw it: absolute paths below it become relative, frames with other absolute paths are left out.
pub fn read(output: &str, root: &Path) -> Report {
    let text = text::clean(output, root);
    let text = text.as_str();
    let runners: [Reader; 8] = [
        python::pytest,
        python::unittest,
        rust::libtest,
        go::test,
        node::tap,
        node::spec,
        runners::jest_or_vitest,
        runners::mocha,
    ];
    let mut report = Report::default();
    // A script may start several runners, one after the other.
    for reader in runners {
        if let Some(read) = reader(text) {
            report = report.with(read);
        }
    }
    let compilers: [Reader; 2] = [rust::compiler, lines::compilers];
    let broken: Vec<Report> = compilers.iter().filter_map(|reader| reader(text)).collect();
    report = broken.into_iter().fold(report, Report::with);
    if report.errors.is_empty() && matches!(report.kind, Kind::Unclear | Kind::Failed) {
        let bare: [Reader; 4] = [trace::bare, rust::bare, go::bare, lines::missing];
        let found = bare.iter().find_map(|reader| reader(text));
        report = found.into_iter().fold(report, Report::with);
    }
    report.errors.truncate(FAILURES_MAX);
    report.failed = report.failed.max(report.errors.len());
    if lines::is_stopped(text) {
        report.kind = Kind::Hung;
    }
    report
}

/// Reads the cleaned output of one tool; `None` if the output is not of that tool.
type Reader = fn(&str) -> Option<Report>;

impl Report {
    /// Replaces the files of all frames by their paths in the project, and removes frames of other files. `paths` are
    /// all files of the project.
    pub fn located(mut self, paths: &[&str]) -> Report {
        let place = |file: &str| {
            let fits =
                |path: &&&str| file == **path || file.strip_suffix(**path).is_some_and(|rest| rest.ends_with('/'));
            paths.iter().filter(fits).max_by_key(|path| path.len()).map(|path| (*path).to_owned())
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

    /// Whether all that fails here failed in `before`, too.
    pub fn is_no_worse_than(&self, before: &Report) -> bool {
        // Line numbers are not compared: every change moves them.
        let same = |one: &Failure, other: &Failure| match (&one.test, &other.test) {
            (None, None) => (&one.file, &one.message) == (&other.file, &other.message),
            (one, other) => one == other,
        };
        let is_old = |one: &Failure| before.errors.iter().any(|other| same(one, other));
        let is_unlisted = before.failed > before.errors.len();
        let is_counted = matches!(self.kind, Kind::Passed | Kind::Failed) || self.kind == before.kind;
        is_counted && self.failed <= before.failed && (is_unlisted || self.errors.iter().all(is_old))
    }

    /// Adds another report on the same output.
    fn with(mut self, other: Report) -> Report {
        self.passed += other.passed;
        self.failed += other.failed;
        for failure in other.errors {
            if !self.errors.contains(&failure) {
                self.errors.push(failure);
            }
        }
        // The worse kind wins; `Missing` counts only if nothing else was run.
        let rank = |kind: Kind| match kind {
            Kind::Unclear => 0,
            Kind::Missing => 1,
            Kind::NoTests => 2,
            Kind::Passed => 3,
            Kind::Failed => 4,
            Kind::Broken => 5,
            Kind::Hung => 6,
        };
        self.kind = if rank(other.kind) > rank(self.kind) { other.kind } else { self.kind };
        self
    }

    /// The report of a tool that prints only errors; `None` if there are none.
    fn of(errors: Vec<Failure>, kind: Kind) -> Option<Report> {
        let failed = errors.len();
        (failed > 0).then_some(Report { passed: 0, failed, errors, kind })
    }

    /// The report of a runner that counts its tests.
    fn counted(passed: usize, failed: usize, errors: Vec<Failure>) -> Report {
        let kind = match (passed, failed) {
            (0, 0) => Kind::NoTests,
            (_, 0) => Kind::Passed,
            _ => Kind::Failed,
        };
        Report { passed, failed, errors, kind }
    }
}

impl Failure {
    /// A failure with its frames, deepest first; the outermost frame gives its file and line.
    fn at(test: Option<String>, message: String, frames: Vec<Frame>) -> Failure {
        let place = frames.last();
        let (file, line) = (place.map(|frame| frame.file.clone()), place.map(|frame| frame.line));
        Failure { test, file, line, message, frames }
    }
}

#[cfg(test)]
mod tests;
