//! Estimates the memory that a model will take, from its header, before anything is loaded.

use std::fmt;

use super::{cache, repack};
use crate::base::Bytes;
use crate::base::config::FlashAttention;
use crate::models::gguf::Header;

/// Settings with which a model is to be loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadSettings {
    /// Context window in tokens per slot.
    pub context: u32,
    pub slots: usize,
    /// Type of the KV cache, for example `q8_0`.
    pub kv_type: String,
    pub flash: FlashAttention,
    /// Most tokens computed in one call (`n_ubatch`).
    pub rows: u32,
    /// Most rows of a call with logits (`n_outputs_max`).
    pub outputs: u32,
    /// Whether matrices are copied into the layout that is fastest on the CPU (`use_extra_bufts`).
    pub repack: bool,
    /// Most checkpoints per slot, for models whose sequences cannot be truncated.
    pub marks: u32,
    /// Number of first layers on the host if there is an accelerator; `layers + 1` is all of them with the output matrix.
    pub layers_on_host: u32,
    /// Number of first layers whose experts are on the host.
    pub experts_on_host: u32,
}

/// Memory of one loaded model, by purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Tensors used as they are in the file.
    pub weights: Bytes,
    /// Tensors that the CPU code copies into another layout.
    pub repacked: Bytes,
    /// KV cache of all slots.
    pub kv: Bytes,
    /// Recurrent and convolution state of all slots.
    pub state: Bytes,
    /// Working memory of the compute graph for one batch.
    pub compute: Bytes,
    /// Logits, one row per slot.
    pub output: Bytes,
    /// Checkpoints of all slots.
    pub marks: Bytes,
    /// Vocabulary, graphs and metadata of cells.
    pub host: Bytes,
}

/// Memory of the program without models: 19 MiB of mapped code and libraries, and 3 MiB of threads and tables (measured on
/// Linux).
pub const PROCESS: Bytes = Bytes::mib(22);

impl Estimate {
    /// From the header alone.
    pub fn of(header: &Header, wanted: &LoadSettings) -> Estimate {
        let (repacked, weights) = repack::split(header, wanted.repack);
        Estimate {
            weights,
            repacked,
            kv: cache::kv(header, wanted),
            state: cache::state(header) * wanted.slots as u64,
            compute: compute(header, wanted),
            output: Bytes(4) * u64::from(header.vocabulary) * wanted.slots as u64,
            marks: cache::marks(header, wanted),
            host: vocabulary(header) + graphs(header) + cache::cells(header, wanted),
        }
    }

    pub fn total(&self) -> Bytes {
        self.parts().into_iter().map(|(_, bytes)| bytes).sum()
    }

    /// Memory of the weights, which several contexts of a file share.
    pub fn of_weights(&self) -> Bytes {
        self.weights + self.repacked
    }

    /// Memory of one context, without the weights.
    pub fn of_context(&self) -> Bytes {
        self.total().saturating_sub(self.of_weights())
    }

    pub fn parts(&self) -> [(&'static str, Bytes); 8] {
        [
            ("weights", self.weights),
            ("repacked weights", self.repacked),
            ("KV", self.kv),
            ("state", self.state),
            ("compute", self.compute),
            ("output", self.output),
            ("checkpoints", self.marks),
            ("host", self.host),
        ]
    }
}

/// `weights 98.0 MiB, KV 85.0 MiB, …`, without parts of zero bytes.
impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.parts().into_iter().filter(|(_, bytes)| *bytes > Bytes::ZERO);
        f.write_str(&parts.map(|(name, bytes)| format!("{name} {bytes}")).collect::<Vec<_>>().join(", "))
    }
}

/// Working memory of the graph: the tensors that exist at the same time. Per token of a batch, in f32, these are five hidden
/// vectors (a convolution's three inputs, its input and output) and the largest of: logits of the output rows, feed-forward
/// activations, or attention scores of every head if attention is computed in products (with a copy in f16). Then the
/// attention mask, in f16 or for products in f32, and a second one for a sliding window.
fn compute(header: &Header, wanted: &LoadSettings) -> Bytes {
    let rows = u64::from(wanted.rows);
    let experts = u64::from(header.expert_feed_forward) * u64::from(header.experts_used);
    let feed_forward = 3 * u64::from(header.feed_forward).max(experts);
    let logits = u64::from(header.vocabulary) * u64::from(wanted.outputs);
    let cells = cache::cells_of(wanted).max(1);
    let products = cache::is_read_in_products(&wanted.kv_type, wanted.flash);
    let scores = if products { u64::from(header.heads) * rows * cells } else { 0 };
    let values = 5 * u64::from(header.embedding_length) * rows + logits.max(feed_forward * rows).max(scores);
    let masked = rows * if products { 4 } else { 2 };
    let masks = 1 + u64::from(header.sliding_window.is_some());
    Bytes(4 * values + 2 * scores + masks * masked * cells)
}

/// Memory of the vocabulary in llama.cpp's maps and in our own list.
fn vocabulary(header: &Header) -> Bytes {
    TOKEN * u64::from(header.vocabulary) + MERGE * u64::from(header.merges)
}

/// Bytes per token and per merge, measured with SmolLM2 (49,152 tokens) and LFM2 (65,536), with 48,900 merges each, and Gemma
/// (262,144 tokens, no merges).
const TOKEN: Bytes = Bytes(275);
const MERGE: Bytes = Bytes(147);

