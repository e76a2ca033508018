//! Tests the entire sampling chain: masked tokens, reproducibility, penalties and truncation.

use proptest::prelude::*;

use super::*;

const NEVER: f32 = f32::NEG_INFINITY;

fn choose(sampling: &Sampling, logits: &[f32], generated: &[Token], random: &mut fastrand::Rng) -> Choice {
    super::choose(sampling, &mut Cow::Borrowed(logits), generated, random)
}

fn check(sampling: Sampling, logits: &[f32], generated: &[Token], expected: i32) {
    let choice = choose(&sampling, logits, generated, &mut fastrand::Rng::with_seed(1));
    assert_eq!(choice.token, Token(expected), "{sampling:?}");
}

/// A draw with everything but the temperature switched off.
fn drawn(temperature: f32) -> Sampling {
    Sampling { temperature, ..Sampling::greedy() }
}

#[test]
fn a_choice_follows_penalties_and_truncation_and_equals_go_by_place() {
    check(Sampling::greedy(), &[0.5, 2.0, 2.0, -1.0], &[], 1);
    check(Sampling { repetition_penalty: 2.0, ..Sampling::greedy() }, &[1.0, 1.5], &[Token(1)], 0);
    // The narrowest truncations leave only the most likely token.
    for narrow in [
        Sampling { top_k: 1, ..drawn(5.0) },
        Sampling { top_p: 1e-6, ..drawn(5.0) },
        Sampling { min_p: 1.0, ..drawn(5.0) },
    ] {
        check(narrow, &[0.0, 0.1, 0.0], &[], 1);
    }
}

#[test]
fn a_choice_carries_the_uncertainty_before_truncation() {
    let sampling = Sampling { top_k: 1, repetition_penalty: 9.0, ..drawn(1.0) };
    let logits = [1.0, NEVER, 1.0];
    let choice = choose(&sampling, &logits, &[Token(0)], &mut fastrand::Rng::with_seed(1));
    assert!((choice.entropy - std::f32::consts::LN_2).abs() < 1e-6 && choice.varentropy < 1e-6, "{choice:?}");
}

#[test]
fn dry_breaks_a_loop_that_greedy_is_caught_in() {
    // The model repeats 0, 1, 2; token 3 is always its second choice.
    let run = |sampling: Sampling| {
        let mut generated = vec![Token(0)];
        for _ in 0..30 {
            let mut logits = vec![0.0; 4];
            logits[((generated[generated.len() - 1].0 + 1) % 3) as usize] = 4.0;
            logits[3] = 2.0;
            let choice = choose(&sampling, &logits, &generated, &mut fastrand::Rng::with_seed(1));
            generated.push(choice.token);
        }
        generated.iter().filter(|token| **token == Token(3)).count()
    };
    assert_eq!(run(Sampling::greedy()), 0);
    assert!(run(Sampling { dry: Some(Dry::new(0.8)), ..Sampling::greedy() }) > 0);
}

#[test]
fn a_draw_follows_the_probabilities() {
    let mut random = fastrand::Rng::with_seed(3);
    let logits = [0.75f32.ln(), NEVER, 0.25f32.ln()];
    let often = (0..4000).filter(|_| choose(&drawn(1.0), &logits, &[], &mut random).token == Token(0));
    let share = often.count() as f64 / 4000.0;
    assert!((share - 0.75).abs() < 0.03, "{share}");
}

#[test]
fn log_probabilities_sum_to_one() {
    let logits = [0.3, -2.0, 4.0];
    let sum: f64 = (0..3).map(|i| log_probability(&logits, Token(i)).exp()).sum();
    assert!((sum - 1.0).abs() < 1e-9);
}

fn any_sampling() -> impl Strategy<Value = Sampling> {
    let penalties = (0.5f32..2.0, -2.0f32..2.0, -2.0f32..2.0, proptest::option::of(0.1f32..50.0));
    let narrow = (0.0f32..3.0, 0usize..50, 0.01f32..=1.0, 0.0f32..=1.0);
    (narrow, penalties, any::<bool>(), any::<u64>()).prop_map(|(narrow, penalties, adaptive, seed)| {
        let (temperature, top_k, top_p, min_p) = narrow;
        let (repetition_penalty, frequency_penalty, presence_penalty, dry) = penalties;
        let dry = dry.map(Dry::new);
        Sampling {
            temperature,
            top_k,
            top_p,
            min_p,
            repetition_penalty,
            frequency_penalty,
            presence_penalty,
            dry,
            adaptive,
            seed,
        }
    })
}

fn any_row() -> impl Strategy<Value = (Vec<f32>, Vec<Token>)> {
    let logit = prop_oneof![3 => -20.0f32..20.0, 1 => Just(NEVER)];
    let row = proptest::collection::vec(logit, 1..200).prop_filter("something is allowed", |row| argmax_allowed(row));
    (row, proptest::collection::vec((0i32..200).prop_map(Token), 0..150))
}

fn argmax_allowed(row: &[f32]) -> bool {
    row[argmax(row)] > NEVER
}

proptest! {
    #[test]
    fn a_masked_token_is_never_chosen(sampling in any_sampling(), (row, generated) in any_row()) {
        let mut random = fastrand::Rng::with_seed(sampling.seed);
        for _ in 0..4 {
            let token = choose(&sampling, &row, &generated, &mut random).token;
            prop_assert!(row[token.0 as usize] > NEVER, "{token:?} is masked");
        }
    }

    #[test]
    fn a_seed_gives_the_same_tokens_again(sampling in any_sampling(), (row, generated) in any_row()) {
        let run = || {
            let mut random = fastrand::Rng::with_seed(sampling.seed);
            [0; 4].map(|_| choose(&sampling, &row, &generated, &mut random))
        };
        prop_assert_eq!(run(), run());
    }

    #[test]
    fn greedy_is_argmax_whatever_the_truncation(sampling in any_sampling(), (row, _) in any_row()) {
        let narrow = Sampling { top_k: sampling.top_k, top_p: sampling.top_p, min_p: sampling.min_p, ..Sampling::greedy() };
        let token = choose(&narrow, &row, &[], &mut fastrand::Rng::with_seed(1)).token;
        prop_assert_eq!(token.0 as usize, argmax(&row));
    }
}
