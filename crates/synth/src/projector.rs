//! Plans a small projector with random weights, so that the handling of pictures can be tested
//! without real weights.
//!
//! Its vectors only differ from picture to picture; a model's text about them has no meaning.

use crate::shape::{Fill, Planned};
use monobloc_engine::models::gguf::write::HeaderWriter;

/// Side of the square to which every picture is scaled, and side of a patch, in pixels.
const IMAGE: u64 = 112;
const PATCH: u64 = 14;
const HIDDEN: u64 = 64;
const INNER: u64 = 128;
const LAYERS: u64 = 2;
const HEADS: u64 = 4;

/// Number of vectors per picture, if every picture is scaled to one square.
pub const VECTORS: u64 = (IMAGE / PATCH) * (IMAGE / PATCH);

/// Number of patches that become one vector, if pictures keep their shape.
const MERGED: u64 = 4;

/// The header and tensors of a projector for a text model of `width`. Its kind is `mlp` (LLaVA's,
/// which has the fewest tensors) or, if the model's positions encode rows and columns of a picture
/// (`is_grid`), Qwen2-VL's, which keeps the shape of pictures.
pub fn plan(width: u64, is_grid: bool) -> (HeaderWriter, Vec<Planned>) {
    let mut tensors = Vec::new();
    let mut add = |name: String, shape: &[u64], fill| tensors.push(Planned { name, shape: shape.to_vec(), fill });
    add("v.patch_embd.weight".into(), &[PATCH, PATCH, 3, HIDDEN], Fill::Uniform);
    if is_grid {
        add("v.patch_embd.weight.1".into(), &[PATCH, PATCH, 3, HIDDEN], Fill::Uniform);
    } else {
        add("v.position_embd.weight".into(), &[HIDDEN, VECTORS], Fill::Uniform);
    }
    for layer in 0..LAYERS {
        let own = |name: &str| format!("v.blk.{layer}.{name}");
        for norm in ["ln1", "ln2"] {
            add(own(&format!("{norm}.weight")), &[HIDDEN], Fill::Ones);
            add(own(&format!("{norm}.bias")), &[HIDDEN], Fill::Zeros);
        }
        for matrix in ["attn_q", "attn_k", "attn_v", "attn_out"] {
            add(own(&format!("{matrix}.weight")), &[HIDDEN, HIDDEN], Fill::Uniform);
            add(own(&format!("{matrix}.bias")), &[HIDDEN], Fill::Zeros);
        }
        add(own("ffn_up.weight"), &[HIDDEN, INNER], Fill::Uniform);
        add(own("ffn_down.weight"), &[INNER, HIDDEN], Fill::Uniform);
    }
    let (kind, inner, from) =
        if is_grid { ("qwen2vl_merger", MERGED * HIDDEN, MERGED * HIDDEN) } else { ("mlp", width, HIDDEN) };
    for (number, from, to) in [(0, from, inner), (2, inner, width)] {
        add(format!("mm.{number}.weight"), &[from, to], Fill::Uniform);
        add(format!("mm.{number}.bias"), &[to], Fill::Zeros);
    }
    let sizes = [
        ("image_size", IMAGE),
        ("patch_size", PATCH),
        ("embedding_length", HIDDEN),
        ("feed_forward_length", INNER),
        ("block_count", LAYERS),
        ("attention.head_count", HEADS),
        ("projection_dim", width),
    ];
    let writer = HeaderWriter::new("clip")
        .text("general.type", "mmproj")
        .text("general.name", "tiny projector, random weights")
        .text("general.description", "Random weights: for trying the way of a picture, not for seeing.")
        .bool("clip.has_vision_encoder", true)
        .text("clip.projector_type", kind)
        .bool("clip.use_gelu", true)
        .f32("clip.vision.attention.layer_norm_epsilon", 1e-5)
        .f32s("clip.vision.image_mean", &[0.5; 3])
        .f32s("clip.vision.image_std", &[0.25; 3]);
    let number =
        |writer: HeaderWriter, (key, value): &(&str, u64)| writer.u32(&format!("clip.vision.{key}"), *value as u32);
    (sizes.iter().fold(writer, number), tensors)
}
