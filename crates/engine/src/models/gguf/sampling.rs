//! Reads the maker's sampling values from the header (`general.sampling.*`, llama-arch.cpp).

use serde::Serialize;

use super::parse::Parsed;

/// The maker's values; missing and invalid values are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Sampling {
    /// 0 means greedy.
    pub temperature: Option<f32>,
    /// Number of tokens to choose from; 0 means all.
    pub top_k: Option<u32>,
    /// Share of the probability to choose from, above 0 and at most 1.
    pub top_p: Option<f32>,
    /// Minimum probability of a choice, relative to the best one.
    pub min_p: Option<f32>,
    /// Penalty factor for tokens that occurred before; 1 has no effect.
    pub penalty_repeat: Option<f32>,
    /// How many tokens back that penalty looks; 0 turns it off.
    pub penalty_last_n: Option<u32>,
}

impl Sampling {
    pub(super) fn read(parsed: &Parsed<'_>) -> Sampling {
        let own = |key: &str| format!("general.sampling.{key}");
        let within = |key: &str, least: f32, most: f32| {
            let value = parsed.real(&own(key))? as f32;
            (least..=most).contains(&value).then_some(value)
        };
        Sampling {
            temperature: within("temp", 0.0, 10.0),
            top_k: parsed.number(&own("top_k")),
            top_p: within("top_p", f32::MIN_POSITIVE, 1.0),
            min_p: within("min_p", 0.0, 1.0),
            penalty_repeat: within("penalty_repeat", f32::MIN_POSITIVE, 10.0),
            penalty_last_n: parsed.number(&own("penalty_last_n")),
        }
    }

    /// Whether the file has no sampling values.
    pub fn is_silent(&self) -> bool {
        *self == Sampling::default()
    }
}
