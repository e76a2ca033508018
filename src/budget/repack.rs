//! Which matrices the CPU code copies into an order of its own, and what the copies take.

use std::sync::OnceLock;

use crate::base::Bytes;
use crate::models::gguf::{Header, Tensor};

pub(super) const TOKENS: &str = "token_embd.weight";

/// Whether the token table is also the output matrix.
pub(super) fn is_tied(header: &Header) -> bool {
    header.tensors.iter().all(|tensor| tensor.name != "output.weight")
}

/// The copies a processor's matrix kernels want.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// Rows side by side (`ggml-cpu/repack.cpp`).
    Rows,
    /// Tiles of AMX first (`ggml-cpu/amx`), for the rest rows side by side.
    Tiles,
}

/// Of this machine. ggml compiles its AMX kernels for a processor that has them and AVX-512 VNNI, and the system tells in
/// the processor's flags whether it saves their registers.
fn order() -> Order {
    static ORDER: OnceLock<Order> = OnceLock::new();
    *ORDER.get_or_init(|| {
        let flagged = || {
            let about = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
            about.lines().find(|line| line.starts_with("flags")).is_some_and(|line| line.contains(" amx_int8"))
        };
        if cfg!(target_feature = "avx512vnni") && flagged() { Order::Tiles } else { Order::Rows }
    })
}

/// Whether matrices may lie in tiles on this machine at all.
pub fn has_tiles() -> bool {
    order() == Order::Tiles
}

/// What the copy of a matrix takes; `None` if it is used as it lies in the file.
pub(super) fn copy(tensor: &Tensor) -> Option<Bytes> {
    copy_in(order(), tensor)
}

fn copy_in(order: Order, tensor: &Tensor) -> Option<Bytes> {
    let tiles = (order == Order::Tiles && !is_batched(tensor)).then(|| tiles(tensor)).flatten();
    tiles.or_else(|| in_rows(tensor).then_some(tensor.bytes))
}

/// Matrices without experts whose rows fill pairs of tiles (`ggml::cpu::amx::extra_buffer_type`). Some blocks grow: by
/// a sum in 32 bits, or by scales that were packed.
fn tiles(tensor: &Tensor) -> Option<Bytes> {
    let &[columns, rows] = tensor.shape.as_slice() else { return None };
    let (block, more) = match tensor.kind.name {
        "Q4_0" | "Q4_1" => (32, 0),
        "Q8_0" => (32, 4),
        "Q4_K" | "Q5_K" => (256, 4),
        "Q6_K" => (256, 0),
        "IQ4_XS" => (256, 2),
        "F16" => (16, 0),
        _ => return None,
    };
    let fits = rows.is_multiple_of(32) && columns.is_multiple_of(block);
    fits.then(|| tensor.bytes + Bytes(more * rows * (columns / block)))
}

/// Where a matrix lies that is kept out of tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lies {
    InRows,
    AsInFile,
}

/// The matrices of a model that would lie in tiles and must not: its products with a batch of sequences would take it
/// for as many matrices as there are sequences, and read beyond it (`ggml-cpu/amx/mmq.cpp`; the kernels for rows side by
/// side go through the batch).
pub fn untiled(header: &Header) -> Vec<(&Tensor, Lies)> {
    untiled_in(order(), header)
}

fn untiled_in(order: Order, header: &Header) -> Vec<(&Tensor, Lies)> {
    let would = |tensor: &&Tensor| order == Order::Tiles && is_batched(tensor) && tiles(tensor).is_some();
    let lies = |tensor| if in_rows(tensor) { Lies::InRows } else { Lies::AsInFile };
    header.tensors.iter().filter(would).map(|tensor| (tensor, lies(tensor))).collect()
}

/// The convolutions of LFM2 multiply one matrix with a batch of sequences.
fn is_batched(tensor: &Tensor) -> bool {
    let layer = tensor.name.strip_prefix("blk.").and_then(|rest| rest.split_once('.'));
    layer.is_some_and(|(_, matrix)| ["shortconv.in_proj.weight", "shortconv.out_proj.weight"].contains(&matrix))
}

/// On x86 with AVX2 in groups of eight rows (`ggml_repack_get_optimal_repack_type`), on ARM also these.
fn in_rows(tensor: &Tensor) -> bool {
    let rows = tensor.shape.get(1).copied().unwrap_or(1);
    let everywhere = matches!(tensor.kind.name, "Q4_0" | "Q4_K" | "IQ4_NL" | "MXFP4");
    let here = match tensor.kind.name {
        "Q2_K" => cfg!(target_feature = "avx512f"),
        "Q5_K" | "Q6_K" | "Q8_0" => cfg!(target_arch = "aarch64"),
        _ => false,
    };
    tensor.shape.len() > 1 && (everywhere || here) && rows.is_multiple_of(8)
}

