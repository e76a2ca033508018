//! Assembles the turns of a conversation from the messages and items into which a protocol splits them.

use serde_json::Value;

use crate::models::Picture;
use crate::models::dialect::SHOWN;
use crate::serve::ask::{Ask, Call, Model, Turn};
use crate::serve::problem::Problem;

/// Maximum number of pictures in one request.
const PICTURES_MAX: usize = 32;

/// A conversation being read, oldest first.
#[derive(Debug, Default)]
pub struct Conversation {
    turns: Vec<Turn>,
    /// The pictures that the [`SHOWN`] characters in the user's turns stand for, in order.
    pictures: Vec<Picture>,
    /// Results of the latest calls: the call's identifier and the text.
    results: Vec<(String, String)>,
}

impl Conversation {
    /// Adds a message from `role`, found in the request field `field`.
    pub fn say(&mut self, field: &'static str, role: &str, text: &str) -> Result<(), Problem> {
        self.settle();
        if role != "user" && text.contains(SHOWN) {
            return Err(Problem::invalid(field, format!("a message of `{role}` has a picture; only a user's may")));
        }
        match (role, self.turns.last_mut()) {
            ("assistant", _) => append(self.answer().0, text),
            // The user's first message counts, even if empty.
            ("user", None) => self.turns.push(Turn::User(text.to_owned())),
            ("system" | "developer" | "user", _) if text.is_empty() => {}
            // All instructions before the first message form one system message.
            ("system" | "developer", None) => self.turns.push(Turn::System(text.to_owned())),
            ("system" | "developer", Some(Turn::System(all))) => append(all, text),
            // Many chat templates refuse a later system message, and moving it to the front would
            // invalidate the cache.
            ("system" | "developer", Some(_)) => {
                return self.say(field, "user", &format!("<system-reminder>\n{text}\n</system-reminder>"));
            }
            ("user", Some(Turn::User(all))) => append(all, text),
            ("user", _) => self.turns.push(Turn::User(text.to_owned())),
            _ => {
                let text =
                    format!("`{role}` is not a role; a message is from system, developer, user, assistant or tool");
                return Err(Problem::invalid(field, text));
            }
        }
        Ok(())
    }

    pub fn call(&mut self, call: Call) {
        self.settle();
        self.answer().1.push(call);
    }

    /// Puts the assistant's thoughts before its last text.
    pub fn think(&mut self, thought: &str) {
        if let Some(Turn::Assistant { thinking, .. }) = self.turns.last_mut() {
            append(thinking, thought);
        }
    }

    /// Adds the result of the call that has this identifier.
    pub fn result(&mut self, call: &str, text: String) {
        self.results.push((call.to_owned(), text));
    }

    /// The request to answer this conversation, with the defaults.
    pub fn ask(mut self, model: Model) -> Ask {
        self.settle();
        Ask { pictures: self.pictures, ..Ask::new(model, self.turns) }
    }

    /// The text of a message, a string or parts, each part on separate lines, with a [`SHOWN`] for
    /// each picture. Any other part is refused with an error that names `field`.
    pub fn text(&mut self, field: &'static str, content: &Value) -> Result<String, Problem> {
        texts(content, &mut |part| self.picture(field, part))
    }

    /// The same for a single part of a message.
    pub fn part(&mut self, field: &'static str, part: &Value) -> Result<String, Problem> {
        part_text(part, &mut |part| self.picture(field, part))
    }

