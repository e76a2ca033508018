//! The shapes of LFM2, alternating short convolutions and attention, and of BitNet b1.58.

use super::blueprint::{Blueprint, Fill, GATING_SIGMOID};

#[derive(Clone, Copy)]
pub(super) struct Sizes {
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
    /// Number of initial layers that are dense although the model has experts.
    pub leading_dense: u32,
}

/// Width of the short convolution (`shortconv.l_cache`).
const CONV_WIDTH: u64 = 3;

/// The published hyper-parameters (ollama convert_lfm2.go, llama.cpp lfm2.cpp and lfm2moe.cpp, the
/// vendor's cards). Which layers of the 24B and the 2.6B have attention is not published; it is
/// inferred from their number.
pub(super) const LFM2_24B: Sizes = Sizes {
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
pub(super) const LFM2_8B: Sizes =
    Sizes { layers: 24, attention: &[2, 6, 10, 14, 18, 21], dense_ff: 7168, experts: 32, expert_ff: 1792, ..LFM2_24B };
const DENSE: Sizes =
    Sizes { architecture: "lfm2", experts: 0, experts_used: 0, expert_ff: 0, leading_dense: 0, ..LFM2_24B };
pub(super) const LFM2_2_6B: Sizes =
    Sizes { layers: 30, attention: &[2, 6, 9, 13, 16, 20, 24, 27], dense_ff: 10_752, ..DENSE };
pub(super) const LFM2_1_2B: Sizes = Sizes { layers: 16, attention: &[2, 5, 8, 10, 12, 14], dense_ff: 8192, ..DENSE };
pub(super) const TINY: Sizes =
    Sizes { layers: 4, attention: &[1, 3], hidden: 128, heads: 4, kv_heads: 2, dense_ff: 256, ..DENSE };
pub(super) const TINY_MOE: Sizes =
    Sizes { architecture: "lfm2moe", experts: 8, experts_used: 2, expert_ff: 64, leading_dense: 1, ..TINY };
pub(super) const TINY_BITNET: Sizes =
    Sizes { architecture: "bitnet", attention: &[0, 1, 2, 3], hidden: 256, dense_ff: 512, ..TINY };

impl Sizes {
    fn is_bitnet(&self) -> bool {
        self.architecture == "bitnet"
    }

    fn head_length(&self) -> u64 {
        self.hidden / u64::from(self.heads)
    }

    fn has_attention(&self, layer: u32) -> bool {
        self.attention.contains(&layer)
    }

    pub fn blueprint(&self, vocabulary: u64) -> Blueprint {
        let mut plan = Blueprint::new(self.architecture, self.layers, 32_768, self.hidden);
        plan.sizes(&[("feed_forward_length", self.dense_ff), ("attention.head_count", self.heads.into())])
            .by_layer("attention.head_count_kv", self.layers, |layer| {
                if self.has_attention(layer) { self.kv_heads.into() } else { 0 }
            })
            .float("attention.layer_norm_rms_epsilon", 1e-5)
            .float("rope.freq_base", 1e6);
        if self.is_bitnet() {
            plan.number("rope.dimension_count", self.head_length());
        } else {
            plan.number("shortconv.l_cache", CONV_WIDTH);
        }
        if self.experts > 0 {
            plan.experts(self.experts, self.experts_used.into(), self.expert_ff).sizes(&[
                ("leading_dense_block_count", self.leading_dense.into()),
                ("expert_gating_func", GATING_SIGMOID),
            ]);
        }
        plan.tensor("token_embd.weight", &[self.hidden, vocabulary], Fill::Quantised);
        // LFM2 files call the norm before the output "token_embd_norm".
        let last_norm = if self.is_bitnet() { "output_norm.weight" } else { "token_embd_norm.weight" };
        plan.tensor(last_norm, &[self.hidden], Fill::Ones);
        (0..self.layers).for_each(|layer| self.layer(&mut plan, layer));
        plan
    }

    fn layer(&self, plan: &mut Blueprint, layer: u32) {
        let (hidden, head) = (self.hidden, self.head_length());
        let kv = u64::from(self.kv_heads) * head;
        let mut block = plan.block(layer);
        block.norm("attn_norm", hidden);
        block.norm("ffn_norm", hidden);
        if self.has_attention(layer) {
            block.attention(hidden, hidden, kv);
            if self.is_bitnet() {
                block.norm("attn_sub_norm", hidden);
                block.norm("ffn_sub_norm", self.dense_ff);
            } else {
                block.norm("attn_q_norm", head);
                block.norm("attn_k_norm", head);
            }
        } else {
            block.add("shortconv.conv.weight", &[CONV_WIDTH, hidden], Fill::Uniform);
            block.matrix("shortconv.in_proj", hidden, 3 * hidden);
            block.matrix("shortconv.out_proj", hidden, hidden);
        }
        if self.experts > 0 && layer >= self.leading_dense {
            block.experts(hidden, self.expert_ff, self.experts);
            block.add("exp_probs_b.bias", &[self.experts], Fill::Zeros);
        } else {
            block.feed_forward("", hidden, self.dense_ff);
        }
    }
}
