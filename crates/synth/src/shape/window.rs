//! The shapes of models with sliding windows: Gemma 4 and gpt-oss.

use super::blueprint::{Blueprint, Fill};

#[derive(Clone, Copy)]
pub(super) struct Gemma {
    pub layers: u32,
    /// One in this many layers attends to the whole context.
    pub every: u32,
    /// Number of final layers that use the keys and values of earlier ones.
    pub shared: u32,
    pub window: u64,
    pub hidden: u64,
    pub inner: u64,
    pub heads: u64,
    /// Key/value heads and head length of layers with a window, and of the other layers.
    pub kv_heads: (u64, u64),
    pub head: (u64, u64),
    /// Numbers per token that every layer gets from a table of its own; 0 if it has none.
    pub per_layer: u64,
}

/// Publicly known sizes, not compared with the maker's own files.
pub(super) const GEMMA4_E4B: Gemma = Gemma {
    layers: 42,
    every: 6,
    shared: 18,
    window: 512,
    hidden: 2560,
    inner: 10_240,
    heads: 8,
    kv_heads: (2, 2),
    head: (256, 512),
    per_layer: 256,
};
/// Its layers that attend to the whole context are inferred from those of the larger models.
pub(super) const GEMMA4_12B: Gemma = Gemma {
    layers: 48,
    shared: 0,
    window: 1024,
    hidden: 3840,
    inner: 15_360,
    heads: 16,
    kv_heads: (8, 1),
    per_layer: 0,
    ..GEMMA4_E4B
};
pub(super) const TINY_GEMMA4: Gemma = Gemma {
    layers: 6,
    every: 3,
    shared: 3,
    window: 128,
    hidden: 128,
    inner: 256,
    heads: 4,
    kv_heads: (2, 1),
    head: (32, 64),
    per_layer: 32,
};

impl Gemma {
    fn slides(&self, layer: u32) -> bool {
        !(layer + 1).is_multiple_of(self.every)
    }

    pub fn blueprint(&self, vocabulary: u64) -> Blueprint {
        let mut plan = Blueprint::new("gemma4", self.layers, 131_072, self.hidden);
        plan.heads(self.heads, self.head.1)
            .sizes(&[
                ("embedding_length_per_layer_input", self.per_layer),
                ("feed_forward_length", self.inner),
                ("attention.key_length_swa", self.head.0),
                ("attention.value_length_swa", self.head.0),
                ("attention.sliding_window", self.window),
                ("attention.shared_kv_layers", self.shared.into()),
                ("rope.dimension_count", self.head.1),
                ("rope.dimension_count_swa", self.head.0),
            ])
            .by_layer("attention.head_count_kv", self.layers, |layer| {
                if self.slides(layer) { self.kv_heads.0 } else { self.kv_heads.1 }
            })
            .by_layer("attention.sliding_window_pattern", self.layers, |layer| self.slides(layer).into())
            .float("attention.layer_norm_rms_epsilon", 1e-6)
            .float("rope.freq_base", 1e6)
            .float("rope.freq_base_swa", 1e4)
            .float("final_logit_softcapping", 30.0);
        plan.ends(self.hidden, vocabulary, true);
        plan.tensor("rope_freqs.weight", &[self.head.1 / 2], Fill::Ones);
        let all = self.per_layer * u64::from(self.layers);
        if all > 0 {
            plan.tensor("per_layer_token_embd.weight", &[all, vocabulary], Fill::Quantised);
            plan.tensor("per_layer_model_proj.weight", &[self.hidden, all], Fill::Quantised);
            plan.tensor("per_layer_proj_norm.weight", &[self.per_layer], Fill::Ones);
        }
        (0..self.layers).for_each(|layer| self.layer(&mut plan, layer));
        plan
    }

