//! A BERT encoder over packed sequences: all tokens of a batch in one matrix without padding, one vector per sequence.

use candle_core::Result;
use candle_nn::VarBuilder;
use candle_transformers::models::bert::Config;
use kernels::{attention, gelu, int8, norm};

use super::pooling;
use crate::models::Pooling;

/// The weights in order of use. Immutable, so that threads can share them.
pub struct Bert {
    /// [vocabulary, d]
    words: Vec<f32>,
    /// [positions, d]: the position's embedding plus that of token type 0, the only type in single
    /// texts.
    positions: Vec<f32>,
    norm: Norm,
    layers: Vec<Layer>,
    heads: usize,
    dimensions: usize,
    pooling: Pooling,
}

/// The weights of one layer; matrices are rounded to eight bits.
struct Layer {
    qkv: int8::Weights,
    qkv_bias: Vec<f32>,
    attention_out: int8::Weights,
    attention_norm: Norm,
    up: int8::Weights,
    up_bias: Vec<f32>,
    down: int8::Weights,
    down_norm: Norm,
}

/// The parameters of `layer_norm(x + bias + residual)`, each `[d]`.
struct Norm {
    bias: Vec<f32>,
    weight: Vec<f32>,
    shift: Vec<f32>,
    epsilon: f32,
}

impl Bert {
    pub fn load(root: VarBuilder, config: &Config, pooling: Pooling) -> Result<Bert> {
        let d = config.hidden_size;
        let at = root.pp("embeddings");
        let mut positions = numbers(&at, &[config.max_position_embeddings, d], "position_embeddings.weight")?;
        let types = numbers(&at, &[config.type_vocab_size, d], "token_type_embeddings.weight")?;
        for row in positions.chunks_exact_mut(d) {
            row.iter_mut().zip(&types[..d]).for_each(|(x, of_type)| *x += of_type);
        }
        Ok(Bert {
            words: numbers(&at, &[config.vocab_size, d], "word_embeddings.weight")?,
            positions,
            norm: Norm::load(vec![0.0; d], &at, config)?,
            layers: (0..config.num_hidden_layers)
                .map(|layer| Layer::load(&root.pp(format!("encoder.layer.{layer}")), config))
                .collect::<Result<_>>()?,
            heads: config.num_attention_heads,
            dimensions: d,
            pooling,
        })
    }

    /// The unit vectors of `sequences` of token ids, in order. An empty sequence gives a zero
    /// vector. Fails if a token is not in the vocabulary or a sequence has more tokens than the
    /// model has positions.
    pub fn embed(&self, sequences: &[&[u32]]) -> std::result::Result<Vec<Vec<f32>>, String> {
        let d = self.dimensions;
        let lengths: Vec<usize> = sequences.iter().map(|ids| ids.len()).collect();
        let tokens: usize = lengths.iter().sum();
        let (mut x, mut positions) = (Vec::with_capacity(tokens * d), Vec::with_capacity(tokens * d));
        for ids in sequences {
            let of_ids = self.positions.get(..ids.len() * d);
            positions
                .extend_from_slice(of_ids.ok_or_else(|| format!("{} tokens exceed the model's positions", ids.len()))?);
            for &id in *ids {
                let row = self.words.get(id as usize * d..(id as usize + 1) * d);
                x.extend_from_slice(row.ok_or_else(|| format!("token {id} is not in the model's vocabulary"))?);
            }
        }
        self.norm.apply(&mut x, &positions);
        for layer in &self.layers {
            let mut mixed = product(&self.attend(layer, &x, &lengths), &layer.attention_out);
            layer.attention_norm.apply(&mut mixed, &x);
            let mut wide = product(&mixed, &layer.up);
            gelu::bias_gelu(&mut wide, &layer.up_bias);
            x = product(&wide, &layer.down);
            layer.down_norm.apply(&mut x, &mixed);
        }
        let pooled = pooling::of_packed(self.pooling, &x, d, &lengths);
        Ok(pooled.chunks_exact(d).map(<[f32]>::to_vec).collect())
    }

    /// Attention of one layer within each sequence: from x [tokens, d] to [tokens, d].
    fn attend(&self, layer: &Layer, x: &[f32], lengths: &[usize]) -> Vec<f32> {
        let mut mixed = vec![0.0; x.len()];
        attention::attend(&product(x, &layer.qkv), &layer.qkv_bias, lengths, self.heads, &mut mixed);
        mixed
    }
}

impl Layer {
    fn load(at: &VarBuilder, config: &Config) -> Result<Layer> {
        let (d, wide) = (config.hidden_size, config.intermediate_size);
        let thirds = ["query", "key", "value"].map(|part| at.pp(format!("attention.self.{part}")));
        let of_thirds = |shape: &[usize], name| -> Result<Vec<f32>> {
            Ok(thirds.iter().map(|part| numbers(part, shape, name)).collect::<Result<Vec<_>>>()?.concat())
        };
        let matrix = |at: &VarBuilder, outputs, inputs, name| -> Result<int8::Weights> {
            Ok(int8::Weights::new(&numbers(at, &[outputs, inputs], name)?, outputs, inputs))
        };
        let attention_out = at.pp("attention.output");
        let (up, down) = (at.pp("intermediate.dense"), at.pp("output"));
        Ok(Layer {
            qkv: int8::Weights::new(&of_thirds(&[d, d], "weight")?, 3 * d, d),
            qkv_bias: of_thirds(&[d], "bias")?,
            attention_out: matrix(&attention_out, d, d, "dense.weight")?,
            attention_norm: Norm::load(numbers(&attention_out, &[d], "dense.bias")?, &attention_out, config)?,
            up: matrix(&up, wide, d, "weight")?,
            up_bias: numbers(&up, &[wide], "bias")?,
            down: matrix(&down, d, wide, "dense.weight")?,
            down_norm: Norm::load(numbers(&down, &[d], "dense.bias")?, &down, config)?,
        })
    }
}

impl Norm {
    /// `bias` belongs to the product before the normalisation. Old files call the weight gamma and
    /// the shift beta.
    fn load(bias: Vec<f32>, at: &VarBuilder, config: &Config) -> Result<Norm> {
        let at = at.pp("LayerNorm");
        let [weight, shift] = if at.contains_tensor("gamma") { ["gamma", "beta"] } else { ["weight", "bias"] };
        let of = |name| numbers(&at, &[config.hidden_size], name);
        Ok(Norm { bias, weight: of(weight)?, shift: of(shift)?, epsilon: config.layer_norm_eps as f32 })
    }

    /// `x = layer_norm(x + bias + residual)`, both [tokens, d].
    fn apply(&self, x: &mut [f32], residual: &[f32]) {
        let Norm { bias, weight, shift, epsilon } = self;
        norm::add_norm(x, residual, norm::Norm { bias, weight, shift, epsilon: *epsilon });
    }
}

/// x [tokens, inputs] times the transposed weights: [tokens, outputs].
fn product(x: &[f32], weights: &int8::Weights) -> Vec<f32> {
    let mut out = vec![0.0; x.len() / weights.inputs() * weights.outputs()];
    int8::matmul(&int8::Activations::new(x, weights.inputs()), weights, &mut out);
    out
}

/// The tensor called `name`, row by row.
fn numbers(at: &VarBuilder, shape: &[usize], name: &str) -> Result<Vec<f32>> {
    at.get(shape, name)?.flatten_all()?.to_vec1()
}
