//! Changes one syntax node at a time: literals, operators, names, lists, arguments, calls,
//! conditions, statements.

use std::ops::Range;

use crate::edit::text::own_lines;
use crate::index::{SyntaxNode, is_string};

use super::{ARGUMENTS, CALLS, Mutant, NAMES, RepairHints};

/// Maximum number of other names in the definition that are tried in place of one name.
const NAMES_MAX: usize = 3;
/// Maximum length, in lines, of a statement that is removed.
const STATEMENT_LINES_MAX: usize = 1;

/// Operators, each with those that it may be confused with.
const OPERATORS: &[(&str, &[&str])] = &[
    ("==", &["!="]),
    ("!=", &["=="]),
    ("===", &["!=="]),
    ("!==", &["==="]),
    ("<", &["<=", ">"]),
    ("<=", &["<", "===", "==", ">="]),
    (">", &[">=", "<"]),
    (">=", &[">", "===", "==", "<="]),
    ("+", &["-"]),
    ("-", &["+"]),
    ("*", &["/"]),
    ("/", &["*"]),
    ("//", &["/"]),
    ("&&", &["||"]),
    ("||", &["&&"]),
    ("and", &["or"]),
    ("or", &["and"]),
    ("in", &["not in"]),
    ("not in", &["in"]),
    ("is", &["is not"]),
    ("is not", &["is"]),
    ("+=", &["-="]),
    ("-=", &["+="]),
    ("..", &["..="]),
    ("..=", &[".."]),
];
const NUMBERS: &[&str] = &["integer", "number", "integer_literal", "int_literal"];
/// Kinds of syntax nodes that are lists of values.
const LISTS: &[&str] = &["list", "tuple", "set", "array", "array_expression", "literal_value"];

/// Collects the mutants of one definition.
pub(super) struct Generator<'a> {
    pub text: &'a str,
    pub is_python: bool,
    pub nodes: &'a [SyntaxNode],
    pub hints: &'a RepairHints,
    /// Top-level values in the file, each with its rank and name.
    pub values: Vec<(usize, String)>,
    pub found: Vec<Mutant>,
}

