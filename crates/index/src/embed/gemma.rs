//! Gemma 3 as an encoder (EmbeddingGemma): candle's own model attends to earlier tokens only and gives the logits of the last.

use candle_core::{Module, Result, Tensor};
use candle_nn::{Embedding, Linear, RmsNorm, VarBuilder, embedding, linear_no_bias, ops, rotary_emb};
use candle_transformers::utils::repeat_kv;
use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
pub struct Config {
    vocab_size: usize,
    hidden_size: usize,
    intermediate_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    num_key_value_heads: usize,
    head_dim: usize,
    max_position_embeddings: usize,
    rms_norm_eps: f64,
    rope_theta: f64,
    rope_local_base_freq: f64,
    query_pre_attn_scalar: f64,
    sliding_window: usize,
    #[serde(alias = "_sliding_window_pattern", default = "every_sixth")]
    sliding_window_pattern: usize,
    /// `full_attention` or `sliding_attention` for every layer; files without it have a pattern.
    #[serde(default)]
    layer_types: Vec<String>,
    #[serde(default)]
    use_bidirectional_attention: bool,
}

/// All Gemma 3 models attend to the whole text in every sixth layer.
fn every_sixth() -> usize {
    6
}

pub struct Gemma {
    words: Embedding,
    layers: Vec<Layer>,
    norm: RmsNorm,
    /// The rotation in layers that attend to a window, and in those that attend to everything.
    near: Rotation,
    far: Rotation,
    config: Config,
}

struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    out: Linear,
    query_norm: RmsNorm,
    key_norm: RmsNorm,
    gate: Linear,
    up: Linear,
    down: Linear,
    /// Norms before and after the attention, and before and after the feed-forward part.
    norms: [RmsNorm; 4],
    sees_all: bool,
}

/// Cosines and sines [positions, head / 2].
struct Rotation {
    cos: Tensor,
    sin: Tensor,
}

impl Gemma {
    pub fn load(config: &Config, at: VarBuilder) -> Result<Gemma> {
        let width = config.hidden_size;
        let layer = |number: usize| Layer::load(config, &at.pp(format!("layers.{number}")), number);
        Ok(Gemma {
            words: embedding(config.vocab_size, width, at.pp("embed_tokens"))?,
            layers: (0..config.num_hidden_layers).map(layer).collect::<Result<_>>()?,
            norm: norm(width, config, at.pp("norm"))?,
            near: Rotation::new(config, config.rope_local_base_freq, &at)?,
            far: Rotation::new(config, config.rope_theta, &at)?,
            config: config.clone(),
        })
    }

    /// The vectors of all tokens [texts, tokens, width] from `ids` [texts, tokens].
    pub fn forward(&self, ids: &Tensor) -> Result<Tensor> {
        let tokens = ids.dim(1)?;
        let (all, window) = (self.mask(tokens, tokens, ids)?, self.mask(tokens, self.window(), ids)?);
        let mut x = (self.words.forward(ids)? * (self.config.hidden_size as f64).sqrt())?;
        for layer in &self.layers {
            let (rotation, mask) = if layer.sees_all { (&self.far, &all) } else { (&self.near, &window) };
            let [before, after, before_wide, after_wide] = &layer.norms;
            let mixed = layer.attend(&before.forward(&x)?, rotation, mask, &self.config)?;
            x = (x + after.forward(&mixed)?)?;
            let mixed = layer.widen(&before_wide.forward(&x)?)?;
            x = (x + after_wide.forward(&mixed)?)?;
        }
        self.norm.forward(&x)
    }

    /// How far a token attends in a layer with a window. If it attends both ways, half of that each
    /// way.
    fn window(&self) -> usize {
        let window = self.config.sliding_window;
        if self.config.use_bidirectional_attention { window / 2 + 1 } else { window }
    }

    /// The mask added to the scores [tokens, tokens]: hides tokens at a distance of `window` or
    /// more, and later ones unless the model reads both ways.
    fn mask(&self, tokens: usize, window: usize, like: &Tensor) -> Result<Tensor> {
        let sees = |from: usize, to: usize| {
            from.abs_diff(to) < window && (to <= from || self.config.use_bidirectional_attention)
        };
        let row = |from: usize| (0..tokens).map(move |to| if sees(from, to) { 0.0 } else { f32::NEG_INFINITY });
        let mask: Vec<f32> = (0..tokens).flat_map(row).collect();
        Tensor::from_vec(mask, (tokens, tokens), like.device())
    }
}

