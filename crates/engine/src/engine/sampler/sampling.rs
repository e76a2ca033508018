//! The options of the sampling chain and their ranges.

use crate::models::ModelSpec;
use crate::models::SamplingWish;
use crate::models::sampling::by_maker;

/// llama.cpp's default top-k, top-p and min-p.
const TRUNCATIONS: (usize, f32, f32) = (40, 0.95, 0.05);

/// How tokens are chosen. Order and formulas are those of llama.cpp's default chain: penalties
/// (repetition, frequency, presence), DRY, top-k, top-p, min-p, temperature. Penalties consider
/// only generated tokens, not the prompt, so that an answer may repeat words of its request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// 0 takes the most likely token.
    pub temperature: f32,
    /// Draws only from this many of the most likely tokens; 0 for all.
    pub top_k: usize,
    /// Draws only from the smallest set of most likely tokens whose probabilities reach this sum; 1
    /// for all.
    pub top_p: f32,
    /// Draws only from tokens at least this share as likely as the most likely one; 0 for all.
    pub min_p: f32,
    /// Divides the logits of recent tokens; 1 has no effect.
    pub repetition_penalty: f32,
    /// Subtracted from a recent token's logit for each occurrence.
    pub frequency_penalty: f32,
    /// Subtracted from a recent token's logit once.
    pub presence_penalty: f32,
    /// Penalises tokens that continue a repetition.
    pub dry: Option<Dry>,
    /// Uses each token's entropy and varentropy to decide between the most likely token, the draw
    /// described above, and a wider draw (`sampler/adaptive.rs`).
    pub adaptive: bool,
    pub seed: u64,
}

/// The "don't repeat yourself" penalty: `multiplier * base^(n - allowed_length)` is subtracted from
/// the logit of a token that would continue a repetition of `n` tokens. Unlike in llama.cpp, there
/// are no sequence breakers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dry {
    pub multiplier: f32,
    pub base: f32,
    /// Repetitions shorter than this are not penalised.
    pub allowed_length: usize,
}

impl Dry {
    /// `base` and `allowed_length` are llama.cpp's defaults; the usual `multiplier` is 0.8.
    pub fn new(multiplier: f32) -> Dry {
        Dry { multiplier, base: 1.75, allowed_length: 2 }
    }
}

impl Sampling {
    /// Whether it changes the logits of previously generated tokens.
    pub fn penalises(&self) -> bool {
        self.penalises_tokens() || self.active_dry().is_some()
    }

    /// Whether recent tokens are penalised regardless of where they occurred.
    pub(super) fn penalises_tokens(&self) -> bool {
        (self.repetition_penalty, self.frequency_penalty, self.presence_penalty) != (1.0, 0.0, 0.0)
    }

    /// The DRY penalty unless a multiplier of 0 switches it off.
    pub(super) fn active_dry(&self) -> Option<Dry> {
        self.dry.filter(|dry| dry.multiplier > 0.0)
    }

    /// Always the most likely token.
    pub fn greedy() -> Sampling {
        Sampling {
            temperature: 0.0,
            top_k: 0,
            top_p: 1.0,
            min_p: 0.0,
            repetition_penalty: 1.0,
            frequency_penalty: 0.0,
            presence_penalty: 0.0,
            dry: None,
            adaptive: false,
            seed: 0,
        }
    }

    /// These options with the values of `wish`. With a temperature, tokens are drawn from those
    /// left by llama.cpp's default truncations, unless other truncations are given.
    pub fn wished(self, wish: SamplingWish) -> Sampling {
        let draws = wish.temperature.is_some_and(|temperature| temperature > 0.0) && self.temperature == 0.0;
        let (top_k, top_p, min_p) = if draws { TRUNCATIONS } else { (self.top_k, self.top_p, self.min_p) };
        Sampling {
            temperature: wish.temperature.unwrap_or(self.temperature),
            top_k: wish.top_k.unwrap_or(top_k),
            top_p: wish.top_p.unwrap_or(top_p),
            min_p: wish.min_p.unwrap_or(min_p),
            repetition_penalty: wish.repetition_penalty.unwrap_or(self.repetition_penalty),
            frequency_penalty: wish.frequency_penalty.unwrap_or(self.frequency_penalty),
            presence_penalty: wish.presence_penalty.unwrap_or(self.presence_penalty),
            seed: wish.seed.unwrap_or(self.seed),
            ..self
        }
    }

