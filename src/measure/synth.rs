//! Writes a model of a named shape with random weights, to measure time and memory of models that are not at hand.
//!
//! Speed and memory are those of the real model; its text is noise, and its experts are chosen evenly.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::quant::Quant;
use super::shape::{CONV_WIDTH, Planned, Shape, VOCABULARY};
use super::tokens::{self, Laid};
use super::weights::Weights;
use crate::base::{Bytes, Cancel};
use crate::models::gguf::write::{ALIGNMENT, HeaderWriter};
use crate::models::gguf::{GgufError, vocabulary};

#[derive(Debug, thiserror::Error)]
pub enum SynthError {
    #[error("the vocabulary cannot be taken from {0}")]
    Vocabulary(#[from] GgufError),
    #[error("{} cannot be written: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{} was not written: cancelled", path.display())]
    Cancelled { path: PathBuf },
}

/// Writes `out` and returns its size. The tokenizer is taken from `vocabulary_of`, a GGUF with byte-pair encoding: all of it, or as
/// many of its first tokens as the shape has.
/// `progress` gets (bytes written, bytes in total). The file gets its name when complete; an unfinished one is removed.
pub fn write(
    shape: Shape,
    quant: Quant,
    vocabulary_of: &Path,
    out: &Path,
    progress: &mut dyn FnMut(u64, u64),
    cancel: &Cancel,
) -> Result<Bytes, SynthError> {
    let plan = shape.tensors();
    let (header, data_bytes) = header(shape, quant, &plan, vocabulary_of)?;
    let total = header.len() as u64 + data_bytes;
    let partial = Partial(partial_of(out));
    let fail = |source| SynthError::Io { path: partial.0.clone(), source };
    let mut file = File::create(&partial.0).map_err(fail)?;
    file.write_all(&header).map_err(fail)?;
    let mut done = header.len() as u64;
    let mut weights = Weights::new(quant, SEED);
    for tensor in &plan {
        let start = done;
        weights.write(tensor, |piece| {
            if cancel.is_cancelled() {
                return Err(SynthError::Cancelled { path: out.to_owned() });
            }
            file.write_all(piece).map_err(fail)?;
            done += piece.len() as u64;
            progress(done, total);
            Ok(())
        })?;
        let padding = (done - start).next_multiple_of(ALIGNMENT) - (done - start);
        file.write_all(&[0; ALIGNMENT as usize][..padding as usize]).map_err(fail)?;
        done += padding;
    }
    progress(done, total);
    drop(file);
    fs::rename(&partial.0, out).map_err(|source| SynthError::Io { path: out.to_owned(), source })?;
    Ok(Bytes(done))
}

fn partial_of(out: &Path) -> PathBuf {
    let mut name = out.as_os_str().to_owned();
    name.push(".partial");
    PathBuf::from(name)
}

/// A fixed seed, so that files of one shape are equal byte for byte.
const SEED: u64 = 0x4c46_4d32;

/// The unfinished file, removed on drop; after the rename there is nothing to remove.
struct Partial(PathBuf);

impl Drop for Partial {
    fn drop(&mut self) {
        // It was renamed or cannot be removed: nothing more can be done here.
        let _ = fs::remove_file(&self.0);
    }
}

/// The file's header, and the number of bytes of weights that follow it.
fn header(shape: Shape, quant: Quant, plan: &[Planned], vocabulary_of: &Path) -> Result<(Vec<u8>, u64), SynthError> {
    let words = vocabulary(vocabulary_of)?;
    let Laid { tokens, types, merges } = tokens::lay_out(&words, VOCABULARY as usize);
    let all = shape.dimensions();
    let key = |name: &str| format!("{}.{name}", all.architecture);
    let kv_heads: Vec<i32> = (0..all.layers).map(|layer| all.kv_heads_of(layer) as i32).collect();
    let mut writer = HeaderWriter::new(all.architecture)
        .text("general.type", "model")
        .text("general.name", &format!("{shape} {quant}, random weights"))
        .text("general.description", "Random weights: for measuring time and memory, not for words.")
        .u32("general.file_type", quant.file_type())
        .u32("general.quantization_version", 2)
        .u32(&key("block_count"), all.layers)
        .u32(&key("context_length"), 32_768)
        .u32(&key("embedding_length"), all.hidden as u32)
        .u32(&key("feed_forward_length"), all.dense_ff as u32)
        .u32(&key("attention.head_count"), all.heads)
        .i32s(&key("attention.head_count_kv"), &kv_heads)
        .f32(&key("attention.layer_norm_rms_epsilon"), 1e-5)
        .f32(&key("rope.freq_base"), 1e6)
        .u32(&key("vocab_size"), VOCABULARY as u32);
    writer = if all.is_bitnet() {
        writer.u32(&key("rope.dimension_count"), all.head_length() as u32)
    } else {
        writer.u32(&key("shortconv.l_cache"), CONV_WIDTH as u32)
    };
    if all.experts > 0 {
        writer = writer
            .u32(&key("expert_count"), all.experts as u32)
            .u32(&key("expert_used_count"), all.experts_used)
            .u32(&key("expert_feed_forward_length"), all.expert_ff as u32)
            .u32(&key("leading_dense_block_count"), all.leading_dense)
            .u32(&key("expert_gating_func"), GATING_SIGMOID);
    }
    writer = writer
        .text("tokenizer.ggml.model", &words.model)
        .text("tokenizer.ggml.pre", &words.pre)
        .texts("tokenizer.ggml.tokens", &tokens)
        .i32s("tokenizer.ggml.token_type", &types)
        .texts("tokenizer.ggml.merges", &merges)
        .u32("tokenizer.ggml.bos_token_id", tokens::BEGIN)
        .u32("tokenizer.ggml.eos_token_id", tokens::END_OF_TURN)
        .u32("tokenizer.ggml.padding_token_id", tokens::PAD)
        .bool("tokenizer.ggml.add_bos_token", true)
        .text("tokenizer.chat_template", tokens::CHAT_TEMPLATE);
    for tensor in plan {
        writer.tensor(&tensor.name, &tensor.shape, tensor.kind(quant));
    }
    let data_bytes = writer.data_bytes();
    Ok((writer.finish(), data_bytes))
}

/// `LLAMA_EXPERT_GATING_FUNC_TYPE_SIGMOID`; llama.cpp refuses an lfm2moe file without the key.
const GATING_SIGMOID: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::dialect;
    use crate::models::gguf::inspect;

