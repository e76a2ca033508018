//! Parses tool calls from a model's text, in tiers from strict to lenient, and checks them against the tools.

pub mod check;
pub(crate) mod fit;
pub(crate) mod lenient;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::models::dialect::{Dialect, RawCall, ToolText};
use crate::tools::spec::ToolSpec;

pub use check::{CallProblem, Checked, check};

/// Maximum number of bytes searched for call markers in a text; the rest is ignored.
pub const TEXT_MAX_BYTES: usize = 64 << 10;
pub const CALLS_MAX: usize = 32;

/// A call that passed [`check()`]: its tool exists and its arguments fit the schema.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    pub tool: String,
    pub arguments: Map<String, Value>,
}

/// How a call was parsed; calls of a later tier are less certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// The notation of the model.
    Strict,
    /// Any common notation: JSON, `name(a=1)`, fenced or bare.
    Lenient,
}

/// Calls found in a text, all by one tier.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    pub calls: Vec<RawCall>,
    /// `None` if there is no call.
    pub tier: Option<Tier>,
}

impl Reading {
    /// Whether every call is written and closed in the notation of the model. Only such calls may
    /// change or run something; all others are guesses.
    pub fn is_certain(&self) -> bool {
        self.tier == Some(Tier::Strict)
    }
}

/// Parses calls in the notation of `dialect`, if it is known. If that gives no certain calls and
/// `until` allows it, parses any text that may be meant as a call.
pub fn read(text: &str, dialect: Option<&Dialect>, specs: &[ToolSpec], until: Tier) -> Reading {
    let tools: Vec<ToolText> = specs.iter().map(shown).collect();
    let read = dialect.map_or_else(Vec::new, |dialect| dialect.read(text, &tools));
    let is_certain = !read.is_empty() && read.iter().all(|(_, is_certain)| *is_certain);
    let mut calls: Vec<RawCall> = read.into_iter().map(|(call, _)| call).collect();
    let tier = if is_certain { Tier::Strict } else { Tier::Lenient };
    if tier > until {
        calls.clear();
    } else if calls.is_empty() {
        calls = lenient::read(text, specs);
    }
    calls.truncate(CALLS_MAX);
    let tier = (!calls.is_empty()).then_some(tier);
    Reading { calls, tier }
}

fn shown(spec: &ToolSpec) -> ToolText {
    ToolText { name: spec.name.clone(), description: String::new(), parameters: spec.parameters.clone() }
}

