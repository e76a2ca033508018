//! Builds the header of a GGUF file (version 3, little-endian). Weights follow in the order of the `tensor` calls.

use super::types::TensorType;
use crate::base::OrBug;

/// The weights, and each tensor, start at a multiple of this many bytes.
pub const ALIGNMENT: u64 = 32;

/// A header under construction.
#[derive(Clone, Debug, Default)]
pub struct HeaderWriter {
    keys: Vec<u8>,
    key_count: u64,
    tensors: Vec<u8>,
    tensor_count: u64,
    data_bytes: u64,
}

impl HeaderWriter {
    /// A header with `general.architecture` as its first key, as readers expect.
    pub fn new(architecture: &str) -> HeaderWriter {
        HeaderWriter::default().text("general.architecture", architecture)
    }

    pub fn u16(self, key: &str, value: u16) -> HeaderWriter {
        self.key(key, 2, &value.to_le_bytes())
    }

    pub fn u32(self, key: &str, value: u32) -> HeaderWriter {
        self.key(key, 4, &value.to_le_bytes())
    }

    pub fn f32(self, key: &str, value: f32) -> HeaderWriter {
        self.key(key, 6, &value.to_le_bytes())
    }

    pub fn bool(self, key: &str, value: bool) -> HeaderWriter {
        self.key(key, 7, &[u8::from(value)])
    }

    pub fn text(self, key: &str, value: &str) -> HeaderWriter {
        let mut bytes = Vec::new();
        put_text(&mut bytes, value);
        self.key(key, 8, &bytes)
    }

    pub fn i32s(self, key: &str, values: &[i32]) -> HeaderWriter {
        let mut bytes = array_start(5, values.len());
        values.iter().for_each(|value| bytes.extend_from_slice(&value.to_le_bytes()));
        self.key(key, 9, &bytes)
    }

    pub fn f32s(self, key: &str, values: &[f32]) -> HeaderWriter {
        let mut bytes = array_start(6, values.len());
        values.iter().for_each(|value| bytes.extend_from_slice(&value.to_le_bytes()));
        self.key(key, 9, &bytes)
    }

    pub fn texts(self, key: &str, values: &[String]) -> HeaderWriter {
        let mut bytes = array_start(8, values.len());
        values.iter().for_each(|value| put_text(&mut bytes, value));
        self.key(key, 9, &bytes)
    }

    fn key(mut self, key: &str, kind: u32, value: &[u8]) -> HeaderWriter {
        put_text(&mut self.keys, key);
        self.keys.extend_from_slice(&kind.to_le_bytes());
        self.keys.extend_from_slice(value);
        self.key_count += 1;
        self
    }

    /// Adds a tensor after the previous ones. `shape` has the fastest dimension first and must
    /// consist of whole blocks.
    pub fn tensor(&mut self, name: &str, shape: &[u64], kind: &TensorType) {
        let bytes = kind.bytes(shape.iter().product()).or_bug("a tensor has rows of whole blocks");
        put_text(&mut self.tensors, name);
        self.tensors.extend_from_slice(&(shape.len() as u32).to_le_bytes());
        shape.iter().for_each(|side| self.tensors.extend_from_slice(&side.to_le_bytes()));
        self.tensors.extend_from_slice(&kind.id.to_le_bytes());
        self.tensors.extend_from_slice(&self.data_bytes.to_le_bytes());
        self.data_bytes += bytes.next_multiple_of(ALIGNMENT);
        self.tensor_count += 1;
    }

    /// Total size of the tensors added so far in bytes, each padded to [`ALIGNMENT`].
    pub fn data_bytes(&self) -> u64 {
        self.data_bytes
    }

    /// The header, padded so that the weights can follow directly.
    pub fn finish(self) -> Vec<u8> {
        let mut out = b"GGUF".to_vec();
        out.extend_from_slice(&3u32.to_le_bytes());
        out.extend_from_slice(&self.tensor_count.to_le_bytes());
        out.extend_from_slice(&self.key_count.to_le_bytes());
        out.extend_from_slice(&self.keys);
        out.extend_from_slice(&self.tensors);
        out.resize(out.len().next_multiple_of(ALIGNMENT as usize), 0);
        out
    }

    /// The complete file, with all weights zero.
    #[cfg(test)]
    pub fn finish_with_zeros(self) -> Vec<u8> {
        let data = self.data_bytes as usize;
        let mut bytes = self.finish();
        bytes.resize(bytes.len() + data, 0);
        bytes
    }
}

fn array_start(kind: u32, count: usize) -> Vec<u8> {
    let mut bytes = kind.to_le_bytes().to_vec();
    bytes.extend_from_slice(&(count as u64).to_le_bytes());
    bytes
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(&(text.len() as u64).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}
