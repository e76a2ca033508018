//! Builds the command that runs a short program against a module of the project, and reads the
//! program's output.

use serde_json::Value;

use super::imports::module_of;
use super::paths::ending;
use super::testing::quoted;
use crate::base::pattern::static_regex;

/// Marks in the output: before printed text, before an error inside the function in question,
/// before an error elsewhere, before the error with which the module fails to load.
const PRINTED: &str = "gives: ";
const INSIDE: &str = "fails inside: ";
const OUTSIDE: &str = "fails: ";
const UNLOADED: &str = "does not load: ";
/// Maximum number of characters of output in a message.
const SAID_CHARS: usize = 400;

/// The output of a program.
#[derive(Clone, Debug, PartialEq)]
pub enum Gave {
    /// The lines that it printed.
    Printed(Vec<String>),
    Failed {
        said: String,
        /// Whether the error arose inside the function under test.
        is_inside: bool,
    },
    /// The module does not load, so the program did not run: the error.
    Unloaded(String),
}

impl Gave {
    /// Reads the output of [`command`]; `None` if the program printed nothing.
    pub fn read(output: &str) -> Option<Gave> {
        let lines =
            |mark: &str| -> Vec<&str> { output.lines().filter_map(|line| line.trim().strip_prefix(mark)).collect() };
        if let Some(said) = lines(UNLOADED).first() {
            return Some(Gave::Unloaded((*said).to_owned()));
        }
        for (mark, is_inside) in [(INSIDE, true), (OUTSIDE, false)] {
            if let Some(said) = lines(mark).first() {
                return Some(Gave::Failed { said: (*said).to_owned(), is_inside });
            }
        }
        let printed = lines(PRINTED);
        (!printed.is_empty()).then(|| Gave::Printed(printed.into_iter().map(str::to_owned).collect()))
    }

    /// Whether neither this run nor an earlier one could load the module, because of the same kind of
    /// error. The rest of a message may name the folder and the line.
    pub fn fails_to_load_like(&self, earlier: Option<&Gave>) -> bool {
        let kind = |said: &str| said.split(':').next().unwrap_or_default().to_owned();
        match (self, earlier) {
            (Gave::Unloaded(now), Some(Gave::Unloaded(before))) => kind(now) == kind(before),
            _ => false,
        }
    }

    /// The printed lines, or the error, on one line of limited length.
    pub fn said(&self) -> String {
        let whole = match self {
            Gave::Printed(lines) => lines.join("; "),
            Gave::Failed { said, .. } | Gave::Unloaded(said) => said.clone(),
        };
        whole.chars().take(SAID_CHARS).collect()
    }
}

/// A shell command that runs `code` with the names of the module `path` in scope; `name` is the
/// function under test. `None` for languages other than Python and JavaScript.
pub fn command(path: &str, name: &str, code: &str) -> Option<String> {
    let text = |value: &str| Value::String(value.to_owned()).to_string();
    match ending(path) {
        "py" => {
            let program = format!(
                "import contextlib, importlib, io, traceback\n\
                 whole, own = {}.split('.'), {{}}\n\
                 def told(error): return type(error).__name__ + ': ' + ' '.join(str(error).split())\n\
                 try:\n    \
                     for end in range(len(whole)): own.update(vars(importlib.import_module('.'.join(whole[:end + 1]))))\n\
                 except (Exception, SystemExit) as error:\n    \
                     print({UNLOADED:?} + told(error))\n    \
                     raise SystemExit(1)\n\
                 own['__name__'] = 'tried'\n\
                 said, end = io.StringIO(), ''\n\
                 with contextlib.redirect_stdout(said):\n    \
                     try: exec({}, own)\n    \
                     except (Exception, SystemExit) as error:\n        \
                         inside = any(frame.name == {} for frame in traceback.extract_tb(error.__traceback__))\n        \
                         end = ({INSIDE:?} if inside else {OUTSIDE:?}) + told(error)\n\
                 for line in said.getvalue().splitlines(): print({PRINTED:?} + line)\n\
                 print(end)",
                text(&module_of(path)?),
                text(code),
                text(name)
            );
            Some(format!("PYTHONPATH=.:src python3 -c {}", quoted(&program)))
        }
        "js" | "mjs" | "cjs" => {
            let program = format!(
                "const {{inspect}} = await import('node:util'); let m;\n\
                 try {{ m = await import(process.cwd() + {}); }} catch (error) {{\n  \
                   console.log({UNLOADED:?} + error?.name + ': ' + error?.message);\n  process.exit(1);\n\
                 }}\n\
                 Object.assign(globalThis, m.default, m);
\
                 for (const own of [{name}, m.default?.name]) if (m.default && own) globalThis[own] ??= m.default;\n\
                 const print = console.log, said = []; let end = '';\n\
                 console.log = (...all) => said.push(all.map(one => typeof one === 'string' ? one : inspect(one)).join(' '));\n\
                 try {{ await Object.getPrototypeOf(async () => {{}}).constructor({})(); }} catch (error) {{\n  \
                   const inside = new RegExp('\\\\b' + {name} + '\\\\b').test(String(error?.stack).split('\\n').slice(1).join(' '));\n  \
                   end = (inside ? {INSIDE:?} : {OUTSIDE:?}) + error?.name + ': ' + error?.message;\n\
                 }}\n\
                 for (const line of said.join('\\n').split('\\n')) if (line) print({PRINTED:?} + line);\n\
                 print(end);",
                text(&format!("/{path}")),
                text(&without_imports(code)),
                name = text(name)
            );
            Some(format!("node --input-type=module -e {}", quoted(&program)))
        }
        _ => None,
    }
}

