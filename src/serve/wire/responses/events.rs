//! Writes an answer as the events of `/v1/responses`: items that are added, grow and are done.

use serde_json::{Value, json};

use super::draft::{Draft, Said, status};
use crate::serve::ask::Call;
use crate::serve::problem::{Kind, Problem};
use crate::serve::reply::{Delta, End, Reason};
use crate::serve::wire::{Frame, Wire};

/// An item that grows.
#[derive(Debug)]
struct Growing {
    said: Said,
    id: String,
    text: String,
}

/// Writes the events of one response.
#[derive(Debug)]
pub struct Events {
    draft: Draft,
    growing: Option<Growing>,
    /// The number of the next event.
    sequence: usize,
}

impl Events {
    pub fn new(draft: Draft) -> Events {
        Events { draft, growing: None, sequence: 0 }
    }

    /// An event. Its name is its type, and all have numbers.
    fn event(&mut self, kind: &'static str, fields: Value) -> Frame {
        let mut event = json!({ "type": kind, "sequence_number": self.sequence });
        self.sequence += 1;
        if let (Value::Object(event), Value::Object(fields)) = (&mut event, fields) {
            event.extend(fields);
        }
        Frame::named(kind, &event)
    }

    /// An event about the whole response.
    fn state(&mut self, kind: &'static str, response: Value) -> Frame {
        self.event(kind, json!({ "response": response }))
    }

    /// An event about the item that grows or is added.
    fn item(&mut self, kind: &'static str, index: usize, item: Value) -> Frame {
        self.event(kind, json!({ "output_index": index, "item": item }))
    }

    fn piece(&mut self, said: Said, piece: &str) -> Vec<Frame> {
        let mut frames = Vec::new();
        if piece.is_empty() {
            return frames;
        }
        let mut growing = match self.growing.take() {
            Some(growing) if growing.said == said => growing,
            other => {
                self.growing = other;
                frames.extend(self.close("completed"));
                let growing = Growing { said, id: said.fresh_id(), text: String::new() };
                frames.extend(self.open(&growing));
                growing
            }
        };
        growing.text.push_str(piece);
        let (kind, mut fields) = match said {
            Said::Text => ("response.output_text.delta", json!({ "delta": piece, "logprobs": [] })),
            Said::Thinking => ("response.reasoning_text.delta", json!({ "delta": piece })),
        };
        self.place(&mut fields, &growing.id);
        frames.push(self.event(kind, fields));
        self.growing = Some(growing);
        frames
    }

    /// Says in an event about a part where the part is: each item has one.
    fn place(&self, fields: &mut Value, id: &str) {
        fields["item_id"] = id.into();
        fields["output_index"] = self.draft.output.len().into();
        fields["content_index"] = json!(0);
    }

    fn open(&mut self, growing: &Growing) -> Vec<Frame> {
        let index = self.draft.output.len();
        let item = growing.said.item(&growing.id, Vec::new(), "in_progress");
        let mut part = json!({ "part": growing.said.part("") });
        self.place(&mut part, &growing.id);
        vec![self.item("response.output_item.added", index, item), self.event("response.content_part.added", part)]
    }

    /// Ends the item that grows, if one does.
    fn close(&mut self, status: &str) -> Vec<Frame> {
        let Some(Growing { said, id, text }) = self.growing.take() else { return Vec::new() };
        let (kind, mut done) = match said {
            Said::Text => ("response.output_text.done", json!({ "text": text, "logprobs": [] })),
            Said::Thinking => ("response.reasoning_text.done", json!({ "text": text })),
        };
        self.place(&mut done, &id);
        let mut part = json!({ "part": said.part(&text) });
        self.place(&mut part, &id);
        let index = self.draft.output.len();
        let item = self.draft.say(said, &id, &text, status);
        vec![
            self.event(kind, done),
            self.event("response.content_part.done", part),
            self.item("response.output_item.done", index, item),
        ]
    }

    fn call(&mut self, call: &Call) -> Vec<Frame> {
        let mut frames = self.close("completed");
        let index = self.draft.output.len();
        let id = self.draft.call_id(call);
        let input = self.draft.tools.input(call);
        let begun = self.draft.tools.item(&id, call, "in_progress", true);
        let item = self.draft.call(&id, call);
        let (delta, done, key) = if self.draft.tools.is_custom(call) {
            ("response.custom_tool_call_input.delta", "response.custom_tool_call_input.done", "input")
        } else {
            ("response.function_call_arguments.delta", "response.function_call_arguments.done", "arguments")
        };
        let piece = json!({ "item_id": id, "output_index": index, "delta": input });
        let mut all = json!({ "item_id": id, "output_index": index, "name": item["name"] });
        all[key] = input.into();
        frames.push(self.item("response.output_item.added", index, begun));
        frames.push(self.event(delta, piece));
        frames.push(self.event(done, all));
        frames.push(self.item("response.output_item.done", index, item));
        frames
    }

    fn finished(&mut self, end: End) -> Vec<Frame> {
        let mut frames = self.close(status(end));
        let kind = if end.reason == Reason::Length { "response.incomplete" } else { "response.completed" };
        let response = self.draft.finished(end);
        frames.push(self.state(kind, response));
        frames
    }
}

