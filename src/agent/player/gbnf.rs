//! Converts a Lark grammar to GBNF, for servers that enforce such grammars: rules, texts, regular
//! expressions, repetitions.
//!
//! `start: "a" LINE{1,3}` and `LINE: /[^\n]+\n/` become `root ::= "a" line{1,3}` and `line ::= [\U00000001-\u0009\u000b-\U0010ffff]+ "\n"`.

use regex_syntax::hir::{Class, Hir, HirKind};

/// Any JSON value, in Lark.
const ANY_JSON: &str = "%json {}";
/// Rules for any JSON value, like `%json {}`. Our own grammars do not use these names.
const JSON: &str = r#"json-any ::= json-object | json-array | json-text | json-number | "true" | "false" | "null"
json-object ::= "{" json-blank ( json-entry ( "," json-blank json-entry )* )? "}" json-blank
json-entry ::= json-text json-blank ":" json-blank json-any json-blank
json-array ::= "[" json-blank ( json-any json-blank ( "," json-blank json-any json-blank )* )? "]"
json-text ::= "\"" ( [^"\\\x00-\x1f] | "\\" ( ["\\/bfnrt] | "u" [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F] ) )* "\""
json-number ::= "-"? ( "0" | [1-9] [0-9]* ) ( "." [0-9]+ )? ( [eE] [-+]? [0-9]+ )?
json-blank ::= [ \n]{0,20}
"#;

/// The grammar in GBNF; `None` if it contains something that GBNF cannot express, such as excluded
/// texts.
pub fn of(lark: &str) -> Option<String> {
    let mut rules: Vec<String> = Vec::new();
    for line in lark.lines().filter(|line| !line.trim().is_empty()) {
        // A rule continues on lines that begin with a space.
        match rules.last_mut().filter(|_| line.starts_with([' ', '|'])) {
            Some(rule) => rule.push_str(line),
            None => rules.push(line.to_owned()),
        }
    }
    let written: Option<Vec<String>> = rules.iter().map(|rule| written(rule)).collect();
    let json = if lark.contains(ANY_JSON) { JSON } else { "" };
    Some(written?.join("\n") + "\n" + json)
}

fn written(rule: &str) -> Option<String> {
    let (name, body) = rule.split_once(':')?;
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then_some(format!("{} ::= {}", named(name), body_of(body)?))
}

fn named(name: &str) -> String {
    if name == "start" { "root".to_owned() } else { name.to_ascii_lowercase().replace('_', "-") }
}

fn body_of(mut rest: &str) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else { return Some(parts.join(" ")) };
        let length = match first {
            '"' => {
                let end = end_of(rest, '"')?;
                parts.push(text(&serde_json::from_str::<String>(&rest[..end]).ok()?));
                end
            }
            '/' => {
                let end = end_of(rest, '/')?;
                let regex = rest[1..end - 1].replace("\\/", "/");
                parts.push(expression(&regex_syntax::parse(&regex).ok()?)?);
                end
            }
            // `%regex` restricts the words of a text and their order; here any words are allowed.
            '%' if rest.starts_with("%regex ") => {
                parts.push("[^\\n]+".to_owned());
                rest.len()
            }
            '%' if rest.starts_with(ANY_JSON) => {
                parts.push("json-any".to_owned());
                ANY_JSON.len()
            }
            '|' | '(' | ')' => {
                parts.push(first.to_string());
                1
            }
            // Applies to the preceding part.
            '?' | '*' | '+' => {
                parts.last_mut()?.push(first);
                1
            }
            '{' => {
                let end = rest.find('}')? + 1;
                parts.last_mut()?.push_str(&rest[..end]);
                end
            }
            c if c.is_ascii_alphabetic() => {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
                parts.push(named(&rest[..end]));
                end
            }
            _ => return None,
        };
        rest = &rest[length..];
    }
}

