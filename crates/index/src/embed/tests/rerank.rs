//! A re-ranker of MiniLM's weights and a random head scores pairs as candle's model does. Its scores mean nothing.

use std::path::{Path, PathBuf};
use std::time::Duration;

use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::{BertModel, Config};
use monobloc_synth::{Conversion, Head, convert_bert};
use tokenizers::Tokenizer;

use super::sample::mini_lm;
use crate::base::{Bytes, Cancel};
use crate::budget::{Permit, Priority};
use crate::embed::rerank::{Judge, Options, RerankError, Reranker, memory};
use crate::models::Ranking;
use crate::models::gguf::inspect;

const WIDTH: usize = 384;

fn written(half: bool) -> (tempfile::TempDir, PathBuf, Head) {
    let (dir, head) = (tempfile::tempdir().unwrap(), Head::random(WIDTH, 11));
    let path = dir.path().join("random-reranker.gguf");
    let conversion =
        Conversion { name: "Random Reranker".into(), pooling: Some(4), half, scale: 1.0, head: Some(head.clone()) };
    convert_bert(&mini_lm(), &conversion, &path).unwrap();
    (dir, path, head)
}

fn open(path: &Path, options: Options) -> Reranker {
    let header = inspect(path).unwrap();
    let ranking = Ranking::of(&header).unwrap();
    Reranker::open(&header, &ranking, options, &Cancel::new()).unwrap_or_else(|error| panic!("{error}"))
}

/// Scores without a limit of time.
fn scores(reranker: &Reranker, question: &str, texts: &[String]) -> Vec<f32> {
    reranker.scores(question, texts, Duration::MAX, &Cancel::new()).unwrap()
}

fn texts() -> Vec<String> {
    let mut texts: Vec<String> = [
        "src/basket.rs\nfn total(items: &[Item]) -> u64 { items.iter().map(|item| item.price).sum() }",
        "docs/lamps.md\nThe keeper counts the lamps at night.",
        "",
        "Straße und Brücke, naïve café",
        "class Queue:\n    def clear(self):\n        self.items = []",
        "SELECT sum(price) FROM orders",
    ]
    .into_iter()
    .map(str::to_owned)
    .collect();
    // More than one call takes, and one that is longer than a pair may be.
    texts.extend((1..12).map(|n| format!("door {n} leads to room {}", n * 7 % 5).repeat(n * 3)));
    texts.push("boats on rivers and trains in tunnels; ".repeat(200));
    texts
}

/// The scores of candle's model: the first token of `[CLS] question [SEP] text [SEP]`, through the
/// head. All tokens are of the first segment, as llama.cpp has it.
fn by_candle(head: &Head, question: &str, texts: &[String]) -> Vec<f32> {
    let folder = mini_lm();
    let config: Config = serde_json::from_slice(&std::fs::read(folder.join("config.json")).unwrap()).unwrap();
    let weights = std::fs::read(folder.join("model.safetensors")).unwrap();
    let weights = VarBuilder::from_buffered_safetensors(weights, DType::F32, &Device::Cpu).unwrap();
    let model = BertModel::load(weights, &config).unwrap();
    let mut tokenizer = Tokenizer::from_file(folder.join("tokenizer.json")).unwrap();
    tokenizer.with_truncation(None).unwrap();
    tokenizer.with_padding(None);
    let bare = |text: &str| tokenizer.encode(text, false).unwrap().get_ids().to_vec();
    let (start, separator) = (101, 102);
    let question = bare(question);
    let score = |text: &String| -> candle_core::Result<f32> {
        let mut text = bare(text);
        text.truncate(512 - 3 - question.len());
        let ids = [&[start][..], &question[..], &[separator][..], &text[..], &[separator][..]].concat();
        let ids = Tensor::new(ids, &Device::Cpu)?.unsqueeze(0)?;
        let first = model.forward(&ids, &ids.zeros_like()?, None)?.get(0)?.get(0)?.to_vec1::<f32>()?;
        let row = |row: usize| head.dense[row * WIDTH..][..WIDTH].iter().zip(&first).map(|(a, b)| a * b).sum::<f32>();
        let inner = (0..WIDTH).map(|at| (row(at) + head.bias[at]).tanh());
        Ok(inner.zip(&head.output).map(|(a, b)| a * b).sum::<f32>() + head.output_bias)
    };
    texts.iter().map(|text| score(text).unwrap()).collect()
}

fn order(scores: &[f32]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..scores.len()).collect();
    places.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    places
}

