//! Finds unfinished code: placeholder comments, functions without a body, object entries outside an object.

use super::Pair;
use crate::index::parts::{Part, Sort};
use crate::omissions::{comment_of, is_mark};

/// Lower-case phrases in comments that mark code still to be written.
const TO_WRITE: &[&str] = &[
    "todo: implement",
    "todo implement",
    "your code here",
    "your code goes here",
    "code goes here",
    "implementation goes here",
    "implement this function",
    "implement this method",
    "implement the logic",
    "implement logic",
    "your logic here",
    "your implementation",
    "to be implemented",
    "insert code",
    "placeholder for",
];

/// The problem reported for a comment that replaces code still to be written.
pub const TO_BE_WRITTEN: &str = "leaves code to be written";

/// New lines that stand for omitted code, or whose comment states that code is still to be written.
pub fn marks(before: &str, after: &str) -> Vec<String> {
    let old: std::collections::HashSet<&str> = before.lines().map(str::trim).collect();
    let mut found = Vec::new();
    for (at, line) in after.lines().enumerate().filter(|(_, line)| !old.contains(line.trim())) {
        let is_doc = line.trim().starts_with("///") || line.trim().starts_with("//!");
        let comment = comment_of(line.trim()).filter(|_| !is_doc).map(str::to_lowercase).unwrap_or_default();
        let shown: String = line.trim().chars().take(100).collect();
        let line_number = at + 1;
        if TO_WRITE.iter().any(|phrase| comment.contains(phrase)) {
            found.push(format!("line {line_number} {TO_BE_WRITTEN}: `{shown}`; write it"));
        } else if is_mark(line, before) {
            found.push(format!(
                "line {line_number} replaces code that was left out: `{shown}`; write the definition whole"
            ));
        }
    }
    found
}

/// New JavaScript statements like `name: value`. They parse as labels, but are object entries
/// outside an object.
pub fn entries(pair: &Pair) -> Vec<String> {
    if !matches!(pair.language, "javascript" | "jsx" | "typescript" | "tsx") {
        return Vec::new();
    }
    let mut found = Vec::new();
    for part in pair.after_parts.iter().filter(|part| part.sort == Sort::Statement) {
        let text = pair.after.get(part.core.clone()).unwrap_or_default();
        let Some((name, value)) = text.split_once(':') else { continue };
        let is_name = name.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '$'));
        let is_loop = ["for", "while", "do", "{"].iter().any(|word| value.trim_start().starts_with(word));
        if is_name && !is_loop && !pair.before.contains(text) {
            found.push(format!("`{name}: …` is outside any object; write it as an entry of the object it belongs to"));
        }
    }
    found
}

/// New functions whose body is a stub, except where a body is optional.
pub fn bodies(pair: &Pair) -> Vec<String> {
    let mut old = Vec::new();
    each(&pair.before_parts, &mut |part, _| {
        if is_idle(part, pair.before, pair.language) {
            old.push(part.name.clone());
        }
    });
    let mut found = Vec::new();
    each(&pair.after_parts, &mut |part, around| {
        let may_be_empty =
            pair.path.ends_with(".pyi") || is_abstract(part, around, pair.after) || old.contains(&part.name);
        if part.sort == Sort::Function && is_idle(part, pair.after, pair.language) && !may_be_empty {
            found.push(format!("`{}` has no body yet; write what it does", part.name));
        }
    });
    found
}

/// Calls `look` with every part at any depth and the parts around it, outermost first.
pub fn each<'p>(items: &'p [Part], look: &mut dyn FnMut(&'p Part, &[&'p Part])) {
    for item in items {
        look(item, &[]);
        item.walk(&mut Vec::new(), look);
    }
}

/// Whether the body of a function is a stub: `pass`, `todo!()`, `throw new Error('not implemented')`.
fn is_idle(part: &Part, text: &str, language: &str) -> bool {
    let Some(body) = part.body.clone().filter(|_| part.sort == Sort::Function) else { return false };
    let start = part.docstring.as_ref().map_or(body.start, |doc| doc.end);
    let lines = text.get(start..body.end.max(start)).unwrap_or_default().lines().map(str::trim);
    let code: Vec<&str> = lines.filter(|line| !line.is_empty() && comment_of(line).is_none()).collect();
    let only = if let [one] = code.as_slice() { one.trim_end_matches(';') } else { "" };
    match language {
        "python" => code.is_empty() && part.docstring.is_none() || matches!(only, "pass" | "..."),
        "rust" => ["todo!(", "unimplemented!("].iter().any(|start| only.starts_with(start)),
        _ => {
            let lower = only.to_lowercase();
            (lower.starts_with("throw ") || lower.starts_with("panic(")) && lower.contains("not implemented")
        }
    }
}

/// Whether a function may lack a body: abstract methods, overloads, methods of a class with a base,
/// decorated functions, special Python methods, functions inside a function.
fn is_abstract(part: &Part, around: &[&Part], text: &str) -> bool {
    let words = |range: &std::ops::Range<usize>| text.get(range.clone()).unwrap_or_default().to_owned();
    let attributes = part.attributes.iter().map(words).collect::<String>();
    let heads = around.iter().filter_map(|part| Some(words(&(part.core.start..part.body.as_ref()?.start))));
    let heads = heads.collect::<String>();
    ["abstract", "overload"].iter().any(|word| attributes.contains(word))
        || ["Abstract", "Interface", "Base", "(", "extends ", " for "].iter().any(|word| heads.contains(word))
        || around.iter().any(|part| matches!(part.sort, Sort::Function | Sort::Statement))
        || part.attributes.len()
            > usize::from(
                ["property", "staticmethod", "classmethod", "test"].iter().any(|word| attributes.contains(word)),
            )
        || part.name.starts_with("__")
}
