//! Chooses the next token from logits: applies penalties, truncation and temperature, then takes the best or draws.

mod adaptive;
mod penalise;
mod sampling;
mod truncate;

pub use sampling::{Dry, Manner, Sampling, SamplingError};

use std::borrow::Cow;

use kernels::argmax;

use super::decoder::Token;
use super::request::Logprobs;
use truncate::Candidate;

/// A chosen token and the model's uncertainty: entropy and varentropy of the distribution, without
/// tokens that a grammar forbids, before [`Sampling`] changes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    pub token: Token,
    /// In nats.
    pub entropy: f32,
    /// In nats squared.
    pub varentropy: f32,
}

/// Chooses the next token. Penalties change `logits`; entries of minus infinity are chosen only if
/// there are no others. Ties go to the lowest index, so that greedy decoding is reproducible.
pub fn choose(
    sampling: &Sampling,
    logits: &mut Cow<'_, [f32]>,
    generated: &[Token],
    random: &mut fastrand::Rng,
) -> Choice {
    let uncertainty = kernels::entropy(logits);
    if sampling.penalises() {
        penalise::apply(sampling, logits.to_mut(), generated);
    }
    let sampling = if sampling.adaptive { adaptive::adapt(sampling, uncertainty) } else { *sampling };
    let index = if sampling.temperature > 0.0 {
        draw(&sampling, logits, random).unwrap_or_else(|| argmax(logits))
    } else {
        argmax(logits)
    };
    Choice { token: Token(index as i32), entropy: uncertainty.entropy, varentropy: uncertainty.varentropy }
}

/// The choice for a token that was inserted into the text without consulting the model.
pub fn given(token: Token, logits: &[f32]) -> Choice {
    let kernels::Entropy { entropy, varentropy } = kernels::entropy(logits);
    Choice { token, entropy, varentropy }
}

/// Draws from the truncated distribution; `None` if it is empty.
fn draw(sampling: &Sampling, logits: &[f32], random: &mut fastrand::Rng) -> Option<usize> {
    let mut candidates = truncate::top_k(logits, sampling.top_k);
    truncate::top_p(&mut candidates, sampling.top_p);
    truncate::min_p(&mut candidates, sampling.min_p);
    let greatest = truncate::greatest(&candidates);
    let weight = |candidate: &Candidate| f64::from((candidate.logit - greatest) / sampling.temperature).exp();
    let mut left = random.f64() * candidates.iter().map(weight).sum::<f64>();
    let drawn = candidates.iter().find(|candidate| {
        left -= weight(candidate);
        left < 0.0
    });
    // Rounding may leave a small remainder after the last candidate.
    drawn.or(candidates.last()).map(|candidate| candidate.index)
}

/// Log-probability of `token` under `logits` (a log-softmax in f64).
pub fn log_probability(logits: &[f32], token: Token) -> f64 {
    let sum = log_sum(logits);
    logits.get(token.0 as usize).map_or(f64::NEG_INFINITY, |&logit| f64::from(logit) - sum)
}

/// The logarithm of the sum of all exponentials.
fn log_sum(logits: &[f32]) -> f64 {
    let highest = f64::from(logits.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    highest + logits.iter().map(|&logit| (f64::from(logit) - highest).exp()).sum::<f64>().ln()
}

/// The log-probabilities of `token` and of the `top` most likely tokens under `logits`.
pub fn logprobs(logits: &[f32], token: Token, top: usize) -> Logprobs {
    let sum = log_sum(logits);
    let of = |logit: f32| (f64::from(logit) - sum) as f32;
    let likeliest = kernels::top_k(logits, top).into_iter();
    let logprob = logits.get(token.0 as usize).map_or(f32::NEG_INFINITY, |&logit| of(logit));
    Logprobs { token, logprob, top: likeliest.map(|(at, logit)| (Token(at as i32), of(logit))).collect() }
}

#[cfg(test)]
mod tests;
