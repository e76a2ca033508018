//! Decodes pictures of every format with a counting allocator, and compares the peak with the prediction.

#![allow(clippy::expect_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Cursor;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use image::codecs::webp::WebPEncoder;
use image::{DynamicImage, ImageBuffer, ImageFormat, Rgb, RgbImage, Rgba, RgbaImage};
use monobloc_engine::models::Picture;

/// Bytes currently allocated, and the maximum since the last reset.
static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn taken(bytes: usize) {
    PEAK.fetch_max(NOW.fetch_add(bytes, Relaxed) + bytes, Relaxed);
}

// SAFETY: every call is passed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        // SAFETY: the caller upholds the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        taken(size);
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(place, layout, size) }
    }
}

const WIDTH: u32 = 2400;
const HEIGHT: u32 = 1600;

/// The peak while decoding the file, in bytes per pixel.
fn check(what: &str, file: Vec<u8>) -> f64 {
    let picture = Picture::read(what, file).expect(what);
    let (width, height) = picture.size_seen();
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    let pixels = picture.pixels(width, height).expect(what);
    let peak = PEAK.load(Relaxed) - before;
    drop(pixels);
    println!("{what}: {peak} bytes, {} predicted", picture.work());
    assert!(peak as u64 <= picture.work().0, "{what}: {peak} bytes, {} predicted", picture.work());
    let (width, height) = picture.size();
    peak as f64 / (f64::from(width) * f64::from(height))
}

fn noise() -> RgbImage {
    RgbImage::from_fn(WIDTH, HEIGHT, |x, y| Rgb([x as u8, y as u8, (x * y) as u8]))
}

fn written(picture: impl Into<DynamicImage>, format: ImageFormat) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    picture.into().write_to(&mut file, format).expect("written");
    file.into_inner()
}

/// A grey progressive JPEG of `components`, in which all coefficients are zero. Its first scan is
/// its last.
fn progressive(components: u8) -> Vec<u8> {
    let segment =
        |marker: u8, content: &[u8]| [&[0xff, marker][..], &(content.len() as u16 + 2).to_be_bytes(), content].concat();
    let [[a, b], [c, d]] = [HEIGHT, WIDTH].map(|side| (side as u16).to_be_bytes());
    let frame: Vec<u8> = (1..=components).flat_map(|id| [id, 0x11, 0]).collect();
    let scan: Vec<u8> = (1..=components).flat_map(|id| [id, 0]).collect();
    // A one-bit code for a difference of zero.
    let mut codes = vec![0, 1];
    codes.extend([0; 16]);
    let blocks = (WIDTH.div_ceil(8) * HEIGHT.div_ceil(8)) as usize * usize::from(components);
    [
        vec![0xff, 0xd8],
        segment(0xdb, &[&[0][..], &[1; 64]].concat()),
        segment(0xc2, &[&[8, a, b, c, d, components][..], &frame].concat()),
        segment(0xc4, &codes),
        segment(0xda, &[&[components][..], &scan, &[0, 0, 0]].concat()),
        vec![0; blocks.div_ceil(8)],
        vec![0xff, 0xd9],
    ]
    .concat()
}

/// A JPEG that is displayed with a quarter turn.
fn turned() -> Vec<u8> {
    let plain = written(noise(), ImageFormat::Jpeg);
    let about = b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
    let length = (about.len() as u16 + 2).to_be_bytes();
    [&plain[..2], &[0xff, 0xe1], &length, about, &plain[2..]].concat()
}

#[test]
fn decoding_takes_at_most_the_memory_that_the_header_tells() {
    check("a PNG", written(noise(), ImageFormat::Png));
    let clear = RgbaImage::from_fn(WIDTH, HEIGHT, |x, y| Rgba([x as u8, y as u8, 9, (x + y) as u8]));
    check("a PNG with transparency", written(clear.clone(), ImageFormat::Png));
    let deep = ImageBuffer::from_pixel(4000, 3000, Rgba([9u16, 700, 60_000, 30_000]));
    check("a large PNG with 16 bits a colour", written(DynamicImage::ImageRgba16(deep), ImageFormat::Png));
    check("a baseline JPEG", written(noise(), ImageFormat::Jpeg));
    assert!(check("a JPEG that is turned", turned()) >= 6.0);
    assert!(check("a progressive JPEG", progressive(3)) >= 9.0, "its coefficients are kept");
    assert!(check("a progressive JPEG with four components", progressive(4)) >= 11.0);
    for (what, picture) in [("a WebP", DynamicImage::from(noise())), ("a WebP with transparency", clear.into())] {
        let mut file = Vec::new();
        picture.write_with_encoder(WebPEncoder::new_lossless(&mut file)).expect("written");
        check(what, file);
    }
    // Choosing from more colours than a palette has would take long.
    let few = RgbImage::from_fn(WIDTH, HEIGHT, |x, y| Rgb([(x % 16) as u8, (y % 16) as u8, 0]));
    let mut gif = written(few, ImageFormat::Gif);
    // A canvas two pixels larger than its first frame.
    gif[6..8].copy_from_slice(&(WIDTH as u16 + 2).to_le_bytes());
    assert!(check("a GIF with a smaller frame", gif) >= 8.0);
}
