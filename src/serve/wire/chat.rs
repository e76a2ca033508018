//! OpenAI's `/v1/chat/completions`: what is not known is left alone, what cannot be done is refused by name.

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use super::conversation::{self, Conversation};
use super::fields::{self, Given, OneOrMore, limit, or_default};
use super::stream::{Wire, answered, event};
use super::{now, openai_error};
use crate::serve::Server;
use crate::serve::ask::{Ask, Call, Model, Turn, fresh_id};
use crate::serve::problem::Problem;
use crate::serve::reply::{Delta, End, Reason, TokenLogprobs, Whole};

/// Most of the likeliest tokens that are given beside each token.
const TOP_LOGPROBS_MAX: usize = 20;

#[derive(Deserialize)]
struct Request {
    #[serde(default = "super::planner")]
    model: String,
    messages: Vec<Message>,
    tools: Option<Vec<Value>>,
    tool_choice: Option<Value>,
    response_format: Option<Value>,
    #[serde(default, deserialize_with = "limit")]
    max_tokens: Option<usize>,
    #[serde(default, deserialize_with = "limit")]
    max_completion_tokens: Option<usize>,
    stop: Option<OneOrMore>,
    n: Option<usize>,
    logprobs: Option<bool>,
    top_logprobs: Option<usize>,
    reasoning_effort: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    stream: bool,
    stream_options: Option<StreamOptions>,
    #[serde(flatten)]
    given: Given,
}

#[derive(Deserialize)]
struct StreamOptions {
    #[serde(default, deserialize_with = "or_default")]
    include_usage: bool,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    #[serde(default)]
    content: Value,
    #[serde(default, deserialize_with = "or_default")]
    tool_call_id: String,
    tool_calls: Option<Vec<Value>>,
}

pub async fn create(State(server): State<Server>, body: Bytes) -> Result<Response, Problem> {
    let request: Request = super::read(&body)?;
    let (streams, model) = (request.stream, request.model.clone());
    let usage = request.stream_options.as_ref().is_some_and(|options| options.include_usage);
    let ask = request.ask(server.model(&model)?)?;
    let (id, created, logprobs) = (fresh_id("chatcmpl-"), now(), ask.logprobs.is_some());
    let answer = Answer { id, created, model, logprobs, usage, calls: 0 };
    answered(streams, async move { server.reply(ask).await }, answer).await
}

impl Request {
    fn ask(self, model: Model) -> Result<Ask, Problem> {
        if self.n.is_some_and(|n| n != 1) {
            return Err(Problem::invalid("n", "one answer is given to a request; send it again for more"));
        }
        let top = self.top_logprobs.unwrap_or(0);
        if top > TOP_LOGPROBS_MAX {
            let text = format!("{top} tokens are too many; at most {TOP_LOGPROBS_MAX} are given beside each");
            return Err(Problem::invalid("top_logprobs", text));
        }
        let described = self.tools.iter().flatten().filter_map(|tool| tool.get("function"));
        Ok(Ask {
            tools: described.map(|tool| fields::tool(tool, &tool["parameters"])).collect::<Result<_, _>>()?,
            choice: fields::choice(self.tool_choice.as_ref())?,
            format: fields::format("response_format", self.response_format.as_ref())?,
            max_tokens: self.max_completion_tokens.or(self.max_tokens),
            stop: self.stop.map(Into::into).unwrap_or_default(),
            sampling: self.given.sampling(),
            thinks: self.reasoning_effort.as_deref() != Some("none"),
            logprobs: (self.logprobs == Some(true)).then_some(top),
            ..Ask::new(model, turns(self.messages)?)
        })
    }
}

fn turns(messages: Vec<Message>) -> Result<Vec<Turn>, Problem> {
    let mut conversation = Conversation::default();
    for message in messages {
        if matches!(message.role.as_str(), "tool" | "function") {
            conversation.result(&message.tool_call_id, conversation::result_text(&message.content)?);
            continue;
        }
        conversation.say("messages", &message.role, &conversation::text("messages", &message.content)?)?;
        for call in message.tool_calls.unwrap_or_default() {
            let function = &call["function"];
            conversation.call(fields::call(&call["id"], &function["name"], &function["arguments"]));
        }
    }
    Ok(conversation.turns())
}

