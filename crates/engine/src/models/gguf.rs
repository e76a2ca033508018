//! Reads header and vocabulary of a GGUF file through a memory map, without reading the weights.
//!
//! Layout: `GGUF`, version (u32), tensor count (u64), key count (u64); the keys (name, type, value); one record per tensor
//! (name, shape, type, offset); padding to `general.alignment`; the weights.

mod check;
mod error;
mod kind;
mod layers;
mod parse;
mod sampling;
mod sight;
mod special;
mod split;
#[cfg(test)]
mod split_tests;
mod types;
pub mod write;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use serde::Serialize;

use crate::base::Bytes;

pub use check::before_load;
pub use error::{Flaw, GgufError};
pub use kind::Kind;
pub use layers::Layer;
use parse::Parsed;
pub use sampling::Sampling;
pub use sight::Sight;
pub use special::Special;
pub use split::Numbered;
pub use types::TensorType;

/// The header of one GGUF file.
#[derive(Clone, Debug, Serialize)]
pub struct Header {
    #[serde(serialize_with = "crate::base::lossy")]
    pub path: PathBuf,
    /// The files that contain its tensors: `path` alone, or all parts of a split model, of which
    /// `path` is the first.
    #[serde(serialize_with = "crate::base::all_lossy")]
    pub files: Vec<PathBuf>,
    /// Total size of these files.
    pub file_bytes: Bytes,
    /// For example `lfm2moe` or `llama`.
    pub architecture: String,
    /// Its purpose: a chat model or something else.
    pub kind: Kind,
    /// `general.name`, or else the file name without its extension.
    pub name: String,
    /// Number of weights in all tensors.
    pub parameters: u64,
    pub layers: u32,
    /// Hidden size.
    pub embedding_length: u32,
    /// Number of attention heads (the largest if layers differ).
    pub heads: u32,
    /// Number of key/value heads in every layer, according to the file; `kept` holds the layers
    /// with keys.
    pub kv_heads: Vec<u32>,
    /// Length of a key vector per head.
    pub key_length: u32,
    /// Length of a value vector per head.
    pub value_length: u32,
    /// Inner size of the dense feed-forward block (the largest if layers differ).
    pub feed_forward: u32,
    /// Number of experts per layer; 0 for a dense model.
    pub experts: u32,
    /// Number of experts used per token.
    pub experts_used: u32,
    /// Inner size of an expert; 0 for a dense model.
    pub expert_feed_forward: u32,
    /// Context length in training, in tokens.
    pub context_train: u32,
    /// Number of vocabulary entries.
    pub vocabulary: u32,
    /// Number of merges in a byte-pair vocabulary; 0 for other kinds.
    pub merges: u32,
    /// Size of the sliding attention window in tokens; `None` if no layer has one.
    pub sliding_window: Option<u32>,
    /// The memory that each layer keeps for a sequence.
    pub kept: Vec<Layer>,
    /// Number of elements per token in a recurrent layer's working memory; 0 for short
    /// convolutions.
    pub recurrent_work: u32,
    /// Blocks at the end that predict further tokens (MTP); they are not loaded.
    pub unused_blocks: u32,
    #[serde(skip)]
    pub tensors: Vec<Tensor>,
    /// How much of the file each tensor type takes.
    pub mix: BTreeMap<&'static str, Share>,
    pub chat_template: Option<String>,
    /// The variant of the template for conversations with tools, if the file has one.
    #[serde(skip)]
    pub chat_template_tools: Option<String>,
    #[serde(skip)]
    pub special: Special,
    /// For example `gpt2` or `llama`.
    pub tokenizer_model: Option<String>,
    /// Name of the pre-tokenizer, which splits text before merges are applied.
    pub tokenizer_pre: Option<String>,
    pub bos: Option<u32>,
    pub eos: Option<u32>,
    /// The begin-of-text token, if the file requires it at the start of every text.
    pub begin: Option<String>,
    /// How an embedding model pools its token vectors, by `enum llama_pooling_type` in llama.h;
    /// `None` if not stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pooling: Option<u32>,
    /// The names of a re-ranker's outputs; empty if it has one without a name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// The prompt of a re-ranker that was trained with one, with `{query}` and `{document}`.
    #[serde(skip)]
    pub rerank_template: Option<String>,
    /// The maker's sampling values.
    pub sampling: Sampling,
    /// How a projector sees pictures; `None` for every other file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sight: Option<Sight>,
}

