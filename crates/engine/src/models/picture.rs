//! Pictures for models that see: PNG, JPEG, WebP and the first frame of a GIF, within limits on bytes and pixels.
//!
//! Reading a picture parses only its file's header. The pixels are decoded when a model looks at
//! the picture, and once before a server gets it, so that waiting requests hold no pixels and
//! memory has been reserved by then. All decoding happens here, one picture at a time.

mod unfold;

use std::fmt;
use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::PngEncoder;
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits, Rgb, RgbImage};
use sha2::{Digest, Sha256};

use crate::base::{Bytes, lock};

/// Maximum size of a picture's file.
pub const FILE_MAX: Bytes = Bytes::mib(20);
/// Maximum number of pixels in a picture: phone photos have 12 to 24 million, a 5K screen has 15
/// million.
pub const PIXELS_MAX: u64 = 25_000_000;
/// Maximum length of a side; the formats' own decoders keep rows of this length.
const SIDE_MAX: u32 = 16_384;
/// Maximum ratio of the longer side to the shorter one. Qwen's own preprocessor refuses higher
/// ratios, and those of other families derive tile shapes from it.
const SHAPE_MAX: u32 = 200;
/// Maximum memory while decoding a picture: a progressive JPEG takes nine bytes per pixel, plus
/// some for whole blocks. Files with more bytes per pixel may have fewer pixels.
const DECODING_MAX: Bytes = Bytes(10 * PIXELS_MAX);
/// Maximum memory for the profiles and texts that a decoder unpacks with a PNG's header.
const HEADER_MAX: Bytes = Bytes::mib(8);
/// Maximum number of pixels passed to a projector, which scales them down further, or to a server.
/// The families read at most 3.2 million (Qwen, 4,096 tokens of 28 × 28).
pub const PIXELS_SEEN: u64 = 4_000_000;
/// Quality, out of 100, of photographs encoded for a server.
const QUALITY: u8 = 92;

/// Memory that looking at a picture may take before the projector gets it: decoding, the decoder's
/// copies of the file and of the texts in it, and three copies of the pixels that are passed on
/// (ours, mtmd's and its preprocessor's).
pub const WORK: Bytes = Bytes(DECODING_MAX.0 + 2 * FILE_MAX.0 + SEEN.0);
/// Three bytes per pixel, three times.
const SEEN: Bytes = Bytes(3 * 3 * PIXELS_SEEN);

/// File extensions of pictures.
const ENDINGS: [&str; 5] = ["png", "jpg", "jpeg", "webp", "gif"];

/// Whether a file is a picture, judging by its extension.
pub fn is_named(path: &str) -> bool {
    let ending = Path::new(path).extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ENDINGS.iter().any(|known| known.eq_ignore_ascii_case(ending)))
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PictureError {
    #[error("{name} has {bytes}; the maximum is {FILE_MAX}. Make it smaller")]
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
        "{name} would take {bytes} while it is decoded; a picture may take {DECODING_MAX}. Make it smaller, or save it \
         with 8 bits a colour"
    )]
    Deep { name: String, bytes: Bytes },
    #[error(
        "{name} has {width} × {height} pixels; one side may be at most {SHAPE_MAX} times the other. Cut it into parts"
    )]
    Strip { name: String, width: u32, height: u32 },
    #[error("{name} is not base64: {reason}")]
    Encoded { name: String, reason: String },
    #[error("{name} cannot be read: {reason}; save it again, or use another")]
    Damaged { name: String, reason: String },
}

/// A picture whose header is within the limits. Cheap to clone.
#[derive(Clone)]
pub struct Picture(Arc<Inner>);

struct Inner {
    name: String,
    format: ImageFormat,
    file: Vec<u8>,
    /// SHA-256 of `file`.
    hash: [u8; 32],
    head: Head,
    /// The file for servers, once it has been requested.
    sent: OnceLock<Vec<u8>>,
}

/// The data in a file's header.
#[derive(Clone, Copy)]
struct Head {
    /// Size in pixels as shown, after the rotation that the file specifies.
    width: u32,
    height: u32,
    turn: Orientation,
    /// Memory needed while decoding.
    unfolded: Bytes,
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
        write!(f, "Picture({}, {} × {})", self.0.name, self.0.head.width, self.0.head.height)
    }
}

