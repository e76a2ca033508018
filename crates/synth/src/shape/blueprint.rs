//! The parts of a model file determined by a shape: the header's size keys, and the tensors.

use crate::quant::{Quant, kind};
use monobloc_engine::models::gguf::TensorType;
use monobloc_engine::models::gguf::write::HeaderWriter;

/// `LLAMA_EXPERT_GATING_FUNC_TYPE_SIGMOID`; llama.cpp refuses an lfm2moe file without the key.
pub(super) const GATING_SIGMOID: u64 = 2;

/// How the numbers of a tensor are generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Norms.
    Ones,
    /// Biases.
    Zeros,
    /// Rates of decay of states: negative numbers of about -1.
    Decays,
    /// Small tensors that are never quantised (f32).
    Uniform,
    /// Matrices, in the requested quantisation.
    Quantised,
}

/// One tensor of a shape; the fastest dimension first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    pub name: String,
    pub shape: Vec<u64>,
    pub fill: Fill,
}

impl Planned {
    pub fn parameters(&self) -> u64 {
        self.shape.iter().product()
    }

    pub fn kind(&self, quant: Quant) -> &'static TensorType {
        match self.fill {
            Fill::Quantised => self.quant(quant).kind(),
            _ => kind("F32"),
        }
    }

    /// The quantisation of this matrix if `asked` is requested: Q4_0 if its rows are not a whole
    /// number of blocks, as in llama.cpp's quantiser.
    pub fn quant(&self, asked: Quant) -> Quant {
        if self.shape[0].is_multiple_of(asked.kind().block) { asked } else { Quant::Q4_0 }
    }
}

/// Keys and tensors of a model file, except those of its vocabulary.
pub struct Blueprint {
    pub architecture: &'static str,
    keys: HeaderWriter,
    pub tensors: Vec<Planned>,
}

impl Blueprint {
    /// A blueprint with the keys common to all architectures.
    pub(super) fn new(architecture: &'static str, layers: u32, context: u64, hidden: u64) -> Blueprint {
        let mut plan = Blueprint { architecture, keys: HeaderWriter::new(architecture), tensors: Vec::new() };
        plan.sizes(&[("block_count", layers.into()), ("context_length", context), ("embedding_length", hidden)]);
        plan
    }

    /// The header with the keys of the shape; more keys and the tensors may follow.
    pub fn header(&self) -> HeaderWriter {
        self.keys.clone()
    }

    fn own(&self, name: &str) -> String {
        format!("{}.{name}", self.architecture)
    }

    pub(super) fn number(&mut self, name: &str, value: u64) -> &mut Blueprint {
        self.keys = std::mem::take(&mut self.keys).u32(&self.own(name), value as u32);
        self
    }

    /// Several keys with one number each.
    pub(super) fn sizes(&mut self, sizes: &[(&str, u64)]) -> &mut Blueprint {
        for (name, value) in sizes {
            self.number(name, *value);
        }
        self
    }

    /// The number of query heads, and the length of each one's keys and values.
    pub(super) fn heads(&mut self, heads: u64, length: u64) -> &mut Blueprint {
        self.sizes(&[
            ("attention.head_count", heads),
            ("attention.key_length", length),
            ("attention.value_length", length),
        ])
    }

    /// The number of experts, the number that a token uses, and the inner size of each.
    pub(super) fn experts(&mut self, experts: u64, used: u64, inner: u64) -> &mut Blueprint {
        self.sizes(&[("expert_count", experts), ("expert_used_count", used), ("expert_feed_forward_length", inner)])
    }

    /// A key with one number for each layer.
    pub(super) fn by_layer(&mut self, name: &str, layers: u32, value: impl Fn(u32) -> u64) -> &mut Blueprint {
        let values: Vec<i32> = (0..layers).map(|layer| value(layer) as i32).collect();
        self.numbers(name, &values)
    }

    pub(super) fn numbers(&mut self, name: &str, values: &[i32]) -> &mut Blueprint {
        self.keys = std::mem::take(&mut self.keys).i32s(&self.own(name), values);
        self
    }

    pub(super) fn float(&mut self, name: &str, value: f32) -> &mut Blueprint {
        self.keys = std::mem::take(&mut self.keys).f32(&self.own(name), value);
        self
    }

    pub(super) fn flag(&mut self, name: &str, value: bool) -> &mut Blueprint {
        self.keys = std::mem::take(&mut self.keys).bool(&self.own(name), value);
        self
    }

    pub(super) fn tensor(&mut self, name: &str, shape: &[u64], fill: Fill) {
        self.tensors.push(Planned { name: name.to_owned(), shape: shape.to_vec(), fill });
    }

    /// The token table, the norm before the output, and the output matrix unless the token table
    /// serves as one.
    pub(super) fn ends(&mut self, hidden: u64, vocabulary: u64, is_tied: bool) {
        self.tensor("token_embd.weight", &[hidden, vocabulary], Fill::Quantised);
        self.tensor("output_norm.weight", &[hidden], Fill::Ones);
        if !is_tied {
            self.tensor("output.weight", &[hidden, vocabulary], Fill::Quantised);
        }
    }

    /// The tensors of layer `layer`.
    pub(super) fn block(&mut self, layer: u32) -> Block<'_> {
        Block { blueprint: self, layer }
    }
}

/// Adds the tensors of one layer.
pub(super) struct Block<'b> {
    blueprint: &'b mut Blueprint,
    layer: u32,
}

impl Block<'_> {
    /// A tensor by its full name within the layer.
    pub fn add(&mut self, name: &str, shape: &[u64], fill: Fill) {
        self.blueprint.tensor(&format!("blk.{}.{name}", self.layer), shape, fill);
    }

    /// A matrix of `rows` rows with `columns` numbers each.
    pub fn matrix(&mut self, name: &str, columns: u64, rows: u64) {
        self.add(&format!("{name}.weight"), &[columns, rows], Fill::Quantised);
    }

    pub fn norm(&mut self, name: &str, length: u64) {
        self.add(&format!("{name}.weight"), &[length], Fill::Ones);
    }

    /// The four matrices of attention, with `queries` and `keys` numbers per token over all heads.
    pub fn attention(&mut self, hidden: u64, queries: u64, keys: u64) {
        self.matrix("attn_q", hidden, queries);
        self.matrix("attn_k", hidden, keys);
        self.matrix("attn_v", hidden, keys);
        self.matrix("attn_output", queries, hidden);
    }

    /// The three matrices of a feed-forward block; `suffix` is `_shexp` for a shared expert.
    pub fn feed_forward(&mut self, suffix: &str, hidden: u64, inner: u64) {
        self.matrix(&format!("ffn_gate{suffix}"), hidden, inner);
        self.matrix(&format!("ffn_up{suffix}"), hidden, inner);
        self.matrix(&format!("ffn_down{suffix}"), inner, hidden);
    }

    /// The router, and the matrices of `experts` experts.
    pub fn experts(&mut self, hidden: u64, inner: u64, experts: u64) {
        self.add("ffn_gate_inp.weight", &[hidden, experts], Fill::Uniform);
        self.add("ffn_gate_exps.weight", &[hidden, inner, experts], Fill::Quantised);
        self.add("ffn_up_exps.weight", &[hidden, inner, experts], Fill::Quantised);
        self.add("ffn_down_exps.weight", &[inner, hidden, experts], Fill::Quantised);
    }
}
