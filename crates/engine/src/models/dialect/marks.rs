//! Keeps control tokens out of outside text, which comes from users, files, tools and models.
//!
//! Before a template is rendered, a private character is inserted after the first character of
//! every control token name in outside text. In the rendered text, these characters mark where to
//! split the prompt, so that no piece contains a complete name. Text without such names is rendered
//! unchanged, in one piece with the template's own text.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::chat::{Message, Part, RawCall, ToolText};
use super::prompt::{Piece, Prompt};
use crate::models::Picture;

/// Put inside the name of a control token in outside text.
const BREAK: char = '\u{10fffd}';
/// Put before the user's first text.
const FIRST: char = '\u{10fffc}';
/// Put after the beginning of an answer that the model continues.
pub const END: char = '\u{10fffb}';
/// Put around the number of a picture in the conversation.
const PICTURE: char = '\u{10fffa}';

/// The names of the control tokens of a vocabulary.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    names: HashSet<String>,
    /// First characters of the names, and the names' lengths in bytes.
    firsts: HashSet<char>,
    lengths: Vec<usize>,
}

impl Marks {
    /// A one-character name cannot be broken; no vocabulary has one.
    pub fn new(names: impl IntoIterator<Item = String>) -> Marks {
        let names: HashSet<String> = names.into_iter().filter(|name| name.chars().nth(1).is_some()).collect();
        let firsts = names.iter().filter_map(|name| name.chars().next()).collect();
        let lengths: HashSet<usize> = names.iter().map(String::len).collect();
        Marks { names, firsts, lengths: lengths.into_iter().collect() }
    }

    fn begins(&self, text: &str) -> bool {
        let is_name = |&length: &usize| text.get(..length).is_some_and(|name| self.names.contains(name));
        text.starts_with(|first| self.firsts.contains(&first)) && self.lengths.iter().any(is_name)
    }

    /// How often any of the names occurs in `text`.
    #[cfg(test)]
    pub fn count(&self, text: &str) -> usize {
        text.char_indices().filter(|(at, _)| self.begins(&text[*at..])).count()
    }

    /// `text` without our private characters, and with every control token name in it broken.
    pub fn guarded(&self, text: &str) -> String {
        let text = text.replace([BREAK, FIRST, END, PICTURE], "\u{fffd}");
        let mut guarded = String::with_capacity(text.len());
        for (at, letter) in text.char_indices() {
            guarded.push(letter);
            if self.begins(&text[at..]) {
                guarded.push(BREAK);
            }
        }
        guarded
    }

    fn json(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.guarded(text).into(),
            Value::Array(all) => all.iter().map(|one| self.json(one)).collect(),
            Value::Object(fields) => self.fields(fields).into(),
            other => other.clone(),
        }
    }

    fn fields(&self, fields: &Map<String, Value>) -> Map<String, Value> {
        fields.iter().map(|(name, value)| (self.guarded(name), self.json(value))).collect()
    }

    pub fn tool(&self, tool: &ToolText) -> ToolText {
        ToolText {
            name: self.guarded(&tool.name),
            description: self.guarded(&tool.description),
            parameters: self.json(&tool.parameters),
        }
    }

    /// The message as a template's input: guarded, with the numbers of its pictures in its text.
    /// The pictures themselves are added to `all`.
    pub fn message(&self, message: &Message, all: &mut Vec<Picture>) -> Message {
        let mut content = String::new();
        for part in message.parts() {
            match part {
                Part::Text(text) => content += &self.guarded(text),
                Part::Picture(picture) => {
                    content += &format!("{PICTURE}{}{PICTURE}", all.len());
                    all.push(picture.clone());
                }
            }
        }
        let call = |call: &RawCall| RawCall { name: self.guarded(&call.name), arguments: self.fields(&call.arguments) };
        Message {
            speaker: message.speaker,
            content,
            pictures: Vec::new(),
            thinking: self.guarded(&message.thinking),
            calls: message.calls.iter().map(call).collect(),
        }
    }

    /// The pieces of a rendered text, with the pictures whose numbers it contains.
    pub fn prompt(&self, rendered: &str, pictures: &[Picture]) -> Prompt {
        let (before, _) = rendered.split_once(FIRST).unwrap_or_default();
        // The fixed part is text, so it ends before the first picture.
        let fixed = before.split(PICTURE).next().map_or(0, |before| before.replace([BREAK, END], "").len());
        let text = rendered.replace([FIRST, END], "");
        let mut pieces = Vec::new();
        for (number, part) in text.split(PICTURE).enumerate() {
            // Every second part is between two marks.
            let picture = if number % 2 == 1 { part.parse().ok().and_then(|at: usize| pictures.get(at)) } else { None };
            match picture {
                Some(picture) => pieces.push(Piece::Picture(picture.clone())),
                None => {
                    let words = part.split(BREAK).filter(|piece| !piece.is_empty());
                    pieces.extend(words.map(|piece| Piece::Special(piece.to_owned())));
                }
            }
        }
        Prompt { pieces, fixed }
    }
}

/// `content` with a mark where its text begins. Templates trim leading whitespace.
pub fn first(content: &str) -> String {
    let text = content.trim_start();
    if text.is_empty() {
        content.to_owned()
    } else {
        format!("{}{FIRST}{text}", &content[..content.len() - text.len()])
    }
}
