//! Makes the dialect of a model file from its chat template, or from a built-in one where the file has none.

use std::sync::Arc;

use super::families::{self, BRACKET, Family};
use super::form::Form;
use super::marks::Marks;
use super::notation::Notation;
use super::template::Template;
use super::{Dialect, Notice};
use crate::models::gguf::Header;

/// Values of `dialect` in `models.toml`: the file's own template, or a built-in one.
pub const DIALECTS: [&str; 7] = ["auto", "lfm2", "hermes", "llama3", "gemma", "chatml", "plain"];

/// The source of the built-in template called `name`.
fn builtin(name: &str) -> Option<(&'static str, &'static str)> {
    Some(match name {
        "lfm2" => ("lfm2", include_str!("builtin/lfm2.jinja")),
        "hermes" => ("hermes", include_str!("builtin/hermes.jinja")),
        "llama3" => ("llama3", include_str!("builtin/llama3.jinja")),
        "gemma" => ("gemma", include_str!("builtin/gemma.jinja")),
        "chatml" => ("chatml", include_str!("builtin/chatml.jinja")),
        "plain" => ("plain", include_str!("builtin/plain.jinja")),
        _ => return None,
    })
}

/// The dialect that `configured` names, or for `auto` (and any name not in [`DIALECTS`]) that of the file's template.
/// If `call_format` is one of [`FORMATS`](crate::base::config::table::FORMATS), it overrides how calls are written and read.
pub fn choose(header: &Header, configured: &str, call_format: Option<&str>) -> Arc<Dialect> {
    let format = call_format.and_then(families::format);
    if let Some((name, source)) = builtin(configured) {
        return Arc::new(of_builtin(name, source, Some(header), format));
    }
    let Some(source) = &header.chat_template else { return Arc::new(stand_in(header, format, "has no chat template")) };
    Arc::new(match Template::compile(source) {
        Ok(template) => of_template(header, source, template, format)
            .unwrap_or_else(|| stand_in(header, format, "has a chat template that shows no message of the user")),
        Err(why) => stand_in(header, format, &format!("has a chat template that cannot be used ({why})")),
    })
}

/// The dialect of a built-in template without a model file: for scripted models. `None` for `auto` and for names not in
/// [`DIALECTS`].
pub fn by_name(name: &str) -> Option<Arc<Dialect>> {
    let (name, source) = builtin(name)?;
    Some(Arc::new(of_builtin(name, source, None, None)))
}

/// A ChatML dialect with calls in the notation of a family, to test that notation.
#[cfg(test)]
pub fn in_notation_of(name: &str) -> Arc<Dialect> {
    match families::named(name) {
        Some(family) => Arc::new(of_builtin("chatml", include_str!("builtin/chatml.jinja"), None, Some(family))),
        None => by_name(name).expect("a dialect"),
    }
}

/// `None` if the template shows no message of the user.
fn of_template(header: &Header, source: &str, template: Template, format: Option<&'static Family>) -> Option<Dialect> {
    let family = format.unwrap_or_else(|| families::of(&header.architecture, source));
    let (begin, end) = (header.special.begin.as_deref(), header.special.end.as_deref());
    let form =
        |template| Form::of(template, begin.unwrap_or_default(), end.unwrap_or_default(), family, format.is_some());
    let with_tools = header.chat_template_tools.as_deref().map(Template::compile).and_then(Result::ok).and_then(form);
    let marks = Marks::new(names(Some(header), source, family));
    let form = form(template)?;
    let notation = if format.is_some() {
        Notation::default()
    } else {
        let source = header.chat_template_tools.as_deref().filter(|_| with_tools.is_some()).unwrap_or(source);
        Notation::derive(source, &|input| with_tools.as_ref().unwrap_or(&form).raw(input))
    };
    Some(Dialect { name: family.name, form, with_tools, marks, family, notation, refused: Notice::default() })
}

fn of_builtin(name: &'static str, source: &str, header: Option<&Header>, format: Option<&'static Family>) -> Dialect {
    let template = Template::compile(source).expect("a built-in template compiles; else this is a bug in it");
    let family = format
        .unwrap_or_else(|| if name == "chatml" || name == "plain" { &BRACKET } else { families::of(name, source) });
    let begin = header.and_then(|header| header.begin.as_deref()).unwrap_or_default();
    let form = Form::of(template, begin, "", family, format.is_some());
    let form = form.expect("a built-in template shows messages; else this is a bug in it");
    let marks = Marks::new(names(header, source, family));
    let notation = Notation::default();
    Dialect { name, form, with_tools: None, marks, family, notation, refused: Notice::default() }
}

