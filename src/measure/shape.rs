//! The model shapes that `synth` can write: the tensors of each and their sizes.

use std::fmt;
use std::str::FromStr;

use super::quant::{Quant, kind, named};
use crate::models::gguf::TensorType;

/// A model whose shape can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Lfm2_24bA2b,
    Lfm2_8bA1b,
    Lfm2_2_6b,
    Lfm2_1_2b,
    /// Four dense layers of hidden size 128, for tests: about 9 MB at q8_0.
    TinyLfm2,
    /// `TinyLfm2` with eight experts, two of them active.
    TinyLfm2Moe,
    /// Four layers of BitNet b1.58 with hidden size 256, so that rows are whole blocks of ternary weights: about 6 MB.
    TinyBitnet,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dimensions {
    pub architecture: &'static str,
    pub layers: u32,
    /// Layers with attention; the other layers of an LFM2 are convolutions.
    pub attention: &'static [u32],
    pub hidden: u64,
    pub heads: u32,
    pub kv_heads: u32,
    pub dense_ff: u64,
    /// 0 for a dense model.
    pub experts: u64,
    pub experts_used: u32,
    pub expert_ff: u64,
    /// Layers at the start that are dense although the model has experts.
    pub leading_dense: u32,
}

/// Width of the short convolution (`shortconv.l_cache`).
pub const CONV_WIDTH: u64 = 3;
/// Entries of the vocabulary: as in every LFM2; the other shapes use the same number.
pub const VOCABULARY: u64 = 65_536;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Norms.
    Ones,
    /// The bias of the expert router.
    Zeros,
    /// Small tensors that are never quantised, f32.
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

    /// The quantisation of this matrix when `asked` is requested: Q4_0 if its rows are no whole number of blocks, as in
    /// llama.cpp's quantiser.
    pub fn quant(&self, asked: Quant) -> Quant {
        if self.shape[0].is_multiple_of(asked.kind().block) { asked } else { Quant::Q4_0 }
    }
}

const NAMES: [(Shape, &str); 7] = [
    (Shape::Lfm2_24bA2b, "lfm2-24b-a2b"),
    (Shape::Lfm2_8bA1b, "lfm2-8b-a1b"),
    (Shape::Lfm2_2_6b, "lfm2-2.6b"),
    (Shape::Lfm2_1_2b, "lfm2-1.2b"),
    (Shape::TinyLfm2, "tiny-lfm2"),
    (Shape::TinyLfm2Moe, "tiny-lfm2moe"),
    (Shape::TinyBitnet, "tiny-bitnet"),
];

impl Shape {
    /// The published hyper-parameters (ollama convert_lfm2.go, llama.cpp lfm2.cpp and lfm2moe.cpp, the vendor's cards).
    /// Which layers of the 24B and the 2.6B have attention is not published but inferred from their number.
    pub fn dimensions(self) -> Dimensions {
        let large = Dimensions {
            architecture: "lfm2moe",
            layers: 40,
            attention: &[2, 6, 10, 14, 18, 22, 26, 30, 34, 38],
            hidden: 2048,
            heads: 32,
            kv_heads: 8,
            dense_ff: 11_776,
            experts: 64,
            experts_used: 4,
            expert_ff: 1536,
            leading_dense: 2,
        };
        let dense =
            Dimensions { architecture: "lfm2", experts: 0, experts_used: 0, expert_ff: 0, leading_dense: 0, ..large };
        let tiny =
            Dimensions { layers: 4, attention: &[1, 3], hidden: 128, heads: 4, kv_heads: 2, dense_ff: 256, ..dense };
        match self {
            Shape::Lfm2_24bA2b => large,
            Shape::Lfm2_8bA1b => Dimensions {
                layers: 24,
                attention: &[2, 6, 10, 14, 18, 21],
                dense_ff: 7168,
                experts: 32,
                expert_ff: 1792,
                ..large
            },
            Shape::Lfm2_2_6b => {
                Dimensions { layers: 30, attention: &[2, 6, 9, 13, 16, 20, 24, 27], dense_ff: 10_752, ..dense }
            }
            Shape::Lfm2_1_2b => Dimensions { layers: 16, attention: &[2, 5, 8, 10, 12, 14], dense_ff: 8192, ..dense },
            Shape::TinyLfm2 => tiny,
            Shape::TinyLfm2Moe => Dimensions {
                architecture: "lfm2moe",
                experts: 8,
                experts_used: 2,
                expert_ff: 64,
                leading_dense: 1,
                ..tiny
            },
            Shape::TinyBitnet => Dimensions {
                architecture: "bitnet",
                attention: &[0, 1, 2, 3],
                hidden: 256,
                heads: 4,
                kv_heads: 2,
                dense_ff: 512,
                ..tiny
            },
        }
    }