    fn layer(&self, plan: &mut Blueprint, layer: u32) {
        let (hidden, slides) = (self.hidden, self.slides(layer));
        let (head, kv_heads) = if slides { (self.head.0, self.kv_heads.0) } else { (self.head.1, self.kv_heads.1) };
        let mut block = plan.block(layer);
        block.norm("attn_norm", hidden);
        block.matrix("attn_q", hidden, self.heads * head);
        block.norm("attn_q_norm", head);
        if layer < self.layers - self.shared {
            block.matrix("attn_k", hidden, kv_heads * head);
            // Without a separate matrix, the values equal the keys.
            if slides || self.per_layer > 0 {
                block.matrix("attn_v", hidden, kv_heads * head);
            }
            block.norm("attn_k_norm", head);
        }
        block.matrix("attn_output", self.heads * head, hidden);
        block.norm("post_attention_norm", hidden);
        block.norm("ffn_norm", hidden);
        block.feed_forward("", hidden, self.inner);
        block.norm("post_ffw_norm", hidden);
        block.add("layer_output_scale.weight", &[1], Fill::Ones);
        if self.per_layer > 0 {
            block.matrix("inp_gate", hidden, self.per_layer);
            block.matrix("proj", self.per_layer, hidden);
            block.norm("post_norm", hidden);
        }
    }
}

#[derive(Clone, Copy)]
pub(super) struct GptOss {
    pub layers: u32,
    pub window: u64,
    pub hidden: u64,
    pub heads: u64,
    pub kv_heads: u64,
    pub head: u64,
    pub inner: u64,
    pub experts: u64,
    pub experts_used: u64,
}

/// Publicly known sizes, not compared with the maker's own files.
pub(super) const GPT_OSS_20B: GptOss = GptOss {
    layers: 24,
    window: 128,
    hidden: 2880,
    heads: 64,
    kv_heads: 8,
    head: 64,
    inner: 2880,
    experts: 32,
    experts_used: 4,
};
pub(super) const TINY_GPT_OSS: GptOss = GptOss {
    layers: 4,
    hidden: 128,
    heads: 4,
    kv_heads: 2,
    head: 32,
    inner: 128,
    experts: 8,
    experts_used: 2,
    ..GPT_OSS_20B
};

impl GptOss {
    pub fn blueprint(&self, vocabulary: u64) -> Blueprint {
        let mut plan = Blueprint::new("gpt-oss", self.layers, 131_072, self.hidden);
        plan.heads(self.heads, self.head)
            .experts(self.experts, self.experts_used, self.inner)
            .sizes(&[
                ("feed_forward_length", self.inner),
                ("attention.head_count_kv", self.kv_heads),
                ("attention.sliding_window", self.window),
                ("rope.dimension_count", self.head),
            ])
            .float("attention.layer_norm_rms_epsilon", 1e-5)
            .float("rope.freq_base", 150_000.0);
        plan.ends(self.hidden, vocabulary, false);
        (0..self.layers).for_each(|layer| self.layer(&mut plan, layer));
        plan
    }

    fn layer(&self, plan: &mut Blueprint, layer: u32) {
        let hidden = self.hidden;
        let (queries, keys) = (self.heads * self.head, self.kv_heads * self.head);
        let mut block = plan.block(layer);
        block.norm("attn_norm", hidden);
        block.norm("post_attention_norm", hidden);
        for (name, columns, rows) in [
            ("attn_q", hidden, queries),
            ("attn_k", hidden, keys),
            ("attn_v", hidden, keys),
            ("attn_output", queries, hidden),
        ] {
            block.matrix(name, columns, rows);
            block.add(&format!("{name}.bias"), &[rows], Fill::Zeros);
        }
        block.add("attn_sinks.weight", &[self.heads], Fill::Zeros);
        block.experts(hidden, self.inner, self.experts);
        block.add("ffn_gate_inp.bias", &[self.experts], Fill::Zeros);
        for (name, rows) in [("ffn_gate_exps", self.inner), ("ffn_up_exps", self.inner), ("ffn_down_exps", hidden)] {
            block.add(&format!("{name}.bias"), &[rows, self.experts], Fill::Zeros);
        }
    }
}
