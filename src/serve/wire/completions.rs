//! OpenAI's `/v1/completions`: continues a raw prompt, in which names of control tokens count.

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use serde_json::{Map, Value, json};

use super::body::{Fields, Ignored};
use super::chat::{DONE, finish, finite, usage};
use super::stream::{Wire, answered, event};
use super::{now, openai_error};
use crate::serve::Server;
use crate::serve::ask::{Ask, Model, Thoughts, Turn, fresh_id};
use crate::serve::problem::Problem;
use crate::serve::reply::{Delta, End, TokenLogprobs, Whole};

/// Maximum number of likely tokens returned per token.
const LOGPROBS_MAX: usize = 5;
/// OpenAI's default for raw completions.
const MAX_TOKENS: usize = 16;

pub async fn create(State(server): State<Server>, body: Bytes) -> Result<Response, Problem> {
    let mut fields = Fields::read(&body)?;
    let model = fields.take::<String>("model")?.unwrap_or_else(|| "planner".to_owned());
    let streams = fields.take("stream")?.unwrap_or(false);
    // The last chunk always contains the token counts.
    fields.take::<Value>("stream_options")?;
    let echoes = fields.take("echo")?.unwrap_or(false);
    let (ask, prompt, ignored) = read(fields, server.model(&model)?, echoes)?;
    let (id, created, logprobs) = (fresh_id("cmpl-"), now(), ask.logprobs.is_some());
    let echo = if echoes { prompt.clone() } else { String::new() };
    let answer = Answer { id, created, model, logprobs, echo };
    answered(streams, async move { server.complete(ask, prompt).await }, answer)
        .await
        .map(|response| ignored.told(response))
}

/// The request, and the prompt to continue.
fn read(mut fields: Fields, model: Model, echoes: bool) -> Result<(Ask, String, Ignored), Problem> {
    let prompts = fields.texts("prompt")?.ok_or_else(|| Problem::invalid("prompt", "`prompt` is missing"))?;
    let [prompt] = <[String; 1]>::try_from(prompts).map_err(|all| {
        Problem::invalid("prompt", format!("{} prompts in one request; send one per request", all.len()))
    })?;
    let logprobs: Option<usize> = fields.take("logprobs")?;
    if logprobs.is_some_and(|top| top > LOGPROBS_MAX) {
        return Err(Problem::invalid("logprobs", "at most 5 are given for each token"));
    }
    if echoes && logprobs.is_some() {
        let text = "log-probabilities of the prompt are not given; ask without `echo`";
        return Err(Problem::invalid("echo", text));
    }
    let ask = Ask {
        max_tokens: Some(fields.limit("max_tokens")?.unwrap_or(MAX_TOKENS)),
        stop: fields.texts("stop")?.unwrap_or_default(),
        sampling: fields.sampling()?,
        logprobs,
        thoughts: Thoughts::Free,
        ..Ask::new(model, vec![Turn::User(prompt.clone())])
    };
    Ok((ask, prompt, fields.rest()?))
}

struct Answer {
    id: String,
    created: i64,
    model: String,
    logprobs: bool,
    /// The text before the answer: the prompt if it should be repeated.
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
            // Everything after a raw prompt is text, including thoughts.
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

/// The form for raw completions: three lists, with one entry per token.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_raw_completion_cannot_do_is_refused_by_the_field() {
        let with = |name: &str, value: Value| {
            let mut request = json!({ "prompt": "Once" });
            request[name] = value;
            read(Fields::of(&request), Model::Planner, true).err().and_then(|why| why.field)
        };
        for (field, value) in [
            ("prompt", json!(["a", "b"])),
            ("prompt", json!([1, 2])),
            ("suffix", json!("end")),
            ("best_of", json!(3)),
            ("logprobs", json!(6)),
            ("stop", json!(1)),
        ] {
            assert_eq!(with(field, value), Some(field));
        }
        assert_eq!(with("logprobs", json!(1)), Some("echo"));
        assert_eq!(with("suffix", json!("")), None);
        assert_eq!(with("best_of", json!(1)), None);
    }
}
