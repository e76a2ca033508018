//! Restores modifiers of a definition that the model left out: `export`, `private`, `pub`.

/// Modifiers that a model may omit, in their written order.
const MODIFIERS: &[&str] =
    &["export", "default", "declare", "public", "private", "protected", "static", "override", "abstract", "readonly"];
const ACCESS: &[&str] = &["public", "private", "protected"];

/// Splits the code of a definition into its modifiers and the rest.
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
}
