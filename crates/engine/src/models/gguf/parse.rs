//! Parses the bytes of a GGUF header, checking every read against the end of the file.

use std::collections::HashMap;

use super::Tensor;
use super::error::{Flaw, guess};
use super::types::TensorType;
use crate::base::Bytes;

/// Limits on a header. Real files have about 50 keys, 1,500 tensors, 300,000 tokens and 4
/// dimensions.
const KEYS_MAX: u64 = 1 << 16;
const TENSORS_MAX: u64 = 1 << 18;
const TEXTS_MAX: u64 = 1 << 23;
const DIMENSIONS_MAX: u32 = 4;
const NAME_BYTES_MAX: u64 = 1 << 16;

/// Alignment of tensors if the header does not state it.
const ALIGNMENT: u64 = 32;
const ALIGNMENT_KEY: &str = "general.alignment";

/// The contents of a header, borrowed from the file.
pub(super) struct Parsed<'a> {
    keys: Keys<'a>,
    pub tensors: Vec<Tensor>,
    /// Position of the first weight in the file.
    pub data_start: u64,
    /// Each tensor begins at a multiple of this many bytes.
    pub alignment: u64,
}

#[derive(Clone, Copy)]
enum Value<'a> {
    Whole(i128),
    Flag(bool),
    Text(&'a [u8]),
    Array { kind: u32, count: u64, bytes: &'a [u8] },
    Real(f64),
}

/// The value of each key, with its type number in `enum gguf_type`.
type Keys<'a> = HashMap<String, (u32, Value<'a>)>;

impl<'a> Parsed<'a> {
    fn value(&self, key: &str) -> Option<&Value<'a>> {
        self.keys.get(key).map(|(_, value)| value)
    }

    pub fn text(&self, key: &str) -> Option<String> {
        match self.value(key)? {
            Value::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        }
    }

    pub fn number(&self, key: &str) -> Option<u32> {
        match self.value(key)? {
            Value::Whole(number) => u32::try_from(*number).ok(),
            _ => None,
        }
    }

    /// A number with or without a fraction.
    pub fn real(&self, key: &str) -> Option<f64> {
        match self.value(key)? {
            Value::Real(number) => Some(*number),
            Value::Whole(number) => Some(*number as f64),
            _ => None,
        }
    }

    /// The numbers in an array, with 1 for true and 0 for false, or the single number of a scalar;
    /// empty if the key is missing or has another type.
    pub fn numbers(&self, key: &str) -> Vec<u32> {
        match self.value(key) {
            Some(Value::Whole(number)) => u32::try_from(*number).into_iter().collect(),
            Some(&Value::Array { kind, count, bytes }) if fixed_width(kind).is_some() && count <= TEXTS_MAX => {
                let mut cursor = Cursor { bytes, at: 0 };
                (0..count)
                    .map_while(|_| match cursor.value(kind, "a number").ok()? {
                        Value::Whole(number) => u32::try_from(number).ok(),
                        Value::Flag(flag) => Some(u32::from(flag)),
                        _ => None,
                    })
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    /// The numbers of an array of 32-bit floats; empty if the key is missing or of another type.
    pub fn floats(&self, key: &str) -> Vec<f32> {
        let bytes = match self.value(key) {
            Some(&Value::Array { kind: FLOAT, bytes, .. }) => bytes,
            _ => &[][..],
        };
        bytes.chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect()
    }

    pub fn flag(&self, key: &str) -> Option<bool> {
        match self.value(key)? {
            Value::Flag(flag) => Some(*flag),
            _ => None,
        }
    }

    /// The texts of an array of texts, in order.
    pub fn texts(&self, key: &str) -> impl Iterator<Item = &'a [u8]> {
        let (count, bytes) = match self.value(key) {
            Some(&Value::Array { kind: TEXT, count, bytes }) => (count, bytes),
            _ => (0, &[][..]),
        };
        let mut cursor = Cursor { bytes, at: 0 };
        (0..count).map_while(move |_| cursor.text("a text", u64::MAX).ok())
    }

    /// One text from an array of texts.
    pub fn text_at(&self, key: &str, index: u32) -> Option<String> {
        self.texts(key).nth(index as usize).map(|text| String::from_utf8_lossy(text).into_owned())
    }

    pub fn has(&self, key: &str) -> bool {
        self.keys.contains_key(key)
    }

    /// Whether the key's value has this type in `enum gguf_type`.
    pub fn has_type(&self, key: &str, kind: u32) -> bool {
        self.keys.get(key).is_some_and(|(found, _)| *found == kind)
    }

    /// Length of an array.
    pub fn count(&self, key: &str) -> Option<u32> {
        match self.value(key)? {
            Value::Array { count, .. } => u32::try_from(*count).ok(),
            _ => None,
        }
    }
}

pub(super) fn parse(bytes: &[u8]) -> Result<Parsed<'_>, Flaw> {
    if bytes.is_empty() {
        return Err(Flaw::Empty);
    }
    let Some(body) = bytes.strip_prefix(b"GGUF") else {
        return Err(Flaw::NotGguf { looks_like: guess(bytes) });
    };
    if body.get(..4) == Some(&[0, 0, 0, 3]) || body.get(..4) == Some(&[0, 0, 0, 2]) {
        return Err(Flaw::NotGguf { looks_like: "a GGUF file with its bytes swapped (big-endian)" });
    }
    let mut cursor = Cursor { bytes, at: 4 };
    let version = cursor.u32("the version")?;
    if !(2..=3).contains(&version) {
        return Err(Flaw::Version(version));
    }
    let tensor_count = at_most(cursor.u64("the number of tensors")?, TENSORS_MAX, "tensors")?;
    let key_count = at_most(cursor.u64("the number of keys")?, KEYS_MAX, "keys")?;
    let keys = keys(&mut cursor, key_count)?;
    let mut parsed = Parsed { keys, tensors: Vec::new(), data_start: 0, alignment: ALIGNMENT };
    if parsed.has(ALIGNMENT_KEY) {
        let said = parsed.number(ALIGNMENT_KEY).map(u64::from).filter(|said| said.is_power_of_two());
        let said = said.filter(|_| parsed.has_type(ALIGNMENT_KEY, UINT32));
        parsed.alignment =
            said.ok_or_else(|| Flaw::key(ALIGNMENT_KEY, "is not a power of two stored as an unsigned 32-bit number"))?;
    }
    let alignment = parsed.alignment;
    let tensors = (0..tensor_count).map(|index| tensor(&mut cursor, index)).collect::<Result<Vec<Tensor>, Flaw>>()?;
    parsed.data_start = (cursor.at as u64).next_multiple_of(alignment);
    for mut tensor in tensors {
        let start = parsed.data_start.checked_add(tensor.offset);
        let end = start.and_then(|start| start.checked_add(tensor.bytes.0));
        let (Some(start), Some(_)) = (start, end) else {
            let why = format!("tensor {} lies at byte {} of its section", tensor.name, tensor.offset);
            return Err(Flaw::Malformed(why));
        };
        tensor.offset = start;
        parsed.tensors.push(tensor);
    }
    Ok(parsed)
}

