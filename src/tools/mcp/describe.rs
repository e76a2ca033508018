//! Converts a server's tools and results, bounded and cleaned. A hint is trusted only if it leads
//! to more questions to the user.

use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock, ResourceContents, Tool};
use serde_json::Value;

use crate::config::Server;
use crate::models::Picture;
use crate::protocol::GIVEN_MAX;
use crate::tools::Outcome;
use crate::tools::outcome::{TEXT_MAX_BYTES, cut_line};
use crate::tools::policy::glob;
use crate::tools::schema::standalone;
use crate::tools::spec::{ToolSpec, check};

/// Maximum number of tools from one server; small models cannot handle more.
pub const TOOLS_MAX: usize = 256;
const DESCRIPTION_MAX_CHARS: usize = 1_000;
const ABOUT_MAX_CHARS: usize = 200;

/// The tools of a server that can be offered, and notes on tools that were left out, with the
/// reason. `about` is the server's description of itself.
pub fn tools(all: Vec<Tool>, about: &str, config: &Server) -> (Vec<ToolSpec>, Vec<String>) {
    let (mut taken, mut notes): (Vec<ToolSpec>, Vec<String>) = (Vec::new(), Vec::new());
    for tool in all {
        if taken.len() >= TOOLS_MAX {
            notes.push(format!("{}: only its first {TOOLS_MAX} tools are offered", config.name));
            break;
        }
        if !config.tools.is_empty() && !config.tools.iter().any(|pattern| glob(pattern, &tool.name)) {
            continue;
        }
        let spec = spec(tool, about, config);
        let twice = taken.iter().any(|other| other.name == spec.name);
        match check(&spec) {
            Ok(()) if !twice => taken.push(spec),
            Ok(()) => notes.push(format!("{} is listed twice; the first one is used", spec.name)),
            Err(why) => notes.push(format!("{} is left out: {why}", clean(&cut_line(&spec.name, 80)))),
        }
    }
    (taken, notes)
}

fn spec(tool: Tool, about: &str, config: &Server) -> ToolSpec {
    let hints = tool.annotations.unwrap_or_default();
    // The protocol's default: a tool without hints may change and destroy things.
    let mutates = hints.read_only_hint != Some(true);
    let own = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
    let parameters = standalone(Value::Object((*tool.input_schema).clone()));
    ToolSpec {
        name: format!("{}.{}", config.name, tool.name),
        description: line(own, DESCRIPTION_MAX_CHARS),
        server: config.name.clone(),
        server_description: line(about, ABOUT_MAX_CHARS),
        mutates,
        destructive: mutates && hints.destructive_hint != Some(false),
        parameters,
    }
}

/// A server's text as one line of at most `most` characters.
pub fn line(text: &str, most: usize) -> String {
    cut_line(&clean(text).split_whitespace().collect::<Vec<_>>().join(" "), most)
}

/// Converts the result of a call to an outcome: its text, one line for each part that is not text,
/// and pictures that can be read. Blocks while their base64 is decoded.
pub fn outcome(response: CallToolResponse) -> Outcome {
    let CallToolResponse::Complete(result) = response else {
        return Outcome::error("the server asked for more input, which is not supported".to_owned());
    };
    let text = clean(&text(&result));
    match result.is_error {
        Some(true) => Outcome::error(text),
        _ => Outcome { pictures: pictures(&result), ..Outcome::ok(text) },
    }
}

fn pictures(result: &CallToolResult) -> Vec<Picture> {
    let images = result.content.iter().filter_map(|block| match block {
        ContentBlock::Image(block) => Some(&block.data),
        _ => None,
    });
    let named = (1..=GIVEN_MAX).zip(images).map(|(number, data)| (format!("picture {number} of the result"), data));
    named.filter_map(|(name, data)| Picture::of_base64(name, data).ok()).collect()
}

