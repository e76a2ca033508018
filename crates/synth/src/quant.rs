//! The quantisations in which `synth` can write a model's matrices.

use std::fmt;
use std::str::FromStr;

use monobloc_base::OrBug;
use monobloc_engine::models::gguf::TensorType;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quant {
    Q4_0,
    Q8_0,
    /// Ternary: each weight is -1, 0 or 1 times the scale of its block of 256.
    Tq1_0,
    Tq2_0,
}

/// The tensor type called `name`; panics if there is none.
pub fn kind(name: &str) -> &'static TensorType {
    TensorType::by_name(name).or_bug("the table has every type that is written")
}

pub const QUANTS: [(Quant, &str); 4] =
    [(Quant::Q4_0, "q4_0"), (Quant::Q8_0, "q8_0"), (Quant::Tq1_0, "tq1_0"), (Quant::Tq2_0, "tq2_0")];

impl Quant {
    pub fn kind(self) -> &'static TensorType {
        kind(self.name())
    }

    fn name(self) -> &'static str {
        QUANTS.iter().find(|(quant, _)| *quant == self).map_or("", |(_, name)| name)
    }

    /// The value of `general.file_type`: `enum llama_ftype` of llama.h.
    pub fn file_type(self) -> u32 {
        match self {
            Quant::Q4_0 => 2,
            Quant::Q8_0 => 7,
            Quant::Tq1_0 => 36,
            Quant::Tq2_0 => 37,
        }
    }
}

impl fmt::Display for Quant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Quant {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Quant, UnknownName> {
        named(&QUANTS, text)
    }
}

/// An unknown name of a shape or quantisation, with the known ones.
#[derive(Debug, thiserror::Error)]
#[error("`{name}` is not one of {known}")]
pub struct UnknownName {
    name: String,
    known: String,
}

/// The value called `text`, ignoring case.
pub(crate) fn named<T: Copy>(all: &[(T, &str)], text: &str) -> Result<T, UnknownName> {
    let found = all.iter().find(|(_, name)| name.eq_ignore_ascii_case(text)).map(|(value, _)| *value);
    found.ok_or_else(|| {
        let known: Vec<&str> = all.iter().map(|(_, name)| *name).collect();
        UnknownName { name: text.to_owned(), known: known.join(", ") }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_ignore_case_and_an_unknown_name_lists_the_known_ones() {
        assert_eq!("Q4_0".parse::<Quant>().unwrap().to_string(), "q4_0");
        let error = "q2_k".parse::<Quant>().unwrap_err().to_string();
        assert_eq!(error, "`q2_k` is not one of q4_0, q8_0, tq1_0, tq2_0");
    }
}
