//! Shortens a conversation that outgrows the context: drops the oldest results and rounds, and
//! replaces them with a summary made by code.

use serde_json::Value;

use crate::agent::budget::Budget;
use crate::language::words;
use crate::models::dialect::{Message, Speaker};

/// Maximum length, in bytes, of a result or an argument of an old round.
const STUB: usize = 200;
const NOTE: &str = "\n\n[The first rounds of this task were left out to make room; the newest follow. So far:\n";

/// Size limits of a conversation, in tokens as counted by `count`.
pub struct Limits<'a> {
    pub full: usize,
    pub condensed: usize,
    /// Number of newest rounds to keep.
    pub kept: usize,
    pub count: &'a dyn Fn(&[Message]) -> usize,
}

impl<'a> Limits<'a> {
    pub fn of(budget: &Budget, count: &'a dyn Fn(&[Message]) -> usize) -> Limits<'a> {
        Limits { full: budget.full, condensed: budget.condensed, kept: budget.rounds_kept, count }
    }

    fn fits(&self, messages: &[Message], most: usize) -> bool {
        (self.count)(messages) <= most
    }
}

/// The number of rounds since the request.
pub fn rounds(messages: &[Message], request_at: usize) -> usize {
    starts(messages, request_at).len()
}

/// The indices at which rounds since the request begin: messages with the model's words or calls.
fn starts(messages: &[Message], request_at: usize) -> Vec<usize> {
    (request_at + 1..messages.len()).filter(|at| messages[*at].speaker == Speaker::Assistant).collect()
}

/// Drops earlier turns, and all rounds except the newest; the message with the request then states
/// what was done in them.
pub fn leave_rounds(messages: &mut Vec<Message>, request_at: &mut usize, done: &str, limits: &Limits<'_>) {
    messages.drain(1..*request_at);
    *request_at = 1;
    let starts = starts(messages, *request_at);
    if starts.len() > limits.kept {
        messages.drain(starts[0]..starts[starts.len() - limits.kept]);
    }
    note(&mut messages[1].content, done);
}

/// Appends to the message with the request what was done in the dropped rounds.
fn note(opening: &mut String, done: &str) {
    opening.truncate(opening.find(NOTE).unwrap_or(opening.len()));
    opening.push_str(&format!("{NOTE}{done}]"));
}

/// Cuts results to their first lines, oldest first, and only as many as necessary; the newest round
/// is kept because the model has not read it yet. Returns whether that is enough.
fn stub_old(messages: &mut [Message], request_at: usize, limits: &Limits<'_>) -> bool {
    let newest = messages.iter().rposition(|message| message.speaker == Speaker::Assistant).unwrap_or(request_at);
    for at in request_at + 1..newest.max(request_at + 1) {
        if limits.fits(messages, limits.condensed) {
            return true;
        }
        match is_result(&messages[at]) {
            true => stub(&mut messages[at]),
            false => shorten_calls(&mut messages[at]),
        }
    }
    limits.fits(messages, limits.condensed)
}

/// Shortens messages until they fit, without dropping any.
pub fn shorten(messages: &mut [Message], request_at: usize, limits: &Limits<'_>) {
    if !stub_old(messages, request_at, limits) {
        cut(messages, limits);
    }
}

/// Cuts every message except the first until all fit.
fn cut(messages: &mut [Message], limits: &Limits<'_>) {
    let mut bytes = 8 * limits.full;
    while !limits.fits(messages, limits.full) && bytes > STUB {
        bytes /= 2;
        for message in messages.iter_mut().skip(1) {
            message.content = words::shorten(&message.content, bytes);
            shorten_arguments(message, bytes);
        }
    }
}

/// Shortens `messages` to `condensed` tokens if they have more than `full`; returns whether it did
/// so. `request_at` is the index of the request, after earlier turns; `done` is the summary of the
/// work so far.
pub fn make(messages: &mut Vec<Message>, request_at: &mut usize, done: &str, limits: &Limits<'_>) -> bool {
    if limits.fits(messages, limits.full) {
        return false;
    }
    messages.iter_mut().for_each(|message| message.thinking.clear());
    if stub_old(messages, *request_at, limits) {
        return true;
    }
    messages.drain(1..*request_at);
    *request_at = 1;
    if !limits.fits(messages, limits.condensed) {
        let mut starts = starts(messages, *request_at);
        let mut dropped = false;
        while starts.len() > limits.kept && !limits.fits(messages, limits.condensed) {
            let length = starts[1] - starts[0];
            messages.drain(starts[0]..starts[1]);
            starts.remove(0);
            starts.iter_mut().for_each(|start| *start -= length);
            dropped = true;
        }
        if dropped {
            note(&mut messages[1].content, done);
        }
    }
    // Only the opening and the newest rounds remain.
    cut(messages, limits);
    true
}

/// Whether a message contains the results of calls.
fn is_result(message: &Message) -> bool {
    matches!(message.speaker, Speaker::Tool | Speaker::User)
}

/// Cuts a result to its first line, which describes it.
fn stub(message: &mut Message) {
    if message.content.len() > 2 * STUB {
        let first = words::shorten(message.content.lines().next().unwrap_or_default(), STUB);
        message.content = format!("{first}\n[the rest was left out to make room; call again for it]");
    }
}

fn shorten_calls(message: &mut Message) {
    shorten_arguments(message, STUB);
}

fn shorten_arguments(message: &mut Message, bytes: usize) {
    for argument in message.calls.iter_mut().flat_map(|call| call.arguments.values_mut()) {
        shorten_value(argument, bytes);
    }
}

fn shorten_value(value: &mut Value, bytes: usize) {
    match value {
        Value::String(text) => *text = words::shorten(text, bytes),
        Value::Array(all) => all.iter_mut().for_each(|one| shorten_value(one, bytes)),
        Value::Object(all) => all.values_mut().for_each(|one| shorten_value(one, bytes)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::dialect::RawCall;

    fn count(messages: &[Message]) -> usize {
        messages.iter().map(|one| one.content.len() + format!("{:?}", one.calls).len()).sum::<usize>() / 4
    }

    fn call(text: &str) -> RawCall {
        RawCall { name: "write_file".into(), arguments: serde_json::Map::from_iter([("content".into(), text.into())]) }
    }

    /// A conversation with this many rounds, each with a call and a result of `bytes` bytes.
    fn conversation(rounds: usize, bytes: usize) -> Vec<Message> {
        let mut messages = vec![Message::system("rules"), Message::user("earlier"), Message::assistant("answer")];
        messages.push(Message::user("request"));
        for number in 0..rounds {
            messages.push(Message::calling(format!("round {number}"), vec![call(&"x".repeat(bytes / 2))]));
            messages.push(Message::tool(format!("result {number}\n{}", "word ".repeat(bytes / 5))));
        }
        messages
    }

    #[test]
    fn old_results_go_first_and_a_call_keeps_its_result() {
        let (mut messages, mut request_at) = (conversation(12, 2_000), 3);
        let limits = Limits { full: 6_000, condensed: 4_000, kept: 2, count: &count };
        assert!(make(&mut messages, &mut request_at, "- changed a.rs", &limits));
        assert!(count(&messages) <= 4_000);
        assert_eq!((request_at, messages.len()), (3, 4 + 24), "nothing but texts went");
        assert!(messages[5].content.starts_with("result 0\n[the rest was left out"));
        assert!(messages.last().is_some_and(|last| last.content.len() > 1_900), "the newest result is whole");
    }

    #[test]
    fn rounds_that_go_leave_what_was_done_in_them() {
        let (mut messages, mut request_at) = (conversation(40, 4_000), 3);
        let limits = Limits { full: 5_000, condensed: 3_500, kept: 2, count: &count };
        for done in ["- changed a.rs", "- changed a.rs and b.rs"] {
            messages.extend(conversation(6, 4_000).split_off(4));
            assert!(make(&mut messages, &mut request_at, done, &limits));
            assert!(count(&messages) <= 5_000, "{}", count(&messages));
            let opening = &messages[request_at].content;
            assert!(opening.starts_with("request") && opening.ends_with(&format!("{done}]")), "{opening}");
            assert_eq!(opening.matches("The first rounds").count(), 1);
            assert_eq!(messages[2].speaker, Speaker::Assistant, "no result without its call");
        }
    }

    #[test]
    fn rounds_that_the_model_has_noted_go_but_for_the_newest() {
        let (mut messages, mut request_at) = (conversation(10, 2_000), 3);
        let limits = Limits { full: 6_000, condensed: 4_000, kept: 2, count: &count };
        leave_rounds(&mut messages, &mut request_at, "- changed a.rs\nYour notes:\nit is in b.rs", &limits);
        let opening = &messages[request_at].content;
        assert!(
            opening.starts_with("request\n\n[The first rounds") && opening.ends_with("it is in b.rs]"),
            "{opening}"
        );
        let rest: Vec<&str> = messages[2..].iter().map(|one| one.content.lines().next().unwrap_or_default()).collect();
        assert_eq!(rest, ["round 8", "result 8", "round 9", "result 9"]);
    }

    #[test]
    fn one_result_that_is_too_long_is_cut() {
        let (mut messages, mut request_at) = (conversation(1, 400_000), 3);
        let limits = Limits { full: 2_000, condensed: 1_000, kept: 2, count: &count };
        assert!(make(&mut messages, &mut request_at, "", &limits));
        assert!(count(&messages) <= 2_000, "{}", count(&messages));
    }
}
