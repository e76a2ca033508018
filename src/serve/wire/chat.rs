//! OpenAI's `/v1/chat/completions`.

mod answer;
mod request;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};

use super::stream::streamed;
use crate::serve::Server;
use crate::serve::problem::Problem;
use answer::Answer;
use request::Request;

pub use answer::{finish, finite, usage};
pub use request::{Given, OneOrMore};

pub async fn create(State(server): State<Server>, body: Bytes) -> Result<Response, Problem> {
    let request: Request = super::read(&body)?;
    let (streams, usage, name) = (request.stream, request.wants_usage(), request.model.clone());
    let ask = request.ask(|name| server.model(name))?;
    let answer = Answer::new(name, ask.logprobs.is_some(), usage);
    let reply = async move { server.reply(ask).await };
    if streams {
        return streamed(reply, answer).await;
    }
    Ok(Json(answer.whole(&reply.await?.whole().await?)).into_response())
}
