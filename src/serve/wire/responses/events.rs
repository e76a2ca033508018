//! Writes an answer as the response of `/v1/responses` and its events: items are added, grow and are completed.

use serde_json::{Value, json};

use super::tools::Tools;
use crate::serve::ask::{Ask, Call, fresh_id};
use crate::serve::problem::{Kind, Problem};
use crate::serve::reply::{Delta, End, Reason, Whole};
use crate::serve::wire::now;
use crate::serve::wire::stream::{Wire, named};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Text,
    Thinking,
}

impl Said {
    /// The part of an item that contains this text.
    fn part(self, text: &str) -> Value {
        match self {
            Said::Text => json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] }),
            Said::Thinking => json!({ "type": "reasoning_text", "text": text }),
        }
    }

    /// The item with these parts. codex reads a reasoning item only if it has a `summary`.
    fn item(self, id: &str, parts: &[Value], status: &str) -> Value {
        match self {
            Said::Text => {
                json!({ "id": id, "type": "message", "status": status, "role": "assistant", "content": parts })
            }
            Said::Thinking => json!({
                "id": id, "type": "reasoning", "status": status,
                "summary": [], "content": parts, "encrypted_content": null,
            }),
        }
    }
}

/// An item in progress.
#[derive(Debug)]
struct Growing {
    said: Said,
    id: String,
    text: String,
}

/// Writes one response.
#[derive(Debug)]
pub struct Events {
    id: String,
    created_at: i64,
    model: String,
    max_tokens: Option<usize>,
    temperature: Option<f32>,
    top_p: Option<f32>,
    tools: Tools,
    /// The finished items.
    output: Vec<Value>,
    growing: Option<Growing>,
    /// The number of the next event.
    sequence: usize,
}

impl Events {
    pub fn new(model: String, ask: &Ask, tools: Tools) -> Events {
        Events {
            id: fresh_id("resp_"),
            created_at: now(),
            model,
            max_tokens: ask.max_tokens,
            temperature: ask.sampling.temperature,
            top_p: ask.sampling.top_p,
            tools,
            output: Vec::new(),
            growing: None,
            sequence: 0,
        }
    }

    /// The response so far. The tools are not repeated: no client reads them, and codex's are long.
    fn response(&self, status: &str) -> Value {
        json!({
            "id": self.id,
            "object": "response",
            "created_at": self.created_at,
            "status": status,
            "error": null,
            "incomplete_details": null,
            "instructions": null,
            "max_output_tokens": self.max_tokens,
            "metadata": {},
            "model": self.model,
            "output": self.output,
            "parallel_tool_calls": true,
            "previous_response_id": null,
            "store": false,
            "temperature": self.temperature,
            "tool_choice": "auto",
            "tools": [],
            "top_p": self.top_p,
            "truncation": "disabled",
            "usage": null,
        })
    }

    /// The final response.
    fn finished(&self, end: End) -> Value {
        let mut response = self.response(status(end));
        if end.reason == Reason::Length {
            response["incomplete_details"] = json!({ "reason": "max_output_tokens" });
        }
        response["usage"] = json!({
            "input_tokens": end.prompt,
            "input_tokens_details": { "cached_tokens": end.cached, "cache_write_tokens": 0 },
            "output_tokens": end.generated,
            // Thought tokens are not counted separately.
            "output_tokens_details": { "reasoning_tokens": 0 },
            "total_tokens": end.prompt + end.generated,
        });
        response
    }

    /// An event, named after its type. All events are numbered.
    fn event(&mut self, kind: &str, fields: Value) -> String {
        let mut event = json!({ "type": kind, "sequence_number": self.sequence });
        self.sequence += 1;
        if let (Value::Object(event), Value::Object(fields)) = (&mut event, fields) {
            event.extend(fields);
        }
        named(&event)
    }

    /// An event about the entire response.
    fn state(&mut self, kind: &str, response: Value) -> String {
        self.event(kind, json!({ "response": response }))
    }

    /// An event about the item that follows the finished ones.
    fn item(&mut self, kind: &str, item: Value) -> String {
        self.event(kind, json!({ "output_index": self.output.len(), "item": item }))
    }

    /// An event about the only part of the item in progress.
    fn part(&mut self, kind: &str, id: &str, mut fields: Value) -> String {
        fields["item_id"] = id.into();
        fields["output_index"] = self.output.len().into();
        fields["content_index"] = json!(0);
        self.event(kind, fields)
    }

