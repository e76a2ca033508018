//! Adds imports for names that new code uses and the project, or Python's standard library, defines.

use crate::base::is_listed;
use crate::index::language_of;
use crate::index::uses::unbound;

use super::paths::{ending, folder, relative};
use super::{Hints, merge};

/// Modules of Python's standard library that models use without an import.
const MODULES: &str = "\
    re os sys json math time random itertools functools collections string copy logging shutil subprocess \
    tempfile unittest inspect operator statistics textwrap warnings threading types typing csv hashlib heapq \
    bisect contextlib asyncio io uuid urllib unicodedata traceback";

/// Returns `after` with the imports that its new names need. `place` returns the file that defines
/// a name outside any class, or `None` if there is none or more than one.
pub fn brought_in(path: &str, before: &str, after: &str, place: &dyn Fn(&str) -> Option<String>) -> String {
    let known: Vec<String> = unbound(path, before).unwrap_or_default().into_iter().map(|one| one.name).collect();
    let mut names: Vec<String> = unbound(path, after).unwrap_or_default().into_iter().map(|one| one.name).collect();
    names.sort();
    names.dedup();
    let mut text = after.to_owned();
    for name in names.into_iter().filter(|name| !known.contains(name)) {
        let line = match (language_of(path), place(&name).filter(|from| from != path)) {
            ("python", Some(from)) => python(&from, &name),
            ("python", None) if is_listed(MODULES, &name) && after.contains(&format!("{name}.")) => {
                Some(format!("import {name}"))
            }
            ("javascript" | "typescript" | "tsx" | "jsx", Some(from)) => script(path, &text, &from, &name),
            _ => None,
        };
        if let Some(merged) = line.and_then(|line| merge(path, &text, &format!("{line}\n"), &Hints::default()).ok()) {
            text = merged.text;
        }
    }
    text
}

fn python(from: &str, name: &str) -> Option<String> {
    Some(format!("from {} import {name}", module_of(from)?))
}

/// The dotted name under which a Python file is imported: without `src/`; an `__init__.py` has the
/// name of its folder.
pub(crate) fn module_of(path: &str) -> Option<String> {
    let module = path.strip_prefix("src/").unwrap_or(path).strip_suffix(".py")?;
    Some(module.strip_suffix("/__init__").unwrap_or(module).replace('/', "."))
}

/// An import statement in the style of a JavaScript or TypeScript file: its `import` or `require`,
/// quotation marks and use of file extensions. `None` if the file has no imports, exports or local
/// `require`.
pub(crate) fn script(path: &str, text: &str, from: &str, name: &str) -> Option<String> {
    let is_import = |line: &&str| line.starts_with("import ") || line.contains(" from ") || line.contains("require(");
    let mark = text.lines().filter(is_import).find_map(|line| line.chars().find(|letter| matches!(letter, '"' | '\'')));
    let mark = mark.unwrap_or('\'');
    let text = text.replace('"', "'");
    let is_module = text.lines().any(|line| line.starts_with("import ") || line.starts_with("export "));
    let other = text.lines().find(|line| line.starts_with("const ") && line.contains("= require('./"));
    if !is_module && other.is_none() {
        return None;
    }
    let whole = relative(folder(path), from);
    let bare = whole.rsplit_once('.').map_or(whole.as_str(), |(bare, _)| bare);
    if let Some(other) = other.filter(|_| !is_module) {
        let file = if other.contains(".js'") { &whole } else { bare };
        let end = if other.ends_with(';') { ";" } else { "" };
        return Some(format!("const {{ {name} }} = require({mark}{file}{mark}){end}"));
    }
    let ends = |ending: &str| text.lines().any(|line| line.contains("from '.") && line.contains(ending));
    let file = match ending(&whole) {
        "ts" | "tsx" if ends(".js") => format!("{bare}.js"),
        "ts" | "tsx" => bare.to_owned(),
        _ if ends(".js") || ends(".mjs") || !text.contains("from '.") => whole.clone(),
        _ => bare.to_owned(),
    };
    Some(format!("import {{ {name} }} from {mark}{file}{mark};"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, before: &str, after: &str, expected: &str) {
        let place = |name: &str| match name {
            "slug" => Some("src/shop/text.py".to_owned()),
            "trim" => Some("src/util/trim.ts".to_owned()),
            _ => None,
        };
        assert_eq!(brought_in(path, before, after, &place), expected);
    }

    #[test]
    fn names_of_the_project_and_the_standard_library_are_imported() {
        let before = "import os\n\n\ndef a():\n    return os\n";
        let used = "\n\ndef b():\n    return slug(re.sub('a', 'b', other()))\n";
        let expected = format!("import os\nimport re\n\nfrom shop.text import slug\n{}{used}", &before[10..]);
        let found = brought_in("tests/test_a.py", before, &format!("{before}{used}"), &|name| {
            (name == "slug").then(|| "src/shop/text.py".to_owned())
        });
        assert!(found.contains("import re\n") && found.contains("from shop.text import slug\n"), "{found}\n{expected}");
        check("tests/test_a.py", before, before, before);
    }

    #[test]
    fn a_typescript_import_gets_a_relative_path() {
        let before = "import { a } from './a';\n\nexport const x = a(1);\n";
        let after = "import { a } from './a';\n\nexport const x = a(trim(1));\n";
        let found = "import { a } from './a';\nimport { trim } from '../util/trim';\n\nexport const x = a(trim(1));\n";
        check("src/shop/b.ts", before, after, found);
        let quoted = |text: &str| text.replace('\'', "\"");
        check("src/shop/b.ts", &quoted(before), &quoted(after), &quoted(found));
    }
}
