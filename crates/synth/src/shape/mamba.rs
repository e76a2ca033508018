//! The shapes of models with Mamba-2 layers: Granite 4 H, Nemotron 3 and Falcon-H1.

use super::blueprint::{Block, Blueprint, Fill};

#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub architecture: &'static str,
    /// One letter per layer: `M` Mamba, `*` attention, `E` experts only; `B` Mamba alongside
    /// attention.
    pub layers: &'static str,
    pub hidden: u64,
    pub heads: u64,
    pub kv_heads: u64,
    pub head: u64,
    /// Mamba heads, their length, groups of heads, and columns of the state.
    pub ssm_heads: u64,
    pub ssm_head: u64,
    pub groups: u64,
    pub state: u64,
    /// Inner size of the feed-forward block, or of one expert.
    pub inner: u64,
    /// 0 for a dense model.
    pub experts: u64,
    pub experts_used: u64,
    /// Inner size of the expert that every token uses.
    pub shared: u64,
    pub is_tied: bool,
}

/// Columns of the convolution.
const CONV: u64 = 4;

/// Publicly known sizes, not compared with the maker's own files.
pub(super) const GRANITE_H_TINY: Sizes = Sizes {
    architecture: "granitehybrid",
    layers: "MMMMM*MMMMMMMMM*MMMMMMMMM*MMMMMMMMM*MMMM",
    hidden: 1536,
    heads: 12,
    kv_heads: 4,
    head: 128,
    ssm_heads: 48,
    ssm_head: 64,
    groups: 1,
    state: 128,
    inner: 512,
    experts: 64,
    experts_used: 6,
    shared: 1024,
    is_tied: true,
};
pub(super) const NEMOTRON_NANO: Sizes = Sizes {
    architecture: "nemotron_h_moe",
    layers: "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME",
    hidden: 2688,
    heads: 32,
    kv_heads: 2,
    ssm_heads: 64,
    groups: 8,
    inner: 1856,
    experts: 128,
    shared: 3712,
    is_tied: false,
    ..GRANITE_H_TINY
};
pub(super) const TINY_GRANITE: Sizes = Sizes {
    layers: "MM*M",
    hidden: 128,
    heads: 4,
    kv_heads: 2,
    head: 32,
    ssm_heads: 8,
    ssm_head: 32,
    state: 32,
    inner: 64,
    experts: 8,
    experts_used: 2,
    shared: 64,
    ..GRANITE_H_TINY
};
pub(super) const TINY_NEMOTRON: Sizes =
    Sizes { architecture: "nemotron_h_moe", layers: "ME*EME", groups: 2, is_tied: false, ..TINY_GRANITE };
pub(super) const TINY_FALCON: Sizes =
    Sizes { architecture: "falcon-h1", layers: "BBBB", inner: 256, experts: 0, experts_used: 0, ..TINY_GRANITE };

impl Sizes {
    fn count(&self) -> u32 {
        self.layers.len() as u32
    }

    fn kind(&self, layer: u32) -> char {
        self.layers.as_bytes().get(layer as usize).map_or('M', |&letter| letter.into())
    }

    fn is_nemotron(&self) -> bool {
        self.architecture == "nemotron_h_moe"
    }

    fn width(&self) -> u64 {
        self.ssm_heads * self.ssm_head
    }

    pub fn blueprint(&self, vocabulary: u64) -> Blueprint {
        let mut plan = Blueprint::new(self.architecture, self.count(), 131_072, self.hidden);
        plan.heads(self.heads, self.head)
            .sizes(&[
                ("rope.dimension_count", self.head),
                ("ssm.conv_kernel", CONV),
                ("ssm.inner_size", self.width()),
                ("ssm.state_size", self.state),
                ("ssm.time_step_rank", self.ssm_heads),
                ("ssm.group_count", self.groups),
            ])
            .by_layer("attention.head_count_kv", self.count(), |layer| {
                if "*B".contains(self.kind(layer)) { self.kv_heads } else { 0 }
            })
            .float("attention.layer_norm_rms_epsilon", 1e-5)
            .float("attention.layer_norm_epsilon", 1e-5);
        if self.is_nemotron() {
            plan.by_layer(
                "feed_forward_length",
                self.count(),
                |layer| {
                    if self.kind(layer) == 'E' { self.inner } else { 0 }
                },
            )
            .number("expert_feed_forward_length", self.inner)
            .number("expert_shared_count", 1)
            .flag("expert_weights_norm", true)
            .float("expert_weights_scale", 2.5);
        } else {
            plan.number("feed_forward_length", self.inner);
        }
        if self.architecture == "granitehybrid" {
            plan.float("embedding_scale", 12.0)
                .float("residual_scale", 0.22)
                .float("logit_scale", 6.0)
                .float("attention.scale", 1.0 / 128.0)
                .flag("rope.scaling.finetuned", false);
        }
        if self.experts > 0 {
            plan.sizes(&[
                ("expert_count", self.experts),
                ("expert_used_count", self.experts_used),
                ("expert_shared_feed_forward_length", self.shared),
            ]);
        }
        plan.ends(self.hidden, vocabulary, self.is_tied);
        (0..self.count()).for_each(|layer| self.layer(&mut plan, layer));
        plan
    }

    fn layer(&self, plan: &mut Blueprint, layer: u32) {
        let (kind, hidden) = (self.kind(layer), self.hidden);
        let mut block = plan.block(layer);
        block.norm("attn_norm", hidden);
        if "MB".contains(kind) {
            self.mamba(&mut block);
        }
        if "*B".contains(kind) {
            block.attention(hidden, self.heads * self.head, self.kv_heads * self.head);
        }
        match self.architecture {
            "nemotron_h_moe" if kind == 'E' => {
                // Experts without gates.
                block.add("ffn_gate_inp.weight", &[hidden, self.experts], Fill::Uniform);
                block.add("exp_probs_b.bias", &[self.experts], Fill::Zeros);
                block.add("ffn_up_exps.weight", &[hidden, self.inner, self.experts], Fill::Quantised);
                block.add("ffn_down_exps.weight", &[self.inner, hidden, self.experts], Fill::Quantised);
                block.matrix("ffn_up_shexp", hidden, self.shared);
                block.matrix("ffn_down_shexp", self.shared, hidden);
            }
            "granitehybrid" => {
                block.norm("ffn_norm", hidden);
                block.experts(hidden, self.inner, self.experts);
                block.feed_forward("_shexp", hidden, self.shared);
            }
            "falcon-h1" => {
                // llama.cpp expects this norm without the usual suffix.
                block.add("ffn_norm", &[hidden], Fill::Ones);
                block.feed_forward("", hidden, self.inner);
            }
            _ => {}
        }
    }

    fn mamba(&self, block: &mut Block<'_>) {
        let (width, channels) = (self.width(), self.width() + 2 * self.groups * self.state);
        block.matrix("ssm_in", self.hidden, width + channels + self.ssm_heads);
        block.add("ssm_conv1d.weight", &[CONV, channels], Fill::Uniform);
        block.add("ssm_conv1d.bias", &[channels], Fill::Zeros);
        block.add("ssm_dt.bias", &[self.ssm_heads], Fill::Zeros);
        block.add("ssm_a", &[1, self.ssm_heads], Fill::Decays);
        block.add("ssm_d", &[1, self.ssm_heads], Fill::Ones);
        block.add("ssm_norm.weight", &[width / self.groups, self.groups], Fill::Ones);
        block.matrix("ssm_out", width, self.hidden);
    }
}
