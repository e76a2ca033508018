//! Messages whose header names the channel and recipient, as in gpt-oss and Muse.
//!
//! gpt-oss writes `<|channel|>analysis<|message|>…<|end|>`, Muse ` to=self<|message|>…<|eom|>`.

use serde_json::Value;

use super::cursor::{Cursor, Read, Stop};
use super::reader::{Piece, Reader, State, Step, half};
use super::{Calls, Form, Notation, json, parse, tagged};
use crate::models::dialect::{RawCall, ToolText};

/// The marks of such messages.
pub const MARKS: [&str; 8] =
    ["<|channel|>", "<|message|>", "<|start|>", "<|constrain|>", "<|end|>", "<|call|>", "<|return|>", "<|eom|>"];
/// The marks that end the body of a message.
pub const ENDS: [&str; 6] = ["<|end|>", "<|call|>", "<|return|>", "<|start|>", "<|eom|>", "<|eot|>"];
/// Ends a header.
pub const BODY: &str = "<|message|>";
/// Maximum length of a header, in bytes.
const HEADER_MAX: usize = 400;
/// Recipients other than tools.
const PEOPLE: [&str; 4] = ["user", "assistant", "self", "all"];

/// The kind of a message's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    Words,
    Thought,
    /// A call to the tool named in the header, which is parsed again with the body.
    Call,
    /// A message to a tool that was not offered.
    Noise,
}

/// The mark before each header, if the notation has channels.
pub fn head(notation: &Notation) -> Option<&str> {
    Some(notation.begun.as_str()).filter(|begun| begun.starts_with("<|start|>"))
}

/// The length of the header here, and the kind of its body. The header of a call is not consumed.
pub fn header(notation: &Notation, text: &str, last: bool) -> Read<(usize, Channel)> {
    let cursor = Cursor::new(text, 0, last);
    let mut start = cursor;
    while ENDS.iter().try_fold(false, |found, end| Ok(found || *end != "<|start|>" && start.eat(end)?))? {}
    start.skip_blank();
    let may_be = |mark: &str| mark.starts_with(start.rest()) || start.rest().starts_with(mark);
    let begins =
        ["<|start|>", "<|channel|>", "<|constrain|>", BODY, "to=", "commentary", "analysis", "final", "assistant"];
    if start.is_at_end() && last {
        return Ok((text.len(), Channel::Noise));
    }
    if !begins.iter().any(|mark| may_be(mark)) {
        return Ok((0, Channel::Words));
    }
    let (end, _) = match cursor.find(&[BODY]) {
        Err(Stop::More) if text.len() > HEADER_MAX => return Ok((0, Channel::Words)),
        Err(Stop::Not) => {
            return Ok(if text.contains("<|") { (text.len(), Channel::Noise) } else { (0, Channel::Words) });
        }
        found => found?,
    };
    if end > HEADER_MAX {
        return Ok((0, Channel::Words));
    }
    let (recipient, channel) = parts(&text[..end]);
    let whole = end + BODY.len();
    Ok(match (recipient, channel) {
        (Some("self"), _) => (whole, Channel::Thought),
        (Some(name), _) if !PEOPLE.contains(&name) => (0, Channel::Call),
        (_, Some("analysis")) if is_channels(notation) => (whole, Channel::Thought),
        _ => (whole, Channel::Words),
    })
}

fn is_channels(notation: &Notation) -> bool {
    notation.calls.form == Form::Channels || notation.calls == Calls::default()
}

/// The recipient and the last channel named in a header.
fn parts(header: &str) -> (Option<&str>, Option<&str>) {
    let word = |rest: &str| rest.find(|c: char| c.is_whitespace() || c == '<').unwrap_or(rest.len());
    let recipient = header.rsplit_once("to=").map(|(_, rest)| &rest[..word(rest)]);
    let channel = header.rsplit_once("<|channel|>").map(|(_, rest)| rest.trim_start()).map(|rest| &rest[..word(rest)]);
    (recipient, channel)
}

/// The call in a message whose header begins here: its length, the call, and whether it is certain.
pub fn call(notation: &Notation, tools: &[ToolText], text: &str, last: bool) -> Read<(usize, RawCall, bool)> {
    let mut cursor = Cursor::new(text, 0, last);
    let (end, _) = cursor.find(&[BODY])?;
    let (recipient, _) = parts(&text[..end]);
    cursor.at = end + BODY.len();
    match is_channels(notation) {
        false => {
            cursor.expect(&notation.calls.section.open)?;
            let mut found = parse::next(&mut cursor, &notation.calls, tools)?;
            let (call, is_exact) = found.calls.pop().ok_or(Stop::Not)?;
            Ok((cursor.at, call, is_exact))
        }
        true => {
            let name = recipient.ok_or(Stop::Not)?;
            let bare = name.strip_prefix("functions.").unwrap_or(name);
            let is_known = tools.iter().any(|tool| tool.name == bare);
            if !tagged::is_name(bare) || !is_known && bare == name {
                return Err(Stop::Not);
            }
            let (value, is_exact) = json::value(&mut cursor)?;
            let Value::Object(arguments) = value else { return Err(Stop::Not) };
            Ok((cursor.at, RawCall { name: bare.to_owned(), arguments }, is_exact))
        }
    }
}

impl Reader<'_> {
    /// Reads a message's header, which determines the kind of its body.
    pub(super) fn header(&mut self, last: bool) -> Step {
        match header(self.notation, &self.held, last) {
            Err(_) => Step::Wait,
            Ok((length, channel)) => {
                self.held.drain(..length);
                self.state = State::Body(channel);
                Step::Go
            }
        }
    }

    pub(super) fn body(&mut self, channel: Channel, last: bool) -> Step {
        if let Channel::Call = channel {
            return self.called(last);
        }
        let piece: fn(String) -> Piece = if channel == Channel::Thought { Piece::Thinking } else { Piece::Content };
        let ends = ENDS;
        let found = Cursor::new(&self.held, 0, last).find(&ends);
        let (length, is_over) = match found {
            Ok((at, _)) => (at, true),
            Err(_) if last => (self.held.len(), false),
            Err(_) => (self.held.len() - ends.iter().map(|mark| half(&self.held, mark)).max().unwrap_or(0), false),
        };
        if channel == Channel::Noise {
            self.held.drain(..length);
        } else {
            self.give(length, piece);
        }
        if is_over {
            self.state = State::Header;
            return Step::Go;
        }
        Step::Wait
    }

    /// The body of a message to a tool.
    fn called(&mut self, last: bool) -> Step {
        match call(self.notation, self.tools, &self.held, last) {
            Err(Stop::More) => self.wait(),
            Err(Stop::Not) => {
                let body = self.held.find(BODY).map_or(self.held.len(), |at| at + BODY.len());
                self.held.drain(..body);
                self.state = State::Body(Channel::Noise);
                Step::Go
            }
            Ok((length, call, is_certain)) => {
                self.held.drain(..length);
                self.pieces.push(Piece::Call { call, is_certain });
                self.state = State::Body(Channel::Noise);
                Step::Go
            }
        }
    }
}
