//! Reads from a `config.json` the architecture and the sizes that determine memory and length.

use std::path::Path;

use serde_json::{Value, json};

use super::error::EmbedError;
use super::files::{damaged, number, unsupported};
use super::weights::Root;

/// The supported architectures; all except Gemma 3 are models of candle-transformers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    Bert,
    JinaBert,
    NomicBert,
    ModernBert,
    /// RoBERTa, XLM-RoBERTa and CamemBERT differ only in their vocabularies.
    Roberta,
    DistilBert,
    Qwen3,
    Gemma3,
}

/// Values of `model_type`, and prefixes of names in `architectures`.
const KINDS: [(&str, &str, Family); 9] = [
    ("bert", "Bert", Family::Bert),
    ("nomic_bert", "NomicBert", Family::NomicBert),
    ("modernbert", "ModernBert", Family::ModernBert),
    ("xlm-roberta", "XLMRoberta", Family::Roberta),
    ("roberta", "Roberta", Family::Roberta),
    ("camembert", "Camembert", Family::Roberta),
    ("distilbert", "DistilBert", Family::DistilBert),
    ("qwen3", "Qwen3", Family::Qwen3),
    ("gemma3_text", "Gemma3Text", Family::Gemma3),
];
const SUPPORTED: &str =
    "bert (JinaBERT's too), nomic_bert, modernbert, roberta, xlm-roberta, camembert, distilbert, qwen3, gemma3_text";

/// The dimensions of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Length of a token's vector.
    pub width: usize,
    pub heads: usize,
    /// Numbers per token in the attention: one vector of head size for each head.
    pub attention: usize,
    /// Numbers in the keys and values that candle's decoder keeps per token in all layers.
    pub kept: usize,
    /// Width of the feed-forward layer.
    pub wide: usize,
    pub layers: usize,
    pub vocabulary: usize,
    /// Maximum number of tokens.
    pub positions: usize,
}

impl Family {
    /// Fails for other architectures, and for variants that candle's model would compute wrongly.
    pub fn of(file: &Path, config: &Value) -> Result<Family, EmbedError> {
        let class = config["architectures"][0].as_str().unwrap_or_default();
        if class.ends_with("ForSequenceClassification") {
            return Err(unsupported(file, "architectures", &config["architectures"], "models that make vectors"));
        }
        let kind = &config["model_type"];
        let known = KINDS.iter().find(|(name, start, _)| match kind {
            Value::Null => class.starts_with(start),
            kind => kind == name,
        });
        let family = match known {
            _ if class.starts_with("JinaBert") => Family::JinaBert,
            Some((.., Family::Bert)) if config["position_embedding_type"] == "alibi" => Family::JinaBert,
            Some((.., family)) => *family,
            None => return Err(unsupported(file, "model_type", kind, SUPPORTED)),
        };
        for (field, expected) in family.expected() {
            let found = &config[field];
            if !(found.is_null() || *found == expected || found.as_f64().is_some_and(|x| Some(x) == expected.as_f64()))
            {
                let supported = format!("{expected} in a {family:?} model");
                return Err(unsupported(file, field, found, &supported));
            }
        }
        Ok(family)
    }

    /// The fields that the model does not read, each with the value that it assumes.
    fn expected(self) -> Vec<(&'static str, Value)> {
        match self {
            Family::Bert => vec![("is_decoder", json!(false))],
            Family::DistilBert => vec![],
            Family::JinaBert => vec![("feed_forward_type", json!("geglu"))],
            Family::NomicBert => vec![
                ("activation_function", json!("swiglu")),
                ("prenorm", json!(false)),
                ("use_rms_norm", json!(false)),
                ("causal", json!(false)),
                ("rotary_emb_fraction", json!(1.0)),
            ],
            Family::ModernBert => vec![("hidden_activation", json!("gelu"))],
            Family::Roberta => vec![("position_embedding_type", json!("absolute")), ("is_decoder", json!(false))],
            Family::Qwen3 => vec![
                ("is_causal", json!(true)),
                ("use_bidirectional_attention", json!(false)),
                ("rope_scaling", Value::Null),
            ],
            Family::Gemma3 => vec![
                ("hidden_activation", json!("gelu_pytorch_tanh")),
                ("attention_bias", json!(false)),
                ("attn_logit_softcapping", Value::Null),
                ("rope_scaling", Value::Null),
            ],
        }
    }