impl Picture {
    /// Takes the bytes of a file after checking its header. `name` is used in messages.
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
        let head = guarded(&name, || opened(&name, format, &file).map(|(_, head)| head))?;
        let hash = Sha256::digest(&file).into();
        Ok(Picture(Arc::new(Inner { name, format, file, hash, head, sent: OnceLock::new() })))
    }

    /// The same for a base64-encoded file, as used in protocols.
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

    /// The size of its file.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.0.file.len() as u64)
    }

    /// Width and height in pixels.
    pub fn size(&self) -> (u32, u32) {
        (self.0.head.width, self.0.head.height)
    }

    /// Width and height passed to a projector or a server: unchanged if the picture has few enough
    /// pixels.
    pub fn size_seen(&self) -> (u32, u32) {
        seen(self.0.head.width, self.0.head.height)
    }

    /// Maximum memory needed to decode it, at most [`WORK`].
    pub fn work(&self) -> Bytes {
        self.0.head.unfolded + self.bytes() * 2 + SEEN
    }

    /// Its pixels at this size on a white background, three bytes each: red, green, blue. Uses
    /// [`Picture::work`] bytes during the call, which the caller must have reserved.
    pub fn pixels(&self, width: u32, height: u32) -> Result<Vec<u8>, PictureError> {
        let alone = alone();
        guarded(&self.0.name, || {
            let decoded = decode(&self.0.name, self.0.format, &self.0.file, &alone)?;
            if (decoded.width(), decoded.height()) == (width, height) {
                return Ok(on_white(decoded).into_raw());
            }
            let scaled = decoded.thumbnail_exact(width, height);
            drop(decoded);
            Ok(on_white(scaled).into_raw())
        })
    }

    /// Whether the file for [`Picture::sent`] is ready.
    pub fn is_prepared(&self) -> bool {
        self.0.sent.get().is_some()
    }

    /// The file for a server, and its type, such as `image/png`: the pixels that a projector would
    /// get, re-encoded. Nothing else in the file leaves the machine: no location, camera,
    /// thumbnail, comment or further frames. The first call decodes the picture, see
    /// [`Picture::pixels`].
    pub fn sent(&self) -> Result<(&[u8], &'static str), PictureError> {
        let as_photograph = matches!(self.0.format, ImageFormat::Jpeg | ImageFormat::WebP);
        let kind = if as_photograph { ImageFormat::Jpeg } else { ImageFormat::Png }.to_mime_type();
        if let Some(sent) = self.0.sent.get() {
            return Ok((sent, kind));
        }
        let (width, height) = self.size_seen();
        let damaged = |reason: String| PictureError::Damaged { name: self.0.name.clone(), reason };
        let pixels = RgbImage::from_raw(width, height, self.pixels(width, height)?);
        let pixels = pixels.ok_or_else(|| damaged("its number of pixels differs from its header".to_owned()))?;
        let mut file = Vec::new();
        let written = if as_photograph {
            pixels.write_with_encoder(JpegEncoder::new_with_quality(&mut file, QUALITY))
        } else {
            pixels.write_with_encoder(PngEncoder::new(&mut file))
        };
        written.map_err(|error| damaged(error.to_string()))?;
        Ok((self.0.sent.get_or_init(|| file), kind))
    }
}

/// A size with the same aspect ratio and at most [`PIXELS_SEEN`] pixels.
fn seen(width: u32, height: u32) -> (u32, u32) {
    let pixels = u64::from(width) * u64::from(height);
    if pixels <= PIXELS_SEEN {
        return (width, height);
    }
    let share = (PIXELS_SEEN as f64 / pixels as f64).sqrt();
    let side = |length: u32| ((f64::from(length) * share) as u32).max(1);
    (side(width), side(height))
}

/// The right to hold a decoded picture: one at a time, so that [`WORK`] limits the memory of all
/// requests together.
struct Alone(#[expect(dead_code, reason = "held for its drop")] MutexGuard<'static, ()>);

fn alone() -> Alone {
    static DECODING: Mutex<()> = Mutex::new(());
    Alone(lock(&DECODING))
}

/// Runs a decoder. If it panics on a stranger's file, the file counts as damaged.
fn guarded<T>(name: &str, work: impl FnOnce() -> Result<T, PictureError>) -> Result<T, PictureError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        Err(PictureError::Damaged { name: name.to_owned(), reason: "its decoder failed".to_owned() })
    })
}

