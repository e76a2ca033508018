//! Converts a BERT embedder's folder of safetensors to a GGUF with the same weights, as llama.cpp's converter does; a random
//! classification head makes it a re-ranker.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use half::f16;
use monobloc_base::Bytes;
use monobloc_engine::models::gguf::TensorType;
use monobloc_engine::models::gguf::write::{ALIGNMENT, HeaderWriter};
use serde_json::Value;

use crate::write::SynthError;

/// The differences between files made from the same folder.
#[derive(Clone, Debug)]
pub struct Conversion {
    /// `general.name`.
    pub name: String,
    /// `bert.pooling_type`; `None` omits it.
    pub pooling: Option<u32>,
    /// Whether matrices are written as f16.
    pub half: bool,
    /// A factor for every number in the last norm.
    pub scale: f32,
    /// A classification head, which makes it a re-ranker.
    pub head: Option<Head>,
}

/// A classification head: a layer with tanh, and one number of its result.
#[derive(Clone, Debug)]
pub struct Head {
    /// A row for each number of the result.
    pub dense: Vec<f32>,
    pub bias: Vec<f32>,
    pub output: Vec<f32>,
    pub output_bias: f32,
}

impl Head {
    /// Random weights: its scores mean nothing.
    pub fn random(width: usize, seed: u64) -> Head {
        let mut random = fastrand::Rng::with_seed(seed);
        let deviation = 2.0 / (width as f32).sqrt();
        let mut numbers =
            |count: usize, scale: f32| -> Vec<f32> { (0..count).map(|_| (random.f32() * 2.0 - 1.0) * scale).collect() };
        let (dense, bias, output) = (numbers(width * width, deviation), numbers(width, 0.1), numbers(width, deviation));
        Head { dense, bias, output, output_bias: 0.25 }
    }

    /// Its tensors by their names in a GGUF, with their shapes.
    fn tensors(&self) -> [(String, Numbers); 4] {
        let width = self.bias.len() as u64;
        [
            ("cls.weight".into(), (vec![width, width], self.dense.clone())),
            ("cls.bias".into(), (vec![width], self.bias.clone())),
            ("cls.output.weight".into(), (vec![width, 1], self.output.clone())),
            ("cls.output.bias".into(), (vec![1], vec![self.output_bias])),
        ]
    }
}

/// The shape of a tensor, fastest dimension first, and its numbers.
type Numbers = (Vec<u64>, Vec<f32>);

/// Names of tensors outside layers, and name parts within a layer, in safetensors and in a GGUF.
const NAMES: [(&str, &str); 12] = [
    ("embeddings.word_embeddings", "token_embd"),
    ("embeddings.token_type_embeddings", "token_types"),
    ("embeddings.position_embeddings", "position_embd"),
    ("embeddings.LayerNorm", "token_embd_norm"),
    ("attention.self.query", "attn_q"),
    ("attention.self.key", "attn_k"),
    ("attention.self.value", "attn_v"),
    ("attention.output.dense", "attn_output"),
    ("attention.output.LayerNorm", "attn_output_norm"),
    ("intermediate.dense", "ffn_up"),
    ("output.dense", "ffn_down"),
    ("output.LayerNorm", "layer_output_norm"),
];
/// Tables that the converter leaves in f32.
const WHOLE: [&str; 2] = ["token_types.weight", "position_embd.weight"];

