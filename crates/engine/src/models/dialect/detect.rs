//! Creates the dialect of a model file from its chat template, or from a built-in one if the file has none.

use std::sync::Arc;

use super::form::Form;
use super::marks::Marks;
use super::notation::{Calls, Notation, named};
use super::template::Template;
use super::{Dialect, Notice};
use crate::base::OrBug;
use crate::base::pattern::static_regex;
use crate::models::gguf::Header;

/// Values of `dialect` in `models.toml`: the file's own template, or a built-in one.
pub const DIALECTS: [&str; 7] = ["auto", "lfm2", "hermes", "llama3", "gemma", "chatml", "plain"];

/// The source of the built-in template named `name`.
fn builtin(name: &str) -> Option<&'static str> {
    Some(match name {
        "lfm2" => include_str!("builtin/lfm2.jinja"),
        "hermes" => include_str!("builtin/hermes.jinja"),
        "llama3" => include_str!("builtin/llama3.jinja"),
        "gemma" => include_str!("builtin/gemma.jinja"),
        "chatml" => include_str!("builtin/chatml.jinja"),
        "plain" => include_str!("builtin/plain.jinja"),
        _ => return None,
    })
}

/// The call notation of one of [`FORMATS`](super::FORMATS).
fn format(name: &str) -> Option<Calls> {
    match name {
        "native_json" => Some(named::hermes()),
        "pythonic" => Some(named::lfm2()),
        "bracket" => Some(Calls::default()),
        _ => None,
    }
}

/// The dialect that `configured` specifies; for `auto` (and any name not in [`DIALECTS`]), that of
/// the file's template. If `call_format` is one of [`FORMATS`](super::FORMATS), it overrides how
/// calls are written and read.
pub fn choose(header: &Header, configured: &str, call_format: Option<&str>) -> Arc<Dialect> {
    let format = call_format.and_then(format);
    if let Some(source) = builtin(configured) {
        return Arc::new(of_builtin(source, Some(header), format));
    }
    let Some(source) = &header.chat_template else { return Arc::new(stand_in(header, format, "has no chat template")) };
    Arc::new(match Template::compile(source) {
        Ok(template) => of_template(header, source, template, format.clone())
            .unwrap_or_else(|| stand_in(header, format, "has a chat template that omits the user's messages")),
        Err(why) => stand_in(header, format, &format!("has a chat template that cannot be used ({why})")),
    })
}

/// The dialect of a built-in template without a model file, for scripted models. `None` for `auto`
/// and for names not in [`DIALECTS`].
pub fn by_name(name: &str) -> Option<Arc<Dialect>> {
    builtin(name).map(|source| Arc::new(of_builtin(source, None, None)))
}

/// A ChatML dialect with the call notation of a template with `signs`, for testing that notation.
pub fn in_notation_of(signs: &str) -> Arc<Dialect> {
    let calls = if signs.contains("<tool_call>") { Some(named::hermes()) } else { named::find(signs) };
    with_calls(calls.or_else(|| named::untold(signs)).unwrap_or_default())
}

/// The same with JSON in `<tool_call>` tags, in messages with these headers after
/// `<|start|>assistant`.
pub fn with_headers(headers: super::notation::Headers) -> Arc<Dialect> {
    let mut dialect = of_builtin(include_str!("builtin/chatml.jinja"), None, Some(named::hermes()));
    (dialect.notation.headers, dialect.notation.begun) = (Some(headers), "<|start|>assistant".to_owned());
    Arc::new(dialect)
}

/// A ChatML dialect with this call notation.
pub fn with_calls(calls: Calls) -> Arc<Dialect> {
    Arc::new(of_builtin(include_str!("builtin/chatml.jinja"), None, Some(calls)))
}

/// `None` if the template does not render the user's messages.
fn of_template(header: &Header, source: &str, template: Template, format: Option<Calls>) -> Option<Dialect> {
    let with_tools = header.chat_template_tools.as_deref();
    let with_tools = with_tools.and_then(|source| Some((source, Template::compile(source).ok()?)));
    let (begin, end) = (header.special.begin.as_deref(), header.special.end.as_deref());
    let tokens = (begin.unwrap_or_default(), end.unwrap_or_default());
    let (shows, shown) = with_tools.as_ref().map_or((source, &template), |(source, template)| (source, template));
    let notation = notation(shows, shown, tokens, format.as_ref());
    let form = |template| Form::of(template, tokens.0, tokens.1, &notation.calls, format.is_some());
    let (form, with_tools) = (form(template)?, with_tools.and_then(|(_, template)| form(template)));
    let marks = Marks::new(names(Some(header), source, &notation));
    Some(Dialect { form, with_tools, marks, notation, refused: Notice::default() })
}