    /// Reads a part that is a picture.
    fn picture(&mut self, field: &'static str, part: &Value) -> Result<String, Problem> {
        let bad = |text: String| Problem::invalid(field, text);
        let kind = kind(part);
        let data = match (kind, &part["image_url"], &part["source"]) {
            ("image_url" | "input_image", Value::String(url), _) => of_uri(url).map_err(bad)?,
            ("image_url", url, _) if url["url"].is_string() => {
                of_uri(url["url"].as_str().unwrap_or_default()).map_err(bad)?
            }
            ("image", _, source) if source["type"] == "base64" => source["data"].as_str().unwrap_or_default(),
            ("image" | "image_url" | "input_image", ..) => {
                let text =
                    "a picture must be in the request: a data URI (OpenAI), or a source of type base64 (Anthropic)";
                return Err(bad(text.to_owned()));
            }
            _ => {
                let text =
                    format!("a part of the message is of kind `{kind}`, but this server only reads text and pictures");
                return Err(bad(text));
            }
        };
        if self.pictures.len() == PICTURES_MAX {
            return Err(bad(format!("the request has more than {PICTURES_MAX} pictures; send fewer")));
        }
        let name = format!("picture {}", self.pictures.len() + 1);
        // Decoding the base64 of a large picture takes a while; other requests continue meanwhile.
        let read = tokio::task::block_in_place(|| Picture::of_base64(name, data));
        self.pictures.push(read.map_err(|error| bad(error.to_string()))?);
        Ok(SHOWN.to_string())
    }

    /// The text and calls of the assistant's turn, which begins here if the last turn belongs to
    /// someone else.
    fn answer(&mut self) -> (&mut String, &mut Vec<Call>) {
        if !matches!(self.turns.last(), Some(Turn::Assistant { .. })) {
            self.turns.push(Turn::Assistant { text: String::new(), calls: Vec::new(), thinking: String::new() });
        }
        match self.turns.last_mut() {
            Some(Turn::Assistant { text, calls, .. }) => (text, calls),
            _ => unreachable!("the last turn is not the assistant's; this is a bug in `Conversation::answer`"),
        }
    }

    /// Results become turns in the order of their calls, because chat templates have no identifiers
    /// to match them.
    fn settle(&mut self) {
        let mut results = std::mem::take(&mut self.results);
        if let Some(Turn::Assistant { calls, .. }) = self.turns.last() {
            results.sort_by_key(|(id, _)| calls.iter().position(|call| call.id == *id).unwrap_or(calls.len()));
        }
        self.turns.extend(results.into_iter().map(|(_, text)| Turn::Tool(text)));
    }
}

fn append(all: &mut String, text: &str) {
    if !all.is_empty() && !text.is_empty() {
        all.push_str("\n\n");
    }
    all.push_str(text);
}

fn kind(part: &Value) -> &str {
    part["type"].as_str().unwrap_or("unknown")
}

/// The base64 data of a data URI.
fn of_uri(url: &str) -> Result<&str, String> {
    let data = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    data.map(|(_, data)| data).ok_or_else(|| {
        let shown: String = url.chars().take(60).collect();
        format!("the picture `{shown}` is not fetched; send it as `data:image/png;base64,…`")
    })
}

/// The text of a tool's result. Other parts become a note and are not refused: the client would
/// send them again with every later request, and the conversation could not continue.
pub fn result_text(content: &Value) -> Result<String, Problem> {
    texts(content, &mut |part| Ok(format!("[a part of kind `{}` is left out: only text can be read]", kind(part))))
}

/// Reads a part that is not text.
type Other<'a> = &'a mut dyn FnMut(&Value) -> Result<String, Problem>;

fn texts(content: &Value, other: Other<'_>) -> Result<String, Problem> {
    match content {
        Value::Null => Ok(String::new()),
        Value::Array(parts) => {
            let texts: Vec<String> = parts.iter().map(|part| part_text(part, &mut *other)).collect::<Result<_, _>>()?;
            Ok(texts.join("\n"))
        }
        // Some clients send a result's JSON unchanged.
        whole => part_text(whole, &mut |part| {
            if part["type"].is_null() { Ok(plain(&part.to_string())) } else { other(part) }
        }),
    }
}

/// A text without the character that stands for a picture.
fn plain(text: &str) -> String {
    text.replace(SHOWN, "\u{fffd}")
}

