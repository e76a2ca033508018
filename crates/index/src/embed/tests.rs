//! Tests that each architecture gives the vectors of candle's model, with the pooling, dense layers, prompts and length in its files.

mod gemma;
mod gguf;
mod refused;
mod rerank;
pub mod sample;

use std::collections::HashMap;
use std::fs;

use candle_core::Tensor;
use serde_json::{Value, json};

use self::sample::{Folder, noise, sample, samples};
use super::{Embedder, Options, Purpose, fingerprint, memory};
use crate::base::{Bytes, Cancel};

const TEXTS: [&str; 6] = ["one", "two three", "", "four two", "three one four two two five", "five three"];

fn embed(embedder: &Embedder, texts: &[&str], purpose: Purpose) -> Vec<Vec<f32>> {
    let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    embedder.embed(&texts, purpose, &Cancel::new()).unwrap()
}

fn plain(folder: &Folder, text: &str) -> Vec<f32> {
    embed(&folder.open(), &[text], Purpose::Plain).concat()
}

/// The vector in the direction of `x`.
fn unit(x: &Tensor) -> Vec<f32> {
    x.broadcast_div(&x.sqr().unwrap().sum_all().unwrap().sqrt().unwrap()).unwrap().to_vec1().unwrap()
}

fn mean(x: &Tensor) -> Vec<f32> {
    unit(&x.mean(0).unwrap())
}

/// The vectors are equal; for `bert`, which our own kernels compute, up to the rounding to eight
/// bits.
fn assert_same(name: &str, found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len(), "{name}");
    let alike = kernels::cosine(found, expected)[0];
    let least = if name == "bert" { 0.995 } else { 0.99999 };
    assert!(alike >= least, "{name}: cosine {alike}");
}

#[test]
fn every_architecture_gives_the_vectors_of_candles_model() {
    for one in samples() {
        let folder = one.write();
        let found = embed(&folder.open(), &TEXTS, Purpose::Plain);
        for (text, found) in TEXTS.iter().zip(found) {
            assert_same(folder.sample.name, &found, &mean(&folder.by_candle(text)));
        }
    }
}

#[test]
fn tensors_are_found_behind_any_prefix() {
    for one in samples() {
        let folder = one.write();
        let before = plain(&folder, "one two");
        let bare = |name: &str| name.strip_prefix("model.").unwrap_or(name).to_owned();
        let tensors: Vec<(String, Tensor)> = folder.tensors().into_iter().map(|(name, x)| (bare(&name), x)).collect();
        for prefix in ["", "bert.", "model.", "0.auto_model."] {
            let renamed = tensors.iter().map(|(name, x)| (format!("{prefix}{name}"), x.clone())).collect();
            folder.put_tensors("model.safetensors", &renamed);
            assert_eq!(plain(&folder, "one two"), before, "{} with {prefix:?}", folder.sample.name);
        }
    }
}

#[test]
fn the_pooling_of_the_folder_is_used() {
    for name in ["bert", "xlm-roberta", "qwen3"] {
        let folder = sample(name);
        let rows = folder.by_candle("three one two");
        let row = |place: usize| unit(&rows.get(place).unwrap());
        for (mode, expected) in [("mean_tokens", mean(&rows)), ("cls_token", row(0)), ("lasttoken", row(4))] {
            folder.put("1_Pooling/config.json", &json!({format!("pooling_mode_{mode}"): true}));
            assert_same(name, &plain(&folder, "three one two"), &expected);
        }
    }
}

/// MiniLM with this pooling, computed by our own kernels.
fn mini_lm_on_our_kernels(mode: &str) -> Folder {
    let dir = tempfile::tempdir().unwrap();
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        std::os::unix::fs::symlink(sample::mini_lm().join(file), dir.path().join(file)).unwrap();
    }
    let folder = Folder { sample: samples().remove(0), dir };
    folder.put("1_Pooling/config.json", &json!({format!("pooling_mode_{mode}"): true}));
    folder
}

/// The same with a layer that changes nothing, so that candle computes the model.
fn mini_lm_by_candle(mode: &str) -> Folder {
    let folder = mini_lm_on_our_kernels(mode);
    put_dense(
        &folder,
        json!({"in_features": 384, "out_features": 384, "bias": false,
        "activation_function": "torch.nn.modules.linear.Identity"}),
    );
    let layer = Tensor::eye(384, candle_core::DType::F32, &candle_core::Device::Cpu).unwrap();
    folder.put_tensors("2_Dense/model.safetensors", &HashMap::from([("linear.weight".into(), layer)]));
    folder
}