/// The built-in template nearest to a file without a template that can be used; the log says so.
fn stand_in(header: &Header, format: Option<&'static Family>, why: &str) -> Dialect {
    let has = |token: &str| header.special.control.iter().any(|name| name == token);
    let name = match header.architecture.as_str() {
        architecture if architecture.starts_with("lfm2") => "lfm2",
        architecture if architecture.starts_with("gemma") => "gemma",
        _ if has("<|start_header_id|>") => "llama3",
        _ => "chatml",
    };
    let file = header.path.display();
    tracing::warn!("{file} {why}; `{name}` is used: `dialect` in models.toml names another");
    let (name, source) = builtin(name).expect("the stand-ins are built-in templates");
    of_builtin(name, source, Some(header), format)
}

/// Names that outside text must not form: the control tokens of the file, the tokens that its maker added and that the template
/// or the calls use, and without a vocabulary what looks like a mark in these.
fn names(header: Option<&Header>, source: &str, family: &Family) -> Vec<String> {
    let used = format!("{source}{}", families::marks(family));
    let special = header.map(|header| &header.special).filter(|special| !special.control.is_empty());
    let Some(special) = special else { return looking_like_marks(&used) };
    let defined = special.defined.iter().filter(|name| used.contains(name.as_str()));
    special.control.iter().chain(defined).cloned().collect()
}

