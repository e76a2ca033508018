//! Reads what each layer keeps in memory for a sequence: keys and values, for all tokens or a window, and states.
//!
//! The rules for each architecture are those of llama.cpp (`llama-hparams.cpp`,
//! `llama_model::create_memory`, `src/models/`).

use serde::Serialize;

use super::error::Flaw;
use super::parse::Parsed;

/// `LLAMA_MAX_LAYERS` in llama-hparams.h; a malicious header must not make us allocate gigabytes.
pub(super) const LAYERS_MAX: u32 = 512;

/// The memory of one layer. A layer may keep both keys/values and a state (Falcon-H1), or nothing
/// (layers without attention, and layers that use the keys of an earlier one).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Layer {
    /// Number of elements in a token's keys, over all heads. In latent attention (MLA) they are
    /// also the values.
    pub key: u32,
    /// Number of elements in a token's values.
    pub value: u32,
    /// Whether it attends only to the tokens in the sliding window.
    pub slides: bool,
    /// Number of elements in the recurrent state of one sequence: the last columns of its
    /// convolution, and the state itself. In f32.
    pub state: u32,
}

impl Layer {
    pub fn has_keys(&self) -> bool {
        self.key > 0
    }
}

/// The numbers that may differ between layers.
pub(super) struct Sizes {
    pub layers: u32,
    pub embedding: u32,
    pub kv_heads: Vec<u32>,
    /// Length of a key vector per head, and of a value vector.
    pub key: u32,
    pub value: u32,
}

/// Number of key/value heads per layer. The file has one number for all layers, one per layer, or
/// none (in which case it is the number of query heads).
pub(super) fn kv_heads(parsed: &Parsed<'_>, key: &str, layers: u32, heads: u32) -> Result<Vec<u32>, Flaw> {
    if layers > LAYERS_MAX {
        return Err(Flaw::Malformed(format!("{layers} layers; llama.cpp takes at most {LAYERS_MAX}")));
    }
    let all = parsed.numbers(key);
    match all.len() {
        0 => Ok(vec![heads; layers as usize]),
        1 => Ok(vec![all[0]; layers as usize]),
        n if n == layers as usize => Ok(all),
        n => Err(Flaw::Malformed(format!("{key} has {n} entries for {layers} layers"))),
    }
}

/// The memory of every layer. The last `unused` blocks predict further tokens (MTP) and are not
/// loaded.
pub(super) fn kept(parsed: &Parsed<'_>, architecture: &str, sizes: &Sizes, unused: u32) -> Vec<Layer> {
    let own = |key: &str| format!("{architecture}.{key}");
    let number = |key: &str| parsed.number(&own(key)).unwrap_or(0);
    let used = sizes.layers.saturating_sub(unused);
    let slides = window(parsed, architecture, used).map_or_else(Vec::new, |(_, slides)| slides);
    let is_latent = number("attention.key_length_mla") > 0 && number("attention.value_length_mla") > 0;
    let key_in_window = parsed.number(&own("attention.key_length_swa")).unwrap_or(sizes.key);
    let value_in_window = parsed.number(&own("attention.value_length_swa")).unwrap_or(sizes.value);
    // Layers from this one on use the keys and values of an earlier one.
    let shared_from = match architecture {
        "gemma3n" => 20,
        "gemma4" => sizes.layers.saturating_sub(number("attention.shared_kv_layers")),
        _ => u32::MAX,
    };
    let marked = parsed.numbers(&own("attention.recurrent_layers"));
    let interval = parsed.number(&own("full_attention_interval")).unwrap_or(4).max(1);
    let feed_forward = parsed.numbers(&own("feed_forward_length"));
    let state = state(parsed, architecture, sizes.embedding);
    let layer = |index: u32| {
        let at = index as usize;
        let heads = sizes.kv_heads[at];
        let slides = slides.get(at).copied().unwrap_or(false);
        let (attends, recurs) = match architecture {
            // Three of every four layers are gated delta nets; the number of heads is given for all
            // layers.
            _ if is_delta_net(architecture) => {
                let recurs = marked.get(at).map_or(!(index + 1).is_multiple_of(interval), |&mark| mark != 0);
                (!recurs, recurs)
            }
            // Each layer is either attention, Mamba or feed-forward.
            "nemotron_h" | "nemotron_h_moe" => {
                let is_plain = feed_forward.get(at).or(feed_forward.first()).is_some_and(|&length| length > 0);
                (heads > 0 && !is_plain, heads == 0 && !is_plain)
            }
            "falcon-h1" => (true, true),
            _ => (heads > 0, heads == 0),
        };
        let (key, value) = if slides { (key_in_window, value_in_window) } else { (sizes.key, sizes.value) };
        let rows = if attends && index < shared_from { heads } else { 0 };
        let values = if is_latent { 0 } else { rows.saturating_mul(value) };
        let state = if recurs { state } else { 0 };
        Layer { key: rows.saturating_mul(key), value: values, slides: slides && rows > 0, state }
    };
    (0..sizes.layers).map(|index| if index < used { layer(index) } else { Layer::default() }).collect()
}

