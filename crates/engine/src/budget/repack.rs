//! Determines which matrices the CPU backend copies into another layout, and the size of the copies.

use std::sync::OnceLock;

use crate::base::Bytes;
use crate::models::architectures::{self, Work};
use crate::models::gguf::{Header, Tensor};

pub(super) const TOKENS: &str = "token_embd.weight";

/// Whether the token table is also the output matrix. Encoders have no output matrix, except that
/// the bound llama.cpp loads one for EmbeddingGemma.
pub(super) fn is_tied(header: &Header) -> bool {
    let has_output =
        architectures::work(&header.architecture) != Some(Work::Encodes) || header.architecture == "gemma-embedding";
    has_output && header.tensors.iter().all(|tensor| tensor.name != "output.weight")
}

/// The layout of copies for a CPU's matrix kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// Interleaved rows (`ggml-cpu/repack.cpp`).
    Rows,
    /// AMX tiles where possible (`ggml-cpu/amx`), else interleaved rows.
    Tiles,
}

/// The layout on this machine. ggml compiles its AMX kernels for CPUs with AMX and AVX-512 VNNI;
/// the flags in `/proc/cpuinfo` show whether the system supports AMX.
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

/// Whether this machine uses AMX tiles.
pub fn has_tiles() -> bool {
    order() == Order::Tiles
}

/// Size of the copy of a matrix; `None` if it is used as stored in the file.
pub(super) fn copy(tensor: &Tensor) -> Option<Bytes> {
    copy_in(order(), tensor)
}

fn copy_in(order: Order, tensor: &Tensor) -> Option<Bytes> {
    let tiles = (order == Order::Tiles && !is_batched(tensor)).then(|| tiles(tensor)).flatten();
    tiles.or_else(|| in_rows(tensor).then_some(tensor.bytes))
}

/// Size of the copy of a matrix in AMX tiles; `None` for experts and for matrices that do not fill pairs of tiles
/// (`ggml::cpu::amx::extra_buffer_type`). Some blocks grow by a 32-bit sum or by unpacked scales.
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

/// How to store a matrix that must not be in tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lies {
    /// Interleaved rows.
    InRows,
    AsInFile,
}

/// The model's matrices that could be in AMX tiles but must not be, because they are multiplied
/// with a batch of sequences. The AMX kernel would treat such a matrix as one matrix per sequence
/// and read out of bounds (`ggml-cpu/amx/mmq.cpp`); the kernels for interleaved rows handle
/// batches.
pub fn untiled(header: &Header) -> Vec<(&Tensor, Lies)> {
    untiled_in(order(), header)
}

fn untiled_in(order: Order, header: &Header) -> Vec<(&Tensor, Lies)> {
    let would = |tensor: &&Tensor| order == Order::Tiles && is_batched(tensor) && tiles(tensor).is_some();
    let lies = |tensor| if in_rows(tensor) { Lies::InRows } else { Lies::AsInFile };
    header.tensors.iter().filter(would).map(|tensor| (tensor, lies(tensor))).collect()
}

/// Whether a matrix is multiplied with a batch of sequences, as in LFM2's convolutions.
fn is_batched(tensor: &Tensor) -> bool {
    let layer = tensor.name.strip_prefix("blk.").and_then(|rest| rest.split_once('.'));
    layer.is_some_and(|(_, matrix)| ["shortconv.in_proj.weight", "shortconv.out_proj.weight"].contains(&matrix))
}

/// Whether a matrix is copied into rows interleaved in groups of eight
/// (`ggml_repack_get_optimal_repack_type`, for x86 with AVX2 and for ARM).
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

/// Whether any matrix of a model is copied. Such files are read instead of mapped.
pub fn copies(header: &Header) -> bool {
    header.tensors.iter().any(|tensor| copy(tensor).is_some())
}

