//! Writes a conversation as a template's input, in the forms and order that the template accepts.

use std::mem::take;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};

use super::chat::{Message, Part, RawCall, Speaker, ToolText};
use super::list;
use super::notation::Calls;

/// How a conversation differs from OpenAI's format because a template requires it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ways(u16);

/// Contents are written as lists of parts.
pub const CONTENT_IN_PARTS: Ways = Ways(1);
/// The arguments of a call are written as JSON text.
pub const ARGUMENTS_AS_TEXT: Ways = Ways(1 << 1);
/// A message that has calls but no text has no content.
pub const NO_EMPTY_CONTENT: Ways = Ways(1 << 2);
/// A message has at most one call, followed by its result.
pub const ONE_CALL: Ways = Ways(1 << 3);
/// There is only one system message, which comes first.
pub const SYSTEM_FIRST: Ways = Ways(1 << 4);
/// Thoughts are omitted.
pub const NO_THOUGHTS: Ways = Ways(1 << 5);
/// Speakers alternate, beginning with the user.
pub const ALTERNATING: Ways = Ways(1 << 6);
/// The system message is put at the beginning of the user's first message.
pub const SYSTEM_IN_USER: Ways = Ways(1 << 7);
/// Results are written as messages from the user.
pub const RESULTS_BY_USER: Ways = Ways(1 << 8);
/// Calls are written out in the assistant's text.
pub const CALLS_IN_WORDS: Ways = Ways(1 << 9);
/// The tools are listed in the system message.
pub const TOOLS_IN_SYSTEM: Ways = Ways(1 << 10);

/// Whether a repair may help a conversation and its tools.
type Applies = fn(&[Message], &[ToolText]) -> bool;

/// Repairs to try, alone and combined, when a template refuses a conversation. Those that would not
/// change it are skipped.
const REPAIRS: [(Ways, Applies); 7] = [
    (ONE_CALL, |messages, _| messages.iter().any(|message| message.calls.len() > 1)),
    (SYSTEM_FIRST, |messages, _| messages.iter().skip(1).any(|message| message.speaker == Speaker::System)),
    (NO_THOUGHTS, |messages, _| messages.iter().any(|message| !message.thinking.is_empty())),
    (ALTERNATING, |messages, _| messages.len() > 1),
    (SYSTEM_IN_USER, |messages, _| messages.iter().any(|message| message.speaker == Speaker::System)),
    (Ways(RESULTS_BY_USER.0 | CALLS_IN_WORDS.0), |messages, _| {
        messages.iter().any(|message| message.speaker == Speaker::Tool || !message.calls.is_empty())
    }),
    (TOOLS_IN_SYSTEM, |_, tools| !tools.is_empty()),
];

impl Ways {
    pub fn and(self, other: Ways) -> Ways {
        Ways(self.0 | other.0)
    }

    pub fn has(self, other: Ways) -> bool {
        self.0 & other.0 == other.0
    }

    /// All repairs that would change this conversation and may make a template accept it.
    pub fn helped(self, messages: &[Message], tools: &[ToolText]) -> Ways {
        let apply = REPAIRS.iter().filter(|(way, applies)| !self.has(*way) && applies(messages, tools));
        apply.fold(Ways::default(), |all, (way, _)| all.and(*way))
    }

    /// These ways plus some of the repairs in `helped`, fewest first.
    pub fn repaired(self, helped: Ways) -> impl Iterator<Item = Ways> {
        let repairs: Vec<Ways> = REPAIRS.iter().map(|(way, _)| *way).filter(|way| helped.has(*way)).collect();
        let mut sets: Vec<u32> = (1..1 << repairs.len()).collect();
        sets.sort_by_key(|set| set.count_ones());
        sets.into_iter().map(move |set| {
            let chosen = repairs.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1);
            chosen.fold(self, |ways, (_, way)| ways.and(*way))
        })
    }
}

