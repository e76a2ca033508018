//! Turns the chunks of any server's reply into pieces, and decides at the end which calls count.
//!
//! ```text
//! {"choices":[{"delta":{"reasoning_content":"Which file?"}}]}
//! {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"read_file","arguments":"{\"pa"}}]}}]}
//! {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"th\":\"a\"}"}}]}}]}
//! {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}
//! ```

use serde_json::{Map, Value};

use super::error::Why;
use super::piece::{Finish, Piece, Usage};
use super::said;
use crate::models::dialect::notation::{Notation, Piece as Part, Reader};
use crate::models::dialect::{RawCall, ToolText};

/// Maximum number of calls in one reply, and of bytes in their arguments.
const CALLS_MAX: usize = 64;
const ARGUMENTS_MAX: usize = 16 << 20;

/// The reader of one reply.
pub struct Chunks<'n> {
    tools: &'n [ToolText],
    words: Reader<'n>,
    fields: Vec<Field>,
    /// Calls in the text.
    noted: Vec<(RawCall, bool)>,
    pub usage: Usage,
    /// Why the model ended, once known.
    pub finish: Option<Finish>,
    /// The server's reason for the end, if it is not a known one.
    reason: String,
    /// Bytes of thoughts, text and calls so far.
    pub bytes: usize,
}

/// A call that arrives in fields.
#[derive(Debug, Default)]
struct Field {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl<'n> Chunks<'n> {
    pub fn new(notation: &'n Notation, tools: &'n [ToolText]) -> Chunks<'n> {
        Chunks {
            tools,
            words: notation.reader(tools, false),
            fields: Vec::new(),
            noted: Vec::new(),
            usage: Usage { is_estimate: true, ..Usage::default() },
            finish: None,
            reason: String::new(),
            bytes: 0,
        }
    }

    /// Reads the data of an event, or the complete answer of a server that does not stream.
    pub fn take(&mut self, value: &Value) -> Result<Vec<Piece>, Why> {
        if let Some(error) = said::error_in(value) {
            return Err(if said::is_too_long(value, &error) {
                Why::TooLong { said: error }
            } else {
                Why::InAnswer(error)
            });
        }
        said::count(value, &mut self.usage);
        let mut pieces = Vec::new();
        let progress = &value["prompt_progress"];
        if let (Some(total), Some(done)) = (progress["total"].as_u64(), progress["processed"].as_u64()) {
            pieces.push(Piece::Progress { total: total as usize, done: done as usize });
        }
        let choice = &value["choices"][0];
        let delta = if choice["delta"].is_object() { &choice["delta"] } else { &choice["message"] };
        let thought =
            ["reasoning_content", "reasoning", "thinking"].map(|field| delta[field].as_str().unwrap_or_default());
        if let Some(thought) = thought.into_iter().find(|thought| !thought.is_empty()) {
            self.bytes += thought.len();
            pieces.push(Piece::Thinking(thought.to_owned()));
        }
        self.content(&delta["content"], &mut pieces);
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            self.field(call)?;
        }
        if delta["function_call"].is_object() {
            self.field(&serde_json::json!({ "index": 0, "function": delta["function_call"] }))?;
        }
        if let Some(reason) = choice["finish_reason"].as_str().filter(|reason| !reason.is_empty()) {
            let finish = finish(reason)?;
            if finish == Finish::Unsaid {
                self.reason = said::shown(reason, None);
            }
            self.finish = Some(finish);
        }
        Ok(pieces)
    }

    /// A text, or a list of parts, some of which are thoughts.
    fn content(&mut self, content: &Value, pieces: &mut Vec<Piece>) {
        match content {
            Value::String(text) => {
                self.bytes += text.len();
                let parts = self.words.push(text);
                self.keep(parts, pieces);
            }
            Value::Array(parts) => {
                for part in parts {
                    match part["thinking"].as_array() {
                        Some(inner) => {
                            let texts = inner.iter().filter_map(|one| one["text"].as_str());
                            let thought: String = texts.collect();
                            self.bytes += thought.len();
                            pieces.push(Piece::Thinking(thought));
                        }
                        None => self.content(&part["text"], pieces),
                    }
                }
            }
            _ => {}
        }
    }

    fn keep(&mut self, parts: Vec<Part>, pieces: &mut Vec<Piece>) {
        for part in parts {
            match part {
                Part::Content(text) => pieces.push(Piece::Text(text)),
                Part::Thinking(text) => pieces.push(Piece::Thinking(text)),
                Part::Call { call, is_certain } => self.noted.push((call, is_certain)),
            }
        }
    }

    /// A call or part of one. Some servers leave out `index`, or send 0 for every call: then a new
    /// id begins a new call.
    fn field(&mut self, part: &Value) -> Result<(), Why> {
        let (index, id) = (part["index"].as_u64(), part["id"].as_str().unwrap_or_default());
        let function = &part["function"];
        let name = function["name"].as_str().unwrap_or_default();
        let is_other = |field: &Field| !id.is_empty() && !field.id.is_empty() && field.id != id;
        let place = match index {
            Some(_) => self.fields.iter().rposition(|field| field.index == index && !is_other(field)),
            None if !id.is_empty() => self.fields.iter().rposition(|field| field.id == id),
            None if !name.is_empty() => None,
            None => self.fields.len().checked_sub(1),
        };
        let place = place.unwrap_or_else(|| {
            self.fields.push(Field { index, ..Field::default() });
            self.fields.len() - 1
        });
        let field = &mut self.fields[place];
        if field.id.is_empty() {
            field.id = id.to_owned();
        }
        if field.name.is_empty() {
            field.name = name.to_owned();
        }
        match &function["arguments"] {
            Value::String(text) => field.arguments.push_str(text),
            Value::Object(whole) => field.arguments = Value::Object(whole.clone()).to_string(),
            _ => {}
        }
        self.bytes += name.len() + function["arguments"].as_str().map_or(0, str::len);
        if self.fields.len() > CALLS_MAX
            || self.fields.iter().map(|field| field.arguments.len()).sum::<usize>() > ARGUMENTS_MAX
        {
            return Err(Why::Unreadable(format!(
                "it has more than {CALLS_MAX} calls, or calls of {ARGUMENTS_MAX} bytes"
            )));
        }
        Ok(())
    }

    /// Ends the reply: returns the rest of its text, and its calls if it is complete.
    pub fn end(self) -> Result<(Vec<Piece>, Finish, Usage), Why> {
        let Chunks { tools, words, fields, mut noted, usage, finish, reason, .. } = self;
        let mut pieces = Vec::new();
        for part in words.finish() {
            match part {
                Part::Content(text) => pieces.push(Piece::Text(text)),
                Part::Thinking(text) => pieces.push(Piece::Thinking(text)),
                Part::Call { call, is_certain } => noted.push((call, is_certain)),
            }
        }
        let finish = finish.unwrap_or(Finish::Unsaid);
        if finish.is_whole() {
            let given = fields.into_iter().map(|field| field.whole(tools)).collect::<Result<Vec<RawCall>, Why>>()?;
            // A server that sends calls in fields may leave the same calls in the text.
            let in_fields = !given.is_empty();
            let calls = if in_fields { given.into_iter().map(|call| (call, true)).collect() } else { noted };
            let calls = calls.into_iter().take(CALLS_MAX);
            pieces.extend(calls.map(|(call, is_certain)| Piece::Call { call, is_certain, in_fields }));
        } else {
            let given = fields.into_iter().filter_map(|field| field.whole(tools).ok());
            let calls: Vec<String> =
                given.chain(noted.into_iter().map(|(call, _)| call)).map(|call| call.name).collect();
            if !calls.is_empty() {
                pieces.push(Piece::LeftOut { calls, why: cut(finish, &reason) });
            }
        }
        Ok((pieces, finish, usage))
    }
}

