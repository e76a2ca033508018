//! The models of candle-transformers and our Gemma, in f32, with the steps up to one vector per text.

use candle_core::{DType, Device, Module, Result, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::{bert, distilbert, jina_bert, modernbert, nomic_bert, qwen3, xlm_roberta};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use serde_json::Value;

use super::dense::Layer;
use super::family::Family;
use super::gemma::{self, Gemma};
use super::pooling::{self, unit};
use crate::models::Pooling;

/// The configuration of an architecture, as candle reads it.
pub enum Config {
    Bert(bert::Config),
    JinaBert(jina_bert::Config),
    NomicBert(nomic_bert::Config),
    ModernBert(modernbert::Config),
    Roberta(xlm_roberta::Config),
    DistilBert(distilbert::Config),
    Qwen3(qwen3::Config),
    Gemma3(gemma::Config),
}

/// A loaded model: from tokens to their vectors.
pub enum Encoder {
    Bert(bert::BertModel),
    JinaBert(jina_bert::BertModel),
    NomicBert(nomic_bert::NomicBertModel),
    ModernBert(modernbert::ModernBert),
    Roberta(xlm_roberta::XLMRobertaModel),
    DistilBert(distilbert::DistilBertModel),
    Qwen3(qwen3::Model),
    Gemma3(Gemma),
}

impl Config {
    pub fn read(family: Family, config: Value) -> serde_json::Result<Config> {
        use serde_json::from_value;
        Ok(match family {
            Family::Bert => Config::Bert(from_value(config)?),
            Family::JinaBert => Config::JinaBert(from_value(config)?),
            Family::NomicBert => Config::NomicBert(from_value(config)?),
            Family::ModernBert => Config::ModernBert(from_value(config)?),
            Family::Roberta => Config::Roberta(from_value(config)?),
            Family::DistilBert => Config::DistilBert(from_value(config)?),
            Family::Qwen3 => Config::Qwen3(from_value(config)?),
            Family::Gemma3 => Config::Gemma3(from_value(config)?),
        })
    }
}

impl Encoder {
    pub fn load(config: &Config, weights: VarBuilder) -> Result<Encoder> {
        Ok(match config {
            Config::Bert(config) => Encoder::Bert(bert::BertModel::load(weights, config)?),
            Config::JinaBert(config) => Encoder::JinaBert(jina_bert::BertModel::new(weights, config)?),
            Config::NomicBert(config) => Encoder::NomicBert(nomic_bert::NomicBertModel::load(weights, config)?),
            Config::ModernBert(config) => {
                // candle treats a missing norm as one that the model does not have, but only the
                // first layer lacks it.
                for layer in 1..config.num_hidden_layers {
                    weights.get(config.hidden_size, &format!("model.layers.{layer}.attn_norm.weight"))?;
                }
                Encoder::ModernBert(modernbert::ModernBert::load(weights, config)?)
            }
            Config::Roberta(config) => Encoder::Roberta(xlm_roberta::XLMRobertaModel::new(config, weights)?),
            Config::DistilBert(config) => Encoder::DistilBert(distilbert::DistilBertModel::load(weights, config)?),
            Config::Qwen3(config) => Encoder::Qwen3(qwen3::Model::new(config, weights)?),
            Config::Gemma3(config) => Encoder::Gemma3(Gemma::load(config, weights)?),
        })
    }

    /// The vectors of all tokens [texts, tokens, width] from `ids` [texts, tokens]. No token is
    /// padding, so no mask hides any.
    fn hidden(&self, ids: &Tensor) -> Result<Tensor> {
        match self {
            Encoder::Bert(model) => model.forward(ids, &ids.zeros_like()?, None),
            Encoder::JinaBert(model) => model.forward(ids),
            Encoder::NomicBert(model) => model.forward(ids, None, None),
            Encoder::ModernBert(model) => model.forward(ids, &ids.ones_like()?),
            Encoder::Roberta(model) => model.forward(ids, &ids.ones_like()?, &ids.zeros_like()?, None, None, None),
            // Here 1 means masked.
            Encoder::DistilBert(model) => model.forward(ids, &Tensor::zeros((1, 1, 1, 1), DType::U8, ids.device())?),
            // The model keeps the keys of tokens it has read; a copy, which shares the weights,
            // starts without any.
            Encoder::Qwen3(model) => model.clone().forward(ids, 0),
            Encoder::Gemma3(model) => model.forward(ids),
        }
    }
}

/// A model with the steps after it, up to one vector per text.
pub struct Stock {
    pub encoder: Encoder,
    pub pooling: Pooling,
    pub dense: Vec<Layer>,
    pub threads: ThreadPool,
    /// Length of every vector.
    pub dimensions: usize,
}

impl Stock {
    /// Threads for [`Stock::embed`].
    pub fn threads(count: usize) -> std::result::Result<ThreadPool, String> {
        ThreadPoolBuilder::new().num_threads(count).build().map_err(|error| error.to_string())
    }

    /// The unit vectors of `sequences`, sorted by length, in order. Sequences of equal length share
    /// a pass, up to `share` tokens. Threads compute complete passes: dividing a single product
    /// among two busy cores took 1.5 times as long as one thread (MiniLM, passes of 256 tokens).
    pub fn embed(&self, sequences: &[&[u32]], share: usize) -> std::result::Result<Vec<Vec<f32>>, String> {
        let alike = sequences.chunk_by(|one, next| one.len() == next.len());
        let passes: Vec<&[&[u32]]> =
            alike.flat_map(|alike| alike.chunks((share / alike[0].len().max(1)).max(1))).collect();
        let vectors: std::result::Result<Vec<_>, String> =
            self.threads.install(|| passes.par_iter().map(|pass| self.pass(pass)).collect());
        Ok(vectors?.concat())
    }

    /// The unit vectors of sequences of equal length. Without tokens they are zeros.
    fn pass(&self, sequences: &[&[u32]]) -> std::result::Result<Vec<Vec<f32>>, String> {
        let length = sequences.first().map_or(0, |ids| ids.len());
        if length == 0 {
            return Ok(vec![vec![0.0; self.dimensions]; sequences.len()]);
        }
        let embed = || -> Result<Vec<f32>> {
            let ids = Tensor::from_vec(sequences.concat(), (sequences.len(), length), &Device::Cpu)?;
            let pooled = pooling::of(self.pooling, &self.encoder.hidden(&ids)?)?;
            let made = self.dense.iter().try_fold(pooled, |x, layer| layer.forward(&x))?;
            made.flatten_all()?.to_vec1()
        };
        let rows = embed().map_err(|error| super::weights::first_line(&error))?;
        Ok(unit(&rows, self.dimensions).chunks_exact(self.dimensions).map(<[f32]>::to_vec).collect())
    }
}
