//! Exports a definition in the style that its module already uses: `module.exports`, `export`, `__all__`, `pub use`.

use crate::base::pattern::{pattern, static_regex};
use crate::index::language_of;

/// Returns `text`, the file at `path`, with `name` exported. The file at `from` defines `name`; if
/// that is a different file, the name is also imported. `None` if it is already exported, or if the
/// file exports nothing in a known form.
pub(super) fn exported(path: &str, text: &str, name: &str, from: &str) -> Option<String> {
    let brought_in = brought_in(path, text, name, from);
    let after = match add(path, &brought_in, name, from) {
        None if brought_in == text => return None,
        after => after.unwrap_or(brought_in),
    };
    Some(super::imports::brought_in(path, text, &after, &|used| (used == name).then(|| from.to_owned())))
}

/// Like [`exported`], but without the import.
pub(super) fn add(path: &str, text: &str, name: &str, from: &str) -> Option<String> {
    if text.contains('\r') {
        let is_even = text.matches('\n').count() == text.matches("\r\n").count();
        let text = is_even.then(|| text.replace("\r\n", "\n"))?;
        return Some(add(path, &text, name, from)?.replace('\n', "\r\n"));
    }
    match language_of(path) {
        "javascript" | "jsx" | "typescript" | "tsx" => script(path, text, name, from),
        "python" => {
            static_regex!(ALL = r"(?m)^__all__\s*=\s*[\[(]");
            let open = ALL.find(text)?.end() - 1;
            let mark = if text[open..].find(['"', '\'']).is_some_and(|at| text[open + at..].starts_with('"')) {
                '"'
            } else {
                '\''
            };
            in_list(text, open, &format!("{mark}{name}{mark}"))
        }
        "rust" => rust(text, name, from),
        _ => None,
    }
}

/// If `path` is the `__init__.py` of a package that contains the file `from`, adds an import of
/// `name` from that file; otherwise returns `text` unchanged.
fn brought_in(path: &str, text: &str, name: &str, from: &str) -> String {
    let folder = path.strip_suffix("__init__.py").filter(|folder| from != path && from.starts_with(folder));
    let is_there = || crate::language::grounding::is_backed(text, name);
    let Some(module) = folder.and_then(|_| super::imports::module_of(from)).filter(|_| !is_there()) else {
        return text.to_owned();
    };
    let line = format!("from {module} import {name}\n");
    super::merge(path, text, &line, &super::Hints::default()).map_or_else(|_| text.to_owned(), |merged| merged.text)
}

fn script(path: &str, text: &str, name: &str, from: &str) -> Option<String> {
    static_regex!(OBJECT = r"(?m)^module\.exports\s*=\s*\{|^export\s*\{");
    static_regex!(FIELD = r"(?m)^((?:module\.)?exports)\.[\w$]+ = [\w$.]+(;?)$");
    static_regex!(EXPORT = r"(?m)^export\s");
    // Names may begin and end with `$`, next to which `\b` does not match.
    let whole = format!(r"{}(?:[^\w$]|$)", regex::escape(name));
    let defined =
        pattern(format!(r"(?m)^(?:async\s+)?(?:function\*?|class|const|let|var|interface|type|enum)\s+{whole}"));
    let exported = pattern(format!(r"(?m)\bexports\.{whole}|^export\s(?:.*[^\w$\n])?{whole}"));
    if exported.is_match(text) {
        return None;
    }
    // `export { a } from './b'` exports definitions of another file, so no names are added to it.
    let lists = OBJECT.find_iter(text).map(|found| found.end() - 1);
    let own = lists.filter(|open| {
        closing(text, *open).is_some_and(|close| !text[close + 1..].trim_start_matches(' ').starts_with("from"))
    });
    if let Some(open) = own.last() {
        return in_list(text, open, name);
    }
    if let Some(last) = FIELD.captures_iter(text).last() {
        let end = last.get(0)?.end();
        return Some(format!("{}\n{}.{name} = {name}{}{}", &text[..end], &last[1], &last[2], &text[end..]));
    }
    let at = defined.find(text).filter(|_| path == from && EXPORT.is_match(text))?.start();
    Some(format!("{}export {}", &text[..at], &text[at..]))
}

fn rust(text: &str, name: &str, from: &str) -> Option<String> {
    let module = from.rsplit('/').find(|part| *part != "mod.rs")?.trim_end_matches(".rs");
    let uses = pattern(format!(r"(?m)^pub use (?:crate::|self::)?{module}::(?:(\{{)|(\w+);)"));
    let last = uses.captures_iter(text).last()?;
    if pattern(format!(r"(?m)^pub use [^;]*\b{name}\b[^;]*;")).is_match(text) {
        return None;
    }
    if let Some(open) = last.get(1) {
        return in_list(text, open.start(), name);
    }
    let (begin, end) = (last.get(2)?.start(), last.get(0)?.end());
    let line = last.get(0)?.start();
    Some(format!("{}\n{}{name};{}", &text[..end], &text[line..begin], &text[end..]))
}