fn damaged(name: &str) -> impl Fn(image::ImageError) -> PictureError {
    move |error| PictureError::Damaged { name: name.to_owned(), reason: error.to_string() }
}

/// A decoder for a file whose header is within the limits. Does not decode anything yet.
fn opened<'f>(name: &str, format: ImageFormat, file: &'f [u8]) -> Result<(impl ImageDecoder + 'f, Head), PictureError> {
    let mut limits = Limits::default();
    limits.max_alloc = Some(HEADER_MAX.0);
    let mut reader = ImageReader::with_format(Cursor::new(file), format);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(damaged(name))?;
    let (width, height) = decoder.dimensions();
    // A lossy WebP's pixel data has sizes of its own, at which it is decoded.
    for (width, height) in [(width, height)].into_iter().chain(unfold::inner_sizes(format, file)) {
        let pixels = u64::from(width) * u64::from(height);
        if pixels > PIXELS_MAX || width.max(height) > SIDE_MAX {
            return Err(PictureError::Bomb { name: name.to_owned(), width, height });
        }
    }
    if width.min(height) == 0 {
        return Err(PictureError::Damaged { name: name.to_owned(), reason: "it has no pixels".to_owned() });
    }
    if width.max(height) > width.min(height).saturating_mul(SHAPE_MAX) {
        return Err(PictureError::Strip { name: name.to_owned(), width, height });
    }
    let turn = decoder.orientation().map_err(damaged(name))?;
    let unfolded = unfold::bytes(format, file, (width, height), decoder.total_bytes(), turn);
    if unfolded > DECODING_MAX {
        return Err(PictureError::Deep { name: name.to_owned(), bytes: unfolded });
    }
    let is_turned = matches!(
        turn,
        Orientation::Rotate90 | Orientation::Rotate270 | Orientation::Rotate90FlipH | Orientation::Rotate270FlipH
    );
    let (width, height) = if is_turned { (height, width) } else { (width, height) };
    Ok((decoder, Head { width, height, turn, unfolded }))
}

/// Decodes the first frame and rotates it as the file specifies.
fn decode(name: &str, format: ImageFormat, file: &[u8], _: &Alone) -> Result<DynamicImage, PictureError> {
    let (mut decoder, head) = opened(name, format, file)?;
    let mut limits = Limits::default();
    // For the frame of a GIF that is smaller than its canvas.
    limits.max_alloc = Some(4 * PIXELS_MAX);
    decoder.set_limits(limits).map_err(damaged(name))?;
    let mut decoded = DynamicImage::from_decoder(decoder).map_err(damaged(name))?;
    decoded.apply_orientation(head.turn);
    Ok(decoded)
}