/// Whether any matrix of a model is copied. Such a file is read, others are mapped.
pub fn copies(header: &Header) -> bool {
    header.tensors.iter().any(|tensor| copy(tensor).is_some())
}

/// What the copies of a model take, and what is used as it lies in the file.
pub(super) fn split(header: &Header, repack: bool) -> (Bytes, Bytes) {
    if !repack {
        return (Bytes::ZERO, header.tensor_bytes());
    }
    // Without an output matrix the token table serves as one: multiplied from its copy, looked up in the original.
    let is_multiplied = |tensor: &&Tensor| tensor.name != TOKENS || is_tied(header);
    let is_kept = |tensor: &&Tensor| tensor.name == TOKENS || copy(tensor).is_none();
    let copies = header.tensors.iter().filter(is_multiplied).filter_map(copy).sum();
    let kept = header.tensors.iter().filter(is_kept).map(|tensor| tensor.bytes).sum();
    (copies, kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::example::hybrid;
    use crate::models::gguf::TensorType;

    fn tensor(name: &str, kind: &str, shape: &[u64], bytes: Bytes, offset: u64) -> Tensor {
        Tensor { name: name.into(), kind: TensorType::by_name(kind).unwrap(), shape: shape.to_vec(), bytes, offset }
    }

    fn check(order: Order, kind: &str, shape: &[u64], expected: Option<u64>) {
        let found = copy_in(order, &tensor("w", kind, shape, Bytes(1_000_000), 0));
        assert_eq!(found, expected.map(|more| Bytes(1_000_000 + more)), "{order:?} {kind} {shape:?}");
    }

    #[test]
    fn each_order_copies_what_it_has_kernels_for() {
        check(Order::Rows, "q4_0", &[256, 64], Some(0));
        check(Order::Rows, "q4_0", &[256, 60], None);
        check(Order::Rows, "q4_1", &[256, 64], None);
        check(Order::Rows, "f32", &[256, 64], None);
        check(Order::Tiles, "q4_1", &[256, 64], Some(0));
        check(Order::Tiles, "q8_0", &[256, 64], Some(4 * 64 * 8));
        check(Order::Tiles, "q4_k", &[512, 64], Some(4 * 64 * 2));
        // Half a pair of tiles, and experts: rows side by side.
        check(Order::Tiles, "q4_0", &[256, 40], Some(0));
        check(Order::Tiles, "q4_0", &[256, 64, 8], Some(0));
        check(Order::Tiles, "q4_1", &[256, 64, 8], None);
        check(Order::Tiles, "f32", &[256, 64], None);
    }

    #[test]
    fn convolutions_lie_in_rows_where_there_are_kernels_for_that_and_never_in_tiles() {
        let mut header = hybrid(4, 256, 0, "q8_0");
        let one = |name, kind| tensor(name, kind, &[256, 64], Bytes(1_000_000), 0);
        let (in_rows, as_in_file) = ("blk.0.shortconv.in_proj.weight", "blk.1.shortconv.out_proj.weight");
        header.tensors.extend([
            one(in_rows, "q4_0"),
            one(as_in_file, "q6_k"),
            one("blk.1.shortconv.conv.weight", "f32"),
        ]);
        let found = untiled_in(Order::Tiles, &header);
        let named: Vec<(&str, Lies)> = found.iter().map(|(tensor, lies)| (tensor.name.as_str(), *lies)).collect();
        // Six bits have kernels for rows on ARM, where there are no tiles.
        let six = if cfg!(target_arch = "aarch64") { Lies::InRows } else { Lies::AsInFile };
        assert_eq!(named, [(in_rows, Lies::InRows), (as_in_file, six)]);
        assert_eq!(copy_in(Order::Tiles, found[0].0), Some(Bytes(1_000_000)));
        assert_eq!(untiled_in(Order::Rows, &header), []);
    }

    #[test]
    fn copies_are_counted_once_but_a_shared_token_table_twice() {
        let eight = |name, kind, number: u64| tensor(name, kind, &[256, 64], Bytes::mib(8), number * Bytes::mib(8).0);
        let mut header = hybrid(4, 256, 64, "q4_0");
        header.tensors = vec![eight(TOKENS, "q4_0", 0), eight("blk.0.ffn_up.weight", "q4_0", 1), eight("b", "f32", 2)];
        let (all, one) = (header.tensor_bytes(), Bytes::mib(8));
        assert_eq!(split(&header, true), (one * 2, all.saturating_sub(one)));
        assert_eq!(split(&header, false), (Bytes::ZERO, all));
        header.tensors.push(eight("output.weight", "f32", 3));
        assert_eq!(split(&header, true).0, one);
    }
}
