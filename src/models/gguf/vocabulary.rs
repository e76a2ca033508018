//! Reads the vocabulary of a GGUF file, to build another file with the same tokenizer.

use std::path::Path;

use super::{Flaw, GgufError, map, parse};

/// A byte-pair vocabulary.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vocabulary {
    /// By token id, in the byte alphabet of GPT-2.
    pub tokens: Vec<String>,
    /// `enum llama_token_type`: 1 normal, 3 control, 4 user-defined, 5 unused; same length as `tokens`.
    pub types: Vec<u32>,
    /// `left right`, most frequent first.
    pub merges: Vec<String>,
    /// `gpt2`, …
    pub model: String,
    /// Name of the pre-tokenizer, which splits text before merges are applied.
    pub pre: String,
}

/// Reads the vocabulary of `path`; an error if it is no byte-pair vocabulary (no tokens or no merges).
pub fn vocabulary(path: &Path) -> Result<Vocabulary, GgufError> {
    let fail = |flaw| GgufError { path: path.to_owned(), flaw };
    let bytes = map(path).map_err(fail)?;
    let parsed = parse::parse(&bytes).map_err(fail)?;
    let texts = |key: &str| -> Vec<String> {
        parsed.texts(key).map(|text| String::from_utf8_lossy(text).into_owned()).collect()
    };
    let tokens = texts("tokenizer.ggml.tokens");
    let merges = texts("tokenizer.ggml.merges");
    if tokens.is_empty() || merges.is_empty() {
        let what = format!("{} tokens and {} merges are no byte-pair vocabulary", tokens.len(), merges.len());
        return Err(fail(Flaw::Malformed(what)));
    }
    let mut types = parsed.numbers("tokenizer.ggml.token_type");
    types.resize(tokens.len(), 1);
    let model = parsed.text("tokenizer.ggml.model").unwrap_or_default();
    let pre = parsed.text("tokenizer.ggml.pre").unwrap_or_else(|| "default".into());
    Ok(Vocabulary { tokens, types, merges, model, pre })
}
