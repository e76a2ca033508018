//! Gathers the turns of a conversation from the messages and items into which a protocol splits them.

use serde_json::Value;

use crate::serve::ask::{Call, Turn};
use crate::serve::problem::Problem;

/// A conversation as it is read, oldest first.
#[derive(Debug, Default)]
pub struct Conversation {
    turns: Vec<Turn>,
    /// Results of the last calls: the call's identifier and the text.
    results: Vec<(String, String)>,
}

impl Conversation {
    /// An instruction. All that come before the first message are one system message.
    pub fn system(&mut self, text: &str) {
        self.settle();
        if text.is_empty() {
            return;
        }
        match self.turns.last_mut() {
            None => self.turns.push(Turn::System(text.to_owned())),
            Some(Turn::System(all)) => append(all, text),
            // Many chat templates refuse a later system message, and at the front it would change what is cached.
            Some(_) => self.user(&format!("<system-reminder>\n{text}\n</system-reminder>")),
        }
    }

    pub fn user(&mut self, text: &str) {
        self.settle();
        if text.is_empty() {
            return;
        }
        match self.turns.last_mut() {
            Some(Turn::User(all)) => append(all, text),
            _ => self.turns.push(Turn::User(text.to_owned())),
        }
    }

    pub fn assistant(&mut self, text: &str) {
        let (all, _) = self.answer();
        append(all, text);
    }

    pub fn call(&mut self, call: Call) {
        let (_, calls) = self.answer();
        calls.push(call);
    }

    /// The result of the call with this identifier.
    pub fn result(&mut self, call: &str, text: String) {
        self.results.push((call.to_owned(), text));
    }

    pub fn turns(mut self) -> Vec<Turn> {
        self.settle();
        self.turns
    }

    /// The text and calls of the assistant's turn, which begins here if the last turn is another's.
    fn answer(&mut self) -> (&mut String, &mut Vec<Call>) {
        self.settle();
        if !matches!(self.turns.last(), Some(Turn::Assistant { .. })) {
            self.turns.push(Turn::Assistant { text: String::new(), calls: Vec::new() });
        }
        match self.turns.last_mut() {
            Some(Turn::Assistant { text, calls }) => (text, calls),
            _ => unreachable!("the last turn is not the assistant's; this is a bug in `Conversation::answer`"),
        }
    }

    /// Results become turns in the order of their calls: chat templates have no identifiers to match them by.
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

/// The text of `content`: a string, or parts, each on its own lines. `other` is given the kind of each part that is
/// not text.
pub fn text(content: &Value, other: impl Fn(&str) -> Result<String, Problem>) -> Result<String, Problem> {
    match content {
        Value::Null => Ok(String::new()),
        Value::String(text) => Ok(text.clone()),
        Value::Array(parts) => {
            let texts: Result<Vec<_>, Problem> = parts.iter().map(|part| part_text(part, &other)).collect();
            Ok(texts?.join("\n"))
        }
        json => Ok(json.to_string()),
    }
}

fn part_text(part: &Value, other: &impl Fn(&str) -> Result<String, Problem>) -> Result<String, Problem> {
    let text = part.as_str().or_else(|| part["text"].as_str()).or_else(|| part["refusal"].as_str());
    match text {
        Some(text) => Ok(text.to_owned()),
        None => other(part["type"].as_str().unwrap_or("unknown")),
    }
}

/// Refuses a part of a message that is not text.
pub fn refused(field: &'static str, kind: &str) -> Problem {
    let text = format!("a part of the message is of kind `{kind}`, and this server reads text only; send it as text");
    Problem::invalid(field, text)
}

/// What the model reads in place of a part of a tool's result that is not text. It is not refused: the client would
/// send it again with every later request, and the conversation could not go on.
pub fn noted(kind: &str) -> Result<String, Problem> {
    Ok(format!("[a part of kind `{kind}` is left out: only text can be read]"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    fn call(id: &str) -> Call {
        Call { id: id.to_owned(), name: "read".to_owned(), arguments: Map::new() }
    }

    #[test]
    fn results_come_in_the_order_of_their_calls() {
        let mut conversation = Conversation::default();
        conversation.user("Compare a and b.");
        conversation.call(call("1"));
        conversation.call(call("2"));
        conversation.result("2", "b".to_owned());
        conversation.result("1", "a".to_owned());
        conversation.assistant("They differ.");
        let expected = vec![
            Turn::User("Compare a and b.".to_owned()),
            Turn::Assistant { text: String::new(), calls: vec![call("1"), call("2")] },
            Turn::Tool("a".to_owned()),
            Turn::Tool("b".to_owned()),
            Turn::Assistant { text: "They differ.".to_owned(), calls: Vec::new() },
        ];
        assert_eq!(conversation.turns(), expected);
    }

    #[test]
    fn only_the_first_instructions_are_a_system_message() {
        let mut conversation = Conversation::default();
        conversation.system("Be short.");
        conversation.system("Be right.");
        conversation.user("Hello");
        conversation.system("900 tokens are left.");
        let expected = vec![
            Turn::System("Be short.\n\nBe right.".to_owned()),
            Turn::User("Hello\n\n<system-reminder>\n900 tokens are left.\n</system-reminder>".to_owned()),
        ];
        assert_eq!(conversation.turns(), expected);
    }

    #[test]
    fn an_image_is_refused_in_a_message_and_noted_in_a_result() {
        let content = json!([{ "type": "text", "text": "Look:" }, { "type": "image", "source": {} }]);
        let problem = text(&content, |kind| Err(refused("messages", kind))).unwrap_err();
        assert!(problem.message.contains("`image`"), "{problem}");
        let noted = text(&content, noted).unwrap();
        assert_eq!(noted, "Look:\n[a part of kind `image` is left out: only text can be read]");
    }
}
