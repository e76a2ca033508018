//! Asks a model in this process: writes a query in the model's own notation and follows the generation.

use super::{Form, Output, Query};
use crate::agent::sure::{self, Weighed};
use crate::agent::toolkit::{Toolkit, TurnError};
use crate::agent::{Host, notation};
use crate::engine::pool::Leased;
use crate::engine::{Choice, EngineError, Generation, Grammar, Logprobs, Piece, Request};
use crate::protocol::Event;

/// The query in the engine's form.
pub fn request(model: &Leased, query: &Query<'_>) -> Request {
    let Query { chat, form, tokens_max, sampling, priority, reuse, repeats, hands_over: _, weighed } = query;
    let grammar = match form {
        Form::Free => None,
        Form::Lark(text) | Form::Lines(_, text) => Some(Grammar::Lark(text.clone())),
        Form::Choice(texts) => {
            let texts: Vec<String> = texts.iter().map(|text| notation::quoted(text)).collect();
            Some(Grammar::Lark(format!("start: {}\n", texts.join(" | "))))
        }
        Form::Schema(schema) => Some(Grammar::JsonSchema(schema.clone())),
        Form::Call(reply) => Some(notation::grammar(&model.dialect, chat.tools, *reply)),
    };
    Request {
        grammar,
        sampling: *sampling,
        priority: *priority,
        reuse: *reuse,
        lookup: *repeats,
        logprobs: weighed.then_some(sure::RIVALS),
        ..model.engine.request(&model.dialect.render(*chat), *tokens_max)
    }
}

/// Runs a generation and passes its text to `take` as it arrives; thinking and waiting are reported
/// to the host.
pub async fn stream(
    toolkit: &Toolkit,
    model: &Leased,
    request: Request,
    phase: &str,
    host: &dyn Host,
    mut take: impl FnMut(&str),
) -> Result<Output, TurnError> {
    let system_tokens = request.fixed;
    let mut generation: Generation = model.engine.generate(request)?;
    let (mut text, mut thinking) = (String::new(), String::new());
    loop {
        let piece = tokio::select! {
            piece = generation.next() => piece?,
            () = toolkit.cancel.cancelled() => {
                // Pieces that were generated before the cancellation are still delivered.
                for piece in generation.cancel() {
                    match piece {
                        Piece::Thinking(text) => host.emit(Event::Thinking { text }),
                        Piece::Answer(part) => take(&part),
                        _ => {}
                    }
                }
                return Err(TurnError::Cancelled);
            }
        };
        match piece {
            Some(Piece::Queued { position, eta_ms }) => host.emit(Event::QueueUpdate { position, eta_ms }),
            Some(Piece::Pulse { waited_ms }) => host.emit(Event::Pulse { phase: phase.to_owned(), waited_ms }),
            Some(Piece::Thinking(text)) => {
                thinking.push_str(&text);
                host.emit(Event::Thinking { text });
                // The answer begins after the thought.
                generation.take_logprobs();
            }
            Some(Piece::Answer(part)) => {
                take(&part);
                text.push_str(&part);
            }
            Some(Piece::Finished { finish, tally }) => {
                toolkit.meter.note((model.role, model.engine.model(), None), phase, &tally, system_tokens);
                let odds = generation.take_logprobs();
                let drawn = generation.choices().iter().rev().take(odds.len()).rev();
                let weighed =
                    |(odds, drawn): (&Logprobs, &Choice)| Weighed::of(generation.bytes_of(odds.token), odds, drawn);
                return Ok(Output {
                    text,
                    thinking,
                    calls: Vec::new(),
                    tokens: odds.iter().zip(drawn).map(weighed).collect(),
                    dialect: Some(model.dialect.clone()),
                    finish,
                    tally,
                });
            }
            None => return Err(TurnError::Engine(EngineError::Cancelled)),
        }
    }
}
