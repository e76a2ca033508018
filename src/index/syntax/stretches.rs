//! Divides a definition into stretches of whole lines, so that a few of them can be written without the rest.

use std::ops::Range;
use std::time::Instant;

use tree_sitter::Node;

use super::{PARSE_TIME_MAX, grammar_of, language_of, parse};

/// Whole lines of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Without the last line's end.
    pub bytes: Range<usize>,
    /// Its first line, without white space around it.
    pub title: String,
    /// White space before its first line.
    pub indent: String,
}

/// For each line of `within` that begins something, comments left out: the largest piece of syntax that begins there and has `longest` lines
/// at most, else the line alone. They nest. None where the language has no grammar.
pub fn stretches(path: &str, text: &str, within: Range<usize>, longest: usize) -> Vec<Stretch> {
    let until = Instant::now() + PARSE_TIME_MAX;
    let Some(tree) = grammar_of(language_of(path)).and_then(|grammar| parse(grammar, text, until)) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut start = text[..within.start].rfind('\n').map_or(0, |at| at + 1);
    while start < within.end {
        let line = text[start..].lines().next().unwrap_or_default();
        let indent = line.len() - line.trim_start().len();
        let at = start + indent;
        if line.contains(char::is_alphanumeric)
            && let Some(node) = begun_at(tree.root_node(), at, &within, longest)
        {
            let end = node.map_or(start + line.len(), |node| line_end(text, node.end_byte()));
            found.push(Stretch { bytes: start..end, title: line.trim().to_owned(), indent: line[..indent].to_owned() });
        }
        start = line_end(text, start) + 1;
    }
    found
}

fn line_end(text: &str, at: usize) -> usize {
    let end = text[at..].find('\n').map_or(text.len(), |line| at + line);
    if text[at..end].ends_with('\r') { end - 1 } else { end }
}

/// The largest node that begins at a byte, if one does that is no comment; the inner `None` says that all of them are too long.
fn begun_at<'t>(root: Node<'t>, at: usize, within: &Range<usize>, longest: usize) -> Option<Option<Node<'t>>> {
    let fits = |node: &Node| {
        let lines = node.end_position().row + 1 - node.start_position().row;
        lines <= longest && node.byte_range() != *within && node.end_byte() <= within.end
    };
    let smallest = root.descendant_for_byte_range(at, at + 1).filter(|node| node.start_byte() == at)?;
    let begun = |node: &Node| node.start_byte() == at;
    let chain = std::iter::successors(Some(smallest), Node::parent).take_while(begun);
    if smallest.kind().ends_with("comment") {
        return None;
    }
    Some(chain.filter(fits).last())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_on_a_line_is_a_stretch() {
        let text = "def f(a):\n    # why\n    for x in a:\n        if x:\n            g(\n                x,\n            )\n        h(x)\n    return a\n";
        let found = stretches("a.py", text, 0..text.len() - 1, 4);
        let shown: Vec<(&str, usize)> =
            found.iter().map(|one| (one.title.as_str(), text[one.bytes.clone()].lines().count())).collect();
        let expected =
            [("def f(a):", 1), ("for x in a:", 1), ("if x:", 4), ("g(", 3), ("x,", 1), ("h(x)", 1), ("return a", 1)];
        assert_eq!(shown, expected);
    }

    #[test]
    fn lines_inside_a_text_begin_nothing() {
        let text = "function f() {\n  const a = `one\n  two`;\n  return a;\n}\n";
        let found = stretches("a.js", text, 0..text.len() - 1, 4);
        let titles: Vec<&str> = found.iter().map(|one| one.title.as_str()).collect();
        assert_eq!(titles, ["function f() {", "const a = `one", "return a;"]);
    }
}