/// `messages` and `tools` as a template's input. Calls in text use the model's notation; `told`
/// adds instructions for calls to the list of tools in the system message.
pub fn input(messages: Vec<Message>, tools: &[ToolText], ways: Ways, calls: &Calls, told: bool) -> Map<String, Value> {
    let mut messages = messages;
    let mut given = Map::new();
    if !tools.is_empty() && ways.has(TOOLS_IN_SYSTEM) {
        in_system(&mut messages, &listed(tools, calls, told));
    } else if !tools.is_empty() {
        given.insert("tools".to_owned(), tools.iter().map(ToolText::json).collect());
    }
    if ways.has(NO_THOUGHTS) {
        messages.iter_mut().for_each(|message| message.thinking.clear());
    }
    if ways.has(CALLS_IN_WORDS) {
        messages.iter_mut().for_each(|message| in_words(message, calls));
    }
    if ways.has(RESULTS_BY_USER) {
        for message in messages.iter_mut().filter(|message| message.speaker == Speaker::Tool) {
            message.speaker = Speaker::User;
            message.content.insert_str(0, "Result:\n");
        }
    }
    if ways.has(ONE_CALL) {
        messages = one_call_a_message(messages);
    }
    if ways.has(SYSTEM_FIRST) || ways.has(SYSTEM_IN_USER) {
        messages = system_first(messages, ways.has(SYSTEM_IN_USER));
    }
    if ways.has(ALTERNATING) {
        messages = alternating(messages);
    }
    given.insert("messages".to_owned(), json_of(messages, ways).into());
    given
}

/// A list of `tools` for a system message.
fn listed(tools: &[ToolText], calls: &Calls, told: bool) -> String {
    let list = list::numbered(tools);
    let arguments = Map::from_iter([("ARGUMENT".to_owned(), Value::from("value"))]);
    let call = if told { calls.write("NAME", &arguments) } else { String::new() };
    let call = if told { format!("\n\nTo call one, write {}", call.trim()) } else { call };
    format!("Tools:\n{list}{call}")
}

fn in_system(messages: &mut Vec<Message>, text: &str) {
    match messages.first_mut() {
        Some(first) if first.speaker == Speaker::System => {
            first.content = format!("{}\n\n{text}", first.content.trim_end());
        }
        _ => messages.insert(0, Message::system(text)),
    }
}

/// Writes a message's calls into its content.
fn in_words(message: &mut Message, calls: &Calls) {
    let words = Some(take(&mut message.content)).filter(|words| !words.is_empty());
    let written = take(&mut message.calls).into_iter().map(|call| calls.write(&call.name, &call.arguments));
    message.content = words.into_iter().chain(written).collect::<Vec<_>>().join("\n");
}

/// Moves each additional call of a message into a separate message after the previous call's
/// result.
fn one_call_a_message(messages: Vec<Message>) -> Vec<Message> {
    let alone = |call: RawCall| Message::calling("", vec![call]);
    let (mut out, mut further, mut answered) = (Vec::new(), Vec::new().into_iter(), false);
    for mut message in messages {
        if message.speaker == Speaker::Tool {
            // The first result belongs to the call that stays in its message.
            if answered {
                out.extend(further.next().map(alone));
            }
            answered = true;
        } else {
            out.extend(further.map(alone));
            further = message.calls.split_off(message.calls.len().min(1)).into_iter();
            answered = false;
        }
        out.push(message);
    }
    out.extend(further.map(alone));
    out
}

/// Merges all system messages into the first message, or into the beginning of the user's first
/// message.
fn system_first(messages: Vec<Message>, in_user: bool) -> Vec<Message> {
    let (system, mut others): (Vec<_>, Vec<_>) =
        messages.into_iter().partition(|message| message.speaker == Speaker::System);
    if system.is_empty() {
        return others;
    }
    let text = system.iter().map(|message| message.content.trim_end()).collect::<Vec<_>>().join("\n\n");
    match others.iter_mut().find(|message| message.speaker == Speaker::User).filter(|_| in_user) {
        Some(user) => user.content = format!("{text}\n\n{}", user.content),
        None => {
            others.insert(0, if in_user { Message::user(text) } else { Message::system(text) });
        }
    }
    others
}