#[test]
fn a_re_ranker_with_random_weights_gives_candles_scores_and_their_order() {
    let question = "where is the total of a basket added up";
    for half in [false, true] {
        let (_dir, path, head) = written(half);
        let (texts, reranker) = (texts(), open(&path, Options::default()));
        let found = scores(&reranker, question, &texts);
        let expected = by_candle(&head, question, &texts);
        for ((found, expected), text) in found.iter().zip(&expected).zip(&texts) {
            assert!((found - expected).abs() < 1e-2, "{found}, not {expected}, for {text:?}");
        }
        let spread =
            expected.iter().copied().fold(f32::MIN, f32::max) - expected.iter().copied().fold(f32::MAX, f32::min);
        assert!(spread > 0.2, "they differ: {expected:?}");
        if !half {
            assert_eq!(order(&found), order(&expected));
        }
        for (text, score) in texts.iter().zip(&found).step_by(4) {
            let alone = scores(&reranker, question, std::slice::from_ref(text));
            assert!((alone[0] - score).abs() < 2e-3, "{} alone, {score} among others, {text:?}", alone[0]);
        }
        assert!(scores(&reranker, question, &[]).is_empty());
    }
}

#[test]
fn a_re_ranker_measures_its_speed_once_and_keeps_it() {
    let (dir, path, _) = written(true);
    let options = || Options { folder: Some(dir.path().join("kept")), ..Options::default() };
    // A kept number may differ in its last bit.
    let is_same = |one: f64, other: f64| (one / other - 1.0).abs() < 1e-12;
    let first = open(&path, options()).pairs_a_second();
    assert!(first > 0.0);
    assert!(is_same(open(&path, options()).pairs_a_second(), first), "it is read, not measured");
    let again = open(&path, options());
    scores(&again, "a", &["b".to_owned(), "c".to_owned()]);
    assert!(!is_same(again.pairs_a_second(), first));
    assert!(is_same(open(&path, options()).pairs_a_second(), again.pairs_a_second()));
}

#[test]
fn a_kept_speed_at_which_nothing_could_be_scored_is_measured_again() {
    let (dir, path, _) = written(true);
    let options = |speed_min| Options { folder: Some(dir.path().to_owned()), speed_min, ..Options::default() };
    open(&path, options(0.0));
    let mut kept = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path());
    let kept = kept.find(|path| path.to_string_lossy().ends_with(".pairs.json")).unwrap();
    std::fs::write(&kept, "0.01").unwrap();
    assert_eq!(open(&path, options(0.01)).pairs_a_second(), 0.01);
    assert!(open(&path, options(0.02)).pairs_a_second() > 0.02);
}

#[test]
fn scoring_ends_between_calls_when_its_time_is_over_with_the_first_scores() {
    let (_dir, path, _) = written(true);
    let permit = Permit::new();
    let reranker = open(&path, Options { permit: permit.clone(), ..Options::default() });
    let (texts, question) = (texts(), "where is the total of a basket added up");
    let within = |time| reranker.scores(question, &texts, time, &Cancel::new()).unwrap();
    let (all, speed) = (within(Duration::MAX), reranker.pairs_a_second());
    assert!(within(Duration::ZERO).is_empty());
    let held = permit.take(Priority::User);
    assert!(within(Duration::from_millis(20)).is_empty(), "waiting counts");
    drop(held);
    assert_eq!(reranker.pairs_a_second(), speed, "nothing was measured");
    let times = (0..40).map(|power| Duration::from_micros(100).mul_f64(1.5_f64.powi(power)));
    let first = times.map(within).find(|scores| !scores.is_empty()).unwrap();
    assert!(first.len() < all.len(), "{} of {}", first.len(), all.len());
    assert_eq!(first, all[..first.len()]);
}

#[test]
fn scoring_ends_between_calls_when_it_is_cancelled() {
    let (_dir, path, _) = written(true);
    let (reranker, cancel) = (open(&path, Options::default()), Cancel::new());
    cancel.cancel();
    assert_eq!(reranker.scores("a", &texts(), Duration::MAX, &cancel), Err(RerankError::Cancelled));
    let header = inspect(&path).unwrap();
    let opened = Reranker::open(&header, &Ranking::of(&header).unwrap(), Options::default(), &cancel);
    assert_eq!(opened.err(), Some(RerankError::Cancelled));
}

#[test]
fn the_memory_of_a_re_ranker_is_known_from_its_header() {
    let (_dir, path, _) = written(true);
    let (need, file) = (memory(&inspect(&path).unwrap()), Bytes(std::fs::metadata(&path).unwrap().len()));
    assert!(need > file && need < file + Bytes::mib(130), "{need}");
}
