//! The engine with real models: independent slots, reused prefixes, dropped streams.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use monobloc::base::{Bytes, Cancel};
use monobloc::budget::Ledger;
use monobloc::budget::permit::{Permit, Priority};
use monobloc::config::{Exact, FlashAttention};
use monobloc::engine::decoder::Sharing;
use monobloc::engine::llama::{KvFormat, Loading, Shape, Weights};
use monobloc::engine::prefix::{Disk, Fingerprint, PrefixStore};
use monobloc::engine::scripted::Script;
use monobloc::engine::slot::Reuse;
use monobloc::engine::{Decoder, Engine, Grammar, Output, Piece, Request, Row, Thinking, Token, Vocabulary};
use monobloc::measure::Sampling;
use monobloc::models::dialect::Prompt;
use monobloc::models::gguf;
use monobloc::synth::{self, Quant, Recipe, Shape as ModelShape};

use crate::models::{gemma, smollm};

/// A text of about `words` words that differs for each seed.
pub fn prose(seed: usize, words: usize) -> String {
    const WORDS: [&str; 12] =
        ["the", "river", "code", "slot", "green", "seven", "walks", "under", "a", "bridge", "of", "light"];
    (0..words).map(|n| WORDS[(n * n + seed * 7 + n / 3) % WORDS.len()]).collect::<Vec<_>>().join(" ")
}

fn engine(file: &Path, slots: usize, kv: KvFormat) -> Engine {
    remembering(
        file,
        Shape { slots, context: 2048, kv, flash: FlashAttention::Auto, threads: 2, chunk: 64, exact: Exact::Auto },
        None,
    )
}

/// An engine that keeps its sequences in `store`.
fn remembering(file: &Path, shape: Shape, store: Option<&PrefixStore>) -> Engine {
    loaded(file, Loading { gpu_layers: 0, experts_on_host: 0, repack: true, mapped: false }, shape, store)
}

fn weights_of(file: &Path, loading: Loading) -> Weights {
    let header = gguf::inspect(file).expect("a model file");
    Weights::load(&header, loading, |_| true).expect("the model loads")
}

pub fn loaded(file: &Path, loading: Loading, shape: Shape, store: Option<&PrefixStore>) -> Engine {
    let weights = Arc::new(weights_of(file, loading));
    let vocabulary: Arc<dyn Vocabulary> = weights.clone();
    let prefixes = store.map(|store| store.of(Fingerprint::of(file, &shape, "").expect("a readable file")));
    Engine::spawn("test", vocabulary, Permit::default(), move |mut inbox| {
        inbox.prefixes = prefixes;
        let decoder = weights.context(&shape).map_err(|error| error.to_string())?;
        inbox.serve(decoder, &*weights)
    })
    .expect("the engine starts")
}

/// A synthetic model of `shape`: recurrent layers, random weights.
pub fn synthetic(shape: ModelShape) -> &'static Path {
    static FILES: OnceLock<(tempfile::TempDir, Mutex<HashMap<String, &'static Path>>)> = OnceLock::new();
    let (folder, files) = FILES.get_or_init(|| (tempfile::tempdir().expect("a folder"), Mutex::default()));
    let mut files = files.lock().expect("no test panicked while it wrote a file");
    files.entry(shape.to_string()).or_insert_with(|| {
        let file = folder.path().join(format!("{shape}.gguf"));
        let recipe = Recipe::new(shape, Quant::Q8_0, &smollm());
        synth::write(&recipe, &file, &mut |_, _| (), &Cancel::new()).expect("written");
        Box::leak(file.into_boxed_path())
    })
}

fn request(engine: &Engine, text: &str, tokens: usize) -> Request {
    Request { ignore_end: true, ..Request::new(engine.tokenize(&Prompt::default().text(text)), tokens) }
}

pub async fn run(engine: &Engine, text: &str, tokens: usize) -> Output {
    engine.generate(request(engine, text, tokens)).expect("accepted").collect().await.expect("finishes")
}