/// Memory of three graphs of up to eight nodes per tensor, at least 1,024 (`graph_max_nodes`), with their tensor descriptions.
fn graphs(header: &Header) -> Bytes {
    NODE * (8 * header.tensors.len() as u64).max(1024) * 3
}

/// Bytes per node of a graph.
const NODE: Bytes = Bytes(450);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::example::{self, hybrid};

    /// The shape of LFM2-24B-A2B without tensors: forty layers, ten of them with attention.
    fn lfm2_24b() -> Header {
        Header { feed_forward: 11_776, expert_feed_forward: 1536, tensors: Vec::new(), ..hybrid(40, 2048, 64, "q4_0") }
    }

    fn wanted(context: u32, slots: usize, kv_type: &str) -> LoadSettings {
        LoadSettings { rows: 256, outputs: 256, ..example::wanted(context, slots, kv_type) }
    }

    #[test]
    fn keys_and_values_match_the_published_arithmetic() {
        let check = |context, slots, kv_type: &str, expected| {
            let kv = Estimate::of(&lfm2_24b(), &wanted(context, slots, kv_type)).kv;
            assert_eq!(kv, expected, "{context} {slots} {kv_type}");
        };
        check(1, 1, "f16", Bytes::kib(20 * 256));
        check(8192, 1, "f16", Bytes::mib(160));
        check(8192, 1, "q8_0", Bytes::mib(85));
        check(8192, 1, "q4_0", Bytes::mib(45));
        check(32768, 1, "q8_0", Bytes::mib(340));
        check(8192, 2, "q8_0", Bytes::mib(170));
    }

    #[test]
    fn convolution_layers_keep_two_columns_a_slot_and_as_many_a_checkpoint() {
        let of = |context| Estimate::of(&lfm2_24b(), &LoadSettings { marks: 32, ..wanted(context, 2, "f16") });
        for estimate in [of(1024), of(32_768)] {
            assert_eq!((estimate.state, estimate.marks), (Bytes::kib(2 * 480), Bytes::kib(2 * 32 * 480)));
        }
    }

    #[test]
    fn working_memory_is_what_llama_cpp_reserves() {
        let bytes = Estimate::of(&lfm2_24b(), &wanted(8192, 2, "q8_0")).compute.0 as f64 / f64::from(1 << 20);
        assert!((bytes / 78.04 - 1.0).abs() < 0.03, "{bytes} MiB, measured were 78.04");
    }

    #[test]
    #[cfg(not(any(feature = "cuda", feature = "metal", feature = "vulkan")))]
    fn scores_of_every_head_count_where_attention_is_computed_in_products() {
        let wanted = LoadSettings { rows: 8, outputs: 16, ..example::wanted(8192, 2, "f16") };
        let bytes = Estimate::of(&hybrid(16, 2048, 0, "q4_0"), &wanted).compute.0 as f64 / f64::from(1 << 20);
        let measured = 8.66 + 4.0;
        assert!((bytes / measured - 1.0).abs() < 0.03, "{bytes} MiB, reserved were 8.66 MiB, and 4 for the copy");
    }

    #[test]
    fn parts_are_printed_and_add_up() {
        let estimate = Estimate { weights: Bytes::mib(98), kv: Bytes::mib(85), ..Estimate::default() };
        assert_eq!(estimate.to_string(), "weights 98.0 MiB, KV 85.0 MiB");
        assert_eq!(estimate.total(), Bytes::mib(183));
        let estimate = Estimate { repacked: Bytes::mib(2), ..estimate };
        assert_eq!((estimate.of_weights(), estimate.of_context()), (Bytes::mib(100), Bytes::mib(85)));
    }

    #[test]
    fn working_memory_is_for_the_largest_of_logits_feed_forward_and_experts() {
        let dense = Header { vocabulary: 1000, ..hybrid(8, 1024, 0, "q8_0") };
        let experts = Header { feed_forward: 0, ..hybrid(8, 1024, 4, "q8_0") };
        let check = |header: &Header, wanted: &LoadSettings, values: u64, masks: u64| {
            let hidden = 5 * 1024 * u64::from(wanted.rows);
            assert_eq!(compute(header, wanted), Bytes(4 * (hidden + values) + masks));
        };
        let few = LoadSettings { outputs: 1, ..wanted(8192, 1, "q8_0") };
        check(&dense, &few, 3 * 4096 * 256, 2 * 256 * 8192);
        check(&Header { vocabulary: 1000, ..experts }, &few, 3 * 4 * 1024 * 256, 2 * 256 * 8192);
        check(&Header { vocabulary: 65_536, ..dense.clone() }, &wanted(8192, 1, "q8_0"), 65_536 * 256, 2 * 256 * 8192);
        check(&Header { sliding_window: Some(512), ..dense }, &few, 3 * 4096 * 256, 2 * 256 * (8192 + 8192));
    }

    #[test]
    fn vocabulary_and_graphs_take_host_memory() {
        let header = Header { vocabulary: 100, merges: 10, ..hybrid(8, 1024, 0, "q8_0") };
        assert_eq!(vocabulary(&header), Bytes(275 * 100 + 147 * 10));
        assert_eq!(graphs(&header), Bytes(450 * 1024 * 3), "at least 1,024 nodes");
        let mut many = header;
        many.tensors.resize(300, many.tensors[0].clone());
        assert_eq!(graphs(&many), Bytes(450 * 8 * 300 * 3));
    }
}
