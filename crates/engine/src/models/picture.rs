//! Pictures for models that see: reads PNG, JPEG, WebP and the first frame of a GIF, within limits on bytes and pixels.
//!
//! A picture keeps the bytes of its file and is decoded again where a model looks at it, so that a
//! waiting request holds no pixels. Decoding happens here alone, one picture at a time.

use std::fmt;
use std::io::Cursor;
use std::sync::{Arc, Mutex, MutexGuard};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits, Rgb, RgbImage};
use sha2::{Digest, Sha256};

use crate::base::{Bytes, lock};

/// Largest file of a picture.
pub const FILE_MAX: Bytes = Bytes::mib(20);
/// Maximum number of pixels of a picture: photographs of telephones have 12 to 24 million, a screen of 5K has 15.
pub const PIXELS_MAX: u64 = 25_000_000;
/// Longest side; the formats' own decoders keep rows of it.
const SIDE_MAX: u32 = 16_384;
/// Maximum memory of a decoded picture: four bytes a pixel. One with 16 bits a colour may have half as
/// many pixels.
const DECODED_MAX: Bytes = Bytes(4 * PIXELS_MAX);
/// Maximum number of pixels handed to a projector, which scales them down further. The families read
/// at most 3.2 million (Qwen, 4,096 tokens of 28 × 28).
pub const PIXELS_SEEN: u64 = 4_000_000;

/// Memory that looking at one picture may take before the projector has it: the decoded pixels, twice
/// while a picture is turned, and three copies of those that are handed on (ours, mtmd's and its
/// preprocessor's).
pub const WORK: Bytes = Bytes(2 * DECODED_MAX.0 + 3 * 3 * PIXELS_SEEN);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PictureError {
    #[error("{name} has {bytes}; a picture may have {FILE_MAX}. Make it smaller")]
    Large { name: String, bytes: Bytes },
    #[error("{name} is not a PNG, JPEG, WebP or GIF; convert it to one of them")]
    Unknown { name: String },
    #[error(
        "{name} would unfold to {width} × {height} pixels ({}); a picture may have {PIXELS_MAX}, and {SIDE_MAX} a side. \
         Make it smaller",
        u64::from(*.width) * u64::from(*.height)
    )]
    Bomb { name: String, width: u32, height: u32 },
    #[error(
        "{name} would take {bytes} when decoded; a picture may take {DECODED_MAX}. Make it smaller, or use 8 bits a colour"
    )]
    Deep { name: String, bytes: Bytes },
    #[error("{name} is not base64: {reason}")]
    Encoded { name: String, reason: String },
    #[error("{name} cannot be read: {reason}; save it again, or take another")]
    Damaged { name: String, reason: String },
}

/// A picture that was decoded once without a fault. Cheap to clone.
#[derive(Clone)]
pub struct Picture(Arc<Inner>);

struct Inner {
    name: String,
    format: ImageFormat,
    file: Vec<u8>,
    /// SHA-256 of `file`.
    hash: [u8; 32],
    /// Sizes in pixels as shown, after the turn that the file asks for.
    width: u32,
    height: u32,
}

/// Two pictures are the same if their files are.
impl PartialEq for Picture {
    fn eq(&self, other: &Picture) -> bool {
        self.0.hash == other.0.hash
    }
}

impl Eq for Picture {}

impl fmt::Debug for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Picture({}, {} × {})", self.0.name, self.0.width, self.0.height)
    }
}

impl Picture {
    /// Checks and decodes the bytes of a file. `name` is used in messages.
    pub fn read(name: impl Into<String>, file: Vec<u8>) -> Result<Picture, PictureError> {
        let name = name.into();
        let bytes = Bytes(file.len() as u64);
        if bytes > FILE_MAX {
            return Err(PictureError::Large { name, bytes });
        }
        let format = match image::guess_format(&file) {
            Ok(format @ (ImageFormat::Png | ImageFormat::Jpeg | ImageFormat::WebP | ImageFormat::Gif)) => format,
            _ => return Err(PictureError::Unknown { name }),
        };
        let decoded = decode(&name, format, &file, &alone())?;
        let (width, height) = (decoded.width(), decoded.height());
        let hash = Sha256::digest(&file).into();
        Ok(Picture(Arc::new(Inner { name, format, file, hash, width, height })))
    }