/// Number of elements in the state of a recurrent layer: that of a short convolution (LFM2), or of
/// a convolution and a state space.
fn state(parsed: &Parsed<'_>, architecture: &str, embedding: u32) -> u32 {
    let number = |key: &str| parsed.number(&format!("{architecture}.{key}")).unwrap_or(0);
    let conv = number("shortconv.l_cache");
    if conv > 0 {
        return embedding.saturating_mul(conv - 1);
    }
    let (inner, state) = (number("ssm.inner_size"), number("ssm.state_size"));
    let groups = number("ssm.group_count").saturating_mul(state).saturating_mul(2);
    let columns = number("ssm.conv_kernel").saturating_sub(1);
    columns.saturating_mul(inner.saturating_add(groups)).saturating_add(state.saturating_mul(inner))
}

/// Number of elements per token in a recurrent layer's working memory: its convolution's channels
/// before and after, and vectors as wide as its state. 0 for short convolutions. Counted in
/// llama.cpp's graphs (`delta-net-base.cpp`, `mamba-base.cpp`).
pub(super) fn recurrent_work(parsed: &Parsed<'_>, architecture: &str) -> u32 {
    let number = |key: &str| parsed.number(&format!("{architecture}.{key}")).unwrap_or(0);
    let inner = number("ssm.inner_size");
    let channels = number("ssm.group_count").saturating_mul(number("ssm.state_size")).saturating_mul(2);
    let channels = channels.saturating_add(inner).saturating_mul(3);
    let vectors = if is_delta_net(architecture) { 1 } else { 3 };
    channels.saturating_add(inner.saturating_mul(vectors))
}

/// Whether the recurrent layers are gated delta nets.
pub(super) fn is_delta_net(architecture: &str) -> bool {
    ["qwen3next", "qwen35", "qwen35moe", "qwen4exp"].contains(&architecture)
}

/// How layers with a sliding window alternate with others: in each group of `every` layers, all
/// have one except the last or, if `first` is set, the first. `window` is the size if the header
/// states none.
struct Alternation {
    architecture: &'static str,
    every: u32,
    first: bool,
    window: u32,
}

const fn alternation(architecture: &'static str, every: u32, first: bool, window: u32) -> Alternation {
    Alternation { architecture, every, first, window }
}

/// The architectures whose windows llama.cpp applies; for all others it ignores the key
/// `attention.sliding_window`.
const ALTERNATIONS: [Alternation; 24] = [
    alternation("afmoe", 4, false, 0),
    alternation("cohere2", 4, false, 0),
    alternation("cohere2moe", 4, true, 0),
    alternation("exaone4", 4, false, 4096),
    alternation("exaone-moe", 4, false, 128),
    alternation("gemma2", 2, false, 4096),
    alternation("gemma3", 6, false, 0),
    alternation("gemma3n", 5, false, 0),
    alternation("gemma4", 1, false, 0),
    alternation("gpt-oss", 2, false, 0),
    alternation("granite_swa", 1, false, 0),
    alternation("laguna", 4, true, 0),
    alternation("lfm2", 0, false, 0),
    alternation("lfm2moe", 0, false, 0),
    alternation("llama4", 4, false, 8192),
    alternation("maple", 1, false, 0),
    alternation("mellum", 4, false, 0),
    alternation("mimo2", 1, false, 0),
    alternation("muse-glimmer", 4, false, 0),
    alternation("olmo2", 4, false, 0),
    alternation("plamo3", 8, false, 0),
    alternation("smallthinker", 4, true, 0),
    alternation("spark2_5", 1, false, 0),
    alternation("step35", 1, false, 0),
];

