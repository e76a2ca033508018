//! Writes answers in the shape of `/v1/messages`: blocks of text, thoughts and tool calls.

use serde_json::{Value, json};

use super::request::Request;
use crate::serve::ask::{Call, fresh_id};
use crate::serve::problem::Problem;
use crate::serve::reply::{Delta, End, Reason, Whole};
use crate::serve::wire::{Frame, Wire};

/// What is known of the message before the answer.
#[derive(Debug)]
pub struct Draft {
    id: String,
    model: String,
    stop: Vec<String>,
}

impl Draft {
    pub fn new(request: &Request) -> Draft {
        Draft {
            id: fresh_id("msg_"),
            model: request.model.clone(),
            stop: request.stop_sequences.clone().unwrap_or_default(),
        }
    }

    /// The message of a whole answer.
    pub fn message(&self, whole: &Whole) -> Value {
        let mut content = Vec::new();
        if !whole.thinking.is_empty() {
            content.push(json!({ "type": "thinking", "thinking": whole.thinking, "signature": "" }));
        }
        if !whole.text.is_empty() {
            content.push(json!({ "type": "text", "text": whole.text }));
        }
        content.extend(whole.calls.iter().map(|call| tool_use(call, json!(call.arguments))));
        let end = whole.end();
        let (reason, stop) = self.stop(end);
        self.object(content, reason, stop, usage(Some(end)))
    }

    fn object(&self, content: Vec<Value>, reason: Option<&str>, stop: Option<&str>, usage: Value) -> Value {
        json!({
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": reason,
            "stop_sequence": stop,
            "usage": usage,
        })
    }

    /// Why the answer ended, and before which stop text.
    fn stop(&self, end: End) -> (Option<&'static str>, Option<&str>) {
        match end.reason {
            Reason::Stop => (Some("end_turn"), None),
            Reason::StopText(number) => (Some("stop_sequence"), self.stop.get(number).map(String::as_str)),
            Reason::Length => (Some("max_tokens"), None),
            Reason::Calls => (Some("tool_use"), None),
        }
    }
}

/// Anthropic counts tokens that were in the cache apart from those that were read. Before the end nothing is known.
fn usage(end: Option<End>) -> Value {
    let (read, cached, generated) =
        end.map_or((0, 0, 0), |end| (end.prompt.saturating_sub(end.cached), end.cached, end.generated));
    json!({
        "input_tokens": read,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached,
        "output_tokens": generated,
    })
}

fn tool_use(call: &Call, input: Value) -> Value {
    json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": input })
}

/// The blocks that come in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    Text,
    Thinking,
}

/// Signs of life after which an empty piece of text is sent instead of a `ping`: Claude Code counts no pings, and gives up after
/// five minutes. Answers that begin sooner have no empty block before them.
const PINGS_MAX: usize = 12;

/// Writes the events of one answer.
#[derive(Debug)]
pub struct Events {
    draft: Draft,
    open: Option<Block>,
    /// The number of the block that is open or comes next.
    index: usize,
    /// Signs of life since the last piece.
    pings: usize,
}

impl Events {
    pub fn new(draft: Draft) -> Events {
        Events { draft, open: None, index: 0, pings: 0 }
    }

    fn piece(&mut self, block: Block, text: String) -> Vec<Frame> {
        let mut frames = Vec::new();
        self.pings = 0;
        if self.open != Some(block) {
            frames.extend(self.close());
            frames.push(self.start(match block {
                Block::Text => json!({ "type": "text", "text": "" }),
                Block::Thinking => json!({ "type": "thinking", "thinking": "", "signature": "" }),
            }));
            self.open = Some(block);
        }
        frames.push(self.change(match block {
            Block::Text => json!({ "type": "text_delta", "text": text }),
            Block::Thinking => json!({ "type": "thinking_delta", "thinking": text }),
        }));
        frames
    }

    fn alive(&mut self) -> Vec<Frame> {
        self.pings += 1;
        if self.pings < PINGS_MAX {
            return vec![Frame::named("ping", &json!({ "type": "ping" }))];
        }
        self.piece(self.open.unwrap_or(Block::Text), String::new())
    }

    fn call(&mut self, call: &Call) -> Vec<Frame> {
        let mut frames = Vec::from_iter(self.close());
        // Clients begin with an empty input and add to it.
        frames.push(self.start(tool_use(call, json!({}))));
        let input = json!(call.arguments).to_string();
        frames.push(self.change(json!({ "type": "input_json_delta", "partial_json": input })));
        frames.push(self.stop());
        frames
    }

    fn finished(&mut self, end: End) -> Vec<Frame> {
        let mut frames = Vec::from_iter(self.close());
        let (reason, stop) = self.draft.stop(end);
        let delta = json!({ "stop_reason": reason, "stop_sequence": stop });
        let event = json!({ "type": "message_delta", "delta": delta, "usage": usage(Some(end)) });
        frames.push(Frame::named("message_delta", &event));
        frames.push(Frame::named("message_stop", &json!({ "type": "message_stop" })));
        frames
    }