/// The identity of one answer, and what its client wants to see.
struct Answer {
    id: String,
    created: i64,
    model: String,
    logprobs: bool,
    /// The last chunk says what the answer took.
    usage: bool,
    calls: usize,
}

impl Answer {
    fn chunk(&self, choices: Value) -> Value {
        json!({
            "id": self.id, "object": "chat.completion.chunk", "created": self.created, "model": self.model,
            "choices": choices,
        })
    }

    fn piece(&self, delta: Value, logprobs: Option<Value>, finish: Option<&str>) -> String {
        let choice = json!({ "index": 0, "delta": delta, "logprobs": logprobs, "finish_reason": finish });
        event(&self.chunk(json!([choice])))
    }

    fn finished(&self, end: End) -> Vec<String> {
        let mut events = vec![self.piece(json!({}), None, Some(finish(end.reason)))];
        if self.usage {
            let mut last = self.chunk(json!([]));
            last["usage"] = usage(end);
            events.push(event(&last));
        }
        events.push(DONE.to_owned());
        events
    }
}

impl Wire for Answer {
    fn whole(self, whole: &Whole) -> Value {
        let content = if whole.text.is_empty() && !whole.calls.is_empty() { Value::Null } else { json!(whole.text) };
        let mut message = json!({ "role": "assistant", "content": content });
        if !whole.thinking.is_empty() {
            message["reasoning_content"] = json!(whole.thinking);
        }
        if !whole.calls.is_empty() {
            message["tool_calls"] = whole.calls.iter().map(call).collect();
        }
        let logprobs = self.logprobs.then(|| logprobs(&whole.tokens));
        let finish = finish(whole.end.reason);
        json!({
            "id": self.id, "object": "chat.completion", "created": self.created, "model": self.model,
            "choices": [{ "index": 0, "message": message, "logprobs": logprobs, "finish_reason": finish }],
            "usage": usage(whole.end),
        })
    }

    fn begin(&mut self) -> Vec<String> {
        vec![self.piece(json!({ "role": "assistant", "content": "" }), None, None)]
    }

    fn delta(&mut self, delta: Delta) -> Vec<String> {
        vec![match delta {
            Delta::Text(text, tokens) => {
                self.piece(json!({ "content": text }), self.logprobs.then(|| logprobs(&tokens)), None)
            }
            Delta::Thinking(text) => self.piece(json!({ "reasoning_content": text }), None, None),
            Delta::Call(made) => {
                let mut made = call(&made);
                made["index"] = json!(self.calls);
                self.calls += 1;
                self.piece(json!({ "tool_calls": [made] }), None, None)
            }
            Delta::Alive => self.piece(json!({}), None, None),
            Delta::Finished(end) => return self.finished(end),
        }]
    }

    fn failed(&mut self, problem: &Problem) -> Vec<String> {
        vec![event(&openai_error(problem)), DONE.to_owned()]
    }
}

/// The end of OpenAI's older streams.
pub const DONE: &str = "data: [DONE]\n\n";

fn call(call: &Call) -> Value {
    let arguments = json!(call.arguments).to_string();
    json!({ "id": call.id, "type": "function", "function": { "name": call.name, "arguments": arguments } })
}

pub fn finish(reason: Reason) -> &'static str {
    match reason {
        Reason::Stop | Reason::StopText(_) => "stop",
        Reason::Length => "length",
        Reason::Calls => "tool_calls",
    }
}