/// Adds `entry` to the list that opens at `open`, in the list's layout. `None` if the list already
/// has the entry or is not closed.
fn in_list(text: &str, open: usize, entry: &str) -> Option<String> {
    let close = closing(text, open)?;
    let inside = &text[open + 1..close];
    let is_there =
        inside.split([',', '\n']).any(|one| one.trim().split(':').next().unwrap_or_default().trim() == entry);
    if is_there {
        return None;
    }
    let body = inside.trim_end();
    let has_comma = body.ends_with(',');
    let body = body.trim_end_matches(',');
    let tail = &inside[inside.trim_end().len()..];
    let comma = if body.trim().is_empty() { "" } else { "," };
    let gap = if inside.contains('\n') {
        let first = body.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        format!("\n{}", &first[..first.len() - first.trim_start().len()])
    } else {
        " ".to_owned()
    };
    let end = if has_comma { "," } else { "" };
    Some(format!("{}{body}{comma}{gap}{entry}{end}{tail}{}", &text[..open + 1], &text[close..]))
}

/// The offset of the bracket that closes the one at `open`. Brackets in strings and comments count
/// too; they are assumed to come in pairs.
fn closing(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (at, letter) in text[open..].char_indices() {
        match letter {
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(open + at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_brings_in_what_it_exports() {
        let text = "from shop.cart import add\n\n__all__ = [\"add\"]\n";
        let expected = text.replace("add\n\n", "add\nfrom shop.text import slug\n\n");
        let found = brought_in("src/shop/__init__.py", text, "slug", "src/shop/text.py");
        assert_eq!(found, expected);
        assert_eq!(brought_in("src/shop/__init__.py", &found, "slug", "src/shop/text.py"), expected);
        assert_eq!(brought_in("src/shop/__init__.py", text, "slug", "src/other/text.py"), text);
        assert_eq!(brought_in("src/shop/cart.py", text, "slug", "src/shop/text.py"), text);
    }

    fn check(path: &str, before: &str, after: &str) {
        assert_eq!(add(path, before, "c", "src/lists.rs").as_deref(), Some(after));
        assert_eq!(add(path, after, "c", "src/lists.rs"), None, "handed out twice");
    }

    #[test]
    fn an_export_list_keeps_its_layout() {
        check("a.js", "module.exports = { a, b }\n", "module.exports = { a, b, c }\n");
        check(
            "a.js",
            "module.exports = {\n  a: f(1),\n  get b () {\n    return 1\n  }\n}\n",
            "module.exports = {\n  a: f(1),\n  get b () {\n    return 1\n  },\n  c\n}\n",
        );
        check("a.mjs", "export {\n  a,\n  b,\n};\n", "export {\n  a,\n  b,\n  c,\n};\n");
        check(
            "a.py",
            "__all__ = (\n    \"a\",\n    \"b\",\n)\n",
            "__all__ = (\n    \"a\",\n    \"b\",\n    \"c\",\n)\n",
        );
        check("a.py", "__all__ = [\r\n    'a',\r\n]\r\n", "__all__ = [\r\n    'a',\r\n    'c',\r\n]\r\n");
        check("a.py", "__all__ = ['a']\n", "__all__ = ['a', 'c']\n");
        check("src/lib.rs", "pub use lists::{a, b};\n", "pub use lists::{a, b, c};\n");
    }

    #[test]
    fn a_new_export_follows_the_last_one() {
        check("a.js", "exports.a = a;\nexports.b = b;\n", "exports.a = a;\nexports.b = b;\nexports.c = c;\n");
        check("src/lib.rs", "pub use crate::lists::a;\n", "pub use crate::lists::a;\npub use crate::lists::c;\n");
    }

    #[test]
    fn a_definition_gets_the_export_keyword_if_others_have_it() {
        let text = "export function a() {}\n\nfunction c() {}\n";
        let marked = "export function a() {}\n\nexport function c() {}\n";
        assert_eq!(add("a.ts", text, "c", "a.ts").as_deref(), Some(marked));
        assert_eq!(add("a.ts", text, "c", "b.ts"), None);
        assert_eq!(add("a.ts", "function c() {}\n", "c", "a.ts"), None);
        assert_eq!(add("a.ts", "export { a } from './b'\n", "c", "a.ts"), None);
        let (text, marked) = (text.replace(" c(", " $c$("), marked.replace(" c(", " $c$("));
        assert_eq!(add("a.ts", &text, "$c$", "a.ts"), Some(marked.clone()));
        assert_eq!(add("a.ts", &marked, "$c$", "a.ts"), None);
    }
}
