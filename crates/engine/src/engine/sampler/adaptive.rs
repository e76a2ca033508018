//! Entropy-adaptive sampling: takes the most likely token if the model is certain, widens the draw if very uncertain.
//!
//! Based on Entropix (xjdr-alt/entropix, `sampler.py`), but uses only logits: llama.cpp does not
//! expose the attention scores that Entropix also uses, and inserting questions into the text is
//! not a sampler's task. Its thresholds are in bits; a bit is ln 2 nats.

use kernels::Entropy;

use super::Sampling;

const BIT: f32 = std::f32::consts::LN_2;
/// If both values are below these thresholds, the most likely token is chosen (`low_ent_thresh`,
/// `low_vent_thresh`: 0.1 each).
const SURE_ENTROPY: f32 = 0.1 * BIT;
const SURE_VARENTROPY: f32 = 0.1 * BIT * BIT;
/// If entropy and varentropy are above these thresholds, the temperature rises (`med_ent_thresh` 3,
/// `high_vent_thresh` 5).
const LOST_ENTROPY: f32 = 3.0 * BIT;
const LOST_VARENTROPY: f32 = 5.0 * BIT * BIT;
/// The temperature is multiplied by this when the draw widens (`hehv_attn_vent_offset`).
const LOST_TEMPERATURE: f32 = 2.0;
/// Minimum min-p of a widened draw. Entropix narrows top-p by the attention's entropy instead;
/// min-p scales with the distribution and keeps unlikely tokens out (Nguyen et al., 2024, recommend
/// 0.05 to 0.1 for high temperatures).
const LOST_MIN_P: f32 = 0.1;

/// `sampling` adapted to the `uncertainty` of the next token.
pub fn adapt(sampling: &Sampling, uncertainty: Entropy) -> Sampling {
    let Entropy { entropy, varentropy } = uncertainty;
    if entropy < SURE_ENTROPY && varentropy < SURE_VARENTROPY {
        Sampling { temperature: 0.0, ..*sampling }
    } else if entropy > LOST_ENTROPY && varentropy > LOST_VARENTROPY {
        let temperature = sampling.temperature * LOST_TEMPERATURE;
        Sampling { temperature, min_p: sampling.min_p.max(LOST_MIN_P), ..*sampling }
    } else {
        *sampling
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(logits: &[f32], temperature: f32, min_p: f32) {
        let sampling = Sampling { temperature: 0.7, min_p: 0.05, adaptive: true, ..Sampling::greedy() };
        let adapted = adapt(&sampling, kernels::entropy(logits));
        assert_eq!((adapted.temperature, adapted.min_p), (temperature, min_p));
    }

    #[test]
    fn low_entropy_is_greedy_and_high_entropy_widens_the_draw() {
        let mut sure = vec![0.0; 100];
        sure[7] = 30.0;
        check(&sure, 0.0, 0.05);
        check(&[0.0, 0.0, 0.0], 0.7, 0.05);
        // Half the probability is on one token and the rest is spread over many: high entropy and
        // high varentropy.
        let mut lost = vec![0.0; 10_001];
        lost[0] = 10_000f32.ln();
        check(&lost, 1.4, 0.1);
        // Spread evenly: high entropy, no varentropy.
        check(&vec![0.0; 10_000], 0.7, 0.05);
    }
}
