//! Takes out of a change what nobody asked for and nothing needs: annotations, other words in docstrings, examples in new ones, unused imports.

use std::ops::Range;

use super::kept::{closed, functions, parameter, split};
use super::text::static_regex;
use crate::base::is_listed;
use crate::index::language_of;
use crate::index::parts::{self, Imported, Part, Sort, Span};
use crate::language::{grounding, words};

/// Words of a request that is about annotations, and of one that is about docstrings.
const TYPES: &str = "type types typed typing annotate annotated annotation annotations hint hints typen typhinweise";
const DOCS: &str = "\
    doc docs docstring docstrings document documented documentation comment comments describe described explain mention typo typos spelling \
    wording doctest doctests example examples kommentar kommentare dokumentiere";

/// `after` without annotations that signatures have gained, with the docstrings of `before`, and without examples in new docstrings, unless the
/// request `asked` speaks of them. Nothing is taken out if the text would no longer parse.
pub fn without_extras(path: &str, before: &str, after: &str, asked: &str) -> String {
    let speaks = |list: &str| words::split(asked).iter().any(|word| is_listed(list, word));
    let has_types = matches!(language_of(path), "python" | "typescript" | "tsx");
    let (old, new) = (functions(path, before), functions(path, after));
    let mut text = after.to_owned();
    // From the end on, so that the places of earlier functions stay right.
    for now in new.iter().rev() {
        let was = old
            .iter()
            .find(|one| one.container == now.container && one.name == now.name && one.variant == now.variant)
            .map(|was| (was, &before[was.bytes.clone()]));
        let code = &after[now.bytes.clone()];
        // A function that has not changed has gained nothing.
        if was.is_some_and(|(_, was)| was == code) {
            continue;
        }
        let mut own = code.to_owned();
        if !speaks(DOCS) {
            own = match was {
                Some((_, was)) => with_docstring(&own, was),
                None => without_examples(&own),
            };
        }
        if let Some((was, _)) = was.filter(|_| has_types && !speaks(TYPES)) {
            own = with_bare_head(&own, &now.name, head(was, before), language_of(path) == "python");
        }
        if own != code {
            let mut less = text.clone();
            less.replace_range(now.bytes.clone(), &own);
            if parts::faults(path, &less).len() <= parts::faults(path, &text).len() {
                text = less;
            }
        }
    }
    text
}

/// The text of a function before its body.
fn head<'t>(span: &Span, text: &'t str) -> &'t str {
    let end = span.body.as_ref().map_or(span.bytes.end, |body| body.start);
    text.get(span.bytes.start..end).unwrap_or_default()
}

/// The bytes of the parameters of a function in a text that contains its head.
fn parameters(text: &str, name: &str) -> Option<Range<usize>> {
    let begin = text.find(&format!("{name}("))?;
    let open = begin + name.len();
    Some(open + 1..closed(text, open)?)
}

/// The annotation of a parameter: its bytes, with the colon before it.
fn annotation(parameter: &str) -> Option<Range<usize>> {
    let end = parameter.find('=').unwrap_or(parameter.len());
    let from = parameter[..end].find(':')?;
    Some(from..parameter[..end].trim_end().len())
}

/// `code` without the annotations that its head has and `was`, the earlier head, has not.
fn with_bare_head(code: &str, name: &str, was: &str, is_python: bool) -> String {
    let (Some(old), Some(new)) = (parameters(was, name), parameters(code, name)) else { return code.to_owned() };
    let olds = split(&was[old.clone()]);
    let has_any = olds.iter().any(|one| annotation(one).is_some());
    let is_same = |one: &str, other: &str| parameter(one).map(|one| one.0) == parameter(other).map(|one| one.0);
    let bare = |piece: &str| -> String {
        let was = olds.iter().find(|one| is_same(one, piece));
        let gained = was.map_or(!has_any, |was| annotation(was).is_none());
        let Some(range) = annotation(piece).filter(|_| gained) else { return piece.to_owned() };
        let rest = match piece[range.end..].trim_start().strip_prefix('=') {
            Some(default) => format!("={}", default.trim_start()),
            None => piece[range.end..].to_owned(),
        };
        format!("{}{rest}", &piece[..range.start])
    };
    let pieces: Vec<String> = split(&code[new.clone()]).into_iter().map(bare).collect();
    let rest = &code[new.end..];
    // `-> int:` or `: number {`, where there was nothing before.
    static_regex!(ARROW = r"^\)\s*->\s*([^\n:]+?)\s*(:)");
    static_regex!(COLON = r"^\)[ \t]*:[ \t]*([^\n:{]+?)[ \t]*(\{)");
    let (returns, end) = if is_python { (&*ARROW, ":") } else { (&*COLON, " {") };
    let had = returns.is_match(&format!("{}{end}", was[old.end..].trim_end_matches([':', '{', ' '])));
    let rest = match returns.captures(rest).filter(|_| !had) {
        Some(found) => {
            let gap = if &found[2] == "{" { " " } else { "" };
            format!("){gap}{}{}", &found[2], &rest[found[0].len()..])
        }
        None => rest.to_owned(),
    };
    format!("{}{}{rest}", &code[..new.start], pieces.join(","))
}

