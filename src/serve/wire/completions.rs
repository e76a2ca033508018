//! OpenAI's `/v1/completions`: a raw prompt, in which the names of control tokens count, goes on.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::chat::{Given, OneOrMore, finish, finite, usage};
use super::stream::{Frame, Wire, streamed};
use super::{limit, now, openai_error, or_default};
use crate::serve::Server;
use crate::serve::ask::{Ask, Turn, fresh_id};
use crate::serve::problem::Problem;
use crate::serve::reply::{Delta, End, TokenLogprobs};

/// Most of the likeliest tokens that are given beside each token.
const LOGPROBS_MAX: usize = 5;

#[derive(Deserialize)]
struct Request {
    #[serde(default = "super::planner")]
    model: String,
    prompt: OneOrMore,
    #[serde(default, deserialize_with = "limit")]
    max_tokens: Option<usize>,
    stop: Option<OneOrMore>,
    temperature: Option<f32>,
    top_p: Option<f32>,
    frequency_penalty: Option<f32>,
    presence_penalty: Option<f32>,
    seed: Option<i64>,
    n: Option<usize>,
    logprobs: Option<usize>,
    #[serde(default, deserialize_with = "or_default")]
    echo: bool,
    suffix: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    stream: bool,
}

/// OpenAI's default for raw completions.
const MAX_TOKENS: usize = 16;

impl Request {
    /// The request, and the prompt that goes on.
    fn ask(self, server: &Server) -> Result<(Ask, String), Problem> {
        let prompts: Vec<String> = self.prompt.into();
        let [prompt] = <[String; 1]>::try_from(prompts).map_err(|all| {
            Problem::invalid("prompt", format!("{} prompts in one request; send one in each", all.len()))
        })?;
        if self.n.is_some_and(|n| n != 1) {
            return Err(Problem::invalid("n", "one answer is given to a request; send it again for more"));
        }
        if self.echo && self.logprobs.is_some() {
            return Err(Problem::invalid("echo", "log-probabilities of the prompt are not given; ask without `echo`"));
        }
        if self.suffix.is_some_and(|suffix| !suffix.is_empty()) {
            return Err(Problem::invalid("suffix", "write the model's own marks for what follows into the prompt"));
        }
        if self.logprobs.is_some_and(|top| top > LOGPROBS_MAX) {
            return Err(Problem::invalid("logprobs", format!("at most {LOGPROBS_MAX} are given beside each token")));
        }
        let given = Given {
            temperature: self.temperature,
            top_p: self.top_p,
            frequency_penalty: self.frequency_penalty,
            presence_penalty: self.presence_penalty,
            seed: self.seed,
            ..Given::default()
        };
        let ask = Ask {
            max_tokens: Some(self.max_tokens.unwrap_or(MAX_TOKENS)),
            stop: self.stop.map(Into::into).unwrap_or_default(),
            sampling: given.sampling(),
            logprobs: self.logprobs,
            ..Ask::new(server.model(&self.model)?, vec![Turn::User(prompt.clone())])
        };
        Ok((ask, prompt))
    }
}

pub async fn create(State(server): State<Server>, body: Bytes) -> Result<Response, Problem> {
    let request: Request = super::read(&body)?;
    let (streams, echoes, name) = (request.stream, request.echo, request.model.clone());
    let (ask, prompt) = request.ask(&server)?;
    let mut answer = Answer {
        id: fresh_id("cmpl-"),
        created: now(),
        model: name,
        logprobs: ask.logprobs.is_some(),
        echo: String::new(),
        tokens: Vec::new(),
    };
    if echoes {
        answer.echo.clone_from(&prompt);
    }
    let reply = async move { server.complete(ask, prompt).await };
    if streams {
        return streamed(reply, answer).await;
    }
    let whole = reply.await?.whole().await?;
    let text = format!("{}{}{}", answer.echo, whole.thinking, whole.text);
    let end = whole.end();
    let mut body = answer.chunk(&text, &whole.tokens, Some(finish(end.reason)));
    body["usage"] = usage(&end);
    Ok(Json(body).into_response())
}

struct Answer {
    id: String,
    created: i64,
    model: String,
    logprobs: bool,
    /// The prompt, if it is to come before the answer.
    echo: String,
    tokens: Vec<TokenLogprobs>,
}

impl Answer {
    fn chunk(&self, text: &str, tokens: &[TokenLogprobs], finish: Option<&str>) -> Value {
        let logprobs = self.logprobs.then(|| logprobs(tokens));
        json!({
            "id": self.id, "object": "text_completion", "created": self.created, "model": self.model,
            "choices": [{ "index": 0, "text": text, "logprobs": logprobs, "finish_reason": finish }],
        })
    }

    fn end(&mut self, end: &End) -> Vec<Frame> {
        let rest = std::mem::take(&mut self.tokens);
        let mut last = self.chunk("", &rest, Some(finish(end.reason)));
        last["usage"] = usage(end);
        vec![Frame::data(&last), Frame { event: None, data: "[DONE]".to_owned() }]
    }
}

impl Wire for Answer {
    fn begin(&mut self) -> Vec<Frame> {
        let echo = std::mem::take(&mut self.echo);
        if echo.is_empty() { Vec::new() } else { vec![Frame::data(&self.chunk(&echo, &[], None))] }
    }

    fn delta(&mut self, delta: Delta) -> Vec<Frame> {
        let text = match delta {
            // What a raw prompt is followed by is text, thoughts too.
            Delta::Text(text) | Delta::Thinking(text) => text,
            Delta::Tokens(tokens) => {
                self.tokens.extend(tokens);
                return Vec::new();
            }
            Delta::Finished(end) => return self.end(&end),
            Delta::Call(_) | Delta::Alive => String::new(),
        };
        let tokens = std::mem::take(&mut self.tokens);
        vec![Frame::data(&self.chunk(&text, &tokens, None))]
    }

    fn failed(&mut self, problem: &Problem) -> Vec<Frame> {
        vec![Frame::data(&openai_error(problem)), Frame { event: None, data: "[DONE]".to_owned() }]
    }
}

/// In the form of raw completions: four lists, an entry a token.
fn logprobs(tokens: &[TokenLogprobs]) -> Value {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let top = |one: &TokenLogprobs| -> Value {
        one.top
            .iter()
            .map(|(bytes, logprob)| (text(bytes), json!(finite(*logprob))))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    json!({
        "tokens": tokens.iter().map(|one| text(&one.bytes)).collect::<Vec<_>>(),
        "token_logprobs": tokens.iter().map(|one| finite(one.logprob)).collect::<Vec<_>>(),
        "top_logprobs": tokens.iter().map(top).collect::<Vec<_>>(),
    })
}