    fn piece(&mut self, said: Said, piece: &str) -> Vec<String> {
        let mut events = Vec::new();
        if piece.is_empty() {
            return events;
        }
        if self.growing.as_ref().is_none_or(|growing| growing.said != said) {
            events.extend(self.close("completed"));
            let id = fresh_id(if said == Said::Text { "msg_" } else { "rs_" });
            events.push(self.item("response.output_item.added", said.item(&id, &[], "in_progress")));
            events.push(self.part("response.content_part.added", &id, json!({ "part": said.part("") })));
            self.growing = Some(Growing { said, id, text: String::new() });
        }
        if let Some(mut growing) = self.growing.take() {
            growing.text.push_str(piece);
            events.push(match said {
                Said::Text => {
                    let fields = json!({ "delta": piece, "logprobs": [] });
                    self.part("response.output_text.delta", &growing.id, fields)
                }
                Said::Thinking => self.part("response.reasoning_text.delta", &growing.id, json!({ "delta": piece })),
            });
            self.growing = Some(growing);
        }
        events
    }

    /// Ends the item in progress, if any.
    fn close(&mut self, status: &str) -> Vec<String> {
        let Some(Growing { said, id, text }) = self.growing.take() else { return Vec::new() };
        let part = said.part(&text);
        let item = said.item(&id, std::slice::from_ref(&part), status);
        let (kind, done) = match said {
            Said::Text => ("response.output_text.done", json!({ "text": text, "logprobs": [] })),
            Said::Thinking => ("response.reasoning_text.done", json!({ "text": text })),
        };
        let events = vec![
            self.part(kind, &id, done),
            self.part("response.content_part.done", &id, json!({ "part": part })),
            self.item("response.output_item.done", item.clone()),
        ];
        self.output.push(item);
        events
    }

    fn call(&mut self, call: &Call) -> Vec<String> {
        let mut events = self.close("completed");
        let (id, index, input) = (fresh_id("fc_"), self.output.len(), self.tools.input(call));
        let (delta, done, key) = if self.tools.is_custom(call) {
            ("response.custom_tool_call_input.delta", "response.custom_tool_call_input.done", "input")
        } else {
            ("response.function_call_arguments.delta", "response.function_call_arguments.done", "arguments")
        };
        let begun = self.tools.item(&id, call, "in_progress", true);
        let item = self.tools.item(&id, call, "completed", false);
        events.push(self.item("response.output_item.added", begun));
        events.push(self.event(delta, json!({ "item_id": id, "output_index": index, "delta": input })));
        let all = json!({ "item_id": id, "output_index": index, "name": item["name"], key: input });
        events.push(self.event(done, all));
        events.push(self.item("response.output_item.done", item.clone()));
        self.output.push(item);
        events
    }
}

/// The status of a response, and of the item that it ended in.
fn status(end: End) -> &'static str {
    if end.reason == Reason::Length { "incomplete" } else { "completed" }
}

impl Wire for Events {
    /// The items are built as for a stream, but the events are discarded.
    fn whole(mut self, whole: &Whole) -> Value {
        self.piece(Said::Thinking, &whole.thinking);
        self.piece(Said::Text, &whole.text);
        for call in &whole.calls {
            self.call(call);
        }
        self.close(status(whole.end));
        self.finished(whole.end)
    }

    fn begin(&mut self) -> Vec<String> {
        let response = self.response("in_progress");
        vec![self.state("response.created", response.clone()), self.state("response.in_progress", response)]
    }

    fn delta(&mut self, delta: Delta) -> Vec<String> {
        match delta {
            Delta::Text(text, _) => self.piece(Said::Text, &text),
            Delta::Thinking(text) => self.piece(Said::Thinking, &text),
            Delta::Call(call) => self.call(&call),
            // Any event keeps codex waiting, and openai-python accepts this one any number of
            // times.
            Delta::Alive => vec![self.state("response.in_progress", self.response("in_progress"))],
            Delta::Finished(end) => {
                let mut events = self.close(status(end));
                events.push(self.state(&format!("response.{}", status(end)), self.finished(end)));
                events
            }
        }
    }

    fn failed(&mut self, problem: &Problem) -> Vec<String> {
        // codex acts on these codes: it compacts, gives up, or retries.
        let code = match problem.kind {
            Kind::TooLong { .. } => "context_length_exceeded",
            Kind::Invalid => "invalid_prompt",
            Kind::Busy => "rate_limit_exceeded",
            _ => "server_error",
        };
        let mut response = self.response("failed");
        response["error"] = json!({ "code": code, "message": problem.message });
        vec![self.state("response.failed", response)]
    }

