//! The model shapes that `synth` can write, by name.

mod altup;
mod attention;
mod blueprint;
mod delta;
mod lfm2;
mod mamba;
mod window;

use std::fmt;
use std::str::FromStr;

pub use blueprint::{Blueprint, Fill, Planned};

use crate::quant::{UnknownName, named};

/// A model whose shape can be written. The tiny ones are for tests: a few narrow layers, with all
/// features of their architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Lfm2_24bA2b,
    Lfm2_8bA1b,
    Lfm2_2_6b,
    Lfm2_1_2b,
    TinyLfm2,
    TinyLfm2Moe,
    /// With hidden size 256, so that rows are whole blocks of ternary weights.
    TinyBitnet,
    Qwen35_4b,
    Qwen36_35bA3b,
    TinyQwen35,
    TinyQwen35Moe,
    Qwen3Next80b,
    TinyQwen3Next,
    GraniteHTiny,
    NemotronNano,
    TinyGranite,
    TinyNemotron,
    TinyFalcon,
    Gemma4E4b,
    Gemma4_12b,
    TinyGemma4,
    Gemma3nE4b,
    TinyGemma3n,
    GptOss20b,
    TinyGptOss,
    Ministral8b,
    TinyMistral,
    GlmFlash,
    TinyGlm,
    TinyMistral4,
}

const NAMES: [(Shape, &str); 30] = [
    (Shape::Lfm2_24bA2b, "lfm2-24b-a2b"),
    (Shape::Lfm2_8bA1b, "lfm2-8b-a1b"),
    (Shape::Lfm2_2_6b, "lfm2-2.6b"),
    (Shape::Lfm2_1_2b, "lfm2-1.2b"),
    (Shape::Qwen35_4b, "qwen3.5-4b"),
    (Shape::Qwen36_35bA3b, "qwen3.6-35b-a3b"),
    (Shape::Qwen3Next80b, "qwen3-next-80b-a3b"),
    (Shape::GraniteHTiny, "granite-4-h-tiny"),
    (Shape::NemotronNano, "nemotron-3-nano"),
    (Shape::Gemma3nE4b, "gemma-3n-e4b"),
    (Shape::Gemma4E4b, "gemma-4-e4b"),
    (Shape::Gemma4_12b, "gemma-4-12b"),
    (Shape::GptOss20b, "gpt-oss-20b"),
    (Shape::Ministral8b, "ministral-3-8b"),
    (Shape::GlmFlash, "glm-4.7-flash"),
    (Shape::TinyLfm2, "tiny-lfm2"),
    (Shape::TinyLfm2Moe, "tiny-lfm2moe"),
    (Shape::TinyBitnet, "tiny-bitnet"),
    (Shape::TinyQwen35, "tiny-qwen35"),
    (Shape::TinyQwen35Moe, "tiny-qwen35moe"),
    (Shape::TinyQwen3Next, "tiny-qwen3next"),
    (Shape::TinyGranite, "tiny-granitehybrid"),
    (Shape::TinyNemotron, "tiny-nemotron"),
    (Shape::TinyFalcon, "tiny-falcon-h1"),
    (Shape::TinyGemma3n, "tiny-gemma3n"),
    (Shape::TinyGemma4, "tiny-gemma4"),
    (Shape::TinyGptOss, "tiny-gpt-oss"),
    (Shape::TinyMistral, "tiny-mistral3"),
    (Shape::TinyGlm, "tiny-glm-flash"),
    (Shape::TinyMistral4, "tiny-mistral4"),
];

impl Shape {
    /// Number of entries in the model's own vocabulary; in LFM2's for the tiny shapes, or fewer if
    /// each entry has numbers for every layer.
    pub fn vocabulary(self) -> u64 {
        match self {
            Shape::Qwen35_4b | Shape::Qwen36_35bA3b => 248_320,
            Shape::Qwen3Next80b => 151_936,
            Shape::GraniteHTiny => 100_352,
            Shape::NemotronNano | Shape::Ministral8b => 131_072,
            Shape::Gemma3nE4b | Shape::Gemma4E4b | Shape::Gemma4_12b => 262_144,
            Shape::TinyGemma3n => 8_192,
            Shape::GptOss20b => 201_088,
            Shape::GlmFlash => 154_880,
            _ => 65_536,
        }
    }

