//! Streams a model's answer: ends its text at stop texts, and holds back its calls until they are complete.

use std::collections::VecDeque;

use serde_json::{Map, Value};

use super::about::Counts;
use super::ask::{Ask, Call, Choice, fresh_id};
use super::held::{Held, openers};
use super::problem::Problem;
use super::reply::{Delta, End, Reason, TokenLogprobs};
use super::stop::Stops;
use crate::engine::pool::Leased;
use crate::engine::{Finish, Generation, Piece, Request, Tally};
use crate::models::dialect::RawCall;
use crate::tools::ToolSpec;
use crate::tools::call::check::{Checked, Repair};
use crate::tools::call::{self, Tier, ToolCall, check};

/// An answer from a model. Dropping it frees the slot.
pub struct ModelReply {
    generation: Option<Generation>,
    /// Keeps the model in memory.
    model: Leased,
    stops: Stops,
    /// The log-probabilities of tokens whose text is held back.
    tokens: Vec<TokenLogprobs>,
    held: Held,
    tools: Vec<ToolSpec>,
    /// Whether the answer must be a call.
    forced: bool,
    one_call: bool,
    /// All text so far, if it may contain calls.
    text: String,
    prompt: usize,
    ready: VecDeque<Delta>,
    counts: Counts,
    /// The reason the answer fails, sent after the deltas that are ready.
    failed: Option<Problem>,
}

impl ModelReply {
    /// Starts `request`; fails immediately if the prompt does not fit.
    pub fn start(ask: &Ask, model: Leased, request: Request, counts: Counts) -> Result<ModelReply, Problem> {
        let prompt = request.prompt.len();
        let generation = Some(model.engine.generate(request)?);
        let tools = if ask.choice == Choice::None { Vec::new() } else { ask.tools.clone() };
        let held = Held::at(if tools.is_empty() { Vec::new() } else { openers(&model.dialect) });
        let stops = Stops::new(ask.stop.clone());
        let (tokens, text, ready, failed) = (Vec::new(), String::new(), VecDeque::new(), None);
        let (forced, one_call) = (ask.forces_a_call(), ask.one_call);
        Ok(ModelReply {
            generation,
            model,
            stops,
            tokens,
            held,
            tools,
            forced,
            one_call,
            text,
            prompt,
            ready,
            counts,
            failed,
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
            let Some(generation) = &mut self.generation else { return Ok(None) };
            let piece = generation.next().await?;
            let tokens = match piece {
                // Log-probabilities so far belong to the text that follows.
                Some(Piece::Queued { .. } | Piece::Pulse { .. }) => Vec::new(),
                _ => logprobs(generation),
            };
            match piece {
                Some(Piece::Answer(text)) => self.take(&text, tokens),
                // Log-probabilities of thoughts are not returned.
                Some(Piece::Thinking(text)) => self.ready.push_back(Delta::Thinking(text)),
                Some(Piece::Queued { .. } | Piece::Pulse { .. }) => self.ready.push_back(Delta::Alive),
                Some(Piece::Finished { finish, tally }) => self.finish(tokens, finish, &tally),
                None => self.generation = None,
            }
        }
    }

    fn take(&mut self, text: &str, tokens: Vec<TokenLogprobs>) {
        let (text, tokens, stopped) = self.stops.push(text, tokens);
        self.pass(&text, tokens);
        if let Some(number) = stopped {
            let generated = self.generation.as_ref().map_or(0, |generation| generation.tokens().len());
            // Dropping the generation ends it; its tally is then unknown.
            let tally = Tally { prompt_tokens: self.prompt, generated_tokens: generated, ..Tally::default() };
            self.end(Reason::StopText(number), &tally);
        }
    }

    /// Passes on text and its tokens, except text that may become a call.
    fn pass(&mut self, text: &str, tokens: Vec<TokenLogprobs>) {
        self.tokens.extend(tokens);
        if !self.tools.is_empty() {
            self.text.push_str(text);
        }
        let passed = self.held.push(text);
        // While a call is held back, empty deltas show the client that work continues.
        let is_held = passed.is_empty();
        let delta = if is_held { Delta::Alive } else { Delta::Text(passed, std::mem::take(&mut self.tokens)) };
        self.ready.push_back(delta);
    }

    fn finish(&mut self, tokens: Vec<TokenLogprobs>, finish: Finish, tally: &Tally) {
        self.take("", tokens);
        let (text, tokens) = self.stops.flush();
        self.pass(&text, tokens);
        let reason = match finish {
            Finish::End => Reason::Stop,
            Finish::MaxTokens | Finish::ContextFull | Finish::Repetition => Reason::Length,
        };
        self.end(reason, tally);
    }

    /// Reads the calls in the held-back text, else in the full text, and ends the answer.
    fn end(&mut self, reason: Reason, tally: &Tally) {
        self.generation = None;
        self.counts.add(tally);
        let held = self.held.flush();
        let (mut words, mut calls) = (held.as_str(), Vec::new());
        if !self.tools.is_empty() {
            let is_cut = matches!(reason, Reason::Length | Reason::StopText(_));
            let text = if held.is_empty() { self.text.as_str() } else { held.as_str() };
            calls = match reason {
                // The client would run these calls although they may lack their ends.
                Reason::Length => Vec::new(),
                // A call that the family's mark closes before a stop text is complete.
                Reason::StopText(_) => {
                    self.read(closed(text, &self.model.dialect.notation().calls.around().1), Tier::Strict)
                }
                // Text that the client already received counts as a call only in the family's own
                // marks.
                _ => self.read(text, if held.is_empty() { Tier::Strict } else { Tier::Lenient }),
            };
            if self.one_call {
                calls.truncate(1);
            }
            // A client must not receive half a call as text.
            let mark = self.held.mark().filter(|mark| !calls.is_empty() || mark.len() > 1 && is_cut);
            words = match mark.and_then(|mark| held.find(mark)) {
                Some(at) if !self.forced => &held[..at],
                None if !self.forced && calls.is_empty() => words,
                _ => "",
            };
        }
        let words = if words.trim().is_empty() { "" } else { words };
        if !(words.is_empty() && self.tokens.is_empty()) {
            self.ready.push_back(Delta::Text(words.to_owned(), std::mem::take(&mut self.tokens)));
        }
        let is_call = !calls.is_empty();
        if self.forced && !is_call && reason != Reason::Length {
            self.failed = Some(no_call(reason));
            return;
        }
        self.ready.extend(calls.into_iter().map(Delta::Call));
        let reason = if is_call { Reason::Calls } else { reason };
        let (prompt, cached, generated) = (tally.prompt_tokens, tally.cached_tokens, tally.generated_tokens);
        self.ready.push_back(Delta::Finished(End { reason, prompt, cached, generated }));
    }

    fn read(&self, text: &str, tier: Tier) -> Vec<Call> {
        given(call::read(text, Some(&*self.model.dialect), &self.tools, tier).calls, &self.tools)
    }
}

/// A model's calls as sent to a client, repaired where they can mean only one thing. The client
/// must refuse anything that does not fit a schema.
pub fn given(calls: Vec<RawCall>, tools: &[ToolSpec]) -> Vec<Call> {
    let named = |name: &str| tools.iter().any(|tool| tool.name == name);
    let calls = calls.into_iter().filter_map(|raw| match check::check(&raw, tools) {
        Ok(checked) => Some(with_others(&raw, checked, tools)),
        Err(problem) => {
            tracing::debug!(%problem, "a call that does not fit");
            named(&raw.name).then_some((raw.name, raw.arguments))
        }
    });
    calls.map(|(name, arguments)| Call { id: fresh_id("call_"), name, arguments }).collect()
}

/// The checked call, plus the arguments that its schema does not list, unless it forbids them.
fn with_others(raw: &RawCall, checked: Checked, tools: &[ToolSpec]) -> (String, Map<String, Value>) {
    let Checked { call: ToolCall { tool, mut arguments }, repairs } = checked;
    let spec = tools.iter().find(|spec| spec.name == tool);
    let is_open = spec.is_some_and(|spec| spec.parameters.get("additionalProperties") != Some(&Value::Bool(false)));
    for repair in repairs.into_iter().filter(|_| is_open) {
        if let Repair::Dropped { argument } = repair
            && let Some(value) = raw.arguments.get(&argument)
        {
            arguments.insert(argument, value.clone());
        }
    }
    (tool, arguments)
}

/// `text` up to the last `close` mark that ends a call; empty if the family's mark may also be part
/// of JSON.
fn closed<'t>(text: &'t str, close: &str) -> &'t str {
    let close = close.lines().last().unwrap_or_default().trim_matches(['}', ']', ')', '"', '`', ' ']);
    if close.is_empty() { "" } else { text.rfind(close).map_or("", |at| &text[..at + close.len()]) }
}

