//! Damaged headers of model files: whatever a header contains, the program ends cleanly and quickly.
//!
//! Each file is a small model with one field of its header changed. `MONOBLOC_TEST_HEADERS=500`
//! sets the number of files.

use std::fs;
use std::ops::Range;

use fastrand::Rng;
use monobloc::base::Cancel;
use monobloc::synth::{self, Quant, Recipe, Shape};

use crate::cli::{Project, Run};
use crate::models::smollm;

/// Numbers that often reveal errors in counts and sizes.
const NUMBERS: [u64; 12] = [0, 1, 2, 3, 7, 64, 511, 513, 1025, i32::MAX as u64, u32::MAX as u64, u64::MAX];

/// The positions of the fields of a GGUF header.
#[derive(Default)]
struct Fields {
    names: Vec<Range<usize>>,
    types: Vec<usize>,
    /// Positions of single numbers.
    scalars: Vec<Range<usize>>,
    texts: Vec<Range<usize>>,
    /// Positions of the lengths of arrays.
    lengths: Vec<usize>,
    /// Positions of dimensions and offsets of tensors.
    sizes: Vec<usize>,
    tensor_types: Vec<usize>,
}

struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
    fields: Fields,
}

impl Walk<'_> {
    fn number(&mut self, bytes: usize) -> u64 {
        self.at += bytes;
        self.bytes[self.at - bytes..self.at].iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
    }

    fn text(&mut self) -> Range<usize> {
        let length = self.number(8) as usize;
        self.at += length;
        self.at - length..self.at
    }

    fn value(&mut self, kind: u64, alone: bool) {
        let size = match kind {
            8 => {
                let text = self.text();
                self.fields.texts.extend(alone.then_some(text));
                return;
            }
            9 => {
                let kind = self.number(4);
                self.fields.lengths.push(self.at);
                (0..self.number(8)).for_each(|_| self.value(kind, false));
                return;
            }
            0 | 1 | 7 => 1,
            2 | 3 => 2,
            4..=6 => 4,
            _ => 8,
        };
        self.fields.scalars.extend(alone.then_some(self.at..self.at + size));
        self.at += size;
    }

    /// The fields after the counts of tensors and keys.
    fn all(bytes: &[u8]) -> Fields {
        let mut walk = Walk { bytes, at: 8, fields: Fields::default() };
        let (tensors, keys) = (walk.number(8), walk.number(8));
        for _ in 0..keys {
            let name = walk.text();
            walk.fields.names.push(name);
            walk.fields.types.push(walk.at);
            let kind = walk.number(4);
            walk.value(kind, true);
        }
        for _ in 0..tensors {
            let name = walk.text();
            walk.fields.names.push(name);
            for _ in 0..walk.number(4) {
                walk.fields.sizes.push(walk.at);
                walk.at += 8;
            }
            walk.fields.tensor_types.push(walk.at);
            walk.at += 4;
            walk.fields.sizes.push(walk.at);
            walk.at += 8;
        }
        walk.fields
    }
}

/// Changes one field and describes the change.
fn damage(bytes: &mut Vec<u8>, fields: &Fields, random: &mut Rng) -> String {
    let one = |all: &[usize], random: &mut Rng| all[random.usize(..all.len())];
    let put = |bytes: &mut [u8], at: usize, size: usize, value: u64| {
        bytes[at..at + size].copy_from_slice(&value.to_le_bytes()[..size])
    };
    let number = NUMBERS[random.usize(..NUMBERS.len())];
    match random.u32(..10) {
        0 => {
            let name = &fields.names[random.usize(..fields.names.len())];
            let at = random.usize(name.clone());
            bytes[at] = b'x';
            format!("name: {}", String::from_utf8_lossy(&bytes[name.clone()]))
        }
        1 => {
            let (at, kind) = (one(&fields.types, random), random.u64(..14));
            put(bytes, at, 4, kind);
            format!("type at {at}: {kind}")
        }
        2 => {
            let at = one(&fields.lengths, random);
            put(bytes, at, 8, number);
            format!("length at {at}: {number}")
        }
        3 => {
            let at = one(&fields.sizes, random);
            put(bytes, at, 8, number);
            format!("size at {at}: {number}")
        }
        4 => {
            let (at, kind) = (one(&fields.tensor_types, random), random.u64(..48));
            put(bytes, at, 4, kind);
            format!("type of a tensor at {at}: {kind}")
        }
        5 => {
            let text = &fields.texts[random.usize(..fields.texts.len())];
            let at = random.usize(text.start..text.end.max(text.start + 1));
            bytes[at] = random.u8(..);
            format!("text at {at}")
        }
        6 => {
            let end = random.usize(24..bytes.len());
            bytes.truncate(end);
            format!("cut at {end}")
        }
        _ => {
            let place = &fields.scalars[random.usize(..fields.scalars.len())];
            put(bytes, place.start, place.len(), number);
            format!("number at {}: {number}", place.start)
        }
    }
}

#[test]
fn no_damaged_header_ends_or_hangs_the_program() {
    let project = Project::todo();
    let prompts = project.beside("prompts.jsonl");
    fs::write(&prompts, r#"{"id": "a", "prompt": "The river"}"#).expect("a file");
    let shapes = [Shape::TinyLfm2, Shape::TinyQwen35Moe, Shape::TinyGemma4, Shape::TinyGlm, Shape::TinyNemotron];
    let files = shapes.map(|shape| {
        let file = project.beside(&format!("{shape}.gguf"));
        let recipe = Recipe { tokens: Some(1_500), ..Recipe::new(shape, Quant::Q8_0, &smollm()) };
        synth::write(&recipe, &file, &mut |_, _| (), &Cancel::new()).expect("written");
        let bytes = fs::read(&file).expect("a file");
        let fields = Walk::all(&bytes);
        (bytes, fields)
    });
    let (mut random, damaged) = (Rng::with_seed(36), project.beside("damaged.gguf"));
    let tries = std::env::var("MONOBLOC_TEST_HEADERS").ok().and_then(|tries| tries.parse().ok()).unwrap_or(40);
    let mut loaded = 0;
    for number in 0..tries {
        let (bytes, fields) = &files[number % files.len()];
        let mut bytes = bytes.clone();
        let what = damage(&mut bytes, fields, &mut random);
        fs::write(&damaged, bytes).expect("a file");
        let arguments =
            ["complete", "--max-tokens", "2", "--context", "256", "--prompts"].map(std::ffi::OsString::from);
        let paths = [prompts.clone().into(), "--model".into(), damaged.clone().into()];
        // If the program does not end, the test fails here.
        let ended = Run::new(&project, &[&arguments[..], &paths[..]].concat()).end();
        let about = format!("{} {what}: {}", shapes[number % shapes.len()], ended.err);
        assert!(ended.signal.is_none() && ended.code.is_some_and(|code| code < 100), "{about}");
        assert!(!ended.err.contains("panicked"), "{about}");
        assert!(ended.code == Some(0) || !ended.err.trim().is_empty(), "{about}");
        loaded += usize::from(ended.code == Some(0));
    }
    // Some changes do no harm; but if no file was refused, none was damaged.
    assert!(loaded > 0 && loaded < tries, "{loaded} of {tries}");
}
