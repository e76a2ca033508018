//! Predicts from a picture's header how much memory decoding it takes.
//!
//! The decoders' own buffers count as well as the result. `tests/decoding.rs` compares the
//! prediction with actual allocations.

use image::ImageFormat;
use image::metadata::Orientation;

use crate::base::Bytes;

/// Maximum memory while the picture in `file`, of this size, is decoded to `whole` bytes and
/// turned. By the time it is turned, the decoder's own buffers have been freed.
pub fn bytes(format: ImageFormat, file: &[u8], size: (u32, u32), whole: u64, turn: Orientation) -> Bytes {
    let pixels = u64::from(size.0) * u64::from(size.1);
    let beside = match format {
        // Two bytes per component and pixel, in whole blocks, if there are several scans.
        ImageFormat::Jpeg => {
            let padded = |side: u32| u64::from(side) + BLOCK - 1;
            2 * components(file) * padded(size.0) * padded(size.1)
        }
        // Canvas and frame; or a frame's three planes, its transparency, and the four bytes per
        // pixel that this is taken from.
        ImageFormat::WebP if file.get(12..16) == Some(b"VP8X") => 8 * pixels,
        // The frame with its transparency, and a share of it for each of three transforms.
        ImageFormat::WebP => 5 * pixels,
        // A frame smaller than the canvas.
        ImageFormat::Gif => whole,
        _ => 0,
    };
    let turned = if turn == Orientation::NoTransforms { 0 } else { whole };
    Bytes(whole + beside.max(turned))
}

/// Side of the largest block in a JPEG, in pixels.
const BLOCK: u64 = 32;

/// Number of components in a JPEG, from its first frame header: `ff c0`, two bytes of length, the
/// precision, twice two bytes of size, and the number. Four, the maximum, if anything unusual
/// precedes it.
fn components(file: &[u8]) -> u64 {
    const MOST: u64 = 4;
    // After the start marker.
    let mut at = 2;
    while let Some(&[0xff, marker, high, low]) = file.get(at..).and_then(|rest| rest.first_chunk::<4>()) {
        match marker {
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                return match file.get(at + 9) {
                    Some(1) => 1,
                    Some(3) => 3,
                    _ => MOST,
                };
            }
            // Segments with a length: tables, application data, comments.
            0xc4 | 0xdb..=0xdf | 0xe0..=0xef | 0xfe => at += 2 + usize::from(u16::from_be_bytes([high, low])),
            _ => return MOST,
        }
    }
    MOST
}

/// The sizes that lossy frames inside a WebP claim: its decoder allocates memory for them before
/// comparing them with the overall size. Empty for other formats.
pub fn inner_sizes(format: ImageFormat, file: &[u8]) -> Vec<(u32, u32)> {
    let mut sizes = Vec::new();
    if format == ImageFormat::WebP {
        collect(file.get(12..).unwrap_or_default(), false, &mut sizes);
    }
    sizes
}

/// Collects the sizes in a list of chunks: four letters, four bytes of length, the content. The
/// chunks of a frame follow its 16-byte header, and the decoder does not check the names of all of
/// them.
fn collect(mut chunks: &[u8], in_a_frame: bool, sizes: &mut Vec<(u32, u32)>) {
    while let Some((name, rest)) = chunks.split_first_chunk::<4>()
        && let Some((length, rest)) = rest.split_first_chunk::<4>()
    {
        let length = u32::from_le_bytes(*length) as usize;
        let content = &rest[..length.min(rest.len())];
        if name == b"ANMF" && !in_a_frame {
            collect(content.get(16..).unwrap_or_default(), true, sizes);
        }
        // Three bytes about the frame, its mark, and two 14-bit sizes.
        if let Some(&[_, _, _, 0x9d, 0x01, 0x2a, a, b, c, d]) = content.first_chunk::<10>() {
            let side = |low, high| u32::from(u16::from_le_bytes([low, high]) & 0x3fff);
            sizes.push((side(a, b), side(c, d)));
        }
        chunks = rest.get(length + length % 2..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_components_of_a_jpeg_are_read_and_the_most_are_assumed() {
        let check = |segments: &[&[u8]], expected| {
            assert_eq!(components(&[&[0xff, 0xd8], segments.concat().as_slice()].concat()), expected, "{segments:x?}");
        };
        let frame = |number| [0xff, 0xc2, 0, 17, 8, 0, 16, 0, 16, number];
        let comment: &[u8] = &[0xff, 0xfe, 0, 4, b'h', b'i'];
        check(&[&frame(3)], 3);
        check(&[comment, &frame(1)], 1);
        check(&[comment, &frame(4)], 4);
        // A length that points elsewhere, a scan before the frame, and an end.
        check(&[&[0xff, 0xfe, 0, 9, 0, 0], &frame(3)], 4);
        check(&[&[0xff, 0xda, 0, 2], &frame(3)], 4);
        check(&[comment], 4);
    }

    #[test]
    fn frames_inside_a_webp_are_found_whatever_they_are_called() {
        let chunk = |name: &[u8; 4], content: &[u8]| {
            let mut all = [&name[..], &(content.len() as u32).to_le_bytes(), content].concat();
            all.resize(all.len().next_multiple_of(2), 0);
            all
        };
        let frame = [0, 0, 0, 0x9d, 1, 0x2a, 0xff, 0x3f, 0x10, 0x80, 7];
        let animated = chunk(b"ANMF", &[vec![0; 16], chunk(b"ALPH", &[1]), chunk(b"ODD ", &frame)].concat());
        let sizes = |chunks: &[u8]| inner_sizes(ImageFormat::WebP, &[&[0; 12], chunks].concat());
        assert_eq!(sizes(&[chunk(b"ICCP", &[3; 5]), chunk(b"VP8 ", &frame)].concat()), [(16_383, 16)]);
        assert_eq!(sizes(&animated), [(16_383, 16)]);
        // Frames within frames are not followed, regardless of depth.
        let frame_around_all_that_follows = [&b"ANMF"[..], &u32::MAX.to_le_bytes(), &[0; 16]].concat();
        let nested = frame_around_all_that_follows.repeat(50_000);
        assert!(sizes(&nested).is_empty() && sizes(&[1, 2, 3]).is_empty());
    }
}
