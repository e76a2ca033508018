//! Commands that test and lint a Python project.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use regex::Regex;

use super::files::{Files, all_quoted, quoted};
use super::{Kit, Task};
use crate::base::pattern::static_regex;
use crate::paths::{folder, name, stem};

/// Maximum number of test files to read, and to name in one command.
const TEST_FILES_MAX: usize = 40;
/// Time limit for Python to report whether it has a module. It starts in 0.05 s, or 1 s from a cold
/// disk.
const PROBE_MAX: Duration = Duration::from_secs(5);

/// The test runner.
enum Runner {
    Pytest,
    /// The arguments of `python -m unittest` that run all tests.
    Unittest(String),
}

pub fn kit(files: &Files<'_>, imports_pytest: &dyn Fn(&Path, &str) -> bool, notes: &mut Vec<String>) -> Option<Kit> {
    if !files.paths.iter().any(|path| path.ends_with(".py")) {
        return None;
    }
    let environment = [".venv", "venv"].into_iter().find(|folder| files.has(&format!("{folder}/bin/python")));
    let python = environment.map_or("python3".to_owned(), |folder| format!("{folder}/bin/python"));
    let packages: Vec<String> =
        files.paths.iter().filter(|path| name(path) == "__init__.py").map(|path| folder(path).to_owned()).collect();
    let runner = runner(files, &python, &packages, imports_pytest, notes);
    let plain = if matches!(runner, Some(Runner::Pytest)) { Vec::new() } else { plain_tests(files) };
    let pyproject = files.text("pyproject.toml");
    // Without an environment in the project, packages in `src` are not installed and need
    // `PYTHONPATH`.
    let is_in_src = |path: &String| path.starts_with("src/") && path.ends_with(".py");
    let needs_path = environment.is_none() && !pyproject.contains("pythonpath") && files.paths.iter().any(is_in_src);
    let python = if needs_path { format!("PYTHONPATH=src {python}") } else { python };
    let test = match &runner {
        Some(Runner::Pytest) => Some(format!("{python} -m pytest")),
        Some(Runner::Unittest(words)) => Some(format!("{python} -m unittest {words}").trim_end().to_owned()),
        None => None,
    };
    let has_ruff = pyproject.contains("[tool.ruff") || files.has("ruff.toml");
    let mut whole: Vec<(Task, String)> = test.iter().map(|line| (Task::Test, line.clone())).collect();
    whole.extend(has_ruff.then(|| (Task::Lint, "ruff check .".to_owned())));
    let covering = move |files: &[&str]| match &runner {
        _ if files.iter().all(|path| plain.iter().any(|one| one == path)) => {
            Some(format!("{python} -c {} {}", quoted(PLAIN), all_quoted(files)))
        }
        None => None,
        Some(runner) => match runner {
            Runner::Pytest => Some(format!("{python} -m pytest {}", all_quoted(files))),
            Runner::Unittest(words) => {
                // Discovery puts a folder that is not a package on the import path, so that its
                // tests can import files next to them.
                let plain = folder(files[0]);
                let is_package = packages.iter().any(|package| package == plain);
                if words.contains("discover") && !plain.is_empty() && !is_package {
                    let [file] = files else { return test.clone() };
                    let (folder, name) = (quoted(plain), quoted(name(file)));
                    return Some(format!("{python} -m unittest discover -s {folder} -p {name}"));
                }
                let modules = files.iter().map(|path| path.trim_end_matches(".py").replace('/', "."));
                Some(format!("{python} -m unittest {}", modules.collect::<Vec<_>>().join(" ")))
            }
        },
    };
    Some(Kit { whole, lacks: None, runs: |path| path.ends_with(".py"), covering: Box::new(covering) })
}

/// Runs the `test_…` functions of files without pytest, for tests that are plain functions; those
/// with fixtures are skipped.
const PLAIN: &str = "\
import inspect, os, runpy, sys, traceback
ran = failed = 0
for path in sys.argv[1:]:
    sys.path[:0] = [os.getcwd(), os.path.dirname(os.path.abspath(path))]
    for name, test in runpy.run_path(path).items():
        if not name.startswith('test') or not inspect.isfunction(test): continue
        needs = [one for one in inspect.signature(test).parameters.values() if one.default is one.empty]
        if needs and needs[0].name != 'self': continue
        ran += 1
        try: test()
        except (Exception, SystemExit): failed += 1; print(f'FAILED {path}::{name}'); traceback.print_exc()
print(f'==== {failed} failed, {ran - failed} passed in 0.00s ====' if ran else '==== no tests ran in 0.00s ====')
sys.exit(failed > 0 or ran == 0)";

