//! Renders tools for model prompts, and builds the grammar of a reply that is either text or one
//! call.

use serde_json::{Value, json};

use crate::engine::Grammar;
use crate::engine::expressible::{self, Expressible};
use crate::engine::grammar::{Part, with_few_blanks};
use crate::models::dialect::notation::{Form, Headers, Notation, types};
use crate::models::dialect::{Dialect, ToolText};
use crate::tools::ToolSpec;

use crate::language::words;

/// Value for the limit of [`shown`] that leaves descriptions uncut.
pub const WHOLE: usize = usize::MAX;
/// Regex for argument names if the schema names no arguments.
const KEY: &str = "/[A-Za-z0-9_.-]+/";

/// A tool as shown to models, with its description cut to `description_chars`.
pub fn shown(tool: &ToolSpec, description_chars: usize) -> ToolText {
    ToolText {
        name: tool.name.clone(),
        description: words::shorten(&tool.description, description_chars),
        parameters: tool.parameters.clone(),
    }
}

/// The kinds of replies that a grammar allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Text or one call. Text never begins like a call, so the first tokens determine which it is.
    Either,
    /// Only a call.
    Call,
}

/// The grammar of a reply in `dialect` that may call one of `tools`.
pub fn grammar(dialect: &Dialect, tools: &[ToolText], reply: Reply) -> Grammar {
    let Notation { calls, words, begun, headers, .. } = dialect.notation();
    // The prompt already contains the beginning of the reply.
    let after = |mark: &str| mark.strip_prefix(begun.as_str()).unwrap_or(mark).to_owned();
    let (before, behind) = calls.around();
    let before = after(&before);
    let mut text = Text::default().lark("start: ");
    if reply == Reply::Either {
        let marks = match (&calls.form, headers) {
            (Form::Channels, _) => ("<|channel|>final<|message|>", ""),
            (_, Some(headers)) => (headers.words.as_str(), ""),
            _ => (words.open.as_str(), words.close.as_str()),
        };
        text = text.marks(&after(marks.0)).lark(" WORDS ");
        if !marks.1.is_empty() {
            text = text.lark("(").marks(marks.1).lark(")?");
        }
        text = text.lark(" | ");
    }
    // A header names the tool, so the marks around a call come after the name.
    let outside = if headers.is_some() { "" } else { &before };
    text = text.marks(outside).lark(" tool ").marks(&behind).lark("\ntool: ");
    for index in 0..tools.len() {
        text = text.lark(&format!("{}tool{index}", if index > 0 { " | " } else { "" }));
    }
    for (index, tool) in tools.iter().enumerate() {
        let (head, tail) = calls.named(&tool.name);
        let head = match headers {
            Some(Headers { call, .. }) => format!("{}{}{}{before}{head}", call.open, tool.name, call.close),
            None => head,
        };
        text = text.lark(&format!("\ntool{index}: ")).marks(&head).lark(" ");
        text = arguments_in(&calls.form, text.lark(&format!("arguments{index} ")).marks(tail), index, tool);
    }
    if let Form::Braces { quote } = &calls.form {
        let plain = "%json {\"type\": [\"number\", \"boolean\", \"null\"]}";
        text = text.lark("\nbraced: ").marks(quote).lark(" ").until(quote).lark(&format!(
            " | {plain} | \"[\" (braced (\",\" braced)*)? \"]\" | \"{{\" (field (\",\" field)*)? \"}}\"\nfield: {KEY} \":\" braced"
        ));
    }
    if reply == Reply::Either {
        // Phi's calls begin with a plain word, so text must not begin with that word.
        let first: String = outside.chars().take_while(char::is_ascii_alphanumeric).collect();
        let unlike = if first.is_empty() { String::new() } else { format!(" & ~/{first}(.|\\n)*/") };
        text = text.lark(&format!("\nWORDS: /[A-Za-z0-9\"'(*#-](.|\\n)*/{unlike}"));
    }
    Grammar::Marked(text.0)
}

/// The parts of a Lark text.
#[derive(Default)]
struct Text(Vec<Part>);

impl Text {
    fn lark(mut self, text: &str) -> Text {
        self.0.push(Part::Lark(text.to_owned()));
        self
    }

    /// Literal marks, which may be control tokens.
    fn marks(mut self, marks: &str) -> Text {
        if !marks.is_empty() {
            self.0.push(Part::Marks(marks.to_owned()));
        }
        self
    }

    /// Any text up to these marks, with or without the spaces before them.
    fn until(mut self, marks: &str) -> Text {
        self.0.push(Part::Until(marks.trim_start().to_owned()));
        self
    }
}

