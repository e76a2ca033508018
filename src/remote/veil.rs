//! Replaces private data in requests to a server with placeholders, and restores it in the server's answers.
//!
//! `Write to ada@example.org` is sent as `Write to [email-1]`, and `[email-1]` in the answer
//! becomes `ada@example.org` again, so that masking does not alter code.

use serde_json::Value;

use super::ask::Ask;
use crate::base::{half_of, private};
use crate::models::dialect::Message;

/// The hidden texts of one request, each with its placeholder.
#[derive(Debug, Default)]
pub struct Veil(Vec<(String, String)>);

impl Veil {
    /// The request with placeholders for addresses, numbers and keys, and the texts they replace.
    pub fn over(ask: Ask) -> (Ask, Veil) {
        let written = format!("{:?}", ask.messages);
        let mut veil = Veil::default();
        let mut hide = |text: &mut String| *text = veil.hidden(text, &written);
        let mut ask = ask;
        for Message { content, thinking, calls, .. } in &mut ask.messages {
            hide(content);
            hide(thinking);
            calls.iter_mut().flat_map(|call| call.arguments.values_mut()).for_each(|value| each_text(value, &mut hide));
        }
        hide(&mut ask.begun);
        (ask, veil)
    }

    fn hidden(&mut self, text: &str, written: &str) -> String {
        let (mut hidden, mut at) = (String::new(), 0);
        for (kind, range) in private::find(text) {
            hidden.push_str(&text[at..range.start]);
            hidden.push_str(&self.placeholder(kind.mask(), &text[range.clone()], written));
            at = range.end;
        }
        hidden + &text[at..]
    }

    /// A placeholder for a text; it does not occur elsewhere in the request.
    fn placeholder(&mut self, mask: &str, original: &str, written: &str) -> String {
        if let Some((placeholder, _)) = self.0.iter().find(|(_, known)| known == original) {
            return placeholder.clone();
        }
        let name = mask.trim_matches(['[', ']']);
        let free = (self.0.len() + 1..).map(|number| format!("[{name}-{number}]"));
        let placeholder = free.into_iter().find(|one| !written.contains(one.as_str())).unwrap_or_default();
        self.0.push((placeholder.clone(), original.to_owned()));
        placeholder
    }

    /// The text with placeholders replaced by the original texts.
    pub fn lifted(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (placeholder, original)| text.replace(placeholder, original))
    }

    /// Restores the original texts in every text of a value.
    pub fn lift(&self, value: &mut Value) {
        each_text(value, &mut |text| *text = self.lifted(text));
    }
}

fn each_text(value: &mut Value, change: &mut impl FnMut(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(all) => all.iter_mut().for_each(|one| each_text(one, change)),
        Value::Object(all) => all.values_mut().for_each(|one| each_text(one, change)),
        _ => {}
    }
}

/// Lifts the veil from text that arrives in pieces, holding back a partial placeholder.
#[derive(Debug, Default)]
pub struct Lifting(String);

impl Lifting {
    /// The text that can no longer change.
    pub fn push(&mut self, veil: &Veil, text: &str) -> String {
        self.0.push_str(text);
        let whole = veil.lifted(&self.0);
        let held = veil.0.iter().map(|(placeholder, _)| half_of(&whole, placeholder)).max().unwrap_or(0);
        let (told, rest) = whole.split_at(whole.len() - held);
        self.0 = rest.to_owned();
        told.to_owned()
    }

    /// The text still held back at the end.
    pub fn finish(&mut self) -> String {
        std::mem::take(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;
    use crate::models::dialect::RawCall;

    const MAIL: &str = "ada@lovelace.org";

    #[test]
    fn what_is_hidden_is_the_same_everywhere_and_comes_back_in_pieces() {
        let arguments = Map::from_iter([("text".to_owned(), json!([format!("to {MAIL}")]))]);
        let call = RawCall { name: "mail".to_owned(), arguments };
        let messages = vec![
            Message::user(format!("Write to {MAIL} and call +44 20 7946 0958. [email-1] stays.")),
            Message::calling("", vec![call]),
        ];
        let (ask, veil) = Veil::over(Ask::new(messages, 9));
        let sent = format!("{:?}", ask.messages);
        assert!(!sent.contains("lovelace") && !sent.contains("7946"), "{sent}");
        let mail = &veil.0.iter().find(|(_, original)| original == MAIL).expect("it is hidden").0;
        assert!(mail != "[email-1]" && sent.matches(mail.as_str()).count() == 2, "{sent}");
        let answer = format!("Dear {mail}, [x] [email-1]");
        for size in [1, 2, 7, 100] {
            let mut lifting = Lifting::default();
            let chars: Vec<char> = answer.chars().collect();
            let parts = chars.chunks(size).map(|part| part.iter().collect::<String>());
            let mut told: String = parts.map(|part| lifting.push(&veil, &part)).collect();
            told += &lifting.finish();
            assert_eq!(told, format!("Dear {MAIL}, [x] [email-1]"));
        }
        let mut value = json!({ "to": [mail] });
        veil.lift(&mut value);
        assert_eq!(value, json!({ "to": [MAIL] }));
    }

    #[test]
    fn a_request_without_private_data_is_sent_as_it_is() {
        let (ask, veil) = Veil::over(Ask::new(vec![Message::user("Sort the list.")], 9));
        assert_eq!((ask.messages[0].content.as_str(), veil.0.len()), ("Sort the list.", 0));
        assert_eq!(Lifting::default().push(&veil, "a [b"), "a [b");
    }
}
