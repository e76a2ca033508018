//! Estimates a model's memory from its header, before anything is loaded.

use std::fmt;

use super::{cache, repack};
use crate::base::Bytes;
use crate::models::FlashAttention;
use crate::models::architectures::{self, Work};
use crate::models::gguf::Header;

/// The settings for loading a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadSettings {
    /// Context window in tokens per slot.
    pub context: u32,
    pub slots: usize,
    /// Type of the KV cache, for example `q8_0`.
    pub kv_type: String,
    pub flash: FlashAttention,
    /// Maximum number of tokens computed in one call (`n_ubatch`).
    pub rows: u32,
    /// Maximum number of rows with logits per call (`n_outputs_max`).
    pub outputs: u32,
    /// Whether matrices are copied into the layout that is fastest on the CPU (`use_extra_bufts`).
    pub repack: bool,
    /// Maximum number of checkpoints per slot, for models whose sequences cannot be truncated.
    pub marks: u32,
    /// Number of leading layers on the host if there is an accelerator; `layers + 1` means all,
    /// including the output matrix.
    pub layers_on_host: u32,
    /// Number of leading layers whose experts are on the host.
    pub experts_on_host: u32,
}

/// Memory of one loaded model, by purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Tensors used as stored in the file.
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
    /// Vocabulary, graphs and cell metadata.
    pub host: Bytes,
}

/// Memory of the program without models: 25 MiB of mapped code and libraries, and 3 MiB of threads
/// and tables (measured on Linux).
pub const PROCESS: Bytes = Bytes::mib(28);

impl Estimate {
    /// Estimates from the header alone; reads no weights.
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
            host: vocabulary(header) + graphs(header, wanted) + cache::cells(header, wanted),
        }
    }

    /// Estimates an embedding model, with calls of `rows` tokens in total. llama.cpp reserves room
    /// for logits and a vector per token, whether or not the model computes logits.
    pub fn of_embedder(header: &Header, rows: u32) -> Estimate {
        let generates = architectures::work(&header.architecture) == Some(Work::Generates);
        let wanted = LoadSettings {
            context: rows,
            slots: 1,
            kv_type: "f16".to_owned(),
            flash: FlashAttention::Off,
            rows,
            outputs: if generates { rows } else { 0 },
            repack: true,
            ..LoadSettings::default()
        };
        let of_text = Estimate::of(header, &wanted);
        Estimate {
            kv: if architectures::has_cache(&header.architecture) { of_text.kv } else { Bytes::ZERO },
            output: Bytes(4) * (u64::from(header.vocabulary) + u64::from(header.embedding_length)) * u64::from(rows),
            ..of_text
        }
    }

    pub fn total(&self) -> Bytes {
        self.parts().into_iter().map(|(_, bytes)| bytes).sum()
    }

    /// Memory of the weights, shared by all contexts of a file.
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

/// Working memory of the graph: the tensors that exist at the same time, in f32. Per token of a
/// batch, these are five hidden vectors (a convolution's three inputs, its input and its output)
/// and the largest of: the logits of the output rows; the feed-forward activations; or, if
/// attention is computed as products, queries, keys, values and the scores of all heads. A
/// recurrent layer has two hidden vectors, its working data, and every slot's state before and
/// after. In addition, there are the numbers that each layer gets from its own table (Gemma 3n and
/// 4), four times before the first layer; and the attention mask, in f16 or, for products, in f32,
/// with a second one for a sliding window.
fn compute(header: &Header, wanted: &LoadSettings) -> Bytes {
    let rows = u64::from(wanted.rows);
    let experts = u64::from(header.expert_feed_forward) * u64::from(header.experts_used);
    let feed_forward = 3 * u64::from(header.feed_forward).max(experts);
    let logits = u64::from(header.vocabulary) * u64::from(wanted.outputs);
    let cells = cache::cells_of(wanted).max(1);
    let products = cache::is_read_in_products(&wanted.kv_type, wanted.flash);
    let scores = if products { scores(header, wanted) + attended(header) * rows } else { 0 };
    let hidden = u64::from(header.embedding_length) * rows;
    let plain = 5 * hidden + logits.max(feed_forward * rows).max(scores);
    let state = header.kept.iter().map(|layer| u64::from(layer.state)).max().unwrap_or(0);
    let recurrent = match u64::from(header.recurrent_work) * rows {
        0 => 0,
        work => 2 * hidden + work + 2 * state * wanted.slots as u64,
    };
    let table = header.tensors.iter().find(|tensor| tensor.name == "per_layer_token_embd.weight");
    let by_layer = table.and_then(|table| table.shape.first()).map_or(0, |numbers| numbers * rows);
    let masked = rows * if products { 4 } else { 2 };
    let masks = masked * (cells + cache::cells_in_window(header, wanted));
    let more = if header.architecture == "gemma3n" { UPDATED * hidden } else { 0 };
    let (in_a_layer, before) = (plain.max(recurrent) + more + by_layer, 5 * hidden + 4 * by_layer);
    Bytes(4 * in_a_layer.max(before) + masks) + copied_scores(header, wanted)
}

/// Additional hidden vectors per token in Gemma 3n, which updates four of them in turn (AltUp);
/// counted in llama.cpp's dry runs.
const UPDATED: u64 = 6;

