//! The engine on real models: slots do not change each other's tokens, prefixes are kept, dropped streams stop.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use monobloc::base::Cancel;
use monobloc::budget::permit::Permit;
use monobloc::engine::llama::{KvFormat, Shape, Weights};
use monobloc::engine::{Engine, Grammar, Output, Piece, Request, Vocabulary};
use monobloc::measure;
use monobloc::models::dialect::Prompt;

use crate::models::{gemma, smollm};

/// Distinct text of about `words` words.
fn prose(seed: usize, words: usize) -> String {
    const WORDS: [&str; 12] =
        ["the", "river", "code", "slot", "green", "seven", "walks", "under", "a", "bridge", "of", "light"];
    (0..words).map(|n| WORDS[(n * n + seed * 7 + n / 3) % WORDS.len()]).collect::<Vec<_>>().join(" ")
}

fn engine(file: &Path, slots: usize, kv: KvFormat) -> Engine {
    let weights = Arc::new(Weights::load(file, 0, |_| true).expect("the model loads"));
    let vocabulary: Arc<dyn Vocabulary> = weights.clone();
    let shape = Shape { slots, context: 2048, kv, threads: 2, chunk: 64 };
    Engine::spawn("test", vocabulary, Permit::default(), move |inbox| {
        let decoder = weights.context(&shape).map_err(|error| error.to_string())?;
        inbox.serve(decoder, &*weights)
    })
    .expect("the engine starts")
}

fn request(engine: &Engine, text: &str, tokens: usize) -> Request {
    Request { ignore_end: true, ..Request::new(engine.tokenize(&Prompt::default().text(text)), tokens) }
}

async fn run(engine: &Engine, text: &str, tokens: usize) -> Output {
    engine.generate(request(engine, text, tokens)).expect("accepted").collect().await.expect("finishes")
}

/// Two slots at once give what each prompt gives alone.
async fn slots_equal_solo(file: &Path, kv: KvFormat) {
    let prompts = [prose(1, 17), prose(2, 300), prose(3, 40), prose(4, 1100)];
    let mut solo = Vec::new();
    for prompt in &prompts {
        solo.push(run(&engine(file, 1, kv), prompt, 24).await.tokens);
    }
    let shared = engine(file, 2, kv);
    let streams: Vec<_> =
        prompts.iter().map(|prompt| shared.generate(request(&shared, prompt, 24)).expect("accepted")).collect();
    for (number, stream) in streams.into_iter().enumerate() {
        let tokens = stream.collect().await.expect("finishes").tokens;
        assert_eq!(tokens, solo[number], "prompt {number} with {kv:?}");
    }
}

#[tokio::test]
async fn two_slots_give_the_tokens_of_solo_runs() {
    slots_equal_solo(&smollm(), KvFormat::Q8_0).await;
    slots_equal_solo(&smollm(), KvFormat::F16).await;
}

#[tokio::test]
async fn a_sliding_window_model_gives_the_tokens_of_solo_runs_too() {
    slots_equal_solo(&gemma(), KvFormat::Q8_0).await;
}

/// BitNet's architecture with ternary weights: it loads, and says the same thing twice.
#[tokio::test]
async fn a_ternary_model_loads_and_generates() {
    let folder = tempfile::tempdir().expect("a folder");
    for quant in [measure::Quant::Tq1_0, measure::Quant::Tq2_0] {
        let file = folder.path().join(format!("{quant}.gguf"));
        measure::write(measure::Shape::TinyBitnet, quant, &smollm(), &file, &mut |_, _| (), &Cancel::new())
            .expect("written");
        let first = run(&engine(&file, 1, KvFormat::Q8_0), &prose(8, 40), 8).await.tokens;
        assert_eq!(first.len(), 8, "{quant}");
        assert_eq!(first, run(&engine(&file, 1, KvFormat::Q8_0), &prose(8, 40), 8).await.tokens, "{quant}");
    }
}

/// A second prompt with the same beginning reuses it and still gives the tokens of a cold run.
async fn reuse_is_exact(file: &Path) {
    let preamble = prose(5, 400);
    let (first, second) = (format!("{preamble} one two three"), format!("{preamble} four five six"));
    let cold = run(&engine(file, 1, KvFormat::Q8_0), &second, 16).await;
    let warm = engine(file, 1, KvFormat::Q8_0);
    run(&warm, &first, 16).await;
    let reused = run(&warm, &second, 16).await;
    assert_eq!(reused.tokens, cold.tokens);
    assert_eq!(cold.tally.cached_tokens, 0);
    let share = reused.tally.cached_tokens as f64 / reused.tally.prompt_tokens as f64;
    assert!(share > 0.8, "{:?}", reused.tally);
}

#[tokio::test]
async fn a_kept_prefix_changes_no_token() {
    reuse_is_exact(&smollm()).await;
    reuse_is_exact(&gemma()).await;
}

#[tokio::test]
async fn a_dropped_stream_frees_its_slot() {
    let engine = engine(&smollm(), 1, KvFormat::Q8_0);
    let long = engine.generate(request(&engine, &prose(6, 1200), 500)).expect("accepted");
    tokio::time::sleep(Duration::from_millis(300)).await;
    drop(long);
    let from = Instant::now();
    run(&engine, "hello", 1).await;
    assert!(from.elapsed() < Duration::from_secs(2), "the slot was busy for {:?}", from.elapsed());
}

#[tokio::test]
async fn a_grammar_is_obeyed_and_ends_the_generation() {
    let engine = engine(&smollm(), 1, KvFormat::Q8_0);
    let mut request = request(&engine, "The colour of the sky is", 20);
    request.grammar = Some(Grammar::Lark(r#"start: "[" /[a-z]{3,6}/ "]""#.to_owned()));
    let output = engine.generate(request).expect("accepted").collect().await.expect("finishes");
    assert!(output.text.starts_with('[') && output.text.ends_with(']'), "{}", output.text);
}

#[tokio::test]
async fn the_likelier_continuation_scores_higher() {
    let engine = engine(&smollm(), 1, KvFormat::Q8_0);
    let tokens = |text: &str| engine.tokenize(&Prompt::default().text(text));
    let scores = engine
        .score(
            tokens("The capital of France is"),
            vec![tokens(" Paris"), tokens(" a green bicycle"), tokens(" Berlin")],
            monobloc::budget::permit::Priority::Step,
        )
        .await
        .expect("scores");
    assert!(scores.sums[0] > scores.sums[1] && scores.sums[0] > scores.sums[2], "{scores:?}");
}

#[tokio::test]
async fn a_prompt_larger_than_the_slot_is_refused_with_the_numbers() {
    let engine = engine(&smollm(), 1, KvFormat::Q8_0);
    let error = engine.generate(request(&engine, &prose(7, 4000), 5)).err().expect("refused").to_string();
    assert!(error.contains("2048") && error.contains("context"), "{error}");
}

#[tokio::test]
async fn pieces_make_up_the_text_and_the_tally_comes_last() {
    let engine = engine(&smollm(), 1, KvFormat::Q8_0);
    let mut stream = engine.generate(request(&engine, "Once upon a time", 12)).expect("accepted");
    let mut text = String::new();
    let mut finished = None;
    while let Some(piece) = stream.next().await.expect("no error") {
        match piece {
            Piece::Answer(part) => text.push_str(&part),
            Piece::Finished { tally, .. } => finished = Some(tally),
            _ => {}
        }
    }
    assert_eq!(finished.expect("a tally").generated_tokens, 12);
    assert!(!text.trim().is_empty());
}
