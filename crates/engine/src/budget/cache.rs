//! Computes the size of a context: KV cache per layer, recurrent states, checkpoints, and llama.cpp's cell metadata.

use super::LoadSettings;
use crate::base::{ACCELERATED, Bytes};
use crate::models::FlashAttention;
use crate::models::gguf::{Header, Layer, TensorType};

/// llama.cpp rounds every slot's cells up to a multiple of this (`GGML_PAD` in llama-context.cpp, llama-kv-cache-iswa.cpp).
pub const CELL_STEP: u64 = 256;

/// Whether attention over a KV cache of this type is computed as two matrix products and a softmax
/// instead of flash attention. On CPUs, ggml's flash attention handles one head vector at a time:
/// after 900 tokens SmolLM2 processes a chunk of 32 rows three times as fast with products over f16
/// as with flash attention over q8_0, and decodes 1.3 times as fast. Quantised values require flash
/// attention, which is fast on GPUs.
pub fn is_read_in_products(kv_type: &str, flash: FlashAttention) -> bool {
    match flash {
        FlashAttention::Auto => kv_type == "f16" && !ACCELERATED,
        FlashAttention::On => false,
        FlashAttention::Off => true,
    }
}

/// Whether a KV cache of this type can be read at all: quantised values require flash attention.
pub fn is_readable(kv_type: &str, flash: FlashAttention) -> bool {
    kv_type == "f16" || flash != FlashAttention::Off
}

/// Cells per slot in a layer that attends to the whole context.
pub fn cells_of(wanted: &LoadSettings) -> u64 {
    u64::from(wanted.context).next_multiple_of(CELL_STEP)
}

/// Cells per slot in a layer with a sliding window of `window` tokens: enough for the window and
/// one call of `rows` rows, within a context of `positions` (`llama_kv_cache_iswa`).
pub fn cells_with(window: u64, rows: u64, positions: u64) -> u64 {
    (window + rows).min(positions).next_multiple_of(CELL_STEP)
}

/// Cells per slot in the layers with a sliding window; 0 if there are none.
pub fn cells_in_window(header: &Header, wanted: &LoadSettings) -> u64 {
    let all = cells_of(wanted);
    match header.sliding_window {
        None => 0,
        Some(_) if window(header, wanted).is_none() => all,
        Some(window) => cells_with(window.into(), wanted.rows.into(), all),
    }
}

/// Size of the sliding window in tokens, if it is smaller than the context.
fn window(header: &Header, wanted: &LoadSettings) -> Option<u64> {
    header.sliding_window.map(u64::from).filter(|tokens| *tokens < cells_of(wanted))
}

/// Size of the KV cache of all slots: per layer and cell, one row of keys and one of values.
pub fn kv(header: &Header, wanted: &LoadSettings) -> Bytes {
    kv_by(header, wanted, |_| true).0
}

/// Size of the KV cache in two parts: for the layers where `here` is true, and for all others.
pub fn kv_by(header: &Header, wanted: &LoadSettings, here: impl Fn(usize) -> bool) -> (Bytes, Bytes) {
    let mut parts = (Bytes::ZERO, Bytes::ZERO);
    for (number, layer) in header.kept.iter().enumerate() {
        let cells = if layer.slides { cells_in_window(header, wanted) } else { cells_of(wanted) };
        let bytes = kv_row(header, layer, wanted) * cells * wanted.slots as u64;
        if here(number) {
            parts.0 += bytes;
        } else {
            parts.1 += bytes;
        }
    }
    parts
}

/// KV cache size of the layer with the largest one.
pub fn kv_of_widest_layer(header: &Header, wanted: &LoadSettings) -> Bytes {
    let layers = 0..header.kept.len();
    layers.map(|layer| kv_by(header, wanted, |one| one == layer).0).max().unwrap_or(Bytes::ZERO)
}

