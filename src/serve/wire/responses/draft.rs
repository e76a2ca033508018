//! The response object of `/v1/responses`, filled item by item.

use serde_json::{Value, json};

use super::tools::Tools;
use crate::serve::ask::{Ask, Call, fresh_id};
use crate::serve::problem::{Kind, Problem};
use crate::serve::reply::{End, Reason, Whole};
use crate::serve::wire::now;

/// What the model says in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    Text,
    Thinking,
}

impl Said {
    pub fn fresh_id(self) -> String {
        fresh_id(match self {
            Said::Text => "msg_",
            Said::Thinking => "rs_",
        })
    }

    /// The part of an item that holds this text.
    pub fn part(self, text: &str) -> Value {
        match self {
            Said::Text => json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] }),
            Said::Thinking => json!({ "type": "reasoning_text", "text": text }),
        }
    }

    /// The item with these parts. codex reads a reasoning item only if it has a `summary`.
    pub fn item(self, id: &str, parts: Vec<Value>, status: &str) -> Value {
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

/// A response that grows.
#[derive(Debug)]
pub struct Draft {
    id: String,
    created_at: i64,
    model: String,
    max_tokens: Option<usize>,
    temperature: f32,
    top_p: f32,
    pub tools: Tools,
    /// The items that are finished.
    pub output: Vec<Value>,
    /// Bytes of thoughts, and of all that was generated.
    thought: usize,
    generated: usize,
}

impl Draft {
    pub fn new(model: String, ask: &Ask, tools: Tools) -> Draft {
        Draft {
            id: fresh_id("resp_"),
            created_at: now(),
            model,
            max_tokens: ask.max_tokens,
            temperature: ask.sampling.temperature,
            top_p: ask.sampling.top_p,
            tools,
            output: Vec::new(),
            thought: 0,
            generated: 0,
        }
    }

    /// The response of a whole answer.
    pub fn whole(mut self, whole: &Whole) -> Value {
        let end = whole.end();
        let status = status(end);
        for (said, text) in [(Said::Thinking, &whole.thinking), (Said::Text, &whole.text)] {
            if !text.is_empty() {
                self.say(said, &said.fresh_id(), text, status);
            }
        }
        for call in &whole.calls {
            self.call(&self.call_id(call), call);
        }
        self.finished(end)
    }

    /// Adds what was said and gives its item.
    pub fn say(&mut self, said: Said, id: &str, text: &str, status: &str) -> Value {
        self.generated += text.len();
        if said == Said::Thinking {
            self.thought += text.len();
        }
        self.add(said.item(id, vec![said.part(text)], status))
    }

    /// Adds a call and gives its item.
    pub fn call(&mut self, id: &str, call: &Call) -> Value {
        self.generated += self.tools.input(call).len();
        self.add(self.tools.item(id, call, "completed", false))
    }

    pub fn call_id(&self, call: &Call) -> String {
        fresh_id(if self.tools.is_custom(call) { "ctc_" } else { "fc_" })
    }

    fn add(&mut self, item: Value) -> Value {
        self.output.push(item.clone());
        item
    }

    /// The response so far. The tools are not repeated: no client reads them, and codex's are long.
    pub fn response(&self, status: &str) -> Value {
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

    /// The response at its end.
    pub fn finished(&self, end: End) -> Value {
        let mut response = self.response(status(end));
        if end.reason == Reason::Length {
            response["incomplete_details"] = json!({ "reason": "max_output_tokens" });
        }
        response["usage"] = json!({
            "input_tokens": end.prompt,
            "input_tokens_details": { "cached_tokens": end.cached, "cache_write_tokens": 0 },
            "output_tokens": end.generated,
            "output_tokens_details": { "reasoning_tokens": self.reasoning_tokens(end.generated) },
            "total_tokens": end.prompt + end.generated,
        });
        response
    }

    pub fn failed(&self, problem: &Problem) -> Value {
        // codex acts on these codes: it compacts, gives up, or tries again.
        let code = match problem.kind {
            Kind::TooLong { .. } => "context_length_exceeded",
            Kind::Invalid => "invalid_prompt",
            Kind::Busy => "rate_limit_exceeded",
            _ => "server_error",
        };
        let mut response = self.response("failed");
        response["error"] = json!({ "code": code, "message": problem.message });
        response
    }

    /// Tokens are not counted apart for thoughts, so their share of the bytes is taken.
    fn reasoning_tokens(&self, generated: usize) -> usize {
        (generated * self.thought).checked_div(self.generated).unwrap_or(0)
    }
}

/// The status of a response, and of the item that it ended in.
pub fn status(end: End) -> &'static str {
    if end.reason == Reason::Length { "incomplete" } else { "completed" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::ask::Model;

    #[test]
    fn a_whole_answer_is_a_response_with_items() {
        let draft = Draft::new("planner".to_owned(), &Ask::new(Model::Planner, Vec::new()), Tools::default());
        let mut whole = Whole::default();
        whole.thinking.push_str("hm");
        whole.text.push_str("I read");
        let response = draft.whole(&whole);
        let kinds: Vec<_> = response["output"].as_array().unwrap().iter().map(|item| &item["type"]).collect();
        assert_eq!(kinds, ["reasoning", "message"]);
        assert_eq!(response["output"][1]["content"][0]["text"], "I read");
        assert_eq!((&response["status"], &response["object"]), (&json!("completed"), &json!("response")));
    }

    #[test]
    fn usage_counts_thoughts_by_their_share() {
        let mut draft = Draft::new("planner".to_owned(), &Ask::new(Model::Planner, Vec::new()), Tools::default());
        draft.say(Said::Thinking, "rs_1", "hm", "completed");
        draft.say(Said::Text, "msg_1", "I read", "incomplete");
        let response = draft.finished(End { reason: Reason::Length, prompt: 10, cached: 4, generated: 8 });
        assert_eq!(response["status"], "incomplete");
        assert_eq!(response["incomplete_details"]["reason"], "max_output_tokens");
        assert_eq!(response["usage"]["output_tokens_details"]["reasoning_tokens"], 2);
        assert_eq!(response["usage"]["total_tokens"], 18);
    }

    #[test]
    fn an_overflow_has_the_code_that_makes_codex_compact() {
        let draft = Draft::new("planner".to_owned(), &Ask::new(Model::Planner, Vec::new()), Tools::default());
        let problem = Problem::new(Kind::TooLong { prompt: 9000, context: 8192 }, "too long");
        let expected = json!({ "code": "context_length_exceeded", "message": "too long" });
        assert_eq!(draft.failed(&problem)["error"], expected);
    }
}
