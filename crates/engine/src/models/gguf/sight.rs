//! Reads how a projector processes pictures (`mmproj`, architecture `clip`), as far as memory and
//! the model depend on it.

use serde::Serialize;

use super::Tensor;
use super::parse::Parsed;

/// The vision part of a projector.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Sight {
    /// The kind of the projector: `clip.projector_type`, such as `gemma3` or `qwen3vl_merger`.
    pub projector: String,
    /// Length of the vectors passed to its text model; 0 if the header does not state it.
    pub width: u32,
    pub layers: u32,
    /// Hidden size, heads and inner size of its own layers.
    pub hidden: u32,
    pub heads: u32,
    pub feed_forward: u32,
    /// Side in pixels of the square that it reads; for families with pictures of any size, the size
    /// used in training.
    pub image: u32,
    /// Side in pixels of a patch.
    pub patch: u32,
    /// Side in patches of the square that becomes one vector.
    pub merge: u32,
    /// Maximum number of pixels in a picture, if the file states one.
    pub pixels_max: Option<u32>,
}

/// The last matrix or bias in llama.cpp's projectors, and which of its dimensions is the width
/// (`clip_n_mmproj_embd` in clip.cpp). The first one found in a file is used.
const LAST: [(&str, usize); 10] = [
    ("mm.model.fc.weight", 1),
    ("mm.model.mlp.3.weight", 1),
    ("mm.model.mb_block.2.block.2.1.bias", 0),
    ("mm.model.peg.0.bias", 0),
    ("mm.3.bias", 0),
    ("mm.2.weight", 1),
    ("mm.merger.fc2.bias", 0),
    ("mm.down.weight", 1),
    ("mm.model.proj", 1),
    ("resampler.proj.weight", 0),
];

/// Side of the merged square if no key states it: 4 for Gemma 3, 3 for Gemma 4, 2 for the Qwen
/// families.
fn merge(projector: &str) -> u32 {
    match projector {
        "gemma3" => 4,
        "gemma4v" => 3,
        "mlp" | "mlp_norm" | "pixtral" | "lightonocr" | "phi4" | "gemma3nv" => 1,
        _ => 2,
    }
}

impl Sight {
    /// `None` if the file does not accept pictures, for example because it is only for sound.
    pub(super) fn read(parsed: &Parsed<'_>, tensors: &[Tensor]) -> Option<Sight> {
        if parsed.flag("clip.has_vision_encoder") != Some(true) {
            return None;
        }
        let number = |key: &str| parsed.number(&format!("clip.vision.{key}"));
        let said = ["clip.projector_type", "clip.vision.projector_type"].iter().find_map(|key| parsed.text(key));
        let projector = said.unwrap_or_default();
        let merged = number("spatial_merge_size").or_else(|| number("projector.scale_factor"));
        let side = |name: &str, dimension: usize| {
            let tensor = tensors.iter().find(|tensor| tensor.name == name)?;
            u32::try_from(*tensor.shape.get(dimension)?).ok()
        };
        let input = side("mm.input_projection.weight", usize::from(!projector.starts_with("gemma3")));
        let width = input.or_else(|| LAST.iter().find_map(|(name, dimension)| side(name, *dimension)));
        Some(Sight {
            width: width.or_else(|| number("projection_dim")).unwrap_or(0),
            layers: number("block_count").unwrap_or(0),
            hidden: number("embedding_length").unwrap_or(0),
            heads: number("attention.head_count").unwrap_or(0),
            feed_forward: number("feed_forward_length").unwrap_or(0),
            image: number("image_size").unwrap_or(0),
            patch: number("patch_size").unwrap_or(0),
            merge: merged.unwrap_or_else(|| merge(&projector)).max(1),
            pixels_max: number("image_max_pixels"),
            projector,
        })
    }

    /// Whether every picture is scaled to one square, or cut into such squares, so that its own
    /// size does not matter.
    pub fn is_fixed(&self) -> bool {
        const SQUARES: [&str; 14] = [
            "mlp",
            "mlp_norm",
            "ldp",
            "ldpv2",
            "adapter",
            "resampler",
            "gemma3",
            "gemma3nv",
            "idefics3",
            "internvl",
            "llama4",
            "janus_pro",
            "cogvlm",
            "nemotron_v2_vl",
        ];
        SQUARES.contains(&self.projector.as_str())
    }
}
