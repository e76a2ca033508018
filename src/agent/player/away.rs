//! Asks a model at a URL: converts a query to the server's form, and the reply to the same output
//! as a local model's.

use std::time::{Duration, Instant};

use super::query::in_the_form_of;
use super::{Form, Output, Query, gbnf};
use crate::agent::Host;
use crate::agent::budget::thought;
use crate::agent::notation::Reply;
use crate::agent::toolkit::{Toolkit, TurnError};
use crate::config::{SamplingWish, Think};
use crate::engine::{Finish, Manner, Sampling, Tally};
use crate::models::dialect::Message;
use crate::models::{Measured, ModelCapability, Role, RoleWishes};
use crate::protocol::Event;
use crate::remote::{self, Ask, Piece, Remote, Switch};

/// Maximum number of tokens in a thought, if no setting gives a limit.
const THOUGHT_MAX: usize = 4_096;
/// Divisor of the context that also limits such a thought.
const THOUGHT_SHARE: usize = 4;
/// Number of tokens in the marks around a message.
const MARKS: usize = 8;

/// A model on a server, with the settings of its role.
pub struct Away {
    pub remote: Remote,
    /// The model and its server, as shown to the user.
    pub name: String,
    pub capability: ModelCapability,
    pub is_declared: bool,
    pub measured: Option<Measured>,
    pub manner: Manner,
    pub think: Think,
}

impl Away {
    /// The model with the wishes of its role and its earlier measurements.
    pub fn of(remote: Remote, wishes: &RoleWishes, measured: Option<Measured>) -> Away {
        let context = remote.abilities().context;
        // A model on a server is assumed to be capable unless it was measured otherwise.
        let capable = wishes.capable.or_else(|| measured.as_ref().and_then(Measured::capable)).unwrap_or(true);
        let capability = if capable { ModelCapability::capable(context) } else { ModelCapability::weak() };
        let silent = Sampling::greedy().wished(wishes.sampling);
        // Thoughts decoded greedily repeat themselves.
        let warm = SamplingWish { temperature: Some(0.6), top_p: Some(0.95), ..SamplingWish::default() };
        let thinking = Sampling::greedy().wished(wishes.sampling.or(warm));
        Away {
            name: remote.name(),
            capability: ModelCapability {
                max_context_tokens: context.min(capability.max_context_tokens),
                ..capability
            },
            is_declared: wishes.capable.is_some(),
            measured,
            manner: Manner { thinking, silent, seed: wishes.sampling.seed },
            think: wishes.think,
            remote,
        }
    }

    /// The estimated number of tokens of a conversation.
    pub fn count(&self, messages: &[Message], tools: impl Iterator<Item = String>) -> usize {
        let call = |message: &Message| message.calls.iter().map(|call| format!("{call:?}")).collect::<String>();
        let texts = messages.iter().map(|message| self.remote.tokens(&format!("{}{}", message.content, call(message))));
        texts.sum::<usize>() + tools.map(|tool| self.remote.tokens(&tool)).sum::<usize>() + MARKS * messages.len()
    }

    /// The query in the server's form; `think` states how much the model may think in this
    /// conversation.
    fn ask(&self, query: &Query<'_>, think: Think, spent: Duration) -> Ask {
        let can = self.remote.abilities();
        let mut messages = query.chat.messages.to_vec();
        let form = match &query.form {
            Form::Free | Form::Call(Reply::Either) => remote::Form::Free,
            Form::Call(Reply::Call) => remote::Form::Call,
            Form::Choice(texts) => remote::Form::Choice(texts.clone()),
            Form::Schema(schema) => remote::Form::Schema(schema.clone()),
            Form::Lark(lark) | Form::Lines(_, lark) => match (gbnf::of(lark).filter(|_| can.grammar), &query.form) {
                (Some(grammar), _) => remote::Form::Grammar(grammar),
                (None, Form::Lines(kinds, _)) if can.schema => {
                    remote::Form::Lines(kinds.iter().map(|kind| (*kind).to_owned()).collect())
                }
                (None, _) => {
                    in_the_form_of(lark, &mut messages);
                    remote::Form::Free
                }
            },
        };
        let is_worth_it = query.form == Form::Free || query.tokens_max >= thought::LONG_ANSWER;
        let think = if is_worth_it { think } else { Think::Off };
        let room = THOUGHT_MAX.min(can.context / THOUGHT_SHARE);
        let thought = match think {
            Think::Off => 0,
            Think::Tokens(tokens) => tokens,
            Think::Auto if thought::is_spent(spent) => 0,
            Think::Auto => room,
        };
        // A thought that cannot be switched off uses tokens anyway.
        let aside = match can.thinking {
            Switch::NeverThinks => 0,
            Switch::Unknown => thought.max(room),
            Switch::Template | Switch::Effort => thought,
        };
        let offers = matches!(query.form, Form::Free | Form::Call(_));
        Ask {
            messages,
            tools: if offers { query.chat.tools.to_vec() } else { Vec::new() },
            begun: query.chat.begun.unwrap_or_default().to_owned(),
            form,
            max_tokens: query.tokens_max + aside,
            sampling: wish(&query.sampling),
            thinks: if thought == 0 { Some(false) } else { query.chat.thinks },
            thought_tokens: (thought > 0).then_some(thought),
        }
    }
}

