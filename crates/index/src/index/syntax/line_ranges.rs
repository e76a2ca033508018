//! Divides a definition into ranges of complete lines, so that some can be rewritten without the rest.

use std::ops::Range;

use super::syntax_nodes;

/// A range of complete lines in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineRange {
    /// Its bytes, without the last line break.
    pub bytes: Range<usize>,
    /// Its first line, without surrounding white space.
    pub title: String,
    /// White space before its first line.
    pub indent: String,
}

/// For each line of `within` on which a syntax node other than a comment begins: the largest such
/// node of at most `longest` lines, or else the line alone. Ranges may nest. Empty for a language
/// without a grammar.
pub fn stretches(path: &str, text: &str, within: Range<usize>, longest: usize) -> Vec<LineRange> {
    let nodes = syntax_nodes(path, text, &within);
    let mut found = Vec::new();
    let mut start = text[..within.start].rfind('\n').map_or(0, |at| at + 1);
    while start < within.end {
        let line = text[start..].lines().next().unwrap_or_default();
        let indent = line.len() - line.trim_start().len();
        // Outer nodes come first.
        let mut begun = nodes.iter().map(|node| &node.bytes).filter(|bytes| bytes.start == start + indent).peekable();
        if line.contains(char::is_alphanumeric) && begun.peek().is_some() {
            let fits = |bytes: &&Range<usize>| **bytes != within && text[(*bytes).clone()].lines().count() <= longest;
            let end = begun.find(fits).map_or(start + line.len(), |bytes| line_end(text, bytes.end));
            let (title, indent) = (line.trim().to_owned(), line[..indent].to_owned());
            found.push(LineRange { bytes: start..end, title, indent });
        }
        start = line_end(text, start) + 1;
    }
    found
}

fn line_end(text: &str, at: usize) -> usize {
    let end = text[at..].find('\n').map_or(text.len(), |line| at + line);
    if text[at..end].ends_with('\r') { end - 1 } else { end }
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
