//! Lists the tensor types of ggml, with the number of values and bytes per block.

use serde::{Serialize, Serializer};

/// A tensor type: `block` values take `block_bytes` bytes.
#[derive(Debug, PartialEq, Eq)]
pub struct TensorType {
    /// Number in the file.
    pub id: u32,
    pub name: &'static str,
    pub block: u64,
    pub block_bytes: u64,
}

impl TensorType {
    pub fn by_id(id: u32) -> Option<&'static TensorType> {
        TYPES.iter().find(|kind| kind.id == id)
    }

    /// By name in any case: `q8_0`, `F16`.
    pub fn by_name(name: &str) -> Option<&'static TensorType> {
        TYPES.iter().find(|kind| kind.name.eq_ignore_ascii_case(name))
    }

    /// Size of `values` values in bytes; `None` if they do not fill whole blocks, or on overflow.
    pub fn bytes(&self, values: u64) -> Option<u64> {
        values.is_multiple_of(self.block).then(|| (values / self.block).checked_mul(self.block_bytes)).flatten()
    }
}

impl Serialize for TensorType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}

const fn kind(id: u32, name: &'static str, block: u64, block_bytes: u64) -> TensorType {
    TensorType { id, name, block, block_bytes }
}

/// `enum ggml_type` of ggml.h with the block structures of ggml-common.h (llama.cpp as bound by
/// llama-cpp-2 0.1.160). Missing numbers were removed from ggml.
static TYPES: [TensorType; 35] = [
    kind(0, "F32", 1, 4),
    kind(1, "F16", 1, 2),
    kind(2, "Q4_0", 32, 18),
    kind(3, "Q4_1", 32, 20),
    kind(6, "Q5_0", 32, 22),
    kind(7, "Q5_1", 32, 24),
    kind(8, "Q8_0", 32, 34),
    kind(9, "Q8_1", 32, 36),
    kind(10, "Q2_K", 256, 84),
    kind(11, "Q3_K", 256, 110),
    kind(12, "Q4_K", 256, 144),
    kind(13, "Q5_K", 256, 176),
    kind(14, "Q6_K", 256, 210),
    kind(15, "Q8_K", 256, 292),
    kind(16, "IQ2_XXS", 256, 66),
    kind(17, "IQ2_XS", 256, 74),
    kind(18, "IQ3_XXS", 256, 98),
    kind(19, "IQ1_S", 256, 50),
    kind(20, "IQ4_NL", 32, 18),
    kind(21, "IQ3_S", 256, 110),
    kind(22, "IQ2_S", 256, 82),
    kind(23, "IQ4_XS", 256, 136),
    kind(24, "I8", 1, 1),
    kind(25, "I16", 1, 2),
    kind(26, "I32", 1, 4),
    kind(27, "I64", 1, 8),
    kind(28, "F64", 1, 8),
    kind(29, "IQ1_M", 256, 56),
    kind(30, "BF16", 1, 2),
    kind(34, "TQ1_0", 256, 54),
    kind(35, "TQ2_0", 256, 66),
    kind(39, "MXFP4", 32, 17),
    kind(40, "NVFP4", 64, 36),
    kind(41, "Q1_0", 128, 18),
    kind(42, "Q2_0", 64, 18),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, values: u64, expected: Option<u64>) {
        assert_eq!(TensorType::by_name(name).and_then(|kind| kind.bytes(values)), expected, "{name} × {values}");
    }

    #[test]
    fn sizes_follow_the_blocks() {
        check("f32", 2048, Some(8192));
        check("q4_0", 2048, Some(1152));
        check("q8_0", 64, Some(68));
        check("Q4_K", 256, Some(144));
        check("q8_0", 33, None);
        check("f64", u64::MAX, None);
        check("q9_9", 1, None);
    }

    #[test]
    fn type_numbers_and_names_are_unique() {
        for (index, kind) in TYPES.iter().enumerate() {
            assert!(TYPES[..index].iter().all(|other| other.id != kind.id && other.name != kind.name), "{}", kind.name);
        }
    }
}
