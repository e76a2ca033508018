//! What a model will take in memory, computed from its header before anything is loaded.

use std::fmt;

use crate::base::Bytes;
use crate::models::gguf::{Header, Tensor, TensorType};

/// How a model is to be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Tokens a slot.
    pub context: u32,
    pub slots: usize,
    /// Type of keys and values, `q8_0` say.
    pub kv_type: String,
    /// Weights on the CPU, where some types are copied into another order.
    pub on_cpu: bool,
}

/// Memory of one loaded model, by purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Tensors used as they lie in the (mapped) file.
    pub weights: Bytes,
    /// Tensors that the CPU code copies into an order of its own; their mapped original can be given back.
    pub repacked: Bytes,
    /// Keys and values of all slots.
    pub kv: Bytes,
    /// Recurrent and convolution state of all slots.
    pub state: Bytes,
    /// The graph's working memory for one batch.
    pub compute: Bytes,
    /// Logits handed out.
    pub output: Bytes,
}

/// Tokens computed at once (`n_ubatch`): as many as a chunk may have if it is to end within 250 ms on two cores.
pub const UBATCH: u64 = 256;

/// llama.cpp rounds every slot's context up to a multiple of this.
const CONTEXT_STEP: u64 = 256;

impl Estimate {
    /// From the header alone. Layers with a sliding window are counted as if they kept everything.
    pub fn of(header: &Header, wanted: &Wanted) -> Estimate {
        let copied = |tensor: &&Tensor| wanted.on_cpu && is_repackable(tensor);
        let moved: Bytes = header.tensors.iter().filter(copied).filter(|t| t.name != TOKENS).map(|t| t.bytes).sum();
        // Without an output matrix the token table serves as one: multiplied from its copy, looked up in the original.
        let tied = header.tensors.iter().all(|tensor| tensor.name != "output.weight");
        let table = header.tensors.iter().filter(copied).filter(|t| t.name == TOKENS && tied).map(|t| t.bytes).sum();
        Estimate {
            weights: header.tensor_bytes().saturating_sub(moved),
            repacked: moved + table,
            kv: kv(header, wanted),
            state: state(header) * wanted.slots as u64,
            compute: compute(header, wanted),
            output: Bytes(4) * u64::from(header.vocabulary) * wanted.slots as u64,
        }
    }

    pub fn total(&self) -> Bytes {
        self.parts().into_iter().map(|(_, bytes)| bytes).sum()
    }

    pub fn parts(&self) -> [(&'static str, Bytes); 6] {
        [
            ("weights", self.weights),
            ("repacked weights", self.repacked),
            ("KV", self.kv),
            ("state", self.state),
            ("compute", self.compute),
            ("output", self.output),
        ]
    }
}

/// `weights 98.0 MiB, KV 85.0 MiB, …`, without what is nothing.
impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.parts().into_iter().filter(|(_, bytes)| *bytes > Bytes::ZERO);
        f.write_str(&parts.map(|(name, bytes)| format!("{name} {bytes}")).collect::<Vec<_>>().join(", "))
    }
}

const TOKENS: &str = "token_embd.weight";

/// Matrices of these types are copied on x86 with AVX2 (ggml-cpu/repack.cpp: rows in groups of eight).
fn is_repackable(tensor: &Tensor) -> bool {
    let rows = tensor.shape.get(1).copied().unwrap_or(1);
    matches!(tensor.kind.name, "Q4_0" | "Q4_K" | "IQ4_NL" | "MXFP4" | "Q2_K") && rows.is_multiple_of(8)
}

/// Per layer: heads × (key + value length) × tokens of all slots.
fn kv(header: &Header, wanted: &Wanted) -> Bytes {
    let kind = TensorType::by_name(&wanted.kv_type);
    let (block, block_bytes) = kind.map_or((1, 2), |kind| (kind.block, kind.block_bytes));
    let tokens = u64::from(wanted.context).next_multiple_of(CONTEXT_STEP) * wanted.slots as u64;
    let heads: u64 = header.kv_heads.iter().map(|&heads| u64::from(heads)).sum();
    let values = heads * u64::from(header.key_length + header.value_length) * tokens;
    Bytes(values.div_ceil(block)) * block_bytes
}

/// One slot's state: `l_cache - 1` columns of the hidden size in f32, per convolution layer. Recurrent layers of other
/// families (state spaces) are not known here and count as nothing.
fn state(header: &Header) -> Bytes {
    let columns = u64::from(header.conv_cache.unwrap_or(1).saturating_sub(1));
    Bytes(4) * columns * u64::from(header.embedding_length) * header.recurrent_layers() as u64
}

/// What lives at the same time, in f32, for every token of a batch: five hidden vectors (a convolution's three inputs
/// with what goes in and out), then either the logits, which llama.cpp reserves for the whole batch, or the feed-forward
/// blocks; and the attention mask in f16, a second one for a sliding window. Measured against llama.cpp's own figures
/// (llama-cpp-2 0.1.160, CPU, flash attention): within 3 % for SmolLM2-135M, Gemma-3-270M, LFM2-1.2B and LFM2-24B-A2B.
fn compute(header: &Header, wanted: &Wanted) -> Bytes {
    let experts = u64::from(header.expert_feed_forward) * u64::from(header.experts_used);
    let feed_forward = 3 * u64::from(header.feed_forward).max(experts);
    let values = 5 * u64::from(header.embedding_length) + u64::from(header.vocabulary).max(feed_forward);
    let masks = 1 + u64::from(header.sliding_window.is_some());
    let mask = 2 * u64::from(wanted.context).next_multiple_of(CONTEXT_STEP) * masks;
    Bytes(UBATCH) * (4 * values + mask)
}