    /// These options, or an error for the first value that is out of range.
    pub fn checked(self) -> Result<Sampling, SamplingError> {
        let must = |holds: bool, name, given: f32, range| {
            if holds { Ok(()) } else { Err(SamplingError::Range { name, given, range }) }
        };
        must((0.0..=10.0).contains(&self.temperature), "temperature", self.temperature, "0 (greedy) to 10")?;
        must(self.top_p > 0.0 && self.top_p <= 1.0, "top-p", self.top_p, "above 0, at most 1 (off)")?;
        must((0.0..=1.0).contains(&self.min_p), "min-p", self.min_p, "0 (off) to 1")?;
        let penalty = self.repetition_penalty;
        must(penalty > 0.0 && penalty <= 10.0, "repetition penalty", penalty, "above 0, at most 10; 1 is off")?;
        for (name, penalty) in
            [("frequency penalty", self.frequency_penalty), ("presence penalty", self.presence_penalty)]
        {
            must((-10.0..=10.0).contains(&penalty), name, penalty, "-10 to 10; 0 is off")?;
        }
        if let Some(dry) = self.dry {
            must((0.0..=100.0).contains(&dry.multiplier), "DRY multiplier", dry.multiplier, "0 (off) to 100")?;
            must((1.0..=10.0).contains(&dry.base), "DRY base", dry.base, "1 to 10")?;
        }
        if self.adaptive && self.temperature == 0.0 { Err(SamplingError::AdaptiveGreedy) } else { Ok(self) }
    }
}

/// How a model's free text is sampled. Answers inside a grammar are greedy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Manner {
    /// For answers that follow thinking.
    pub thinking: Sampling,
    /// For immediate answers.
    pub silent: Sampling,
    /// The user's seed, the same for both; 0 if `None`.
    pub seed: Option<u64>,
}

impl Manner {
    /// From settings and models.toml, or else the header, the model family, or greedy.
    pub fn of(spec: &ModelSpec) -> Manner {
        let by = |thinks| Sampling::greedy().wished(spec.sampling.or(by_maker(&spec.header, thinks)));
        Manner { thinking: by(true), silent: by(false), seed: spec.sampling.seed }
    }

    pub fn greedy() -> Manner {
        Manner { thinking: Sampling::greedy(), silent: Sampling::greedy(), seed: None }
    }
}

/// A value of [`Sampling`] that is out of range.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SamplingError {
    #[error("a {name} of {given} is invalid; it must be {range}")]
    Range { name: &'static str, given: f32, range: &'static str },
    #[error("adaptive sampling varies the temperature, which is 0; give one above 0, such as 0.7")]
    AdaptiveGreedy,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(sampling: Sampling, expected: Option<&str>) {
        let message = sampling.checked().err().map(|error| error.to_string());
        assert_eq!(message.as_deref(), expected, "{sampling:?}");
    }

    #[test]
    fn a_wish_replaces_what_it_names_and_a_temperature_alone_brings_truncations() {
        let maker =
            SamplingWish { temperature: Some(1.0), top_k: Some(64), top_p: Some(1.0), ..SamplingWish::default() };
        let made = Sampling::greedy().wished(maker);
        assert_eq!((made.temperature, made.top_k, made.top_p, made.min_p), (1.0, 64, 1.0, 0.05));
        let cooler = made.wished(SamplingWish { temperature: Some(0.2), seed: Some(7), ..SamplingWish::default() });
        assert_eq!(cooler, Sampling { temperature: 0.2, seed: 7, ..made });
        let alone = Sampling::greedy().wished(SamplingWish { temperature: Some(0.7), ..SamplingWish::default() });
        assert_eq!((alone.top_k, alone.top_p, alone.min_p), (40, 0.95, 0.05));
        assert_eq!(Sampling::greedy().wished(SamplingWish::default()), Sampling::greedy());
    }

    #[test]
    fn a_value_out_of_range_is_named_with_its_range() {
        let greedy = Sampling::greedy();
        check(greedy, None);
        check(Sampling { temperature: 0.7, adaptive: true, dry: Some(Dry::new(0.8)), ..greedy }, None);
        let wrong = Sampling { temperature: -1.0, ..greedy };
        check(wrong, Some("a temperature of -1 is invalid; it must be 0 (greedy) to 10"));
        let wrong = Sampling { top_p: 0.0, ..greedy };
        check(wrong, Some("a top-p of 0 is invalid; it must be above 0, at most 1 (off)"));
        let wrong = Sampling { min_p: f32::NAN, ..greedy };
        check(wrong, Some("a min-p of NaN is invalid; it must be 0 (off) to 1"));
        let wrong = Sampling { repetition_penalty: 0.0, ..greedy };
        check(wrong, Some("a repetition penalty of 0 is invalid; it must be above 0, at most 10; 1 is off"));
        let wrong = Sampling { dry: Some(Dry::new(-0.8)), ..greedy };
        check(wrong, Some("a DRY multiplier of -0.8 is invalid; it must be 0 (off) to 100"));
        let wrong = Sampling { adaptive: true, ..greedy };
        check(wrong, Some("adaptive sampling varies the temperature, which is 0; give one above 0, such as 0.7"));
    }
}