/// A model without training or marks for thoughts never ends a thought that the prompt opened.
#[tokio::test]
async fn a_real_model_thinks_as_many_tokens_as_it_may_and_then_answers() {
    let engine = engine(&smollm(), 1, KvFormat::F16);
    let prompt = "<|im_start|>user\nName a colour.<|im_end|>\n<|im_start|>assistant\n<think>\n";
    for tokens_max in [1, 12, 40] {
        let thinking = Thinking { tokens_max, counts: false, sampling: Sampling::greedy(), last_words: "" };
        let request = engine.limited(request(&engine, prompt, 8), thinking);
        let mut generation = engine.generate(request).expect("accepted");
        let (mut thought, mut answer) = (String::new(), String::new());
        while let Some(piece) = generation.next().await.expect("no error") {
            match piece {
                Piece::Thinking(text) => thought.push_str(&text),
                Piece::Answer(text) => answer.push_str(&text),
                _ => {}
            }
        }
        // The line break before the closing mark is not written by the model.
        let own = engine.count(thought.strip_suffix('\n').expect("the closing line"));
        // Tokenised again as text, it may have fewer tokens.
        assert!((tokens_max.div_ceil(2)..=tokens_max).contains(&own), "{tokens_max}: {thought:?} {answer:?}");
        assert!(!answer.trim().is_empty(), "{thought:?}");
    }
}

/// Two slots in parallel give the same tokens as each prompt alone.
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

/// One small model of each architecture.
const SMALL: [ModelShape; 14] = [
    ModelShape::TinyLfm2,
    ModelShape::TinyLfm2Moe,
    ModelShape::TinyQwen35,
    ModelShape::TinyQwen35Moe,
    ModelShape::TinyQwen3Next,
    ModelShape::TinyGranite,
    ModelShape::TinyNemotron,
    ModelShape::TinyFalcon,
    ModelShape::TinyGemma3n,
    ModelShape::TinyGemma4,
    ModelShape::TinyGptOss,
    ModelShape::TinyMistral,
    ModelShape::TinyGlm,
    ModelShape::TinyMistral4,
];

#[tokio::test]
async fn slots_of_every_architecture_give_the_tokens_of_solo_runs() {
    for shape in SMALL {
        println!("{shape}");
        for kv in [KvFormat::F16, KvFormat::Q8_0] {
            slots_equal_solo(synthetic(shape), kv).await;
        }
    }
}

/// At most one chunk and the new tokens are recomputed.
#[tokio::test]
async fn an_edited_tail_of_every_architecture_is_computed_again_from_a_chunk_before_it_and_gives_the_tokens_of_a_cold_run()
 {
    for shape in SMALL {
        let file = synthetic(shape);
        let (before, after) = (prose(7, 600), [&prose(7, 580), " and then it ends elsewhere"].concat());
        let cold = run(&engine(file, 1, KvFormat::Q8_0), &after, 24).await;
        let warm = engine(file, 1, KvFormat::Q8_0);
        run(&warm, &before, 24).await;
        let edited = run(&warm, &after, 24).await;
        assert_eq!(edited.tokens, cold.tokens, "{shape}");
        let again = edited.tally.prompt_tokens - edited.tally.cached_tokens;
        assert!(again <= 64 + 16, "{shape}: {again} of {} tokens", edited.tally.prompt_tokens);
    }
}

#[tokio::test]
async fn a_sliding_window_model_gives_the_tokens_of_solo_runs_too() {
    slots_equal_solo(&gemma(), KvFormat::Q8_0).await;
}

/// The engine uses fewer threads while other programs keep cores busy.
#[tokio::test]
async fn the_number_of_threads_changes_no_token_of_any_architecture() {
    let mut differing = Vec::new();
    for shape in SMALL {
        for kv in [KvFormat::F16, KvFormat::Q8_0] {
            let with = |threads| {
                let flash = FlashAttention::Auto;
                let settings = Shape { slots: 1, context: 2048, kv, flash, threads, chunk: 64, exact: Exact::Auto };
                remembering(synthetic(shape), settings, None)
            };
            let prompt = prose(5, 600);
            if run(&with(2), &prompt, 32).await.tokens != run(&with(1), &prompt, 32).await.tokens {
                differing.push(format!("{shape} {kv:?}"));
            }
        }
    }
    assert!(differing.is_empty(), "{differing:?}");
}