#[test]
fn the_first_token_of_a_real_model_is_the_same_on_our_kernels_as_on_candles() {
    let [packed, stock] = [mini_lm_on_our_kernels("cls_token"), mini_lm_by_candle("cls_token")].map(|folder| {
        let texts = ["How do I retry a failed request?", "fn main() { println!(\"hi\"); }", "Größe und Gewicht, 東京"];
        embed(&folder.open(), &texts, Purpose::Plain)
    });
    for (packed, stock) in packed.iter().zip(&stock) {
        let alike = kernels::cosine(packed, stock)[0];
        assert!(alike >= 0.98, "cosine {alike}");
    }
}

#[test]
fn an_added_token_that_the_model_does_not_have_is_left_out() {
    for name in ["bert", "xlm-roberta"] {
        let folder = sample(name);
        let mut tokenizer: Value =
            serde_json::from_slice(&fs::read(folder.path().join("tokenizer.json")).unwrap()).unwrap();
        for id in sample::WORDS.len()..16 {
            tokenizer["model"]["vocab"][format!("word{id}")] = json!(id);
        }
        let mut added = tokenizer["added_tokens"][0].clone();
        added["id"] = json!(16);
        added["content"] = json!("<picture>");
        tokenizer["added_tokens"].as_array_mut().unwrap().push(added);
        folder.put("tokenizer.json", &tokenizer);
        assert_eq!(plain(&folder, "one <picture> two"), plain(&folder, "one two"));
    }
}

/// The module list of sentence-transformers for a model with one dense layer.
fn modules() -> Value {
    let module = |place: usize, path: &str, kind: &str| json!({"idx": place, "name": "", "path": path, "type": format!("sentence_transformers.models.{kind}")});
    json!([
        module(0, "", "Transformer"),
        module(1, "1_Pooling", "Pooling"),
        module(2, "2_Dense", "Dense"),
        module(3, "3_Normalize", "Normalize")
    ])
}

/// Adds `2_Dense` with this configuration, and the list that names it.
fn put_dense(folder: &Folder, config: Value) {
    folder.put("modules.json", &modules());
    folder.put("2_Dense/config.json", &config);
}

/// A folder whose dense layer has five outputs.
fn with_dense(name: &str) -> Folder {
    let folder = sample(name);
    folder.put("1_Pooling/config.json", &json!({"word_embedding_dimension": 16, "pooling_mode_cls_token": true}));
    let activation = "torch.nn.modules.activation.Tanh";
    put_dense(&folder, json!({"in_features": 16, "out_features": 5, "bias": true, "activation_function": activation}));
    let layer = HashMap::from([("linear.weight".into(), noise(&[5, 16])), ("linear.bias".into(), noise(&[5]))]);
    folder.put_tensors("2_Dense/model.safetensors", &layer);
    folder
}

#[test]
fn a_dense_layer_follows_the_pooling() {
    for name in ["bert", "distilbert"] {
        let folder = with_dense(name);
        assert_eq!(folder.open().dimensions(), 5);
        let first = folder.by_candle("one five").narrow(0, 0, 1).unwrap();
        let product = first.matmul(&noise(&[5, 16]).t().unwrap()).unwrap().get(0).unwrap();
        let expected = unit(&(product + noise(&[5])).unwrap().tanh().unwrap());
        // With a dense layer, `bert` runs on candle's model too.
        assert_same("dense", &plain(&folder, "one five"), &expected);
    }
}

#[test]
fn queries_and_documents_get_their_own_prompts() {
    let folder = sample("modernbert");
    let prompts = json!({"query": "query : ", "passage": "passage : "});
    folder.put("config_sentence_transformers.json", &json!({"prompts": prompts, "default_prompt_name": null}));
    let embedder = folder.open();
    let of = |words: &str| mean(&folder.by_candle(words));
    let [query, document, plain] = [Purpose::Query, Purpose::Document, Purpose::Plain]
        .map(|purpose| embed(&embedder, &["one two"], purpose).concat());
    assert_same("query", &query, &of("query : one two"));
    assert_same("document", &document, &of("passage : one two"));
    assert_same("plain", &plain, &of("one two"));
    assert!(kernels::cosine(&query, &document)[0] < 0.999, "a query has another vector than a document");
    assert_eq!(embedder.embed_one("one two").unwrap(), query);
    assert_eq!(embedder.embed_heads(&["one two".into()], &Cancel::new()).unwrap(), [document]);
}

