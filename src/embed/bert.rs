//! Implements a BERT encoder over packed sequences: all tokens of a batch in one matrix without padding, one vector per sequence.

use candle_core::{DType, Device, IndexOp, Result, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::{Config, HiddenAct};

use crate::embed::ops::{Matrix, add_norm, attend, bias_gelu};

/// The weights, in the order in which they are used. Immutable, so that threads can share them.
pub struct Bert {
    /// [vocabulary, d]
    words: Tensor,
    /// [positions, d]: embedding of the position plus that of token type 0, the only type of single texts.
    positions: Tensor,
    /// [3, d]: a bias of zero, weight, shift
    norm: Tensor,
    layers: Vec<Layer>,
    heads: usize,
    activation: HiddenAct,
    epsilon: f32,
    dimensions: usize,
    device: Device,
}

/// The weights of one layer. `attention_norm` and `down_norm` are [3, d]: the bias before the normalisation, its weight, its shift.
struct Layer {
    qkv: Matrix,
    qkv_bias: Tensor,
    attention_out: Matrix,
    attention_norm: Tensor,
    up: Matrix,
    up_bias: Tensor,
    down: Matrix,
    down_norm: Tensor,
}

impl Bert {
    /// Reads the weights, whose names may begin with `bert.` (as in candle).
    pub fn load(weights: VarBuilder, config: &Config) -> Result<Bert> {
        let root = if weights.contains_tensor("bert.embeddings.word_embeddings.weight") {
            weights.pp("bert")
        } else {
            weights
        };
        let d = config.hidden_size;
        let at = root.pp("embeddings");
        let positions = at.get((config.max_position_embeddings, d), "position_embeddings.weight")?;
        let types = at.get((config.type_vocab_size, d), "token_type_embeddings.weight")?;
        let none = Tensor::zeros(d, DType::F32, root.device())?;
        Ok(Bert {
            words: at.get((config.vocab_size, d), "word_embeddings.weight")?,
            positions: positions.broadcast_add(&types.i(0)?)?,
            norm: with_norm(none, &at, d)?,
            layers: (0..config.num_hidden_layers)
                .map(|layer| Layer::load(root.pp(format!("encoder.layer.{layer}")), config))
                .collect::<Result<_>>()?,
            heads: config.num_attention_heads,
            activation: config.hidden_act,
            epsilon: config.layer_norm_eps as f32,
            dimensions: d,
            device: root.device().clone(),
        })
    }

    /// Length of every vector.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// The unit vectors of `sequences` of token ids, in order: [sequences, d]. A sequence may be at most as long as the model has
    /// positions; an empty one gives a zero vector.
    pub fn embed(&self, sequences: &[&[u32]]) -> Result<Vec<Vec<f32>>> {
        let lengths: Vec<usize> = sequences.iter().map(|ids| ids.len()).collect();
        let tokens: usize = lengths.iter().sum();
        if tokens == 0 {
            return Ok(vec![vec![0.0; self.dimensions]; sequences.len()]);
        }
        let hidden = self.hidden(&sequences.concat(), &lengths)?.flatten_all()?.to_vec1::<f32>()?;
        let pooled = kernels::mean_pool(&hidden, self.dimensions, &lengths);
        Ok(pooled.chunks_exact(self.dimensions).map(<[f32]>::to_vec).collect())
    }

    /// The last hidden states, [tokens, d].
    fn hidden(&self, ids: &[u32], lengths: &[usize]) -> Result<Tensor> {
        let positions: Vec<u32> = lengths.iter().flat_map(|length| 0..*length as u32).collect();
        let words = self.words.index_select(&Tensor::new(ids, &self.device)?, 0)?;
        let positions = self.positions.index_select(&Tensor::new(positions, &self.device)?, 0)?;
        let mut x = add_norm(words, &positions, &self.norm, self.epsilon)?;
        for layer in &self.layers {
            let mixed = attend(&layer.qkv.apply(&x)?, &layer.qkv_bias, lengths, self.heads)?;
            let mixed = layer.attention_out.apply(&mixed)?;
            x = add_norm(mixed, &x, &layer.attention_norm, self.epsilon)?;
            let wide = self.activate(layer.up.apply(&x)?, &layer.up_bias)?;
            x = add_norm(layer.down.apply(&wide)?, &x, &layer.down_norm, self.epsilon)?;
        }
        Ok(x)
    }

    fn activate(&self, x: Tensor, bias: &Tensor) -> Result<Tensor> {
        match self.activation {
            HiddenAct::Gelu => bias_gelu(x, bias),
            HiddenAct::GeluApproximate => x.broadcast_add(bias)?.gelu(),
            HiddenAct::Relu => x.broadcast_add(bias)?.relu(),
        }
    }
}

impl Layer {
    fn load(at: VarBuilder, config: &Config) -> Result<Layer> {
        let (d, wide) = (config.hidden_size, config.intermediate_size);
        let thirds = ["query", "key", "value"].map(|part| at.pp(format!("attention.self.{part}")));
        let matrices = thirds.iter().map(|part| part.get((d, d), "weight")).collect::<Result<Vec<_>>>()?;
        let biases = thirds.iter().map(|part| part.get(d, "bias")).collect::<Result<Vec<_>>>()?;
        let attention_out = at.pp("attention.output");
        let (up, down) = (at.pp("intermediate.dense"), at.pp("output"));
        Ok(Layer {
            qkv: Matrix::new(&Tensor::cat(&matrices, 0)?)?,
            qkv_bias: Tensor::cat(&biases, 0)?,
            attention_out: Matrix::new(&attention_out.get((d, d), "dense.weight")?)?,
            attention_norm: with_norm(attention_out.get(d, "dense.bias")?, &attention_out, d)?,
            up: Matrix::new(&up.get((wide, d), "weight")?)?,
            up_bias: up.get(wide, "bias")?,
            down: Matrix::new(&down.get((d, wide), "dense.weight")?)?,
            down_norm: with_norm(down.get(d, "dense.bias")?, &down, d)?,
        })
    }
}

/// [3, d]: the bias before a normalisation, its weight, its shift. Old files call the last two gamma and beta.
fn with_norm(bias: Tensor, at: &VarBuilder, d: usize) -> Result<Tensor> {
    let at = at.pp("LayerNorm");
    let [weight, shift] = if at.contains_tensor("gamma") { ["gamma", "beta"] } else { ["weight", "bias"] };
    Tensor::stack(&[bias, at.get(d, weight)?, at.get(d, shift)?], 0)
}