    /// Keys and tensors of the shape with a vocabulary of this size.
    pub fn blueprint(self, vocabulary: u64) -> Blueprint {
        match self {
            Shape::Lfm2_24bA2b => lfm2::LFM2_24B.blueprint(vocabulary),
            Shape::Lfm2_8bA1b => lfm2::LFM2_8B.blueprint(vocabulary),
            Shape::Lfm2_2_6b => lfm2::LFM2_2_6B.blueprint(vocabulary),
            Shape::Lfm2_1_2b => lfm2::LFM2_1_2B.blueprint(vocabulary),
            Shape::TinyLfm2 => lfm2::TINY.blueprint(vocabulary),
            Shape::TinyLfm2Moe => lfm2::TINY_MOE.blueprint(vocabulary),
            Shape::TinyBitnet => lfm2::TINY_BITNET.blueprint(vocabulary),
            Shape::Qwen35_4b => delta::QWEN35_4B.blueprint(vocabulary),
            Shape::Qwen36_35bA3b => delta::QWEN36_35B.blueprint(vocabulary),
            Shape::TinyQwen35 => delta::TINY.blueprint(vocabulary),
            Shape::TinyQwen35Moe => delta::TINY_MOE.blueprint(vocabulary),
            Shape::Qwen3Next80b => delta::QWEN3_NEXT_80B.blueprint(vocabulary),
            Shape::TinyQwen3Next => delta::TINY_NEXT.blueprint(vocabulary),
            Shape::GraniteHTiny => mamba::GRANITE_H_TINY.blueprint(vocabulary),
            Shape::NemotronNano => mamba::NEMOTRON_NANO.blueprint(vocabulary),
            Shape::TinyGranite => mamba::TINY_GRANITE.blueprint(vocabulary),
            Shape::TinyNemotron => mamba::TINY_NEMOTRON.blueprint(vocabulary),
            Shape::TinyFalcon => mamba::TINY_FALCON.blueprint(vocabulary),
            Shape::Gemma4E4b => window::GEMMA4_E4B.blueprint(vocabulary),
            Shape::Gemma4_12b => window::GEMMA4_12B.blueprint(vocabulary),
            Shape::TinyGemma4 => window::TINY_GEMMA4.blueprint(vocabulary),
            Shape::Gemma3nE4b => altup::E4B.blueprint(vocabulary),
            Shape::TinyGemma3n => altup::TINY.blueprint(vocabulary),
            Shape::GptOss20b => window::GPT_OSS_20B.blueprint(vocabulary),
            Shape::TinyGptOss => window::TINY_GPT_OSS.blueprint(vocabulary),
            Shape::Ministral8b => attention::MINISTRAL_8B.blueprint(vocabulary),
            Shape::TinyMistral => attention::TINY_MISTRAL.blueprint(vocabulary),
            Shape::GlmFlash => attention::GLM_FLASH.blueprint(vocabulary),
            Shape::TinyGlm => attention::TINY_GLM.blueprint(vocabulary),
            Shape::TinyMistral4 => attention::TINY_MISTRAL4.blueprint(vocabulary),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NAMES.iter().find(|(shape, _)| shape == self).map_or("", |(_, name)| name))
    }
}

impl FromStr for Shape {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Shape, UnknownName> {
        named(&NAMES, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quant::{QUANTS, Quant};

    fn parameters(shape: &str) -> u64 {
        let shape: Shape = shape.parse().unwrap();
        shape.blueprint(shape.vocabulary()).tensors.iter().map(Planned::parameters).sum()
    }

    #[test]
    fn parameters_are_those_of_the_published_models() {
        assert_eq!(parameters("lfm2-24b-a2b"), 23_843_661_440);
        assert_eq!(parameters("lfm2-8b-a1b"), 8_339_930_560);
        assert_eq!(parameters("LFM2-1.2B"), 1_170_340_608);
    }

    #[test]
    fn sizes_are_about_those_in_the_models_names() {
        // In billions, as stated by the makers. For Gemma's E4B they also count the per-layer
        // tables.
        for (shape, billions) in [
            ("qwen3.5-4b", 4.2),
            ("qwen3.6-35b-a3b", 34.7),
            ("qwen3-next-80b-a3b", 79.7),
            ("granite-4-h-tiny", 6.9),
            ("nemotron-3-nano", 31.6),
            ("gemma-3n-e4b", 6.9),
            ("gemma-4-e4b", 7.5),
            ("gemma-4-12b", 11.9),
            ("gpt-oss-20b", 20.9),
            ("ministral-3-8b", 8.5),
            ("glm-4.7-flash", 29.9),
        ] {
            let found = parameters(shape) as f64 / 1e9;
            assert!((found / billions - 1.0).abs() < 0.03, "{shape}: {found}");
        }
    }

    #[test]
    fn every_row_is_made_of_whole_blocks() {
        for (shape, _) in NAMES {
            for tensor in shape.blueprint(shape.vocabulary()).tensors {
                for (quant, _) in QUANTS {
                    assert!(tensor.shape[0].is_multiple_of(tensor.kind(quant).block), "{shape} {}", tensor.name);
                }
            }
        }
    }

    #[test]
    fn matrices_are_ternary_where_their_rows_allow_it() {
        let stored = |shape: Shape| -> std::collections::BTreeSet<&str> {
            let tensors = shape.blueprint(1024).tensors;
            tensors.iter().map(|tensor| tensor.kind(Quant::Tq2_0).name).collect()
        };
        assert_eq!(stored(Shape::TinyBitnet), ["F32", "TQ2_0"].into());
        assert_eq!(stored(Shape::TinyLfm2), ["F32", "Q4_0", "TQ2_0"].into());
    }
}
