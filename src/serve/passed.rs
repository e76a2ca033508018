//! Streams an answer from a model on another server. A client that disconnects closes that connection too.

use std::collections::VecDeque;

use super::about::Counts;
use super::ask::{Ask, Choice, Format, Thoughts};
use super::generate::{given, no_call};
use super::problem::Problem;
use super::prompt;
use super::reply::{Delta, End, Reason};
use super::stop::Stops;
use crate::agent::player::{Away, wish};
use crate::config::Think;
use crate::engine::{Sampling, Tally};
use crate::models::dialect::{Message, RawCall};
use crate::remote::{self, Finish, Form, Piece, RemoteError, Usage};
use crate::tools::ToolSpec;

/// Minimum number of tokens reserved for an answer: the prompt's length on the server is only
/// estimated here.
const ROOM_MIN: usize = 256;

/// An answer in progress. Dropping it closes the connection, which stops the server's work.
pub struct Passed {
    reply: Option<remote::Reply>,
    /// The first piece, which had to arrive before the answer could start.
    first: Option<Piece>,
    stops: Stops,
    tools: Vec<ToolSpec>,
    calls: Vec<RawCall>,
    /// Whether the answer must be a call.
    forced: bool,
    one_call: bool,
    /// Estimated number of prompt tokens, and bytes of text so far, for an answer that a stop text
    /// ends before the server counts.
    prompt: usize,
    bytes: usize,
    ready: VecDeque<Delta>,
    counts: Counts,
    /// The reason the answer fails, sent after the deltas that are ready.
    failed: Option<Problem>,
}

/// The reason no answer begins.
pub enum Failed {
    /// The request contains something that cannot be passed on.
    Problem(Problem),
    Remote(RemoteError),
}

/// Estimates the number of tokens in a conversation.
pub fn count(ask: &Ask, away: &Away) -> usize {
    let tools = prompt::offered(ask);
    away.count(&messages(ask), tools.iter().map(|tool| tool.json().to_string()))
}

fn messages(ask: &Ask) -> Vec<Message> {
    let whole = ask.turns.len() - usize::from(ask.begun().is_some());
    prompt::messages(ask, &ask.turns[..whole])
}

/// The request in the server's form, with the estimated length of its prompt.
fn request(ask: &Ask, away: &Away) -> (remote::Ask, usize) {
    let prompt = count(ask, away);
    let left = away.remote.abilities().context.saturating_sub(prompt).max(ROOM_MIN);
    let max_tokens = ask.max_tokens.unwrap_or(left).min(left);
    let (thinks, thought_tokens) = match (ask.thoughts, away.think) {
        (Thoughts::Off, _) | (Thoughts::Own, Think::Off) => (Some(false), None),
        (Thoughts::Own, Think::Tokens(tokens)) => (None, Some(tokens)),
        (Thoughts::Own | Thoughts::Free, _) => (None, None),
        (Thoughts::Tokens(tokens), _) => (Some(tokens > 0), Some(tokens)),
        (Thoughts::Share(share), _) => (Some(share > 0), Some(max_tokens * share / 100)),
    };
    let form = match &ask.format {
        _ if ask.forces_a_call() => Form::Call,
        Format::Schema(schema) => Form::Schema(schema.clone()),
        Format::Text => Form::Free,
    };
    let own = match form {
        Form::Free if thinks != Some(false) && away.remote.thinks() => away.manner.thinking,
        Form::Free => away.manner.silent,
        _ => Sampling::greedy(),
    };
    // A repeated request gets a different answer, unless a seed is set.
    let seed = ask.sampling.seed.or(away.manner.seed).unwrap_or_else(|| u64::from(fastrand::u32(..)));
    let request = remote::Ask {
        tools: prompt::offered(ask),
        begun: ask.begun().unwrap_or_default().to_owned(),
        form,
        sampling: wish(&Sampling { seed, ..own.wished(ask.sampling) }),
        thinks,
        thought_tokens,
        ..remote::Ask::new(messages(ask), max_tokens)
    };
    (request, prompt)
}

