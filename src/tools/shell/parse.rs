//! Parses a command line into its simple commands with the grammar of tree-sitter-bash.

mod texts;

use tree_sitter::{Node, Parser};

use super::word::Word;
use texts::{ansi_c, bare, quoted};

/// Maximum length, in bytes, and nesting depth of a line; beyond these it counts as not understood.
const LINE_MAX_BYTES: usize = 16 << 10;
const DEPTH_MAX: usize = 80;

/// All simple commands of a line, including those in substitutions, functions, conditions and
/// pipes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    pub commands: Vec<Command>,
    /// The names of the functions that it defines.
    pub functions: Vec<String>,
    /// False if a part of it is not shell syntax, or if another shell would parse it differently.
    pub understood: bool,
}

/// One simple command.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Command {
    /// The program and its arguments; empty if there are only assignments or redirections.
    pub words: Vec<Word>,
    /// `NAME=value` before the program.
    pub assigned: Vec<(String, Word)>,
    /// Files that its output is redirected to.
    pub writes: Vec<Word>,
    /// Files that its input is redirected from.
    pub reads: Vec<Word>,
    /// Whether its standard input is a pipe, a file or a text in the line.
    pub fed: bool,
}

pub fn parse(text: &str) -> Line {
    let mut line = parse_as_is(text);
    // A backslash at the end of a line joins words and lines, except in comments; both readings are
    // added.
    if text.contains("\\\n") {
        let joined = parse_as_is(&text.replace("\\\n", ""));
        line.commands.extend(joined.commands);
        line.functions.extend(joined.functions);
        line.understood &= joined.understood;
    }
    line
}

fn parse_as_is(text: &str) -> Line {
    let mut parser = Parser::new();
    let ready = parser.set_language(&tree_sitter_bash::LANGUAGE.into()).is_ok();
    // Shells work on bytes and treat all non-ASCII bytes as parts of words. The grammar's scanner
    // would look up such characters beyond the end of a table, so each byte is replaced with
    // another word character.
    let bytes: Vec<u8> = text.bytes().map(|byte| if byte.is_ascii() { byte } else { b'%' }).collect();
    let tree = if ready && text.len() <= LINE_MAX_BYTES { parser.parse(&bytes, None) } else { None };
    let Some(tree) = tree else { return Line::default() };
    let understood = !tree.root_node().has_error();
    let mut reader = Reader { text, line: Line { understood, ..Line::default() } };
    reader.visit(tree.root_node(), false, 0);
    reader.line
}

struct Reader<'t> {
    text: &'t str,
    line: Line,
}

fn children<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    (0..node.child_count()).filter_map(|at| node.child(at)).collect()
}

impl<'t> Reader<'t> {
    fn of(&self, node: Node<'t>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    fn doubt(&mut self) {
        self.line.understood = false;
    }

    /// Adds the commands in `node`. `fed`: whether their standard input comes from something before
    /// them.
    fn visit(&mut self, node: Node<'t>, fed: bool, depth: usize) {
        if depth > DEPTH_MAX {
            return self.doubt();
        }
        let text = self.of(node);
        match node.kind() {
            "command" => return self.command(children(node), fed, depth),
            "redirected_statement" => return self.redirected(node, fed, depth),
            "declaration_command" => return self.declaration(node, depth),
            "variable_assignment" => self.assigned(self.assignment(node)),
            "pipeline" => {
                for (at, child) in children(node).into_iter().enumerate() {
                    self.visit(child, fed || at > 0, depth + 1);
                }
                return;
            }
            "function_definition" => {
                let name = node.child_by_field_name("name").map_or("", |name| self.of(name));
                self.line.functions.push(name.to_owned());
            }
            "for_statement" => {
                let name = node.child_by_field_name("variable").map_or("", |name| self.of(name)).to_owned();
                self.assigned((name, Word::open()));
            }
            // Simpler shells parse these as commands.
            "test_command" if text.starts_with("[[") && text.contains(['<', '>', '|', '&', ';']) => self.doubt(),
            "compound_statement" if text.starts_with("((") => self.doubt(),
            "heredoc_body" if text.contains('`') => self.doubt(),
            // The grammar does not parse commands in these texts.
            "word" | "regex" | "extglob_pattern" if node.child_count() == 0 => {
                let bare = text.replace("\\`", "").replace("\\$", "");
                if bare.contains('`') || bare.contains("$(") {
                    self.doubt();
                }
            }
            "comment" => return,
            _ => {}
        }
        children(node).into_iter().for_each(|child| self.visit(child, fed, depth + 1));
    }