/// Size of a model's copies, and of the tensors that are used as stored in the file.
pub(super) fn split(header: &Header, repack: bool) -> (Bytes, Bytes) {
    if !repack {
        return (Bytes::ZERO, header.used_tensors().map(|tensor| tensor.bytes).sum());
    }
    // A tied token table exists twice: the copy is multiplied as output matrix, the original is
    // used for lookups.
    let is_multiplied = |tensor: &&Tensor| tensor.name != TOKENS || is_tied(header);
    let is_kept = |tensor: &&Tensor| tensor.name == TOKENS || copy(tensor).is_none();
    let copies = header.used_tensors().filter(is_multiplied).filter_map(copy).sum();
    let kept = header.used_tensors().filter(is_kept).map(|tensor| tensor.bytes).sum();
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
    fn each_layout_copies_the_types_that_it_has_kernels_for() {
        check(Order::Rows, "q4_0", &[256, 64], Some(0));
        check(Order::Rows, "q4_0", &[256, 60], None);
        check(Order::Rows, "q4_1", &[256, 64], None);
        check(Order::Rows, "f32", &[256, 64], None);
        check(Order::Tiles, "q4_1", &[256, 64], Some(0));
        check(Order::Tiles, "q8_0", &[256, 64], Some(4 * 64 * 8));
        check(Order::Tiles, "q4_k", &[512, 64], Some(4 * 64 * 2));
        // Rows that do not fill pairs of tiles, and experts, are interleaved.
        check(Order::Tiles, "q4_0", &[256, 40], Some(0));
        check(Order::Tiles, "q4_0", &[256, 64, 8], Some(0));
        check(Order::Tiles, "q4_1", &[256, 64, 8], None);
        check(Order::Tiles, "f32", &[256, 64], None);
        check(Order::Tiles, "iq4_xs", &[512, 64], Some(2 * 64 * 2));
        check(Order::Tiles, "f16", &[256, 64], Some(0));
        check(Order::Tiles, "q4_1", &[256, 40], None);
        check(Order::Tiles, "q4_1", &[48, 64], None);
        check(Order::Rows, "q2_k", &[256, 64], cfg!(target_feature = "avx512f").then_some(0));
        check(Order::Rows, "q8_0", &[256, 64], cfg!(target_arch = "aarch64").then_some(0));
        assert!(copies(&hybrid(4, 256, 0, "q4_0")) && !copies(&hybrid(4, 256, 0, "f32")));
    }

    #[test]
    fn convolutions_are_in_interleaved_rows_or_as_in_the_file_but_never_in_tiles() {
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
        // Six-bit types have row kernels on ARM, which has no tiles.
        let six = if cfg!(target_arch = "aarch64") { Lies::InRows } else { Lies::AsInFile };
        assert_eq!(named, [(in_rows, Lies::InRows), (as_in_file, six)]);
        assert_eq!(copy_in(Order::Tiles, found[0].0), Some(Bytes(1_000_000)));
        assert_eq!(untiled_in(Order::Rows, &header), []);
    }

    #[test]
    fn copies_are_counted_once_but_a_tied_token_table_twice() {
        let eight = |name, kind, number: u64| tensor(name, kind, &[256, 64], Bytes::mib(8), number * Bytes::mib(8).0);
        let mut header = hybrid(4, 256, 64, "q4_0");
        header.tensors = vec![eight(TOKENS, "q4_0", 0), eight("blk.0.ffn_up.weight", "q4_0", 1), eight("b", "f32", 2)];
        let (all, one) = (header.tensor_bytes(), Bytes::mib(8));
        assert_eq!(split(&header, true), (one * 2, all.saturating_sub(one)));
        assert_eq!(split(&header, false), (Bytes::ZERO, all));
        header.tensors.push(eight("output.weight", "f32", 3));
        assert_eq!(split(&header, true).0, one);
        header.tensors[0].bytes = Bytes::mib(32);
        assert_eq!(split(&header, true), (one, Bytes::mib(32 + 8 + 8)));
        // Blocks that predict further tokens are not loaded.
        header.tensors.push(eight("blk.3.ffn_up.weight", "f32", 4));
        header.unused_blocks = 1;
        assert_eq!(split(&header, true), (one, Bytes::mib(32 + 8 + 8)));
        assert_eq!(split(&header, false), (Bytes::ZERO, Bytes::mib(32 + 8 + 8 + 8)));
    }
}