    /// The same for a file in base64, as protocols carry it.
    pub fn of_base64(name: impl Into<String>, text: &str) -> Result<Picture, PictureError> {
        let (name, text) = (name.into(), text.trim());
        let bytes = Bytes(text.len() as u64 / 4 * 3);
        if bytes > FILE_MAX {
            return Err(PictureError::Large { name, bytes });
        }
        match BASE64_STANDARD.decode(text) {
            Ok(file) => Picture::read(name, file),
            Err(error) => Err(PictureError::Encoded { name, reason: error.to_string() }),
        }
    }

    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// SHA-256 of its file.
    pub fn hash(&self) -> &[u8; 32] {
        &self.0.hash
    }

    /// Width and height in pixels.
    pub fn size(&self) -> (u32, u32) {
        (self.0.width, self.0.height)
    }

    /// Width and height at which a projector gets it: unchanged if it has few enough pixels.
    pub fn size_seen(&self) -> (u32, u32) {
        seen(self.0.width, self.0.height)
    }

    /// The bytes of its file, and their type, such as `image/png`.
    pub fn file(&self) -> (&[u8], &'static str) {
        (&self.0.file, self.0.format.to_mime_type())
    }

    /// Its pixels on white at this size, three bytes each: red, green, blue.
    pub fn pixels(&self, width: u32, height: u32) -> Result<Vec<u8>, PictureError> {
        let alone = alone();
        let decoded = decode(&self.0.name, self.0.format, &self.0.file, &alone)?;
        let fits = (decoded.width(), decoded.height()) == (width, height);
        let scaled = if fits { decoded } else { decoded.thumbnail_exact(width, height) };
        Ok(on_white(scaled).into_raw())
    }
}

/// A size of the same shape with at most [`PIXELS_SEEN`] pixels.
fn seen(width: u32, height: u32) -> (u32, u32) {
    let pixels = u64::from(width) * u64::from(height);
    if pixels <= PIXELS_SEEN {
        return (width, height);
    }
    let share = (PIXELS_SEEN as f64 / pixels as f64).sqrt();
    let side = |length: u32| ((f64::from(length) * share) as u32).max(1);
    (side(width), side(height))
}