/// Every `<name>`, `</name>`, `<|name|>` and `[NAME]` in a text.
fn looking_like_marks(text: &str) -> Vec<String> {
    static MARK: std::sync::LazyLock<regex::Regex> = std::sync::LazyLock::new(|| {
        regex::Regex::new(r"<[|/｜]?[\w▁]+[|｜]?>|\[/?[A-Z_]+\]").expect("this is a bug in the pattern of a mark")
    });
    MARK.find_iter(text).map(|mark| mark.as_str().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::{Map, json};

    use super::super::families::is_said;
    use super::super::{Chat, Message, RawCall, ToolText};
    use super::*;
    use crate::base::config::table::FORMATS;
    use crate::models::gguf::{self, write::HeaderWriter};

    fn header(architecture: &str, template: &str) -> Header {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("m.gguf");
        let mut writer = HeaderWriter::new(architecture).text("general.name", "a model");
        if !template.is_empty() {
            writer = writer.text("tokenizer.chat_template", template);
        }
        std::fs::write(&path, writer.finish()).unwrap();
        gguf::inspect(Path::new(&path)).unwrap()
    }

    fn check(architecture: &str, template: &str, expected: &str) {
        let template =
            if template.is_empty() { String::new() } else { format!("{template}{{{{ messages[-1].content }}}}") };
        assert_eq!(choose(&header(architecture, &template), "auto", None).name(), expected, "{architecture}");
    }

    #[test]
    fn the_template_decides() {
        check("lfm2moe", "…<|tool_call_start|>…", "lfm2");
        check("llama", "<|im_start|>user", "bracket");
        check("qwen3", "<|im_start|>user … <tool_call>", "hermes");
        check("llama", "<|start_header_id|>", "llama3");
        check("llama", "{{ bos_token }}[INST] ", "mistral");
        check("lfm2", "<|im_start|>user", "lfm2");
        check("gemma3", "<start_of_turn>user", "gemma");
        check("gpt-oss", "<|start|>assistant<|channel|>final<|message|>", "harmony");
        check("qwen2", "<｜User｜> … <｜Assistant｜>", "deepseek");
        check("phi3", "<|user|>\n … <|end|>\n<|assistant|>\n", "phi");
    }

    #[test]
    fn a_file_without_a_template_that_can_be_used_gets_a_built_in_one() {
        check("lfm2", "", "lfm2");
        check("gemma3", "", "gemma");
        check("llama", "", "chatml");
        check("llama", "{% for %}", "chatml");
        check("llama", "{{ raise_exception('no') }}", "chatml");
        check("llama", &"x".repeat(5 << 20), "chatml");
    }

    #[test]
    fn the_configuration_overrides_the_template() {
        let smol = header("llama", "<|im_start|>{{ messages[-1].content }}");
        assert_eq!(choose(&smol, "plain", None).name(), "plain");
        assert_eq!(choose(&smol, "klingon", None).name(), "bracket");
    }

    #[test]
    fn a_call_format_set_by_hand_writes_and_reads_that_form() {
        let smol = header("llama", "<|im_start|>{{ messages | map(attribute='content') | join }}{{ tools }}");
        let arguments: Map<_, _> = [("a".to_owned(), json!(1))].into_iter().collect();
        for format in FORMATS {
            let dialect = choose(&smol, "auto", Some(format));
            let (before, after) = dialect.call_marks();
            let text = format!("{before}{}{after}", dialect.write_call("f", &arguments));
            assert_eq!(dialect.read_calls(&text).len(), 1, "{text}");
            let tool = ToolText { name: "f".into(), description: "F.".into(), parameters: json!({}) };
            let messages = [Message::system("Help."), Message::calling("So:", dialect.read_calls(&text))];
            let prompt = dialect.render(Chat { tools: &[tool], ..Chat::from(&messages) }).flat();
            let call = format!(
                "{before}{}{after}",
                dialect.write_call("NAME", &json!({ "ARGUMENT": "value" }).as_object().unwrap().clone())
            );
            let expected = format!("<|im_start|>Help.\n\nTools:\n1. f(): F.\n\nTo call one, write {call}So:\n{text}");
            assert_eq!(prompt, expected);
        }
        assert!(choose(&smol, "auto", Some("native_json")).read_calls("[f(a=1)]").is_empty());
    }

    #[test]
    fn every_dialect_but_auto_is_found_by_its_name() {
        for name in DIALECTS {
            assert_eq!(by_name(name).map_or("auto", |dialect| dialect.name), name);
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

    /// A template whose calls have tags, in turns of ChatML.
    const TAGS: &str = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content or '' }}{% for t in m.tool_calls or [] %}\
        <tool_call>\n<function={{ t.function.name }}>\n{% for k, v in t.function.arguments|items %}<parameter={{ k }}>\n\
        {{ v if v is string else v|tojson }}\n</parameter>\n{% endfor %}</function>\n</tool_call>{% endfor %}<|im_end|>\n{% endfor %}\
        {% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

    #[test]
    fn calls_are_read_and_written_by_the_notation_of_the_files_template() {
        let dialect = choose(&header("qwen35", TAGS), "auto", None);
        let arguments = json!({ "path": "0042", "content": "a\nb </x>" }).as_object().cloned().unwrap();
        let parameters = json!({ "type": "object", "properties": { "path": { "type": "string" }, "content": { "type": "string" } } });
        let tool = ToolText { name: "write_file".into(), description: String::new(), parameters };
        let text = dialect.written("write_file", &arguments);
        assert!(
            text.contains("<function=write_file>") && dialect.around_calls().0.starts_with("<tool_call>"),
            "{text}"
        );
        let read = dialect.noted(&format!("I write.\n{text}"), std::slice::from_ref(&tool));
        assert_eq!(read.len(), 1, "{text}");
        assert_eq!((read[0].0.name.as_str(), &read[0].0.arguments, read[0].1), ("write_file", &arguments, true));
        assert_eq!(dialect.noted(&text[..text.len() / 2], &[tool]), []);
    }

    #[test]
    fn control_tokens_by_which_the_files_template_writes_calls_are_said() {
        let own = TAGS.replace("<tool_call>", "<|do|>").replace("</tool_call>", "<|done|>");
        let (dialect, other) = (choose(&header("own", &own), "auto", None), by_name("chatml").unwrap());
        for mark in ["<|do|>", "<|done|>"] {
            assert!(dialect.is_said(mark) && !other.is_said(mark), "{mark}");
        }
        assert!(!dialect.is_said("<|im_start|>") && !dialect.is_said("<|im_end|>") && dialect.is_said("[TOOL_CALLS]"));
        let calls = vec![RawCall { name: "f".into(), arguments: Map::from_iter([("a".to_owned(), json!("x"))]) }];
        let text = format!("I look.\n{}", dialect.written("f", &calls[0].arguments));
        assert_eq!(dialect.replied(&text, &calls, true), Message::calling("I look.", calls.clone()), "{text}");
    }
}
