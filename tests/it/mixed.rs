//! An engine under mixed load: requests wait, are parked or dropped, and every answer has the tokens of a solo run.

use std::sync::OnceLock;
use std::time::Duration;

use monobloc::budget::permit::{Permit, Priority};
use monobloc::engine::scripted::Script;
use monobloc::engine::slot::Reuse;
use monobloc::engine::{Engine, Finish, Request, Token};
use monobloc::models::dialect::Prompt;
use proptest::prelude::*;
use proptest::strategy::ValueTree;

/// One request of a mixed load.
#[derive(Clone, Debug)]
struct Arrival {
    /// The number of the preamble, and its length.
    preamble: usize,
    preamble_length: usize,
    own: usize,
    tokens: usize,
    priority: Priority,
    continues: bool,
    /// The request is dropped after this many tokens.
    dropped_after: Option<usize>,
    /// Milliseconds after the previous request.
    pause_ms: u64,
}

fn arrival(tokens_max: usize) -> impl Strategy<Value = Arrival> {
    let priority = prop_oneof![Just(Priority::Background), Just(Priority::Step), Just(Priority::User)];
    let dropped_after = prop_oneof![3 => Just(None), 1 => (0..6usize).prop_map(Some)];
    (0..3usize, 0..200usize, 0..400usize, 1..tokens_max, priority, any::<bool>(), dropped_after, 0..4u64).prop_map(
        |(preamble, preamble_length, own, tokens, priority, continues, dropped_after, pause_ms)| Arrival {
            preamble,
            preamble_length,
            own,
            tokens,
            priority,
            continues,
            dropped_after,
            pause_ms,
        },
    )
}

/// Runs `arrivals` concurrently; returns the tokens of each, or `None` for a dropped one.
async fn run(engine: &Engine, arrivals: &[(Arrival, Vec<Token>)]) -> Vec<Option<Vec<Token>>> {
    let mut running = Vec::new();
    for (arrival, prompt) in arrivals {
        tokio::time::sleep(Duration::from_millis(arrival.pause_ms)).await;
        let request = Request {
            priority: arrival.priority,
            ignore_end: true,
            reuse: if arrival.continues { Reuse::Continue } else { Reuse::Exact },
            ..Request::new(prompt.clone(), arrival.tokens)
        };
        let mut generation = engine.generate(request).expect("accepted");
        let dropped_after = arrival.dropped_after;
        running.push(tokio::spawn(async move {
            match dropped_after {
                None => Some(generation.collect().await.expect("finishes").tokens),
                Some(after) => {
                    while generation.tokens().len() < after && generation.next().await.expect("no error").is_some() {}
                    None
                }
            }
        }));
    }
    let mut results = Vec::new();
    for one in running {
        results.push(one.await.expect("no panic"));
    }
    results
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// The scripted model gives one reply to every prompt, and fails if a sequence has a gap or a token of another
    /// request.
    #[test]
    fn a_scripted_engine_answers_everybody_and_is_idle_at_the_end(
        arrivals in proptest::collection::vec(arrival(40), 1..12),
        slots in 1..4usize,
    ) {
        let reply = "the quick brown fox jumps over the lazy dog";
        let mut script = Script::saying(reply);
        script.slots = slots;
        script.chunk = 32;
        script.row_time = Duration::from_micros(5);
        let engine = script.engine(Permit::new()).expect("starts");
        let arrivals: Vec<(Arrival, Vec<Token>)> = arrivals
            .into_iter()
            .map(|one| {
                let text = format!(
                    "{}{}<|im_start|>assistant\n",
                    ["a", "b", "c"][one.preamble].repeat(one.preamble_length),
                    "z".repeat(one.own)
                );
                let prompt = engine.tokenize(&Prompt::default().text(text));
                (one, prompt)
            })
            .collect();
        let results = runtime().block_on(run(&engine, &arrivals));
        for ((arrival, _), tokens) in arrivals.iter().zip(results) {
            let Some(tokens) = tokens else { continue };
            let text: String = tokens.iter().map(|token| char::from(token.0 as u8)).collect();
            prop_assert_eq!(text, &reply[..arrival.tokens.min(reply.len())]);
        }
        // A dropped request leaves the queue when the worker next checks it.
        for _ in 0..500 {
            if engine.waiting() > 0 {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        prop_assert_eq!(engine.waiting(), 0);
    }
}

/// Three random loads on a model with recurrent layers; each answer is compared with a solo run.
#[test]
fn a_recurrent_model_under_mixed_load_gives_the_tokens_of_solo_runs() {
    let file = crate::engine::synthetic(monobloc::synth::Shape::TinyLfm2Moe);
    let solo = crate::engine::engine_with_chunk(file, 32);
    let shared = crate::engine::engine_with_chunk(file, 32);
    let runtime = runtime();
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for _ in 0..3 {
        let mix = proptest::collection::vec(arrival(24), 6..9).new_tree(&mut runner).expect("a mix").current();
        let arrivals: Vec<(Arrival, Vec<Token>)> = mix
            .into_iter()
            .map(|one| {
                let text = format!(
                    "{} {}",
                    crate::engine::prose(one.preamble, one.preamble_length / 2 + 1),
                    crate::engine::prose(50 + one.own, one.own)
                );
                let prompt = solo.tokenize(&Prompt::default().text(text));
                // `Reuse::Continue` allows small differences, so it is not used here.
                (Arrival { continues: false, ..one }, prompt)
            })
            .collect();
        let results = runtime.block_on(run(&shared, &arrivals));
        for (number, ((arrival, prompt), tokens)) in arrivals.iter().zip(results).enumerate() {
            let Some(tokens) = tokens else { continue };
            let request = Request { ignore_end: true, ..Request::new(prompt.clone(), arrival.tokens) };
            let alone = runtime.block_on(solo.generate(request).expect("accepted").collect()).expect("finishes");
            assert_eq!(alone.finish, Finish::MaxTokens);
            assert_eq!(tokens, alone.tokens, "request {number}: {arrival:?}");
        }
    }
}

/// No queued request is lost.
#[test]
fn two_hundred_queued_requests_are_all_answered() {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    let engine = ENGINE.get_or_init(|| Script::saying("ok").engine(Permit::new()).expect("starts"));
    runtime().block_on(async {
        let prompt = engine.tokenize(&Prompt::default().text("<|im_start|>assistant\n"));
        let accepted: Vec<_> =
            (0..200).map(|_| engine.generate(Request::new(prompt.clone(), 2)).expect("room")).collect();
        for generation in accepted {
            assert_eq!(generation.collect().await.expect("finishes").text, "ok");
        }
    });
    assert_eq!(engine.waiting(), 0);
}
