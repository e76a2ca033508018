//! Calls that slots share if exact bits are not required: which slots' rows they contain, and that
//! the answers are not mixed up.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use monobloc::budget::permit::{Permit, Priority};
use monobloc::config::{Exact, FlashAttention};
use monobloc::engine::decoder::{DecodeError, Saved, Sharing, Stop};
use monobloc::engine::llama::{KvFormat, Loading, Shape};
use monobloc::engine::scripted::Letters;
use monobloc::engine::{Decoder, Engine, EngineError, Generation, Limits, Output, Request, Row};
use monobloc::models::dialect::Prompt;

use crate::engine::{loaded, prose};
use crate::models::smollm;

/// A prompt that contains this byte cannot be computed.
const BROKEN: u8 = b'!';

/// The slots of each call, and the number of rows per slot.
type Calls = Arc<Mutex<Vec<(Vec<usize>, usize)>>>;

/// A decoder whose next token depends on all bytes of its sequence, and which records its calls.
struct Choir {
    sequences: Vec<Vec<u8>>,
    logits: Vec<Vec<f32>>,
    calls: Calls,
}

/// The letter that follows `held`.
fn next(held: &[u8]) -> u8 {
    let sum = held.iter().fold(7u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(*byte)));
    b'a' + (sum % 26) as u8
}

impl Decoder for Choir {
    fn limits(&self) -> Limits {
        Limits {
            sequences: self.sequences.len(),
            context: 4096,
            chunk: 256,
            part: 64,
            outputs: 16,
            vocabulary: 257,
            sharing: Sharing::Wanted,
            cuts_anywhere: true,
            calls_in_a_row: 16,
            undo: usize::MAX,
        }
    }

    fn decode(&mut self, rows: &[Row], stop: Stop<'_>) -> Result<(), DecodeError> {
        let failed = |reason: &str| DecodeError::Failed { rows: rows.len(), reason: reason.to_owned() };
        std::thread::sleep(Duration::from_millis(1));
        if stop() {
            return Err(DecodeError::Stopped);
        }
        let of_each: Vec<&[Row]> = rows.chunk_by(|one, next| one.sequence == next.sequence).collect();
        let slots: Vec<usize> = of_each.iter().map(|rows| rows[0].sequence).collect();
        if !slots.is_sorted_by(|one, next| one + 1 == *next) || of_each.iter().any(|of| of.len() != of_each[0].len()) {
            return Err(failed("llama.cpp would cut this call up"));
        }
        self.calls.lock().unwrap().push((slots, of_each[0].len()));
        self.logits.clear();
        for row in rows {
            let held = &mut self.sequences[row.sequence];
            if held.len() != row.position {
                return Err(failed("a row does not continue its sequence"));
            }
            held.push(row.token.0 as u8);
            if held.contains(&BROKEN) {
                return Err(failed("a broken prompt"));
            }
            let mut logits = vec![0.0; 257];
            logits[usize::from(next(held))] = 20.0;
            self.logits.push(logits);
        }
        Ok(())
    }

    fn logits(&self, row: usize) -> &[f32] {
        &self.logits[row]
    }

    fn mark(&mut self, _: usize) {}

    fn keep(&mut self, sequence: usize, wanted: usize) -> usize {
        self.sequences[sequence].truncate(wanted);
        self.sequences[sequence].len()
    }

    fn save(&mut self, sequence: usize) -> Option<Saved> {
        let held = &self.sequences[sequence];
        (!held.is_empty()).then(|| Saved {
            length: held.len(),
            state: held.as_slice().into(),
            marks: Vec::new(),
            places: Vec::new(),
        })
    }

    fn restore(&mut self, sequence: usize, saved: &Saved) -> bool {
        self.sequences[sequence] = saved.state.to_vec();
        true
    }
}

fn choir(slots: usize) -> (Engine, Calls) {
    let calls = Calls::default();
    let seen = calls.clone();
    let engine = Engine::spawn("choir", Arc::new(Letters::new()), Permit::default(), move |inbox| {
        let sequences = vec![Vec::new(); slots];
        inbox.serve(Choir { sequences, logits: Vec::new(), calls: seen }, &Letters::new())
    });
    (engine.expect("the engine starts"), calls)
}