/// The embedder: its weights in f32 as they lie in the file, and the activations of one batch of `tokens` tokens.
pub fn embedder(weight_bytes: Bytes, tokens: u64) -> Bytes {
    weight_bytes + EMBEDDER_TOKEN * tokens
}

/// Activations of one token of a sentence encoder of hidden size 384 (MiniLM): hidden, queries, keys, values, the
/// feed-forward block of four times the size and its copy, all f32, twice for what the framework holds on to.
const EMBEDDER_TOKEN: Bytes = Bytes(2 * 4 * 384 * (4 + 4 + 4));

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// LFM2-24B-A2B, of which only the numbers that matter here are filled in (facts of the published model).
    fn lfm2_24b() -> Header {
        let kv_heads = (0..40).map(|layer| if layer % 4 == 2 { 8 } else { 0 }).collect();
        Header {
            path: "lfm2.gguf".into(),
            file_bytes: Bytes::ZERO,
            architecture: "lfm2moe".into(),
            adapter: false,
            name: String::new(),
            parameters: 0,
            layers: 40,
            embedding_length: 2048,
            heads: 32,
            kv_heads,
            key_length: 64,
            value_length: 64,
            feed_forward: 11776,
            experts: 64,
            experts_used: 4,
            expert_feed_forward: 1536,
            context_train: 32768,
            vocabulary: 65536,
            sliding_window: None,
            conv_cache: Some(3),
            tensors: Vec::new(),
            mix: BTreeMap::new(),
            chat_template: None,
            tokenizer_model: None,
            tokenizer_pre: None,
            bos: None,
            eos: None,
            begin: None,
        }
    }

    fn wanted(context: u32, slots: usize, kv_type: &str) -> Wanted {
        Wanted { context, slots, kv_type: kv_type.into(), on_cpu: true }
    }

    fn check_kv(context: u32, slots: usize, kv_type: &str, expected: Bytes) {
        assert_eq!(
            Estimate::of(&lfm2_24b(), &wanted(context, slots, kv_type)).kv,
            expected,
            "{context} {slots} {kv_type}"
        );
    }

    #[test]
    fn keys_and_values_match_the_published_arithmetic() {
        check_kv(1, 1, "f16", Bytes::kib(20 * 256));
        check_kv(8192, 1, "f16", Bytes::mib(160));
        check_kv(8192, 1, "q8_0", Bytes::mib(85));
        check_kv(8192, 1, "q4_0", Bytes::mib(45));
        check_kv(32768, 1, "q8_0", Bytes::mib(340));
        check_kv(8192, 2, "q8_0", Bytes::mib(170));
    }

    #[test]
    fn convolution_layers_keep_two_columns_a_slot() {
        assert_eq!(Estimate::of(&lfm2_24b(), &wanted(8192, 2, "q8_0")).state, Bytes::kib(2 * 480));
    }

    #[test]
    fn repacked_tensors_are_counted_once_but_a_shared_token_table_twice() {
        let tensor = |name: &str, kind| {
            let kind = TensorType::by_name(kind).unwrap();
            Tensor { name: name.into(), kind, shape: vec![256, 64], bytes: Bytes(kind.bytes(256 * 64).unwrap()) }
        };
        let mut header = lfm2_24b();
        header.tensors = vec![tensor(TOKENS, "q4_0"), tensor("blk.0.ffn_up.weight", "q4_0"), tensor("b", "q8_0")];
        let one = header.tensors[1].bytes;
        let tied = Estimate::of(&header, &wanted(256, 1, "f16"));
        assert_eq!((tied.repacked, tied.weights), (one * 2, header.tensor_bytes() - one));
        let elsewhere = Estimate::of(&header, &Wanted { on_cpu: false, ..wanted(256, 1, "f16") });
        assert_eq!((elsewhere.repacked, elsewhere.weights), (Bytes::ZERO, header.tensor_bytes()));
        header.tensors.push(tensor("output.weight", "q8_0"));
        assert_eq!(Estimate::of(&header, &wanted(256, 1, "f16")).repacked, one);
    }

    #[test]
    fn working_memory_is_what_llama_cpp_reserves() {
        let bytes = Estimate::of(&lfm2_24b(), &wanted(8192, 2, "q8_0")).compute.0 as f64 / f64::from(1 << 20);
        assert!((bytes / 78.04 - 1.0).abs() < 0.03, "{bytes} MiB, measured were 78.04");
    }

    #[test]
    fn the_parts_are_told_and_add_up() {
        let estimate = Estimate { weights: Bytes::mib(98), kv: Bytes::mib(85), ..Estimate::default() };
        assert_eq!(estimate.to_string(), "weights 98.0 MiB, KV 85.0 MiB");
        assert_eq!(estimate.total(), Bytes::mib(183));
    }
}
