//! Writes a file as it appears in the prompt: the shown lines, and a list of its other definitions.

use crate::index::{Definition, language_of};

use super::{Shown, is_local};

/// Most definitions of a file that are listed beside what is shown of it.
const OTHERS_MAX: usize = 30;
/// Longest signature in a list of what is not shown.
const SIGNATURE_CHARS: usize = 70;

/// A file as it appears in the prompt: its path, its shown lines in a fence, and its other definitions outside of the fence, so that the model
/// does not copy these into code.
pub(super) fn render(shown: &Shown, definitions: &[Definition]) -> String {
    let lines: Vec<&str> = shown.text.lines().collect();
    let language = language_of(&shown.path);
    let fence = if shown.text.contains("```") { "````" } else { "```" };
    let stretch = |&(start, end): &(usize, usize)| {
        lines.get(start - 1..end.min(lines.len())).unwrap_or_default().join("\n").trim_end().to_owned()
    };
    let code: Vec<String> = shown.lines.iter().map(stretch).collect();
    let language = if language == "text" { "" } else { language };
    let mut text = format!("{}\n{fence}{language}\n{}\n{fence}\n", shown.path, code.join("\n\n"));
    let is_shown = |line: usize| shown.lines.iter().any(|&(start, end)| start <= line && line <= end);
    let others = definitions.iter().filter(|one| !is_shown(one.start) && !is_local(one, definitions));
    let mut names: Vec<String> = others.take(OTHERS_MAX).map(|one| outlined(one, &lines)).collect();
    names.dedup();
    if !names.is_empty() {
        text.push_str(&format!("{} also has: {}\n", shown.path, names.join("; ")));
    }
    text.push('\n');
    text
}

/// The signature of a definition, cut to `SIGNATURE_CHARS`.
fn outlined(definition: &Definition, lines: &[&str]) -> String {
    let above = lines.get(definition.doc_start.saturating_sub(1)..definition.start).unwrap_or_default();
    let property = above.iter().any(|line| line.trim() == "@property");
    let signature = if definition.signature.is_empty() { &definition.name } else { &definition.signature };
    let signature = crate::tools::outcome::cut_line(signature.trim_end_matches([':', '{', ' ']), SIGNATURE_CHARS);
    if property { format!("@property {signature}") } else { signature }
}

#[cfg(test)]
mod tests {
    use crate::index::outline;

    use super::*;

    #[test]
    fn definitions_that_are_not_shown_are_listed_outside_of_the_fence() {
        let text = "import os\n\n\ndef a(x):\n    return x\n\n\ndef b(y):\n    return y\n";
        let definitions = outline("python", text).definitions;
        let shown = Shown { path: "m.py".into(), text: text.into(), lines: vec![(8, 9)], found: Vec::new() };
        let expected = "m.py\n```python\ndef b(y):\n    return y\n```\nm.py also has: def a(x)\n\n";
        assert_eq!(render(&shown, &definitions), expected);
    }
}
