//! OpenAI's `/v1/chat/completions`.

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::body::{Fields, Ignored};
use super::conversation::{self, Conversation};
use super::fields;
use super::stream::{Wire, answered, event};
use super::{now, openai_error};
use crate::serve::Server;
use crate::serve::ask::{Ask, Call, Model, Thoughts, fresh_id};
use crate::serve::problem::Problem;
use crate::serve::reply::{Delta, End, Reason, TokenLogprobs, Whole};
use crate::tools::ToolSpec;

/// Maximum number of likely tokens returned per token.
const TOP_LOGPROBS_MAX: usize = 20;

/// `stream_options`.
#[derive(Default, Deserialize)]
struct StreamOptions {
    include_usage: Option<bool>,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    #[serde(default)]
    content: Value,
    tool_call_id: Option<String>,
    tool_calls: Option<Vec<Value>>,
    /// The older form of a call.
    function_call: Option<Value>,
    refusal: Option<String>,
    /// The thoughts that precede the answer, under the name that some servers and their clients
    /// use.
    reasoning_content: Option<String>,
    /// The name used by others.
    #[serde(default)]
    reasoning: Value,
    audio: Option<Value>,
}

pub async fn create(State(server): State<Server>, body: Bytes) -> Result<Response, Problem> {
    let mut fields = Fields::read(&body)?;
    let model = fields.take::<String>("model")?.unwrap_or_else(|| "planner".to_owned());
    let streams = fields.take("stream")?.unwrap_or(false);
    let options = fields.take::<StreamOptions>("stream_options")?.unwrap_or_default();
    let (ask, ignored) = read(fields, server.model(&model)?)?;
    let (id, created, logprobs) = (fresh_id("chatcmpl-"), now(), ask.logprobs.is_some());
    let answer = Answer { id, created, model, logprobs, usage: options.include_usage == Some(true), calls: 0 };
    answered(streams, async move { server.reply(ask).await }, answer).await.map(|response| ignored.told(response))
}

fn read(mut fields: Fields, model: Model) -> Result<(Ask, Ignored), Problem> {
    let (tools, choice): (Option<Vec<Value>>, Option<Value>) = (fields.take("tools")?, fields.take("tool_choice")?);
    let tools = tools.iter().flatten().map(tool).collect::<Result<_, _>>()?;
    let messages = fields.take("messages")?.ok_or_else(|| Problem::invalid("messages", "`messages` is missing"))?;
    let ask = Ask {
        tools,
        choice: fields::choice(choice.as_ref())?,
        one_call: fields.take("parallel_tool_calls")? == Some(false),
        format: fields::format("response_format", fields.take("response_format")?.as_ref())?,
        max_tokens: max_tokens(&mut fields)?,
        stop: fields.texts("stop")?.unwrap_or_default(),
        sampling: fields.sampling()?,
        thoughts: thoughts(&mut fields)?,
        logprobs: top(&mut fields)?,
        ..conversation(messages)?.ask(model)
    };
    Ok((ask, fields.rest()?))
}

fn tool(tool: &Value) -> Result<ToolSpec, Problem> {
    let Some(function) = tool.get("function").filter(|function| function.is_object()) else {
        let text = format!(
            "a tool must be `{{\"type\": \"function\", \"function\": …}}`; this one is of type {}",
            tool["type"]
        );
        return Err(Problem::invalid("tools", text));
    };
    fields::tool(function, &function["parameters"])
}

/// The limit under its newer or older name.
fn max_tokens(fields: &mut Fields) -> Result<Option<usize>, Problem> {
    match (fields.limit("max_completion_tokens")?, fields.limit("max_tokens")?) {
        (Some(new), Some(old)) if new != old => {
            let text = format!("`max_completion_tokens` is {new} and `max_tokens` is {old}; send one of them");
            Err(Problem::invalid("max_completion_tokens", text))
        }
        (new, old) => Ok(new.or(old)),
    }
}

