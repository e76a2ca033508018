//! Writes tools as models read them, and the grammar in which a reply is words or one call.

use serde_json::{Map, Value};

use crate::engine::Grammar;
use crate::engine::expressible::{self, Expressible};
use crate::engine::grammar::with_few_blanks;
use crate::models::dialect::{Dialect, Prompt, ToolText};
use crate::tools::ToolSpec;

use crate::language::words;

/// Limit for [`shown`] that leaves a description whole.
pub const WHOLE: usize = usize::MAX;
/// One piece of a call's arguments: a quoted text, or a character that is no quotation mark or parenthesis. The number of pieces is
/// left to the request's token limit: a bound here would make each character a state of the grammar.
const ARGUMENT: &str = r#"[^\n()"']|"([^"\\\n]|\\.)*"|'([^'\\\n]|\\.)*'"#;

/// A tool as models are shown it, its description cut to `description_chars`.
pub fn shown(tool: &ToolSpec, description_chars: usize) -> ToolText {
    ToolText {
        name: tool.name.clone(),
        description: words::shorten(&tool.description, description_chars),
        parameters: tool.parameters.clone(),
    }
}

/// What a reply may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Words or one call. Words never begin like a call, so the first tokens decide which it is.
    Either,
    /// One call.
    Call,
}

/// The grammar of a reply in `dialect` that may call one of `tools`.
pub fn grammar(dialect: &Dialect, tools: &[ToolText], reply: Reply) -> Grammar {
    let (before, after) = dialect.call_marks();
    let start = Prompt::default().text("start: ");
    let start = match reply {
        Reply::Either => marked(start, dialect.words_mark()).text(" WORDS | "),
        Reply::Call => start,
    };
    let mut prompt = marked(marked(start, before).text(" tool "), after).text("\ntool: ");
    for (index, tool) in tools.iter().enumerate() {
        prompt = prompt.text(if index > 0 { "\n  | " } else { "" });
        let written = dialect.write_call(&tool.name, &Map::new());
        prompt = match written.split_once("{}") {
            Some((head, tail)) => marked(marked(prompt, head).text(format!(" %json {} ", arguments(tool))), tail),
            None => {
                let (name, close) = written.split_once('(').unwrap_or((&written, ""));
                prompt.text(format!("{} \"(\" ARGUMENTS {}", quoted(name), quoted(close)))
            }
        };
    }
    // Phi's calls begin with a plain word; other replies may then not begin with it.
    let first: String = before.chars().take_while(char::is_ascii_alphanumeric).collect();
    let unlike = if first.is_empty() { String::new() } else { format!(" & ~/{first}(.|\\n)*/") };
    let words = match reply {
        Reply::Either => format!("\nWORDS: /[A-Za-z0-9\"'(*#-](.|\\n)*/{unlike}"),
        Reply::Call => String::new(),
    };
    Grammar::Marked(prompt.text(format!("{words}\nARGUMENTS: /({ARGUMENT})*/\n")))
}

/// The schema that the arguments of a call have to fit; parts of the tool's own schema that it leaves out are written to the log.
pub fn arguments(tool: &ToolText) -> Value {
    let Expressible { schema, notes } = expressible::arguments(&tool.parameters);
    for note in notes {
        tracing::warn!(tool = tool.name, note, "a schema is kept in part");
    }
    with_few_blanks(schema)
}

/// Appends a dialect's marks, which may be control tokens.
fn marked(prompt: Prompt, marks: &str) -> Prompt {
    if marks.is_empty() { prompt } else { prompt.special(marks) }
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
    use crate::models::dialect::{self, Piece};

    const END: Token = Token(256);

    /// A vocabulary of single bytes and these control tokens.
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

    #[derive(Debug, PartialEq)]
    enum Fits {
        Whole,
        Beginning,
        Not,
    }
    use Fits::*;

    /// Checks whether `text` is a whole reply in this dialect, the beginning of one or neither; control tokens are written by name.
    fn check(name: &str, control: &[&'static str], text: &str, expected: Fits) {
        let tool = ToolText { name: "read".into(), description: String::new(), parameters: json!({"type": "object"}) };
        let marks = Arc::new(Marks(control.to_vec(), (0..=255u8).map(|byte| [byte]).collect()));
        let grammar = grammar(&dialect::in_notation_of(name), &[tool], Reply::Either);
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
        assert_eq!(fits, expected, "{name} {control:?} {text}");
    }

    #[test]
    fn a_reply_is_words_or_a_call_in_the_familys_marks() {
        check("chatml", &[], "[read(a=1)]", Whole);
        check("chatml", &[], r#"[read(a="b)", c=[1, 2], d='")')]"#, Whole);
        check("chatml", &[], r#"[read(a="b)]"#, Beginning);
        check("chatml", &[], "Done (1) [1]", Whole);
        check("chatml", &[], "[write(", Not);
        check("hermes", &[], "<tool_call>\n{\"name\": \"read\", \"arguments\": {}}\n</tool_call>", Whole);
        let control = ["<|tool_call_start|>", "<|tool_call_end|>"];
        check("lfm2", &control, "<|tool_call_start|>[read(x=1)]<|tool_call_end|>", Whole);
    }

    #[test]
    fn marks_are_the_control_tokens_that_a_vocabulary_has() {
        let called = "<tool_call>\n{\"name\": \"read\", \"arguments\": {\"a\":1}}\n</tool_call>";
        check("hermes", &["<tool_call>", "</tool_call>"], called, Whole);
        check("hermes", &["<tool_call>"], "<tool_call>\n{\"name\": \"write", Not);
        let called = "[TOOL_CALLS][{\"name\": \"read\", \"arguments\": {}}]";
        check("mistral", &["[TOOL_CALLS]"], called, Whole);
        check("mistral", &[], called, Whole);
    }

    #[test]
    fn a_reply_that_begins_like_a_call_must_be_a_call() {
        check("phi", &[], "functools[{\"name\": \"read\", \"arguments\": {}}]", Whole);
        check("phi", &[], "functools[{\"name\": \"write", Not);
        check("phi", &[], "function f", Whole);
        let control = ["<|channel|>", "<|message|>", "<|constrain|>", "<|call|>"];
        check("harmony", &control, "<|channel|>final<|message|>Done.", Whole);
        check("harmony", &control, "Done.", Not);
        check(
            "harmony",
            &control,
            "<|channel|>commentary to=functions.read <|constrain|>json<|message|>{}<|call|>",
            Whole,
        );
        check("harmony", &control, "<|channel|>commentary to=functions.write", Not);
    }
}