/// The problem with an answer that had to contain a call but does not.
pub fn no_call(reason: Reason) -> Problem {
    match reason {
        Reason::StopText(_) => {
            let text = "a stop text appeared in the call that `tool_choice` demands; leave it out or choose another";
            Problem::invalid("stop", text)
        }
        _ => Problem::failed(
            "the model ended without the call that `tool_choice` demands; ask again, or use a larger model",
        ),
    }
}

fn logprobs(generation: &mut Generation) -> Vec<TokenLogprobs> {
    let taken = generation.take_logprobs();
    let bytes = |token| generation.bytes_of(token).to_vec();
    let one = |token: crate::engine::Logprobs| TokenLogprobs {
        bytes: bytes(token.token),
        logprob: token.logprob,
        top: token.top.into_iter().map(|(token, logprob)| (bytes(token), logprob)).collect(),
    };
    taken.into_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::closed;

    #[test]
    fn of_a_text_that_was_cut_only_closed_calls_count() {
        let close = "}\n</tool_call>";
        let whole = "<tool_call>\n{\"name\": \"f\"}\n</tool_call>";
        assert_eq!(closed(&format!("{whole}\n<tool_call>\n{{\"name\": \"g\", \"argu"), close), whole);
        assert_eq!(closed("<tool_call>\n{\"name\": \"f\", \"arguments\": {}}", close), "");
        assert_eq!(closed("[f(a=[1])", ")]"), "", "a bracket also ends a list");
        assert_eq!(closed("a<|call|>b", "<|call|>"), "a<|call|>");
    }
}
