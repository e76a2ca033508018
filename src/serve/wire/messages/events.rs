//! Writes answers in the form of `/v1/messages`: blocks of text, thoughts and tool calls.

use serde_json::{Value, json};

use crate::serve::ask::{Call, fresh_id};
use crate::serve::problem::Problem;
use crate::serve::reply::{Delta, End, Reason, Whole};
use crate::serve::wire::stream::{Wire, named};

/// The blocks that arrive in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    Text,
    Thinking,
}

/// Signs of life after which an empty piece of text replaces the `ping`: Claude Code does not count
/// pings, and gives up after five minutes. Answers that begin sooner are not preceded by an empty
/// block.
const PINGS_MAX: usize = 12;

/// Writes one answer.
#[derive(Debug)]
pub struct Events {
    id: String,
    model: String,
    stop: Vec<String>,
    open: Option<Block>,
    /// The index of the open block or, if none is open, of the next one.
    index: usize,
    /// Signs of life since the last piece.
    pings: usize,
}

impl Events {
    /// `stop` lists the texts that end the answer.
    pub fn new(model: String, stop: Vec<String>) -> Events {
        Events { id: fresh_id("msg_"), model, stop, open: None, index: 0, pings: 0 }
    }

    /// The message with this content; until it ends, usage and reason are unknown.
    fn message(&self, content: &[Value], end: Option<End>) -> Value {
        let (reason, stop) = end.map(|end| self.reason(end)).unzip();
        json!({
            "id": self.id, "type": "message", "role": "assistant", "model": self.model, "content": content,
            "stop_reason": reason, "stop_sequence": stop.flatten(), "usage": usage(end.unwrap_or_default()),
        })
    }

    /// Why the answer ended and, if at a stop text, at which one.
    fn reason(&self, end: End) -> (&'static str, Option<&str>) {
        match end.reason {
            Reason::Stop => ("end_turn", None),
            Reason::StopText(number) => ("stop_sequence", self.stop.get(number).map(String::as_str)),
            Reason::Length => ("max_tokens", None),
            Reason::Calls => ("tool_use", None),
        }
    }

    fn piece(&mut self, block: Block, text: &str) -> Vec<String> {
        let mut events = Vec::new();
        self.pings = 0;
        if self.open != Some(block) {
            events.extend(self.close());
            events.push(self.start(match block {
                Block::Text => json!({ "type": "text", "text": "" }),
                Block::Thinking => json!({ "type": "thinking", "thinking": "", "signature": "" }),
            }));
            self.open = Some(block);
        }
        events.push(self.change(match block {
            Block::Text => json!({ "type": "text_delta", "text": text }),
            Block::Thinking => json!({ "type": "thinking_delta", "thinking": text }),
        }));
        events
    }

    fn alive(&mut self) -> Vec<String> {
        self.pings += 1;
        if self.pings < PINGS_MAX {
            return vec![named(&json!({ "type": "ping" }))];
        }
        self.piece(self.open.unwrap_or(Block::Text), "")
    }

    fn call(&mut self, call: &Call) -> Vec<String> {
        let mut events = Vec::from_iter(self.close());
        // Clients begin with an empty input and append to it.
        events.push(self.start(tool_use(call, json!({}))));
        let input = json!(call.arguments).to_string();
        events.push(self.change(json!({ "type": "input_json_delta", "partial_json": input })));
        events.push(self.stop());
        events
    }

    fn finished(&mut self, end: End) -> Vec<String> {
        let mut events = Vec::from_iter(self.close());
        let (reason, stop) = self.reason(end);
        let delta = json!({ "stop_reason": reason, "stop_sequence": stop });
        events.push(named(&json!({ "type": "message_delta", "delta": delta, "usage": usage(end) })));
        events.push(named(&json!({ "type": "message_stop" })));
        events
    }

    fn start(&self, block: Value) -> String {
        named(&json!({ "type": "content_block_start", "index": self.index, "content_block": block }))
    }

    fn change(&self, delta: Value) -> String {
        named(&json!({ "type": "content_block_delta", "index": self.index, "delta": delta }))
    }

    fn stop(&mut self) -> String {
        let index = self.index;
        self.index += 1;
        named(&json!({ "type": "content_block_stop", "index": index }))
    }

    /// Ends the open block.
    fn close(&mut self) -> Option<String> {
        self.open.take().map(|_| self.stop())
    }
}

/// Anthropic counts cached tokens separately from tokens that were read.
fn usage(end: End) -> Value {
    json!({
        "input_tokens": end.prompt.saturating_sub(end.cached),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": end.cached,
        "output_tokens": end.generated,
    })
}

fn tool_use(call: &Call, input: Value) -> Value {
    json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": input })
}

impl Wire for Events {
    fn whole(self, whole: &Whole) -> Value {
        let mut content = Vec::new();
        if !whole.thinking.is_empty() {
            content.push(json!({ "type": "thinking", "thinking": whole.thinking, "signature": "" }));
        }
        if !whole.text.is_empty() {
            content.push(json!({ "type": "text", "text": whole.text }));
        }
        content.extend(whole.calls.iter().map(|call| tool_use(call, json!(call.arguments))));
        self.message(&content, Some(whole.end))
    }