    /// Whether models of this architecture may generate text instead; then only a stated pooling
    /// identifies an embedder.
    pub fn may_write(self) -> bool {
        matches!(self, Family::Qwen3 | Family::Gemma3)
    }

    /// Where the model looks for its tensors.
    pub fn root(self) -> Root {
        let (anchor, prefix) = match self {
            Family::ModernBert => ("embeddings.tok_embeddings.weight", "model."),
            Family::Qwen3 => ("embed_tokens.weight", "model."),
            Family::Gemma3 => ("embed_tokens.weight", ""),
            _ => ("embeddings.word_embeddings.weight", ""),
        };
        Root { anchor, prefix }
    }

    pub fn shape(self, file: &Path, config: &Value) -> Result<Shape, EmbedError> {
        let [width, heads, wide, layers] = match self {
            Family::NomicBert => ["n_embd", "n_head", "n_inner", "n_layer"],
            Family::DistilBert => ["dim", "n_heads", "hidden_dim", "n_layers"],
            _ => ["hidden_size", "num_attention_heads", "intermediate_size", "num_hidden_layers"],
        };
        let [width, heads, wide, layers, vocabulary] = [
            number(file, config, width)?,
            number(file, config, heads)?,
            number(file, config, wide)?,
            number(file, config, layers)?,
            number(file, config, "vocab_size")?,
        ];
        let mut positions = number(file, config, self.positions())?;
        if self == Family::Roberta {
            // The first positions are reserved for padding.
            positions = positions.saturating_sub(config["pad_token_id"].as_u64().unwrap_or(0) as usize + 1);
        }
        let (mut attention, mut kept) = (width, 0);
        if self.may_write() {
            let head = number(file, config, "head_dim")?;
            attention = heads.saturating_mul(head);
            let kv_heads = number(file, config, "num_key_value_heads")?;
            if self == Family::Qwen3 {
                kept = layers.saturating_mul(2).saturating_mul(kv_heads).saturating_mul(head);
            }
            if !heads.is_multiple_of(kv_heads) {
                return Err(damaged(file, format!("{heads} heads cannot share {kv_heads} key heads")));
            }
        } else if !width.is_multiple_of(heads) {
            return Err(damaged(file, format!("a width of {width} cannot be divided into {heads} heads")));
        }
        Ok(Shape { width, heads, attention, kept, wide, layers, vocabulary, positions })
    }

    /// `config` for a model that reads at most `tokens`, so that tables that grow with the length
    /// (JinaBERT's is squared: 3 GB for 8,192 positions) hold no more. Adds fields without effect
    /// on vectors where a file omits them.
    pub fn fitted(self, mut config: Value, tokens: usize) -> Value {
        let Some(fields) = config.as_object_mut() else { return config };
        if !matches!(self, Family::Bert | Family::DistilBert | Family::Roberta) {
            fields.insert(self.positions().to_owned(), json!(tokens));
        }
        for field in ["hidden_dropout_prob", "attention_probs_dropout_prob", "initializer_range"] {
            fields.entry(field).or_insert(json!(0.0));
        }
        let positions = if self == Family::JinaBert { "alibi" } else { "absolute" };
        fields.entry("position_embedding_type").or_insert(json!(positions));
        config
    }

    /// The field with the number of positions.
    fn positions(self) -> &'static str {
        if self == Family::NomicBert { "n_positions" } else { "max_position_embeddings" }
    }
}