pub fn usage(end: End) -> Value {
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

    fn read(request: Value) -> Result<Ask, Problem> {
        serde_json::from_value::<Request>(request).unwrap().ask(Model::Planner).and_then(Ask::checked)
    }

    #[test]
    fn a_conversation_with_calls_and_results_is_read_in_order() {
        let ask = read(json!({ "model": "planner", "unknown": 1, "temperature": 1, "top_k": -1, "messages": [
            { "role": "developer", "content": "Be brief." },
            { "role": "user", "content": [{ "type": "text", "text": "List" }, { "type": "text", "text": "it." }] },
            { "role": "assistant", "content": null, "tool_calls": [
                { "id": "c1", "type": "function", "function": { "name": "ls", "arguments": "{\"path\": \".\"}" } }] },
            { "role": "tool", "tool_call_id": "c1", "content": "a.rs" },
        ]}))
        .unwrap();
        let expected = [
            Turn::System("Be brief.".into()),
            Turn::User("List\nit.".into()),
            Turn::Assistant {
                text: String::new(),
                calls: vec![fields::call(&json!("c1"), &json!("ls"), &json!({ "path": "." }))],
            },
            Turn::Tool("a.rs".into()),
        ];
        assert_eq!(ask.turns, expected);
        assert_eq!((ask.sampling.temperature, ask.sampling.top_k), (1.0, 40));
    }

    #[test]
    fn what_cannot_be_done_is_refused_by_the_field() {
        let with = |name: &str, value: Value| {
            let mut request = json!({ "messages": [{ "role": "user", "content": "Hi" }] });
            request[name] = value;
            read(request).err().and_then(|problem| problem.field)
        };
        for (field, value) in [
            ("n", json!(2)),
            ("top_logprobs", json!(21)),
            ("tool_choice", json!("required")),
            ("response_format", json!({ "type": "xml" })),
            ("temperature", json!(-1)),
            ("messages", json!([])),
            ("messages", json!([{ "role": "user", "content": [{ "type": "image_url" }] }])),
            ("messages", json!([{ "role": "narrator", "content": "Hi" }])),
            ("tools", json!([{ "type": "function", "function": { "parameters": {} } }])),
        ] {
            assert_eq!(with(field, value), Some(field));
        }
        assert_eq!(with("max_tokens", json!(-1)), None, "no limit");
        assert_eq!(with("stream", json!(null)), None);
    }

    /// The data of the events.
    fn data(events: &[String]) -> Vec<Value> {
        events
            .iter()
            .map(|event| serde_json::from_str(event.trim_start_matches("data: ")).unwrap_or_default())
            .collect()
    }

    fn answer(logprobs: bool) -> Answer {
        let (id, model) = ("chatcmpl-1".to_owned(), "planner".to_owned());
        Answer { id, created: 0, model, logprobs, usage: true, calls: 0 }
    }

    #[test]
    fn calls_have_numbers_and_the_stream_ends_with_reason_usage_and_done() {
        let mut answer = answer(false);
        for (number, id) in ["a", "b"].into_iter().enumerate() {
            let chunk = data(&answer.delta(Delta::Call(fields::call(&json!(id), &json!("ls"), &Value::Null))));
            let call = &chunk[0]["choices"][0]["delta"]["tool_calls"][0];
            assert_eq!((&call["index"], &call["id"]), (&json!(number), &json!(id)));
            assert_eq!(call["function"]["arguments"], "{}");
        }
        let end = End { reason: Reason::Calls, prompt: 7, cached: 3, generated: 2 };
        let events = answer.delta(Delta::Finished(end));
        let last = data(&events);
        assert_eq!(last[0]["choices"][0]["finish_reason"], "tool_calls");
        assert_eq!((&last[1]["choices"], &last[1]["usage"]["total_tokens"]), (&json!([]), &json!(9)));
        assert_eq!(events[2], DONE);
    }

    #[test]
    fn log_probabilities_come_with_their_text() {
        let mut answer = answer(true);
        let token =
            TokenLogprobs { bytes: b"a".to_vec(), logprob: -0.5, top: vec![(b"b".to_vec(), f32::NEG_INFINITY)] };
        let chunk = data(&answer.delta(Delta::Text("a".to_owned(), vec![token])));
        let content = &chunk[0]["choices"][0]["logprobs"]["content"][0];
        assert_eq!((&content["token"], &content["logprob"]), (&json!("a"), &json!(-0.5)));
        assert_eq!(content["top_logprobs"][0]["logprob"], -9999.0);
    }
}
