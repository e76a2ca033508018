//! Builds the command that only loads a module: the check that is left where no test covers it and nothing is compiled.

use super::files::quoted;
use crate::edit::imports::module_of;
use crate::edit::paths::ending;

/// A shell command that imports a Python or JavaScript module as other files do. `None` for other languages, and for a
/// file that may be a program: nothing imports it and it exports nothing.
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
}
