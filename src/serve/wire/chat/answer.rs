//! Writes an answer as a chat completion, whole or in chunks.

use serde_json::{Value, json};

use crate::serve::ask::{Call, fresh_id};
use crate::serve::problem::Problem;
use crate::serve::reply::{Delta, End, Reason, TokenLogprobs, Whole};
use crate::serve::wire::{Frame, Wire, now, openai_error};

/// The identity of one answer, and what its client wants to see.
pub struct Answer {
    id: String,
    created: i64,
    model: String,
    logprobs: bool,
    /// The last chunk says what the answer took.
    usage: bool,
    calls: usize,
    /// Log-probabilities that wait for their text.
    tokens: Vec<TokenLogprobs>,
}

impl Answer {
    pub fn new(model: String, logprobs: bool, usage: bool) -> Answer {
        let (id, created) = (fresh_id("chatcmpl-"), now());
        Answer { id, created, model, logprobs, usage, calls: 0, tokens: Vec::new() }
    }

    pub fn whole(&self, whole: &Whole) -> Value {
        let end = whole.end();
        let content = if whole.text.is_empty() && !whole.calls.is_empty() { Value::Null } else { json!(whole.text) };
        let mut message = json!({ "role": "assistant", "content": content });
        if !whole.thinking.is_empty() {
            message["reasoning_content"] = json!(whole.thinking);
        }
        if !whole.calls.is_empty() {
            message["tool_calls"] = whole.calls.iter().map(call).collect();
        }
        let logprobs = self.logprobs.then(|| logprobs(&whole.tokens));
        json!({
            "id": self.id, "object": "chat.completion", "created": self.created, "model": self.model,
            "choices": [{ "index": 0, "message": message, "logprobs": logprobs, "finish_reason": finish(end.reason) }],
            "usage": usage(&end),
        })
    }

    fn chunk(&self, delta: Value, logprobs: Option<Value>, finish: Option<&str>) -> Value {
        let choice = json!({ "index": 0, "delta": delta, "logprobs": logprobs, "finish_reason": finish });
        self.chunk_of(json!([choice]))
    }

    fn chunk_of(&self, choices: Value) -> Value {
        json!({
            "id": self.id, "object": "chat.completion.chunk", "created": self.created, "model": self.model,
            "choices": choices,
        })
    }
}

impl Wire for Answer {
    fn begin(&mut self) -> Vec<Frame> {
        vec![Frame::data(&self.chunk(json!({ "role": "assistant", "content": "" }), None, None))]
    }

    fn delta(&mut self, delta: Delta) -> Vec<Frame> {
        let chunk = match delta {
            Delta::Text(text) => {
                let tokens = std::mem::take(&mut self.tokens);
                let logprobs = self.logprobs.then(|| logprobs(&tokens));
                self.chunk(json!({ "content": text }), logprobs, None)
            }
            Delta::Thinking(text) => self.chunk(json!({ "reasoning_content": text }), None, None),
            Delta::Call(made) => {
                let mut made = call(&made);
                made["index"] = json!(self.calls);
                self.calls += 1;
                self.chunk(json!({ "tool_calls": [made] }), None, None)
            }
            Delta::Tokens(tokens) => {
                self.tokens.extend(tokens);
                return Vec::new();
            }
            Delta::Alive => self.chunk(json!({}), None, None),
            Delta::Finished(end) => {
                let rest = std::mem::take(&mut self.tokens);
                let logprobs = Some(logprobs(&rest)).filter(|_| self.logprobs && !rest.is_empty());
                let mut frames = vec![Frame::data(&self.chunk(json!({}), logprobs, Some(finish(end.reason))))];
                if self.usage {
                    let mut last = self.chunk_of(json!([]));
                    last["usage"] = usage(&end);
                    frames.push(Frame::data(&last));
                }
                frames.push(Frame { event: None, data: "[DONE]".to_owned() });
                return frames;
            }
        };
        vec![Frame::data(&chunk)]
    }

