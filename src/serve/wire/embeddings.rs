//! OpenAI's `/v1/embeddings`.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

use super::body::Fields;
use crate::base::Cancel;
use crate::embed::{Embedder, Purpose, TOKENS_MAX};
use crate::serve::problem::{Kind, Problem};
use crate::serve::{CancelOnDrop, Server, unknown_model};

/// Maximum number of texts in one request.
const TEXTS_MAX: usize = 2048;

/// Texts, or their token numbers in the embedder's own vocabulary.
#[derive(Deserialize)]
#[serde(untagged)]
enum Input {
    Text(String),
    Texts(Vec<String>),
    Tokens(Vec<u32>),
    TokensOfTexts(Vec<Vec<u32>>),
}

impl Input {
    fn texts(self, embedder: &Embedder) -> Result<Vec<String>, Problem> {
        let decoded = |tokens: Vec<u32>| {
            let help = "send texts instead (LangChain: check_embedding_ctx_length=False)";
            embedder.text_of(&tokens).map_err(|error| Problem::invalid("input", format!("{error}; {help}")))
        };
        match self {
            Input::Text(text) => Ok(vec![text]),
            Input::Texts(texts) => Ok(texts),
            Input::Tokens(tokens) => Ok(vec![decoded(tokens)?]),
            Input::TokensOfTexts(all) => all.into_iter().map(decoded).collect(),
        }
    }
}

pub async fn create(State(server): State<Server>, body: Bytes) -> Result<Response, Problem> {
    let mut fields = Fields::read(&body)?;
    let name = fields.take::<String>("model")?.unwrap_or_else(|| "embedder".to_owned());
    if ["planner", "router", "agent"].contains(&name.as_str()) {
        let text = format!("`{name}` writes text; /v1/embeddings takes the model `embedder`");
        return Err(Problem::invalid("model", text));
    }
    if !server.is_embedder(&name) {
        return Err(unknown_model(&name));
    }
    let base64 = match fields.take::<String>("encoding_format")?.as_deref() {
        None | Some("float") => false,
        Some("base64") => true,
        Some(other) => {
            return Err(Problem::invalid("encoding_format", format!("`{other}` is neither float nor base64")));
        }
    };
    let wanted: Option<usize> = fields.take("dimensions")?;
    let input = input(&mut fields)?;
    let ignored = fields.rest()?;
    let embedder = server.embedder().await?;
    let wanted = wanted.unwrap_or(embedder.dimensions());
    if wanted != embedder.dimensions() {
        let text = format!("this embedder's vectors have {} numbers, not {wanted}", embedder.dimensions());
        return Err(Problem::invalid("dimensions", text));
    }
    let texts = input.texts(&embedder)?;
    if texts.is_empty() || texts.len() > TEXTS_MAX {
        return Err(Problem::invalid("input", format!("{} texts; 1 to {TEXTS_MAX} are accepted", texts.len())));
    }
    let (vectors, tokens) = embedded(embedder, texts).await?;
    let data: Vec<Value> = vectors
        .iter()
        .enumerate()
        .map(|(index, vector)| json!({ "object": "embedding", "index": index, "embedding": written(vector, base64) }))
        .collect();
    let usage = json!({ "prompt_tokens": tokens, "total_tokens": tokens });
    Ok(ignored.told(Json(json!({ "object": "list", "data": data, "model": name, "usage": usage })).into_response()))
}

fn input(fields: &mut Fields) -> Result<Input, Problem> {
    let given: Value = fields.take("input")?.ok_or_else(|| Problem::invalid("input", "`input` is missing"))?;
    let wrong = |_| Problem::invalid("input", "`input` must be a string, a list of strings, or token numbers");
    serde_json::from_value(given).map_err(wrong)
}

/// The vectors of `texts` and the number of their tokens. The work ends if the client disconnects.
async fn embedded(embedder: Embedder, texts: Vec<String>) -> Result<(Vec<Vec<f32>>, usize), Problem> {
    let cancel = CancelOnDrop(Cancel::new());
    let flag = cancel.0.clone();
    let work = tokio::task::spawn_blocking(move || -> Result<_, Problem> {
        let counts = embedder.count_tokens(&texts, &flag)?;
        fits(&counts)?;
        Ok((embedder.embed(&texts, Purpose::Plain, &flag)?, counts.iter().sum()))
    });
    work.await.map_err(Problem::failed)?
}

/// Nothing is truncated: a text with more tokens than the embedder can read is refused.
fn fits(counts: &[usize]) -> Result<(), Problem> {
    let Some((index, &prompt)) = counts.iter().enumerate().find(|(_, count)| **count > TOKENS_MAX) else {
        return Ok(());
    };
    let text =
        format!("text {index} of `input` has {prompt} tokens or more; the maximum is {TOKENS_MAX}; send it in parts");
    Err(Problem { field: Some("input"), ..Problem::new(Kind::TooLong { prompt, context: TOKENS_MAX }, text) })
}

/// A vector as a list of numbers, or as base64 of little-endian f32.
fn written(vector: &[f32], base64: bool) -> Value {
    if !base64 {
        return json!(vector);
    }
    let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
    Value::String(STANDARD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_tokens_are_told_apart() {
        let read = |input: Value| {
            let fields = json!({ "input": input });
            super::input(&mut Fields::of(&fields))
        };
        assert!(matches!(read(json!("a")), Ok(Input::Text(_))));
        assert!(matches!(read(json!(["a", "b"])), Ok(Input::Texts(texts)) if texts.len() == 2));
        assert!(matches!(read(json!([1, 2])), Ok(Input::Tokens(_))));
        assert!(matches!(read(json!([[1], [2]])), Ok(Input::TokensOfTexts(_))));
        assert_eq!(read(json!({ "a": 1 })).err().and_then(|why| why.field), Some("input"));
        assert_eq!(read(Value::Null).err().and_then(|why| why.field), Some("input"));
    }

    #[test]
    fn a_text_that_is_too_long_is_named_with_both_numbers() {
        assert!(fits(&[1, TOKENS_MAX]).is_ok());
        let problem = fits(&[1, TOKENS_MAX + 1]).unwrap_err();
        assert_eq!((problem.field, problem.status().as_u16()), (Some("input"), 400));
        assert!(problem.message.starts_with("text 1 of `input` has 8193 tokens"), "{problem}");
    }
}