impl<'a> Generator<'a> {
    fn text_of(&self, at: usize) -> &'a str {
        &self.text[self.nodes[at].bytes.clone()]
    }

    fn kind(&self, at: usize) -> &'a str {
        &self.nodes[at].kind
    }

    fn parent_kind(&self, at: usize) -> &'a str {
        self.nodes[at].parent.map_or("", |parent| self.kind(parent))
    }

    fn children(&self, of: usize) -> Vec<usize> {
        let behind = (of + 1..self.nodes.len()).take_while(|at| self.nodes[*at].bytes.start < self.nodes[of].bytes.end);
        behind.filter(|at| self.nodes[*at].parent == Some(of) && self.nodes[*at].is_named).collect()
    }

    fn add(&mut self, rank: usize, bytes: Range<usize>, new: impl Into<String>) {
        self.found.push(Mutant { bytes, new: new.into(), rank });
    }

    /// Whether a node is a string that is a separate statement, such as a docstring.
    pub fn is_documentation(&self, at: usize) -> bool {
        is_string(self.kind(at)) && self.parent_kind(at) == "expression_statement"
    }

    pub fn mutate_node(&mut self, at: usize) {
        let (kind, bytes) = (self.kind(at), self.nodes[at].bytes.clone());
        if !self.nodes[at].is_named {
            self.operators(at);
        } else if NUMBERS.contains(&kind) {
            self.number(at);
        } else if is_string(kind) {
            for new in self.hints.instead_of(self.text_of(at)) {
                self.add(0, bytes.clone(), new);
            }
        } else if NAMES.contains(&kind) {
            self.name(at);
        } else if LISTS.contains(&kind) {
            self.list(at);
        } else if ARGUMENTS.contains(&kind) {
            self.swap(at);
        } else if matches!(kind, "not_operator" | "unary_expression") {
            let inner = self.children(at).last().map(|inner| self.text_of(*inner));
            if let Some(inner) = inner.filter(|_| self.text_of(at).starts_with(['n', '!'])) {
                self.add(2, bytes, inner);
            }
        } else if matches!(kind, "true" | "false" | "boolean_literal") {
            let new = match self.text_of(at) {
                "true" => "false",
                "false" => "true",
                "True" => "False",
                _ => "True",
            };
            self.add(2, bytes, new);
        } else if kind.ends_with("_statement") {
            self.statement(at);
        }
        if matches!(
            kind,
            "if_statement" | "elif_clause" | "if_expression" | "ternary_expression" | "conditional_expression"
        ) {
            self.negate_condition(at);
        }
    }

    /// Negates a condition that is not a comparison: `if found` becomes `if !found`.
    fn negate_condition(&mut self, at: usize) {
        let is_behind = self.kind(at) == "conditional_expression";
        let Some(mut condition) = self.children(at).get(usize::from(is_behind)).copied() else { return };
        if self.kind(condition) == "parenthesized_expression" {
            let Some(inner) = self.children(condition).first().copied() else { return };
            condition = inner;
        }
        let text = self.text_of(condition);
        let members = ["attribute", "member_expression", "field_expression", "selector_expression"];
        if self.kind(condition) == "identifier"
            || members.contains(&self.kind(condition))
            || CALLS.contains(&self.kind(condition))
        {
            let not = if self.is_python { "not " } else { "!" };
            self.add(2, self.nodes[condition].bytes.clone(), format!("{not}{text}"));
        }
    }

    fn operators(&mut self, at: usize) {
        let operations = ["binary", "comparison", "boolean", "assignment", "range"];
        if !operations.iter().any(|part| self.parent_kind(at).contains(part)) {
            return;
        }
        let text = self.text_of(at);
        if let Some((_, others)) = OPERATORS.iter().find(|(operator, _)| *operator == text) {
            for other in *others {
                self.add(2, self.nodes[at].bytes.clone(), *other);
            }
        }
    }

    /// Replaces a number by the numbers in the hints, and by its neighbours.
    fn number(&mut self, at: usize) {
        let (text, bytes) = (self.text_of(at), self.nodes[at].bytes.clone());
        let hints = self.hints;
        for number in &hints.numbers {
            self.add(2, bytes.clone(), number.as_str());
        }
        if let Ok(number) = text.parse::<i64>() {
            self.add(2, bytes.clone(), (number + 1).to_string());
            if number > 0 {
                self.add(2, bytes, (number - 1).to_string());
            }
        }
    }

    /// Replaces a name by another name in the same role. A call of `f` is also changed to `x.f` if
    /// that is used elsewhere.
    fn name(&mut self, at: usize) {
        let (text, bytes) = (self.text_of(at), self.nodes[at].bytes.clone());
        let role = |at: usize| {
            let before = self.text[..self.nodes[at].bytes.start].trim_end().ends_with('.');
            let after = self.text[self.nodes[at].bytes.end..].starts_with('(');
            (before, after)
        };
        if role(at) == (false, true) {
            let member = |other: &usize| self.text_of(*other) == text && role(*other).0;
            let owner = (0..self.nodes.len()).filter(|other| NAMES.contains(&self.kind(*other))).find(member);
            let whole = owner.and_then(|owner| self.nodes[owner].parent).map(|whole| self.text_of(whole));
            if let Some(whole) = whole.filter(|whole| whole.ends_with(text) && !whole.contains(['(', '\n'])) {
                self.add(1, bytes.clone(), whole);
            }
        }
        if self.is_introduced(at) {
            return;
        }
        let mut others: Vec<&str> = Vec::new();
        // Nearest first.
        let mut near: Vec<usize> = (0..self.nodes.len()).filter(|other| NAMES.contains(&self.kind(*other))).collect();
        near.sort_by_key(|other| self.nodes[*other].bytes.start.abs_diff(bytes.start));
        for other in near {
            let name = self.text_of(other);
            if name != text && role(other) == role(at) && !others.contains(&name) {
                others.push(name);
            }
        }
        others.truncate(NAMES_MAX);
        let is_plain = role(at) == (false, false);
        let of_file =
            self.values.iter().filter(|(_, value)| is_plain && value != text && !others.contains(&value.as_str()));
        let of_file: Vec<(usize, String)> = of_file.cloned().collect();
        let others = others.into_iter().map(|other| (5, other.to_owned()));
        for (rank, other) in others.chain(of_file).collect::<Vec<_>>() {
            self.add(rank, bytes.clone(), other);
        }
    }

    fn is_introduced(&self, at: usize) -> bool {
        let kind = self.parent_kind(at);
        kind.contains("parameter")
            || kind.contains("declarator")
            || kind.ends_with("_definition")
            || kind.ends_with("_item")
            || kind.ends_with("declaration")
    }

    /// Adds an element from the hints to a list, or removes an element.
    fn list(&mut self, at: usize) {
        let elements = self.children(at);
        let Some(&last) = elements.last() else { return };
        let end = self.nodes[last].bytes.end;
        for new in self.hints.more_like(self.text_of(last)) {
            if elements.iter().all(|element| self.text_of(*element) != new) {
                self.add(0, end..end, format!(", {new}"));
            }
        }
        for (place, &element) in elements.iter().enumerate().filter(|_| elements.len() > 1) {
            let bytes = match elements.get(place + 1) {
                Some(&next) => self.nodes[element].bytes.start..self.nodes[next].bytes.start,
                None => self.nodes[elements[place - 1]].bytes.end..self.nodes[element].bytes.end,
            };
            self.add(3, bytes, "");
        }
    }

    fn swap(&mut self, at: usize) {
        for pair in self.children(at).windows(2) {
            let (first, second) = (self.nodes[pair[0]].bytes.clone(), self.nodes[pair[1]].bytes.clone());
            let between = &self.text[first.end..second.start];
            let new = format!("{}{between}{}", &self.text[second.clone()], &self.text[first.clone()]);
            self.add(2, first.start..second.end, new);
        }
    }

    fn statement(&mut self, at: usize) {
        if let Some(lines) = own_lines(self.text, &self.nodes[at].bytes)
            && self.text_of(at).lines().count() <= STATEMENT_LINES_MAX
        {
            self.add(3, lines, "");
        }
    }
}