impl Passed {
    /// Sends the request and waits for the first piece of the answer; until then, another model can
    /// take over.
    pub async fn start(ask: &Ask, away: &Away, counts: Counts) -> Result<Passed, Failed> {
        if ask.logprobs.is_some() {
            let text = format!("{} runs on another server, whose log-probabilities are not passed on", away.name);
            return Err(Failed::Problem(Problem::invalid("logprobs", text)));
        }
        let (request, prompt) = request(ask, away);
        let mut reply = away.remote.chat(request);
        let first = loop {
            match reply.next().await.map_err(Failed::Remote)? {
                Some(Piece::Waiting { why, pause }) => tracing::warn!(why, ?pause, "{} is asked again", away.name),
                Some(Piece::Pulse { .. } | Piece::Progress { .. }) => {}
                first => break first,
            }
        };
        Ok(Passed {
            reply: Some(reply),
            first,
            stops: Stops::new(ask.stop.clone()),
            tools: if ask.choice == Choice::None { Vec::new() } else { ask.tools.clone() },
            calls: Vec::new(),
            forced: ask.forces_a_call(),
            one_call: ask.one_call,
            prompt,
            bytes: 0,
            ready: VecDeque::new(),
            counts,
            failed: None,
        })
    }

    pub async fn next(&mut self) -> Result<Option<Delta>, Problem> {
        loop {
            if let Some(delta) = self.ready.pop_front() {
                return Ok(Some(delta));
            }
            if let Some(problem) = self.failed.take() {
                return Err(problem);
            }
            let Some(reply) = &mut self.reply else { return Ok(None) };
            let piece = match self.first.take() {
                Some(piece) => Some(piece),
                None => reply.next().await?,
            };
            match piece {
                Some(Piece::Text(text)) => self.take(&text),
                Some(Piece::Thinking(text)) => self.ready.push_back(Delta::Thinking(text)),
                Some(Piece::Call { call, .. }) => self.calls.push(call),
                Some(Piece::LeftOut { calls, why }) => tracing::warn!(?calls, why, "calls are left out"),
                Some(Piece::Waiting { .. } | Piece::Pulse { .. } | Piece::Progress { .. }) => {
                    self.ready.push_back(Delta::Alive);
                }
                Some(Piece::Finished { finish, usage }) => self.finish(finish, usage),
                None => self.reply = None,
            }
        }
    }

    fn take(&mut self, text: &str) {
        self.bytes += text.len();
        let (text, _, stopped) = self.stops.push(text, Vec::new());
        if !text.is_empty() {
            self.ready.push_back(Delta::Text(text, Vec::new()));
        }
        if let Some(number) = stopped {
            let usage =
                Usage { prompt_tokens: self.prompt, generated_tokens: self.bytes.div_ceil(3), ..Usage::default() };
            self.end(Reason::StopText(number), usage);
        }
    }

    fn finish(&mut self, finish: Finish, usage: Usage) {
        let (text, _) = self.stops.flush();
        if !text.is_empty() {
            self.ready.push_back(Delta::Text(text, Vec::new()));
        }
        let reason = match finish {
            Finish::Stop | Finish::Unsaid => Reason::Stop,
            Finish::Length | Finish::Filtered => Reason::Length,
        };
        self.end(reason, usage);
    }

    fn end(&mut self, reason: Reason, usage: Usage) {
        // Closes the connection to the server as soon as no more is needed.
        self.reply = None;
        let (prompt, cached, generated) = (usage.prompt_tokens, usage.cached_tokens, usage.generated_tokens);
        let tally =
            Tally { prompt_tokens: prompt, cached_tokens: cached, generated_tokens: generated, ..Tally::default() };
        self.counts.add(&tally);
        let mut calls = given(std::mem::take(&mut self.calls), &self.tools);
        if self.one_call {
            calls.truncate(1);
        }
        let is_call = !calls.is_empty();
        if self.forced && !is_call && reason != Reason::Length {
            self.failed = Some(no_call(reason));
            return;
        }
        self.ready.extend(calls.into_iter().map(Delta::Call));
        let reason = if is_call { Reason::Calls } else { reason };
        self.ready.push_back(Delta::Finished(End { reason, prompt, cached, generated }));
    }
}