/// The bytes of the Python docstring of a function.
fn docstring(code: &str) -> Option<Range<usize>> {
    static_regex!(BEGIN = r#"(?m):[ \t]*(?:#.*)?\n\s*[rR]?("""|''')"#);
    let found = BEGIN.captures(code)?;
    let mark = found.get(1)?;
    // Only comments and the head stand before it.
    let head = code[..found.get(0)?.start()].trim_end();
    if head.contains("\"\"\"") || head.lines().any(|line| line.trim_start().starts_with("return ")) {
        return None;
    }
    let end = mark.end() + code[mark.end()..].find(mark.as_str())? + mark.len();
    Some(mark.start()..end)
}

/// `code` with the docstring of `was`, if both have one.
fn with_docstring(code: &str, was: &str) -> String {
    let (Some(now), Some(old)) = (docstring(code), docstring(was)) else { return code.to_owned() };
    format!("{}{}{}", &code[..now.start], &was[old], &code[now.end..])
}

/// `code` without the examples in its docstring: nothing has run them, and a model often gets their results wrong.
fn without_examples(code: &str) -> String {
    let Some(range) = docstring(code).filter(|range| code[range.clone()].contains(">>>")) else {
        return code.to_owned();
    };
    static_regex!(TITLE = r"(?i)^\s*(?:examples?|usage|doctests?|for example)\s*:*\s*$");
    let docs = &code[range.clone()];
    let mark = &docs[..3];
    let inside = &docs[3..docs.len() - 3];
    let (mut lines, mut in_example): (Vec<&str>, bool) = (Vec::new(), false);
    for line in inside.lines() {
        in_example = line.trim_start().starts_with(">>>") || in_example && !line.trim().is_empty();
        if in_example {
            while lines.len() > 1 && lines.last().is_some_and(|last| last.trim().is_empty() || TITLE.is_match(last)) {
                lines.pop();
            }
        } else {
            lines.push(line);
        }
    }
    while lines.len() > 1 && lines.last().is_some_and(|last| last.trim().is_empty()) {
        lines.pop();
    }
    let text = lines.join("\n");
    let gap = code[..range.start].rsplit('\n').next().unwrap_or_default();
    let end = if lines.len() > 1 { format!("\n{gap}") } else { String::new() };
    let text = if lines.len() > 1 { text } else { text.trim_end().to_owned() };
    if text.trim().is_empty() {
        // Nothing but examples.
        let begin = code[..range.start].rfind('\n').unwrap_or(range.start);
        return format!("{}{}", &code[..begin], &code[range.end..]);
    }
    format!("{}{mark}{text}{end}{mark}{}", &code[..range.start], &code[range.end..])
}

/// `after` without imports that `before` lacks and that nothing uses. In a file that hands names on, the project's own imports stay.
pub fn without_unused_imports(path: &str, before: &str, after: &str) -> String {
    let is_known = matches!(language_of(path), "python" | "javascript" | "jsx" | "typescript" | "tsx");
    let imports = |text: &str| -> Vec<Part> {
        let all = parts::parts(path, text).map(|parts| parts.items).unwrap_or_default();
        all.into_iter().filter(|part| part.sort == Sort::Import).collect()
    };
    let stem = path.rsplit('/').next().and_then(|name| name.split('.').next()).unwrap_or_default();
    let hands_on = matches!(stem, "__init__" | "index" | "mod");
    let is_own = |one: &Imported| {
        let first = one.source.split(['.', '/']).next().unwrap_or_default();
        one.source.starts_with('.') || path.split('/').any(|folder| folder == first)
    };
    let key = |one: &Imported| (one.source.clone(), one.name.clone(), one.local.clone());
    let old: Vec<_> = imports(before).iter().flat_map(|part| part.imports.iter().map(key)).collect();
    let mut text = after.to_owned();
    for part in imports(after).into_iter().rev().filter(|_| is_known) {
        let whole = part.whole();
        let others = format!("{}\n{}", &text[..whole.start], &text[whole.end..]);
        let is_unused = |one: &&Imported| {
            let is_handed_on = hands_on && is_own(one);
            let is_new = !one.local.is_empty() && !old.contains(&key(one));
            is_new && !is_handed_on && !grounding::is_backed(&others, &one.local)
        };
        let unused: Vec<&Imported> = part.imports.iter().filter(is_unused).collect();
        if unused.is_empty() {
            continue;
        }
        if unused.len() == part.imports.len() {
            let end = text[whole.end..].find('\n').map_or(text.len(), |at| whole.end + at + 1);
            text.replace_range(whole.start..end, "");
            continue;
        }
        for one in unused.into_iter().rev() {
            let begin = text[..one.bytes.start].trim_end().len();
            let rest = text[one.bytes.end..].trim_start_matches([' ', '\n']);
            match (text[..begin].ends_with(','), rest.strip_prefix(',')) {
                (true, _) => text.replace_range(begin - 1..one.bytes.end, ""),
                (false, Some(rest)) => {
                    let end = text.len() - rest.trim_start_matches(' ').len();
                    text.replace_range(one.bytes.start..end, "");
                }
                (false, None) => {}
            }
        }
    }
    if parts::faults(path, &text).len() <= parts::faults(path, after).len() { text } else { after.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "import os\n\n\nclass A:\n    def get(self, key, default=None, **more):\n        \"\"\"Gets.\n\n        >>> A().get('a')\n        \"\"\"\n        return os.environ.get(key, default)\n";

    #[test]
    fn annotations_and_words_that_nobody_asked_for_are_taken_out() {
        let right = BEFORE.replace("(key, default)", "(key.upper(), default)");
        let written = right
            .replace(
                "self, key, default=None, **more)",
                "self, key: str, default: dict[str, int] = None, **more: Any) -> str",
            )
            .replace("Gets.\n", "Gets a value.\n\n        It is long.\n");
        assert_eq!(without_extras("a.py", BEFORE, &written, "get should use upper case"), right);
        let found = without_extras("a.py", BEFORE, &written, "annotate get, and document it");
        assert_eq!(found, written);
        let typed = BEFORE.replace("key,", "key: str,");
        let more = typed.replace("default=None", "default: str = None, size: int = 3");
        let expected = typed.replace("default=None", "default=None, size: int = 3");
        assert_eq!(without_extras("a.py", &typed, &more, "get should take a size"), expected);
        let (old, new) = ("function f(a) {\n  return a;\n}\n", "function f(a: string): string {\n  return a + 1;\n}\n");
        assert_eq!(without_extras("a.ts", old, new, "add one"), old.replace("a;", "a + 1;"));
    }

    #[test]
    fn code_behind_a_head_is_not_an_annotation() {
        let before = "def made(cls, *rest):\n    make = lambda one: cls(one, *rest)\n    return make\n\ndef two(a): return {1: a}\n";
        for (old, new) in [("return make\n", "return [make]\n"), ("{1: a}", "{2: a}"), ("", "import os\n")] {
            let after = before.replacen(old, new, 1);
            assert_eq!(without_extras("a.py", before, &after, "change it"), after);
        }
    }

    #[test]
    fn examples_of_a_new_function_that_nothing_ran_are_taken_out() {
        let new = |docs: &str| {
            format!("{BEFORE}\n    def put(self, key):\n        \"\"\"{docs}\"\"\"\n        self.key = key\n")
        };
        let check = |docs: &str, expected: &str| {
            assert_eq!(without_extras("a.py", BEFORE, &new(docs), "add put(key)"), new(expected), "{docs}");
        };
        check("Puts.\n\n        Examples:\n\n        >>> A().put('a')\n        'b'\n        ", "Puts.");
        check(
            "Puts.\n\n        >>> A().put('a')\n        'b'\n\n        Or not.\n        ",
            "Puts.\n\n        Or not.\n        ",
        );
        check("Puts.\n        Always.\n        ", "Puts.\n        Always.\n        ");
        let only = new("\n        >>> A().put('a')\n        ");
        let bare = format!("{BEFORE}\n    def put(self, key):\n        self.key = key\n");
        assert_eq!(without_extras("a.py", BEFORE, &only, "add put(key)"), bare);
    }

    #[test]
    fn a_new_import_that_nothing_uses_is_taken_out() {
        let after = BEFORE.replace("import os\n", "import os\nfrom typing import Any, Optional\nimport re\n");
        assert_eq!(without_unused_imports("a.py", BEFORE, &after), BEFORE);
        let used =
            after.replace("(key,", "(re.sub('a', 'b', key),").replace("default=None", "default: Optional[str] = None");
        assert_eq!(without_unused_imports("a.py", BEFORE, &used), used.replace("Any, ", ""));
        let own = BEFORE.replace("import os\n", "import os\nfrom shop.cart import add\n");
        assert_eq!(without_unused_imports("src/shop/__init__.py", BEFORE, &own), own);
        assert_eq!(without_unused_imports("src/shop/a.py", BEFORE, &own), BEFORE);
        let (old, new) =
            ("import { a } from './b.js';\na();\n", "import { a, c } from './b.js';\nimport './d.js';\na();\n");
        assert_eq!(without_unused_imports("e.js", old, new), new.replace("a, c", "a"));
    }
}