/// Number of most likely tokens returned per token; `None` for no log-probabilities.
fn top(fields: &mut Fields) -> Result<Option<usize>, Problem> {
    let (wanted, top) = (fields.take::<bool>("logprobs")?, fields.take::<usize>("top_logprobs")?);
    let refused = |text: String| Err(Problem::invalid("top_logprobs", text));
    match (wanted, top.unwrap_or(0)) {
        (_, top) if top > TOP_LOGPROBS_MAX => {
            refused(format!("{top} tokens are too many; at most {TOP_LOGPROBS_MAX} are given for each"))
        }
        (Some(true), top) => Ok(Some(top)),
        (_, 0) => Ok(None),
        _ => refused("`top_logprobs` needs `logprobs`: true".to_owned()),
    }
}

/// How much the model thinks: OpenAI's `reasoning_effort`, and the names that other servers and
/// their clients use.
fn thoughts(fields: &mut Fields) -> Result<Thoughts, Problem> {
    #[derive(Default, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Reasoning {
        effort: Option<String>,
        enabled: Option<bool>,
        max_tokens: Option<Value>,
    }
    #[derive(Default, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Template {
        enable_thinking: Option<bool>,
        thinking: Option<bool>,
        thinking_budget: Option<Value>,
        reasoning_effort: Option<String>,
    }
    let effort: Option<String> = fields.take("reasoning_effort")?;
    let reasoning: Reasoning = fields.take("reasoning")?.unwrap_or_default();
    let template: Template = fields.take("chat_template_kwargs")?.unwrap_or_default();
    let enabled: Option<bool> = fields.take("enable_thinking")?;
    let budget: Option<Value> = fields.take("thinking_budget")?;
    let thinking: Option<Map<String, Value>> = fields.take("thinking")?;
    let mut thoughts = fields::thinking(thinking.as_ref())?;
    let budgets = [
        ("thinking_budget", budget),
        ("reasoning", reasoning.max_tokens),
        ("chat_template_kwargs", template.thinking_budget),
    ];
    for (field, budget) in budgets {
        thoughts = thoughts.or(budget.map_or(Ok(Thoughts::Own), |budget| fields::tokens(field, &budget))?);
    }
    let efforts = [
        ("reasoning_effort", effort),
        ("reasoning", reasoning.effort),
        ("chat_template_kwargs", template.reasoning_effort),
    ];
    for (field, effort) in efforts {
        thoughts = thoughts.or(fields::effort(field, effort.as_deref())?);
    }
    let switches = [reasoning.enabled, template.enable_thinking, template.thinking, enabled];
    Ok(if switches.contains(&Some(false)) { Thoughts::Off } else { thoughts })
}

fn conversation(messages: Vec<Message>) -> Result<Conversation, Problem> {
    let mut conversation = Conversation::default();
    for message in messages {
        if matches!(message.role.as_str(), "tool" | "function") {
            let text = conversation::result_text(&message.content)?;
            conversation.result(message.tool_call_id.as_deref().unwrap_or_default(), text);
            continue;
        }
        if message.audio.is_some() {
            return Err(Problem::invalid("messages", "earlier answers in `audio` are not stored here; send the text"));
        }
        let text = conversation.text("messages", &message.content)?;
        let text = if text.is_empty() { message.refusal.unwrap_or_default() } else { text };
        conversation.say("messages", &message.role, &text)?;
        if message.role == "assistant" {
            let thought = message.reasoning_content.as_deref().or(message.reasoning.as_str());
            conversation.think(thought.unwrap_or_default());
        }
        for call in message.tool_calls.unwrap_or_default() {
            let function = &call["function"];
            conversation.call(fields::call(&call["id"], &function["name"], &function["arguments"]));
        }
        if let Some(function) = message.function_call {
            conversation.call(fields::call(&Value::Null, &function["name"], &function["arguments"]));
        }
    }
    Ok(conversation)
}

/// The identity of one answer, and the optional parts that its client requested.
struct Answer {
    id: String,
    created: i64,
    model: String,
    logprobs: bool,
    /// Whether the last chunk contains the token counts.
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

/// The end marker of OpenAI's older streams.
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

/// JSON has no infinity: a token that a grammar forbids gets the lowest number that OpenAI returns.
pub fn finite(logprob: f32) -> f32 {
    logprob.max(-9999.0)
}

#[cfg(test)]
mod tests;