/// One tensor, as listed in the header.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    pub name: String,
    pub kind: &'static TensorType,
    /// Fastest dimension first, as in ggml.
    pub shape: Vec<u64>,
    pub bytes: Bytes,
    /// Position of its first byte in the file.
    pub offset: u64,
}

impl Tensor {
    pub fn parameters(&self) -> u64 {
        self.shape.iter().product()
    }

    /// Its layer: 12 for `blk.12.ffn_up_exps.weight`.
    pub fn layer(&self) -> Option<u32> {
        self.name.strip_prefix("blk.")?.split('.').next()?.parse().ok()
    }
}

/// The share of one tensor type in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Share {
    pub tensors: u64,
    pub parameters: u64,
    pub bytes: Bytes,
}

impl Header {
    /// The tensor type of most weights, for example `Q4_1`.
    pub fn quantisation(&self) -> &'static str {
        self.mix.iter().max_by_key(|(_, share)| share.parameters).map_or("none", |(name, _)| name)
    }

    /// Total size of all tensors in bytes.
    pub fn tensor_bytes(&self) -> Bytes {
        self.tensors.iter().map(|tensor| tensor.bytes).sum()
    }

    /// The tensors that are loaded: all except those of [`Header::unused_blocks`].
    pub fn used_tensors(&self) -> impl Iterator<Item = &Tensor> {
        let used = self.layers.saturating_sub(self.unused_blocks);
        self.tensors.iter().filter(move |tensor| tensor.layer().is_none_or(|layer| layer < used))
    }

    /// Number of layers that keep a recurrent state.
    pub fn recurrent_layers(&self) -> usize {
        self.kept.iter().filter(|layer| layer.state > 0).count()
    }

    /// Whether its recurrent layers are gated delta nets.
    pub fn has_delta_nets(&self) -> bool {
        layers::is_delta_net(&self.architecture)
    }

    pub fn is_chat(&self) -> bool {
        self.kind == Kind::Chat
    }
}

/// Reads the header of the file at `path`, or of all parts if the model is split, and checks that
/// the files are long enough for its tensors.
pub fn inspect(path: &Path) -> Result<Header, GgufError> {
    let fail = |path: &Path| {
        let path = path.to_owned();
        move |flaw| GgufError { path, flaw }
    };
    let bytes = map(path).map_err(fail(path))?;
    let parsed = read(&bytes).map_err(fail(path))?;
    let files = split::files(path, &parsed).map_err(fail(path))?;
    if files.len() == 1 {
        return assemble(files, bytes.len() as u64, parsed).map_err(fail(path));
    }
    let first = map(&files[0]).map_err(fail(&files[0]))?;
    let mut whole = read(&first).map_err(fail(&files[0]))?;
    let mut file_bytes = first.len() as u64;
    for (index, part) in files.iter().enumerate().skip(1) {
        let bytes = map(part).map_err(fail(part))?;
        let parsed = read(&bytes).map_err(fail(part))?;
        let said = split::index(&parsed).map_err(fail(part))?;
        if said as usize != index {
            return Err(fail(part)(Flaw::key("split.no", format!("is {said}, the file's name says {index}"))));
        }
        file_bytes += bytes.len() as u64;
        whole.tensors.extend(parsed.tensors);
    }
    assemble(files, file_bytes, whole).map_err(fail(path))
}

