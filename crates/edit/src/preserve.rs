//! Keeps code that a model's rewrite must not lose (exports, tests, most lines of a definition),
//! and removes an incorrect `self`.

use super::comments::code_lines;
use crate::base::pattern::static_regex;
use crate::index::language_of;
use crate::index::parts::{self, Sort, Span};
use crate::language::Asked;

/// Minimum length, in lines, of a definition that is checked for lost lines.
const KEPT_LINES_MIN: usize = 10;

/// Returns `new` with all the names in the export or import list `old`, such as
/// `export { a, b } from './c'`, unless names may be removed.
pub fn with_names(old: &str, new: &str, may_remove: bool) -> String {
    static_regex!(LIST = r"^((?:export|import)\s+(?:type\s+)?)\{([^}]*)\}(.*)$");
    let (Some(was), Some(is)) = (LIST.captures(old.trim()), LIST.captures(new.trim())) else { return new.to_owned() };
    if may_remove || was[3].trim_end_matches(';') != is[3].trim_end_matches(';') {
        return new.to_owned();
    }
    let names = |list: &str| -> Vec<String> {
        list.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
    };
    let mut all = names(&was[2]);
    all.extend(names(&is[2]).into_iter().filter(|name| !was[2].split(',').any(|other| other.trim() == name)));
    format!("{}{{ {} }}{}", &is[1], all.join(", "), &is[3])
}

/// Returns `code` with each test that would replace a test in `text` and lose lines of it renamed
/// (`test_a` to `test_a_2`).
pub fn beside(path: &str, text: &str, code: &str) -> String {
    let functions = |text: &str| parts::definitions(path, text).into_iter().filter(|one| one.sort == Sort::Function);
    let olds: Vec<Span> = functions(text).collect();
    let mut beside = code.to_owned();
    for new in functions(code) {
        let lacks = |old: &&Span| old.name == new.name && is_less(&text[old.bytes.clone()], &code[new.bytes.clone()]);
        if let Some(old) = olds.iter().find(lacks) {
            let is_free = |name: &String| !text.contains(name.as_str());
            let name = (2..).map(|number| format!("{}_{number}", old.name)).find(is_free).unwrap_or_default();
            beside = beside.replacen(&format!("{}(", old.name), &format!("{name}("), 1);
        }
    }
    beside
}

/// Whether `new` lacks a line of `old`, other than the first one.
fn is_less(old: &str, new: &str) -> bool {
    let lines = |text: &str| -> Vec<String> {
        let plain = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        plain.filter(|line| line.chars().any(char::is_alphanumeric)).collect()
    };
    let new = lines(new);
    lines(old).iter().skip(1).any(|line| !new.contains(line))
}

/// Whether more than two thirds of a long definition are gone although the request does not ask for
/// shorter code.
pub fn is_gutted(old: &str, new: &str, asked: &Asked) -> bool {
    let lines = |text: &str| code_lines(text).filter(|line| line.chars().any(char::is_alphanumeric)).count();
    lines(old) >= KEPT_LINES_MIN && 3 * lines(new) < lines(old) && !asked.may_ask_for_less()
}

/// Removes the parameter `self` that a model added to a Python function outside a class.
pub fn without_receiver(path: &str, code: &str) -> String {
    static_regex!(HEAD = r"^((?:async )?def \w+\()self(?:,\s*|(\)))");
    if language_of(path) == "python" && !code.contains("self.") {
        HEAD.replace(code, "$1$2").into_owned()
    } else {
        code.to_owned()
    }
}

/// Whether a text already contains some code, ignoring white space and imports before the code.
pub fn has_code(text: &str, code: &str) -> bool {
    // A semicolon at the end of a line is only a matter of style.
    let plain = |text: &str| {
        let lines = text.lines().map(|line| line.trim_end().trim_end_matches(';'));
        lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
    };
    let is_import =
        |line: &&str| line.trim().is_empty() || ["import ", "from ", "use "].iter().any(|word| line.starts_with(word));
    let own: Vec<&str> = code.lines().skip_while(is_import).collect();
    let own = if own.is_empty() { plain(code) } else { plain(&own.join("\n")) };
    plain(text).contains(&own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_has_no_receiver() {
        assert_eq!(without_receiver("a.py", "def f(self, x):\n    return x\n"), "def f(x):\n    return x\n");
        assert_eq!(without_receiver("a.py", "def f(self):\n    return 1\n"), "def f():\n    return 1\n");
        let method = "def f(self):\n    return self.x\n";
        assert_eq!(without_receiver("a.py", method), method);
    }

    #[test]
    fn a_long_definition_is_not_gutted_unasked() {
        let old = "def f(x):\n".to_owned() + &"    x = g(x)\n".repeat(12);
        assert!(is_gutted(&old, "def f(x):\n    return g(x)\n", &Asked::of("f fails for 3")));
        assert!(!is_gutted(&old, "def f(x):\n    return g(x)\n", &Asked::of("Simplify f")));
        assert!(!is_gutted(&old, &old[..old.len() - 30], &Asked::of("f fails for 3")));
    }

    #[test]
    fn exported_names_are_kept() {
        let (old, new) = ("export { a, b } from './c.js';", "export { d } from './c.js';");
        assert_eq!(with_names(old, new, false), "export { a, b, d } from './c.js';");
        assert_eq!(with_names(old, new, true), new);
        assert_eq!(with_names(old, "export { d } from './e.js';", false), "export { d } from './e.js';");
    }

    #[test]
    fn a_new_test_does_not_replace_an_existing_one() {
        let text = "def test_a():\n    assert f(1) == 2\n\n\ndef test_a_2():\n    pass\n";
        assert_eq!(
            beside("t.py", text, "def test_a():\n    assert f(3) == 4\n"),
            "def test_a_3():\n    assert f(3) == 4\n"
        );
        let more = "def test_a():\n    assert f(1) == 2\n    assert f(3) == 4\n";
        assert_eq!(beside("t.py", text, more), more);
    }
}