/// Replaces transparency with a white background.
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

    /// A picture of `width` × `height` pixels that fades from `from` to white.
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
            assert_eq!((picture.size(), picture.0.format), ((30, 20), format));
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
        assert!(refused(claiming(2, 401)).contains("2 × 401 pixels; one side may be at most 200 times"));
        assert!(Picture::read("p.png", claiming(400, 2)).is_ok());
        assert!(begun.elapsed().as_secs() < 5);
        let long = "A".repeat(FILE_MAX.0 as usize / 3 * 4 + 8);
        assert!(Picture::of_base64("p.png", &long).unwrap_err().to_string().contains("the maximum is 20.0 MiB"));
        let large = vec![0x89; FILE_MAX.0 as usize + 1];
        assert!(refused(large).contains("the maximum is 20.0 MiB"));
    }

    #[test]
    fn a_damaged_image_says_so() {
        let mut cut = fading(64, 64, [9, 9, 9]);
        cut.truncate(cut.len() / 2);
        let cut = Picture::read("p.png", cut).unwrap();
        let told = [cut.pixels(64, 64).map(|_| ()), cut.sent().map(|_| ())].map(|read| read.unwrap_err().to_string());
        assert!(told.iter().all(|why| why.contains("p.png cannot be read")), "{told:?}");
        let panicked = guarded::<()>("p.png", || panic!("a decoder does this in a test"));
        assert!(panicked.unwrap_err().to_string().contains("p.png cannot be read: its decoder failed"));
        assert!(refused(Vec::new()).contains("is not a PNG"));
        let mut empty = encoded(RgbImage::new(3, 3).into(), ImageFormat::Gif);
        empty[6..10].fill(0);
        assert!(refused(empty).contains("p.png cannot be read"));
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

    /// A JPEG of 30 × 20 pixels with typical camera data: a quarter turn and a location.
    fn photograph() -> Vec<u8> {
        let mut about = b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0".to_vec();
        about.extend(b"Camera of Ada, 59.33 N 18.07 E");
        let length = (about.len() as u16 + 2).to_be_bytes();
        let plain = encoded(RgbImage::from_pixel(30, 20, Rgb([9, 99, 9])).into(), ImageFormat::Jpeg);
        [&plain[..2], &[0xff, 0xe1], &length, &about, &plain[2..]].concat()
    }

    #[test]
    fn a_server_gets_the_pixels_of_an_image_and_nothing_else_of_its_file() {
        let has = |file: &[u8], text: &str| file.windows(text.len()).any(|part| part == text.as_bytes());
        let taken = photograph();
        assert!(has(&taken, "59.33 N"));
        let picture = Picture::read("p.jpg", taken).unwrap();
        assert_eq!(picture.size(), (20, 30), "turned");
        let (sent, kind) = picture.sent().unwrap();
        assert!(kind == "image/jpeg" && !has(sent, "Exif") && !has(sent, "Camera") && !has(sent, "59.33 N"));
        let again = Picture::read("again.jpg", sent.to_vec()).unwrap();
        assert_eq!(again.size(), (20, 30), "it is turned already");
        assert!(again.pixels(20, 30).unwrap().chunks(3).all(|one| one[1].abs_diff(99) < 12 && one[0] < 30));

        let mut noted = fading(8, 8, [1, 2, 3]);
        let text = b"tEXtPlace\x0059.33 N 18.07 E";
        let chunk = [&(text.len() as u32 - 4).to_be_bytes()[..], text, &crc(text).to_be_bytes()].concat();
        noted.splice(33..33, chunk);
        noted.extend(b"and a film after the end, 59.33 N");
        let picture = Picture::read("p.png", noted).unwrap();
        let (sent, kind) = picture.sent().unwrap();
        assert!(kind == "image/png" && !has(sent, "59.33 N"));
        assert_eq!(Picture::read("again.png", sent.to_vec()).unwrap().pixels(8, 8), picture.pixels(8, 8));
    }

    #[test]
    fn a_large_frame_in_a_small_image_is_refused_before_it_unfolds() {
        let chunk = |name: &[u8; 4], content: &[u8]| [name, &(content.len() as u32).to_le_bytes(), content].concat();
        let frame = [0x10, 0, 0, 0x9d, 1, 0x2a, 0xff, 0x3f, 0xff, 0x3f];
        let canvas = chunk(b"VP8X", &[0, 0, 0, 0, 9, 0, 0, 9, 0, 0]);
        let chunks = [b"WEBP".to_vec(), canvas, chunk(b"VP8 ", &frame)].concat();
        let told = refused(chunk(b"RIFF", &chunks));
        assert!(told.contains("would unfold to 16383 × 16383 pixels"), "{told}");
    }

    #[test]
    fn an_image_with_many_bytes_a_pixel_may_have_fewer_pixels() {
        // 16 bits a colour with transparency: eight bytes a pixel.
        let deep = |width: u32, height: u32| {
            let mut file = claiming(width, height);
            (file[24], file[25]) = (16, 6);
            let checksum = crc(&file[12..29]);
            file[29..33].copy_from_slice(&checksum.to_be_bytes());
            Picture::read("p.png", file)
        };
        assert!(deep(5000, 5000).is_ok());
        let mut file = photograph();
        let unfolded = |file: &[u8]| {
            unfold::bytes(ImageFormat::Jpeg, file, (5000, 5000), 3 * PIXELS_MAX, Orientation::NoTransforms)
        };
        assert!(unfolded(&file) <= DECODING_MAX, "{}", unfolded(&file));
        let at = file.windows(2).rposition(|two| two == [0xff, 0xc0]).unwrap();
        file[at + 9] = 4;
        assert!(unfolded(&file) > DECODING_MAX, "{} with four components", unfolded(&file));
    }
}
