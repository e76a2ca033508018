//! Reads the names of tokens with a special meaning: control tokens, and those added by the maker.

use super::parse::Parsed;

/// From `enum llama_token_type`.
const UNKNOWN: u32 = 2;
const CONTROL: u32 = 3;
const USER_DEFINED: u32 = 4;
/// Maximum length of a name, in bytes.
const NAME_BYTES_MAX: usize = 128;

/// Names of special tokens in a vocabulary.
#[derive(Clone, Debug, Default)]
pub struct Special {
    /// The begin- and end-of-text tokens.
    pub begin: Option<String>,
    pub end: Option<String>,
    /// Tokens that text is turned into only if marked as special. llama.cpp recognises some by
    /// their form.
    pub control: Vec<String>,
    /// Marks added by the maker, such as `<tool_call>`; any text with such a name becomes the
    /// token.
    pub defined: Vec<String>,
}

pub(super) fn special(parsed: &Parsed<'_>) -> Special {
    let mut special = Special {
        begin: token(parsed, "tokenizer.ggml.bos_token_id"),
        end: token(parsed, "tokenizer.ggml.eos_token_id"),
        ..Special::default()
    };
    let mut types = parsed.numbers("tokenizer.ggml.token_type").into_iter();
    for name in parsed.texts("tokenizer.ggml.tokens") {
        let kind = types.next().unwrap_or_default();
        let looks_like_control = name.starts_with(b"<|") && name.ends_with(b"|>");
        let list = match kind {
            UNKNOWN | CONTROL => &mut special.control,
            _ if looks_like_control => &mut special.control,
            USER_DEFINED if is_mark(name) => &mut special.defined,
            _ => continue,
        };
        if name.len() <= NAME_BYTES_MAX {
            list.push(String::from_utf8_lossy(name).into_owned());
        }
    }
    special
}

fn token(parsed: &Parsed<'_>, key: &str) -> Option<String> {
    parsed.text_at("tokenizer.ggml.tokens", parsed.number(key)?)
}

/// Whether a name looks like `<this>` or `[THIS]`; vocabularies also add spaces and ordinary words.
fn is_mark(name: &[u8]) -> bool {
    let ends = name.first().zip(name.last());
    ends.is_some_and(|(first, last)| first.is_ascii_punctuation() && last.is_ascii_punctuation() && first != last)
        && name.iter().any(|byte| byte.is_ascii_alphabetic())
}