/// Test files whose tests are plain functions and need no pytest.
fn plain_tests(files: &Files<'_>) -> Vec<String> {
    static_regex!(FUNCTION = r"(?m)^def test_\w*\(");
    static_regex!(
        OTHER = r"(?m)^\s*(?:import|from) (?:pytest|unittest)\b|\(TestCase\):|^\s*async def test_|^class Test"
    );
    let is_plain = |path: &&String| {
        let text = files.text(path);
        FUNCTION.is_match(&text) && !OTHER.is_match(&text)
    };
    let tests = files.paths.iter().filter(|path| is_test(path)).take(TEST_FILES_MAX);
    tests.filter(is_plain).cloned().collect()
}

/// The installed runner for which the tests are written. If they need pytest and it is missing, a
/// note mentions that.
fn runner(
    files: &Files<'_>,
    python: &str,
    packages: &[String],
    imports_pytest: &dyn Fn(&Path, &str) -> bool,
    notes: &mut Vec<String>,
) -> Option<Runner> {
    static_regex!(PYTEST = r"(?m)^\s*(?:import|from) pytest\b|^(?:async )?def test_\w*\(");
    static_regex!(UNITTEST = r"(?m)^\s*(?:import|from) unittest\b|\(TestCase\):");
    let tests: Vec<&str> = files.paths.iter().map(String::as_str).filter(|path| is_test(path)).collect();
    let texts: Vec<String> = tests.iter().take(TEST_FILES_MAX).map(|path| files.text(path)).collect();
    let uses = |framework: &Regex| texts.iter().any(|text| framework.is_match(text));
    let is_configured = files.text("pyproject.toml").contains("[tool.pytest")
        || files.has("pytest.ini")
        || files.text("setup.cfg").contains("[tool:pytest]")
        || files.text("tox.ini").contains("[pytest]")
        || files.paths.iter().any(|path| name(path) == "conftest.py");
    let wants_pytest = !tests.is_empty() && (is_configured || uses(&PYTEST));
    if wants_pytest && imports_pytest(files.root, python) {
        return Some(Runner::Pytest);
    }
    if wants_pytest {
        notes.push(format!("the tests need pytest, which {python} does not have: {python} -m pip install pytest"));
    }
    uses(&UNITTEST).then(|| Runner::Unittest(unittest_arguments(&tests, packages)))
}

/// Whether a file is a test by the naming rules of pytest and unittest.
pub fn is_test(path: &str) -> bool {
    let stem = stem(path);
    path.ends_with(".py") && (stem.starts_with("test_") || stem.ends_with("_test") || matches!(stem, "test" | "tests"))
}

/// The arguments that make unittest find all tests. Discovery only enters packages and its start
/// folder.
fn unittest_arguments(tests: &[&str], packages: &[String]) -> String {
    let mut folders: Vec<&str> = tests.iter().map(|path| folder(path)).collect();
    folders.sort_unstable();
    folders.dedup();
    let top = folders.first().copied().unwrap_or("");
    let below = |inner: &&str| inner.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let is_package = |path: &str| packages.iter().any(|package| package == path);
    let is_found = folders.iter().all(|inner| below(inner) && (*inner == top || is_package(inner)));
    if !is_found {
        return all_quoted(&tests[..tests.len().min(TEST_FILES_MAX)]);
    }
    let names = if tests.iter().all(|path| stem(path).ends_with("_test")) { " -p '*_test.py'" } else { "" };
    match top {
        "" if names.is_empty() => String::new(),
        "" => format!("discover{names}"),
        // The root is the top-level folder, so that tests can import each other by package name.
        _ if is_package(top) => format!("discover -s {} -t .{names}", quoted(top)),
        _ => format!("discover -s {}{names}", quoted(top)),
    }
}

/// Whether this Python has pytest. For an environment inside the project only its folders are read,
/// since none of its programs may start before the user has agreed. A system Python is run in `/`,
/// so that it reads nothing from the project.
pub fn imports_pytest(root: &Path, python: &str) -> bool {
    if let Some(environment) = python.strip_suffix("/bin/python") {
        let versions = std::fs::read_dir(root.join(environment).join("lib")).into_iter().flatten().flatten();
        return versions.take(16).any(|version| version.path().join("site-packages/pytest").is_dir());
    }
    let ask = "import importlib.util,sys; sys.exit(importlib.util.find_spec('pytest') is None)";
    let mut command = Command::new(python);
    command.args(["-c", ask]).current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return false };
    let deadline = Instant::now() + PROBE_MAX;
    while Instant::now() < deadline {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) => std::thread::sleep(Duration::from_millis(10)),
            Err(_) => break,
        }
    }
    // Cleanup: the result is the same if the process cannot be killed.
    let _ = child.kill().and_then(|()| child.wait());
    false
}