fn of_builtin(source: &str, header: Option<&Header>, format: Option<Calls>) -> Dialect {
    let template = Template::compile(source).or_bug("a built-in template compiles");
    let begin = header.and_then(|header| header.begin.as_deref()).unwrap_or_default();
    let notation = notation(source, &template, (begin, ""), format.as_ref());
    let form = Form::of(template, begin, "", &notation.calls, format.is_some());
    let form = form.or_bug("a built-in template shows messages");
    let marks = Marks::new(names(header, source, &notation));
    Dialect { form, with_tools: None, marks, notation, refused: Notice::default() }
}

/// The notation derived from a template, with `format` replacing its calls.
fn notation(source: &str, template: &Template, (begin, end): (&str, &str), format: Option<&Calls>) -> Notation {
    let mut notation = Notation::derive(source, &|input| {
        let mut input = input.clone();
        (input["bos_token"], input["eos_token"]) = (begin.into(), end.into());
        template.render(&input).ok()
    });
    if let Some(calls) = format {
        notation.calls = calls.clone();
    }
    notation
}

/// The built-in template closest to a file without a usable template; logs a warning.
fn stand_in(header: &Header, format: Option<Calls>, why: &str) -> Dialect {
    let has = |token: &str| header.special.control.iter().any(|name| name == token);
    let name = match header.architecture.as_str() {
        architecture if architecture.starts_with("lfm2") => "lfm2",
        architecture if architecture.starts_with("gemma") => "gemma",
        _ if has("<|start_header_id|>") => "llama3",
        _ => "chatml",
    };
    let file = header.path.display();
    tracing::warn!("{file} {why}; `{name}` is used instead; set `dialect` in models.toml to choose another");
    let source = builtin(name).or_bug("the stand-ins are built-in templates");
    of_builtin(source, Some(header), format)
}

/// Names that outside text must not form: the file's control tokens, the tokens added by its maker
/// that the template or the calls use, and, if there is no vocabulary, anything in these that looks
/// like a mark.
fn names(header: Option<&Header>, source: &str, notation: &Notation) -> Vec<String> {
    let used = format!("{source}{}", notation.calls.marks().collect::<String>());
    let special = header.map(|header| &header.special).filter(|special| !special.control.is_empty());
    let Some(special) = special else { return looking_like_marks(&used) };
    let defined = special.defined.iter().filter(|name| used.contains(name.as_str()));
    special.control.iter().chain(defined).cloned().collect()
}

