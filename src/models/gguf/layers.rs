//! Reads what differs between layers: key/value heads.

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