    fn redirected(&mut self, node: Node<'t>, fed: bool, depth: usize) {
        let Some(body) = node.child_by_field_name("body") else {
            return self.command(children(node), fed, depth);
        };
        let redirects: Vec<Node<'t>> = children(node).into_iter().filter(|child| child.id() != body.id()).collect();
        if body.kind() == "command" {
            return self.command(children(body).into_iter().chain(redirects), fed, depth);
        }
        let fed_here = redirects.iter().any(|one| self.feeds(*one));
        let before = self.line.commands.len();
        self.command(redirects, fed, depth);
        // Words after the redirection of a block do not belong to any command.
        if self.line.commands.get(before).is_some_and(|one| !one.words.is_empty()) {
            self.doubt();
        }
        self.visit(body, fed || fed_here, depth + 1);
    }

    fn feeds(&self, redirect: Node<'t>) -> bool {
        redirect.kind() != "file_redirect" || children(redirect).iter().any(|child| child.kind().starts_with('<'))
    }

    /// Adds a command that consists only of an assignment.
    fn assigned(&mut self, assignment: (String, Word)) {
        self.line.commands.push(Command { assigned: vec![assignment], ..Command::default() });
    }

    fn command(&mut self, parts: impl IntoIterator<Item = Node<'t>>, fed: bool, depth: usize) {
        let mut command = Command { fed, ..Command::default() };
        for part in parts {
            match part.kind() {
                "variable_assignment" => command.assigned.push(self.assignment(part)),
                "command_name" => command.words.push(self.word(part, depth)),
                "file_redirect" => self.redirect(part, &mut command, depth),
                "herestring_redirect" => command.fed = true,
                "heredoc_redirect" => {
                    command.fed = true;
                    for child in children(part) {
                        match child.kind() {
                            "file_redirect" => self.redirect(child, &mut command, depth),
                            "word" | "string" | "raw_string" | "concatenation" | "number" | "simple_expansion" => {
                                command.words.push(self.word(child, depth));
                            }
                            // The body of a here-document with a quoted mark is plain text.
                            "heredoc_body" if self.is_quoted(part) => {}
                            _ => self.visit(child, true, depth + 1),
                        }
                    }
                    continue;
                }
                "comment" => continue,
                _ => command.words.push(self.word(part, depth)),
            }
            match part.kind() {
                "variable_assignment" => children(part).into_iter().for_each(|one| self.visit(one, false, depth + 1)),
                _ => self.visit(part, false, depth + 1),
            }
        }
        self.line.commands.push(command);
    }

    fn is_quoted(&self, heredoc: Node<'t>) -> bool {
        let start = children(heredoc).into_iter().find(|child| child.kind() == "heredoc_start");
        start.is_some_and(|start| self.of(start).contains(['\'', '"', '\\']))
    }

