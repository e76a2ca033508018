//! Folders of small embedders with random weights, one for each architecture, and their vectors as computed by candle's model.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use candle_core::{DType, Device, Module, Result, Tensor};
use candle_nn::{VarBuilder, VarMap};
use candle_transformers::models::{bert, distilbert, gemma3, jina_bert, modernbert, nomic_bert, qwen3, xlm_roberta};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::embed::{Embedder, Options};

/// The folder where scripts/fetch-models puts the default embedder.
pub fn mini_lm() -> PathBuf {
    let models = std::env::var_os("MONOBLOC_TEST_MODELS").map(PathBuf::from).unwrap_or_else(|| {
        let home = std::env::var_os("HOME").expect("HOME names the user's folder");
        PathBuf::from(home).join(".local/share/monobloc/models")
    });
    let folder = models.join("all-MiniLM-L6-v2");
    let file = folder.join("model.safetensors");
    assert!(file.is_file(), "{} is missing: this test needs the real model, run scripts/fetch-models", file.display());
    folder
}

/// The words of all samples; a word's position is its token.
pub const WORDS: [&str; 12] =
    ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "one", "two", "three", "four", "query", "passage", ":", "five"];

pub struct Sample {
    pub name: &'static str,
    pub config: Value,
    /// The vectors of all tokens [texts, tokens, width].
    hidden: fn(VarBuilder, &Value, &Tensor) -> Result<Tensor>,
}

fn read<T: DeserializeOwned>(config: &Value) -> T {
    serde_json::from_value(config.clone()).expect("a configuration of candle")
}

/// `base` with the fields of `more` added.
fn with(base: &Value, more: Value) -> Value {
    let mut config = base.clone();
    config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    config
}

fn by_bert(at: VarBuilder, config: &Value, ids: &Tensor) -> Result<Tensor> {
    bert::BertModel::load(at, &read(config))?.forward(ids, &ids.zeros_like()?, None)
}

pub fn samples() -> Vec<Sample> {
    let base = json!({
        "model_type": "bert", "vocab_size": 16, "hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2,
        "intermediate_size": 24, "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1,
        "max_position_embeddings": 40, "type_vocab_size": 2, "initializer_range": 0.02, "layer_norm_eps": 1e-5,
        "pad_token_id": 0, "position_embedding_type": "absolute",
    });
    vec![
        Sample { name: "bert", config: base.clone(), hidden: by_bert },
        Sample { name: "bert with relu", config: with(&base, json!({"hidden_act": "relu"})), hidden: by_bert },
        Sample {
            name: "jina_bert",
            config: with(&base, json!({"architectures": ["JinaBertForMaskedLM"], "position_embedding_type": "alibi"})),
            hidden: |at, config, ids| jina_bert::BertModel::new(at, &read(config))?.forward(ids),
        },
        Sample {
            name: "nomic_bert",
            config: json!({
                "model_type": "nomic_bert", "vocab_size": 16, "n_embd": 16, "n_head": 2, "n_layer": 2, "n_inner": 24,
                "n_positions": 40, "type_vocab_size": 2, "layer_norm_epsilon": 1e-12, "rotary_emb_fraction": 1.0,
                "rotary_emb_base": 1000, "activation_function": "swiglu", "prenorm": false,
            }),
            hidden: |at, config, ids| nomic_bert::NomicBertModel::load(at, &read(config))?.forward(ids, None, None),
        },
        Sample {
            name: "modernbert",
            config: with(
                &base,
                json!({"model_type": "modernbert", "global_attn_every_n_layers": 3, "global_rope_theta": 160000.0,
                    "local_attention": 4, "local_rope_theta": 10000.0}),
            ),
            hidden: |at, config, ids| modernbert::ModernBert::load(at, &read(config))?.forward(ids, &ids.ones_like()?),
        },
        Sample {
            name: "xlm-roberta",
            config: with(&base, json!({"model_type": "xlm-roberta", "type_vocab_size": 1})),
            hidden: |at, config, ids| {
                let (ones, zeros) = (ids.ones_like()?, ids.zeros_like()?);
                xlm_roberta::XLMRobertaModel::new(&read(config), at)?.forward(ids, &ones, &zeros, None, None, None)
            },
        },
        Sample {
            name: "distilbert",
            config: json!({
                "model_type": "distilbert", "vocab_size": 16, "dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24,
                "activation": "gelu", "max_position_embeddings": 40, "initializer_range": 0.02, "pad_token_id": 0,
            }),
            hidden: |at, config, ids| {
                let mask = ids.zeros_like()?.unsqueeze(1)?.unsqueeze(1)?;
                distilbert::DistilBertModel::load(at, &read(config))?.forward(ids, &mask)
            },
        },
        Sample {
            name: "qwen3",
            config: with(
                &base,
                json!({"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "head_dim": 12,
                    "num_key_value_heads": 1, "attention_bias": false, "sliding_window": null, "max_window_layers": 3,
                    "tie_word_embeddings": true, "rope_theta": 1000000.0, "rms_norm_eps": 1e-6,
                    "use_sliding_window": false, "hidden_act": "silu"}),
            ),
            hidden: |at, config, ids| qwen3::Model::new(&read(config), at)?.forward(ids, 0),
        },
    ]
}