/// Number of attention scores, over all heads, for the rows of a call.
fn scores(header: &Header, wanted: &LoadSettings) -> u64 {
    u64::from(header.heads) * u64::from(wanted.rows) * cache::cells_of(wanted).max(1)
}

/// The f16 copy of the scores, which the CPU kernel for products makes outside the graph.
pub fn copied_scores(header: &Header, wanted: &LoadSettings) -> Bytes {
    let products = cache::is_read_in_products(&wanted.kv_type, wanted.flash);
    if products { Bytes(2 * scores(header, wanted)) } else { Bytes::ZERO }
}

/// Number of elements in a token's queries, keys and values in one layer. In latent attention,
/// queries and results are as wide as the latent vector; in delta-net models, queries come with a
/// gate and are copied.
fn attended(header: &Header) -> u64 {
    let (heads, key, value) = (u64::from(header.heads), u64::from(header.key_length), u64::from(header.value_length));
    let widest = header.kept.iter().max_by_key(|layer| layer.key).copied().unwrap_or_default();
    let is_latent = widest.has_keys() && widest.value == 0;
    let queries = if is_latent {
        heads * (key + value)
    } else if header.has_delta_nets() {
        3 * heads * key
    } else {
        heads * key
    };
    queries + u64::from(widest.key) + u64::from(widest.value)
}

/// Memory of the vocabulary in llama.cpp's maps and in our own list.
fn vocabulary(header: &Header) -> Bytes {
    TOKEN * u64::from(header.vocabulary) + MERGE * u64::from(header.merges)
}

/// Bytes per token and per merge, measured with SmolLM2 (49,152 tokens) and LFM2 (65,536), both
/// with 48,900 merges, and Gemma (262,144 tokens, no merges).
const TOKEN: Bytes = Bytes(275);
const MERGE: Bytes = Bytes(147);

/// Memory of three graphs with their tensor descriptions. A graph has up to eight nodes per tensor
/// and at least 1,024; with delta nets, up to 32 per tensor and at least 40 per row
/// (`graph_max_nodes` in llama-context.cpp).
fn graphs(header: &Header, wanted: &LoadSettings) -> Bytes {
    let tensors = header.used_tensors().count() as u64;
    let nodes =
        if header.has_delta_nets() { (32 * tensors).max(40 * u64::from(wanted.rows)) } else { (8 * tensors).max(1024) };
    NODE * nodes * 3
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
            assert_eq!((estimate.state, estimate.marks), (Bytes::kib(2 * 480), Bytes::kib((2 * 32 + 1) * 480)));
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
        check(&Header { sliding_window: Some(512), ..dense }, &few, 3 * 4096 * 256, 2 * 256 * (8192 + 768));
    }

    #[test]
    fn recurrent_layers_work_on_their_channels_and_on_the_state_of_every_slot() {
        let mut header = Header { recurrent_work: 28_672, vocabulary: 1000, ..hybrid(8, 1024, 0, "q8_0") };
        header.kept[0].state = 1 << 20;
        let one = compute(&header, &wanted(8192, 1, "q8_0"));
        let four = compute(&header, &wanted(8192, 4, "q8_0"));
        assert_eq!(one, Bytes::mib(2 + 28 + 8) + Bytes(2 * 256 * 8192));
        assert_eq!(four.saturating_sub(one), Bytes::mib(3 * 8));
        // A table of 256 numbers for each of eight layers.
        let mut table = header.tensors[0].clone();
        (table.name, table.shape) = ("per_layer_token_embd.weight".into(), vec![8 * 256, 1000]);
        header.tensors.push(table);
        assert_eq!(compute(&header, &wanted(8192, 1, "q8_0")).saturating_sub(one), Bytes::mib(2));
    }

    #[test]
    fn an_embedder_keeps_room_for_the_logits_of_a_call_and_its_tokens_only_if_it_generates() {
        let text = Header { vocabulary: 1000, architecture: "llama".into(), ..hybrid(8, 1024, 0, "q8_0") };
        let encoder = Header { architecture: "bert".into(), ..text.clone() };
        let (text, encoder) = (Estimate::of_embedder(&text, 512), Estimate::of_embedder(&encoder, 512));
        assert_eq!(encoder.output, Bytes(4 * 512 * (1000 + 1024)));
        assert_eq!((encoder.kv, text.output), (Bytes::ZERO, encoder.output));
        assert_eq!(text.kv, Bytes(2 * 2 * 512 * 512 * 2), "keys and values of two layers");
    }

    #[test]
    fn vocabulary_and_graphs_take_host_memory() {
        let header = Header { vocabulary: 100, merges: 10, ..hybrid(8, 1024, 0, "q8_0") };
        assert_eq!(vocabulary(&header), Bytes(275 * 100 + 147 * 10));
        let wanted = wanted(8192, 1, "q8_0");
        assert_eq!(graphs(&header, &wanted), Bytes(450 * 1024 * 3), "at least 1,024 nodes");
        let mut many = header;
        many.tensors.resize(300, many.tensors[0].clone());
        assert_eq!(graphs(&many, &wanted), Bytes(450 * 8 * 300 * 3));
        let delta = Header { architecture: "qwen35".into(), ..many };
        assert_eq!(graphs(&delta, &wanted), Bytes(450 * 40 * 256 * 3));
    }
}
