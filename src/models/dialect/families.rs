//! Lists how families of models write calls: the marks around them, their arguments, and how they are read.

use serde_json::{Map, Value};

use super::chat::RawCall;
use super::{json, lfm2, pythonic};

/// The form of a call: `open`, name, `middle`, arguments, `close`.
#[derive(Debug)]
pub struct Family {
    pub name: &'static str,
    /// A chat template that contains all of these belongs to this family.
    signs: &'static [&'static str],
    /// Marks before a reply other than a call.
    pub words: &'static str,
    pub open: &'static str,
    middle: &'static str,
    pub close: &'static str,
    arguments: fn(&Map<String, Value>) -> String,
    pub read: fn(&str) -> Vec<RawCall>,
}

impl Family {
    /// A call without the marks around it.
    pub fn inner(&self, name: &str, arguments: &Map<String, Value>) -> String {
        format!("{name}{}{}", self.middle, (self.arguments)(arguments))
    }

    /// A whole call.
    pub fn written(&self, name: &str, arguments: &Map<String, Value>) -> String {
        format!("{}{}{}", self.open, self.inner(name, arguments), self.close)
    }
}

pub const HERMES: Family = Family {
    name: "hermes",
    signs: &["<|im_start|>", "<tool_call>"],
    words: "",
    open: "<tool_call>\n{\"name\": \"",
    middle: "\", \"arguments\": ",
    close: "}\n</tool_call>",
    arguments: json::spaced_arguments,
    read: json::hermes,
};

const LLAMA3: Family = Family {
    name: "llama3",
    signs: &["<|start_header_id|>"],
    words: "",
    open: "{\"name\": \"",
    middle: "\", \"parameters\": ",
    close: "}",
    arguments: json::arguments,
    read: json::whole,
};

const MISTRAL: Family = Family {
    name: "mistral",
    signs: &["[INST]"],
    words: "",
    open: "[TOOL_CALLS][{\"name\": \"",
    middle: "\", \"arguments\": ",
    close: "}]",
    arguments: json::arguments,
    read: json::mistral,
};

const GEMMA: Family = Family {
    name: "gemma",
    signs: &["<start_of_turn>"],
    words: "",
    open: "```tool_code\n",
    middle: "(",
    close: ")\n```",
    arguments: pythonic::arguments,
    read: pythonic::fenced,
};

/// GPT-OSS. Thinking goes to the channel `analysis`, calls to `commentary`, answers to `final`.
const HARMONY: Family = Family {
    name: "harmony",
    signs: &["<|channel|>"],
    words: "<|channel|>final<|message|>",
    open: "<|channel|>commentary to=functions.",
    middle: " <|constrain|>json<|message|>",
    close: "<|call|>",
    arguments: json::arguments,
    read: json::harmony,
};

const DEEPSEEK: Family = Family {
    name: "deepseek",
    signs: &["<｜Assistant｜>"],
    words: "",
    open: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>",
    middle: "\n```json\n",
    close: "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    arguments: json::arguments,
    read: json::deepseek,
};

const PHI: Family = Family {
    name: "phi",
    signs: &["<|user|>", "<|end|>"],
    words: "",
    open: "functools[{\"name\": \"",
    middle: "\", \"arguments\": ",
    close: "}]",
    arguments: json::arguments,
    read: |text| json::after(text, "functools"),
};

static LFM2: Family = Family {
    name: "lfm2",
    signs: &["<|tool_call_start|>"],
    words: "",
    open: "<|tool_call_start|>[",
    middle: "(",
    close: ")]<|tool_call_end|>",
    arguments: pythonic::arguments,
    read: lfm2::read_calls,
};

/// Families without a notation of their own get calls in brackets.
pub static BRACKET: Family = Family {
    name: "bracket",
    signs: &[],
    words: "",
    open: "[",
    middle: "(",
    close: ")]",
    arguments: pythonic::arguments,
    read: pythonic::scan,
};

static NATIVE_JSON: Family = Family {
    name: "native_json",
    open: "<tool_call>{\"name\": \"",
    close: "}</tool_call>",
    read: json::scan,
    ..HERMES
};

/// All families; a template belongs to the first whose signs it contains.
static FAMILIES: [Family; 7] = [HARMONY, LLAMA3, MISTRAL, GEMMA, DEEPSEEK, HERMES, PHI];

/// The family of a model file.
pub fn of(architecture: &str, template: &str) -> &'static Family {
    if architecture.starts_with("lfm2") {
        return &LFM2;
    }
    FAMILIES.iter().find(|family| family.signs.iter().all(|sign| template.contains(sign))).unwrap_or(&BRACKET)
}

#[cfg(test)]
pub fn named(name: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| family.name == name)
}

/// The notation of one of [`FORMATS`](crate::base::config::table::FORMATS).
pub fn format(name: &str) -> Option<&'static Family> {
    [("native_json", &NATIVE_JSON), ("pythonic", &LFM2), ("bracket", &BRACKET)]
        .into_iter()
        .find_map(|(format, family)| (format == name).then_some(family))
}

/// Whether this control token matters when a reply is parsed: it is a mark of calls or channels.
pub fn is_said(control: &str) -> bool {
    /// Marks that are read but never written.
    const READ_ONLY: [&str; 4] = ["[ARGS]", "<|python_tag|>", "<|start|>", "<|end|>"];
    let marks = FAMILIES.iter().chain([&LFM2]).flat_map(|family| [family.open, family.middle, family.close]);
    !control.is_empty() && marks.chain(READ_ONLY).any(|mark| mark.contains(control))
}

/// The names of tokens in the marks of a family.
pub fn marks(family: &Family) -> String {
    [family.words, family.open, family.middle, family.close].concat()
}