    fn begin(&mut self) -> Vec<String> {
        vec![named(&json!({ "type": "message_start", "message": self.message(&[], None) }))]
    }

    fn delta(&mut self, delta: Delta) -> Vec<String> {
        match delta {
            Delta::Text(text, _) | Delta::Thinking(text) if text.is_empty() => Vec::new(),
            Delta::Text(text, _) => self.piece(Block::Text, &text),
            Delta::Thinking(text) => self.piece(Block::Thinking, &text),
            Delta::Call(call) => self.call(&call),
            Delta::Alive => self.alive(),
            Delta::Finished(end) => self.finished(end),
        }
    }

    fn failed(&mut self, problem: &Problem) -> Vec<String> {
        vec![named(&super::error(problem))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::wire::fields;

    fn text(text: &str) -> Delta {
        Delta::Text(text.to_owned(), Vec::new())
    }

    fn events() -> Events {
        let (id, model) = ("msg_1".to_owned(), "planner".to_owned());
        Events { id, model, stop: vec!["END".to_owned()], open: None, index: 0, pings: 0 }
    }

    fn end(reason: Reason) -> End {
        End { reason, prompt: 10, cached: 4, generated: 7 }
    }

    fn call() -> Call {
        fields::call(&json!("call_1"), &json!("Read"), &json!({ "path": "a" }))
    }

    /// The data of the events; each event is named after its data's type.
    fn data(events: &[String]) -> Vec<Value> {
        events.iter().map(|event| serde_json::from_str(event.split_once("data: ").unwrap().1).unwrap()).collect()
    }

    #[test]
    fn blocks_are_opened_and_closed_in_order() {
        let mut events = events();
        let deltas = [
            Delta::Thinking("hm".to_owned()),
            text("I "),
            Delta::Alive,
            text("read."),
            Delta::Call(call()),
            Delta::Finished(end(Reason::Calls)),
        ];
        let mut written = events.begin();
        written.extend(deltas.into_iter().flat_map(|delta| events.delta(delta)));
        assert!(written[0].starts_with("event: message_start\ndata: {"), "{}", written[0]);
        let events = data(&written);
        let usage = json!({
            "input_tokens": 6, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 4, "output_tokens": 7,
        });
        let expected = json!([
            { "type": "content_block_start", "index": 0,
              "content_block": { "type": "thinking", "thinking": "", "signature": "" } },
            { "type": "content_block_delta", "index": 0, "delta": { "type": "thinking_delta", "thinking": "hm" } },
            { "type": "content_block_stop", "index": 0 },
            { "type": "content_block_start", "index": 1, "content_block": { "type": "text", "text": "" } },
            { "type": "content_block_delta", "index": 1, "delta": { "type": "text_delta", "text": "I " } },
            { "type": "ping" },
            { "type": "content_block_delta", "index": 1, "delta": { "type": "text_delta", "text": "read." } },
            { "type": "content_block_stop", "index": 1 },
            { "type": "content_block_start", "index": 2,
              "content_block": { "type": "tool_use", "id": "call_1", "name": "Read", "input": {} } },
            { "type": "content_block_delta", "index": 2,
              "delta": { "type": "input_json_delta", "partial_json": "{\"path\":\"a\"}" } },
            { "type": "content_block_stop", "index": 2 },
            { "type": "message_delta", "delta": { "stop_reason": "tool_use", "stop_sequence": null }, "usage": usage },
            { "type": "message_stop" },
        ]);
        assert_eq!(events[0]["message"]["content"], json!([]));
        assert_eq!(Value::Array(events[1..].to_vec()), expected);
    }

    #[test]
    fn a_long_silence_is_broken_by_an_empty_piece_once_a_minute() {
        let mut events = events();
        let silence = |events: &mut Events| -> Vec<Value> {
            let written: Vec<String> = (0..PINGS_MAX).flat_map(|_| events.delta(Delta::Alive)).collect();
            data(&written).into_iter().map(|event| event["type"].clone()).collect()
        };
        let first = silence(&mut events);
        assert_eq!(first[..PINGS_MAX - 1], ["ping"; PINGS_MAX - 1]);
        assert_eq!(first[PINGS_MAX - 1..], ["content_block_start", "content_block_delta"]);
        assert_eq!(silence(&mut events)[PINGS_MAX - 1..], ["content_block_delta"]);
        let answer = data(&events.delta(text("hello")));
        assert_eq!(answer.len(), 1, "in the block that is open");
    }

    #[test]
    fn a_whole_answer_has_its_blocks_and_its_end() {
        for (reason, name, stop) in [
            (Reason::Stop, "end_turn", None),
            (Reason::StopText(0), "stop_sequence", Some("END")),
            (Reason::Length, "max_tokens", None),
            (Reason::Calls, "tool_use", None),
        ] {
            let whole = Whole { text: "Hi".to_owned(), calls: vec![call()], end: end(reason), ..Whole::default() };
            let message = events().whole(&whole);
            let expected = json!([
                { "type": "text", "text": "Hi" },
                { "type": "tool_use", "id": "call_1", "name": "Read", "input": { "path": "a" } },
            ]);
            assert_eq!(message["content"], expected);
            assert_eq!((&message["stop_reason"], &message["stop_sequence"]), (&json!(name), &json!(stop)));
        }
    }
}
