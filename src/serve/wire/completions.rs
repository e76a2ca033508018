//! OpenAI's `/v1/completions`: a raw prompt, in which the names of control tokens count, goes on.

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::chat::{DONE, finish, finite, usage};
use super::fields::{Given, OneOrMore, limit, or_default};
use super::stream::{Wire, answered, event};
use super::{now, openai_error};
use crate::serve::Server;
use crate::serve::ask::{Ask, Turn, fresh_id};
use crate::serve::problem::Problem;
use crate::serve::reply::{Delta, End, TokenLogprobs, Whole};

/// Most of the likeliest tokens that are given beside each token.
const LOGPROBS_MAX: usize = 5;
/// OpenAI's default for raw completions.
const MAX_TOKENS: usize = 16;

#[derive(Deserialize)]
struct Request {
    #[serde(default = "super::planner")]
    model: String,
    prompt: OneOrMore,
    #[serde(default, deserialize_with = "limit")]
    max_tokens: Option<usize>,
    stop: Option<OneOrMore>,
    n: Option<usize>,
    logprobs: Option<usize>,
    #[serde(default, deserialize_with = "or_default")]
    echo: bool,
    #[serde(default, deserialize_with = "or_default")]
    suffix: String,
    #[serde(default, deserialize_with = "or_default")]
    stream: bool,
    #[serde(flatten)]
    given: Given,
}

pub async fn create(State(server): State<Server>, body: Bytes) -> Result<Response, Problem> {
    let request: Request = super::read(&body)?;
    let (streams, echoes, model) = (request.stream, request.echo, request.model.clone());
    let (ask, prompt) = request.ask(&server)?;
    let (id, created, logprobs) = (fresh_id("cmpl-"), now(), ask.logprobs.is_some());
    let echo = if echoes { prompt.clone() } else { String::new() };
    let answer = Answer { id, created, model, logprobs, echo };
    answered(streams, async move { server.complete(ask, prompt).await }, answer).await
}

impl Request {
    /// The request, and the prompt that goes on.
    fn ask(self, server: &Server) -> Result<(Ask, String), Problem> {
        let prompts: Vec<String> = self.prompt.into();
        let [prompt] = <[String; 1]>::try_from(prompts).map_err(|all| {
            Problem::invalid("prompt", format!("{} prompts in one request; send one in each", all.len()))
        })?;
        for (is_asked, field, text) in [
            (self.n.is_some_and(|n| n != 1), "n", "one answer is given to a request; send it again for more"),
            (
                self.echo && self.logprobs.is_some(),
                "echo",
                "log-probabilities of the prompt are not given; ask without `echo`",
            ),
            (!self.suffix.is_empty(), "suffix", "write the model's own marks for what follows into the prompt"),
            (self.logprobs.is_some_and(|top| top > LOGPROBS_MAX), "logprobs", "at most 5 are given beside each token"),
        ] {
            if is_asked {
                return Err(Problem::invalid(field, text));
            }
        }
        let ask = Ask {
            max_tokens: Some(self.max_tokens.unwrap_or(MAX_TOKENS)),
            stop: self.stop.map(Into::into).unwrap_or_default(),
            sampling: self.given.sampling(),
            logprobs: self.logprobs,
            ..Ask::new(server.model(&self.model)?, vec![Turn::User(prompt.clone())])
        };
        Ok((ask, prompt))
    }
}

struct Answer {
    id: String,
    created: i64,
    model: String,
    logprobs: bool,
    /// What comes before the answer: the prompt if it is to be repeated.
    echo: String,
}

impl Answer {
    fn chunk(&self, text: &str, tokens: &[TokenLogprobs], end: Option<End>) -> Value {
        let (logprobs, finish) = (self.logprobs.then(|| logprobs(tokens)), end.map(|end| finish(end.reason)));
        let mut chunk = json!({
            "id": self.id, "object": "text_completion", "created": self.created, "model": self.model,
            "choices": [{ "index": 0, "text": text, "logprobs": logprobs, "finish_reason": finish }],
        });
        if let Some(end) = end {
            chunk["usage"] = usage(end);
        }
        chunk
    }
}

impl Wire for Answer {
    fn whole(self, whole: &Whole) -> Value {
        self.chunk(&format!("{}{}{}", self.echo, whole.thinking, whole.text), &whole.tokens, Some(whole.end))
    }

    fn begin(&mut self) -> Vec<String> {
        if self.echo.is_empty() { Vec::new() } else { vec![event(&self.chunk(&self.echo, &[], None))] }
    }

    fn delta(&mut self, delta: Delta) -> Vec<String> {
        let (text, tokens, end) = match delta {
            Delta::Text(text, tokens) => (text, tokens, None),
            // What a raw prompt is followed by is text, thoughts too.
            Delta::Thinking(text) => (text, Vec::new(), None),
            Delta::Finished(end) => (String::new(), Vec::new(), Some(end)),
            Delta::Call(_) | Delta::Alive => (String::new(), Vec::new(), None),
        };
        let chunk = event(&self.chunk(&text, &tokens, end));
        if end.is_some() { vec![chunk, DONE.to_owned()] } else { vec![chunk] }
    }

    fn failed(&mut self, problem: &Problem) -> Vec<String> {
        vec![event(&openai_error(problem)), DONE.to_owned()]
    }
}

/// In the form of raw completions: three lists, an entry a token.
fn logprobs(tokens: &[TokenLogprobs]) -> Value {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let top = |one: &TokenLogprobs| -> Map<String, Value> {
        one.top.iter().map(|(bytes, logprob)| (text(bytes), json!(finite(*logprob)))).collect()
    };
    json!({
        "tokens": tokens.iter().map(|one| text(&one.bytes)).collect::<Vec<_>>(),
        "token_logprobs": tokens.iter().map(|one| finite(one.logprob)).collect::<Vec<_>>(),
        "top_logprobs": tokens.iter().map(top).collect::<Vec<_>>(),
    })
}