/// A large file is mapped, its matrices are copied from the mapping, and its pages are released.
#[tokio::test]
async fn a_mapped_file_gives_the_same_tokens_as_a_file_that_was_read() {
    for file in [smollm(), synthetic(ModelShape::TinyLfm2Moe).to_owned()] {
        let with = |mapped| {
            let loading = Loading { gpu_layers: 0, experts_on_host: 0, repack: true, mapped };
            let shape = Shape {
                slots: 1,
                context: 2048,
                kv: KvFormat::F16,
                flash: FlashAttention::Auto,
                threads: 2,
                chunk: 64,
                exact: Exact::Auto,
            };
            loaded(&file, loading, shape, None)
        };
        let prompt = prose(6, 200);
        assert_eq!(run(&with(true), &prompt, 32).await.tokens, run(&with(false), &prompt, 32).await.tokens);
    }
}

#[test]
fn sequences_of_models_without_windows_and_experts_may_share_calls() {
    for repack in [true, false] {
        let loading = Loading { gpu_layers: 0, experts_on_host: 0, repack, mapped: !repack };
        let of = |file: &Path, exact: Exact| {
            let weights = weights_of(file, loading);
            let shape = Shape {
                slots: 4,
                context: 256,
                kv: KvFormat::Q8_0,
                flash: FlashAttention::Auto,
                threads: 1,
                chunk: 8,
                exact,
            };
            weights.context(&shape).expect("a context").limits().sharing
        };
        assert_eq!(of(synthetic(ModelShape::TinyLfm2), Exact::Auto), Sharing::IfProved, "repack: {repack}");
        assert_eq!(of(&smollm(), Exact::Auto), Sharing::IfProved);
        assert_eq!(of(&gemma(), Exact::Auto), Sharing::Never, "sliding windows");
        for shape in [ModelShape::TinyLfm2Moe, ModelShape::TinyQwen35Moe] {
            assert_eq!(of(synthetic(shape), Exact::Auto), Sharing::Never, "experts: {shape}");
        }
        assert_eq!(of(&gemma(), Exact::Off), Sharing::Wanted);
        assert_eq!(of(&smollm(), Exact::On), Sharing::IfProved);
    }
}