impl Wire for Events {
    fn begin(&mut self) -> Vec<Frame> {
        let response = self.draft.response("in_progress");
        vec![self.state("response.created", response.clone()), self.state("response.in_progress", response)]
    }

    fn delta(&mut self, delta: Delta) -> Vec<Frame> {
        match delta {
            Delta::Text(text) => self.piece(Said::Text, &text),
            Delta::Thinking(text) => self.piece(Said::Thinking, &text),
            Delta::Call(call) => self.call(&call),
            Delta::Tokens(_) => Vec::new(),
            // codex waits on after any event, and openai-python takes the event as often as it comes.
            Delta::Alive => {
                let response = self.draft.response("in_progress");
                vec![self.state("response.in_progress", response)]
            }
            Delta::Finished(end) => self.finished(end),
        }
    }

    fn failed(&mut self, problem: &Problem) -> Vec<Frame> {
        let response = self.draft.failed(problem);
        vec![self.state("response.failed", response)]
    }

    /// codex compacts the conversation only if it reads of the overflow in a stream. A status of 400 is the end of its turn,
    /// whatever the code (`map_api_error` in codex-rs/codex-api/src/api_bridge.rs).
    fn tells(&self, problem: &Problem) -> bool {
        matches!(problem.kind, Kind::TooLong { .. })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;
    use crate::serve::ask::{Ask, Model};
    use crate::serve::wire::responses::tools::Tools;

    /// The events of an answer: begin, the deltas, the end.
    fn written(deltas: Vec<Delta>, reason: Reason) -> Vec<Value> {
        let mut tools = Tools::default();
        tools.add(None, &json!({ "type": "custom", "name": "apply_patch" })).unwrap();
        let draft = Draft::new("planner".to_owned(), &Ask::new(Model::Planner, Vec::new()), tools);
        let mut events = Events::new(draft);
        let mut frames = events.begin();
        frames.extend(deltas.into_iter().flat_map(|delta| events.delta(delta)));
        frames.extend(events.delta(Delta::Finished(End { reason, prompt: 10, cached: 4, generated: 7 })));
        let values: Vec<Value> = frames.iter().map(|frame| serde_json::from_str(&frame.data).unwrap()).collect();
        for (number, (frame, value)) in frames.iter().zip(&values).enumerate() {
            assert_eq!(value["type"].as_str(), frame.event);
            assert_eq!(value["sequence_number"], number);
        }
        values
    }

    fn kinds(events: &[Value]) -> Vec<&str> {
        events.iter().map(|event| event["type"].as_str().unwrap().trim_start_matches("response.")).collect()
    }

    fn call(name: &str, key: &str) -> Delta {
        let arguments = Map::from_iter([(key.to_owned(), json!("a"))]);
        Delta::Call(Call { id: "call_1".to_owned(), name: name.to_owned(), arguments })
    }

    #[test]
    fn thoughts_and_text_are_items_that_grow() {
        let deltas = vec![
            Delta::Thinking("hm".to_owned()),
            Delta::Text("I ".to_owned()),
            Delta::Alive,
            Delta::Text("see".to_owned()),
        ];
        let events = written(deltas, Reason::Stop);
        let expected = [
            "created",
            "in_progress",
            "output_item.added",
            "content_part.added",
            "reasoning_text.delta",
            "reasoning_text.done",
            "content_part.done",
            "output_item.done",
            "output_item.added",
            "content_part.added",
            "output_text.delta",
            "in_progress",
            "output_text.delta",
            "output_text.done",
            "content_part.done",
            "output_item.done",
            "completed",
        ];
        assert_eq!(kinds(&events), expected);
        assert_eq!((&events[7]["output_index"], &events[12]["output_index"]), (&json!(0), &json!(1)));
        assert_eq!(events[12]["item_id"], events[8]["item"]["id"]);
        let response = &events[16]["response"];
        assert_eq!(response["output"], json!([events[7]["item"], events[15]["item"]]));
        assert_eq!(response["output"][1]["content"][0]["text"], "I see");
        assert_eq!(response["id"], events[0]["response"]["id"]);
    }

    #[test]
    fn calls_are_items_of_their_kind() {
        let events = written(vec![call("shell", "command"), call("apply_patch", "input")], Reason::Calls);
        let expected = [
            "created",
            "in_progress",
            "output_item.added",
            "function_call_arguments.delta",
            "function_call_arguments.done",
            "output_item.done",
            "output_item.added",
            "custom_tool_call_input.delta",
            "custom_tool_call_input.done",
            "output_item.done",
            "completed",
        ];
        assert_eq!(kinds(&events), expected);
        assert_eq!((&events[2]["item"]["arguments"], &events[6]["item"]["input"]), (&json!(""), &json!("")));
        assert_eq!(events[5]["item"]["arguments"], "{\"command\":\"a\"}");
        assert_eq!(
            (&events[9]["item"]["type"], &events[9]["item"]["input"]),
            (&json!("custom_tool_call"), &json!("a"))
        );
    }

    #[test]
    fn an_answer_that_is_cut_off_is_incomplete() {
        let events = written(vec![Delta::Text("I".to_owned())], Reason::Length);
        let last = &events[events.len() - 1];
        assert_eq!((&last["type"], &last["response"]["status"]), (&json!("response.incomplete"), &json!("incomplete")));
        assert_eq!(last["response"]["output"][0]["status"], "incomplete");
    }
}