#[test]
fn no_pass_has_more_tokens_than_the_files_state() {
    let words = "one two three four five ".repeat(20);
    let head =
        |folder: &Folder| folder.open().embed_heads(std::slice::from_ref(&words), &Cancel::new()).unwrap().concat();
    let begins = |folder: &Folder, count: usize| {
        mean(&folder.by_candle(&words.split_whitespace().take(count).collect::<Vec<_>>().join(" ")))
    };
    for one in samples() {
        let folder = one.write();
        let name = folder.sample.name;
        // 40 positions, of which the first of a RoBERTa belongs to padding.
        let positions = if name == "xlm-roberta" { 39 } else { 40 };
        assert_same(name, &head(&folder), &begins(&folder, positions - 2));
        folder.put("tokenizer_config.json", &json!({"model_max_length": 1e30}));
        assert_same(name, &head(&folder), &begins(&folder, positions - 2));
        folder.put("tokenizer_config.json", &json!({"model_max_length": 9}));
        assert_same(name, &head(&folder), &begins(&folder, 7));
        folder.put("sentence_bert_config.json", &json!({"max_seq_length": 6, "do_lower_case": false}));
        assert_same(name, &head(&folder), &begins(&folder, 4));
    }
}

#[test]
fn the_fingerprint_changes_with_all_that_changes_vectors() {
    let folder = with_dense("nomic_bert");
    let of = || fingerprint(folder.path(), &Options::default()).unwrap();
    let mut seen = vec![of()];
    assert_eq!(of(), seen[0]);
    let mut changed = |what: &str| {
        let now = of();
        assert!(!seen.contains(&now), "{what}");
        seen.push(now);
    };
    folder.put("1_Pooling/config.json", &json!({"pooling_mode_mean_tokens": true}));
    changed("pooling");
    folder.put("config_sentence_transformers.json", &json!({"prompts": {"query": "query : "}}));
    changed("prompts");
    folder.put("sentence_bert_config.json", &json!({"max_seq_length": 32}));
    changed("length");
    let layer = HashMap::from([("linear.weight".into(), noise(&[5, 16])), ("linear.bias".into(), noise(&[1, 5]))]);
    folder.put_tensors("2_Dense/model.safetensors", &layer);
    changed("dense layer");
    let tensors = folder.tensors().into_iter().map(|(name, x)| (name, (x * 0.5).unwrap())).collect();
    folder.put_tensors("model.safetensors", &tensors);
    changed("weights");
}

#[test]
fn work_is_measured_by_all_mini_lm() {
    let own = Embedder::open(&sample::mini_lm(), Options::default()).unwrap();
    assert_eq!(own.work(), 1.0);
    assert!(sample("distilbert").open().work() > 1.0, "candle takes longer than our own kernels");
}

#[test]
fn the_memory_is_known_from_the_headers() {
    for name in ["bert", "bert with relu", "qwen3"] {
        let folder = sample(name);
        let need = |max_tokens| memory(folder.path(), &Options { max_tokens, batch_tokens: 16, ..Options::default() });
        let weights = fs::metadata(folder.path().join("model.safetensors")).unwrap().len();
        assert!(need(16).unwrap() > Bytes(weights), "{name}");
        assert!(need(32).unwrap() > need(16).unwrap(), "{name} needs more for longer passes");
        assert_eq!(need(64).unwrap(), need(40).unwrap(), "{name} has 40 positions");
    }
    // In memory, half floats take twice their size in the file.
    let folder = sample("distilbert");
    let need = || memory(folder.path(), &Options::default()).unwrap();
    let before = need();
    let half = folder.tensors().into_iter().map(|(name, x)| (name, x.to_dtype(candle_core::DType::F16).unwrap()));
    folder.put_tensors("model.safetensors", &half.collect());
    assert_eq!(need(), before);
}