/// KV cache size of one more token beyond the windows, in the layers that attend to the whole
/// context.
pub fn kv_per_token(header: &Header, kv_type: &str) -> Bytes {
    let wanted = LoadSettings { kv_type: kv_type.to_owned(), ..LoadSettings::default() };
    header.kept.iter().filter(|layer| !layer.slides).map(|layer| kv_row(header, layer, &wanted)).sum()
}

/// Bytes of one token's key and value in one layer. If attention is computed as products, values
/// are stored by columns, and every layer gets as many as the widest one
/// (`is_n_embd_v_gqa_variable` in llama-kv-cache.cpp).
fn kv_row(header: &Header, layer: &Layer, wanted: &LoadSettings) -> Bytes {
    if !layer.has_keys() {
        return Bytes::ZERO;
    }
    let kind = TensorType::by_name(&wanted.kv_type);
    let (block, block_bytes) = kind.map_or((1, 2), |kind| (kind.block, kind.block_bytes));
    let row = |length: u32| Bytes(u64::from(length).div_ceil(block)) * block_bytes;
    let widest = || header.kept.iter().map(|layer| layer.value).max().unwrap_or(0);
    let value = if is_read_in_products(&wanted.kv_type, wanted.flash) { widest() } else { layer.value };
    row(layer.key) + row(value)
}

/// Maximum number of rows at the end of a call that recurrent layers can undo (`n_rs_seq`): the
/// guessed tokens of speculative decoding.
const UNDO_MAX: u32 = 15;
/// Nodes per layer in llama.cpp's graph: for one kept state, and the maximum for everything else
/// (44 are enough for the 1.2B shape).
const STATE_NODES: u32 = 3;
const LAYER_NODES: u32 = 48;

/// Number of rows at the end of a call that recurrent layers can undo. llama.cpp writes the states
/// for this with graph nodes, and a full graph ends the process (`graph_max_nodes`: eight per
/// tensor), so it is used only for the one architecture whose nodes have been counted. With experts
/// (`lfm2moe`), several rows in one call cost nearly as much as single calls, so nothing is
/// guessed.
pub fn undo_rows(header: &Header) -> u32 {
    let recurrent = header.recurrent_layers() as u32;
    if header.architecture != "lfm2" || recurrent == 0 {
        return 0;
    }
    let nodes = (8 * header.tensors.len() as u32).max(1024);
    let left = nodes.saturating_sub(LAYER_NODES * (header.layers + 1));
    (left / (STATE_NODES * recurrent)).saturating_sub(1).min(UNDO_MAX)
}

/// Size of the recurrent states of one slot: the state after the last row of a call, and one for
/// each row that can be undone.
pub fn state(header: &Header) -> Bytes {
    state_once(header) * (1 + u64::from(undo_rows(header)))
}

/// Size of one state of all recurrent layers, in f32.
fn state_once(header: &Header) -> Bytes {
    header.kept.iter().map(|layer| Bytes(4) * u64::from(layer.state)).sum()
}

/// Memory for the checkpoints of one slot, and their minimum and maximum number.
const MARKS_SHARE: Bytes = Bytes::mib(32);
const MARKS_MIN: u64 = 2;
const MARKS_MAX: u64 = 32;

/// Number of checkpoints that a slot keeps in its context's memory: as many as fit in its share,
/// but at least two (126 MiB for Qwen3.6 35B). Further ones are spare (`prefix::Spares`).
pub fn own_marks(header: &Header, wanted: &LoadSettings) -> u32 {
    match mark(header, wanted) {
        Bytes::ZERO => 0,
        state => (MARKS_SHARE.0 / state.0).clamp(MARKS_MIN, MARKS_MAX) as u32,
    }
}

/// Size of all slots' own checkpoints, and of the buffer for the latest one. Every call leaves a
/// checkpoint and may be short, so the maximum number is counted.
pub fn marks(header: &Header, wanted: &LoadSettings) -> Bytes {
    match u64::from(wanted.marks) * wanted.slots as u64 {
        0 => Bytes::ZERO,
        own => mark(header, wanted) * (own + 1),
    }
}