fn part_text(part: &Value, other: Other<'_>) -> Result<String, Problem> {
    match part.as_str().or_else(|| part["text"].as_str()).or_else(|| part["refusal"].as_str()) {
        Some(text) => Ok(plain(text)),
        None => other(part),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    /// A one-pixel PNG.
    const DOT: &str =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

    #[test]
    fn results_come_in_the_order_of_their_calls() {
        let call = |id: &str| Call { id: id.to_owned(), name: "read".to_owned(), arguments: Map::new() };
        let mut conversation = Conversation::default();
        conversation.say("", "user", "Compare a and b.").unwrap();
        conversation.call(call("1"));
        conversation.call(call("2"));
        conversation.result("2", "b".to_owned());
        conversation.result("1", "a".to_owned());
        conversation.say("", "assistant", "They differ.").unwrap();
        let expected = vec![
            Turn::User("Compare a and b.".to_owned()),
            Turn::Assistant { text: String::new(), calls: vec![call("1"), call("2")], thinking: String::new() },
            Turn::Tool("a".to_owned()),
            Turn::Tool("b".to_owned()),
            Turn::Assistant { text: "They differ.".to_owned(), calls: Vec::new(), thinking: String::new() },
        ];
        assert_eq!(conversation.ask(Model::Planner).turns, expected);
    }

    #[test]
    fn only_the_first_instructions_are_a_system_message() {
        let mut conversation = Conversation::default();
        for (role, text) in
            [("system", "Be short."), ("developer", "Be right."), ("user", "Hello"), ("system", "900 tokens are left.")]
        {
            conversation.say("", role, text).unwrap();
        }
        let expected = vec![
            Turn::System("Be short.\n\nBe right.".to_owned()),
            Turn::User("Hello\n\n<system-reminder>\n900 tokens are left.\n</system-reminder>".to_owned()),
        ];
        assert_eq!(conversation.ask(Model::Planner).turns, expected);
    }

    #[test]
    fn an_image_is_read_from_the_request_alone_and_noted_in_a_result() {
        let content = json!([{ "type": "text", "text": "Look:" }, { "type": "image", "source": {} }]);
        let text = |content: &Value| Conversation::default().text("messages", content);
        for (part, expected) in [
            (json!({ "a": 1 }), "`unknown`"),
            (
                json!({ "type": "image", "source": { "type": "url", "url": "https://a.example/p.png" } }),
                "must be in the request",
            ),
            (json!({ "type": "image_url", "image_url": { "url": "https://a.example/p.png" } }), "is not fetched"),
            (json!({ "type": "input_image", "image_url": "file:///etc/passwd" }), "is not fetched"),
            (json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,!" } }), "is not base64"),
            (json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } }), "is not a PNG"),
            (json!({ "type": "input_audio" }), "`input_audio`"),
        ] {
            let problem = text(&json!([part])).unwrap_err();
            assert!(problem.field == Some("messages") && problem.message.contains(expected), "{problem}");
        }
        assert_eq!(text(&json!({ "a": 1 })).unwrap(), "{\"a\":1}");
        let mut conversation = Conversation::default();
        let shown = json!([
            { "type": "text", "text": "\u{fffc} first" },
            { "type": "image_url", "image_url": { "url": format!("data:image/png;base64,{DOT}") } },
            { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": DOT } },
        ]);
        let words = conversation.text("messages", &shown).unwrap();
        assert_eq!(words, "\u{fffd} first\n\u{fffc}\n\u{fffc}");
        assert!(conversation.say("messages", "assistant", &words).unwrap_err().message.contains("only a user's"));
        conversation.say("messages", "user", &words).unwrap();
        let ask = conversation.ask(Model::Planner);
        assert_eq!((ask.pictures.len(), ask.turns), (2, vec![Turn::User(words)]));
        let noted = result_text(&content).unwrap();
        assert_eq!(noted, "Look:\n[a part of kind `image` is left out: only text can be read]");
    }
}
