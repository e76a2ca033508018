//! Divides a function head into its parameters, with annotations and defaults, and its return type.

use std::ops::Range;

use tree_sitter::Node;

use crate::index::syntax::{children, content};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signature {
    pub parameters: Vec<Parameter>,
    /// Bytes of the return type, including the token before it: ` -> int`, `: string`.
    pub returns: Option<Range<usize>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Without `*`, `...`, `&` and `mut`; empty for a pattern, a marker like `/` or a bare type.
    pub name: String,
    /// Bytes of the type, including the colon if there is one.
    pub annotation: Option<Range<usize>>,
    /// Bytes of the value, without the equals sign.
    pub default: Option<Range<usize>>,
}

/// The signature of a function node; the field names are those of all languages with functions.
pub(super) fn signature(node: Node, text: &str) -> Signature {
    if let Some(alone) = node.child_by_field_name("parameter") {
        return Signature { parameters: parameters(alone, text), returns: None };
    }
    let Some(list) = node.child_by_field_name("parameters") else { return Signature::default() };
    let all = children(list).filter(|child| !child.kind().ends_with("comment"));
    let returns = node.child_by_field_name("return_type").or_else(|| node.child_by_field_name("result"));
    Signature {
        parameters: all.flat_map(|child| parameters(child, text)).collect(),
        returns: returns.map(|ty| list.end_byte()..ty.end_byte()),
    }
}

/// The parameters in one node of the list; Go's `a, b int` is two.
fn parameters(node: Node, text: &str) -> Vec<Parameter> {
    let field = |names: [&str; 2]| names.into_iter().find_map(|name| node.child_by_field_name(name));
    let (ty, default) = (node.child_by_field_name("type"), field(["value", "right"]));
    let mut patterns: Vec<Node> = node.children_by_field_name("name", &mut node.walk()).collect();
    if patterns.is_empty() {
        // Python's `a: int` has no field for the name.
        let first = || node.named_child(0).filter(|first| ty.is_some_and(|ty| ty != *first));
        patterns.extend(field(["pattern", "left"]).or_else(first).or(ty.is_none().then_some(node)));
    }
    let annotation = |pattern: Node| {
        let ty = ty?.byte_range();
        let start = if text[ty.start..].starts_with(':') { ty.start } else { pattern.end_byte() };
        Some(text[..start].trim_end().len()..ty.end)
    };
    let one = |pattern: Node| Parameter {
        name: name(content(pattern, text)).to_owned(),
        annotation: annotation(pattern),
        default: default.map(|value| value.byte_range()),
    };
    patterns.into_iter().map(one).collect()
}

fn name(pattern: &str) -> &str {
    let last = pattern.split_whitespace().next_back().unwrap_or_default().trim_start_matches(['*', '.', '&']);
    let is_name = last.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '$'));
    if is_name { last } else { "" }
}

#[cfg(test)]
mod tests {
    use super::super::definitions;

    /// Compares the parameters as `name:annotation=default`, and the return type.
    fn check(path: &str, text: &str, expected: &str) {
        let all = definitions(path, text);
        let signature = &all.iter().find(|one| one.name == "f").unwrap().signature;
        let one = |of: &super::Parameter| {
            let annotation = of.annotation.clone().map_or("", |range| &text[range]);
            let default = of.default.clone().map_or(String::new(), |range| format!("={}", &text[range]));
            format!("{}{annotation}{default}", of.name)
        };
        let found: Vec<String> = signature.parameters.iter().map(one).collect();
        let returns = signature.returns.clone().map_or("", |range| &text[range]);
        assert_eq!(format!("{}{returns}", found.join(";")), expected, "{text}");
    }

    #[test]
    fn a_head_is_divided_in_each_language() {
        check(
            "a.py",
            "@f(x)\ndef f(a, b: int, c=', (', *d, e: 'x=y' = {1: ')'}, # one, two: )\n  g=lambda x: x, **h) -> dict[str, int]:\n    pass\n",
            "a;b: int;c=', (';d;e: 'x=y'={1: ')'};g=lambda x: x;h -> dict[str, int]",
        );
        check(
            "a.ts",
            "/** f(x) */\nfunction f(a?: string, b = ':', ...c: number[]): { d: 1 } {}\n",
            "a: string;b=':';c: number[]: { d: 1 }",
        );
        check("a.ts", "const f = ({ a }: B, c: string): string => c;\n", ": B;c: string: string");
        check("a.js", "class A { f(a, b = '(', ...c) {} }\n", "a;b='(';c");
        check("a.js", "const f = a => a;\n", "a");
        check(
            "a.rs",
            "/// f(x)\nfn f<'a, F: Fn(u8)>(&'a self, mut b: &'a str, c: F) -> Option<&'a str> { None }\n",
            "self;b: &'a str;c: F -> Option<&'a str>",
        );
        check(
            "a.go",
            "package a\n\nfunc (r *R) f(a, b int, c ...string) (int, error) { return 0, nil }\n",
            "a, b int;b int;c ...string (int, error)",
        );
    }
}
