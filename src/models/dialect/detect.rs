//! Chooses the dialect of a model file by its architecture and chat template.

use std::sync::Arc;

use super::Dialect;
use super::chatml::{ChatMl, Plain};
use super::families::FAMILIES;
use super::format::{CallFormat, Formatted};
use super::lfm2::Lfm;
use super::marked::Marked;
use crate::models::gguf::Header;

/// Values of `dialect` in `models.toml`.
pub const DIALECTS: [&str; 12] =
    ["auto", "lfm2", "lfm2.5", "hermes", "llama3", "mistral", "gemma", "harmony", "deepseek", "phi", "chatml", "plain"];

/// The dialect that `configured` names, or for `auto` (and any name not in [`DIALECTS`]) the one that the header points to.
/// If `call_format` is one of [`FORMATS`](crate::base::config::table::FORMATS), it overrides how calls are written and
/// read.
pub fn choose(header: &Header, configured: &str, call_format: Option<&str>) -> Arc<dyn Dialect> {
    let named = |name: &str| dialect(name, Some(header));
    let family = named(configured).or_else(|| named(detect(header))).unwrap_or_else(|| Arc::new(Plain::of(header)));
    match call_format.and_then(CallFormat::by_name) {
        Some(format) => Arc::new(Formatted { family, format }),
        None => family,
    }
}

/// The dialect called `name` without a model file, so without a begin marker and a default system message: for scripted
/// models. `None` for `auto` and for names not in [`DIALECTS`].
pub fn by_name(name: &str) -> Option<Arc<dyn Dialect>> {
    dialect(name, None)
}

/// The dialect called `name`, with begin marker and default system message from the header.
fn dialect(name: &str, header: Option<&Header>) -> Option<Arc<dyn Dialect>> {
    Some(match name {
        "lfm2" => Arc::new(Lfm::V2),
        "lfm2.5" => Arc::new(Lfm::V25),
        "chatml" => Arc::new(header.map_or_else(ChatMl::default, ChatMl::of)),
        "plain" => Arc::new(header.map_or_else(Plain::default, Plain::of)),
        name => {
            let family = FAMILIES.iter().find(|family| family.name == name)?;
            Arc::new(Marked { family, begin: header.and_then(|header| header.begin.clone()) })
        }
    })
}

/// Whether this control token matters when a reply is parsed: it is a mark of calls or channels.
pub fn is_said(control: &str) -> bool {
    /// Marks that are read but never written.
    const READ_ONLY: [&str; 4] = ["[ARGS]", "<|python_tag|>", "<|start|>", "<|end|>"];
    let (open, close) = super::lfm2::CALL_MARKS;
    let marks = FAMILIES.iter().flat_map(|family| [family.call.open, family.call.middle, family.call.close]);
    !control.is_empty() && marks.chain([open, close]).chain(READ_ONLY).any(|mark| mark.contains(control))
}

