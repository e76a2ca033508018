//! Finds the byte ranges of the definitions and comments of one text.

use std::ops::Range;

use tree_sitter::Tree;

use super::{Definition, grammar_of, language_of, outline, tree_of};

/// The definitions and comments of a text.
#[derive(Clone, Debug)]
pub struct Spans {
    pub definitions: Vec<Definition>,
    /// Byte range of each comment, without the line end.
    pub comments: Vec<Range<usize>>,
}

/// The definitions and comments of `source`, in the language of `path`. `None` where that has no grammar. An error says which
/// part of the text has a syntax error, because ranges after it are not reliable.
pub fn spans(path: &str, source: &str) -> Option<Result<Spans, String>> {
    let language = language_of(path);
    grammar_of(language)?;
    let outline = outline(language, source);
    let comments = match (outline.incomplete, tree_of(language, source)) {
        (Some(reason), _) => Err(reason),
        (None, None) => Err("syntax was not read in time".to_owned()),
        (None, Some(tree)) => comments(&tree, source),
    };
    Some(comments.map(|comments| Spans { definitions: outline.definitions, comments }))
}

fn comments(tree: &Tree, source: &str) -> Result<Vec<Range<usize>>, String> {
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
