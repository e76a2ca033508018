//! Finds the simple commands of a command line with the Bash grammar of tree-sitter.

use tree_sitter::{Node, Parser};

/// One simple command: its words, and the files that it redirects into.
#[derive(Debug, Default, PartialEq)]
pub struct Simple {
    /// Assignments, the program and its arguments, without quotes. A word that is only known at run time stands as it is written.
    pub words: Vec<String>,
    pub writes: Vec<String>,
    /// A variable, a pattern or another command makes up the program, so that it is not known before the run.
    pub unknown_program: bool,
    /// The output of another command is part of a word.
    pub substitutes: bool,
}

/// Simple commands of a line in order, those inside substitutions, groups, loops, functions and here-documents as well. `None` if
/// the line is no correct Bash.
pub fn split(line: &str) -> Option<Vec<Simple>> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    let tree = parser.parse(line, None).filter(|tree| !tree.root_node().has_error())?;
    let mut all = Vec::new();
    collect(tree.root_node(), line, &mut all);
    Some(all)
}

fn collect(node: Node<'_>, line: &str, all: &mut Vec<Simple>) {
    match node.kind() {
        "command" | "declaration_command" | "unset_command" => all.push(simple(node, line)),
        "test_command" => all.push(Simple { words: words_of(text(node, line)), ..Simple::default() }),
        "variable_assignment" if !is_part_of_command(node) => {
            all.push(Simple { words: vec![text(node, line).to_owned()], ..Simple::default() });
        }
        _ => {}
    }
    let mut cursor = node.walk();
    for child in node.children(&mut cursor) {
        collect(child, line, all);
    }
    if let Some(file) = written(node, line) {
        // A redirection behind a group or a loop is written after its last command.
        match all.last_mut() {
            Some(last) => last.writes.push(file),
            None => all.push(Simple { writes: vec![file], ..Simple::default() }),
        }
    }
}

fn is_part_of_command(node: Node<'_>) -> bool {
    node.parent().is_some_and(|parent| matches!(parent.kind(), "command" | "declaration_command"))
}

fn simple(node: Node<'_>, line: &str) -> Simple {
    let mut one = Simple::default();
    let mut cursor = node.walk();
    for child in node.children(&mut cursor) {
        match child.kind() {
            "file_redirect" | "herestring_redirect" | "heredoc_redirect" => continue,
            "command_name" => {
                let inner = child.named_child(0).unwrap_or(child);
                let known = literal(inner, line).filter(|name| !name.contains(['*', '?', '[', '{']));
                one.unknown_program = known.is_none();
                one.words.push(known.unwrap_or_else(|| text(child, line).to_owned()));
            }
            _ => one.words.push(literal(child, line).unwrap_or_else(|| text(child, line).to_owned())),
        }
        one.substitutes |= has_substitution(child);
    }
    one
}

/// The file that a redirection writes into; `None` for one that reads or that names a stream, like `2>&1`.
fn written(node: Node<'_>, line: &str) -> Option<String> {
    if node.kind() != "file_redirect" {
        return None;
    }
    let mut cursor = node.walk();
    let writes = node.children(&mut cursor).any(|child| child.kind().contains('>'));
    let destination = node.child_by_field_name("destination")?;
    let file = literal(destination, line).unwrap_or_else(|| text(destination, line).to_owned());
    let is_stream = text(node, line).contains(">&") && (file == "-" || file.bytes().all(|b| b.is_ascii_digit()));
    (writes && !is_stream).then_some(file)
}

/// What the shell makes of a word; `None` if that is known only at run time.
fn literal(node: Node<'_>, line: &str) -> Option<String> {
    let source = text(node, line);
    match node.kind() {
        "raw_string" => Some(source.trim_matches('\'').to_owned()),
        "string" => {
            let inner = source.strip_prefix('"')?.strip_suffix('"')?;
            (!inner.contains(['$', '`'])).then(|| without_backslashes(inner))
        }
        "concatenation" => {
            let mut cursor = node.walk();
            node.children(&mut cursor).map(|part| literal(part, line)).collect()
        }
        "word" | "number" | "variable_assignment" | "variable_name" | "special_variable_name" => {
            (!source.contains(['$', '`'])).then(|| without_backslashes(source))
        }
        _ if node.child_count() == 0 && !source.contains(['$', '`']) => Some(source.to_owned()),
        _ => None,
    }
}

fn without_backslashes(text: &str) -> String {
    let mut chars = text.chars();
    let mut plain = String::with_capacity(text.len());
    while let Some(c) = chars.next() {
        match c {
            '\\' => plain.extend(chars.next().filter(|next| *next != '\n')),
            other => plain.push(other),
        }
    }
    plain
}

fn has_substitution(node: Node<'_>) -> bool {
    let mut cursor = node.walk();
    matches!(node.kind(), "command_substitution" | "process_substitution")
        || node.children(&mut cursor).any(has_substitution)
}

fn words_of(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn text<'a>(node: Node<'_>, line: &'a str) -> &'a str {
    &line[node.byte_range()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &str) {
        let all = split(line).map(|all| {
            let shown = all.into_iter().map(|one| format!("{}>{}", one.words.join(" "), one.writes.join(" ")));
            shown.collect::<Vec<_>>().join("|")
        });
        assert_eq!(all.as_deref().unwrap_or("unreadable"), expected, "{line}");
    }

    #[test]
    fn lines_are_split_as_a_shell_does() {
        check("a 'b c' \"d\" e\\ f", "a b c d e f>");
        check("a; b && c || d | e", "a>|b>|c>|d>|e>");
        check("a 2>&1 >out 2>>err", "a>out err");
        check("echo \"$(rm x)\"", "echo \"$(rm x)\">|rm x>");
        check("a # b", "a>");
        check("A=1 b c", "A=1 b c>");
        check("a 'b", "unreadable");
        check("for f in *; do rm \"$f\"; done > log", "rm \"$f\">log");
        check("cat <<EOF\n$(rm x)\nEOF", "cat>|rm x>");
        check("diff <(a) <(b)", "diff <(a) <(b)>|a>|b>");
        check("f() { rm x; }; f", "rm x>|f>");
        check("r'm' x", "rm x>");
    }

    #[test]
    fn a_program_that_is_computed_is_unknown() {
        for line in ["$A b", "$(a) b", "`a` b", "a* b", "\"$A\" b", "a$B c"] {
            assert!(split(line).is_some_and(|all| all[0].unknown_program), "{line}: {:?}", split(line));
        }
    }
}
