//! Tests that the header reader reads good files, reports the flaw of bad ones, and never panics.

use proptest::prelude::*;

use super::write::HeaderWriter;
use super::*;

/// A hybrid model of three layers, the first a convolution layer, with 2 × 64 + 64 × 32 weights.
fn sample() -> Vec<u8> {
    let mut writer = HeaderWriter::new("lfm2")
        .text("general.name", "Tiny")
        .u32("lfm2.block_count", 3)
        .u32("lfm2.embedding_length", 64)
        .u32("lfm2.attention.head_count", 4)
        .i32s("lfm2.attention.head_count_kv", &[0, 2, 2])
        .f32("lfm2.attention.layer_norm_rms_epsilon", 1e-5)
        .u32("lfm2.shortconv.l_cache", 3)
        .u32("lfm2.context_length", 2048)
        .bool("tokenizer.ggml.add_bos_token", true)
        .texts("tokenizer.ggml.tokens", &["a".into(), "b".into(), "ab".into()])
        .texts("tokenizer.ggml.merges", &["a b".into()])
        .text("tokenizer.chat_template", "{{ messages }}")
        .u32("tokenizer.ggml.bos_token_id", 1);
    writer.tensor("norm", &[64, 2], TensorType::by_name("f32").unwrap());
    writer.tensor("weight", &[64, 32], TensorType::by_name("q8_0").unwrap());
    writer.finish_with_zeros()
}

fn flaw(bytes: &[u8]) -> String {
    header(Path::new("model.gguf"), bytes).expect_err("the file is broken").to_string()
}

fn check(bytes: &[u8], expected: &str) {
    let said = flaw(bytes);
    assert!(said.contains(expected), "`{said}` does not say `{expected}`");
}

#[test]
fn a_header_is_read_without_its_weights() {
    let header = header(Path::new("dir/model.gguf"), &sample()).unwrap();
    assert_eq!((header.architecture.as_str(), header.name.as_str()), ("lfm2", "Tiny"));
    assert_eq!(header.parameters, 2 * 64 + 64 * 32);
    assert_eq!(header.kv_heads, [0, 2, 2]);
    assert_eq!(header.recurrent_layers(), 1);
    let attention = Layer { key: 32, value: 32, ..Layer::default() };
    assert_eq!(header.kept, [Layer { state: 128, ..Layer::default() }, attention, attention]);
    assert_eq!((header.key_length, header.value_length), (16, 16));
    assert_eq!((header.vocabulary, header.context_train, header.bos, header.eos), (3, 2048, Some(1), None));
    assert_eq!(header.quantisation(), "Q8_0");
    assert_eq!(header.mix["F32"], Share { tensors: 1, parameters: 128, bytes: Bytes(512) });
    assert_eq!(header.tensor_bytes(), Bytes(512 + 64 * 34));
    assert_eq!(header.begin.as_deref(), Some("b"));
    assert!(header.is_chat());
}

#[test]
fn the_makers_sampling_is_read_where_its_numbers_make_sense() {
    let writer = HeaderWriter::new("llama").f32("general.sampling.temp", 0.7).u32("general.sampling.top_k", 20);
    let bytes = writer
        .f32("general.sampling.top_p", 1.5)
        .f32("general.sampling.min_p", f32::NAN)
        .u32("general.sampling.penalty_repeat", 1)
        .text("general.sampling.penalty_last_n", "64")
        .finish();
    let read = header(Path::new("m.gguf"), &bytes).unwrap().sampling;
    let said = Sampling { temperature: Some(0.7), top_k: Some(20), penalty_repeat: Some(1.0), ..Sampling::default() };
    assert_eq!(read, said);
    assert!(!read.is_silent() && header(Path::new("m.gguf"), &sample()).unwrap().sampling.is_silent());
}

#[test]
fn a_scalar_number_of_kv_heads_holds_for_every_layer() {
    let bytes = HeaderWriter::new("llama").u32("llama.block_count", 4).u32("llama.attention.head_count_kv", 3).finish();
    assert_eq!(header(Path::new("m.gguf"), &bytes).unwrap().kv_heads, [3, 3, 3, 3]);
}

#[test]
fn a_file_that_is_something_else_is_recognised() {
    check(b"", "is empty (0 bytes)");
    check(b"\x40\0\0\0\0\0\0\0{\"a\":{}}", "looks like safetensors");
    check(b"PK\x03\x04abc", "zip archive");
    check(b"<!DOCTYPE html><html>", "web page");
    check(b"version https://git-lfs.github.com/spec/v1\n", "git-lfs");
    check(&[0; 100], "file of zeros");
    check(b"GGUF\0\0\0\x03", "big-endian");
    check(b"GGUF\x01\0\0\0", "version 1");
}

#[test]
fn a_cut_file_says_how_much_is_missing() {
    let whole = sample();
    check(&whole[..whole.len() - 1000], &format!("has {} bytes but its tensors end at byte", whole.len() - 1000));
    check(&whole[..200], "ends inside its header, at byte 200");
    check(&whole[..10], "the number of tensors");
}

#[test]
fn an_unknown_tensor_type_is_named() {
    let strange = TensorType { id: 77, name: "X", block: 1, block_bytes: 1 };
    let mut writer = HeaderWriter::new("llama");
    writer.tensor("blk.0.odd", &[8], &strange);
    check(&writer.finish(), "tensor blk.0.odd as type 77");
}

#[test]
fn absurd_counts_are_refused_before_allocation() {
    let mut bytes = sample();
    bytes[8..16].copy_from_slice(&u64::MAX.to_le_bytes());
    check(&bytes, "18446744073709551615 tensors");
    let layers = HeaderWriter::new("llama").u32("llama.block_count", u32::MAX).finish();
    check(&layers, "the key llama.block_count is 4294967295; a model has 1 to 512 layers");
    let twice = HeaderWriter::new("llama").u32("a", 1).u32("a", 1).finish();
    check(&twice, "the key a occurs twice");
    check(&HeaderWriter::default().u32("a", 1).finish(), "general.architecture is missing");
}

#[test]
fn the_vocabulary_comes_back_as_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.gguf");
    std::fs::write(&path, sample()).unwrap();
    let vocabulary = vocabulary(&path).unwrap();
    assert_eq!(vocabulary.tokens, ["a", "b", "ab"]);
    assert_eq!(vocabulary.types, [1, 1, 1]);
    assert_eq!(vocabulary.merges, ["a b"]);
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = header(Path::new("m.gguf"), &bytes);
        let _ = header(Path::new("m.gguf"), &[b"GGUF\x03\0\0\0", bytes.as_slice()].concat());
    }

    #[test]
    fn a_truncated_header_is_always_an_error(cut in 0.0f64..1.0) {
        let whole = sample();
        let length = (whole.len() as f64 * cut) as usize;
        prop_assert!(header(Path::new("m.gguf"), &whole[..length]).is_err());
    }

    #[test]
    fn changed_bytes_never_panic(changes in proptest::collection::vec((0usize..900, any::<u8>()), 1..8)) {
        let mut bytes = sample();
        for (at, byte) in changes {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        let _ = header(Path::new("m.gguf"), &bytes);
    }
}
