//! Assembles the turns of a conversation from the messages and items into which a protocol splits them.

use serde_json::Value;

use crate::serve::ask::{Call, Turn};
use crate::serve::problem::Problem;

/// A conversation being read, oldest first.
#[derive(Debug, Default)]
pub struct Conversation {
    turns: Vec<Turn>,
    /// Results of the last calls: the call's identifier and the text.
    results: Vec<(String, String)>,
}

impl Conversation {
    /// Adds the message of `role`, from the request field `field`.
    pub fn say(&mut self, field: &'static str, role: &str, text: &str) -> Result<(), Problem> {
        self.settle();
        match (role, self.turns.last_mut()) {
            ("assistant", _) => append(self.answer().0, text),
            // The user's first message counts even if it is empty.
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
                    format!("`{role}` is not a role; a message is of system, developer, user, assistant or tool");
                return Err(Problem::invalid(field, text));
            }
        }
        Ok(())
    }

    pub fn call(&mut self, call: Call) {
        self.settle();
        self.answer().1.push(call);
    }

    /// Adds the assistant's thoughts before its last text.
    pub fn think(&mut self, thought: &str) {
        if let Some(Turn::Assistant { thinking, .. }) = self.turns.last_mut() {
            append(thinking, thought);
        }
    }

    /// Adds the result of the call with this identifier.
    pub fn result(&mut self, call: &str, text: String) {
        self.results.push((call.to_owned(), text));
    }

    pub fn turns(mut self) -> Vec<Turn> {
        self.settle();
        self.turns
    }

    /// The text and calls of the assistant's turn, which begins here if the last turn is someone
    /// else's.
    fn answer(&mut self) -> (&mut String, &mut Vec<Call>) {
        if !matches!(self.turns.last(), Some(Turn::Assistant { .. })) {
            self.turns.push(Turn::Assistant { text: String::new(), calls: Vec::new(), thinking: String::new() });
        }
        match self.turns.last_mut() {
            Some(Turn::Assistant { text, calls, .. }) => (text, calls),
            _ => unreachable!("the last turn is not the assistant's; this is a bug in `Conversation::answer`"),
        }
    }

    /// Results become turns in the order of their calls: chat templates have no identifiers to
    /// match them.
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

/// The text of a message, a string or parts, each on separate lines. A part that is not text is
/// refused, naming `field`.
pub fn text(field: &'static str, content: &Value) -> Result<String, Problem> {
    texts(content, &refused(field))
}

/// The text of one part of a message.
pub fn part(field: &'static str, part: &Value) -> Result<String, Problem> {
    part_text(part, &refused(field))
}

fn refused(field: &'static str) -> impl Fn(&str) -> Result<String, Problem> {
    move |kind: &str| {
        let text =
            format!("a part of the message is of kind `{kind}`, and this server reads text only; send it as text");
        Err(Problem::invalid(field, text))
    }
}

/// The text of a tool's result. Anything that is not text is not refused: the client would send it
/// again with every later request, and the conversation could not continue.
pub fn result_text(content: &Value) -> Result<String, Problem> {
    texts(content, &|kind: &str| Ok(format!("[a part of kind `{kind}` is left out: only text can be read]")))
}

/// `other` is called with the kind of each part that is not text.
fn texts(content: &Value, other: &dyn Fn(&str) -> Result<String, Problem>) -> Result<String, Problem> {
    match content {
        Value::Null => Ok(String::new()),
        Value::Array(parts) => {
            let texts: Vec<String> = parts.iter().map(|part| part_text(part, other)).collect::<Result<_, _>>()?;
            Ok(texts.join("\n"))
        }
        // Some clients send the JSON of a result unchanged.
        whole => {
            part_text(whole, &|kind: &str| if whole["type"].is_null() { Ok(whole.to_string()) } else { other(kind) })
        }
    }
}

fn part_text(part: &Value, other: &dyn Fn(&str) -> Result<String, Problem>) -> Result<String, Problem> {
    match part.as_str().or_else(|| part["text"].as_str()).or_else(|| part["refusal"].as_str()) {
        Some(text) => Ok(text.to_owned()),
        None => other(part["type"].as_str().unwrap_or("unknown")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

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
        assert_eq!(conversation.turns(), expected);
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
        assert_eq!(conversation.turns(), expected);
    }

    #[test]
    fn an_image_is_refused_in_a_message_and_noted_in_a_result() {
        let content = json!([{ "type": "text", "text": "Look:" }, { "type": "image", "source": {} }]);
        let problem = text("messages", &content).unwrap_err();
        assert!(problem.field == Some("messages") && problem.message.contains("`image`"), "{problem}");
        let problem = text("messages", &json!([{ "a": 1 }])).unwrap_err();
        assert!(problem.message.contains("`unknown`"), "{problem}");
        assert_eq!(text("messages", &json!({ "a": 1 })).unwrap(), "{\"a\":1}");
        let noted = result_text(&content).unwrap();
        assert_eq!(noted, "Look:\n[a part of kind `image` is left out: only text can be read]");
    }
}
