//! Reads what differs between layers: key/value heads, and which layers use sliding-window attention.

use super::error::Flaw;
use super::parse::Parsed;

/// More layers than any model has; a malicious header must not make us allocate gigabytes.
const LAYERS_MAX: u32 = 4096;

/// Key/value heads per layer. The file has one number for all layers, one per layer, or none (then as many as query heads).
pub(super) fn kv_heads(parsed: &Parsed<'_>, key: &str, layers: u32, heads: u32) -> Result<Vec<u32>, Flaw> {
    if layers > LAYERS_MAX {
        return Err(Flaw::Malformed(format!("{layers} layers; {LAYERS_MAX} are the most any model has")));
    }
    let all = parsed.numbers(key);
    match all.len() {
        0 => Ok(vec![heads; layers as usize]),
        1 => Ok(vec![all[0]; layers as usize]),
        n if n == layers as usize => Ok(all),
        n => Err(Flaw::Malformed(format!("{key} has {n} entries for {layers} layers"))),
    }
}

/// Whether each layer uses the sliding window: by the file's flags, else all but every n-th layer, with n from the file or
/// from [`PATTERNS`].
pub(super) fn sliding(parsed: &Parsed<'_>, architecture: &str, layers: u32, window: Option<u32>) -> Vec<bool> {
    let layers = layers.min(LAYERS_MAX);
    let key = format!("{architecture}.attention.sliding_window_pattern");
    let flags = parsed.flags(&key);
    if window.is_none() {
        return vec![false; layers as usize];
    }
    if flags.len() == layers as usize {
        return flags;
    }
    let own = PATTERNS.iter().find(|(name, ..)| *name == architecture);
    // A model with a window but no known pattern counts as full attention, so that its memory is not underestimated.
    let every = parsed.number(&key).or(own.map(|(_, every, _)| *every)).unwrap_or(1).max(1);
    let full_first = own.is_some_and(|(.., full_first)| *full_first);
    (0..layers).map(|layer| if full_first { layer % every != 0 } else { layer % every < every - 1 }).collect()
}

/// Architecture, n for one layer in n with full attention, and whether it is the first instead of the last of the n
/// (`load_swa_pattern` in llama.cpp's src/models, as bound by llama-cpp-2 0.1.160).
const PATTERNS: [(&str, u32, bool); 16] = [
    ("afmoe", 4, false),
    ("cohere2", 4, false),
    ("cohere2moe", 4, true),
    ("exaone-moe", 4, false),
    ("exaone4", 4, false),
    ("gemma2", 2, false),
    ("gemma3", 6, false),
    ("gemma3n", 5, false),
    ("laguna", 4, true),
    ("llama4", 4, false),
    ("mellum", 4, false),
    ("muse-glimmer", 4, false),
    ("olmo2", 4, false),
    ("gpt-oss", 2, false),
    ("plamo3", 8, false),
    ("smallthinker", 4, true),
];