fn request(engine: &Engine, prompt: &str, tokens: usize) -> Request {
    let mut request = Request::new(engine.tokenize(&Prompt::default().text(prompt)), tokens);
    request.ignore_end = true;
    request
}

/// Requests answers to these prompts, each with its number of tokens.
fn ask(engine: &Engine, asked: &[(String, usize)]) -> Vec<Generation> {
    let one = |(prompt, tokens): &(String, usize)| engine.generate(request(engine, prompt, *tokens)).expect("accepted");
    asked.iter().map(one).collect()
}

async fn answers(streams: Vec<Generation>) -> Vec<Result<Output, EngineError>> {
    let mut answers = Vec::new();
    for stream in streams {
        answers.push(stream.collect().await);
    }
    answers
}

/// The answers to prompts that arrive together: the decoder's first call waits until all are
/// requested.
async fn together(engine: &Engine, calls: &Calls, asked: &[(String, usize)]) -> Vec<Result<Output, EngineError>> {
    let streams = {
        let _held = calls.lock().unwrap();
        ask(engine, asked)
    };
    answers(streams).await
}

/// The answer to `prompt` according to the decoder's rule.
fn expected(prompt: &str, tokens: usize) -> String {
    let mut held = prompt.as_bytes().to_vec();
    (0..tokens).for_each(|_| held.push(next(&held)));
    String::from_utf8(held.split_off(prompt.len())).unwrap()
}

fn are_as_expected(asked: &[(String, usize)], answers: &[Result<Output, EngineError>]) {
    for ((prompt, tokens), answer) in asked.iter().zip(answers) {
        assert_eq!(answer.as_ref().expect("finishes").text, expected(prompt, *tokens), "{prompt}");
    }
}

#[tokio::test]
async fn prompts_of_several_requests_are_read_in_one_call() {
    let (engine, calls) = choir(8);
    let asked: Vec<(String, usize)> = (0..6).map(|number| (format!("{number} is asked beside others"), 20)).collect();
    let answers = together(&engine, &calls, &asked).await;
    are_as_expected(&asked, &answers);
    let calls = calls.lock().unwrap();
    let of_prompts = calls.iter().filter(|(_, rows)| *rows > 1).collect::<Vec<_>>();
    assert!(of_prompts.iter().any(|(slots, _)| slots.len() >= 5), "{of_prompts:?}");
    assert!(of_prompts.len() <= 4, "{of_prompts:?}");
    assert!(calls.iter().any(|(slots, rows)| slots.len() >= 6 && *rows == 1), "answers share calls too");
}

#[tokio::test]
async fn jobs_get_neighbouring_slots_and_move_together_when_one_between_them_ends() {
    let (engine, calls) = choir(8);
    let asked: Vec<(String, usize)> =
        [120, 8, 120, 8, 120].iter().enumerate().map(|(number, tokens)| (format!("job {number}"), *tokens)).collect();
    let answers = together(&engine, &calls, &asked).await;
    are_as_expected(&asked, &answers);
    let calls = calls.lock().unwrap();
    let last = calls.iter().rev().find(|(slots, _)| slots.len() == 3).expect("three at once");
    assert!(last.0.is_sorted_by(|one, next| one + 1 == *next), "{last:?}");
    // As long as they are not neighbours, the three take several calls per token; that soon ends.
    let shared = calls.iter().filter(|(slots, rows)| slots.len() == 3 && *rows == 1).count();
    assert!(shared >= 80, "{shared} of 112 tokens came in one call");
    let busy: Vec<usize> = calls.iter().flat_map(|(slots, _)| slots.clone()).collect();
    assert!(busy.iter().all(|slot| *slot < 5), "the first five slots are enough");
}

#[tokio::test]
async fn a_prompt_that_cannot_be_computed_ends_no_other() {
    let (engine, calls) = choir(8);
    let mut asked: Vec<(String, usize)> = (0..5).map(|number| (format!("{number} of some prompts"), 12)).collect();
    asked[2].0.push('!');
    let mut answers = together(&engine, &calls, &asked).await;
    let error = answers.remove(2).expect_err("is broken");
    assert!(error.to_string().contains("broken"), "{error}");
    asked.remove(2);
    are_as_expected(&asked, &answers);
}