/// Merges consecutive messages by the same speaker, and adds a user message if the assistant
/// begins.
fn alternating(messages: Vec<Message>) -> Vec<Message> {
    let mut out: Vec<Message> = Vec::new();
    for message in messages {
        let begins = message.speaker == Speaker::Assistant && out.iter().all(|one| one.speaker == Speaker::System);
        if begins {
            out.push(Message::user("…"));
        }
        match out.last_mut() {
            Some(last) if last.speaker == message.speaker && last.speaker != Speaker::Tool && last.calls.is_empty() => {
                last.pictures.extend(message.pictures);
                last.content = [take(&mut last.content), message.content].join("\n\n");
                last.calls = message.calls;
            }
            _ => out.push(message),
        }
    }
    out
}

/// The messages in OpenAI's format. Calls get identifiers of nine letters and digits, which
/// Mistral's templates require; they are derived from the call's position, so that a longer
/// conversation begins like the shorter one.
fn json_of(messages: Vec<Message>, ways: Ways) -> Vec<Value> {
    let (mut calls, mut waiting) = (0, Vec::new().into_iter());
    let mut next = || {
        calls += 1;
        format!("call{calls:05}")
    };
    let content = |text: String| match ways.has(CONTENT_IN_PARTS) {
        true => json!([{ "type": "text", "text": text }]),
        false => text.into(),
    };
    let mut out = Vec::new();
    for message in messages {
        out.push(match message.speaker {
            Speaker::System => json!({ "role": "system", "content": content(message.content) }),
            Speaker::User if !message.pictures.is_empty() => json!({ "role": "user", "content": in_parts(&message) }),
            Speaker::User => json!({ "role": "user", "content": content(message.content) }),
            Speaker::Tool => {
                let (id, name) = waiting.next().unwrap_or_else(|| (next(), "tool".to_owned()));
                json!({ "role": "tool", "tool_call_id": id, "name": name, "content": content(message.content) })
            }
            Speaker::Assistant => {
                let identified: Vec<(String, RawCall)> = message.calls.into_iter().map(|call| (next(), call)).collect();
                let left_out = ways.has(NO_EMPTY_CONTENT) && message.content.is_empty() && !identified.is_empty();
                let content = if left_out { Value::Null } else { content(message.content) };
                let mut one = json!({ "role": "assistant", "content": content });
                if !message.thinking.is_empty() {
                    one["reasoning_content"] = message.thinking.into();
                }
                if !identified.is_empty() {
                    one["tool_calls"] = identified.iter().map(|(id, call)| call_json(id, call, ways)).collect();
                }
                waiting = identified.into_iter().map(|(id, call)| (id, call.name)).collect::<Vec<_>>().into_iter();
                one
            }
        });
    }
    out
}

/// Text and pictures in OpenAI's format, with pictures as data URIs of what may leave the machine
/// ([`Picture::sent`](crate::models::Picture::sent)). Only for servers: a template's input has the
/// pictures' numbers in its text.
fn in_parts(message: &Message) -> Value {
    let part = |part: Part<'_>| match part {
        Part::Text(text) => json!({ "type": "text", "text": text }),
        Part::Picture(picture) => match picture.sent() {
            Ok((file, kind)) => {
                let url = format!("data:{kind};base64,{}", BASE64_STANDARD.encode(file));
                json!({ "type": "image_url", "image_url": { "url": url } })
            }
            Err(why) => json!({ "type": "text", "text": format!("[{why}]") }),
        },
    };
    message.parts().into_iter().map(part).collect()
}

fn call_json(id: &str, call: &RawCall, ways: Ways) -> Value {
    let arguments = Value::Object(call.arguments.clone());
    let arguments = if ways.has(ARGUMENTS_AS_TEXT) { arguments.to_string().into() } else { arguments };
    json!({ "id": id, "type": "function", "function": { "name": call.name, "arguments": arguments } })
}
