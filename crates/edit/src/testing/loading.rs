//! Builds the command that only loads a module, for code that no test covers and no compiler
//! checks.

use super::files::quoted;
use crate::base::pattern::static_regex;
use crate::imports::module_of;
use crate::index::parts::{self, Sort};
use crate::paths::ending;

/// Whether a Python or JavaScript file can be loaded without running a program: other files import
/// it, it exports something, or it calls nothing outside its definitions.
pub fn is_module(path: &str, text: &str, is_imported: bool) -> bool {
    static_regex!(CALLS = r"^(?:await\s+)?[\w.$]+\(|^if __name__");
    let all = || parts::parts(path, text).map(|all| all.items).unwrap_or_default();
    let calls = || all().iter().any(|part| part.sort == Sort::Statement && CALLS.is_match(&text[part.core.clone()]));
    loading(path, text, true).is_some() && (is_imported || path.ends_with("/__init__.py") || exports(text) || !calls())
}

/// A shell command that imports a Python or JavaScript module as other files do. `None` for other
/// languages, and for a file that may be a program because nothing imports it and it exports
/// nothing.
pub fn loading(path: &str, text: &str, is_imported: bool) -> Option<String> {
    match ending(path) {
        "py" if is_imported => {
            let module = module_of(path)?;
            let is_name = module.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '.'));
            is_name.then(|| format!("PYTHONPATH=.:src python3 -c 'import {module}'"))
        }
        "js" | "mjs" | "cjs" if is_imported || exports(text) => {
            let code = format!("await import({:?})", format!("./{path}"));
            Some(format!("node --input-type=module -e {}", quoted(&code)))
        }
        _ => None,
    }
}

fn exports(text: &str) -> bool {
    let begins = ["module.exports", "exports.", "export "];
    text.lines().any(|line| begins.iter().any(|begin| line.starts_with(begin)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_loaded_and_programs_are_not() {
        let line = loading("src/a/b.py", "x = 1\n", true);
        assert_eq!(line.as_deref(), Some("PYTHONPATH=.:src python3 -c 'import a.b'"));
        let line = loading("lib/a.js", "'use strict'\nmodule.exports = { a }\n", false);
        assert_eq!(line.as_deref(), Some("node --input-type=module -e 'await import(\"./lib/a.js\")'"));
        assert_eq!(loading("a-b/c.py", "x = 1\n", true), None);
        assert_eq!(loading("tool.py", "main()\n", false), None);
        assert_eq!(loading("server.js", "listen(80)\n", false), None);
        assert_eq!(loading("a.rs", "pub fn a() {}\n", true), None);
    }

    #[test]
    fn a_file_that_only_defines_is_a_module() {
        let check =
            |path: &str, text: &str, expected: bool| assert_eq!(is_module(path, text, false), expected, "{text}");
        check("a.py", "import os\n\nMAX = 3\n\n\ndef f():\n    return os.sep\n", true);
        check("a.py", "def f():\n    return 1\n\n\nprint(f())\n", false);
        check("a.py", "def f():\n    return 1\n\n\nif __name__ == '__main__':\n    f()\n", false);
        check("a/__init__.py", "register('a')\n", true);
        check("a.js", "export const a = 1;\nstart(a);\n", true);
        check("a.js", "start(1);\n", false);
    }
}