/// The offset after the text that `quote` opens and closes; a quote after a backslash does not
/// close it.
fn end_of(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// A quoted text.
fn text(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|c| match c {
            '"' => "\\\"".to_owned(),
            '\\' => "\\\\".to_owned(),
            '\n' => "\\n".to_owned(),
            c if c.is_control() => point(c),
            c => c.to_string(),
        })
        .collect();
    format!("\"{escaped}\"")
}

fn point(c: char) -> String {
    format!("\\U{:08x}", u32::from(c))
}

/// Converts a regular expression to one term.
fn expression(hir: &Hir) -> Option<String> {
    Some(match hir.kind() {
        HirKind::Empty => "\"\"".to_owned(),
        HirKind::Literal(literal) => text(std::str::from_utf8(&literal.0).ok()?),
        HirKind::Class(Class::Unicode(class)) => {
            // A grammar would treat U+0000 as the end of the text.
            let ranges = class.iter().filter(|range| range.end() > '\0');
            let written: String =
                ranges.map(|range| format!("{}-{}", point(range.start().max('\u{1}')), point(range.end()))).collect();
            format!("[{written}]")
        }
        HirKind::Repetition(repetition) => {
            let times = match (repetition.min, repetition.max) {
                (0, Some(1)) => "?".to_owned(),
                (0, None) => "*".to_owned(),
                (1, None) => "+".to_owned(),
                (min, None) => format!("{{{min},}}"),
                (min, Some(max)) => format!("{{{min},{max}}}"),
            };
            format!("({}){times}", expression(&repetition.sub)?)
        }
        HirKind::Capture(capture) => expression(&capture.sub)?,
        HirKind::Concat(all) => grouped(all, " ")?,
        HirKind::Alternation(all) => grouped(all, " | ")?,
        HirKind::Look(_) | HirKind::Class(Class::Bytes(_)) => return None,
    })
}

fn grouped(all: &[Hir], between: &str) -> Option<String> {
    let all: Option<Vec<String>> = all.iter().map(expression).collect();
    Some(format!("({})", all?.join(between)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lark: &str, expected: Option<&str>) {
        assert_eq!(of(lark).as_deref().map(str::trim_end), expected, "{lark}");
    }

    #[test]
    fn rules_texts_and_repetitions_are_written_anew() {
        check("start: \"1\" | \"2\"\n", Some("root ::= \"1\" | \"2\""));
        check("start: A_LINE{1,3} \"`\\n\"\n", Some("root ::= a-line{1,3} \"`\\n\""));
        check(
            "start: (\"a \" | \"b \")? N\n  | \"\\\"\"\nN: \"x\"\n",
            Some("root ::= ( \"a \" | \"b \" )? n | \"\\\"\"\nn ::= \"x\""),
        );
    }

    #[test]
    fn a_regular_expression_becomes_classes_and_groups() {
        check("start: /a[0-1]{2}|c?/\n", Some("root ::= ((\"a\" ([\\U00000030-\\U00000031]){2,2}) | (\"c\")?)"));
        check("start: /[^\\n]\\//\n", Some("root ::= ([\\U00000001-\\U00000009\\U0000000b-\\U0010ffff] \"/\")"));
    }

    #[test]
    fn any_json_brings_its_rules() {
        let written = of("start: KEY \" = \" json\nKEY: /[a-z]+/\njson: %json {}\n").expect("a grammar");
        assert!(written.contains("json ::= json-any\njson-any ::= json-object"), "{written}");
    }

    #[test]
    fn what_gbnf_cannot_say_is_no_grammar() {
        check("start: WORDS\nWORDS: /a/ & ~/b/\n", None);
        check("start: <[12]> \"a\"\n", None);
        check("start: %json {\"type\": \"string\"}\n", None);
        check("start: \"a\n", None);
        check("start: T\nT: %regex {\"substring_words\": \"a b\"}\n", Some("root ::= t\nt ::= [^\\n]+"));
    }
}