    /// A folder with a GGUF that has a small byte-pair vocabulary, and that file's path.
    fn vocabulary_file() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let words = HeaderWriter::new("llama")
            .text("tokenizer.ggml.model", "gpt2")
            .text("tokenizer.ggml.pre", "smollm")
            .texts("tokenizer.ggml.tokens", &["<|im_start|>", "a", "b", "ab"].map(str::to_owned))
            .texts("tokenizer.ggml.merges", &["a b".to_owned()]);
        let path = dir.path().join("words.gguf");
        fs::write(&path, words.finish()).unwrap();
        (dir, path)
    }

    fn synth(shape: Shape, quant: Quant, out: &Path, words: &Path) -> Result<Bytes, SynthError> {
        write(shape, quant, words, out, &mut |_, _| (), &Cancel::new())
    }

    #[test]
    fn a_written_file_is_complete_and_has_the_requested_shape() {
        let (dir, words) = vocabulary_file();
        for (shape, quant) in [(Shape::TinyLfm2, Quant::Q8_0), (Shape::TinyLfm2Moe, Quant::Q4_0)] {
            let out = dir.path().join(format!("{shape}.gguf"));
            let bytes = synth(shape, quant, &out, &words).unwrap();
            assert!(bytes < Bytes::mib(20) && bytes.0 == fs::metadata(&out).unwrap().len(), "{shape}: {bytes}");
            let header = inspect(&out).unwrap();
            assert_eq!(header.parameters, shape.tensors().iter().map(Planned::parameters).sum::<u64>());
            assert_eq!(header.kv_heads, [0, 2, 0, 2]);
            assert_eq!(
                (header.vocabulary, header.bos, header.eos, header.conv_cache),
                (65_536, Some(1), Some(7), Some(3))
            );
            assert_eq!(header.quantisation(), quant.to_string().to_uppercase());
            assert_eq!(header.begin.as_deref(), Some("<|startoftext|>"));
            assert_eq!(dialect::choose(&header, "auto", None).name(), "lfm2");
        }
        let moe = inspect(&dir.path().join("tiny-lfm2moe.gguf")).unwrap();
        assert_eq!((moe.experts, moe.experts_used), (8, 2));
    }

    #[test]
    fn a_cancelled_file_leaves_nothing_behind() {
        let (dir, words) = vocabulary_file();
        let out = dir.path().join("m.gguf");
        let cancel = Cancel::new();
        let stop_soon = cancel.clone();
        let stopped = write(Shape::TinyLfm2, Quant::Q4_0, &words, &out, &mut |_, _| stop_soon.cancel(), &cancel);
        assert!(matches!(stopped, Err(SynthError::Cancelled { .. })));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