/// Writes `out` and returns its size. The folder's tensors must be f32.
pub fn convert_bert(folder: &Path, conversion: &Conversion, out: &Path) -> Result<Bytes, SynthError> {
    let read = |name: &str| {
        let path = folder.join(name);
        fs::read(&path).map_err(|source| SynthError::Io { path, source })
    };
    let wrong = |why: &str| SynthError::Folder { path: folder.to_owned(), why: why.to_owned() };
    let json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).map_err(|error| wrong(&error.to_string()));
    let (config, words) = (json(&read("config.json")?)?, json(&read("tokenizer.json")?)?);
    let number = |key: &str| config[key].as_u64().and_then(|number| u32::try_from(number).ok()).unwrap_or(0);
    let layers = number("num_hidden_layers");
    let mut writer = HeaderWriter::new("bert")
        .text("general.type", "model")
        .text("general.name", &conversion.name)
        .u32("bert.block_count", layers)
        .u32("bert.context_length", number("max_position_embeddings"))
        .u32("bert.embedding_length", number("hidden_size"))
        .u32("bert.feed_forward_length", number("intermediate_size"))
        .u32("bert.attention.head_count", number("num_attention_heads"))
        .f32("bert.attention.layer_norm_epsilon", config["layer_norm_eps"].as_f64().unwrap_or(0.0) as f32)
        .bool("bert.attention.causal", false)
        .u32("tokenizer.ggml.token_type_count", number("type_vocab_size"));
    if let Some(pooling) = conversion.pooling {
        writer = writer.u32("bert.pooling_type", pooling);
    }
    let mut writer = with_words(writer, &words).ok_or_else(|| wrong("its tokenizer.json has no words"))?;

    let file = read("model.safetensors")?;
    let (head, data) = file.split_first_chunk::<8>().ok_or_else(|| wrong("its model.safetensors is empty"))?;
    let length = usize::try_from(u64::from_le_bytes(*head)).unwrap_or(usize::MAX);
    let (head, data) = data.split_at_checked(length).ok_or_else(|| wrong("its model.safetensors is truncated"))?;
    let mut tensors: BTreeMap<String, Numbers> = BTreeMap::new();
    for (name, about) in json(head)?.as_object().into_iter().flatten() {
        let Some(name) = renamed(name) else { continue };
        let at = |place: usize| about["data_offsets"][place].as_u64().and_then(|at| usize::try_from(at).ok());
        let bytes = at(0).zip(at(1)).and_then(|(from, to)| data.get(from..to));
        let bytes = bytes.filter(|_| about["dtype"] == "F32").ok_or_else(|| wrong("its tensors are not f32"))?;
        let mut shape: Vec<u64> = about["shape"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
        shape.reverse();
        let (numbers, _) = bytes.as_chunks::<4>();
        let mut numbers: Vec<f32> = numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        if name.starts_with(&format!("blk.{}.layer_output_norm", layers.saturating_sub(1))) {
            numbers.iter_mut().for_each(|x| *x *= conversion.scale);
        }
        tensors.insert(name, (shape, numbers));
    }
    tensors.extend(conversion.head.iter().flat_map(Head::tensors));
    let is_half = |name: &str, shape: &[u64]| conversion.half && shape.len() > 1 && !WHOLE.contains(&name);
    for (name, (shape, _)) in &tensors {
        let kind = if is_half(name, shape) { "f16" } else { "f32" };
        writer.tensor(name, shape, TensorType::by_name(kind).ok_or_else(|| wrong(kind))?);
    }
    let mut bytes = writer.finish();
    for (name, (shape, numbers)) in &tensors {
        match is_half(name, shape) {
            true => numbers.iter().for_each(|x| bytes.extend_from_slice(&f16::from_f32(*x).to_le_bytes())),
            false => numbers.iter().for_each(|x| bytes.extend_from_slice(&x.to_le_bytes())),
        }
        bytes.resize(bytes.len().next_multiple_of(ALIGNMENT as usize), 0);
    }
    fs::write(out, &bytes).map_err(|source| SynthError::Io { path: out.to_owned(), source })?;
    Ok(Bytes(bytes.len() as u64))
}

/// The name in a GGUF; `None` for tensors that vectors do not need.
fn renamed(name: &str) -> Option<String> {
    let (layer, rest) = match name.strip_prefix("encoder.layer.") {
        Some(rest) => rest.split_once('.').map(|(layer, rest)| (format!("blk.{layer}."), rest))?,
        None => (String::new(), name),
    };
    let (part, end) = rest.rsplit_once('.')?;
    let (_, new) = NAMES.iter().find(|(old, _)| *old == part)?;
    Some(format!("{layer}{new}.{end}"))
}

/// Adds a WordPiece vocabulary: a word gets a leading mark, a continuation loses its `##`.
fn with_words(writer: HeaderWriter, tokenizer: &Value) -> Option<HeaderWriter> {
    let vocabulary = tokenizer["model"]["vocab"].as_object()?;
    let mut words = vec![String::new(); vocabulary.len()];
    for (word, id) in vocabulary {
        *words.get_mut(usize::try_from(id.as_u64()?).ok()?)? = word.clone();
    }
    let special: Vec<&str> =
        tokenizer["added_tokens"].as_array()?.iter().filter_map(|token| token["content"].as_str()).collect();
    let is_special = |word: &String| special.contains(&word.as_str());
    let types: Vec<i32> = words.iter().map(|word| if is_special(word) { 3 } else { 1 }).collect();
    let shown = |word: String| match word.strip_prefix("##") {
        _ if is_special(&word) => word,
        Some(rest) => rest.to_owned(),
        None => format!("\u{2581}{word}"),
    };
    let mut writer = writer;
    for (key, word) in
        [("bos", "[CLS]"), ("seperator", "[SEP]"), ("unknown", "[UNK]"), ("padding", "[PAD]"), ("mask", "[MASK]")]
    {
        if let Some(id) = vocabulary.get(word).and_then(Value::as_u64) {
            writer = writer.u32(&format!("tokenizer.ggml.{key}_token_id"), u32::try_from(id).ok()?);
        }
    }
    let tokens: Vec<String> = words.iter().cloned().map(shown).collect();
    Some(
        writer
            .text("tokenizer.ggml.model", "bert")
            .text("tokenizer.ggml.pre", "default")
            .texts("tokenizer.ggml.tokens", &tokens)
            .i32s("tokenizer.ggml.token_type", &types),
    )
}