fn map(path: &Path) -> Result<Mmap, Flaw> {
    let file = File::open(path).map_err(Flaw::Unreadable)?;
    let about = file.metadata().map_err(Flaw::Unreadable)?;
    if about.is_dir() {
        return Err(Flaw::NotGguf { looks_like: "a directory" });
    }
    if about.len() == 0 {
        return Err(Flaw::Empty);
    }
    // SAFETY: the map is read-only and lives only during one inspection. If another process
    // shortens the file during that time, the kernel ends this process with SIGBUS; nothing is ever
    // written through the map.
    unsafe { Mmap::map(&file) }.map_err(Flaw::Unreadable)
}

/// Parses one file and checks its tensors.
fn read(bytes: &[u8]) -> Result<Parsed<'_>, Flaw> {
    let parsed = parse::parse(bytes)?;
    check::tensors(&parsed, bytes.len() as u64)?;
    Ok(parsed)
}

#[cfg(test)]
fn header(path: &Path, bytes: &[u8]) -> Result<Header, Flaw> {
    assemble(vec![path.to_owned()], bytes.len() as u64, read(bytes)?)
}

/// The header of a model from its keys and the tensors of all its files.
fn assemble(files: Vec<PathBuf>, file_bytes: u64, parsed: Parsed<'_>) -> Result<Header, Flaw> {
    let architecture = parsed.text("general.architecture").unwrap_or_default();
    if architecture.is_empty() {
        return Err(Flaw::Malformed("the key general.architecture is missing".into()));
    }
    let path = files[0].clone();
    let name = parsed.text("general.name").unwrap_or_else(|| stem(&path));
    let kind = Kind::of(&parsed, &architecture, &name, &parsed.tensors);
    if kind.writes_text() {
        check::numbers(&parsed, &architecture)?;
    }
    let own = |key: &str| format!("{architecture}.{key}");
    let number = |key: &str| parsed.number(&own(key));
    let largest = |key: &str| parsed.numbers(&own(key)).into_iter().max();

    let layers = number("block_count").unwrap_or(0);
    let embedding_length = number("embedding_length").unwrap_or(0);
    let heads = largest("attention.head_count").unwrap_or(0);
    let head_length = embedding_length.checked_div(heads).unwrap_or(0);
    let tokens = parsed.count("tokenizer.ggml.tokens");
    let kv_heads = layers::kv_heads(&parsed, &own("attention.head_count_kv"), layers, heads)?;
    let unused_blocks = number("nextn_predict_layers").unwrap_or(0).min(layers);
    let key_length = number("attention.key_length").unwrap_or(head_length);
    let value_length = number("attention.value_length").unwrap_or(head_length);
    let sizes = layers::Sizes { layers, embedding: embedding_length, kv_heads, key: key_length, value: value_length };
    let labels_key = own("classifier.output_labels");
    let labels = parsed.texts(&labels_key);
    let mut mix: BTreeMap<&'static str, Share> = BTreeMap::new();
    for tensor in &parsed.tensors {
        let share = mix.entry(tensor.kind.name).or_default();
        share.tensors += 1;
        share.parameters = share.parameters.saturating_add(tensor.parameters());
        share.bytes += tensor.bytes;
    }
    Ok(Header {
        path,
        files,
        file_bytes: Bytes(file_bytes),
        kind,
        name,
        parameters: mix.values().fold(0, |sum, share| sum.saturating_add(share.parameters)),
        layers,
        embedding_length,
        heads,
        key_length,
        value_length,
        feed_forward: largest("feed_forward_length").unwrap_or(0),
        experts: number("expert_count").unwrap_or(0),
        experts_used: number("expert_used_count").unwrap_or(0),
        expert_feed_forward: largest("expert_feed_forward_length").unwrap_or(0),
        context_train: number("context_length").unwrap_or(0),
        vocabulary: tokens.or_else(|| number("vocab_size")).unwrap_or(0),
        merges: parsed.count("tokenizer.ggml.merges").unwrap_or(0),
        sliding_window: layers::window(&parsed, &architecture, layers - unused_blocks).map(|(tokens, _)| tokens),
        kept: layers::kept(&parsed, &architecture, &sizes, unused_blocks),
        recurrent_work: layers::recurrent_work(&parsed, &architecture),
        unused_blocks,
        kv_heads: sizes.kv_heads,
        mix,
        chat_template: parsed.text("tokenizer.chat_template"),
        chat_template_tools: parsed.text("tokenizer.chat_template.tool_use"),
        special: special::special(&parsed),
        tokenizer_model: parsed.text("tokenizer.ggml.model"),
        tokenizer_pre: parsed.text("tokenizer.ggml.pre"),
        bos: parsed.number("tokenizer.ggml.bos_token_id"),
        eos: parsed.number("tokenizer.ggml.eos_token_id"),
        begin: begin(&parsed),
        pooling: number("pooling_type"),
        labels: labels.map(|label| String::from_utf8_lossy(label).into_owned()).collect(),
        rerank_template: parsed.text("tokenizer.chat_template.rerank"),
        sampling: Sampling::read(&parsed),
        sight: (kind == Kind::Projector).then(|| Sight::read(&parsed, &parsed.tensors)).flatten(),
        tensors: parsed.tensors,
        architecture,
    })
}