/// Removes import statements, which are only allowed at the top of a module; the names of the
/// module are in scope anyway.
fn without_imports(code: &str) -> String {
    static_regex!(IMPORT = r"^\s*(?:import\b|(?:const|let|var)\s[^=]*=\s*(?:await import|require)\()");
    code.lines().filter(|line| !IMPORT.is_match(line)).collect::<Vec<_>>().join("\n")
}

/// Whether a program only computes and prints: it uses no name that gives access to files, other
/// programs, the network or the interpreter.
pub fn is_harmless(code: &str) -> bool {
    static_regex!(
        REACHES = r"(?i)\b(?:open|eval|exec|compile|input|exit|os|sys|io|subprocess|shutil|pathlib|path|socket|urllib|requests|http|https|fs|net|child_process|process|fetch|globalthis|require|importlib|ctypes|threading|unlink|remove_?file|write_?file|writefilesync|rmsync|mkdir|rmdir|system|popen|deno|bun|worker|while|import)\b|__"
    );
    static_regex!(OWN = r"^\s*(?:from\s+[\w.]+\s+import\b|import\s+[\w.]+\s*$|import\s.*\sfrom\s)");
    code.lines()
        .filter(|line| !OWN.is_match(line) || REACHES.find_iter(line).count() > 1)
        .all(|line| !REACHES.is_match(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(path: &str, module: &str, name: &str, code: &str) -> Option<Gave> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(path), module).unwrap();
        let line = command(path, name, code).unwrap();
        let ran = std::process::Command::new("sh").args(["-c", &line]).current_dir(folder.path()).output().unwrap();
        Gave::read(&String::from_utf8_lossy(&ran.stdout))
    }

    fn printed(said: &str) -> Option<Gave> {
        Some(Gave::Printed(said.split("; ").map(str::to_owned).collect()))
    }

    fn failed(said: &str, is_inside: bool) -> Option<Gave> {
        Some(Gave::Failed { said: said.to_owned(), is_inside })
    }

    #[test]
    fn a_program_has_the_names_of_a_python_module() {
        let module = "import json\n\nclass Box(dict):\n    def size(self, unit):\n        return len(self) * unit\n";
        let ran = |code: &str| ran("box.py", module, "size", code);
        assert_eq!(ran("box = Box(a=1)\nprint(box.size(2))\nprint('it\\'s')"), printed("2; it's"));
        assert_eq!(ran("from box import Box\nprint(Box(a=1).size('m'))"), printed("m"));
        assert_eq!(
            ran("Box(a=1).size(None)").map(|gave| matches!(gave, Gave::Failed { is_inside: true, .. })),
            Some(true)
        );
        assert_eq!(ran("Crate().size(1)"), failed("NameError: name 'Crate' is not defined", false));
        assert_eq!(ran("x = 1"), None);
    }

    #[test]
    fn a_module_that_does_not_load_is_no_fault_of_the_program() {
        let unloaded = |said: &str| Some(Gave::Unloaded(said.to_owned()));
        let lacks = "ModuleNotFoundError: No module named 'no_such_package'";
        assert_eq!(ran("box.py", "import no_such_package\n", "size", "print(1)"), unloaded(lacks));
        assert_eq!(
            ran("box.py", "raise ValueError('no\\nversion')\n", "size", "print(1)"),
            unloaded("ValueError: no version")
        );
        if std::process::Command::new("node").arg("--version").output().is_ok() {
            // Each run is in a folder of its own, which the message of Node.js names.
            let lacking = || ran("box.mjs", "import 'no-such-package';\n", "size", "console.log(1)").unwrap();
            assert!(lacking().fails_to_load_like(Some(&lacking())), "{:?}", lacking());
            assert!(!lacking().fails_to_load_like(unloaded("SyntaxError: x").as_ref()));
            let said = ran("box.mjs", "throw new Error('no key');\n", "size", "console.log(1)");
            assert_eq!(said, unloaded("Error: no key"));
        }
    }

    #[test]
    fn a_program_has_the_exports_of_a_script() {
        if std::process::Command::new("node").arg("--version").output().is_err() {
            return;
        }
        let module = "export class Box {\n  size(unit) { return unit.length; }\n}\nexport default function pack(a) { return [a]; }\n";
        let code = "import {Box} from './box.mjs';\nconst box = new Box();\nconsole.log(box.size('ab'), pack(1));";
        assert_eq!(ran("box.mjs", module, "size", code), printed("2 [ 1 ]"));
        let failing = ran("box.mjs", module, "size", "new Box().size(null)");
        assert!(matches!(failing, Some(Gave::Failed { is_inside: true, .. })), "{failing:?}");
        assert_eq!(ran("box.mjs", module, "size", "crate()"), failed("ReferenceError: crate is not defined", false));
        let common = ran("box.cjs", "module.exports = { size: a => a + 1 };\n", "size", "console.log(size(1))");
        assert_eq!(common, printed("2"));
    }

    #[test]
    fn a_program_that_reaches_out_is_not_run() {
        for code in
            ["print(area(2, 3))", "from box import Box\nprint(Box())", "import {a} from './a.js';\nconsole.log(a(1));"]
        {
            assert!(is_harmless(code), "{code}");
        }
        for code in [
            "open('a', 'w')",
            "import os\nos.remove('a')",
            "from os import remove\nremove('a')",
            "(await import('node:fs')).rmSync('a')",
            "().__class__",
            "while True: pass",
            "process.exit(0)",
        ] {
            assert!(!is_harmless(code), "{code}");
        }
    }
}