/// candle's Gemma 3: `hidden` gives the logits of the last token.
pub fn gemma() -> Sample {
    Sample {
        name: "gemma3_text",
        config: json!({
            "model_type": "gemma3_text", "vocab_size": 16, "hidden_size": 16, "intermediate_size": 24,
            "num_hidden_layers": 3, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8,
            "hidden_activation": "gelu_pytorch_tanh", "attention_bias": false, "rms_norm_eps": 1e-6,
            "rope_theta": 1000000.0, "rope_local_base_freq": 10000.0, "final_logit_softcapping": null,
            "attn_logit_softcapping": null, "query_pre_attn_scalar": 8, "sliding_window": 32,
            "sliding_window_pattern": 2, "max_position_embeddings": 40,
        }),
        hidden: |at, config, ids| gemma3::Model::new(false, &read(config), at)?.forward(ids, 0),
    }
}

/// The sample with this name.
pub fn sample(name: &str) -> Folder {
    samples().into_iter().find(|sample| sample.name == name).expect("a sample").write()
}

/// A written sample. A decoder's pooling, which must be stated, is the mean too.
pub struct Folder {
    pub sample: Sample,
    pub dir: tempfile::TempDir,
}

impl Sample {
    /// Writes config.json, tokenizer.json and model.safetensors with the tensors that candle's
    /// model requests.
    pub fn write(self) -> Folder {
        let vars = VarMap::new();
        let ids = Tensor::new(&[[1u32, 4, 2]], &Device::Cpu).unwrap();
        (self.hidden)(VarBuilder::from_varmap(&vars, DType::F32, &Device::Cpu), &self.config, &ids).unwrap();
        let mut names: Vec<(String, Vec<usize>)> =
            vars.data().lock().unwrap().iter().map(|(name, var)| (name.clone(), var.dims().to_vec())).collect();
        names.sort();
        // The first layer of a ModernBERT has no such norm.
        names.retain(|(name, _)| name != "model.layers.0.attn_norm.weight");
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder { sample: self, dir };
        let tensors = names.into_iter().map(|(name, shape)| (name, noise(&shape))).collect();
        folder.put_tensors("model.safetensors", &tensors);
        folder.put("config.json", &folder.sample.config);
        folder.put("tokenizer.json", &tokenizer());
        if folder.sample.name == "qwen3" {
            folder.put("1_Pooling/config.json", &json!({"pooling_mode_mean_tokens": true}));
        }
        folder
    }
}

/// Numbers between -0.5 and 0.5, the same ones for each shape.
pub fn noise(shape: &[usize]) -> Tensor {
    let mut random = fastrand::Rng::with_seed(shape.iter().fold(7, |seed, side| seed * 31 + *side as u64));
    let numbers: Vec<f32> = (0..shape.iter().product()).map(|_| random.f32() - 0.5).collect();
    Tensor::from_vec(numbers, shape, &Device::Cpu).unwrap()
}

/// Words separated by spaces, between `[CLS]` and `[SEP]`.
fn tokenizer() -> Value {
    let special = |id: usize| json!({"id": WORDS[id], "ids": [id], "tokens": [WORDS[id]]});
    let added = |id: usize| {
        json!({"id": id, "content": WORDS[id], "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": true})
    };
    let part = |id: usize| json!({"SpecialToken": {"id": WORDS[id], "type_id": 0}});
    let single = json!([part(1), {"Sequence": {"id": "A", "type_id": 0}}, part(2)]);
    let vocabulary: HashMap<&str, usize> = WORDS.iter().enumerate().map(|(id, word)| (*word, id)).collect();
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [added(0), added(1), added(2), added(3)],
        "normalizer": null, "pre_tokenizer": {"type": "Whitespace"}, "decoder": null,
        "post_processor": {"type": "TemplateProcessing", "single": single, "pair": single,
            "special_tokens": {"[CLS]": special(1), "[SEP]": special(2)}},
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
    })
}

impl Folder {
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    fn file(&self, name: &str) -> PathBuf {
        let file = self.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        file
    }

    pub fn put(&self, name: &str, value: &Value) {
        fs::write(self.file(name), value.to_string()).unwrap();
    }

    pub fn put_tensors(&self, name: &str, tensors: &HashMap<String, Tensor>) {
        candle_core::safetensors::save(tensors, self.file(name)).unwrap();
    }

    pub fn tensors(&self) -> HashMap<String, Tensor> {
        candle_core::safetensors::load(self.path().join("model.safetensors"), &Device::Cpu).unwrap()
    }

    /// Changes fields of config.json.
    pub fn configure(&self, more: Value) {
        self.put("config.json", &with(&self.sample.config, more));
    }

    pub fn open(&self) -> Embedder {
        self.try_open().unwrap_or_else(|error| panic!("{}: {error}", self.sample.name))
    }

    pub fn try_open(&self) -> std::result::Result<Embedder, crate::embed::EmbedError> {
        Embedder::open(self.path(), Options::default())
    }

    /// The vectors [tokens, width] of the words between the special tokens, from candle's model.
    pub fn by_candle(&self, words: &str) -> Tensor {
        let id = |word: &str| WORDS.iter().position(|one| *one == word).expect("a word of the samples") as u32;
        let ids: Vec<u32> = std::iter::once(1).chain(words.split_whitespace().map(id)).chain([2]).collect();
        let ids = Tensor::new(ids, &Device::Cpu).unwrap().unsqueeze(0).unwrap();
        let weights = fs::read(self.path().join("model.safetensors")).unwrap();
        let weights = VarBuilder::from_buffered_safetensors(weights, DType::F32, &Device::Cpu).unwrap();
        (self.sample.hidden)(weights, &self.sample.config, &ids).unwrap().get(0).unwrap()
    }
}