fn keys<'a>(cursor: &mut Cursor<'a>, count: u64) -> Result<Keys<'a>, Flaw> {
    let mut keys = HashMap::new();
    for index in 0..count {
        let reading = format!("the name of key {} of {count}", index + 1);
        let name = String::from_utf8_lossy(cursor.text(&reading, NAME_BYTES_MAX)?).into_owned();
        let kind = cursor.u32(&name)?;
        let value = cursor.value(kind, &name)?;
        if keys.insert(name.clone(), (kind, value)).is_some() {
            return Err(Flaw::Malformed(format!("the key {name} occurs twice")));
        }
    }
    Ok(keys)
}

/// The record of a tensor, with its offset still relative to the first weight.
fn tensor(cursor: &mut Cursor<'_>, index: u64) -> Result<Tensor, Flaw> {
    let reading = format!("the name of tensor {}", index + 1);
    let name = String::from_utf8_lossy(cursor.text(&reading, NAME_BYTES_MAX)?).into_owned();
    let dimensions = cursor.u32(&name)?;
    if dimensions > DIMENSIONS_MAX {
        return Err(Flaw::Malformed(format!(
            "tensor {name} has {dimensions} dimensions; ggml supports {DIMENSIONS_MAX}"
        )));
    }
    let shape = (0..dimensions).map(|_| cursor.u64(&name)).collect::<Result<Vec<u64>, Flaw>>()?;
    let id = cursor.u32(&name)?;
    let offset = cursor.u64(&name)?;
    let kind = TensorType::by_id(id).ok_or_else(|| Flaw::TensorType { tensor: name.clone(), kind: id })?;
    let parameters = shape.iter().try_fold(1u64, |product, &side| product.checked_mul(side));
    let whole_rows = shape.first().copied().unwrap_or(1).is_multiple_of(kind.block);
    let bytes = parameters.and_then(|all| kind.bytes(all)).filter(|_| whole_rows).ok_or_else(|| {
        Flaw::Malformed(format!("tensor {name} of shape {shape:?} cannot be stored as {}", kind.name))
    })?;
    Ok(Tensor { name, kind, shape, bytes: Bytes(bytes), offset })
}

