//! Which lines a failing check runs, in Python and JavaScript: a mistake stands in one of them, so that no others need a trial.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

/// Where what was run is noted down, in the copy of the project.
const FOLDER: &str = ".monobloc-executed";
/// Loaded by Python itself before any program: notes each line that is run below the folder it starts in.
const NOTES: &str = "\
import atexit, os, sys, threading
root, here, seen = os.getcwd() + os.sep, os.path.dirname(__file__), set()
def line(frame, event, argument):
    if event == 'line': seen.add((frame.f_code.co_filename, frame.f_lineno))
    return line
def call(frame, event, argument):
    name = frame.f_code.co_filename
    return line if name.startswith(root) and not name.startswith(here) else None
def end():
    sys.settrace(None)
    with open(os.path.join(here, 'lines-%d' % os.getpid()), 'w') as file:
        file.writelines('%s:%d\\n' % (name[len(root):], at) for name, at in seen)
atexit.register(end)
threading.settrace(call)
sys.settrace(call)
";

/// Lines that were run, by file; of files that are missing nothing is known.
#[derive(Debug, Default)]
pub struct Executed(HashMap<String, HashSet<usize>>);

impl Executed {
    /// Whether a mistake may stand in a line, counted from 1: it was run, or the one before it.
    pub fn may_be_wrong(&self, path: &str, line: usize) -> bool {
        self.0.get(path).is_none_or(|lines| lines.contains(&line) || line > 1 && lines.contains(&(line - 1)))
    }

    /// Whether a definition with these lines was run, and not only its head.
    pub fn has_run(&self, path: &str, (first, last): (usize, usize)) -> bool {
        self.0.get(path).is_none_or(|lines| (first.min(last - 1) + 1..=last).any(|line| lines.contains(&line)))
    }

    /// The files of which something is known, by name.
    pub fn paths(&self) -> Vec<&str> {
        let mut paths: Vec<&str> = self.0.keys().map(String::as_str).collect();
        paths.sort_unstable();
        paths
    }

    /// What a run in `root` noted down.
    pub fn read(root: &Path) -> Executed {
        let mut found = Executed::default();
        for entry in fs::read_dir(root.join(FOLDER)).into_iter().flatten().flatten() {
            let text = fs::read_to_string(entry.path()).unwrap_or_default();
            match entry.path().extension().is_some_and(|ending| ending == "json") {
                true => found.add_script(root, &text),
                false => found.add_python(&text),
            }
        }
        let _ = fs::remove_dir_all(root.join(FOLDER));
        found
    }

    fn add_python(&mut self, text: &str) {
        for (path, line) in text.lines().filter_map(|line| line.rsplit_once(':')) {
            if let Ok(line) = line.parse() {
                self.0.entry(path.to_owned()).or_default().insert(line);
            }
        }
    }

    /// A report of V8: functions with stretches of the text, inner behind outer, each with how often it was run.
    fn add_script(&mut self, root: &Path, text: &str) {
        let report: Value = serde_json::from_str(text).unwrap_or_default();
        for script in report["result"].as_array().into_iter().flatten() {
            let url = script["url"].as_str().and_then(|url| url.strip_prefix("file://"));
            let inner = url.and_then(|path| Path::new(path).strip_prefix(root).ok()).and_then(Path::to_str);
            let Some((path, source)) = inner.and_then(|path| Some((path, fs::read_to_string(root.join(path)).ok()?)))
            else {
                continue;
            };
            let length = source.encode_utf16().count() as u64;
            let functions = script["functions"].as_array().into_iter().flatten();
            let ranges = functions.flat_map(|function| function["ranges"].as_array().into_iter().flatten());
            let ranges: Vec<[u64; 3]> = ranges
                .map(|range| ["startOffset", "endOffset", "count"].map(|key| range[key].as_u64().unwrap_or_default()))
                .collect();
            // What was compiled to something else before it was run has other places.
            if !ranges.iter().any(|[from, to, _]| *from == 0 && *to == length) {
                continue;
            }
            let mut start = 0;
            for (at, line) in source.split_inclusive('\n').enumerate() {
                let indent = (line.len() - line.trim_start().len()) as u64;
                let place = start + indent;
                let innermost = ranges.iter().filter(|[from, to, _]| *from <= place && place < *to);
                if innermost.min_by_key(|[from, to, _]| to - from).is_some_and(|[.., count]| *count > 0) {
                    self.0.entry(path.to_owned()).or_default().insert(at + 1);
                }
                start += line.encode_utf16().count() as u64;
            }
        }
    }
}

/// Whether lines that are run can be known for a file.
pub fn is_known(path: &str) -> bool {
    [".py", ".js", ".mjs", ".cjs"].iter().any(|ending| path.ends_with(ending))
}

/// Makes ready for a run in `root`, and says by which line `line` is run so that it is noted down.
pub fn noted(root: &Path, line: &str) -> Option<String> {
    let folder = root.join(FOLDER);
    fs::create_dir_all(&folder).ok()?;
    fs::write(folder.join("sitecustomize.py"), NOTES).ok()?;
    let line = line.replace("PYTHONPATH=", &format!("PYTHONPATH=\"$PWD/{FOLDER}\":"));
    Some(format!("export NODE_V8_COVERAGE=\"$PWD/{FOLDER}\" PYTHONPATH=\"$PWD/{FOLDER}\"\n{line}"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn executed(path: &str, text: &str, line: &str) -> Vec<usize> {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::write(root.join(path), text).unwrap();
        let line = noted(&root, line).unwrap();
        Command::new("sh").args(["-c", &line]).current_dir(&root).status().unwrap();
        let found = Executed::read(&root);
        (1..=text.lines().count()).filter(|line| found.0[path].contains(line)).collect()
    }

    #[test]
    fn lines_that_python_runs_are_known() {
        let text = "def f(a):\n    if a:\n        return 1\n    return 2\n";
        assert_eq!(executed("m.py", text, "PYTHONPATH=.:src python3 -c 'import m; m.f(1)'"), [1, 2, 3]);
        let found = Executed([("m.py".to_owned(), [2].into())].into());
        assert!(found.may_be_wrong("m.py", 3) && !found.may_be_wrong("m.py", 4) && found.may_be_wrong("n.py", 4));
        assert!(found.has_run("m.py", (1, 3)) && !found.has_run("m.py", (2, 3)) && found.has_run("m.py", (2, 2)));
    }

    #[test]
    fn lines_that_node_runs_are_known() {
        if Command::new("node").arg("--version").output().is_err() {
            return;
        }
        let text = "// \u{e9}\nfunction f(a) {\n  if (a) {\n    return 1;\n  }\n  return 2;\n}\nfunction g() {\n  return 3;\n}\nmodule.exports = { f, g };\n";
        let found = executed("m.js", text, "node -e \"require('./m.js').f(1)\"");
        assert!(found.contains(&4) && !found.contains(&6) && !found.contains(&9), "{found:?}");
    }
}