impl Layer {
    fn load(config: &Config, at: &VarBuilder, number: usize) -> Result<Layer> {
        let Config { hidden_size: width, intermediate_size: wide, head_dim, .. } = *config;
        let (queries, keys) = (config.num_attention_heads * head_dim, config.num_key_value_heads * head_dim);
        let (attention, mlp) = (at.pp("self_attn"), at.pp("mlp"));
        let around = |name: &str| norm(width, config, at.pp(name));
        Ok(Layer {
            query: linear_no_bias(width, queries, attention.pp("q_proj"))?,
            key: linear_no_bias(width, keys, attention.pp("k_proj"))?,
            value: linear_no_bias(width, keys, attention.pp("v_proj"))?,
            out: linear_no_bias(queries, width, attention.pp("o_proj"))?,
            query_norm: norm(head_dim, config, attention.pp("q_norm"))?,
            key_norm: norm(head_dim, config, attention.pp("k_norm"))?,
            gate: linear_no_bias(width, wide, mlp.pp("gate_proj"))?,
            up: linear_no_bias(width, wide, mlp.pp("up_proj"))?,
            down: linear_no_bias(wide, width, mlp.pp("down_proj"))?,
            norms: [
                around("input_layernorm")?,
                around("post_attention_layernorm")?,
                around("pre_feedforward_layernorm")?,
                around("post_feedforward_layernorm")?,
            ],
            sees_all: match config.layer_types.get(number) {
                Some(kind) => kind == "full_attention",
                None => (number + 1).is_multiple_of(config.sliding_window_pattern),
            },
        })
    }

    /// x [texts, tokens, width] to the same shape.
    fn attend(&self, x: &Tensor, rotation: &Rotation, mask: &Tensor, config: &Config) -> Result<Tensor> {
        let (texts, tokens, _) = x.dims3()?;
        let heads = |x: Tensor, count: usize| -> Result<Tensor> {
            x.reshape((texts, tokens, count, config.head_dim))?.transpose(1, 2)?.contiguous()
        };
        let (count, kv_count) = (config.num_attention_heads, config.num_key_value_heads);
        let query = rotation.turn(&self.query_norm.forward(&heads(self.query.forward(x)?, count)?)?)?;
        let key = rotation.turn(&self.key_norm.forward(&heads(self.key.forward(x)?, kv_count)?)?)?;
        let share = |x: Tensor| repeat_kv(x, count / kv_count)?.contiguous();
        let (key, value) = (share(key)?, share(heads(self.value.forward(x)?, kv_count)?)?);
        let scores = (query.matmul(&key.t()?)? * config.query_pre_attn_scalar.powf(-0.5))?;
        let shares = ops::softmax_last_dim(&scores.broadcast_add(mask)?)?;
        self.out.forward(&shares.matmul(&value)?.transpose(1, 2)?.reshape((texts, tokens, ()))?)
    }

    /// The feed-forward part.
    fn widen(&self, x: &Tensor) -> Result<Tensor> {
        // `gelu` is the approximation by tanh, which Gemma uses.
        self.down.forward(&(self.gate.forward(x)?.gelu()? * self.up.forward(x)?)?)
    }
}

impl Rotation {
    fn new(config: &Config, base: f64, at: &VarBuilder) -> Result<Rotation> {
        let (head, positions) = (config.head_dim, config.max_position_embeddings);
        let speeds: Vec<f64> = (0..head).step_by(2).map(|i| base.powf(-(i as f64) / head as f64)).collect();
        let angles: Vec<f64> = (0..positions).flat_map(|place| speeds.iter().map(move |x| place as f64 * x)).collect();
        let table = |of: fn(f64) -> f64| {
            let numbers: Vec<f32> = angles.iter().map(|angle| of(*angle) as f32).collect();
            Tensor::from_vec(numbers, (positions, head / 2), at.device())
        };
        Ok(Rotation { cos: table(f64::cos)?, sin: table(f64::sin)? })
    }

    fn turn(&self, x: &Tensor) -> Result<Tensor> {
        rotary_emb::rope(x, &self.cos, &self.sin)
    }
}

/// Gemma stores a norm's weights minus 1.
fn norm(width: usize, config: &Config, at: VarBuilder) -> Result<RmsNorm> {
    Ok(RmsNorm::new((at.get(width, "weight")? + 1.0)?, config.rms_norm_eps))
}
