//! Entropy-adaptive sampling: sure tokens are taken as they are, and where the model is lost the draw widens.
//!
//! After Entropix (xjdr-alt/entropix, `sampler.py`), as far as logits alone carry it: what it reads from attention scores
//! llama.cpp does not give out, and its inserted questions are no business of a sampler. Its thresholds are in bits; a bit is
//! ln 2 nats.

use kernels::Entropy;

use super::Sampling;

const BIT: f32 = std::f32::consts::LN_2;
/// Below both of these the likeliest token is taken (`low_ent_thresh`, `low_vent_thresh`: 0.1 each).
const SURE_ENTROPY: f32 = 0.1 * BIT;
const SURE_VARENTROPY: f32 = 0.1 * BIT * BIT;
/// Above both of these the draw widens (`med_ent_thresh` 3, `high_vent_thresh` 5).
const LOST_ENTROPY: f32 = 3.0 * BIT;
const LOST_VARENTROPY: f32 = 5.0 * BIT * BIT;
/// Temperature is multiplied by this where the model is lost (`hehv_attn_vent_offset`).
const LOST_TEMPERATURE: f32 = 2.0;
/// The least min-p there: Entropix narrows top-p by the attention's entropy; a min-p, which scales with the distribution by
/// itself, keeps the hotter draw off the tail (0.1: Nguyen et al., 2024, recommend 0.05 to 0.1 for high temperatures).
const LOST_MIN_P: f32 = 0.1;

/// `sampling` as the next token's `uncertainty` asks for it.
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
    fn the_sure_are_taken_at_their_word_and_the_lost_look_wider() {
        let mut sure = vec![0.0; 100];
        sure[7] = 30.0;
        check(&sure, 0.0, 0.05);
        check(&[0.0, 0.0, 0.0], 0.7, 0.05);
        // Half of the weight on one token, the rest spread over a great many: unlike surprises, large on average.
        let mut lost = vec![0.0; 10_001];
        lost[0] = 10_000f32.ln();
        check(&lost, 1.4, 0.1);
        // Spread evenly: large, but all alike.
        check(&vec![0.0; 10_000], 0.7, 0.05);
    }
}
