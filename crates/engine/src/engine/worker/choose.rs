//! Chooses the next token of a job: the text that closes a thought, or else the model's choice, within any grammar.

use std::borrow::Cow;

use crate::engine::decoder::{Token, Vocabulary};
use crate::engine::grammar::{Constraint, GrammarError};
use crate::engine::request::{Logprobs, Request};
use crate::engine::sampler::{self, Choice, Sampling};
use crate::engine::text;
use crate::engine::thought::Thought;

/// The state besides the logits that a choice depends on.
pub struct Chooser<'a> {
    pub vocabulary: &'a dyn Vocabulary,
    pub request: &'a Request,
    /// It begins after the thought.
    pub constraint: Option<&'a mut Constraint>,
    pub thought: Option<&'a mut Thought>,
}

/// The next token.
pub struct Chosen {
    pub choice: Choice,
    pub logprobs: Option<Logprobs>,
    /// Whether the model ends its turn with this token.
    pub is_end: bool,
    /// Whether the grammar allows nothing after this token.
    pub completes: bool,
}

impl Chooser<'_> {
    pub fn choose(
        mut self,
        mut logits: Cow<'_, [f32]>,
        generated: &[Token],
        random: &mut fastrand::Rng,
    ) -> Result<Chosen, GrammarError> {
        if let Some(chosen) = self.in_thought(&mut logits, generated, random) {
            return Ok(chosen);
        }
        if let Some(constraint) = &mut self.constraint {
            constraint.mask(logits.to_mut())?;
        }
        let before = before(self.request, &self.request.sampling, &logits);
        let choice = sampler::choose(&self.request.sampling, &mut logits, generated, random);
        let is_end = self.is_end(choice.token);
        let completes = match &mut self.constraint {
            Some(constraint) if !is_end => constraint.accept(choice.token)?,
            _ => false,
        };
        self.told(choice.token, false);
        let logprobs = self.logprobs(before.as_deref().unwrap_or(&logits), choice.token);
        Ok(Chosen { choice, logprobs, is_end, completes })
    }

    /// The next token of a thought, or of the text that closes it; `None` if the answer continues.
    fn in_thought(
        &mut self,
        logits: &mut Cow<'_, [f32]>,
        generated: &[Token],
        random: &mut fastrand::Rng,
    ) -> Option<Chosen> {
        let thought = self.thought.as_deref_mut()?;
        let mut forced = thought.forced();
        if forced.is_none() && !thought.is_open() {
            return None;
        }
        let before = before(self.request, thought.sampling(), logits);
        let choice = match forced {
            Some(token) => sampler::given(token, logits),
            None => {
                let drawn = sampler::choose(thought.sampling(), logits, generated, random);
                let calls = || thought.would_call(text::bytes(self.vocabulary, drawn.token));
                // A turn that ends inside a thought has no answer, and with a grammar, calls may
                // begin only where it allows them.
                let leaves = is_end(self.vocabulary, self.request, drawn.token) || self.constraint.is_some() && calls();
                forced = if leaves && thought.close() { thought.forced() } else { None };
                forced.map_or(drawn, |token| Choice { token, ..drawn })
            }
        };
        let is_end = forced.is_none() && self.is_end(choice.token);
        self.told(choice.token, forced.is_some());
        let logprobs = self.logprobs(before.as_deref().unwrap_or(logits), choice.token);
        Some(Chosen { choice, logprobs, is_end, completes: false })
    }

    fn is_end(&self, token: Token) -> bool {
        is_end(self.vocabulary, self.request, token)
    }

    fn told(&mut self, token: Token, forced: bool) {
        if let Some(thought) = &mut self.thought {
            thought.push(self.vocabulary, token, forced, self.constraint.is_some());
        }
    }

    fn logprobs(&self, logits: &[f32], token: Token) -> Option<Logprobs> {
        self.request.logprobs.map(|top| sampler::logprobs(logits, token, top))
    }
}

fn is_end(vocabulary: &dyn Vocabulary, request: &Request, token: Token) -> bool {
    vocabulary.is_end(token) && !request.ignore_end
}

/// A copy of `logits` if their log-probabilities are requested and penalties will change them.
fn before(request: &Request, sampling: &Sampling, logits: &[f32]) -> Option<Vec<f32>> {
    (request.logprobs.is_some() && sampling.penalises()).then(|| logits.to_vec())
}