    fn failed(&mut self, problem: &Problem) -> Vec<Frame> {
        vec![Frame::data(&openai_error(problem)), Frame { event: None, data: "[DONE]".to_owned() }]
    }
}

fn call(call: &Call) -> Value {
    let arguments = Value::Object(call.arguments.clone()).to_string();
    json!({ "id": call.id, "type": "function", "function": { "name": call.name, "arguments": arguments } })
}

pub fn finish(reason: Reason) -> &'static str {
    match reason {
        Reason::Stop | Reason::StopText(_) => "stop",
        Reason::Length => "length",
        Reason::Calls => "tool_calls",
    }
}

pub fn usage(end: &End) -> Value {
    json!({
        "prompt_tokens": end.prompt, "completion_tokens": end.generated, "total_tokens": end.prompt + end.generated,
        "prompt_tokens_details": { "cached_tokens": end.cached },
    })
}

fn logprobs(tokens: &[TokenLogprobs]) -> Value {
    let token = |bytes: &[u8], logprob: f32| json!({ "token": String::from_utf8_lossy(bytes), "logprob": finite(logprob), "bytes": bytes });
    let content = tokens.iter().map(|one| {
        let mut written = token(&one.bytes, one.logprob);
        written["top_logprobs"] = one.top.iter().map(|(bytes, logprob)| token(bytes, *logprob)).collect();
        written
    });
    json!({ "content": content.collect::<Vec<_>>() })
}

/// JSON knows no infinity: a token that a grammar forbids has the least number that OpenAI gives.
pub fn finite(logprob: f32) -> f32 {
    logprob.max(-9999.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(frames: &[Frame]) -> Vec<Value> {
        frames.iter().map(|frame| serde_json::from_str(&frame.data).unwrap_or(Value::Null)).collect()
    }

    #[test]
    fn calls_have_numbers_and_the_stream_ends_with_reason_usage_and_done() {
        let mut answer = Answer::new("planner".to_owned(), false, true);
        assert_eq!(data(&answer.begin())[0]["choices"][0]["delta"]["role"], "assistant");
        let made = |id: &str| {
            Delta::Call(Call { id: id.to_owned(), name: "ls".to_owned(), arguments: serde_json::Map::new() })
        };
        for (number, id) in ["a", "b"].into_iter().enumerate() {
            let chunk = data(&answer.delta(made(id)));
            let call = &chunk[0]["choices"][0]["delta"]["tool_calls"][0];
            assert_eq!((&call["index"], &call["id"]), (&json!(number), &json!(id)));
            assert_eq!(call["function"]["arguments"], "{}");
        }
        let end = End { reason: Reason::Calls, prompt: 7, cached: 3, generated: 2 };
        let frames = answer.delta(Delta::Finished(end));
        let last = data(&frames);
        assert_eq!(last[0]["choices"][0]["finish_reason"], "tool_calls");
        assert_eq!((&last[1]["choices"], &last[1]["usage"]["total_tokens"]), (&json!([]), &json!(9)));
        assert_eq!(frames[2].data, "[DONE]");
    }

    #[test]
    fn log_probabilities_come_with_their_text() {
        let mut answer = Answer::new("planner".to_owned(), true, false);
        let token =
            TokenLogprobs { bytes: b"a".to_vec(), logprob: -0.5, top: vec![(b"b".to_vec(), f32::NEG_INFINITY)] };
        assert_eq!(answer.delta(Delta::Tokens(vec![token])), []);
        let chunk = data(&answer.delta(Delta::Text("a".to_owned())));
        let content = &chunk[0]["choices"][0]["logprobs"]["content"][0];
        assert_eq!((&content["token"], &content["logprob"]), (&json!("a"), &json!(-0.5)));
        assert_eq!(content["top_logprobs"][0]["logprob"], -9999.0);
    }
}