/// The name of the dialect for a header. LFM2 templates put the tool list between special tokens, those of LFM2.5 do not. Other
/// templates are recognised by the marks of their family; ChatML without marks for calls gets calls in brackets.
fn detect(header: &Header) -> &'static str {
    let template = header.chat_template.as_deref().unwrap_or("");
    if header.architecture.starts_with("lfm2") {
        let named_25 = ["lfm2.5", "lfm2_5", "lfm25"].iter().any(|part| header.name.to_lowercase().contains(part));
        let like_25 = named_25 || template.contains("List of tools: [");
        return if like_25 && !template.contains("<|tool_list_start|>") { "lfm2.5" } else { "lfm2" };
    }
    match FAMILIES.iter().find(|family| family.signs.iter().all(|sign| template.contains(sign))) {
        Some(family) => family.name,
        None if template.contains("<|im_start|>") => "chatml",
        None => "plain",
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::{Map, json};

    use super::super::ToolText;
    use super::*;
    use crate::base::config::table::FORMATS;
    use crate::models::gguf::{self, write::HeaderWriter};

    fn header(architecture: &str, name: &str, template: &str) -> Header {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("m.gguf");
        let mut writer = HeaderWriter::new(architecture).text("general.name", name);
        if !template.is_empty() {
            writer = writer.text("tokenizer.chat_template", template);
        }
        std::fs::write(&path, writer.finish()).unwrap();
        gguf::inspect(Path::new(&path)).unwrap()
    }

    fn check(architecture: &str, name: &str, template: &str, expected: &str) {
        assert_eq!(
            choose(&header(architecture, name, template), "auto", None).name(),
            expected,
            "{architecture} {name}"
        );
    }

    #[test]
    fn the_template_decides() {
        check("lfm2moe", "LFM2 24B A2B", "…<|tool_list_start|>…", "lfm2");
        check("lfm2", "LFM2.5 1.2B", "…List of tools: […", "lfm2.5");
        check("lfm2", "LFM2.5-1.2B-Router", "", "lfm2.5");
        check("lfm2", "LFM2 1.2B", "<|im_start|>", "lfm2");
        check("llama", "SmolLM2", "<|im_start|>user", "chatml");
        check("qwen3", "Qwen3", "<|im_start|>user", "chatml");
        check("gemma3", "Gemma base", "", "plain");
        check("qwen3", "Qwen3", "<|im_start|>user … <tool_call>", "hermes");
        check("llama", "Llama 3", "<|start_header_id|>", "llama3");
        check("llama", "Mistral 7B", "{{ bos_token }}[INST] ", "mistral");
        check("gemma3", "Gemma 3", "<start_of_turn>user", "gemma");
        check("gpt-oss", "GPT-OSS 20B", "<|start|>assistant<|channel|>final<|message|>", "harmony");
        check("qwen2", "DeepSeek R1 Distill", "<｜User｜> … <｜Assistant｜>", "deepseek");
        check("phi3", "Phi-3.5 mini", "<|user|>\n … <|end|>\n<|assistant|>\n", "phi");
        check("command-r", "Aya", "<|START_OF_TURN_TOKEN|>", "plain");
    }

    #[test]
    fn the_configuration_overrides_the_template() {
        let smol = header("llama", "SmolLM2", "<|im_start|>");
        assert_eq!(choose(&smol, "plain", None).name(), "plain");
        assert_eq!(choose(&smol, "klingon", None).name(), "chatml");
    }

    #[test]
    fn every_dialect_but_auto_is_found_by_its_name() {
        for name in DIALECTS {
            assert_eq!(by_name(name).map_or("auto", |dialect| dialect.name()), name);
        }
    }

    #[test]
    fn marks_of_calls_matter_in_replies_and_marks_of_turns_do_not() {
        for mark in ["<|tool_call_start|>", "[TOOL_CALLS]", "<|channel|>", "<｜tool▁sep｜>"] {
            assert!(is_said(mark), "{mark}");
        }
        for mark in ["<|im_start|>", "<|im_end|>", "<|eot_id|>", "</s>", "<end_of_turn>", ""] {
            assert!(!is_said(mark), "{mark}");
        }
    }

    #[test]
    fn a_call_format_set_by_hand_writes_and_reads_that_form() {
        let smol = header("llama", "SmolLM2", "<|im_start|>");
        let arguments: Map<_, _> = [("a".to_owned(), json!(1))].into_iter().collect();
        for format in FORMATS {
            let dialect = choose(&smol, "auto", Some(format));
            let (before, after) = dialect.call_marks();
            let text = format!("{before}{}{after}", dialect.write_call("f", &arguments));
            assert_eq!(dialect.read_calls(&text).len(), 1, "{text}");
            assert_eq!(dialect.name(), "chatml");
        }
        let qwen = choose(&smol, "hermes", Some("bracket"));
        let tool = ToolText { name: "f".into(), description: String::new(), parameters: json!({}) };
        let told = qwen.tool_list(std::slice::from_ref(&tool));
        assert!(told.ends_with("</tools>\n\nTo call a function, write [NAME(ARGUMENT=\"value\")]"), "{told}");
        let json = choose(&smol, "auto", Some("native_json"));
        assert_eq!(json.write_call("f", &arguments), r#"{"name":"f","arguments":{"a":1}}"#);
        assert!(json.read_calls("[f(a=1)]").is_empty());
    }
}