impl Field {
    fn whole(self, tools: &[ToolText]) -> Result<RawCall, Why> {
        let text = if self.arguments.trim().is_empty() { "{}" } else { self.arguments.trim() };
        let read = |text: &str| serde_json::from_str::<Map<String, Value>>(text).ok();
        // Some servers encode the text of the arguments twice.
        let twice = || read(&serde_json::from_str::<String>(text).ok()?);
        let name = match self.name.strip_prefix("functions.") {
            Some(bare) if tools.iter().any(|tool| tool.name == bare) => bare.to_owned(),
            _ => self.name,
        };
        match read(text).or_else(twice) {
            Some(arguments) if !name.is_empty() => Ok(RawCall { name, arguments }),
            _ => Err(Why::BadCall(said::shown(&name, None))),
        }
    }
}

/// Why the calls of a reply are left out.
fn cut(finish: Finish, reason: &str) -> String {
    match finish {
        Finish::Length => "the answer was cut at its limit of tokens".to_owned(),
        Finish::Filtered => "the server filtered the rest of the answer".to_owned(),
        _ if reason.is_empty() => "the server does not report why the answer ended, so it may be cut".to_owned(),
        _ => format!("the answer ended with `{reason}`, which is unknown, so it may be cut"),
    }
}

fn finish(reason: &str) -> Result<Finish, Why> {
    Ok(match reason.to_lowercase().as_str() {
        "stop" | "tool_calls" | "tool_call" | "tool_use" | "function_call" | "end_turn" | "eos" | "eos_token"
        | "stop_sequence" => Finish::Stop,
        "length" | "max_tokens" | "max_completion_tokens" | "max_output_tokens" => Finish::Length,
        "content_filter" | "safety" => Finish::Filtered,
        // vLLM and SGLang end an aborted request with one of these.
        "abort" | "error" | "cancelled" | "canceled" => return Err(Why::Cut(format!("finish_reason is {reason}"))),
        _ => Finish::Unsaid,
    })
}

#[cfg(test)]
mod tests;
