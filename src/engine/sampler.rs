//! Chooses the next token from logits: greedy, or drawn at a temperature from the likeliest few.

use super::decoder::Token;
use super::handle::Sampling;

/// Tokens that the repetition penalty looks back on (the usual default of llama.cpp).
const PENALTY_WINDOW: usize = 64;

/// The next token. `logits` are changed in place; entries of minus infinity are never chosen.
/// Ties go to the lowest index, so that greedy decoding is reproducible.
pub fn choose(sampling: &Sampling, logits: &mut [f32], recent: &[Token], random: &mut fastrand::Rng) -> Token {
    if sampling.repetition_penalty > 1.0 {
        penalise(logits, recent, sampling.repetition_penalty);
    }
    if sampling.temperature <= 0.0 {
        return Token(argmax(logits) as i32);
    }
    let mut likeliest: Vec<usize> = (0..logits.len()).filter(|&i| logits[i] > f32::NEG_INFINITY).collect();
    let k = sampling.top_k.clamp(1, likeliest.len().max(1));
    if likeliest.len() > k {
        likeliest.select_nth_unstable_by(k - 1, |&a, &b| logits[b].total_cmp(&logits[a]));
        likeliest.truncate(k);
    }
    let highest = likeliest.iter().map(|&i| logits[i]).fold(f32::NEG_INFINITY, f32::max);
    let weights: Vec<f32> = likeliest.iter().map(|&i| ((logits[i] - highest) / sampling.temperature).exp()).collect();
    let mut left = random.f32() * weights.iter().sum::<f32>();
    for (&index, weight) in likeliest.iter().zip(&weights) {
        left -= weight;
        if left <= 0.0 {
            return Token(index as i32);
        }
    }
    Token(argmax(logits) as i32)
}

fn penalise(logits: &mut [f32], recent: &[Token], penalty: f32) {
    let window = &recent[recent.len().saturating_sub(PENALTY_WINDOW)..];
    let mut seen: Vec<usize> = window.iter().map(|token| token.0 as usize).collect();
    seen.sort_unstable();
    seen.dedup();
    for index in seen {
        if let Some(logit) = logits.get_mut(index) {
            *logit = if *logit > 0.0 { *logit / penalty } else { *logit * penalty };
        }
    }
}

/// Index of the greatest value, the first one of equals; 0 for an empty slice.
pub fn argmax(values: &[f32]) -> usize {
    let mut best = 0;
    for (index, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = index;
        }
    }
    best
}

/// Log-probability of `token` under `logits` (a log-softmax in f64).
pub fn log_probability(logits: &[f32], token: Token) -> f64 {
    let highest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits.iter().map(|&logit| f64::from(logit - highest).exp()).sum();
    logits.get(token.0 as usize).map_or(f64::NEG_INFINITY, |&logit| f64::from(logit - highest) - sum.ln())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greedy_takes_the_first_of_equals() {
        let mut logits = vec![0.5, 2.0, 2.0, -1.0];
        let token = choose(&Sampling::greedy(), &mut logits, &[], &mut fastrand::Rng::with_seed(1));
        assert_eq!(token, Token(1));
    }

    #[test]
    fn a_masked_token_is_never_drawn() {
        let sampling = Sampling { temperature: 5.0, top_k: 10, ..Sampling::greedy() };
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..200 {
            let mut logits = vec![1.0, f32::NEG_INFINITY, 1.5, f32::NEG_INFINITY];
            let token = choose(&sampling, &mut logits, &[], &mut random);
            assert!(token == Token(0) || token == Token(2), "{token:?}");
        }
    }

    #[test]
    fn a_penalty_moves_the_choice_away_from_what_was_just_said() {
        let sampling = Sampling { repetition_penalty: 2.0, ..Sampling::greedy() };
        let mut logits = vec![1.0, 1.5];
        assert_eq!(choose(&sampling, &mut logits, &[Token(1)], &mut fastrand::Rng::with_seed(1)), Token(0));
    }

    #[test]
    fn log_probabilities_sum_to_one() {
        let logits = [0.3, -2.0, 4.0];
        let sum: f64 = (0..3).map(|i| log_probability(&logits, Token(i)).exp()).sum();
        assert!((sum - 1.0).abs() < 1e-9);
    }
}
