//! Sampling values requested by a person, a file or a client; any of them may be left unset.

use serde::Deserialize;

/// Values of the sampler; `None` leaves a value to the next source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SamplingWish {
    /// 0 takes the most likely token.
    pub temperature: Option<f32>,
    /// 0 for all tokens.
    pub top_k: Option<usize>,
    pub top_p: Option<f32>,
    pub min_p: Option<f32>,
    pub repetition_penalty: Option<f32>,
    pub frequency_penalty: Option<f32>,
    pub presence_penalty: Option<f32>,
    pub seed: Option<u64>,
}

impl SamplingWish {
    /// Minimum and maximum of each fraction.
    pub const RANGES: [(&str, f32, f32); 6] = [
        ("temperature", 0.0, 10.0),
        ("top_p", 0.001, 1.0),
        ("min_p", 0.0, 1.0),
        ("repetition_penalty", 0.001, 10.0),
        ("frequency_penalty", -10.0, 10.0),
        ("presence_penalty", -10.0, 10.0),
    ];

    /// These values, with missing ones taken from `other`.
    pub fn or(self, other: SamplingWish) -> SamplingWish {
        SamplingWish {
            temperature: self.temperature.or(other.temperature),
            top_k: self.top_k.or(other.top_k),
            top_p: self.top_p.or(other.top_p),
            min_p: self.min_p.or(other.min_p),
            repetition_penalty: self.repetition_penalty.or(other.repetition_penalty),
            frequency_penalty: self.frequency_penalty.or(other.frequency_penalty),
            presence_penalty: self.presence_penalty.or(other.presence_penalty),
            seed: self.seed.or(other.seed),
        }
    }
}