/// The right to hold a decoded picture: one at a time, so that [`WORK`] bounds what all requests
/// together take.
struct Alone(#[expect(dead_code, reason = "held for its drop")] MutexGuard<'static, ()>);

fn alone() -> Alone {
    static DECODING: Mutex<()> = Mutex::new(());
    Alone(lock(&DECODING))
}

/// Decodes the first frame, turned as the file asks. The limits hold before anything is allocated.
fn decode(name: &str, format: ImageFormat, file: &[u8], _: &Alone) -> Result<DynamicImage, PictureError> {
    let damaged = |error: image::ImageError| PictureError::Damaged { name: name.to_owned(), reason: error.to_string() };
    let mut limits = Limits::default();
    limits.max_alloc = Some(DECODED_MAX.0);
    let mut reader = ImageReader::with_format(Cursor::new(file), format);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(damaged)?;
    let (width, height) = decoder.dimensions();
    let pixels = u64::from(width) * u64::from(height);
    if pixels > PIXELS_MAX || width.max(height) > SIDE_MAX {
        return Err(PictureError::Bomb { name: name.to_owned(), width, height });
    }
    let bytes = Bytes(decoder.total_bytes());
    if bytes > DECODED_MAX {
        return Err(PictureError::Deep { name: name.to_owned(), bytes });
    }
    let turn = decoder.orientation().map_err(damaged)?;
    let mut decoded = DynamicImage::from_decoder(decoder).map_err(damaged)?;
    decoded.apply_orientation(turn);
    Ok(decoded)
}

/// Without its transparency, as on a white page.
fn on_white(decoded: DynamicImage) -> RgbImage {
    if !decoded.color().has_alpha() {
        return decoded.into_rgb8();
    }
    let all = decoded.into_rgba8();
    let over = |colour: u8, alpha: u8| {
        let (colour, alpha) = (u32::from(colour), u32::from(alpha));
        ((colour * alpha + 255 * (255 - alpha)) / 255) as u8
    };
    RgbImage::from_fn(all.width(), all.height(), |x, y| {
        let [red, green, blue, alpha] = all.get_pixel(x, y).0;
        Rgb([red, green, blue].map(|colour| over(colour, alpha)))
    })
}

#[cfg(test)]
pub mod tests {
    use image::{Rgba, RgbaImage};

    use super::*;

    /// A picture of `width` × `height` pixels that fade from `from` to white.
    pub fn fading(width: u32, height: u32, from: [u8; 3]) -> Vec<u8> {
        let fade = |start: u8, x: u32| start + ((255 - u32::from(start)) * x / width.max(1)) as u8;
        encoded(RgbImage::from_fn(width, height, |x, _| Rgb(from.map(|start| fade(start, x)))).into(), ImageFormat::Png)
    }

    fn encoded(picture: DynamicImage, format: ImageFormat) -> Vec<u8> {
        let mut file = Cursor::new(Vec::new());
        picture.write_to(&mut file, format).unwrap();
        file.into_inner()
    }

    fn refused(file: Vec<u8>) -> String {
        Picture::read("p.png", file).unwrap_err().to_string()
    }

    /// A PNG whose header claims this size, with hardly any data.
    fn claiming(width: u32, height: u32) -> Vec<u8> {
        let mut file = fading(1, 1, [0; 3]);
        file[16..20].copy_from_slice(&width.to_be_bytes());
        file[20..24].copy_from_slice(&height.to_be_bytes());
        let checksum = crc(&file[12..29]);
        file[29..33].copy_from_slice(&checksum.to_be_bytes());
        file
    }

    fn crc(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(!0u32, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 })
        })
    }

    #[test]
    fn images_of_the_four_formats_are_read() {
        let red = DynamicImage::from(RgbImage::from_pixel(30, 20, Rgb([200, 30, 30])));
        for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP, ImageFormat::Gif] {
            let picture = Picture::read("p", encoded(red.clone(), format)).unwrap();
            assert_eq!((picture.size(), picture.file().1), ((30, 20), format.to_mime_type()));
            let rgb = picture.pixels(30, 20).unwrap();
            assert_eq!((rgb.len(), picture.pixels(15, 10).unwrap().len()), (30 * 20 * 3, 15 * 10 * 3));
            assert!(rgb[0].abs_diff(200) < 12 && rgb[1].abs_diff(30) < 12, "{format:?}: {:?}", &rgb[..3]);
        }
        let bitmap = encoded_bmp();
        assert!(refused(bitmap).contains("p.png is not a PNG, JPEG, WebP or GIF"));
    }

    fn encoded_bmp() -> Vec<u8> {
        let mut file = b"BM".to_vec();
        file.resize(200, 0);
        file
    }

    #[test]
    fn an_image_bomb_is_refused_with_its_numbers_before_it_unfolds() {
        let begun = std::time::Instant::now();
        let told = refused(claiming(60_000, 60_000));
        assert!(
            told.contains("p.png would unfold to 60000 × 60000 pixels (3600000000)") && told.contains("25000000"),
            "{told}"
        );
        assert!(refused(claiming(20_000, 1)).contains("20000 × 1 pixels"));
        assert!(begun.elapsed().as_secs() < 5);
        let long = "A".repeat(FILE_MAX.0 as usize / 3 * 4 + 8);
        assert!(Picture::of_base64("p.png", &long).unwrap_err().to_string().contains("a picture may have 20.0 MiB"));
        let large = vec![0x89; FILE_MAX.0 as usize + 1];
        assert!(refused(large).contains("a picture may have 20.0 MiB"));
    }

    #[test]
    fn a_damaged_image_says_so() {
        let mut cut = fading(64, 64, [9, 9, 9]);
        cut.truncate(cut.len() / 2);
        assert!(refused(cut).contains("p.png cannot be read"));
        assert!(refused(Vec::new()).contains("is not a PNG"));
    }

    #[test]
    fn a_large_image_is_scaled_down_and_transparency_becomes_white() {
        assert_eq!((seen(1000, 1000), seen(4000, 4000), seen(8000, 2000)), ((1000, 1000), (2000, 2000), (4000, 1000)));
        let clear = RgbaImage::from_pixel(2, 1, Rgba([10, 20, 30, 0]));
        let picture = Picture::read("p", encoded(clear.into(), ImageFormat::Png)).unwrap();
        assert_eq!(picture.pixels(2, 1).unwrap(), [255; 6]);
        let (width, height) = Picture::read("p", fading(2500, 2000, [0; 3])).unwrap().size_seen();
        assert!(u64::from(width) * u64::from(height) <= PIXELS_SEEN && width > height);
    }

    #[test]
    fn the_same_file_is_the_same_image() {
        let read = |from| Picture::read("any", fading(8, 8, from)).unwrap();
        assert_eq!(read([1, 2, 3]), read([1, 2, 3]));
        assert_ne!(read([1, 2, 3]), read([3, 2, 1]));
    }
}