/// Adds the rule for the arguments of a call of `tool`, which has the number `index`.
fn arguments_in(form: &Form, text: Text, index: usize, tool: &ToolText) -> Text {
    let text = text.lark(&format!("\narguments{index}: "));
    let schema = arguments(tool);
    let between = match form {
        Form::Tagged(_) => "",
        Form::Python { .. } => "\", \"",
        Form::Braces { .. } => "\",\"",
        _ => return text.lark(&format!("%json {schema}")),
    };
    let Some(properties) = schema.get("properties").and_then(Value::as_object).filter(|all| !all.is_empty()) else {
        // The schema names no properties: allow any names.
        let text = text.lark(&format!("(any{index} ({between} any{index})*)?\nany{index}: "));
        return value(form, text, None, &json!({}));
    };
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |key: &str| required.is_some_and(|all| all.iter().any(|one| one == key));
    // In the order of the schema, as in JSON. `first`: no argument written yet; `next`: after at
    // least one.
    let mut text = text.lark(&format!("first{index}_0"));
    for (at, key) in properties.keys().enumerate() {
        let (own, after) = (format!("one{index}_{at}"), at + 1);
        let left_out = |rule: &str| if is_required(key) { String::new() } else { format!(" | {rule}{index}_{after}") };
        text = text.lark(&format!("\nfirst{index}_{at}: {own} next{index}_{after}{}", left_out("first")));
        text = text.lark(&format!("\nnext{index}_{at}: {between} {own} next{index}_{after}{}", left_out("next")));
        text = value(form, text.lark(&format!("\n{own}: ")), Some(key), &properties[key]);
    }
    let end = properties.len();
    text.lark(&format!("\nfirst{index}_{end}: \"\"\nnext{index}_{end}: \"\""))
}

