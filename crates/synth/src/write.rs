//! Writes a model of a named shape with random weights, to measure time and memory of models that are not available.
//!
//! Speed and memory are those of the real model; its text is noise, and its experts are chosen
//! evenly.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::projector;
use crate::quant::Quant;
use crate::shape::{Blueprint, Planned, Shape};
use crate::tokens::{self, Laid};
use crate::weights::Weights;
use monobloc_base::{Bytes, Cancel};
use monobloc_engine::models::gguf::write::{ALIGNMENT, HeaderWriter};
use monobloc_engine::models::gguf::{GgufError, inspect, vocabulary};

/// The file to write.
#[derive(Clone, Debug)]
pub struct Recipe {
    pub shape: Shape,
    pub quant: Quant,
    /// A GGUF from which the tokenizer is copied: its complete vocabulary, or as many of its first
    /// tokens as fit.
    pub vocabulary_of: PathBuf,
    /// Number of vocabulary entries; `None` for as many as the model has.
    pub tokens: Option<u64>,
    /// Whether the weights are omitted: the file has a hole in their place, which takes no disk
    /// space. Sufficient for everything that reads only the header.
    pub hollow: bool,
}

impl Recipe {
    pub fn new(shape: Shape, quant: Quant, vocabulary_of: &Path) -> Recipe {
        Recipe { shape, quant, vocabulary_of: vocabulary_of.to_owned(), tokens: None, hollow: false }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum SynthError {
    #[error("the vocabulary cannot be taken from {0}")]
    Vocabulary(#[from] GgufError),
    #[error("the width for a projector cannot be taken from {0}")]
    Width(GgufError),
    #[error("{} cannot be converted: {why}", path.display())]
    Folder { path: PathBuf, why: String },
    #[error("{} cannot be written: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{} was not written: cancelled", path.display())]
    Cancelled { path: PathBuf },
}

/// Writes `out` and returns its size. `progress` gets (bytes written, total bytes). The file gets
/// its name when complete; an unfinished one is removed.
pub fn write(
    recipe: &Recipe,
    out: &Path,
    progress: &mut dyn FnMut(u64, u64),
    cancel: &Cancel,
) -> Result<Bytes, SynthError> {
    let count = recipe.tokens.unwrap_or(recipe.shape.vocabulary()).max(tokens::LEAST);
    let plan = recipe.shape.blueprint(count);
    let header = header(recipe, &plan, count)?;
    write_file(header, &plan.tensors, recipe, out, progress, cancel)
}

/// Writes a projector next to a written model, as `mmproj-NAME`, so that the model accepts
/// pictures. Returns its path and size.
pub fn write_projector(model: &Path, recipe: &Recipe, cancel: &Cancel) -> Result<(PathBuf, Bytes), SynthError> {
    let text = inspect(model).map_err(SynthError::Width)?;
    let (header, tensors) = projector::plan(text.embedding_length.into(), GRID.contains(&text.architecture.as_str()));
    let out = model.with_file_name(format!("mmproj-{}", model.file_name().unwrap_or_default().to_string_lossy()));
    let bytes = write_file(header, &tensors, recipe, &out, &mut |_, _| (), cancel)?;
    Ok((out, bytes))
}

/// Architectures among our shapes whose positions encode rows and columns of a picture.
const GRID: [&str; 2] = ["qwen35", "qwen35moe"];

/// Writes a header with the tensors added, and their weights.
fn write_file(
    mut header: HeaderWriter,
    tensors: &[Planned],
    recipe: &Recipe,
    out: &Path,
    progress: &mut dyn FnMut(u64, u64),
    cancel: &Cancel,
) -> Result<Bytes, SynthError> {
    for tensor in tensors {
        header.tensor(&tensor.name, &tensor.shape, tensor.kind(recipe.quant));
    }
    let data_bytes = header.data_bytes();
    let header = header.finish();
    let total = header.len() as u64 + data_bytes;
    let partial = Partial(partial_of(out));
    let fail = |source| SynthError::Io { path: partial.0.clone(), source };
    let mut file = File::create(&partial.0).map_err(fail)?;
    file.write_all(&header).map_err(fail)?;
    let mut done = header.len() as u64;
    if recipe.hollow {
        file.set_len(total).map_err(fail)?;
        done = total;
    }
    let mut weights = Weights::new(recipe.quant, SEED);
    for tensor in tensors.iter().filter(|_| !recipe.hollow) {
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

/// A fixed seed, so that files of the same shape are byte-for-byte equal.
const SEED: u64 = 0x4c46_4d32;

/// The unfinished file, removed on drop; after the rename there is nothing to remove.
struct Partial(PathBuf);

impl Drop for Partial {
    fn drop(&mut self) {
        // It was renamed or cannot be removed: nothing more can be done here.
        let _ = fs::remove_file(&self.0);
    }
}

/// The file's header without its tensors.
fn header(recipe: &Recipe, plan: &Blueprint, count: u64) -> Result<HeaderWriter, SynthError> {
    let Recipe { shape, quant, .. } = recipe;
    let words = vocabulary(&recipe.vocabulary_of)?;
    let Laid { tokens, types, merges, scores } = tokens::lay_out(&words, count as usize);
    let mut writer = plan
        .header()
        .text("general.type", "model")
        .text("general.name", &format!("{shape} {quant}, random weights"))
        .text("general.description", "Random weights: for measuring time and memory, not for words.")
        .u32("general.file_type", quant.file_type())
        .u32("general.quantization_version", 2)
        .u32(&format!("{}.vocab_size", plan.architecture), count as u32)
        .text("tokenizer.ggml.model", &words.model)
        .text("tokenizer.ggml.pre", &words.pre)
        .texts("tokenizer.ggml.tokens", &tokens)
        .i32s("tokenizer.ggml.token_type", &types)
        .u32("tokenizer.ggml.bos_token_id", tokens::BEGIN)
        .u32("tokenizer.ggml.eos_token_id", tokens::END_OF_TURN)
        .u32("tokenizer.ggml.padding_token_id", tokens::PAD)
        .bool("tokenizer.ggml.add_bos_token", true)
        .text("tokenizer.chat_template", tokens::CHAT_TEMPLATE);
    if !merges.is_empty() {
        writer = writer.texts("tokenizer.ggml.merges", &merges);
    }
    if !scores.is_empty() {
        writer = writer.f32s("tokenizer.ggml.scores", &scores);
    }
    Ok(writer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use monobloc_engine::models::dialect;
    use monobloc_engine::models::gguf::Kind;

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
        write(&Recipe::new(shape, quant, words), out, &mut |_, _| (), &Cancel::new())
    }

    #[test]
    fn a_written_file_is_complete_and_has_the_requested_shape() {
        let (dir, words) = vocabulary_file();
        for (shape, quant) in [(Shape::TinyLfm2, Quant::Q8_0), (Shape::TinyLfm2Moe, Quant::Q4_0)] {
            let out = dir.path().join(format!("{shape}.gguf"));
            let bytes = synth(shape, quant, &out, &words).unwrap();
            assert!(bytes < Bytes::mib(20) && bytes.0 == fs::metadata(&out).unwrap().len(), "{shape}: {bytes}");
            let header = inspect(&out).unwrap();
            let tensors = shape.blueprint(shape.vocabulary()).tensors;
            assert_eq!(header.parameters, tensors.iter().map(Planned::parameters).sum::<u64>());
            assert_eq!(header.kv_heads, [0, 2, 0, 2]);
            assert_eq!((header.vocabulary, header.bos, header.eos), (65_536, Some(1), Some(7)));
            let states: Vec<u32> = header.kept.iter().map(|layer| layer.state).collect();
            assert_eq!(states, [256, 0, 256, 0]);
            assert_eq!(header.quantisation(), quant.to_string().to_uppercase());
            assert_eq!(header.begin.as_deref(), Some("<|startoftext|>"));
            assert_eq!(dialect::choose(&header, "auto", None).notation().calls.mark(), "<|tool_call_start|>");
        }
        let moe = inspect(&dir.path().join("tiny-lfm2moe.gguf")).unwrap();
        assert_eq!((moe.experts, moe.experts_used), (8, 2));
    }

    #[test]
    fn a_hollow_file_has_the_size_of_the_whole_one_and_any_number_of_tokens() {
        let (dir, words) = vocabulary_file();
        let out = dir.path().join("m.gguf");
        let whole = Recipe::new(Shape::Qwen36_35bA3b, Quant::Q4_0, &words);
        let hollow = Recipe { hollow: true, tokens: Some(1000), ..whole };
        let bytes = write(&hollow, &out, &mut |_, _| (), &Cancel::new()).unwrap();
        let header = inspect(&out).unwrap();
        assert_eq!((header.file_bytes, header.vocabulary, header.recurrent_layers()), (bytes, 1000, 30));
        assert!(bytes > Bytes::gib(17), "{bytes}");
        #[cfg(unix)]
        assert!(std::os::unix::fs::MetadataExt::blocks(&fs::metadata(&out).unwrap()) < 2048);
    }

    #[test]
    fn a_projector_is_written_beside_its_model_and_fits_it() {
        let (dir, words) = vocabulary_file();
        let out = dir.path().join("m.gguf");
        synth(Shape::TinyMistral, Quant::Q8_0, &out, &words).unwrap();
        let recipe = Recipe::new(Shape::TinyMistral, Quant::Q8_0, &words);
        let (path, bytes) = write_projector(&out, &recipe, &Cancel::new()).unwrap();
        assert_eq!(path, dir.path().join("mmproj-m.gguf"));
        let header = inspect(&path).unwrap();
        assert_eq!((header.kind, header.file_bytes), (Kind::Projector, bytes));
        let sight = header.sight.unwrap();
        assert_eq!(sight.width, inspect(&out).unwrap().embedding_length);
        assert_eq!(u64::from(sight.image / sight.patch).pow(2), projector::VECTORS);
    }

    #[test]
    fn a_vocabulary_without_merges_brings_its_scores() {
        let dir = tempfile::tempdir().unwrap();
        let (words, out) = (dir.path().join("words.gguf"), dir.path().join("m.gguf"));
        let writer = HeaderWriter::new("gemma3")
            .text("tokenizer.ggml.model", "llama")
            .texts("tokenizer.ggml.tokens", &["a", "b", "ab"].map(str::to_owned))
            .f32s("tokenizer.ggml.scores", &[-1.0, -2.0, -3.0]);
        fs::write(&words, writer.finish()).unwrap();
        synth(Shape::TinyGemma4, Quant::Q8_0, &out, &words).unwrap();
        let written = vocabulary(&out).unwrap();
        assert_eq!((written.tokens.len(), written.scores.len(), written.merges.len()), (65_536, 65_536, 0));
        assert_eq!((written.tokens[16].as_str(), written.scores[16]), ("ab", -3.0));
    }

    #[test]
    fn a_cancelled_file_leaves_nothing_behind() {
        let (dir, words) = vocabulary_file();
        let out = dir.path().join("m.gguf");
        let cancel = Cancel::new();
        let stop_soon = cancel.clone();
        let recipe = Recipe::new(Shape::TinyLfm2, Quant::Q4_0, &words);
        let stopped = write(&recipe, &out, &mut |_, _| stop_soon.cancel(), &cancel);
        assert!(matches!(stopped, Err(SynthError::Cancelled { .. })));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