    fn redirect(&mut self, node: Node<'t>, command: &mut Command, depth: usize) {
        let (mut operator, mut named) = ("", false);
        for child in children(node) {
            match child.kind() {
                "file_descriptor" => {}
                kind if !child.is_named() => operator = kind,
                // Words after the file are additional arguments.
                _ if named => command.words.push(self.word(child, depth)),
                _ => {
                    named = true;
                    let word = self.word(child, depth);
                    let stream = word.known().is_some_and(|text| text.bytes().all(|b| b.is_ascii_digit() || b == b'-'));
                    match operator {
                        _ if operator.ends_with('&') && stream => {}
                        _ if operator.starts_with('<') => {
                            command.fed = true;
                            command.reads.push(word);
                        }
                        _ => command.writes.push(word),
                    }
                }
            }
        }
    }

    /// `export A=b` is both a command and an assignment.
    fn declaration(&mut self, node: Node<'t>, depth: usize) {
        let mut command = Command::default();
        for child in children(node) {
            if child.kind() == "variable_assignment" {
                command.assigned.push(self.assignment(child));
            } else {
                command.words.push(self.word(child, depth));
            }
            children(child).into_iter().for_each(|child| self.visit(child, false, depth + 1));
        }
        self.line.commands.push(command);
    }

    fn assignment(&self, node: Node<'t>) -> (String, Word) {
        let name = node.child_by_field_name("name").map_or("", |name| self.of(name)).to_owned();
        let value = node.child_by_field_name("value");
        let value = value.map_or_else(Word::default, |value| self.word(value, 0));
        (name, value)
    }

    fn word(&self, node: Node<'t>, depth: usize) -> Word {
        let mut word = Word::default();
        let mut torn = depth > DEPTH_MAX;
        self.piece(node, &mut word, &mut torn, depth);
        if torn { Word::open() } else { word }
    }

    /// Adds `node` to a word. `torn` is set if spaces in unknown text may split the word.
    fn piece(&self, node: Node<'t>, word: &mut Word, torn: &mut bool, depth: usize) {
        let text = self.of(node);
        match node.kind() {
            "command_name" | "concatenation" => {
                let parts = children(node);
                let (mut at, mut braces) = (node.start_byte(), 0);
                for part in parts.iter().copied().filter(|_| depth <= DEPTH_MAX) {
                    word.push(self.text.get(at..part.start_byte()).unwrap_or_default());
                    at = part.end_byte();
                    braces += usize::from(part.kind() == "word" && self.of(part).contains(['{', ',']));
                    self.piece(part, word, torn, depth + 1);
                }
                let bare = parts.iter().filter(|part| part.kind() == "word").map(|part| self.of(*part));
                let bare: String = bare.collect();
                *torn |= braces > 0 && bare.contains('{') && (bare.contains(',') || bare.contains(".."));
            }
            "word" => bare(text, word, torn),
            "number" => word.push(text),
            "raw_string" => word.push(text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')).unwrap_or(text)),
            "ansi_c_string" => match ansi_c(text) {
                Some(text) => word.push(&text),
                None => word.push_open(),
            },
            "string" | "translated_string" if node.child_count() > 0 && depth <= DEPTH_MAX => {
                let mut at = node.start_byte();
                for part in children(node) {
                    word.push(self.text.get(at..part.start_byte()).unwrap_or_default());
                    at = part.end_byte();
                    match part.kind() {
                        "\"" | "$\"" => {}
                        "string_content" => quoted(self.of(part), word),
                        "string" => self.piece(part, word, torn, depth + 1),
                        _ if ["$HOME", "${HOME}"].contains(&self.of(part)) => word.push("~"),
                        _ => {
                            // `"$@"` and `"${list[@]}"` become several words.
                            *torn |= part.kind().ends_with("expansion") && self.of(part).contains('@');
                            word.push_open();
                        }
                    }
                }
            }
            "simple_expansion" | "expansion" if ["$HOME", "${HOME}"].contains(&text) => word.push("~"),
            "arithmetic_expansion" => word.push_open(),
            "process_substitution" => {
                word.push("/dev/fd/");
                word.push_open();
            }
            _ if !node.is_named() => word.push(text),
            _ => *torn = true,
        }
    }
}

#[cfg(test)]
mod tests;