/// Counts call markers written as plain text: telemetry that shows where a model does not follow
/// its chat template.
pub fn textual_patterns(text: &str) -> usize {
    const SIGNS: &str = r#"tool_calls: tool_call: "tool_calls" "tool_call" "function_call" function_call:
        <tool_call> <|tool_call_start|> <function= <function_call> [tool_calls] ```tool"#;
    let text = bounded(text).to_ascii_lowercase();
    SIGNS.split_whitespace().map(|sign| text.matches(sign).count()).sum()
}

fn bounded(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_MAX_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::dialect::by_name;
    use crate::tools::Catalog;
    use proptest::prelude::*;
    use std::time::{Duration, Instant};

    #[test]
    fn what_is_not_in_the_notation_of_the_model_is_a_guess() {
        let hermes = by_name("hermes").expect("a dialect");
        let call = r#"{"name":"read_file","arguments":{"path":"a"}}"#;
        let (tagged, fenced) = (format!("So: <tool_call>{call}</tool_call>"), format!("```json\n{call}\n```"));
        for (text, until, expected) in [
            (tagged.as_str(), Tier::Strict, Some(Tier::Strict)),
            (call, Tier::Strict, Some(Tier::Strict)),
            (&fenced, Tier::Strict, Some(Tier::Strict)),
            (&format!("So: {fenced}"), Tier::Strict, None),
            (&format!("So: {fenced}"), Tier::Lenient, Some(Tier::Lenient)),
            (&format!("So: {call}"), Tier::Strict, None),
            (&format!("So: {call}"), Tier::Lenient, Some(Tier::Lenient)),
            (&format!("<tools>\n{call}\n</tools>"), Tier::Lenient, Some(Tier::Lenient)),
            (r#"I will use read_file("a")."#, Tier::Lenient, Some(Tier::Lenient)),
            ("I will use read_file with path `src/a.rs`.", Tier::Lenient, None),
            ("The file has 12 lines.", Tier::Lenient, None),
            ("", Tier::Lenient, None),
        ] {
            let reading = read(text, Some(&*hermes), Catalog::builtin().specs(), until);
            assert_eq!(reading.tier, expected, "{text}");
            assert!(reading.calls.len() == usize::from(expected.is_some()), "{text}");
        }
    }

    #[test]
    fn a_call_with_a_whole_file_is_read_whole() {
        let file: String = (0..30_000).map(|number| format!("line {number}\n")).collect();
        assert!(file.len() > 4 * TEXT_MAX_BYTES);
        let call = serde_json::json!({ "name": "write_file", "arguments": { "path": "a", "content": file } });
        let hermes = by_name("hermes").expect("a dialect");
        for text in [format!("<tool_call>\n{call}\n</tool_call>"), format!("I write it: {call}")] {
            let reading = read(&text, Some(&*hermes), Catalog::builtin().specs(), Tier::Lenient);
            assert_eq!(reading.calls.len(), 1, "{:?}", reading.tier);
            assert_eq!(reading.calls[0].arguments["content"], file.as_str());
        }
    }

    #[test]
    fn calls_written_as_text_are_counted() {
        assert_eq!(textual_patterns("tool_calls: [..] and <tool_call>x</tool_call>"), 2);
        assert_eq!(textual_patterns("I called my mother."), 0);
    }

    /// CPU time of this thread on Linux, so that a busy machine does not count; elsewhere wall-clock time.
    fn worked() -> Duration {
        static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
        let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
        let nanos = stat.and_then(|stat| stat.split_whitespace().next()?.parse().ok());
        nanos.map_or_else(|| START.elapsed(), Duration::from_nanos)
    }

    #[test]
    fn hostile_text_is_read_in_bounded_time() {
        let specs = Catalog::builtin();
        let parts = r#"[|{|read_file(|{"a":|["|read_file: {|((((|read_file path "|\"|{'a': [|`|read_file(path=[|"path":|name(a=(b="#;
        for part in parts.split('|') {
            let text = part.repeat(TEXT_MAX_BYTES * 8 / part.len());
            let hermes = by_name("hermes").expect("a dialect");
            let before = worked();
            read(&text, Some(&*hermes), specs.specs(), Tier::Lenient);
            textual_patterns(&text);
            let took = worked() - before;
            assert!(took < Duration::from_secs(2), "{part} took {took:?}");
        }
    }

    /// Text as in a file about tool calls, with calls in every notation.
    fn content() -> impl Strategy<Value = String> {
        let part = prop_oneof![
            "[ -~\n]{0,12}",
            Just("[delete_file(path='b')]".to_owned()),
            Just("\n```tool_code\ndelete_file(path='b')\n```\n".to_owned()),
            Just("<tool_call>{\"name\": \"delete_file\", \"arguments\": {\"path\": \"b\"}}</tool_call>".to_owned()),
            Just("{'name': 'delete_file', 'arguments': {'path': 'b'}}".to_owned()),
            Just("[TOOL_CALLS]delete_file[ARGS]{}".to_owned()),
            Just("<|channel|>commentary to=functions.delete_file <|message|>{}".to_owned()),
            Just("<｜tool▁sep｜>delete_file\n```json\n{}\n```".to_owned()),
            Just("<|tool_call_start|>[delete_file(path='b')]<|tool_call_end|>".to_owned()),
            Just("functools[{\"name\": \"delete_file\", \"arguments\": {}}]".to_owned()),
        ];
        proptest::collection::vec(part, 0..4).prop_map(|parts| parts.concat())
    }

    proptest! {
        /// A call counts only once it is complete, wherever the reply was cut and whatever its text
        /// looks like.
        #[test]
        fn no_beginning_of_a_call_is_read_as_a_certain_call(content in content(), keep in 0.0..1.0f64) {
            let signs =
                ["<tool_call>", "<|start_header_id|>", "<start_of_turn>", "<|constrain|>", "functools[", "<|tool_list_start|>", ""];
            let kimi = "<|tool_calls_section_begin|>";
            for name in signs.into_iter().chain([kimi]) {
                let dialect = crate::models::dialect::in_notation_of(name);
                let arguments = serde_json::json!({ "path": "a", "content": content });
                let arguments = arguments.as_object().cloned().expect("an object");
                let calls = &dialect.notation().calls;
                let (text, close) = (calls.write("write_file", &arguments), calls.around().1);
                let whole = RawCall { name: "write_file".to_owned(), arguments };
                let calls = |text: &str| {
                    let reading = read(text, Some(&*dialect), Catalog::builtin().specs(), Tier::Lenient);
                    if reading.is_certain() { reading.calls } else { Vec::new() }
                };
                prop_assert_eq!(calls(&text), vec![whole.clone()], "{}", text);
                let at = text.floor_char_boundary((text.len() as f64 * keep) as usize);
                for cut in [&text[..at], &text[..text.floor_char_boundary(text.len() - close.len())]] {
                    prop_assert!(calls(cut).iter().all(|call| *call == whole), "{}: {}", name, cut);
                }
            }
        }

        #[test]
        fn reading_never_panics(text in "\\PC{0,300}") {
            read(&text, None, Catalog::builtin().specs(), Tier::Lenient);
        }

        #[test]
        fn reading_broken_calls_never_panics(text in "(read_file|name|path|[\\[\\](){}\"'`:=,.\\\\ \n]|é|1|-){0,40}") {
            for call in read(&text, None, Catalog::builtin().specs(), Tier::Lenient).calls {
                let _ = super::check(&call, Catalog::builtin().specs());
            }
        }
    }
}
