//! Records which lines a failing check executes, in Python and JavaScript. The mistake is in one of
//! them, so only they are tried.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::base::path_of;

/// Folder for the records, inside the copy of the project.
const FOLDER: &str = ".monobloc-executed";
/// Loaded by Python before any program. It records each executed line of the files in the working
/// directory.
const TRACER: &str = "\
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

/// Executed lines by file. A file without an entry was not recorded.
#[derive(Debug, Default)]
pub struct Executed(HashMap<String, HashSet<usize>>);

impl Executed {
    /// Whether a line, counted from 1, may contain the mistake: it or the line before it was
    /// executed, or the file was not recorded.
    pub fn may_be_wrong(&self, path: &str, line: usize) -> bool {
        self.0.get(path).is_none_or(|lines| lines.contains(&line) || line > 1 && lines.contains(&(line - 1)))
    }

    /// Whether any line after a definition's first line was executed, or the file was not recorded.
    pub fn has_run(&self, path: &str, (first, last): (usize, usize)) -> bool {
        self.0.get(path).is_none_or(|lines| (first.min(last - 1) + 1..=last).any(|line| lines.contains(&line)))
    }

    /// The files that have recorded lines, sorted.
    pub fn paths(&self) -> Vec<&str> {
        let mut paths: Vec<&str> = self.0.keys().map(String::as_str).collect();
        paths.sort_unstable();
        paths
    }

    /// Reads the records of a run in `root` and removes them.
    pub fn read(root: &Path) -> Executed {
        let mut found = Executed::default();
        for entry in fs::read_dir(root.join(FOLDER)).into_iter().flatten().flatten() {
            let text = fs::read_to_string(entry.path()).unwrap_or_default();
            if entry.path().extension().is_some_and(|ending| ending == "json") {
                found.add_script(root, &text);
            } else {
                found.add_python(&text);
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

    /// Adds a V8 coverage report: for each function, nested ranges of the text, in UTF-16 units,
    /// with execution counts.
    fn add_script(&mut self, root: &Path, text: &str) {
        let report: Value = serde_json::from_str(text).unwrap_or_default();
        for script in report["result"].as_array().into_iter().flatten() {
            let file = script["url"].as_str().and_then(path_of);
            let inner = file.as_deref().and_then(|path| path.strip_prefix(root).ok()).and_then(Path::to_str);
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
            // The ranges do not cover the file: the code was compiled before the run, so the
            // offsets do not match.
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

/// Whether executed lines can be recorded for a file.
pub fn is_known(path: &str) -> bool {
    [".py", ".js", ".mjs", ".cjs"].iter().any(|ending| path.ends_with(ending))
}

/// Prepares a recorded run in `root` and returns the shell command that runs `line` with recording.
pub fn noted(root: &Path, line: &str) -> Option<String> {
    let folder = root.join(FOLDER);
    fs::create_dir_all(&folder).ok()?;
    fs::write(folder.join("sitecustomize.py"), TRACER).ok()?;
    let line = line.replace("PYTHONPATH=", &format!("PYTHONPATH=\"$PWD/{FOLDER}\":"));
    Some(format!("export NODE_V8_COVERAGE=\"$PWD/{FOLDER}\" PYTHONPATH=\"$PWD/{FOLDER}\"\n{line}"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use serde_json::json;

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
    fn a_script_is_found_by_its_url() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a \u{e9}.js"), "f();\n").unwrap();
        let url = format!("file://{}/a%20%C3%A9.js", folder.path().display());
        let ranges = json!([{ "startOffset": 0, "endOffset": 5, "count": 1 }]);
        let report = json!({ "result": [{ "url": url, "functions": [{ "ranges": ranges }] }] });
        let mut found = Executed::default();
        found.add_script(folder.path(), &report.to_string());
        assert_eq!(found.paths(), ["a \u{e9}.js"]);
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