/// Adds an argument in a notation other than JSON; a `key` of `None` allows any name.
fn value(form: &Form, text: Text, key: Option<&str>, schema: &Value) -> Text {
    let name = key.map_or_else(|| KEY.to_owned(), quoted);
    let types = types(schema);
    let may_be = |wanted: &str| types.is_empty() || types.contains(&wanted);
    let is_text = may_be("string");
    // References start at the root of the complete schema, and an `allOf` may be unsatisfiable:
    // both are checked only after the call is written.
    let text_of = schema.to_string();
    let is_open = ["\"$ref\"", "\"allOf\""].iter().any(|key| text_of.contains(key));
    let json = if is_open { json!({}) } else { with_few_blanks(schema.clone()) };
    let choices = schema.get("enum").and_then(Value::as_array).filter(|_| types == ["string"]);
    let choices = choices.map(|all| all.iter().filter_map(Value::as_str).map(quoted).collect::<Vec<_>>().join(" | "));
    match form {
        Form::Tagged(tags) => {
            let close = tags.close.replace('\u{1}', key.unwrap_or_default());
            let text = text.marks(&tags.key).lark(&format!(" {name} "));
            match choices {
                Some(choices) => text.marks(&tags.text).lark(&format!(" ({choices}) ")).marks(&close),
                None if is_text => text.marks(&tags.text).lark(" ").until(&close),
                None => text.marks(&tags.other).lark(&format!(" %json {json} ")).marks(&close),
            }
        }
        Form::Braces { quote } => {
            let text = text.lark(&format!("{name} \":\" "));
            match choices {
                Some(choices) => text.marks(quote).lark(&format!(" ({choices}) ")).marks(quote),
                None if types == ["string"] => text.marks(quote).lark(" ").until(quote),
                None if ["string", "array", "object"].iter().any(|kind| may_be(kind)) => text.lark("braced"),
                None => text.lark(&format!("%json {json}")),
            }
        }
        _ => {
            let mut text = text.lark(&format!("{name} \"=\" (%json {json}"));
            if is_text && choices.is_none() {
                text = text.lark(r" | /'([^'\\\n]|\\.)*'/");
            }
            for (kind, words) in [("boolean", r#"| "True" | "False""#), ("null", r#"| "None""#)] {
                text = text.lark(if may_be(kind) { words } else { "" });
            }
            text.lark(")")
        }
    }
}

/// The schema for the arguments of a call; parts of the tool's own schema that it leaves out are
/// logged.
fn arguments(tool: &ToolText) -> Value {
    let Expressible { schema, notes } = expressible::arguments(&tool.parameters);
    for note in notes {
        tracing::warn!(tool = tool.name, note, "a schema is only partly enforced");
    }
    with_few_blanks(schema)
}

/// `text` as a JSON string.
pub fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use std::sync::Arc;

    use super::*;
    use crate::engine::grammar::Grammars;
    use crate::engine::{Token, Vocabulary};
    use crate::models::dialect::notation::{Calls, Tagged};
    use crate::models::dialect::{self, Piece, Prompt};

    const END: Token = Token(256);

    /// A vocabulary of all single bytes and these control tokens.
    struct Marks(Vec<&'static str>, Vec<[u8; 1]>);

    impl Vocabulary for Marks {
        fn size(&self) -> usize {
            257 + self.0.len()
        }

        fn tokenize(&self, prompt: &Prompt) -> Vec<Token> {
            let (mut tokens, flat) = (Vec::new(), prompt.flat());
            assert!(matches!(&prompt.pieces[..], [Piece::Special(_)]));
            let mut rest = flat.as_str();
            while let Some(first) = rest.bytes().next() {
                let control = self.0.iter().position(|name| rest.starts_with(name));
                tokens.push(Token(control.map_or(i32::from(first), |at| 257 + at as i32)));
                rest = &rest[control.map_or(1, |at| self.0[at].len())..];
            }
            tokens
        }

        fn bytes(&self, token: Token) -> &[u8] {
            self.1.get(token.0 as usize).map_or(&[], |byte| byte)
        }

        fn control(&self, token: Token) -> Option<&[u8]> {
            match token.0 - 256 {
                0 => Some(b"<|the end|>"),
                at => Some(self.0.get(usize::try_from(at - 1).ok()?)?.as_bytes()),
            }
        }

        fn is_end(&self, token: Token) -> bool {
            token == END
        }
    }

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Fits {
        Whole,
        Beginning,
        Not,
    }
    use Fits::*;

    /// Checks whether `text` is a complete reply in this dialect, the beginning of one, or neither;
    /// control tokens are written by name.
    fn check_with(dialect: &Dialect, tool: &ToolText, control: &[&'static str], text: &str, expected: Fits) {
        let marks = Arc::new(Marks(control.to_vec(), (0..=255u8).map(|byte| [byte]).collect()));
        let grammar = grammar(dialect, std::slice::from_ref(tool), Reply::Either);
        let mut constraint = Grammars::new(marks.clone()).compile(&grammar).unwrap();
        let mut may = |token: Token| {
            let mut logits = vec![0.0; marks.size()];
            constraint.mask(&mut logits).unwrap();
            let may = logits[token.0 as usize] == 0.0;
            if may && token != END {
                constraint.accept(token).unwrap();
            }
            may
        };
        let begins = marks.tokenize(&Prompt::default().special(text)).into_iter().all(&mut may);
        let fits = if !begins {
            Not
        } else if may(END) {
            Whole
        } else {
            Beginning
        };
        assert_eq!(fits, expected, "{control:?} {text}\n{grammar:?}");
    }

    /// Like `check_with`, with calls as in a template with `signs` and a tool that takes any
    /// arguments.
    fn check(signs: &str, control: &[&'static str], text: &str, expected: Fits) {
        let tool = ToolText { name: "read".into(), description: String::new(), parameters: json!({"type": "object"}) };
        check_with(&dialect::in_notation_of(signs), &tool, control, text, expected);
    }

    #[test]
    fn a_reply_is_words_or_a_call_in_the_models_marks() {
        check("", &[], "[read(a=1)]", Whole);
        check("", &[], r#"[read(a="b)", c=[1, 2], d='")')]"#, Whole);
        check("", &[], r#"[read(a="b)]"#, Beginning);
        check("", &[], "Done (1) [1]", Whole);
        check("", &[], "[write(", Not);
        check("<tool_call>", &[], "<tool_call>\n{\"name\": \"read\", \"arguments\": {}}\n</tool_call>", Whole);
        let control = ["<|tool_call_start|>", "<|tool_call_end|>"];
        check("<|tool_list_start|>", &control, "<|tool_call_start|>[read(x=1)]<|tool_call_end|>", Whole);
    }

    #[test]
    fn marks_are_the_control_tokens_that_a_vocabulary_has() {
        let called = "<tool_call>\n{\"name\": \"read\", \"arguments\": {\"a\":1}}\n</tool_call>";
        check("<tool_call>", &["<tool_call>", "</tool_call>"], called, Whole);
        check("<tool_call>", &["<tool_call>"], "<tool_call>\n{\"name\": \"write", Not);
        let kimi = "<|tool_calls_section_begin|>";
        let called = format!(
            "{kimi}<|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>{{}}<|tool_call_end|><|tool_calls_section_end|>"
        );
        check(kimi, &[kimi, "<|tool_call_end|>"], &called, Whole);
        check(kimi, &[], &called, Whole);
    }

    #[test]
    fn a_reply_that_begins_like_a_call_must_be_a_call() {
        check("functools[", &[], "functools[{\"name\": \"read\", \"arguments\": {}}]", Whole);
        check("functools[", &[], "functools[{\"name\": \"write", Not);
        check("functools[", &[], "function f", Whole);
        let control = ["<|channel|>", "<|message|>", "<|constrain|>", "<|call|>"];
        check("<|constrain|>", &control, "<|channel|>final<|message|>Done.", Whole);
        check("<|constrain|>", &control, "Done.", Not);
        check(
            "<|constrain|>",
            &control,
            "<|channel|>commentary to=functions.read <|constrain|>json<|message|>{}<|call|>",
            Whole,
        );
        check("<|constrain|>", &control, "<|channel|>commentary to=functions.write", Not);
    }

    #[test]
    fn a_header_names_the_tool_that_is_called_or_the_user() {
        let marks = dialect::notation::Marks::new;
        let headers = Headers { call: marks(" to=", "<|message|>"), words: " to=user<|message|>".into() };
        let dialect = dialect::with_headers(headers);
        let tool = ToolText { name: "read".into(), description: String::new(), parameters: json!({"type": "object"}) };
        let check = |text: &str, fits| check_with(&dialect, &tool, &["<|message|>", "<tool_call>"], text, fits);
        let call = "<tool_call>\n{\"name\": \"read\", \"arguments\": {}}\n</tool_call>";
        check(&format!(" to=read<|message|>{call}"), Whole);
        check(" to=user<|message|>Done.", Whole);
        check(" to=read<|message|>Done.", Not);
        check(" to=write<|message|>", Not);
        check(&format!(" to=user<|message|>{call}"), Not);
        check(call, Not);
        check("Done.", Not);
    }

    /// Checks calls of a tool with a required text, a number and a choice.
    fn held(calls: Calls, control: &[&'static str], texts: &[(&str, Fits)]) {
        let parameters = json!({ "type": "object", "required": ["path"], "properties": {
            "path": { "type": "string" }, "line": { "type": "integer" }, "unit": { "type": "string", "enum": ["line", "byte"] },
            "parts": { "type": "array", "items": { "type": "string" } } } });
        let tool = ToolText { name: "read".into(), description: String::new(), parameters };
        let dialect = dialect::with_calls(calls.clone());
        for (text, fits) in texts {
            let (open, close) = calls.around();
            let text = format!("{open}{text}{}", if *fits == Whole { close.as_str() } else { "" });
            check_with(&dialect, &tool, control, &text, *fits);
            if *fits == Whole {
                let read = dialect.read(&text, std::slice::from_ref(&tool));
                assert!(matches!(&read[..], [(call, true)] if call.arguments.contains_key("path")), "{text}: {read:?}");
            }
        }
    }

    #[test]
    fn the_arguments_of_a_call_are_those_of_its_schema_in_every_notation() {
        let marks = dialect::notation::Marks::new;
        held(
            Calls::default(),
            &[],
            &[
                (r#"read(path="a", line=3, unit="byte")"#, Whole),
                (r#"read(path='a)', parts=["x"])"#, Whole),
                ("read(line=3", Not),
                (r#"read(path="a", unit="word"#, Not),
                (r#"read(path="a", line="3"#, Not),
            ],
        );
        let tags = Tagged {
            name_end: ">\n".into(),
            key: "<parameter=".into(),
            text: ">\n".into(),
            other: ">\n".into(),
            close: "\n</parameter>\n".into(),
            raw: None,
        };
        let path = "read>\n<parameter=path>\n";
        let calls = Calls {
            section: marks("<tool_call>\n", "\n</tool_call>"),
            call: marks("<function=", "</function>"),
            form: Form::Tagged(tags),
        };
        let texts = [
            (format!("{path}a </p> <b>\n</parameter>\n<parameter=line>\n3\n</parameter>\n"), Whole),
            (format!("{path}a\n</parameter>\n<parameter=line>\nx"), Not),
            (format!("{path}a\n</parameter>\n<parameter=unit>\nword"), Not),
            (format!("{path}a\n</parameter>\nb"), Not),
            ("read>\n<parameter=line>".to_owned(), Not),
        ];
        let texts = texts.each_ref().map(|(text, fits)| (text.as_str(), *fits));
        held(calls.clone(), &[], &texts);
        held(calls, &["<tool_call>", "</parameter>"], &texts);
        let quote = "<|\"|>";
        let calls = Calls {
            section: marks("", ""),
            call: marks("<|tool_call>call:", "<tool_call|>"),
            form: Form::Braces { quote: quote.into() },
        };
        let texts = [
            (format!("read{{path:{quote}a \"b\", c:1{quote},line:3}}"), Whole),
            (format!("read{{path:{quote}a{quote},parts:[{quote}x{quote}]}}"), Whole),
            (format!("read{{path:{quote}a{quote},unit:{quote}word"), Not),
            ("read{line:".to_owned(), Not),
        ];
        let texts = texts.each_ref().map(|(text, fits)| (text.as_str(), *fits));
        held(calls.clone(), &[], &texts);
        held(calls, &["<|tool_call>", quote, "<tool_call|>"], &texts);
    }
}
