//! Lists the syntax nodes in a range of text, for small syntactic changes, and the comments in a text.

use std::ops::Range;

use super::{children, content, descend, language_of, tree_of};

/// Node kinds of code inside a string.
const INSERTS: &[&str] = &["interpolation", "template_substitution"];

/// A node of the syntax tree; its kind is the one in tree-sitter's grammar for the language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxNode {
    pub kind: String,
    pub bytes: Range<usize>,
    /// Position of its parent in the list, always before its own; `None` if the parent extends
    /// beyond the range.
    pub parent: Option<usize>,
    /// False for punctuation and keywords.
    pub is_named: bool,
}

/// The nodes within a range of `text`, parents before children; empty if the language of `path` has
/// no grammar. Comments, and nodes inside plain strings, are omitted.
pub fn syntax_nodes(path: &str, text: &str, within: &Range<usize>) -> Vec<SyntaxNode> {
    let Some(tree) = tree_of(language_of(path), text) else { return Vec::new() };
    let mut found: Vec<SyntaxNode> = Vec::new();
    let mut open: Vec<Option<usize>> = Vec::new();
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        let bytes = node.byte_range();
        let touches = bytes.start < within.end && within.start < bytes.end;
        let is_comment = node.kind().ends_with("comment");
        let mut place = None;
        if touches && !is_comment && within.start <= bytes.start && bytes.end <= within.end {
            place = Some(found.len());
            let parent = open.last().copied().flatten();
            found.push(SyntaxNode { kind: node.kind().to_owned(), bytes, parent, is_named: node.is_named() });
        }
        let has_code = children(node).any(|inner| INSERTS.contains(&inner.kind()));
        let is_whole = is_comment || node.is_named() && is_string(node.kind()) && !has_code;
        if touches && !is_whole && cursor.goto_first_child() {
            open.push(place);
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return found;
            }
            open.pop();
        }
    }
}

/// Whether nodes of this kind are string or character literals.
pub fn is_string(kind: &str) -> bool {
    matches!(kind, "string" | "template_string" | "char_literal" | "rune_literal") || kind.ends_with("string_literal")
}

/// The comments of `text`, in the language of `path`, without their line breaks. Empty if the
/// language has no grammar, or if the text has a syntax error, because ranges after it are
/// unreliable.
pub fn comments(path: &str, text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let tree = tree_of(language_of(path), text).filter(|tree| !tree.root_node().has_error());
    let Some(tree) = tree else { return found };
    descend(tree.root_node(), |node| {
        let is_comment = node.kind().ends_with("comment");
        if is_comment {
            found.push(node.start_byte()..node.start_byte() + content(node, text).trim_end().len());
        }
        !is_comment
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_of_a_range_come_parents_first_and_without_comments() {
        let text = "import os\n\ndef f(a):\n    # 1\n    return g(a, 'x y') + 2\n";
        let within = text.find("def").unwrap()..text.len();
        let nodes = syntax_nodes("a.py", text, &within);
        let leaves = |kind: &str| -> Vec<&str> {
            nodes.iter().filter(|node| node.kind == kind).map(|node| &text[node.bytes.clone()]).collect()
        };
        assert_eq!(leaves("string"), ["'x y'"]);
        assert_eq!(leaves("integer"), ["2"]);
        assert_eq!(leaves("argument_list"), ["(a, 'x y')"]);
        assert!(nodes.iter().enumerate().all(|(at, node)| node.parent.is_none_or(|parent| parent < at)));
        assert!(nodes.iter().all(|node| node.bytes.start >= within.start));
    }
}