/// Every `<name>`, `</name>`, `<|name|>` and `[NAME]` in a text.
fn looking_like_marks(text: &str) -> Vec<String> {
    static_regex!(MARK = r"<[|/｜]?[\w▁]+[|｜]?>|\[/?[A-Z_]+\]");
    MARK.find_iter(text).map(|mark| mark.as_str().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::{Map, json};

    use super::super::FORMATS;
    use super::super::notation::Form;
    use super::super::{Chat, Message, RawCall, ToolText};
    use super::*;
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

    /// Checks the mark for calls in the dialect of a file.
    fn check(architecture: &str, template: &str, expected: &str) {
        let template =
            if template.is_empty() { String::new() } else { format!("{template}{{{{ messages[-1].content }}}}") };
        let dialect = choose(&header(architecture, &template), "auto", None);
        assert_eq!(dialect.notation.calls.mark(), expected, "{architecture} {template}");
    }

    #[test]
    fn a_template_that_writes_no_calls_gets_those_of_its_signs() {
        check("lfm2moe", "…<|tool_call_start|>…", "<|tool_call_start|>");
        check("llama", "<|im_start|>user", "");
        check("gemma3", "<start_of_turn>user", "```tool_code");
        check("gpt-oss", "<|start|>assistant<|channel|>analysis<|message|>", "<|channel|>commentary to=");
        check("phi3", "<|user|>\n … functools[", "functools[");
        let llama = choose(&header("llama", "<|start_header_id|>{{ messages[-1].content }}"), "auto", None);
        assert!(
            matches!(&llama.notation.calls.form, Form::Json { keys: Some(keys), .. } if keys.arguments == "parameters")
        );
    }

    #[test]
    fn a_file_without_a_template_that_can_be_used_gets_a_built_in_one() {
        check("lfm2", "", "<|tool_call_start|>");
        check("gemma3", "", "```tool_code");
        check("llama", "", "");
        check("llama", "{% for %}", "");
        check("llama", "{{ raise_exception('no') }}", "");
        check("llama", &"x".repeat(5 << 20), "");
    }

    #[test]
    fn the_configuration_overrides_the_template() {
        let smol = header("llama", "<|im_start|>{{ messages[-1].content }}");
        let text = |configured| choose(&smol, configured, None).render(&[Message::user("Hi")]).flat();
        assert_eq!((text("plain").as_str(), text("klingon").as_str()), ("User: Hi\nAssistant:", "<|im_start|>Hi"));
    }

    #[test]
    fn a_call_format_set_by_hand_writes_and_reads_that_form() {
        let smol = header("llama", "<|im_start|>{{ messages | map(attribute='content') | join }}{{ tools }}");
        let arguments: Map<_, _> = [("a".to_owned(), json!(1))].into_iter().collect();
        let tool = ToolText { name: "f".into(), description: "F.".into(), parameters: json!({}) };
        for format in FORMATS {
            let dialect = choose(&smol, "auto", Some(format));
            let calls = &dialect.notation.calls;
            let text = calls.write("f", &arguments);
            let read: Vec<RawCall> =
                dialect.read(&text, std::slice::from_ref(&tool)).into_iter().map(|(call, _)| call).collect();
            assert_eq!(read.len(), 1, "{text}");
            let messages = [Message::system("Help."), Message::calling("So:", read)];
            let prompt = dialect.render(Chat { tools: std::slice::from_ref(&tool), ..Chat::from(&messages) }).flat();
            let call = calls.write("NAME", &json!({ "ARGUMENT": "value" }).as_object().unwrap().clone());
            let expected = format!("<|im_start|>Help.\n\nTools:\n1. f(): F.\n\nTo call one, write {call}So:\n{text}");
            assert_eq!(prompt, expected);
        }
        assert!(choose(&smol, "auto", Some("native_json")).read("[f(a=1)]", &[tool]).is_empty());
    }

    #[test]
    fn every_dialect_but_auto_is_found_by_its_name() {
        for name in DIALECTS {
            assert_eq!(by_name(name).is_some(), name != "auto", "{name}");
        }
    }

    /// A template whose calls have tags, with ChatML turns.
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
        let text = dialect.notation.calls.write("write_file", &arguments);
        assert!(
            text.contains("<function=write_file>") && dialect.notation.calls.mark().starts_with("<tool_call>"),
            "{text}"
        );
        let read = dialect.read(&format!("I write.\n{text}"), std::slice::from_ref(&tool));
        assert_eq!(read.len(), 1, "{text}");
        assert_eq!((read[0].0.name.as_str(), &read[0].0.arguments, read[0].1), ("write_file", &arguments, true));
        assert_eq!(dialect.read(&text[..text.len() / 2], &[tool]), []);
    }

    #[test]
    fn control_tokens_by_which_the_files_template_writes_calls_are_said() {
        let own = TAGS.replace("<tool_call>", "<|do|>").replace("</tool_call>", "<|done|>");
        let (dialect, other) = (choose(&header("own", &own), "auto", None), by_name("chatml").unwrap());
        for mark in ["<|do|>", "<|done|>"] {
            assert!(dialect.notation.is_of_calls(mark) && !other.notation.is_of_calls(mark), "{mark}");
        }
        assert!(
            !dialect.notation.is_of_calls("<|im_start|>")
                && !dialect.notation.is_of_calls("<|im_end|>")
                && dialect.notation.is_of_calls("[TOOL_CALLS]")
        );
        let calls = vec![RawCall { name: "f".into(), arguments: Map::from_iter([("a".to_owned(), json!("x"))]) }];
        let text = format!("I look.\n{}", dialect.notation.calls.write("f", &calls[0].arguments));
        assert_eq!(dialect.replied(&text, &calls, true), Message::calling("I look.", calls.clone()), "{text}");
    }
}