/// The begin-of-text token, if `add_bos_token` requires it; without that key, only SentencePiece
/// models (`llama`) need the token.
fn begin(parsed: &Parsed<'_>) -> Option<String> {
    let by_default = parsed.text("tokenizer.ggml.model").as_deref() == Some("llama");
    let wanted = parsed.flag("tokenizer.ggml.add_bos_token").unwrap_or(by_default);
    let id = parsed.number("tokenizer.ggml.bos_token_id").filter(|_| wanted)?;
    parsed.text_at("tokenizer.ggml.tokens", id)
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// A vocabulary whose tokens result from merges (byte pairs) or are chosen by scores
/// (SentencePiece).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vocabulary {
    /// By token id; byte-pair tokens are in GPT-2's byte alphabet.
    pub tokens: Vec<String>,
    /// `enum llama_token_type`: 1 normal, 3 control, 4 user-defined, 5 unused; same length as `tokens`.
    pub types: Vec<u32>,
    /// `left right`, most frequent first; empty without byte pairs.
    pub merges: Vec<String>,
    /// By token id; empty if merges are used instead.
    pub scores: Vec<f32>,
    /// For example `gpt2`.
    pub model: String,
    /// Name of the pre-tokenizer, which splits text before merges are applied.
    pub pre: String,
}

/// Reads the vocabulary of `path`; fails if it has no tokens, or neither merges nor a score for
/// each token.
pub fn vocabulary(path: &Path) -> Result<Vocabulary, GgufError> {
    let fail = |flaw| GgufError { path: path.to_owned(), flaw };
    let bytes = map(path).map_err(fail)?;
    let parsed = parse::parse(&bytes).map_err(fail)?;
    let texts = |key: &str| -> Vec<String> {
        parsed.texts(key).map(|text| String::from_utf8_lossy(text).into_owned()).collect()
    };
    let tokens = texts("tokenizer.ggml.tokens");
    let merges = texts("tokenizer.ggml.merges");
    let scores = parsed.floats("tokenizer.ggml.scores");
    if tokens.is_empty() || (merges.is_empty() && scores.len() != tokens.len()) {
        let counts = (tokens.len(), merges.len(), scores.len());
        let what = format!("{} tokens with {} merges and {} scores are not a vocabulary", counts.0, counts.1, counts.2);
        return Err(fail(Flaw::Malformed(what)));
    }
    let scores = if merges.is_empty() { scores } else { Vec::new() };
    let mut types = parsed.numbers("tokenizer.ggml.token_type");
    types.resize(tokens.len(), 1);
    let model = parsed.text("tokenizer.ggml.model").unwrap_or_default();
    let pre = parsed.text("tokenizer.ggml.pre").unwrap_or_else(|| "default".into());
    Ok(Vocabulary { tokens, types, merges, scores, model, pre })
}

#[cfg(test)]
mod tests;
