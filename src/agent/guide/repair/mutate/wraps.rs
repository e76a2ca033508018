//! Wraps names in calls that the file contains elsewhere: `lower(name)`, `name.trim()`.

use std::ops::Range;

use crate::index::{SyntaxNode, syntax_nodes};

use super::{ARGUMENTS, CALLS, Mutant, NAMES};

/// Maximum number of call forms tried, most frequent first, and of names wrapped.
const FORMS_MAX: usize = 12;
const PLACES_MAX: usize = 6;
const RANK: usize = 3;

/// The text before and after the wrapped name.
type Form = (String, String);

/// Each name in `within` that is read as a value, in each call form from the file.
pub(super) fn wrapped(path: &str, text: &str, within: &Range<usize>, nodes: &[SyntaxNode]) -> Vec<Mutant> {
    let forms = forms(text, &syntax_nodes(path, text, &(0..text.len())));
    let mut values: Vec<&SyntaxNode> = nodes.iter().filter(|node| is_value(text, nodes, node, within)).collect();
    // Returned values come last in a function and most often lack a call.
    values.sort_by_key(|node| std::cmp::Reverse(node.bytes.start));
    let mut found = Vec::new();
    for node in values.into_iter().take(PLACES_MAX) {
        for (before, behind) in &forms {
            let is_so =
                text[..node.bytes.start].ends_with(before.as_str()) && text[node.bytes.end..].starts_with(behind);
            if !is_so {
                let new = format!("{before}{}{behind}", &text[node.bytes.clone()]);
                found.push(Mutant { bytes: node.bytes.clone(), new, rank: RANK });
            }
        }
    }
    found
}

/// The call forms, most frequent first: functions with one argument (`f(` and `)`), and methods
/// without arguments (nothing and `.m()`).
fn forms(text: &str, nodes: &[SyntaxNode]) -> Vec<Form> {
    let mut counted: Vec<(usize, Form)> = Vec::new();
    for (call, node) in nodes.iter().enumerate().filter(|(_, node)| CALLS.contains(&node.kind.as_str())) {
        let child = |wanted: &dyn Fn(&SyntaxNode) -> bool| {
            let later = nodes[call + 1..].iter().take_while(|other| other.bytes.start < node.bytes.end);
            later.filter(|other| other.parent == Some(call)).find(|other| wanted(other))
        };
        let Some(arguments) = child(&|other| ARGUMENTS.contains(&other.kind.as_str())) else { continue };
        let given = text[arguments.bytes.clone()].strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
        let given = given.unwrap_or_default().trim();
        let called = &text[node.bytes.start..arguments.bytes.start];
        let form = match called.rsplit_once('.') {
            Some((_, method)) if given.is_empty() => (String::new(), format!(".{method}()")),
            None if !given.is_empty() && !given.contains([',', '\n']) => (format!("{called}("), ")".to_owned()),
            _ => continue,
        };
        match counted.iter_mut().find(|(_, other)| *other == form) {
            Some((count, _)) => *count += 1,
            None => counted.push((1, form)),
        }
    }
    counted.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    counted.into_iter().take(FORMS_MAX).map(|(_, form)| form).collect()
}

/// Whether a node is a single name that is read: not called, assigned, imported or declared, and
/// without member access.
fn is_value(text: &str, nodes: &[SyntaxNode], node: &SyntaxNode, within: &Range<usize>) -> bool {
    if !NAMES.contains(&node.kind.as_str()) || node.bytes.end > within.end {
        return false;
    }
    let parent = node.parent.map_or("", |parent| nodes[parent].kind.as_str());
    let is_introduced = parent.is_empty()
        || ["parameter", "declar", "definition", "_item", "keyword", "import", "pair"]
            .iter()
            .any(|part| parent.contains(part));
    let (before, behind) = (text[..node.bytes.start].trim_end(), text[node.bytes.end..].trim_start());
    let is_assigned = behind.starts_with('=') && !behind.starts_with("==") || behind.starts_with(":=");
    let is_part = before.ends_with('.') || behind.starts_with(['(', '.', '[', ':']);
    !is_introduced && !is_assigned && !is_part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_tried_in_the_calls_of_its_file() {
        let text = "def key(name):\n    return f\"{name}_id\"\n\n\ndef table(word):\n    word = word.strip()\n    return plural(under(word))\n";
        let within = 0..text.find("\n\n").unwrap();
        let nodes = syntax_nodes("a.py", text, &within);
        let found: Vec<String> = wrapped("a.py", text, &within, &nodes).into_iter().map(|one| one.new).collect();
        assert_eq!(found, ["name.strip()", "plural(name)", "under(name)"]);
    }
}