/// The size of the sliding window, and whether each of `layers` layers has one; `None` if none has.
pub(super) fn window(parsed: &Parsed<'_>, architecture: &str, layers: u32) -> Option<(u32, Vec<bool>)> {
    let own = |key: &str| format!("{architecture}.{key}");
    let rule = ALTERNATIONS.iter().find(|one| one.architecture == architecture)?;
    // Only EXAONE 4 32B has windows.
    if architecture == "exaone4" && layers != 64 {
        return None;
    }
    let tokens = parsed.number(&own("attention.sliding_window")).unwrap_or(rule.window);
    let key = own("attention.sliding_window_pattern");
    let marks = if parsed.count(&key).is_some() { parsed.numbers(&key) } else { Vec::new() };
    let every = parsed.number(&key).unwrap_or(rule.every);
    let slides = |layer: u32| match (marks.get(layer as usize), every) {
        (Some(&mark), _) => mark != 0,
        (None, 0) => true,
        (None, every) if rule.first => !layer.is_multiple_of(every),
        (None, every) => layer % every < every - 1,
    };
    let slides: Vec<bool> = (0..layers.min(LAYERS_MAX)).map(slides).collect();
    (tokens > 0 && slides.contains(&true)).then_some((tokens, slides))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::write::HeaderWriter;
    use super::super::{Header, header};
    use super::*;

    fn read(writer: HeaderWriter) -> Header {
        header(Path::new("m.gguf"), &writer.finish()).expect("a header")
    }

    /// A header with `layers` layers, each with four query heads and two key/value heads of length
    /// 8.
    fn plain(architecture: &str, layers: u32) -> HeaderWriter {
        let key = |name: &str| format!("{architecture}.{name}");
        HeaderWriter::new(architecture)
            .u32(&key("block_count"), layers)
            .u32(&key("embedding_length"), 32)
            .u32(&key("attention.head_count"), 4)
            .u32(&key("attention.head_count_kv"), 2)
    }

    /// A convolution of 4 columns over 16 + 2 · 1 · 8 channels, and a state of 8 · 16: 96 + 128
    /// numbers.
    fn with_state(writer: HeaderWriter, architecture: &str) -> HeaderWriter {
        let sizes = [("conv_kernel", 4), ("inner_size", 16), ("state_size", 8), ("group_count", 1)];
        sizes.iter().fold(writer, |writer, (name, size)| writer.u32(&format!("{architecture}.ssm.{name}"), *size))
    }

    const KEYS: Layer = Layer { key: 16, value: 16, slides: false, state: 0 };
    const STATE: Layer = Layer { key: 0, value: 0, slides: false, state: 224 };

    #[test]
    fn every_fourth_layer_of_a_delta_net_has_keys_and_prediction_blocks_keep_nothing() {
        let qwen = with_state(plain("qwen35", 9), "qwen35").u32("qwen35.nextn_predict_layers", 1);
        let found = read(qwen);
        assert_eq!(found.kept, [STATE, STATE, STATE, KEYS, STATE, STATE, STATE, KEYS, Layer::default()]);
        assert_eq!((found.recurrent_layers(), found.unused_blocks), (6, 1));
        assert_eq!(found.recurrent_work, 3 * 32 + 16);
        let every_second = with_state(plain("qwen3next", 4), "qwen3next").u32("qwen3next.full_attention_interval", 2);
        assert_eq!(read(every_second).kept, [STATE, KEYS, STATE, KEYS]);
        let listed = plain("qwen35moe", 3).i32s("qwen35moe.attention.recurrent_layers", &[0, 1, 1]);
        assert_eq!(read(with_state(listed, "qwen35moe")).kept, [KEYS, STATE, STATE]);
    }

    #[test]
    fn layers_of_mamba_models_are_told_apart_by_their_heads_and_feed_forward() {
        let heads = |architecture: &str, heads: &[i32]| {
            let key = |name: &str| format!("{architecture}.{name}");
            HeaderWriter::new(architecture)
                .u32(&key("block_count"), heads.len() as u32)
                .u32(&key("embedding_length"), 32)
                .u32(&key("attention.head_count"), 4)
                .i32s(&key("attention.head_count_kv"), heads)
        };
        let nemotron = heads("nemotron_h_moe", &[0, 0, 2]).i32s("nemotron_h_moe.feed_forward_length", &[0, 64, 0]);
        assert_eq!(read(with_state(nemotron, "nemotron_h_moe")).kept, [STATE, Layer::default(), KEYS]);
        let granite = heads("granitehybrid", &[0, 2]).u32("granitehybrid.feed_forward_length", 64);
        assert_eq!(read(with_state(granite, "granitehybrid")).kept, [STATE, KEYS]);
        let both = Layer { state: 224, ..KEYS };
        assert_eq!(read(with_state(plain("falcon-h1", 2), "falcon-h1")).kept, [both, both]);
        // A convolution of three columns keeps two.
        let lfm2 = heads("lfm2", &[0, 2]).u32("lfm2.shortconv.l_cache", 3);
        assert_eq!(read(lfm2).kept, [Layer { state: 64, ..Layer::default() }, KEYS]);
    }

    #[test]
    fn window_layers_have_their_own_head_sizes_and_shared_layers_no_keys() {
        let gemma = plain("gemma4", 6)
            .u32("gemma4.attention.sliding_window", 512)
            .i32s("gemma4.attention.sliding_window_pattern", &[1, 1, 0, 1, 1, 0])
            .u32("gemma4.attention.key_length_swa", 4)
            .u32("gemma4.attention.value_length_swa", 4)
            .u32("gemma4.attention.shared_kv_layers", 3);
        let found = read(gemma);
        let window = Layer { key: 8, value: 8, slides: true, state: 0 };
        let none = Layer::default();
        assert_eq!(
            (found.kept.as_slice(), found.sliding_window),
            (&[window, window, KEYS, none, none, none][..], Some(512))
        );
    }

    #[test]
    fn windows_alternate_as_the_architecture_says_and_are_ignored_by_others() {
        let slides = |architecture: &str, layers: u32| -> Vec<bool> {
            let writer = plain(architecture, layers).u32(&format!("{architecture}.attention.sliding_window"), 128);
            flags(&read(writer))
        };
        assert_eq!(slides("gpt-oss", 4), [true, false, true, false]);
        assert_eq!(slides("gemma3", 7), [true, true, true, true, true, false, true]);
        assert_eq!(slides("cohere2moe", 5), [false, true, true, true, false]);
        assert_eq!(slides("qwen2", 2), [false, false]);
        assert_eq!(read(plain("qwen2", 2).u32("qwen2.attention.sliding_window", 128)).sliding_window, None);
        let every_third = plain("olmo2", 3)
            .u32("olmo2.attention.sliding_window", 128)
            .u32("olmo2.attention.sliding_window_pattern", 3);
        assert_eq!(flags(&read(every_third)), [true, true, false]);
    }

    fn flags(header: &Header) -> Vec<bool> {
        header.kept.iter().map(|layer| layer.slides).collect()
    }

    #[test]
    fn latent_attention_keeps_one_row_that_is_key_and_value() {
        let latent = HeaderWriter::new("deepseek2")
            .u32("deepseek2.block_count", 2)
            .u32("deepseek2.embedding_length", 32)
            .u32("deepseek2.attention.head_count", 4)
            .u32("deepseek2.attention.head_count_kv", 1)
            .u32("deepseek2.attention.key_length", 24)
            .u32("deepseek2.attention.value_length", 16)
            .u32("deepseek2.attention.key_length_mla", 12)
            .u32("deepseek2.attention.value_length_mla", 8);
        assert_eq!(read(latent).kept, [Layer { key: 24, ..Layer::default() }; 2]);
    }
}
