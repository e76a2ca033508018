//! What a context holds of the past: keys and values layer by layer, recurrent state, and a note on every cell.

use super::Wanted;
use crate::base::{ACCELERATED, Bytes};
use crate::models::gguf::{Header, TensorType};

/// llama.cpp rounds every slot's cells up to a multiple of this (`GGML_PAD` in llama-context.cpp, llama-kv-cache-iswa.cpp).
pub const CELL_STEP: u64 = 256;

/// Whether keys and values of this type are read by separate products and a softmax instead of in one pass (flash
/// attention). On processors ggml's one pass takes one vector of a head at a time: after 900 tokens SmolLM2 reads a
/// chunk of 32 rows three times as fast over f16 this way as over q8_0 in one pass, and decodes 1.3 times as fast.
/// Quantised values can be read in one pass only, and a GPU does that well.
pub fn is_read_in_products(kv_type: &str) -> bool {
    kv_type == "f16" && !ACCELERATED
}

/// Cells a slot has in one layer. A sliding window keeps the window and one batch, unless told to keep everything.
pub fn cells_of(wanted: &Wanted, window: Option<u32>) -> u64 {
    let all = u64::from(wanted.context).next_multiple_of(CELL_STEP);
    match window {
        Some(window) if !wanted.swa_full => {
            all.min(u64::from(window) + u64::from(wanted.rows)).next_multiple_of(CELL_STEP)
        }
        _ => all,
    }
}

/// Keys and values of all slots: per layer, rows of the heads' keys and of their values, one a cell.
pub fn kv(header: &Header, wanted: &Wanted) -> Bytes {
    kv_by(header, wanted, |_| true).0
}

/// The same in two parts: layers that `here` takes, and all others.
pub fn kv_by(header: &Header, wanted: &Wanted, here: impl Fn(usize) -> bool) -> (Bytes, Bytes) {
    let mut parts = (Bytes::ZERO, Bytes::ZERO);
    for (layer, &heads) in header.kv_heads.iter().enumerate() {
        let window = header.sliding_window.filter(|_| slides(header, layer));
        let bytes = kv_row(header, heads, &wanted.kv_type) * cells_of(wanted, window) * wanted.slots as u64;
        match here(layer) {
            true => parts.0 += bytes,
            false => parts.1 += bytes,
        }
    }
    parts
}

/// What one more token takes in every layer that keeps everything; layers with a window are counted too, so this is
/// the price of the first tokens and, without windows, of all.
pub fn kv_per_token(header: &Header, kv_type: &str) -> Bytes {
    header.kv_heads.iter().map(|&heads| kv_row(header, heads, kv_type)).sum()
}

fn slides(header: &Header, layer: usize) -> bool {
    header.sliding.get(layer).copied().unwrap_or(false)
}

/// Key and value of one token in one layer.
fn kv_row(header: &Header, heads: u32, kv_type: &str) -> Bytes {
    let kind = TensorType::by_name(kv_type);
    let (block, block_bytes) = kind.map_or((1, 2), |kind| (kind.block, kind.block_bytes));
    let row = |length: u32| Bytes((u64::from(heads) * u64::from(length)).div_ceil(block)) * block_bytes;
    row(header.key_length) + row(header.value_length)
}

/// Most rows at the end of a call that a sequence of recurrent layers can take back: the guess of a call that verifies
/// one (`n_rs_seq`).
const UNDO_MAX: u32 = 15;
/// Nodes of llama.cpp's graph for a state that is kept, a layer; and at most for everything else, a layer (44 are enough for
/// the 1.2B shape).
const STATE_NODES: u32 = 3;
const LAYER_NODES: u32 = 48;

/// Rows at the end of a call that can be taken back. The states after them are written by nodes of llama.cpp's graph,
/// which ends the process when it is full (`graph_max_nodes`: eight a tensor), so only of the architecture whose nodes
/// are known. With experts (`lfm2moe`) a call of several rows costs nearly as much as its rows, so nothing is guessed.
pub fn undo_rows(header: &Header) -> u32 {
    let recurrent = header.recurrent_layers() as u32;
    if header.architecture != "lfm2" || recurrent == 0 {
        return 0;
    }
    let nodes = (8 * header.tensors.len() as u32).max(1024);
    let left = nodes.saturating_sub(LAYER_NODES * (header.layers + 1));
    (left / (STATE_NODES * recurrent)).saturating_sub(1).min(UNDO_MAX)
}

/// One slot's states: that after the last row of a call, and those after the rows before it that can be taken back.
pub fn state(header: &Header) -> Bytes {
    state_once(header) * (1 + u64::from(undo_rows(header)))
}

/// One state: `l_cache - 1` columns of the hidden size in f32, per convolution layer. Recurrent layers of other families
/// (state spaces) are not known here and count as nothing.
fn state_once(header: &Header) -> Bytes {
    let columns = u64::from(header.conv_cache.unwrap_or(1).saturating_sub(1));
    Bytes(4) * columns * u64::from(header.embedding_length) * header.recurrent_layers() as u64
}

/// Checkpoints of all slots, each the recurrent state and the windows' keys and values. A call leaves one, and a turn of
/// a conversation may be a short call, so all that are kept at most are counted.
pub fn marks(header: &Header, wanted: &Wanted) -> Bytes {
    let number = u64::from(wanted.marks);
    let row: Bytes = header
        .kv_heads
        .iter()
        .enumerate()
        .filter(|(layer, _)| slides(header, *layer))
        .map(|(_, &heads)| kv_row(header, heads, &wanted.kv_type))
        .sum();
    // A full window is in every checkpoint; where nothing is dropped, checkpoints are half as long as the context on average.
    let cells = match header.sliding_window {
        Some(_) if wanted.swa_full => u64::from(wanted.context) / 2,
        Some(window) => u64::from(window).min(u64::from(wanted.context)),
        None => 0,
    };
    (state_once(header) + row * cells) * number * wanted.slots as u64
}

/// llama.cpp's own notes on cells: position, shift, the set of sequences, and two tree nodes for those in use.
pub fn cells(header: &Header, wanted: &Wanted) -> Bytes {
    if header.kv_heads.iter().all(|&heads| heads == 0) {
        return Bytes::ZERO;
    }
    let full = cells_of(wanted, None);
    let windowed = header.sliding_window.map_or(0, |window| cells_of(wanted, Some(window)));
    CELL * (full + windowed) * wanted.slots as u64
}

const CELL: Bytes = Bytes(160);
