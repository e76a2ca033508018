//! Finds the byte ranges of the comments of one text.

use std::ops::Range;

use tree_sitter::Tree;

use super::{grammar_of, language_of, outline, tree_of};

/// The comments of `source`, in the language of `path`, without their line ends. `None` where that has no grammar. An error says
/// which part of the text has a syntax error, because ranges after it are not reliable.
pub fn comments(path: &str, source: &str) -> Option<Result<Vec<Range<usize>>, String>> {
    let language = language_of(path);
    grammar_of(language)?;
    Some(match (outline(language, source).incomplete, tree_of(language, source)) {
        (Some(reason), _) => Err(reason),
        (None, None) => Err("syntax was not read in time".to_owned()),
        (None, Some(tree)) => comments_of(&tree, source),
    })
}

fn comments_of(tree: &Tree, source: &str) -> Result<Vec<Range<usize>>, String> {
    let mut found = Vec::new();
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if node.is_error() || node.is_missing() {
            return Err(format!("line {} is not understood", node.start_position().row + 1));
        }
        let is_comment = node.kind().ends_with("comment");
        if is_comment {
            let (from, text) = (node.start_byte(), source.get(node.byte_range()).unwrap_or_default());
            found.push(from..from + text.trim_end().len());
        }
        if !is_comment && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return Ok(found);
            }
        }
    }
}
