//! Tests that split models are read as one, and that files other than chat models are recognised.

use std::fs;
use std::path::{Path, PathBuf};

use super::write::HeaderWriter;
use super::*;

/// The parts of a model, each with one tensor of 64 × (index + 1) f32 values.
fn parts(dir: &Path, count: u16) -> Vec<PathBuf> {
    let one = |index: u16| {
        let writer = match index {
            0 => {
                HeaderWriter::new("llama").text("tokenizer.chat_template", "{{ messages }}").u32("llama.block_count", 1)
            }
            _ => HeaderWriter::default(),
        };
        let mut writer = writer.u16("split.no", index).u16("split.count", count);
        let rows = u64::from(index) + 1;
        writer.tensor(&format!("blk.{index}.w"), &[64, rows], TensorType::by_name("f32").unwrap());
        let path = dir.join(format!("m-{:05}-of-{count:05}.gguf", index + 1));
        fs::write(&path, writer.finish_with_zeros()).unwrap();
        path
    };
    (0..count).map(one).collect()
}

#[test]
fn the_parts_of_a_split_model_are_one_model() {
    let dir = tempfile::tempdir().unwrap();
    let parts = parts(dir.path(), 3);
    for named in &parts {
        let header = inspect(named).unwrap();
        assert_eq!((&header.path, &header.files), (&parts[0], &parts));
        assert_eq!((header.parameters, header.tensor_bytes()), (64 * 6, Bytes(4 * 64 * 6)));
        let sizes = parts.iter().map(|part| fs::metadata(part).unwrap().len()).sum();
        assert_eq!(header.file_bytes, Bytes(sizes));
        assert!(header.is_chat());
    }
}

fn check(path: &Path, expected: &[&str]) {
    let said = inspect(path).unwrap_err().to_string();
    for part in expected {
        assert!(said.contains(part), "`{said}` does not say `{part}`");
    }
}

#[test]
fn a_split_model_that_is_not_whole_names_what_is_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let parts = parts(dir.path(), 3);
    let renamed = dir.path().join("model.gguf");
    fs::copy(&parts[1], &renamed).unwrap();
    check(&renamed, &["is part 2 of 3 of a split model", "end its name in -00002-of-00003.gguf"]);
    fs::copy(&parts[1], &parts[2]).unwrap();
    check(&parts[0], &["m-00003-of-00003.gguf", "split.no is 1, the file's name says 2"]);
    fs::remove_file(&parts[2]).unwrap();
    check(&parts[0], &["one of 3 parts", "m-00003-of-00003.gguf is missing; fetch that too"]);
    fs::write(&parts[2], HeaderWriter::default().u32("split.no", 2).finish()).unwrap();
    check(&parts[0], &["m-00003-of-00003.gguf", "the key split.no is missing, or is not a 16-bit integer"]);
}

fn kind(architecture: &str, change: impl Fn(HeaderWriter) -> HeaderWriter, tensors: &[&str]) -> Kind {
    let mut writer = change(HeaderWriter::new(architecture));
    tensors.iter().for_each(|tensor| writer.tensor(tensor, &[64], TensorType::by_name("f32").unwrap()));
    header(Path::new("m.gguf"), &writer.finish_with_zeros()).unwrap().kind
}

#[test]
fn a_file_is_told_by_its_header() {
    let template = |writer: HeaderWriter| writer.text("tokenizer.chat_template", "{{ messages }}");
    let of = |architecture, tensors: &[&str]| kind(architecture, template, tensors);
    assert_eq!(of("qwen3", &["blk.0.attn_q.weight"]), Kind::Chat);
    assert_eq!(of("qwen35", &["blk.0.attn_q.weight", "blk.32.nextn.eh_proj.weight"]), Kind::Chat);
    assert_eq!(of("qwen35", &["blk.32.attn_q.weight", "blk.32.nextn.eh_proj.weight"]), Kind::Draft);
    assert_eq!(of("gemma4-assistant", &[]), Kind::Draft);
    assert_eq!(of("clip", &["v.blk.0.attn_q.weight"]), Kind::Projector);
    assert_eq!(of("llada", &[]), Kind::Other);
    assert_eq!(of("nomic-bert", &[]), Kind::Embedding);
    assert_eq!(of("bert", &["cls.weight"]), Kind::Reranker);
    assert_eq!(kind("qwen3", |writer| writer, &["blk.0.attn_q.weight"]), Kind::Base);
    let pooled = |by: u32| move |writer: HeaderWriter| template(writer.u32("qwen3.pooling_type", by));
    assert_eq!(kind("qwen3", pooled(3), &[]), Kind::Embedding);
    assert_eq!(kind("qwen3", pooled(4), &[]), Kind::Reranker);
    let two_ways = |writer: HeaderWriter| template(writer.bool("gemma3.attention.causal", false));
    assert_eq!(kind("gemma3", two_ways, &[]), Kind::Embedding);
    let said = |what: &'static str| move |writer: HeaderWriter| template(writer.text("general.type", what));
    assert_eq!(kind("llama", said("adapter"), &[]), Kind::Adapter);
    assert_eq!(kind("qwen2vl", said("mmproj"), &[]), Kind::Projector);
    assert_eq!(kind("llama", said("imatrix"), &[]), Kind::Data);
}