fn text(result: &CallToolResult) -> String {
    let mut text = String::new();
    for block in &result.content {
        text.push_str(&block_text(block));
        text.push('\n');
        // The outcome is shortened further anyway.
        if text.len() > 2 * TEXT_MAX_BYTES {
            break;
        }
    }
    match &result.structured_content {
        Some(value) if text.trim().is_empty() => value.to_string(),
        _ => text.trim_end().to_owned(),
    }
}

/// The text of a part, or a line that describes a part of another type.
pub fn block_text(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(block) => block.text.clone(),
        ContentBlock::Image(block) => format!("[image, {}, {}]", block.mime_type, decoded_size(&block.data)),
        ContentBlock::Audio(block) => format!("[audio, {}, {}]", block.mime_type, decoded_size(&block.data)),
        ContentBlock::Resource(block) => match &block.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => format!("{uri}:\n{text}"),
            ResourceContents::BlobResourceContents { uri, blob, .. } => format!("[{uri}, {}]", decoded_size(blob)),
            _ => "[a resource of an unknown kind]".to_owned(),
        },
        ContentBlock::ResourceLink(link) => format!("[{} {}]", link.name, link.uri),
        _ => "[content of an unknown kind]".to_owned(),
    }
}

/// The size of the data that a base64 text encodes.
pub fn decoded_size(data: &str) -> String {
    format!("{} bytes", data.len() / 4 * 3)
}

/// Replaces control characters and characters that change the writing direction, so that text
/// cannot control a terminal.
pub fn clean(text: &str) -> String {
    let hidden = |c: char| {
        (c.is_control() && c != '\n' && c != '\t') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.replace("\r\n", "\n").replace(hidden, "�")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn images_that_can_be_read_go_along_with_the_text() {
        let block = |data: &str| json!({ "type": "image", "mimeType": "image/gif", "data": data });
        let dot = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";
        let answer = json!({ "content": [{ "type": "text", "text": "two" }, block(dot), block("AAAA")] });
        let result: CallToolResult = serde_json::from_value(answer).unwrap();
        let outcome = outcome(CallToolResponse::Complete(result));
        let names: Vec<&str> = outcome.pictures.iter().map(Picture::name).collect();
        assert_eq!(names, ["picture 1 of the result"]);
        assert!(outcome.text.starts_with("two\n[image, image/gif, 42 bytes]"), "{}", outcome.text);
    }

    #[test]
    fn of_what_is_no_text_the_size_is_told() {
        let data = "AAAA".repeat(4);
        let result: CallToolResult = serde_json::from_value(json!({ "content": [
            { "type": "image", "mimeType": "image/png", "data": data },
            { "type": "audio", "mimeType": "audio/wav", "data": data },
            { "type": "resource", "resource": { "uri": "file:///a", "blob": data } },
        ] }))
        .unwrap();
        assert_eq!(text(&result), "[image, image/png, 12 bytes]\n[audio, audio/wav, 12 bytes]\n[file:///a, 12 bytes]");
    }

    #[test]
    fn a_schema_with_type_names_of_python_is_taken() {
        let tool = json!({ "name": "a", "inputSchema": { "type": "dict", "properties": { "n": { "type": "int" } } } });
        let (taken, notes) = tools(vec![serde_json::from_value(tool).unwrap()], "", &Server::default());
        assert_eq!((taken[0].parameters()[0].kind(), notes.len()), ("integer", 0));
    }

    #[test]
    fn a_parameter_that_is_a_reference_has_the_kind_of_what_it_leads_to() {
        let tool = json!({ "name": "a", "inputSchema": {
            "$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "required": ["n"],
            "properties": { "n": { "$ref": "#/definitions/Count" } },
            "definitions": { "Count": { "type": "integer", "minimum": 1 } },
        } });
        let (taken, notes) = tools(vec![serde_json::from_value(tool).unwrap()], "", &Server::default());
        assert_eq!((taken[0].parameters()[0].kind(), notes.len()), ("integer", 0));
    }
}
