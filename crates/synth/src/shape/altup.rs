//! The shapes of Gemma 3n: several hidden vectors per token that are updated in turn (AltUp), and sliding windows.

use super::blueprint::{Blueprint, Fill};

#[derive(Clone, Copy)]
pub(super) struct Gemma3n {
    pub layers: u32,
    pub window: u64,
    pub hidden: u64,
    pub inner: u64,
    pub heads: u64,
    pub kv_heads: u64,
    pub head: u64,
}

/// Publicly known sizes, not compared with the maker's own files.
pub(super) const E4B: Gemma3n =
    Gemma3n { layers: 35, window: 512, hidden: 2048, inner: 16_384, heads: 8, kv_heads: 2, head: 256 };
/// The last two layers use the keys and values of earlier ones.
pub(super) const TINY: Gemma3n =
    Gemma3n { layers: 22, window: 128, hidden: 128, inner: 256, heads: 4, kv_heads: 2, head: 32 };

/// One in this many layers attends to the whole context.
const EVERY: u32 = 5;
/// Sizes that llama.cpp sets without the header (`llama-hparams.h`): hidden vectors per token,
/// numbers per token that every layer gets from a table of its own, and the inner size of the
/// low-rank residual (LAuReL).
const VECTORS: u64 = 4;
const PER_LAYER: u64 = 256;
const LAUREL: u64 = 64;

impl Gemma3n {
    pub fn blueprint(&self, vocabulary: u64) -> Blueprint {
        let hidden = self.hidden;
        let mut plan = Blueprint::new("gemma3n", self.layers, 32_768, hidden);
        plan.heads(self.heads, self.head)
            .sizes(&[
                ("feed_forward_length", self.inner),
                ("attention.head_count_kv", self.kv_heads),
                ("attention.sliding_window", self.window),
                ("rope.dimension_count", self.head),
            ])
            .by_layer("attention.sliding_window_pattern", self.layers, |layer| {
                (!(layer + 1).is_multiple_of(EVERY)).into()
            })
            .float("attention.layer_norm_rms_epsilon", 1e-6)
            .float("rope.freq_base", 1e6)
            .float("rope.freq_base_swa", 1e4);
        plan.ends(hidden, vocabulary, true);
        for name in ["altup_proj.weight", "altup_unembd_proj.weight"] {
            plan.tensor(name, &[hidden, hidden, VECTORS - 1], Fill::Quantised);
        }
        let all = PER_LAYER * u64::from(self.layers);
        plan.tensor("per_layer_token_embd.weight", &[all, vocabulary], Fill::Quantised);
        plan.tensor("per_layer_model_proj.weight", &[hidden, all], Fill::Quantised);
        plan.tensor("per_layer_proj_norm.weight", &[PER_LAYER], Fill::Ones);
        (0..self.layers).for_each(|layer| self.layer(&mut plan, layer));
        plan
    }

    fn layer(&self, plan: &mut Blueprint, layer: u32) {
        let hidden = self.hidden;
        let mut block = plan.block(layer);
        for norm in ["attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm", "post_norm", "laurel_post_norm"] {
            block.norm(norm, hidden);
        }
        block.attention(hidden, self.heads * self.head, self.kv_heads * self.head);
        block.norm("attn_q_norm", self.head);
        block.norm("attn_k_norm", self.head);
        block.feed_forward("", hidden, self.inner);
        block.matrix("inp_gate", hidden, PER_LAYER);
        block.matrix("proj", PER_LAYER, hidden);
        block.matrix("laurel_l", hidden, LAUREL);
        block.matrix("laurel_r", LAUREL, hidden);
        block.norm("altup_router_norm", hidden);
        block.norm("altup_correct_scale", hidden);
        block.add("altup_router.weight", &[hidden, VECTORS], Fill::Uniform);
        block.add("altup_correct_coef.weight", &[VECTORS, VECTORS], Fill::Uniform);
        block.add("altup_predict_coef.weight", &[VECTORS, VECTORS * VECTORS], Fill::Uniform);
    }
}