/// BitNet's architecture with ternary weights: it loads, and gives the same tokens twice.
#[tokio::test]
async fn a_ternary_model_loads_and_generates() {
    let folder = tempfile::tempdir().expect("a folder");
    for quant in [Quant::Tq1_0, Quant::Tq2_0] {
        let file = folder.path().join(format!("{quant}.gguf"));
        let recipe = Recipe::new(ModelShape::TinyBitnet, quant, &smollm());
        synth::write(&recipe, &file, &mut |_, _| (), &Cancel::new()).expect("written");
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

/// A few prompts show whether calls may be split on this machine. If so, longer prefixes are reused
/// and chunks interrupted for other requests; every token is still that of a cold run.
async fn split_calls_change_no_token(file: &Path, kv: KvFormat) {
    let shape =
        Shape { slots: 2, context: 2048, kv, flash: FlashAttention::Auto, threads: 2, chunk: 256, exact: Exact::Auto };
    let (long, other) = (prose(21, 700), prose(22, 600));
    let mut cold = Vec::new();
    for prompt in [&long, &other] {
        cold.push(run(&remembering(file, shape, None), prompt, 24).await.tokens);
    }
    let engine = remembering(file, shape, None);
    for seed in 30..34 {
        run(&engine, &prose(seed, 900), 2).await;
    }
    assert_eq!(run(&engine, &long, 24).await.tokens, cold[0]);
    let again = run(&engine, &long, 24).await;
    assert_eq!(again.tokens, cold[0]);
    let Output { tally, .. } = again;
    let is_whole = tally.cached_tokens.is_multiple_of(256);
    assert!(is_whole || tally.cached_tokens + 64 > tally.prompt_tokens, "{tally:?}");
    // One request decodes while the prompt of the other is evaluated.
    let mut answer = engine.generate(request(&engine, &prose(23, 20), 200)).expect("accepted");
    while answer.tokens().len() < 3 {
        answer.next().await.expect("no error");
    }
    assert_eq!(run(&engine, &other, 24).await.tokens, cold[1]);
    let beside = answer.collect().await.expect("finishes").tokens;
    assert_eq!(beside, run(&remembering(file, shape, None), &prose(23, 20), 200).await.tokens);
}

#[tokio::test]
async fn split_calls_give_the_tokens_of_whole_calls() {
    split_calls_change_no_token(&smollm(), KvFormat::F16).await;
    split_calls_change_no_token(&smollm(), KvFormat::Q8_0).await;
    split_calls_change_no_token(synthetic(ModelShape::TinyLfm2Moe), KvFormat::Q8_0).await;
}

/// Both times are from the same run, because other tests run in parallel.
#[tokio::test]
async fn a_dropped_stream_frees_its_slot() {
    let engine = engine(&smollm(), 1, KvFormat::Q8_0);
    let from = Instant::now();
    run(&engine, &prose(7, 1200), 500).await;
    let whole = from.elapsed();
    let long = engine.generate(request(&engine, &prose(6, 1200), 500)).expect("accepted");
    tokio::time::sleep(Duration::from_millis(300)).await;
    drop(long);
    let from = Instant::now();
    run(&engine, "hello", 1).await;
    let waited = from.elapsed();
    assert!(waited < whole / 2, "the slot was busy for {waited:?}; a whole answer takes {whole:?}");
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
            Priority::Step,
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

/// Four agents with the same preamble: it is computed once, and the tokens are those of solo runs.
async fn a_shared_preamble_is_computed_once(file: &Path) {
    let preamble = prose(9, 150);
    let prompts: Vec<String> = (0..4).map(|n| format!("{preamble} and agent {n} says {}", prose(n, 6))).collect();
    let mut solo = Vec::new();
    for prompt in &prompts {
        solo.push(run(&engine(file, 1, KvFormat::Q8_0), prompt, 12).await.tokens);
    }
    let shared = engine(file, 4, KvFormat::Q8_0);
    let tasks: Vec<_> = prompts
        .iter()
        .map(|prompt| {
            let generation = shared.generate(request(&shared, prompt, 12)).expect("accepted");
            async move { generation.collect().await.expect("finishes") }
        })
        .collect();
    let outputs = futures_util::future::join_all(tasks).await;
    for (number, output) in outputs.iter().enumerate() {
        assert_eq!(output.tokens, solo[number], "agent {number}");
    }
    let copied = outputs.iter().filter(|output| output.tally.cached_tokens >= 128).count();
    assert_eq!(copied, 3, "{:?}", outputs.iter().map(|output| output.tally).collect::<Vec<_>>());
}

#[tokio::test]
async fn agents_with_one_preamble_share_its_computation() {
    a_shared_preamble_is_computed_once(&smollm()).await;
    a_shared_preamble_is_computed_once(synthetic(ModelShape::TinyLfm2)).await;
}

/// A background job gives its slot to a user's request and continues afterwards; both give the tokens of solo runs.
async fn a_parked_job_continues_with_the_same_tokens(file: &Path) {
    let (long, short) = (prose(10, 200), prose(11, 30));
    let alone = run(&engine(file, 1, KvFormat::Q8_0), &long, 60).await.tokens;
    let user_alone = run(&engine(file, 1, KvFormat::Q8_0), &short, 8).await.tokens;
    let engine = engine(file, 1, KvFormat::Q8_0);
    let background = Request { priority: Priority::Background, ..request(&engine, &long, 60) };
    let mut background = engine.generate(background).expect("accepted");
    while background.tokens().len() < 5 {
        background.next().await.expect("no error");
    }
    let user = Request { priority: Priority::User, ..request(&engine, &short, 8) };
    let user = engine.generate(user).expect("accepted").collect().await.expect("finishes");
    assert_eq!(user.tokens, user_alone);
    let so_far = background.tokens().len();
    assert!(so_far < 50, "the user's request waited for the background job");
    assert_eq!(background.collect().await.expect("finishes").tokens, alone);
}

#[tokio::test]
async fn a_user_does_not_wait_for_a_background_job() {
    a_parked_job_continues_with_the_same_tokens(&smollm()).await;
    a_parked_job_continues_with_the_same_tokens(synthetic(ModelShape::TinyLfm2)).await;
    a_parked_job_continues_with_the_same_tokens(synthetic(ModelShape::TinyGemma4)).await;
}

/// The second turn of a conversation reuses the first after the model has been unloaded and
/// reloaded.
async fn sequences_survive_a_reload(file: &Path) {
    let shape = Shape {
        slots: 2,
        context: 2048,
        kv: KvFormat::Q8_0,
        flash: FlashAttention::Auto,
        threads: 2,
        chunk: 32,
        exact: Exact::Auto,
    };
    let store = PrefixStore::new(Ledger::new(Bytes::mib(256)), Bytes::mib(128), None);
    let first_turn = prose(12, 250);
    let before = remembering(file, shape, Some(&store));
    let answer = run(&before, &first_turn, 16).await;
    let prompt = before.tokenize(&Prompt::default().text(first_turn.as_str()));
    let second: Vec<_> = prompt.iter().chain(&answer.tokens).copied().chain(prompt[..9].iter().copied()).collect();
    let ask = |engine: &Engine, reuse| {
        let request = Request { ignore_end: true, reuse, ..Request::new(second.clone(), 8) };
        engine.generate(request).expect("accepted").collect()
    };
    drop(before);
    while store.bytes() == Bytes::ZERO {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let after = remembering(file, shape, Some(&store));
    let exact = ask(&after, Reuse::Exact).await.expect("finishes");
    let cold = ask(&engine_with_chunk(file, 32), Reuse::Exact).await.expect("finishes");
    assert_eq!(exact.tokens, cold.tokens);
    assert!(exact.tally.cached_tokens + 32 > prompt.len() && cold.tally.cached_tokens == 0, "{:?}", exact.tally);
    let continued = ask(&remembering(file, shape, Some(&store)), Reuse::Continue).await.expect("finishes");
    assert!(continued.tally.cached_tokens + 20 > second.len(), "{:?}", continued.tally);
}

pub fn engine_with_chunk(file: &Path, chunk: usize) -> Engine {
    remembering(
        file,
        Shape {
            slots: 2,
            context: 2048,
            kv: KvFormat::Q8_0,
            flash: FlashAttention::Auto,
            threads: 2,
            chunk,
            exact: Exact::Auto,
        },
        None,
    )
}

#[tokio::test]
async fn an_unloaded_model_finds_its_conversations_again() {
    sequences_survive_a_reload(&smollm()).await;
    sequences_survive_a_reload(&gemma()).await;
    sequences_survive_a_reload(synthetic(ModelShape::TinyLfm2)).await;
    sequences_survive_a_reload(synthetic(ModelShape::TinyGptOss)).await;
}

#[tokio::test]
async fn a_fixed_preamble_is_read_from_disk_by_the_third_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = synthetic(ModelShape::TinyLfm2);
    let shape = Shape {
        slots: 1,
        context: 2048,
        kv: KvFormat::Q8_0,
        flash: FlashAttention::Auto,
        threads: 2,
        chunk: 32,
        exact: Exact::Auto,
    };
    let prompt = |n: usize| Prompt::default().text(prose(13, 120)).fixed_so_far().text(format!(" question {n}"));
    let mut cached = Vec::new();
    let mut last = None;
    for number in 0..3 {
        let disk = Disk::open(folder.path().to_owned(), Bytes::mib(64));
        let store = PrefixStore::new(Ledger::new(Bytes::mib(256)), Bytes::mib(1), Some(disk));
        let engine = remembering(file, shape, Some(&store));
        let request = Request { ignore_end: true, ..engine.request(&prompt(number), 12) };
        let output = engine.generate(request).expect("accepted").collect().await.expect("finishes");
        cached.push(output.tally.cached_tokens);
        last = Some(output);
    }
    assert!(cached[..2] == [0, 0] && cached[2] >= 96, "{cached:?}");
    let cold = engine_with_chunk(file, 32);
    let request = Request { ignore_end: true, ..cold.request(&prompt(2), 12) };
    let cold = cold.generate(request).expect("accepted").collect().await.expect("finishes");
    assert_eq!(last.map(|output| output.tokens), Some(cold.tokens));
}

#[tokio::test]
async fn a_prompt_edited_near_its_end_is_computed_from_there() {
    let engine = engine_with_chunk(synthetic(ModelShape::TinyLfm2), 8);
    let text = prose(14, 600);
    let edited = format!("{}X{}", &text[..text.len() - 40], &text[text.len() - 39..]);
    run(&engine, &text, 4).await;
    let again = run(&engine, &edited, 4).await;
    let evaluated = again.tally.prompt_tokens - again.tally.cached_tokens;
    assert!(again.tally.prompt_tokens > 600 && evaluated <= 64, "{:?}", again.tally);
}

#[tokio::test]
async fn a_dropped_prompt_ends_in_the_middle_of_a_chunk() {
    // The prompt is one chunk that takes seconds; the drop is noticed between two nodes of its compute graph.
    let engine = remembering(
        &smollm(),
        Shape {
            slots: 1,
            context: 2048,
            kv: KvFormat::Q8_0,
            flash: FlashAttention::Auto,
            threads: 2,
            chunk: 1024,
            exact: Exact::Auto,
        },
        None,
    );
    let alone = run(&engine, "hello", 4).await.tokens;
    let long = engine.generate(request(&engine, &prose(15, 1000), 5)).expect("accepted");
    tokio::time::sleep(Duration::from_millis(400)).await;
    drop(long);
    let after = run(&engine, "hello", 4).await;
    assert_eq!(after.tokens, alone);
    assert!(after.tally.queue_ms < 1500, "{:?}", after.tally);
}

/// Repetitive texts, partly guessed, give the same tokens in every run and alongside other
/// requests.
#[tokio::test]
async fn guessed_tokens_do_not_depend_on_other_requests() {
    let file = smollm();
    let guessing = |engine: &Engine, seed| {
        let request = Request { lookup: true, ..request(engine, &format!("{0}. {0}. ", prose(seed, 60)), 64) };
        engine.generate(request).expect("accepted")
    };
    let mut alone = Vec::new();
    for seed in [1, 2] {
        let output = guessing(&engine(&file, 1, KvFormat::F16), seed).collect().await.expect("finishes");
        assert!(output.tally.guessed_tokens >= 16, "{} of 64 guessed", output.tally.guessed_tokens);
        alone.push(output.tokens);
    }
    let shared = engine(&file, 2, KvFormat::F16);
    let streams = [guessing(&shared, 1), guessing(&shared, 2)];
    for (stream, alone) in streams.into_iter().zip(alone) {
        assert_eq!(stream.collect().await.expect("finishes").tokens, alone);
    }
}

/// Recurrent layers can go back to any row of the last call and continue as if the later rows had not been evaluated.
#[test]
fn recurrent_layers_can_undo_rows_of_the_last_call() {
    let loading = Loading { gpu_layers: 0, experts_on_host: 0, repack: true, mapped: false };
    let weights = weights_of(synthetic(ModelShape::TinyLfm2), loading);
    let token = |at: usize| Token((300 + at * 37 % 5_000) as i32);
    let rows = |positions: std::ops::Range<usize>, token: &dyn Fn(usize) -> Token| -> Vec<Row> {
        positions.map(|position| Row { sequence: 0, position, token: token(position), logits: true }).collect()
    };
    let shape = Shape {
        slots: 1,
        context: 512,
        kv: KvFormat::F16,
        flash: FlashAttention::Auto,
        threads: 2,
        chunk: 64,
        exact: Exact::Auto,
    };
    let after = |guess: usize, right: usize| {
        let mut decoder = weights.context(&shape).expect("a context");
        assert_eq!(decoder.limits().undo, 15);
        let prompt: Vec<Row> = rows(0..40, &token).into_iter().map(|row| Row { logits: false, ..row }).collect();
        decoder.decode(&prompt, &|| false).expect("the prompt");
        decoder.mark(0);
        let wrong = |at: usize| if at < 40 + right { token(at) } else { Token(7) };
        decoder.decode(&rows(40..40 + guess, &wrong), &|| false).expect("the guess");
        assert_eq!(decoder.keep(0, 40 + right), 40 + right);
        decoder.decode(&rows(40 + right..41 + right, &token), &|| false).expect("the next token");
        let logits = decoder.logits(0).to_vec();
        assert_eq!(decoder.keep(0, 39 + right), 40, "only the last call can be taken back");
        logits
    };
    let distance = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    for right in [2, 9, 15] {
        let (guessed, plain) = (after(16, right), after(right, right));
        let other = after(16, right - 1);
        let (same, different) = (distance(&guessed, &plain), distance(&guessed, &other));
        assert!(same < different / 20.0, "{right} right: {same} from those of a run without a guess, {different}");
    }
}

/// Layers with a window compute the same bits, whatever was undone, restored or copied before.
#[test]
fn windows_go_back_to_checkpoints_and_to_generated_rows_without_changing_a_bit() {
    let loading = Loading { gpu_layers: 0, experts_on_host: 0, repack: true, mapped: false };
    for (shape, kv) in [ModelShape::TinyGemma4, ModelShape::TinyGptOss].into_iter().zip([KvFormat::Q8_0, KvFormat::F16])
    {
        let weights = weights_of(synthetic(shape), loading);
        let flash = FlashAttention::Auto;
        let context = Shape { slots: 2, context: 1024, kv, flash, threads: 2, chunk: 64, exact: Exact::Auto };
        let row = |sequence, position: usize, logits| {
            let token = Token((300 + position * 37 % 5_000) as i32);
            Row { sequence, position, token, logits }
        };
        let chunk = |decoder: &mut dyn Decoder, sequence: usize, from: usize, to: usize| {
            let rows: Vec<Row> = (from..to).map(|position| row(sequence, position, position + 1 == to)).collect();
            decoder.decode(&rows, &|| false).expect("a chunk");
            decoder.mark(sequence);
        };
        // The bits of the logits of each generated row.
        let generate = |decoder: &mut dyn Decoder, sequence: usize, from: usize, to: usize| -> Vec<Vec<u32>> {
            let one = |position| {
                decoder.decode(&[row(sequence, position, true)], &|| false).expect("a row");
                decoder.logits(0).iter().map(|logit| logit.to_bits()).collect()
            };
            (from..to).map(one).collect()
        };
        const PROMPT: usize = 300;
        const END: usize = 700;
        let prompt = |decoder: &mut dyn Decoder, sequence: usize| {
            (0..PROMPT).step_by(64).for_each(|from| chunk(decoder, sequence, from, (from + 64).min(PROMPT)));
        };
        let fresh = || weights.context(&context).expect("a context");
        let mut decoder = fresh();
        prompt(&mut decoder, 0);
        let cold = generate(&mut decoder, 0, PROMPT, END);
        assert_eq!(decoder.limits().undo, usize::MAX);
        // Back to the end of a chunk, in the slot that generated and in a slot that gets a copy.
        let saved = decoder.save(0).expect("a copy");
        for sequence in [0, 1] {
            assert!(sequence == 0 || decoder.restore(1, &saved));
            assert_eq!(decoder.keep(sequence, 299), 256, "{shape}");
            chunk(&mut decoder, sequence, 256, PROMPT);
            assert!(generate(&mut decoder, sequence, PROMPT, END) == cold, "{shape}, sequence {sequence}");
        }
        // Back to rows generated since the sequence was settled, as after wrong guesses.
        let mut decoder = fresh();
        prompt(&mut decoder, 0);
        for from in (PROMPT..END).step_by(8) {
            let guess: Vec<Row> = (from..from + 8).map(|at| Row { token: Token(7), ..row(0, at, true) }).collect();
            decoder.decode(&guess, &|| false).expect("a guess");
            assert_eq!(decoder.keep(0, from), from);
            assert!(generate(&mut decoder, 0, from, from + 8) == cold[from - PROMPT..][..8], "{shape}, from {from}");
        }
        // A copy made when the decoder reports that it is exact.
        let mut decoder = fresh();
        prompt(&mut decoder, 0);
        let mut copies = 0;
        for at in PROMPT..END - 40 {
            if decoder.copies_exactly(0) {
                let saved = decoder.save(0).expect("a copy");
                assert!(decoder.restore(1, &saved));
                assert!(generate(&mut decoder, 1, at, at + 40) == cold[at - PROMPT..][..40], "{shape}, copied at {at}");
                copies += 1;
            }
            generate(&mut decoder, 0, at, at + 1);
        }
        assert_eq!(copies, 1 + (END - 40 - PROMPT) / 32, "{shape}");
    }
}

/// Wrong guesses leave no trace: the scripted model refuses rows at a position that is not the end of its sequence.
#[tokio::test]
async fn guessing_changes_no_token_of_a_scripted_model() {
    let prompt = "fn one() { first(); second(); third(); fourth() }\nchange second to other\n";
    let reply = "fn one() { first(); other(); third(); fourth() }\nand no more than that, as was asked";
    let engine = Script::saying(reply).engine(Permit::default()).expect("it starts");
    let prompt = Prompt::default().text(format!("{prompt}<|im_start|>assistant\n"));
    for most in [1, 9, 30, 200] {
        let plain = Request::new(engine.tokenize(&prompt), most);
        let lookup = Request { lookup: true, ..plain.clone() };
        let plain = engine.generate(plain).expect("accepted").collect().await.expect("finishes");
        let guessed = engine.generate(lookup).expect("accepted").collect().await.expect("finishes");
        assert_eq!((guessed.text, guessed.finish), (plain.text, plain.finish), "at most {most} tokens");
        assert_eq!(guessed.tally.guessed_tokens > 0, most >= 30);
    }
}