#[tokio::test]
async fn a_dropped_stream_leaves_the_others_as_they_are() {
    let (engine, _) = choir(4);
    let dropped = engine.generate(request(&engine, "nobody waits for this", 4000)).expect("accepted");
    let asked: Vec<(String, usize)> = (0..3).map(|number| (format!("{number} goes on"), 60)).collect();
    let streams = ask(&engine, &asked);
    tokio::time::sleep(Duration::from_millis(20)).await;
    drop(dropped);
    are_as_expected(&asked, &answers(streams).await);
}

/// A more urgent prompt does not share its calls with those of others.
#[tokio::test]
async fn the_prompt_of_a_user_comes_before_the_prompts_of_background_jobs() {
    let (engine, calls) = choir(4);
    let job = |number: usize| {
        let prompt = format!("{number} {}", "a long prompt in the background. ".repeat(110));
        engine.generate(Request { priority: Priority::Background, ..request(&engine, &prompt, 4) }).expect("accepted")
    };
    let jobs = [job(0), job(1), job(2)];
    let begun = async {
        while calls.lock().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_micros(100)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), begun).await.expect("the first call begins");
    let question = request(&engine, "a user asks", 2);
    let user = engine.generate(Request { priority: Priority::User, ..question }).expect("accepted");
    assert_eq!(user.collect().await.expect("finishes").text, expected("a user asks", 2));
    let at = calls.lock().unwrap().len();
    for job in jobs {
        assert_eq!(job.collect().await.expect("finishes").tokens.len(), 4);
    }
    let whole = calls.lock().unwrap().len();
    assert!(at < whole / 2, "the user's answer came after {at} of {whole} calls");
}

/// The part of a prompt that equals the previous conversation is not processed again, even though
/// no loop requested the next turn.
#[tokio::test]
async fn all_of_a_conversation_so_far_is_reused() {
    let (engine, calls) = choir(2);
    let first = format!("{} and then", "a sentence with some words in it. ".repeat(9));
    let answer = together(&engine, &calls, &[(first.clone(), 70)]).await.remove(0).expect("finishes");
    let held = first.len() + answer.text.len();
    let second = format!("{first}{} so what", answer.text);
    let answer = together(&engine, &calls, &[(second.clone(), 5)]).await.remove(0).expect("finishes");
    assert_eq!(answer.text, expected(&second, 5));
    assert_eq!(answer.tally.cached_tokens, held - 1, "the last token of an answer was not evaluated");
}

/// A real model reads five prompts and writes five answers together; one job ends early, so that
/// others are moved.
#[tokio::test]
async fn a_real_model_gives_each_of_several_requests_its_own_answer() {
    let shape = |slots, exact| Shape {
        slots,
        context: 1024,
        kv: KvFormat::F16,
        flash: FlashAttention::Auto,
        threads: 2,
        chunk: 256,
        exact,
    };
    let loading = Loading { gpu_layers: 0, experts_on_host: 0, repack: true, mapped: false };
    let alone = loaded(&smollm(), loading, shape(1, Exact::On), None);
    let shared = loaded(&smollm(), loading, shape(6, Exact::Off), None);
    assert_eq!(shared.limits().sharing, Sharing::Wanted);
    let asked: Vec<(String, usize)> =
        (0..5).map(|number| (prose(40 + number, 20 + 3 * number), if number == 1 { 4 } else { 40 })).collect();
    let answers = answers(ask(&shared, &asked)).await;
    for ((prompt, tokens), answer) in asked.iter().zip(answers) {
        let solo =
            alone.generate(request(&alone, prompt, *tokens)).expect("accepted").collect().await.expect("finishes");
        let answer = answer.expect("finishes");
        let same = answer.tokens.iter().zip(&solo.tokens).take_while(|(one, other)| one == other).count();
        // Different last bits can change a close choice; most of these choices are not close.
        assert!(same >= 4 && answer.tokens.len() == solo.tokens.len(), "{same} of {tokens} tokens of {prompt}");
    }
}