/// Size of one checkpoint: the recurrent state, and the windows' cells with position, sequence and
/// their number.
fn mark(header: &Header, wanted: &LoadSettings) -> Bytes {
    let cell: Bytes = header.kept.iter().filter(|layer| layer.slides).map(|layer| kv_row(header, layer, wanted)).sum();
    let windows = window(header, wanted).map_or(Bytes::ZERO, |tokens| (cell + Bytes(12)) * tokens);
    state_once(header) + windows
}

/// Size of llama.cpp's cell metadata: position, shift, the set of sequences, and two tree nodes for
/// cells in use. Layers with a sliding window have their own cells.
pub fn cells(header: &Header, wanted: &LoadSettings) -> Bytes {
    if !header.kept.iter().any(Layer::has_keys) {
        return Bytes::ZERO;
    }
    CELL * ((cells_of(wanted) + cells_in_window(header, wanted)) * wanted.slots as u64)
}

/// Metadata of one cell.
const CELL: Bytes = Bytes(160);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::example::{hybrid, wanted};

    #[test]
    fn a_token_takes_a_key_and_a_value_a_head_in_every_layer_with_attention() {
        let header = hybrid(8, 1024, 0, "q8_0");
        assert_eq!(kv_per_token(&header, "f16"), Bytes(2 * 2 * 8 * 64 * 2));
        assert_eq!(kv_per_token(&header, "q8_0"), Bytes(2 * 2 * 8 * 64 / 32 * 34));
        assert_eq!(kv_per_token(&header, "unknown"), kv_per_token(&header, "f16"));
    }

    #[test]
    fn as_many_rows_can_be_taken_back_as_the_graph_has_nodes_for() {
        let lfm2 = |layers, tensors: usize| {
            let mut header = Header { architecture: "lfm2".into(), ..hybrid(layers, 1024, 0, "q8_0") };
            let one = header.tensors[0].clone();
            header.tensors.resize(tensors, one);
            header
        };
        // Twelve recurrent layers: 36 nodes per row, out of 1,024 - 48 * 17 and 8 * 148 - 48 * 17.
        assert_eq!((undo_rows(&lfm2(16, 33)), undo_rows(&lfm2(16, 148))), (4, 9));
        assert_eq!(undo_rows(&lfm2(16, 300)), UNDO_MAX);
        assert_eq!(undo_rows(&lfm2(30, 33)), 0, "more layers than the graph has nodes for");
        assert_eq!(undo_rows(&hybrid(16, 1024, 4, "q8_0")), 0, "with experts nothing is guessed");
        let states = |header: &Header| state(header);
        assert_eq!(states(&hybrid(16, 1024, 4, "q8_0")), Bytes(4 * 2 * 1024 * 12));
        assert_eq!(states(&lfm2(16, 33)), Bytes(4 * 2 * 1024 * 12) * 5);
    }

    #[test]
    fn cells_are_described_once_for_all_layers_and_once_for_those_with_a_window() {
        let check =
            |header: Header, expected: u64| assert_eq!(cells(&header, &wanted(8192, 2, "f16")), Bytes(expected));
        let hybrid = hybrid(8, 1024, 0, "q8_0");
        check(hybrid.clone(), 160 * 8192 * 2);
        check(Header { sliding_window: Some(512), ..hybrid.clone() }, 160 * (8192 + 768) * 2);
        check(Header { sliding_window: Some(9000), ..hybrid.clone() }, 160 * (8192 + 8192) * 2);
        check(Header { kept: vec![Layer::default(); 8], ..hybrid }, 0);
    }

    #[test]
    fn the_widest_layer_is_found_among_layers_of_different_widths() {
        let kept = [0, 128, 256, 64].map(|key| Layer { key, value: key, ..Layer::default() });
        let header = Header { kept: kept.to_vec(), ..hybrid(4, 1024, 0, "q8_0") };
        assert_eq!(kv_of_widest_layer(&header, &wanted(1024, 2, "f16")), Bytes(4 * 256 * 1024 * 2));
    }

    #[test]
    #[cfg(not(any(feature = "cuda", feature = "metal", feature = "vulkan")))]
    fn values_read_in_products_are_as_wide_as_those_of_the_widest_layer() {
        let kept = [(64, 64), (32, 32), (0, 0)].map(|(key, value)| Layer { key, value, ..Layer::default() });
        let header = Header { kept: kept.to_vec(), ..hybrid(3, 1024, 0, "q8_0") };
        assert_eq!(kv_per_token(&header, "f16"), Bytes(2 * (64 + 64 + 32 + 64)));
        assert_eq!(kv_per_token(&header, "q8_0"), Bytes(34 * (2 + 2 + 1 + 1)));
    }

    #[test]
    fn latent_attention_keeps_keys_alone() {
        let latent = Layer { key: 576, ..Layer::default() };
        let header = Header { kept: vec![latent; 3], ..hybrid(3, 1024, 0, "q8_0") };
        assert_eq!(kv_per_token(&header, "f16"), Bytes(3 * 2 * 576));
    }

    #[test]
    fn a_slot_keeps_as_many_checkpoints_as_its_share_has_room_for_and_two_at_least() {
        let with = |state| Header { kept: vec![Layer { state, ..Layer::default() }; 30], ..hybrid(3, 1024, 0, "q8_0") };
        // Qwen3.6 35B, LFM2 24B, a size in between, and a model without states.
        let own = |header: &Header| own_marks(header, &wanted(8192, 1, "f16"));
        let found = [3 * 8192 + 128 * 4096, 4096, 100_000, 0].map(|state| own(&with(state)));
        assert_eq!(found, [2, 32, 2, 0]);
        assert_eq!(own(&with(50_000)), 5);
    }

    #[test]
    #[cfg(not(any(feature = "cuda", feature = "metal", feature = "vulkan")))]
    fn layers_with_a_window_keep_the_cells_of_the_window_and_of_a_call_and_are_copied_for_a_checkpoint() {
        let (slides, plain) =
            (Layer { key: 64, value: 64, slides: true, state: 0 }, Layer { key: 32, value: 32, ..Layer::default() });
        let header =
            Header { kept: vec![slides, slides, plain], sliding_window: Some(1000), ..hybrid(3, 1024, 0, "q8_0") };
        let wanted = |context| LoadSettings { rows: 256, ..wanted(context, 2, "q8_0") };
        let row = |numbers: u64| numbers / 32 * 34;
        assert_eq!(kv(&header, &wanted(8192)), Bytes(2 * (1280 * 2 * row(128) + 8192 * row(64))));
        assert_eq!(kv(&header, &wanted(1024)), Bytes(2 * 1024 * (2 * row(128) + row(64))));
        assert_eq!(kv_per_token(&header, "q8_0"), Bytes(row(64)));
        let one = 1000 * (2 * row(128) + 12);
        let settings = LoadSettings { marks: own_marks(&header, &wanted(8192)), ..wanted(8192) };
        assert_eq!((settings.marks, marks(&header, &settings)), (32, Bytes(65 * one)));
        assert_eq!(own_marks(&header, &wanted(768)), 0, "the context is narrower than the window");
    }

    #[test]
    fn a_layer_may_keep_keys_and_a_state() {
        let both = Layer { key: 32, value: 32, slides: false, state: 1000 };
        let header = Header { kept: vec![both; 3], ..hybrid(3, 1024, 0, "q8_0") };
        assert_eq!((state(&header), kv_per_token(&header, "f16")), (Bytes(12_000), Bytes(3 * 2 * 64)));
    }
}