    /// codex compacts the conversation only if the overflow is reported in a stream. A status of
    /// 400 ends its turn, whatever the code (`map_api_error` in
    /// codex-rs/codex-api/src/api_bridge.rs).
    fn tells(&self, problem: &Problem) -> bool {
        matches!(problem.kind, Kind::TooLong { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::ask::Model;
    use crate::serve::wire::fields;

    fn text(text: &str) -> Delta {
        Delta::Text(text.to_owned(), Vec::new())
    }

    fn events() -> Events {
        let mut tools = Tools::default();
        tools.add(None, &json!({ "type": "custom", "name": "apply_patch" })).unwrap();
        Events::new("planner".to_owned(), &Ask::new(Model::Planner, Vec::new()), tools)
    }

    fn end(reason: Reason) -> End {
        End { reason, prompt: 10, cached: 4, generated: 7 }
    }

    /// The events of an answer: beginning, deltas, end.
    fn written(deltas: Vec<Delta>, reason: Reason) -> Vec<Value> {
        let mut events = events();
        let mut all = events.begin();
        all.extend(deltas.into_iter().flat_map(|delta| events.delta(delta)));
        all.extend(events.delta(Delta::Finished(end(reason))));
        let values: Vec<Value> =
            all.iter().map(|event| serde_json::from_str(event.split_once("data: ").unwrap().1).unwrap()).collect();
        assert!(values.iter().enumerate().all(|(number, value)| value["sequence_number"] == number));
        values
    }

    fn kinds(events: &[Value]) -> String {
        let kinds = events.iter().map(|event| event["type"].as_str().unwrap().trim_start_matches("response."));
        kinds.collect::<Vec<_>>().join(" ")
    }

    fn call(name: &str, key: &str) -> Delta {
        Delta::Call(fields::call(&json!("call_1"), &json!(name), &json!({ key: "a" })))
    }

    #[test]
    fn thoughts_and_text_are_items_that_grow() {
        let deltas = vec![Delta::Thinking("hm".to_owned()), text("I "), Delta::Alive, text("see")];
        let events = written(deltas, Reason::Stop);
        let expected = "created in_progress \
                        output_item.added content_part.added reasoning_text.delta \
                        reasoning_text.done content_part.done output_item.done \
                        output_item.added content_part.added output_text.delta in_progress output_text.delta \
                        output_text.done content_part.done output_item.done completed";
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
        let expected = "created in_progress \
                        output_item.added function_call_arguments.delta function_call_arguments.done output_item.done \
                        output_item.added custom_tool_call_input.delta custom_tool_call_input.done output_item.done \
                        completed";
        assert_eq!(kinds(&events), expected);
        assert_eq!((&events[2]["item"]["arguments"], &events[6]["item"]["input"]), (&json!(""), &json!("")));
        assert_eq!(events[5]["item"]["arguments"], "{\"command\":\"a\"}");
        let custom = &events[9]["item"];
        assert_eq!((&custom["type"], &custom["input"]), (&json!("custom_tool_call"), &json!("a")));
        assert_eq!((&events[5]["output_index"], &events[9]["output_index"]), (&json!(0), &json!(1)));
    }

    #[test]
    fn an_answer_that_is_cut_off_is_incomplete() {
        let events = written(vec![text("I")], Reason::Length);
        let last = &events[events.len() - 1];
        assert_eq!((&last["type"], &last["response"]["status"]), (&json!("response.incomplete"), &json!("incomplete")));
        assert_eq!(last["response"]["output"][0]["status"], "incomplete");
        assert_eq!(last["response"]["incomplete_details"]["reason"], "max_output_tokens");
    }

    #[test]
    fn a_whole_answer_is_a_response_with_items() {
        let (thinking, text) = ("hm".to_owned(), "I read".to_owned());
        let response = events().whole(&Whole { thinking, text, end: end(Reason::Stop), ..Whole::default() });
        let kinds: Vec<_> = response["output"].as_array().unwrap().iter().map(|item| &item["type"]).collect();
        assert_eq!(kinds, ["reasoning", "message"]);
        assert_eq!(response["output"][1]["content"][0]["text"], "I read");
        assert_eq!((&response["status"], &response["usage"]["total_tokens"]), (&json!("completed"), &json!(17)));
    }

    #[test]
    fn an_overflow_has_the_code_that_makes_codex_compact() {
        let problem = Problem::new(Kind::TooLong { prompt: 9000, context: 8192 }, "too long");
        let failed = events().failed(&problem).concat();
        assert!(failed.contains("\"code\":\"context_length_exceeded\",\"message\":\"too long\""), "{failed}");
    }
}
