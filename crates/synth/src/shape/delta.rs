//! The shapes of Qwen3-Next, Qwen3.5 and Qwen3.6: gated delta nets, and attention in every fourth layer.

use super::blueprint::{Blueprint, Fill};

#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub architecture: &'static str,
    pub layers: u32,
    /// Whether an additional block predicts a further token (MTP).
    pub predicts: bool,
    pub hidden: u64,
    pub heads: u64,
    pub kv_heads: u64,
    pub head: u64,
    /// Rotated numbers per head, and their division into four sections of pairs.
    pub rotated: u64,
    pub sections: [i32; 4],
    /// Key and value heads of the delta nets, and the length of both.
    pub delta_keys: u64,
    pub delta_values: u64,
    pub delta_head: u64,
    /// Inner size of the feed-forward blocks, or of one expert.
    pub inner: u64,
    /// 0 for a dense model.
    pub experts: u64,
    pub experts_used: u64,
    /// Whether the token table is also the output matrix.
    pub is_tied: bool,
}

/// Columns of the convolution.
const CONV: u64 = 4;
/// One in this many layers has attention.
const INTERVAL: u32 = 4;

/// Publicly known sizes, not compared with the maker's own files.
pub(super) const QWEN35_4B: Sizes = Sizes {
    architecture: "qwen35",
    layers: 32,
    predicts: false,
    hidden: 2560,
    heads: 16,
    kv_heads: 4,
    head: 256,
    rotated: 64,
    sections: [11, 11, 10, 0],
    delta_keys: 16,
    delta_values: 32,
    delta_head: 128,
    inner: 9216,
    experts: 0,
    experts_used: 0,
    is_tied: true,
};
pub(super) const QWEN36_35B: Sizes = Sizes {
    architecture: "qwen35moe",
    layers: 40,
    hidden: 2048,
    kv_heads: 2,
    inner: 512,
    experts: 256,
    experts_used: 8,
    is_tied: false,
    ..QWEN35_4B
};
pub(super) const TINY: Sizes = Sizes {
    layers: 8,
    predicts: true,
    hidden: 128,
    heads: 4,
    kv_heads: 2,
    head: 64,
    rotated: 32,
    sections: [6, 5, 5, 0],
    delta_keys: 2,
    delta_values: 4,
    delta_head: 32,
    inner: 256,
    ..QWEN35_4B
};
pub(super) const TINY_MOE: Sizes = Sizes {
    architecture: "qwen35moe",
    predicts: false,
    inner: 64,
    experts: 8,
    experts_used: 2,
    is_tied: false,
    ..TINY
};
pub(super) const QWEN3_NEXT_80B: Sizes =
    Sizes { architecture: NEXT, layers: 48, experts: 512, experts_used: 10, ..QWEN36_35B };
pub(super) const TINY_NEXT: Sizes = Sizes { architecture: NEXT, ..TINY_MOE };

const NEXT: &str = "qwen3next";

impl Sizes {
    fn keys(&self) -> u64 {
        self.delta_keys * self.delta_head
    }

    fn values(&self) -> u64 {
        self.delta_values * self.delta_head
    }

    pub fn blueprint(&self, vocabulary: u64) -> Blueprint {
        let blocks = self.layers + u32::from(self.predicts);
        let mut plan = Blueprint::new(self.architecture, blocks, 262_144, self.hidden);
        plan.heads(self.heads, self.head)
            .sizes(&[
                ("attention.head_count_kv", self.kv_heads),
                ("rope.dimension_count", self.rotated),
                ("ssm.conv_kernel", CONV),
                ("ssm.inner_size", self.values()),
                ("ssm.state_size", self.delta_head),
                ("ssm.time_step_rank", self.delta_values),
                ("ssm.group_count", self.delta_keys),
                ("full_attention_interval", INTERVAL.into()),
            ])
            .float("attention.layer_norm_rms_epsilon", 1e-6)
            .float("rope.freq_base", 1e7);
        if self.architecture != NEXT {
            plan.numbers("rope.dimension_sections", &self.sections);
        }
        if self.experts > 0 {
            plan.experts(self.experts, self.experts_used, self.inner)
                .number("expert_shared_feed_forward_length", self.inner);
        } else {
            plan.number("feed_forward_length", self.inner);
        }
        if self.predicts {
            plan.number("nextn_predict_layers", 1);
        }
        plan.ends(self.hidden, vocabulary, self.is_tied);
        (0..blocks).for_each(|layer| self.layer(&mut plan, layer));
        plan
    }

    fn layer(&self, plan: &mut Blueprint, layer: u32) {
        let (hidden, predicts) = (self.hidden, layer >= self.layers);
        let mut block = plan.block(layer);
        block.norm("attn_norm", hidden);
        block.norm("post_attention_norm", hidden);
        if predicts || (layer + 1).is_multiple_of(INTERVAL) {
            // Each query head has a gate of the same length.
            block.matrix("attn_q", hidden, 2 * self.heads * self.head);
            block.matrix("attn_k", hidden, self.kv_heads * self.head);
            block.matrix("attn_v", hidden, self.kv_heads * self.head);
            block.matrix("attn_output", self.heads * self.head, hidden);
            block.norm("attn_q_norm", self.head);
            block.norm("attn_k_norm", self.head);
        } else {
            let channels = 2 * self.keys() + self.values();
            block.matrix("attn_qkv", hidden, channels);
            block.matrix("attn_gate", hidden, self.values());
            block.add("ssm_conv1d.weight", &[CONV, channels], Fill::Uniform);
            block.add("ssm_dt.bias", &[self.delta_values], Fill::Zeros);
            block.add("ssm_a", &[self.delta_values], Fill::Decays);
            if self.architecture == NEXT {
                block.matrix("ssm_ba", hidden, 2 * self.delta_values);
            } else {
                block.matrix("ssm_beta", hidden, self.delta_values);
                block.matrix("ssm_alpha", hidden, self.delta_values);
            }
            block.norm("ssm_norm", self.delta_head);
            block.matrix("ssm_out", self.values(), hidden);
        }
        if self.experts > 0 {
            block.experts(hidden, self.inner, self.experts);
            block.add("ffn_gate_inp_shexp.weight", &[hidden], Fill::Uniform);
            block.feed_forward("_shexp", hidden, self.inner);
        } else {
            block.feed_forward("", hidden, self.inner);
        }
        if predicts {
            block.matrix("nextn.eh_proj", 2 * hidden, hidden);
            block.norm("nextn.enorm", hidden);
            block.norm("nextn.hnorm", hidden);
            block.norm("nextn.shared_head_norm", hidden);
        }
    }
}
