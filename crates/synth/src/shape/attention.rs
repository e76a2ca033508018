//! The shapes of models with attention in all layers: Ministral 3, and GLM-4.7-Flash and Mistral 4 with latent
//! attention.

use super::blueprint::{Blueprint, Fill, GATING_SIGMOID};

#[derive(Clone, Copy)]
pub(super) struct Mistral {
    pub layers: u32,
    pub hidden: u64,
    pub inner: u64,
    pub heads: u64,
    pub kv_heads: u64,
    pub head: u64,
}

/// Publicly known sizes, not compared with the maker's own files.
pub(super) const MINISTRAL_8B: Mistral =
    Mistral { layers: 34, hidden: 4096, inner: 14_336, heads: 32, kv_heads: 8, head: 128 };
pub(super) const TINY_MISTRAL: Mistral =
    Mistral { layers: 4, hidden: 128, inner: 256, heads: 4, kv_heads: 2, head: 32 };

impl Mistral {
    pub fn blueprint(&self, vocabulary: u64) -> Blueprint {
        let mut plan = Blueprint::new("mistral3", self.layers, 262_144, self.hidden);
        plan.heads(self.heads, self.head)
            .sizes(&[
                ("feed_forward_length", self.inner),
                ("attention.head_count_kv", self.kv_heads),
                ("rope.dimension_count", self.head),
            ])
            .float("attention.layer_norm_rms_epsilon", 1e-5)
            .float("rope.freq_base", 1e6);
        plan.ends(self.hidden, vocabulary, false);
        let hidden = self.hidden;
        for layer in 0..self.layers {
            let mut block = plan.block(layer);
            block.norm("attn_norm", hidden);
            block.attention(hidden, self.heads * self.head, self.kv_heads * self.head);
            block.norm("ffn_norm", hidden);
            block.feed_forward("", hidden, self.inner);
        }
        plan
    }
}

#[derive(Clone, Copy)]
pub(super) struct Latent {
    pub architecture: &'static str,
    pub layers: u32,
    pub hidden: u64,
    pub heads: u64,
    /// Length of the latent vectors of queries, and of keys and values.
    pub query: u64,
    pub latent: u64,
    /// Per head: rotated numbers, other numbers, and numbers of its values.
    pub rotated: u64,
    pub plain: u64,
    pub value: u64,
    pub dense: u64,
    pub inner: u64,
    pub experts: u64,
    pub experts_used: u64,
}

/// Publicly known sizes, not compared with the maker's own files.
pub(super) const GLM_FLASH: Latent = Latent {
    architecture: "deepseek2",
    layers: 47,
    hidden: 2048,
    heads: 20,
    query: 768,
    latent: 512,
    rotated: 64,
    plain: 192,
    value: 256,
    dense: 10_240,
    inner: 1536,
    experts: 64,
    experts_used: 4,
};
pub(super) const TINY_GLM: Latent = Latent {
    architecture: "deepseek2",
    layers: 4,
    hidden: 128,
    heads: 4,
    query: 64,
    latent: 64,
    rotated: 32,
    plain: 32,
    value: 32,
    dense: 256,
    inner: 64,
    experts: 8,
    experts_used: 2,
};

/// llama.cpp reads Mistral 4 in the same way as DeepSeek 2 (`models.h`).
pub(super) const TINY_MISTRAL4: Latent = Latent { architecture: "mistral4", ..TINY_GLM };

/// Number of initial layers without experts.
const LEADING_DENSE: u32 = 1;

impl Latent {
    pub fn blueprint(&self, vocabulary: u64) -> Blueprint {
        let mut plan = Blueprint::new(self.architecture, self.layers, 202_752, self.hidden);
        plan.experts(self.experts, self.experts_used, self.inner)
            .sizes(&[
                ("feed_forward_length", self.dense),
                ("attention.head_count", self.heads),
                // A token's key and value are a single latent vector.
                ("attention.head_count_kv", 1),
                ("attention.key_length", self.latent + self.rotated),
                ("attention.value_length", self.latent),
                ("attention.key_length_mla", self.plain + self.rotated),
                ("attention.value_length_mla", self.value),
                ("attention.q_lora_rank", self.query),
                ("attention.kv_lora_rank", self.latent),
                ("rope.dimension_count", self.rotated),
                ("leading_dense_block_count", LEADING_DENSE.into()),
                ("expert_shared_count", 1),
                ("expert_gating_func", GATING_SIGMOID),
            ])
            .flag("expert_weights_norm", true)
            .float("expert_weights_scale", 1.8)
            .float("attention.layer_norm_rms_epsilon", 1e-5)
            .float("rope.freq_base", 1e6);
        plan.ends(self.hidden, vocabulary, false);
        (0..self.layers).for_each(|layer| self.layer(&mut plan, layer));
        plan
    }

    fn layer(&self, plan: &mut Blueprint, layer: u32) {
        let hidden = self.hidden;
        let mut block = plan.block(layer);
        block.norm("attn_norm", hidden);
        block.norm("attn_q_a_norm", self.query);
        block.norm("attn_kv_a_norm", self.latent);
        block.matrix("attn_q_a", hidden, self.query);
        block.matrix("attn_q_b", self.query, self.heads * (self.plain + self.rotated));
        block.matrix("attn_kv_a_mqa", hidden, self.latent + self.rotated);
        block.add("attn_k_b.weight", &[self.plain, self.latent, self.heads], Fill::Quantised);
        block.add("attn_v_b.weight", &[self.latent, self.value, self.heads], Fill::Quantised);
        block.matrix("attn_output", self.heads * self.value, hidden);
        block.norm("ffn_norm", hidden);
        if layer < LEADING_DENSE {
            block.feed_forward("", hidden, self.dense);
        } else {
            block.experts(hidden, self.inner, self.experts);
            block.add("exp_probs_b.bias", &[self.experts], Fill::Zeros);
            block.feed_forward("_shexp", hidden, self.inner);
        }
    }
}
