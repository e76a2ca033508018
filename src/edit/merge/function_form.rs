//! Gives a written function the form and the modifiers that it has in the file: method or declaration, `export`, `pub`.

use crate::index::parts::{Part, Sort};

/// How a function is written in JavaScript and TypeScript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `function name() {}`
    Declared,
    /// `name() {}`
    Method,
    /// `const name = () => {}`
    Variable,
    /// `exports.name = function () {}`, `name = () => {}`
    Assigned,
    /// `name: function () {}`
    Entry,
}

/// The form in which a function is written.
pub fn form_of(part: &Part, text: &str) -> Form {
    let core = &text[part.core.clone()];
    let (_, rest) = modifiers(core);
    match &part.value {
        None if rest.trim_start_matches("async ").starts_with("function") => Form::Declared,
        None => Form::Method,
        Some(_) if ["const ", "let ", "var "].iter().any(|word| rest.starts_with(word)) => Form::Variable,
        Some(value) if text[part.core.start..value.start].trim_end().ends_with(':') => Form::Entry,
        Some(_) => Form::Assigned,
    }
}

/// What replaces an old part: all of its core, or only its value.
pub enum Fitted {
    Whole(String),
    Value(String),
}

/// The text `core` of a new function (its value is `value`) in the form of the old one.
pub fn fitted(old: Form, new: Form, name: &str, core: String, value: Option<String>) -> Fitted {
    use Form::*;
    match (old, new, value) {
        (Method, Declared, _) => Fitted::Whole(as_method(&core)),
        (Declared | Variable, Method, _) => Fitted::Whole(as_function(&core)),
        (Assigned | Entry, Declared, _) => Fitted::Value(without_export(&core).to_owned()),
        (Assigned, Method, _) if !core.contains("=>") || core.find('{') < core.find("=>") => {
            Fitted::Value(as_function(&core))
        }
        (Assigned | Entry, Variable | Assigned | Entry, Some(value)) => Fitted::Value(value),
        (Method, Variable, Some(value)) => Fitted::Whole(format!("{name} = {value};")),
        _ => Fitted::Whole(core),
    }
}

fn without_export(core: &str) -> &str {
    core.trim_start_matches("export ").trim_start_matches("default ")
}

/// `async function name(` becomes `async name(`.
pub fn as_method(core: &str) -> String {
    let core = without_export(core);
    let (asynchronous, rest) = match core.strip_prefix("async ") {
        Some(rest) => ("async ", rest),
        None => ("", core),
    };
    match rest.strip_prefix("function") {
        Some(rest) if rest.trim_start().starts_with('*') => {
            format!("{asynchronous}*{}", rest.trim_start().trim_start_matches('*').trim_start())
        }
        Some(rest) => format!("{asynchronous}{}", rest.trim_start()),
        None => core.to_owned(),
    }
}

/// `async name(` becomes `async function name(`.
pub fn as_function(core: &str) -> String {
    let (_, rest) = modifiers(core);
    match (rest.strip_prefix("async "), rest.strip_prefix('*')) {
        (Some(rest), _) => format!("async function {rest}"),
        (_, Some(rest)) => format!("function* {}", rest.trim_start()),
        _ => format!("function {rest}"),
    }
}

/// Modifiers that a model may leave out, in the order in which they are written.
const MODIFIERS: &[&str] =
    &["export", "default", "declare", "public", "private", "protected", "static", "override", "abstract", "readonly"];
const ACCESS: &[&str] = &["public", "private", "protected"];

/// The modifiers at the beginning of a core, and what follows them.
fn modifiers(core: &str) -> (Vec<&'static str>, &str) {
    let (mut found, mut rest) = (Vec::new(), core);
    for _ in 0..MODIFIERS.len() {
        let next =
            MODIFIERS.iter().find(|word| rest.strip_prefix(**word).is_some_and(|after| after.starts_with([' ', '\n'])));
        let Some(word) = next else { break };
        found.push(*word);
        rest = rest[word.len()..].trim_start();
    }
    (found, rest)
}

/// `new` with the modifiers of `old` that it lacks.
pub fn with_modifiers(language: &str, old: &str, new: String) -> String {
    match language {
        "rust" => with_visibility(old, new),
        "python" | "go" => new,
        _ => {
            let (kept, (own, rest)) = (modifiers(old).0, modifiers(&new));
            let has_access = own.iter().any(|word| ACCESS.contains(word));
            let is_variable = ["const ", "let ", "var "].iter().any(|word| rest.starts_with(word));
            let wanted = |word: &&&str| {
                own.contains(*word)
                    || kept.contains(*word)
                        && !(has_access && ACCESS.contains(*word))
                        && !(is_variable && **word == "default")
                        && **word != "abstract"
            };
            let words: Vec<&str> = MODIFIERS.iter().filter(wanted).copied().collect();
            if words.is_empty() { rest.to_owned() } else { format!("{} {rest}", words.join(" ")) }
        }
    }
}

/// `new` with the `pub` of `old`, if it has none.
fn with_visibility(old: &str, new: String) -> String {
    let is_open = |text: &str| text.strip_prefix("pub").is_some_and(|rest| rest.starts_with([' ', '(']));
    if !is_open(old) || is_open(&new) {
        return new;
    }
    let end = match old.strip_prefix("pub(") {
        Some(rest) => rest.find(')').map_or(3, |at| at + 5),
        None => 3,
    };
    format!("{} {new}", &old[..end])
}

/// Whether both parts are functions, and the language has several forms for them.
pub fn has_forms(language: &str, old: &Part, new: &Part) -> bool {
    !matches!(language, "python" | "rust" | "go") && old.sort == Sort::Function && new.sort == Sort::Function
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modifiers_that_were_left_out_are_kept() {
        let check = |language: &str, old: &str, new: &str, expected: &str| {
            assert_eq!(with_modifiers(language, old, new.into()), expected)
        };
        check("rust", "pub(crate) fn a() {}", "fn a() { b }", "pub(crate) fn a() { b }");
        check("rust", "pub fn a() {}", "pub fn a() { b }", "pub fn a() { b }");
        check("typescript", "export async function a() {}", "function a() {}", "export function a() {}");
        check("typescript", "private static a() {}", "static a() { b }", "private static a() { b }");
        check("typescript", "private a() {}", "protected a() {}", "protected a() {}");
        check("javascript", "export default function a() {}", "const a = 1", "export const a = 1");
        check("python", "def a(): pass", "def a(): b", "def a(): b");
    }

    #[test]
    fn methods_and_functions_become_each_other() {
        assert_eq!(as_method("async function a() {}"), "async a() {}");
        assert_eq!(as_method("function* a() {}"), "*a() {}");
        assert_eq!(as_function("async a() {}"), "async function a() {}");
        assert_eq!(as_function("static a() {}"), "function a() {}");
    }
}