    fn start(&self, block: Value) -> Frame {
        let event = json!({ "type": "content_block_start", "index": self.index, "content_block": block });
        Frame::named("content_block_start", &event)
    }

    fn change(&self, delta: Value) -> Frame {
        let event = json!({ "type": "content_block_delta", "index": self.index, "delta": delta });
        Frame::named("content_block_delta", &event)
    }

    fn stop(&mut self) -> Frame {
        let event = json!({ "type": "content_block_stop", "index": self.index });
        self.index += 1;
        Frame::named("content_block_stop", &event)
    }

    /// Ends the block that is open.
    fn close(&mut self) -> Option<Frame> {
        self.open.take().map(|_| self.stop())
    }
}

impl Wire for Events {
    fn begin(&mut self) -> Vec<Frame> {
        let message = self.draft.object(Vec::new(), None, None, usage(None));
        vec![Frame::named("message_start", &json!({ "type": "message_start", "message": message }))]
    }

    fn delta(&mut self, delta: Delta) -> Vec<Frame> {
        match delta {
            Delta::Text(text) | Delta::Thinking(text) if text.is_empty() => Vec::new(),
            Delta::Text(text) => self.piece(Block::Text, text),
            Delta::Thinking(text) => self.piece(Block::Thinking, text),
            Delta::Call(call) => self.call(&call),
            Delta::Tokens(_) => Vec::new(),
            Delta::Alive => self.alive(),
            Delta::Finished(end) => self.finished(end),
        }
    }

    fn failed(&mut self, problem: &Problem) -> Vec<Frame> {
        vec![Frame::named("error", &super::error(problem))]
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;

    fn draft() -> Draft {
        Draft { id: "msg_1".to_owned(), model: "planner".to_owned(), stop: vec!["END".to_owned()] }
    }

    fn end(reason: Reason) -> End {
        End { reason, prompt: 10, cached: 4, generated: 7 }
    }

    fn call() -> Call {
        let arguments = Map::from_iter([("path".to_owned(), json!("a"))]);
        Call { id: "call_1".to_owned(), name: "Read".to_owned(), arguments }
    }

    #[test]
    fn blocks_are_opened_and_closed_in_order() {
        let mut events = Events::new(draft());
        let deltas = [
            Delta::Thinking("hm".to_owned()),
            Delta::Text("I ".to_owned()),
            Delta::Alive,
            Delta::Text("read.".to_owned()),
            Delta::Call(call()),
            Delta::Finished(end(Reason::Calls)),
        ];
        let mut frames = events.begin();
        frames.extend(deltas.into_iter().flat_map(|delta| events.delta(delta)));
        let events: Vec<Value> = frames.iter().map(|frame| serde_json::from_str(&frame.data).unwrap()).collect();
        for (frame, event) in frames.iter().zip(&events) {
            assert_eq!(event["type"].as_str(), frame.event);
        }
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
        let mut events = Events::new(draft());
        let silence = |events: &mut Events| (0..PINGS_MAX).flat_map(|_| events.delta(Delta::Alive)).collect::<Vec<_>>();
        let names = |frames: &[Frame]| frames.iter().filter_map(|frame| frame.event).collect::<Vec<_>>();
        let first = silence(&mut events);
        assert_eq!(names(&first)[..PINGS_MAX - 1], ["ping"; PINGS_MAX - 1]);
        assert_eq!(names(&first)[PINGS_MAX - 1..], ["content_block_start", "content_block_delta"]);
        assert_eq!(names(&silence(&mut events))[PINGS_MAX - 1..], ["content_block_delta"]);
        let answer = events.delta(Delta::Text("hello".to_owned()));
        assert_eq!(names(&answer), ["content_block_delta"], "in the block that is open");
    }

    #[test]
    fn the_end_of_an_answer_is_named() {
        let check = |reason: Reason, name: &str, stop: Option<&str>| {
            assert_eq!(draft().stop(end(reason)), (Some(name), stop));
        };
        check(Reason::Stop, "end_turn", None);
        check(Reason::StopText(0), "stop_sequence", Some("END"));
        check(Reason::Length, "max_tokens", None);
        check(Reason::Calls, "tool_use", None);
    }

    #[test]
    fn a_whole_answer_has_its_blocks() {
        let mut whole = Whole::default();
        whole.text.push_str("Hi");
        whole.calls.push(call());
        let expected = json!([
            { "type": "text", "text": "Hi" },
            { "type": "tool_use", "id": "call_1", "name": "Read", "input": { "path": "a" } },
        ]);
        assert_eq!(draft().message(&whole)["content"], expected);
    }
}
