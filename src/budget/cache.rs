//! What a context holds of the past: keys and values layer by layer, recurrent state, and a note on every cell.

use super::Wanted;
use crate::base::Bytes;
use crate::models::gguf::{Header, TensorType};

/// llama.cpp rounds every slot's cells up to a multiple of this (`GGML_PAD` in llama-context.cpp, llama-kv-cache-iswa.cpp).
pub const CELL_STEP: u64 = 256;

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
    let layers = header.kv_heads.iter().enumerate();
    let a_slot = layers.map(|(layer, &heads)| {
        let window = header.sliding_window.filter(|_| slides(header, layer));
        kv_row(header, heads, &wanted.kv_type) * cells_of(wanted, window)
    });
    a_slot.sum::<Bytes>() * wanted.slots as u64
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

/// One slot's state: `l_cache - 1` columns of the hidden size in f32, per convolution layer. Recurrent layers of other
/// families (state spaces) are not known here and count as nothing.
pub fn state(header: &Header) -> Bytes {
    let columns = u64::from(header.conv_cache.unwrap_or(1).saturating_sub(1));
    Bytes(4) * columns * u64::from(header.embedding_length) * header.recurrent_layers() as u64
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
