//! Which matrices the CPU code copies into an order of its own, what the copies take, and what of the file stays in memory.

use std::collections::BTreeSet;
use std::ops::Range;
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
        let has_tiles = || {
            let about = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
            about.lines().find(|line| line.starts_with("flags")).is_some_and(|line| line.contains(" amx_int8"))
        };
        if cfg!(target_feature = "avx512vnni") && has_tiles() { Order::Tiles } else { Order::Rows }
    })
}

/// What the copy of a matrix takes; `None` if it is used as it lies in the file.
pub(super) fn copy(tensor: &Tensor) -> Option<Bytes> {
    copy_in(order(), tensor)
}

fn copy_in(order: Order, tensor: &Tensor) -> Option<Bytes> {
    let tiles = (order == Order::Tiles).then(|| tiles(tensor)).flatten();
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

/// What the copies of a model take, and what of its mapped file stays in memory beside them.
pub(super) fn split(header: &Header, repack: bool) -> (Bytes, Bytes) {
    if !repack {
        return (Bytes::ZERO, header.tensor_bytes());
    }
    // Without an output matrix the token table serves as one: multiplied from its copy, looked up in the original.
    let multiplied = |tensor: &&Tensor| tensor.name != TOKENS || is_tied(header);
    let copies = header.tensors.iter().filter(multiplied).filter_map(copy).sum();
    (copies, resident(header))
}

/// Linux keeps large files in memory in blocks of this size and maps a whole one for a look at any part of it.
const BLOCK: u64 = 2 << 20;

/// Of the mapped file, what stays in memory when the copied matrices were given back: every block in which a tensor lies
/// that is still used. Measured for the 1.2B at Q4_0: 114 MiB, of which 72 are such tensors.
fn resident(header: &Header) -> Bytes {
    let ranges = copied_ranges(header);
    let moved: u64 = ranges.iter().map(|range| range.end - range.start).sum();
    let used = header.tensor_bytes().saturating_sub(Bytes(moved));
    if ranges.is_empty() {
        return used;
    }
    let kept = header.tensors.iter().filter(|tensor| tensor.name == TOKENS || copy(tensor).is_none());
    let blocks: BTreeSet<u64> = kept
        .filter(|tensor| tensor.bytes > Bytes::ZERO)
        .flat_map(|tensor| tensor.offset / BLOCK..=(tensor.offset + tensor.bytes.0 - 1) / BLOCK)
        .collect();
    (Bytes(BLOCK) * blocks.len() as u64).min(header.tensor_bytes()).max(used)
}

/// Where in the file those matrices lie whose copy is used in their place.
pub fn copied_ranges(header: &Header) -> Vec<Range<u64>> {
    let copied = header.tensors.iter().filter(|tensor| tensor.name != TOKENS && copy(tensor).is_some());
    copied.map(|tensor| tensor.offset..tensor.offset + tensor.bytes.0).collect()
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

    #[test]
    fn small_tensors_between_copied_ones_keep_their_blocks() {
        let norm = |name, offset| tensor(name, "f32", &[256, 64], Bytes(8192), offset);
        let matrix = |name, offset| tensor(name, "q4_0", &[256, 64], Bytes::mib(20), offset);
        let mib = 1 << 20;
        let mut header = hybrid(4, 256, 64, "q4_0");
        header.tensors =
            vec![norm("a", 0), matrix("b", 8192), norm("c", 20 * mib + 8192), matrix("d", 20 * mib + 16_384)];
        assert_eq!(split(&header, true), (Bytes::mib(40), Bytes::mib(4)));
        assert_eq!(split(&header, false).1, header.tensor_bytes());
    }
}
