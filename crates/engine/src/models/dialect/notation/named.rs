//! Notations that rendering does not reveal, recognised by signs in the template's text.

use super::{Calls, Form, Keys, Marks, Named, Notation, Tagged, Thoughts};

fn keys(name: &str, arguments: &str) -> Option<Keys> {
    Some(Keys { name: name.to_owned(), arguments: arguments.to_owned() })
}

fn calls(section: (&str, &str), call: (&str, &str), form: Form) -> Calls {
    Calls { section: Marks::new(section.0, section.1), call: Marks::new(call.0, call.1), form }
}

/// LFM2: `<|tool_call_start|>[f(a="x")]<|tool_call_end|>`.
pub fn lfm2() -> Calls {
    calls(("<|tool_call_start|>", "<|tool_call_end|>"), ("", ""), Form::Python { list: true })
}

/// Channels, as in gpt-oss.
pub fn harmony() -> Calls {
    calls(("", ""), ("", ""), Form::Channels)
}

/// JSON in `<tool_call>` tags, as in most families.
pub fn hermes() -> Calls {
    calls(("<tool_call>\n", "\n</tool_call>"), ("", ""), Form::Json { keys: keys("name", "arguments"), list: false })
}

/// The calls of templates that do not write any, chosen by the marks of their turns: the notation
/// that the family was trained with.
pub fn untold(source: &str) -> Option<Calls> {
    if source.contains("<start_of_turn>") {
        return Some(calls(("```tool_code\n", "\n```"), ("", ""), Form::Python { list: false }));
    }
    let llama3 = Form::Json { keys: keys("name", "parameters"), list: false };
    source.contains("<|start_header_id|>").then(|| calls(("", ""), ("", ""), llama3))
}

/// Kimi K2: the name followed by a number, then JSON.
fn kimi() -> Calls {
    let mark = "<|tool_call_argument_begin|>".to_owned();
    let form = Named { prefix: "functions.".to_owned(), suffix: ":0".to_owned(), mark, ..Named::default() };
    let section = ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>");
    calls(section, ("<|tool_call_begin|>", "<|tool_call_end|>"), Form::Named(form))
}

/// MiniMax M3: tags named after the parameters, each preceded by a mark that never occurs in text.
fn minimax() -> Calls {
    let at = |tag: &str| format!("]<]minimax[>[{tag}");
    let tag = || ">".to_owned();
    let form = Tagged {
        name_end: "\">".to_owned(),
        key: at("<"),
        text: tag(),
        other: tag(),
        close: at("</\u{1}>"),
        raw: None,
    };
    let (section, call) = ((at("<tool_call>\n"), at("</tool_call>")), (at("<invoke name=\""), at("</invoke>\n")));
    calls((&section.0, &section.1), (&call.0, &call.1), Form::Tagged(form))
}

/// The calls of templates that contain these signs.
pub fn find(source: &str) -> Option<Calls> {
    let has = |sign: &str| source.contains(sign);
    let list = || Form::Json { keys: keys("name", "arguments"), list: false };
    if has("<|tool_list_start|>") || has("<|tool_call_start|>") || has("\"List of tools: ") && !has("<tool_call>") {
        return Some(lfm2());
    }
    if has("<|constrain|>") || has("<|channel|>analysis<|message|>") {
        return Some(harmony());
    }
    if has("functools[") {
        return Some(calls(("functools[", "]"), ("", ""), list()));
    }
    if has("<|tool_calls_section_begin|>") {
        return Some(kimi());
    }
    if has("]<]minimax[>[") {
        return Some(minimax());
    }
    // Granite 3 writes a list after a mark that has no closing mark.
    if has("<|tool_call|>") && has("<|start_of_role|>") {
        return Some(calls(("<|tool_call|> [", "]"), ("", ""), list()));
    }
    None
}

pub fn thoughts(source: &str) -> Option<Thoughts> {
    let marks =
        |open: &str, close: &str| Thoughts { open: open.to_owned(), close: close.to_owned(), ..Thoughts::default() };
    Some(if source.contains("[THINK]") {
        marks("[THINK]", "[/THINK]")
    } else if source.contains("<|inner_prefix|>") {
        marks("<|inner_prefix|>", "<|inner_suffix|>")
    } else if source.contains("<|START_THINKING|>") {
        marks("<|START_THINKING|>", "<|END_THINKING|>")
    } else {
        // Reasoning models write these even if their templates do not contain them.
        marks("<think>", "</think>")
    })
}

/// Family properties that rendering does not reveal.
pub fn adjust(source: &str, notation: &mut Notation) {
    if let Some(thoughts) = &mut notation.thoughts
        && let Some((mark, label)) =
            thoughts.open.split_once('>').filter(|(mark, label)| mark.starts_with("<|") && !label.contains('<'))
    {
        // The label after `<|channel>` may be missing.
        (thoughts.label, thoughts.open) = (label.trim().to_owned(), format!("{mark}>"));
    }
    // Hunyuan puts answers in marks that its template does not contain.
    if source.contains("<|extra_0|>") {
        notation.words = Marks::new("<answer>", "</answer>");
    }
    if let Form::Tagged(tags) = &mut notation.calls.form
        && source.contains("CDATA")
    {
        tags.raw = Some(Marks::new("<![CDATA[", "]]>"));
    }
}
