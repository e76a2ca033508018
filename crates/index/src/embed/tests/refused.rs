//! Tests that a folder that is damaged, incomplete or for another model is refused with the file, the field and a remedy.

use std::fs;

use serde_json::{Value, json};

use super::sample::{Folder, sample};
use super::with_dense;

/// Opening fails, and the error contains every part of `expected`.
fn check(folder: &Folder, expected: &[&str]) {
    let error = folder.try_open().expect_err("a broken folder was opened").to_string();
    for part in expected {
        assert!(error.contains(part), "{error:?} does not say {part:?}");
    }
}

#[test]
fn a_file_that_is_missing_or_damaged_is_named_with_the_way_out() {
    let folder = sample("bert");
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        let path = folder.path().join(file);
        let whole = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        check(&folder, &[file, "missing", "scripts/fetch-models"]);
        for damaged in [&whole[..whole.len() - 40], b"too short", &[0xff; 4096], b""] {
            fs::write(&path, damaged).unwrap();
            check(&folder, &[file, "damaged", "again"]);
        }
        fs::write(&path, whole).unwrap();
    }
    folder.open();
    fs::write(folder.path().join("config.json"), vec![b' '; (1 << 20) + 1]).unwrap();
    check(&folder, &["config.json", "larger than the limit of 1.0 MiB"]);
}

#[test]
fn a_configuration_that_does_not_fit_is_refused_by_field_and_value() {
    let cases: [(&str, Value, &[&str]); 17] = [
        (
            "bert",
            json!({"model_type": "t5"}),
            &["config.json", "`model_type` is \"t5\"", "supported: bert", "nomic_bert"],
        ),
        ("bert", json!({"model_type": null, "architectures": ["MPNetModel"]}), &["`model_type` is null"]),
        ("bert", json!({"hidden_size": null}), &["config.json", "missing field `hidden_size`"]),
        ("bert", json!({"hidden_size": 24}), &["model.safetensors", "shape mismatch"]),
        ("bert", json!({"vocab_size": 3}), &["tokenizer.json", "12 tokens", "the model has 3"]),
        ("bert", json!({"num_attention_heads": 3}), &["config.json", "16 cannot be divided into 3 heads"]),
        ("bert", json!({"num_attention_heads": 0}), &["`num_attention_heads` is 0"]),
        ("bert", json!({"num_hidden_layers": 2}), &["model.safetensors", "without its tensor", "layer.2"]),
        ("bert", json!({"num_hidden_layers": 4}), &["model.safetensors", "layer.3"]),
        ("bert", json!({"hidden_act": "snake"}), &["config.json", "snake"]),
        ("bert", json!({"model_type": "modernbert"}), &["config.json", "missing field `global_attn"]),
        ("xlm-roberta", json!({"position_embedding_type": "rotary"}), &["`position_embedding_type` is \"rotary\""]),
        ("xlm-roberta", json!({"architectures": ["XLMRobertaForSequenceClassification"]}), &["`architectures`"]),
        ("nomic_bert", json!({"activation_function": "gelu"}), &["`activation_function` is \"gelu\"", "swiglu"]),
        ("nomic_bert", json!({"qkv_proj_bias": true}), &["model.safetensors", "bias"]),
        ("qwen3", json!({"rope_scaling": {"rope_type": "yarn"}}), &["`rope_scaling`", "yarn"]),
        ("qwen3", json!({"num_key_value_heads": 3}), &["2 heads cannot share 3"]),
    ];
    for (name, change, expected) in cases {
        let folder = sample(name);
        folder.configure(change);
        check(&folder, expected);
    }
}

#[test]
fn a_tensor_too_few_or_too_many_is_named() {
    let check = |name: &str, change: fn(&mut Vec<(String, candle_core::Tensor)>), expected: &[&str]| {
        let folder = sample(name);
        let mut tensors = folder.tensors().into_iter().collect();
        change(&mut tensors);
        folder.put_tensors("model.safetensors", &tensors.into_iter().collect());
        check(&folder, expected);
    };
    let norm = "model.layers.1.attn_norm.weight";
    check("modernbert", |all| all.retain(|(name, _)| name != "model.layers.1.attn_norm.weight"), &[norm]);
    check("qwen3", |all| all.retain(|(name, _)| !name.ends_with("embed_tokens.weight")), &["no tensor `embed_tokens"]);
    // As in jina-embeddings-v2-base-code, whose layers normalise queries: candle would omit that.
    let query_norm = |all: &mut Vec<(String, candle_core::Tensor)>| {
        all.push(("encoder.layer.0.attention.self.layer_norm_q.weight".into(), super::noise(&[16])));
    };
    check("jina_bert", query_norm, &["model.safetensors", "encoder.layer.0.attention.self.layer_norm_q.weight"]);
}

#[test]
fn another_pooling_is_refused() {
    let folder = sample("bert");
    folder.put("1_Pooling/config.json", &json!({"pooling_mode_max_tokens": true}));
    check(&folder, &["1_Pooling", "`pooling_mode_max_tokens`", "mean, cls and lasttoken"]);
    folder.put("1_Pooling/config.json", &json!({"word_embedding_dimension": 768}));
    check(&folder, &["1_Pooling", "`word_embedding_dimension` is 768", "16"]);
    let writes = sample("qwen3");
    fs::remove_dir_all(writes.path().join("1_Pooling")).unwrap();
    check(&writes, &["1_Pooling", "missing"]);
}

#[test]
fn modules_that_are_not_supported_are_refused() {
    let folder = with_dense("bert");
    let module = |kind: &str, path: &str| json!({"path": path, "type": format!("sentence_transformers.models.{kind}")});
    let (transformer, pooling) = (module("Transformer", ""), module("Pooling", "1_Pooling"));
    let cases: [(Value, &str); 6] = [
        (json!({}), "not a list"),
        (json!([transformer]), "lists no Pooling"),
        (json!([transformer, pooling, module("LSTM", "2_LSTM")]), "models.LSTM"),
        (json!([transformer, pooling, module("Normalize", ""), module("Dense", "2_Dense")]), "models.Dense"),
        (json!([transformer, module("Pooling", "../1_Pooling")]), "../1_Pooling"),
        (json!([transformer, pooling, module("Dense", "3_Dense")]), "3_Dense"),
    ];
    for (modules, expected) in cases {
        folder.put("modules.json", &modules);
        check(&folder, &[expected]);
    }
    fs::remove_file(folder.path().join("modules.json")).unwrap();
    check(&folder, &["modules.json is missing"]);
}

#[test]
fn a_dense_layer_that_does_not_fit_is_refused() {
    let change = |change: Value, expected: &[&str]| {
        let folder = with_dense("bert");
        let file = folder.path().join("2_Dense/config.json");
        let mut config: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
        config.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        folder.put("2_Dense/config.json", &config);
        check(&folder, expected);
    };
    change(json!({"in_features": 8}), &["2_Dense", "`in_features` is 8", "16"]);
    change(json!({"out_features": 6}), &["2_Dense", "model.safetensors", "shape mismatch"]);
    change(json!({"activation_function": "torch.nn.ReLU"}), &["2_Dense", "torch.nn.ReLU", "Identity and Tanh"]);
}

#[test]
fn a_prompt_that_leaves_no_room_is_refused() {
    let folder = sample("bert");
    folder.put("config_sentence_transformers.json", &json!({"prompts": {"query": "one ".repeat(30)}}));
    check(&folder, &["config_sentence_transformers.json", "32 of the maximum of 40 tokens"]);
}