    /// Every tensor of the shape, in the order of the file.
    pub fn tensors(self) -> Vec<Planned> {
        let all = self.dimensions();
        let mut plan = vec![
            planned("token_embd.weight".into(), &[all.hidden, VOCABULARY], Fill::Quantised),
            planned(all.last_norm().into(), &[all.hidden], Fill::Ones),
        ];
        for layer in 0..all.layers {
            plan.extend(all.layer(layer));
        }
        plan
    }
}

impl Dimensions {
    pub fn is_bitnet(&self) -> bool {
        self.architecture == "bitnet"
    }

    /// Name of the norm before the output; LFM2 files name it after the embedding.
    fn last_norm(&self) -> &'static str {
        if self.is_bitnet() { "output_norm.weight" } else { "token_embd_norm.weight" }
    }

    pub fn head_length(&self) -> u64 {
        self.hidden / u64::from(self.heads)
    }

    /// Key/value heads of a layer; 0 marks a convolution.
    pub fn kv_heads_of(&self, layer: u32) -> u32 {
        if self.attention.contains(&layer) { self.kv_heads } else { 0 }
    }

    fn layer(&self, layer: u32) -> Vec<Planned> {
        use Fill::{Ones, Quantised, Uniform, Zeros};
        let (hidden, head) = (self.hidden, self.head_length());
        let kv = u64::from(self.kv_heads) * head;
        let mut plan = Vec::new();
        let mut add = |name: &str, shape: &[u64], fill| plan.push(planned(format!("blk.{layer}.{name}"), shape, fill));
        add("attn_norm.weight", &[hidden], Ones);
        add("ffn_norm.weight", &[hidden], Ones);
        if self.kv_heads_of(layer) > 0 {
            add("attn_q.weight", &[hidden, hidden], Quantised);
            add("attn_k.weight", &[hidden, kv], Quantised);
            add("attn_v.weight", &[hidden, kv], Quantised);
            add("attn_output.weight", &[hidden, hidden], Quantised);
            if self.is_bitnet() {
                add("attn_sub_norm.weight", &[hidden], Ones);
                add("ffn_sub_norm.weight", &[self.dense_ff], Ones);
            } else {
                add("attn_q_norm.weight", &[head], Ones);
                add("attn_k_norm.weight", &[head], Ones);
            }
        } else {
            add("shortconv.conv.weight", &[CONV_WIDTH, hidden], Uniform);
            add("shortconv.in_proj.weight", &[hidden, 3 * hidden], Quantised);
            add("shortconv.out_proj.weight", &[hidden, hidden], Quantised);
        }
        if self.experts > 0 && layer >= self.leading_dense {
            add("ffn_gate_inp.weight", &[hidden, self.experts], Uniform);
            add("ffn_gate_exps.weight", &[hidden, self.expert_ff, self.experts], Quantised);
            add("ffn_up_exps.weight", &[hidden, self.expert_ff, self.experts], Quantised);
            add("ffn_down_exps.weight", &[self.expert_ff, hidden, self.experts], Quantised);
            add("exp_probs_b.bias", &[self.experts], Zeros);
        } else {
            add("ffn_gate.weight", &[hidden, self.dense_ff], Quantised);
            add("ffn_up.weight", &[hidden, self.dense_ff], Quantised);
            add("ffn_down.weight", &[self.dense_ff, hidden], Quantised);
        }
        plan
    }
}

fn planned(name: String, shape: &[u64], fill: Fill) -> Planned {
    Planned { name, shape: shape.to_vec(), fill }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NAMES.iter().find(|(shape, _)| shape == self).map_or("", |(_, name)| name))
    }
}

impl FromStr for Shape {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Shape> {
        named(&NAMES, text)
    }
}

#[cfg(test)]
mod tests {
    use super::super::quant::QUANTS;
    use super::*;

    fn check(shape: &str, expected: u64) {
        let shape: Shape = shape.parse().unwrap();
        assert_eq!(shape.tensors().iter().map(Planned::parameters).sum::<u64>(), expected, "{shape}");
    }

    #[test]
    fn parameters_are_those_of_the_published_models() {
        check("lfm2-24b-a2b", 23_843_661_440);
        check("lfm2-8b-a1b", 8_339_930_560);
        check("LFM2-1.2B", 1_170_340_608);
    }

    #[test]
    fn every_row_is_made_of_whole_blocks() {
        for (shape, _) in NAMES {
            for tensor in shape.tensors() {
                for (quant, _) in QUANTS {
                    assert!(tensor.shape[0].is_multiple_of(tensor.kind(quant).block), "{shape} {}", tensor.name);
                }
            }
        }
    }

    #[test]
    fn matrices_are_ternary_where_their_rows_allow_it() {
        let stored = |shape: Shape| -> std::collections::BTreeSet<&str> {
            shape.tensors().iter().map(|tensor| tensor.kind(Quant::Tq2_0).name).collect()
        };
        assert_eq!(stored(Shape::TinyBitnet), ["F32", "TQ2_0"].into());
        assert_eq!(stored(Shape::TinyLfm2), ["F32", "Q4_0", "TQ2_0"].into());
    }
}
