//! Estimates a projector's memory, in addition to its text model's, from its header, before
//! anything is loaded.

use std::sync::Arc;

use super::Amount;
use super::machine::Machine;
use crate::base::Bytes;
use crate::models::gguf::{Header, Sight};
use crate::models::picture;

/// Maximum number of vectors per picture, unless the settings state otherwise: enough for about 900
/// × 900 pixels if a vector covers 28 × 28.
pub const TOKENS: u32 = 1024;

/// Settings for looking at pictures.
#[derive(Clone, Copy, Debug)]
pub struct Seeing {
    /// Maximum number of vectors per picture.
    pub tokens: u32,
    /// Width of the text model.
    pub text_width: u32,
    /// Whether attention is computed as matrix products, without flash attention.
    pub products: bool,
}

/// A projector that a model would see with, and how it would look.
#[derive(Clone, Debug)]
pub struct Eye {
    pub projector: Arc<Header>,
    pub seeing: Seeing,
}

impl Eye {
    /// The memory that it takes; `on_gpu`: its model has layers on an accelerator.
    pub fn amount(&self, on_gpu: bool, machine: &Machine) -> Amount {
        SightEstimate::of(&self.projector, self.seeing).amount(on_gpu, machine)
    }
}

/// Memory of one loaded projector, by purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SightEstimate {
    pub weights: Bytes,
    /// Working memory of its graph for the largest picture.
    pub compute: Bytes,
    /// A decoded picture with its copies, the numbers computed from it, and the vectors.
    pub pictures: Bytes,
    /// Graph and scheduler.
    pub host: Bytes,
}

/// Tensor descriptions of a graph of 8,192 nodes and the scheduler's tables (`max_nodes` in
/// clip.cpp), as measured.
const GRAPH: Bytes = Bytes::mib(8);
/// Maximum number of tiles per picture, including its overview, in families that cut pictures into
/// squares (SmolVLM: 4 × 4 and one).
const TILES_MAX: u64 = 17;
/// The working memory may exceed the tensors that exist at the same time by one part in this many,
/// for gaps between them and padding.
const LOOSE: u64 = 10;

impl SightEstimate {
    /// Zero if the file does not accept pictures.
    pub fn of(header: &Header, seeing: Seeing) -> SightEstimate {
        let Some(sight) = &header.sight else { return SightEstimate::default() };
        let Seeing { tokens, text_width, products } = seeing;
        let patches = patches(sight, tokens);
        let pixels = patches * u64::from(sight.patch).pow(2);
        let tiles = if sight.is_fixed() { TILES_MAX } else { 1 };
        let vectors = u64::from(tokens).max(patches) * u64::from(text_width.max(sight.width));
        SightEstimate {
            weights: header.tensor_bytes(),
            compute: compute(sight, patches, text_width, products),
            // Vectors: mtmd's own, and llama.cpp's two copies of a batch.
            pictures: picture::WORK + Bytes(12 * pixels * tiles) + Bytes(4 * 3 * vectors),
            host: GRAPH,
        }
    }

    /// Where the memory is taken. With an accelerator, weights and working memory are there.
    pub fn amount(&self, on_gpu: bool, machine: &Machine) -> Amount {
        let device = if on_gpu { self.weights + self.compute } else { Bytes::ZERO };
        machine.amount(self.total().saturating_sub(device), device)
    }

