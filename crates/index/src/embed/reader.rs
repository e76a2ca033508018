//! Splits texts into a model's tokens, and joins tokens back into text.

use std::sync::Arc;

use tokenizers::Tokenizer;

use super::error::EmbedError;
use super::gguf::Llama;
use super::pieces::Tokens;

pub enum Reader {
    /// For a folder, whose model has vectors for `vocabulary` tokens.
    Tokenizer {
        tokenizer: Box<Tokenizer>,
        vocabulary: usize,
    },
    Llama(Arc<Llama>),
}

impl Reader {
    /// The tokens of a text. The error is only the reason.
    pub fn tokens(&self, text: String) -> Result<Tokens, String> {
        let (tokenizer, vocabulary) = match self {
            Reader::Llama(llama) => return Ok(llama.tokens(&text)),
            Reader::Tokenizer { tokenizer, vocabulary } => (tokenizer, *vocabulary),
        };
        let encoding = tokenizer.encode_fast(text, true).map_err(|error| error.to_string())?;
        let (all, special) = (encoding.get_ids(), encoding.get_special_tokens_mask());
        let before = special.iter().take_while(|mark| **mark == 1).count();
        let after = special[before..].iter().rev().take_while(|mark| **mark == 1).count();
        let end = all.len() - after;
        // A token for which the model has no vector is omitted.
        let known = |ids: &[u32]| ids.iter().copied().filter(|id| (*id as usize) < vocabulary).collect();
        Ok(Tokens { before: known(&all[..before]), text: known(&all[before..end]), after: known(&all[end..]) })
    }

    /// The text of these tokens, without special tokens. Fails if a token is not in the vocabulary.
    pub fn text_of(&self, tokens: &[u32]) -> Result<String, EmbedError> {
        let size = match self {
            Reader::Tokenizer { tokenizer, .. } => tokenizer.get_vocab_size(true),
            Reader::Llama(llama) => llama.vocabulary(),
        };
        if let Some(token) = tokens.iter().find(|&&token| token as usize >= size) {
            return Err(EmbedError::Failed(format!("token {token} is not one of the embedder's {size}")));
        }
        match self {
            Reader::Tokenizer { tokenizer, .. } => {
                tokenizer.decode(tokens, true).map_err(|error| EmbedError::Failed(error.to_string()))
            }
            Reader::Llama(llama) => Ok(llama.text_of(tokens)),
        }
    }
}