/// The sampling options that every server accepts.
pub fn wish(sampling: &Sampling) -> SamplingWish {
    let draws = sampling.temperature > 0.0;
    SamplingWish {
        temperature: Some(sampling.temperature),
        top_k: Some(sampling.top_k).filter(|top_k| draws && *top_k > 0),
        top_p: Some(sampling.top_p).filter(|top_p| draws && *top_p < 1.0),
        min_p: Some(sampling.min_p).filter(|min_p| draws && *min_p > 0.0),
        repetition_penalty: Some(sampling.repetition_penalty).filter(|penalty| *penalty != 1.0),
        frequency_penalty: Some(sampling.frequency_penalty).filter(|penalty| *penalty != 0.0),
        presence_penalty: Some(sampling.presence_penalty).filter(|penalty| *penalty != 0.0),
        seed: Some(sampling.seed).filter(|_| draws),
    }
}

/// Asks the server and passes the text to `take` as it arrives; thinking and waiting are sent to
/// the host. Dropping the reply closes the connection.
pub async fn stream(
    toolkit: &Toolkit,
    (role, away): (Role, &Away),
    query: &Query<'_>,
    phase: &str,
    host: &dyn Host,
    mut take: impl FnMut(&str),
) -> Result<Output, TurnError> {
    let started = Instant::now();
    let ask = away.ask(query, toolkit.thinks(away.think), toolkit.meter.thought());
    let mut reply = away.remote.chat(ask);
    let (mut text, mut thinking, mut calls) = (String::new(), String::new(), Vec::new());
    let pulse = |phase: String| host.emit(Event::Pulse { phase, waited_ms: started.elapsed().as_millis() as u64 });
    loop {
        let piece = tokio::select! {
            piece = reply.next() => piece?,
            () = toolkit.cancel.cancelled() => return Err(TurnError::Cancelled),
        };
        match piece {
            Some(Piece::Waiting { why, pause }) => {
                host.notice(&format!("{}: {why}; retrying in {} s", away.name, pause.as_secs_f32().ceil()));
            }
            Some(Piece::Pulse { .. }) => pulse(phase.to_owned()),
            Some(Piece::Progress { total, done }) => pulse(format!("{phase}: {done} of {total} tokens read")),
            Some(Piece::Thinking(text)) => {
                thinking.push_str(&text);
                host.emit(Event::Thinking { text });
            }
            Some(Piece::LeftOut { calls, why }) => {
                let calls = calls.join(", ");
                host.notice(&format!("{}: its calls ({calls}) are not carried out, because {why}", away.name));
            }
            Some(Piece::Text(part)) => {
                take(&part);
                text.push_str(&part);
            }
            Some(Piece::Call { call, is_certain, .. }) => calls.push((call, is_certain)),
            Some(Piece::Finished { finish, usage }) => {
                let tally = Tally {
                    prompt_tokens: usage.prompt_tokens,
                    cached_tokens: usage.cached_tokens,
                    generated_tokens: usage.generated_tokens,
                    thought_tokens: usage.thought_tokens,
                    prompt_ms: usage.first_ms,
                    decode_ms: usage.total_ms.saturating_sub(usage.first_ms),
                    ..Tally::default()
                };
                let host = away.remote.endpoint().host();
                toolkit.meter.note((role, &away.name, Some(host)), phase, &tally, 0);
                // If the server gives no reason for the end of the reply, it may have been cut off.
                let finish = if finish.is_whole() { Finish::End } else { Finish::MaxTokens };
                return Ok(Output { text, thinking, calls, tokens: Vec::new(), dialect: None, finish, tally });
            }
            None => return Err(TurnError::Cancelled),
        }
    }
}