    pub fn parts(&self) -> [(&'static str, Bytes); 4] {
        [("weights", self.weights), ("compute", self.compute), ("pictures", self.pictures), ("host", self.host)]
    }

    pub fn total(&self) -> Bytes {
        self.parts().into_iter().map(|(_, bytes)| bytes).sum()
    }
}

/// The size of an attention head, and the number of patches in the largest picture of `tokens`
/// vectors; `None` if the file does not accept pictures or does not state the size.
pub fn attention(header: &Header, tokens: u32) -> Option<(u32, u64)> {
    let sight = header.sight.as_ref()?;
    Some((sight.hidden.checked_div(sight.heads)?, patches(sight, tokens)))
}

/// Number of patches of the largest picture that goes through the graph at once.
fn patches(sight: &Sight, tokens: u32) -> u64 {
    let patch = u64::from(sight.patch.max(1));
    let square = (u64::from(sight.image) / patch).pow(2);
    if sight.is_fixed() {
        return square;
    }
    let wanted = u64::from(tokens) * u64::from(sight.merge).pow(2);
    let said = sight.pixels_max.map_or(0, |pixels| u64::from(pixels) / patch.pow(2));
    square.max(wanted).max(said)
}

/// Working memory of the graph in f32: for each patch, the tensors that exist at the same time. In
/// attention: the layer's input, its norm, queries, keys, values, the last two also in f16, and the
/// joined result; for products, the scores of every head against all patches. In the feed-forward
/// block: two hidden vectors and two inner ones. At the start: the colours, their columns for the
/// convolution, and two hidden vectors. At the end: hidden vectors twice, and the vectors computed
/// from them. In addition, the kernels copy the widest rows to f16 outside the graph.
fn compute(sight: &Sight, patches: u64, text_width: u32, products: bool) -> Bytes {
    let (hidden, inner) = (u64::from(sight.hidden), u64::from(sight.feed_forward));
    let colours = 3 * u64::from(sight.patch).pow(2);
    let merged = u64::from(sight.merge).pow(2);
    let scores = if products { u64::from(sight.heads).saturating_mul(patches) } else { 0 };
    let attention = scores.saturating_add(8 * hidden);
    let feed_forward = 2 * hidden + 2 * inner.max(4 * hidden);
    let start = 2 * colours + 2 * hidden;
    let end = 2 * hidden + 3 * (u64::from(text_width.max(sight.width)) + merged * hidden) / merged;
    let widest = attention.max(feed_forward).max(start).max(end);
    let copies = inner.max(4 * hidden).max(colours) / 2;
    let graph = (4 * patches).saturating_mul(widest.saturating_add(copies + colours));
    Bytes(graph.saturating_add(graph / LOOSE))
}

#[cfg(test)]
mod tests {
    use super::super::example::hybrid;
    use super::*;

    fn eyes(projector: &str, image: u32, patch: u32, merge: u32) -> Header {
        let sight = Sight {
            projector: projector.into(),
            width: 1024,
            layers: 12,
            hidden: 768,
            heads: 12,
            feed_forward: 3072,
            image,
            patch,
            merge,
            pixels_max: None,
        };
        Header { sight: Some(sight), ..hybrid(4, 256, 0, "q8_0") }
    }

    #[test]
    fn the_largest_image_decides_what_a_projector_takes() {
        let patches_of = |header: &Header, tokens| patches(header.sight.as_ref().unwrap(), tokens);
        let square = eyes("gemma3", 896, 14, 4);
        assert_eq!((patches_of(&square, 256), patches_of(&square, 4096)), (4096, 4096));
        let any = eyes("qwen3vl_merger", 768, 16, 2);
        assert_eq!((patches_of(&any, 64), patches_of(&any, 1024)), (2304, 4096));
        let mut said = any.clone();
        said.sight.as_mut().unwrap().pixels_max = Some(16 * 16 * 9000);
        assert_eq!(patches_of(&said, 1024), 9000);
        let of = |header: &Header, tokens, products| {
            SightEstimate::of(header, Seeing { tokens, text_width: 1024, products })
        };
        let (small, large) = (of(&any, 1024, false), of(&any, 4096, false));
        // Twelve heads with four bytes for each pair of 4,096 patches.
        assert!(of(&any, 1024, true).compute.0 > 4 * 12 * 4096 * 4096);
        assert_eq!(small.weights, any.tensor_bytes());
        assert!(large.compute.0 > 3 * small.compute.0 && large.pictures > small.pictures);
        assert_eq!(small.total(), small.weights + small.compute + small.pictures + small.host);
        assert_eq!(of(&hybrid(4, 256, 0, "q8_0"), 1024, false), SightEstimate::default());
    }
}