fn at_most(count: u64, most: u64, what: &str) -> Result<u64, Flaw> {
    if count > most {
        Err(Flaw::Malformed(format!("{count} {what}, but at most {most} are allowed")))
    } else {
        Ok(count)
    }
}

/// Value types from `enum gguf_type` in gguf.h.
const FLOAT: u32 = 6;
const UINT32: u32 = 4;
const TEXT: u32 = 8;
const ARRAY: u32 = 9;

/// Size of one value of the type in bytes; `None` for texts, arrays and unknown types.
fn fixed_width(kind: u32) -> Option<u64> {
    match kind {
        0 | 1 | 7 => Some(1),
        2 | 3 => Some(2),
        4..=6 => Some(4),
        10..=12 => Some(8),
        _ => None,
    }
}

/// Reads consecutive little-endian values; `reading` describes the value in errors.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, count: u64, reading: &str) -> Result<&'a [u8], Flaw> {
        let end = usize::try_from(count).ok().and_then(|count| self.at.checked_add(count));
        match end.and_then(|end| Some((end, self.bytes.get(self.at..end)?))) {
            Some((end, taken)) => {
                self.at = end;
                Ok(taken)
            }
            None => Err(Flaw::HeaderTruncated { at: self.bytes.len() as u64, reading: shorten(reading) }),
        }
    }

    fn array<const N: usize>(&mut self, reading: &str) -> Result<[u8; N], Flaw> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N as u64, reading)?);
        Ok(out)
    }

    fn u32(&mut self, reading: &str) -> Result<u32, Flaw> {
        self.array(reading).map(u32::from_le_bytes)
    }

    fn u64(&mut self, reading: &str) -> Result<u64, Flaw> {
        self.array(reading).map(u64::from_le_bytes)
    }

    fn text(&mut self, reading: &str, bytes_max: u64) -> Result<&'a [u8], Flaw> {
        let length = self.u64(reading)?;
        if length > bytes_max {
            return Err(Flaw::Malformed(format!("{} has {length} bytes", shorten(reading))));
        }
        self.take(length, reading)
    }

    fn value(&mut self, kind: u32, key: &str) -> Result<Value<'a>, Flaw> {
        Ok(match kind {
            0 => Value::Whole(self.array::<1>(key)?[0].into()),
            1 => Value::Whole(i8::from_le_bytes(self.array(key)?).into()),
            2 => Value::Whole(u16::from_le_bytes(self.array(key)?).into()),
            3 => Value::Whole(i16::from_le_bytes(self.array(key)?).into()),
            4 => Value::Whole(self.u32(key)?.into()),
            5 => Value::Whole(i32::from_le_bytes(self.array(key)?).into()),
            10 => Value::Whole(self.u64(key)?.into()),
            11 => Value::Whole(i64::from_le_bytes(self.array(key)?).into()),
            7 => Value::Flag(self.array::<1>(key)?[0] != 0),
            6 => Value::Real(f32::from_le_bytes(self.array(key)?).into()),
            12 => Value::Real(f64::from_le_bytes(self.array(key)?)),
            TEXT => Value::Text(self.text(key, u64::MAX)?),
            ARRAY => self.array_value(key)?,
            _ => return Err(Flaw::Malformed(format!("the key {} has type {kind}, which GGUF lacks", shorten(key)))),
        })
    }

    fn array_value(&mut self, key: &str) -> Result<Value<'a>, Flaw> {
        let kind = self.u32(key)?;
        let count = self.u64(key)?;
        let start = self.at;
        match fixed_width(kind) {
            Some(width) => {
                self.take(count.saturating_mul(width), key)?;
            }
            None if kind == TEXT => {
                for _ in 0..at_most(count, TEXTS_MAX, "strings in one array")? {
                    self.text(key, u64::MAX)?;
                }
            }
            None => return Err(Flaw::Malformed(format!("the key {} is an array of type {kind}", shorten(key)))),
        }
        Ok(Value::Array { kind, count, bytes: &self.bytes[start..self.at] })
    }
}

/// A name from the file, truncated to 80 characters for messages.
fn shorten(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(80).collect()
}
