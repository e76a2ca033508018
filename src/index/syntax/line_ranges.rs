//! Divides a definition into ranges of whole lines, so that some of them can be rewritten without the rest.

use std::ops::Range;

use tree_sitter::Node;

use super::{language_of, tree_of};

/// A range of whole lines of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineRange {
    /// Its bytes, without the last line break.
    pub bytes: Range<usize>,
    /// Its first line, without white space around it.
    pub title: String,
    /// White space before its first line.
    pub indent: String,
}

/// For each line of `within` on which a syntax node other than a comment begins: the largest such node of at most `longest`
/// lines, else the line alone. Ranges may nest. Empty where the language has no grammar.
pub fn stretches(path: &str, text: &str, within: Range<usize>, longest: usize) -> Vec<LineRange> {
    let Some(tree) = tree_of(language_of(path), text) else { return Vec::new() };
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
            found.push(LineRange {
                bytes: start..end,
                title: line.trim().to_owned(),
                indent: line[..indent].to_owned(),
            });
        }
        start = line_end(text, start) + 1;
    }
    found
}

fn line_end(text: &str, at: usize) -> usize {
    let end = text[at..].find('\n').map_or(text.len(), |line| at + line);
    if text[at..end].ends_with('\r') { end - 1 } else { end }
}

/// The largest node that begins at byte `at` and has at most `longest` lines. `None` if none begins there or it is a comment,
/// `Some(None)` if all are too long.
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
    fn each_line_gives_the_largest_syntax_that_begins_on_it() {
        let text = "def f(a):\n    # why\n    for x in a:\n        if x:\n            g(\n                x,\n            )\n        h(x)\n    return a\n";
        let found = stretches("a.py", text, 0..text.len() - 1, 4);
        let shown: Vec<(&str, usize)> =
            found.iter().map(|one| (one.title.as_str(), text[one.bytes.clone()].lines().count())).collect();
        let expected =
            [("def f(a):", 1), ("for x in a:", 1), ("if x:", 4), ("g(", 3), ("x,", 1), ("h(x)", 1), ("return a", 1)];
        assert_eq!(shown, expected);
    }

    #[test]
    fn lines_inside_a_string_begin_nothing() {
        let text = "function f() {\n  const a = `one\n  two`;\n  return a;\n}\n";
        let found = stretches("a.js", text, 0..text.len() - 1, 4);
        let titles: Vec<&str> = found.iter().map(|one| one.title.as_str()).collect();
        assert_eq!(titles, ["function f() {", "const a = `one", "return a;"]);
    }
}
