//! Computes stable ids of symbols, chunks and contents by hashing what identifies them.

use std::collections::HashMap;

use sha2::{Digest, Sha256};

use super::syntax::Outline;

/// The first 63 bits of the SHA-256 of the parts. Never negative; among a million ids the chance of
/// a collision is 1 in 18 million.
pub fn key(parts: &[&str]) -> i64 {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    let digest = hash.finalize();
    let mut first = [0u8; 8];
    first.copy_from_slice(&digest[..8]);
    i64::from_le_bytes(first) & i64::MAX
}

/// The id of a file's module symbol.
pub fn module(path: &str) -> i64 {
    key(&[path, "module"])
}

pub fn chunk(path: &str, number: usize) -> i64 {
    key(&[path, "chunk", &number.to_string()])
}

/// The key of a chunk's vector: equal contents share a key, so a renamed file needs no new
/// embeddings.
pub fn content(content: &str) -> i64 {
    key(&["content", content])
}

/// One id per definition of the outline, from path, container, kind, name, and position among
/// otherwise identical definitions.
pub fn symbols(path: &str, outline: &Outline) -> Vec<i64> {
    let mut namesakes: HashMap<String, usize> = HashMap::new();
    let mut ids: Vec<i64> = Vec::with_capacity(outline.definitions.len());
    for definition in &outline.definitions {
        // The id of the container stands for its full name, which may be long.
        let container = definition.container.map_or(String::new(), |c| ids[c].to_string());
        let owner = definition.member_of.as_ref().map_or(String::new(), |owner| format!("{owner}."));
        let name = format!("{container}/{} {owner}{}", definition.kind.name(), definition.name);
        let nth = namesakes.entry(name.clone()).and_modify(|n| *n += 1).or_insert(0);
        let name = if *nth == 0 { name } else { format!("{name}#{nth}") };
        ids.push(key(&[path, "symbol", &name]));
    }
    ids
}
