//! A projector in llama.cpp's mtmd: lays pictures out as rows of a prompt and computes their vectors.
//!
//! mtmd never gets a file: `models/picture.rs` decodes pictures, so mtmd's own decoders (stb_image,
//! ffmpeg) are never reached.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Mutex;

use llama_cpp_2::model::LlamaModel;
use llama_cpp_sys_2 as sys;

use super::context::pointer;
use super::weights::{Watch, report_progress};
use super::{LlamaError, backend, int, log};
use crate::base::lock;
use crate::engine::decoder::{DecodeError, Shown, Token};
use crate::engine::pictures::Part;
use crate::models::gguf::Header;
use crate::models::{Picture, digest};

/// Maximum number of sizes tried for a picture, each half the previous one, until it has few enough
/// vectors.
const HALVED_MAX: usize = 6;

/// How a projector is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sharpness {
    /// Maximum number of vectors per picture.
    pub tokens: u32,
    pub threads: usize,
    /// Whether it is computed on the accelerator.
    pub on_gpu: bool,
    /// Whether attention is computed as matrix products, without flash attention.
    pub products: bool,
}

/// A loaded projector. It reads the vocabulary of the model that it was loaded for, so it must be
/// dropped first.
pub(super) struct Eye {
    raw: NonNull<sys::mtmd_context>,
    /// Identifies the file and the layout of pictures.
    name: String,
    tokens: usize,
    width: usize,
    /// The picture being evaluated, preprocessed for the projector. Locked during every
    /// computation, because the projector has only one working memory.
    ready: Mutex<Option<Ready>>,
}

// SAFETY: laying out only reads the context (mtmd.h: `mtmd_tokenize` is thread-safe), and every
// computation holds `ready`.
unsafe impl Send for Eye {}
// SAFETY: as above.
unsafe impl Sync for Eye {}

/// A picture prepared by mtmd.
struct Ready {
    hash: [u8; 32],
    chunks: Chunks,
}

// SAFETY: chunks are plain data, used only by the holder of the lock.
unsafe impl Send for Ready {}

/// The vectors of one part of a picture.
pub(super) struct Seen {
    /// `width` numbers per row.
    pub vectors: Vec<f32>,
    pub width: usize,
    /// Positions of the rows relative to that of the part: time, row, column, and one unused;
    /// `None` if each row takes one position.
    pub grid: Option<Vec<[i32; 4]>>,
    /// Distance from the text before the part to the text after it, in positions.
    pub positions: usize,
    /// Whether all rows attend to each other and must therefore be evaluated in one call.
    pub whole: bool,
}

impl Eye {
    /// Loads the projector of `header` for `model`. `go_on` cancels the load by returning false.
    pub fn open(
        header: &Header,
        model: &LlamaModel,
        sharp: Sharpness,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Eye, LlamaError> {
        let raw = init(&header.path, pointer(model), sharp, go_on)?;
        // SAFETY: the model is live.
        let width = unsafe { sys::llama_model_n_embd_inp(pointer(model)) } as usize;
        let print = digest::fingerprint(&header.path).unwrap_or_else(|_| header.path.display().to_string());
        let name = format!("{print} {} {} {}", sharp.tokens, sharp.on_gpu, sharp.products);
        let eye = Eye { raw, name, tokens: sharp.tokens as usize, width, ready: Mutex::default() };
        // SAFETY: the context is live.
        if !unsafe { sys::mtmd_support_vision(raw.as_ptr()) } {
            let file = header.path.display().to_string();
            return Err(LlamaError::Load { file, reason: "it does not support pictures".to_owned() });
        }
        Ok(eye)
    }

    /// Like [`Eye::open`], but on the CPU and without a model: a damaged file ends the process here
    /// (see [`crate::engine::trial`]).
    pub fn rehearse(header: &Header) -> Result<(), LlamaError> {
        backend()?;
        let sharp = Sharpness { tokens: 64, threads: 1, on_gpu: false, products: false };
        let raw = init(&header.path, std::ptr::null_mut(), sharp, &mut || true)?;
        // SAFETY: the context was made above and is freed once.
        unsafe { sys::mtmd_free(raw.as_ptr()) };
        Ok(())
    }

    /// The name that identifies its vectors; see [`pictures`](crate::engine::pictures).
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The parts of a picture in a prompt. If the number of vectors depends on the picture's size,
    /// the picture is shrunk until it has few enough.
    pub fn lay_out(&self, picture: &Picture) -> Result<Vec<Part>, String> {
        let chunks = self.placeholder(picture)?.1;
        (0..chunks.len()).map(|index| chunks.part(index)).collect()
    }

    /// A size at which the picture has few enough vectors, and its chunks without pixels.
    fn placeholder(&self, picture: &Picture) -> Result<((u32, u32), Chunks), String> {
        let (mut width, mut height) = picture.size_seen();
        let mut least = usize::MAX;
        for _ in 0..HALVED_MAX {
            let chunks = self.chunks(picture, width, height, None)?;
            let vectors = chunks.vectors();
            if vectors <= self.tokens {
                return Ok(((width, height), chunks));
            }
            least = least.min(vectors);
            (width, height) = ((width / 2).max(1), (height / 2).max(1));
        }
        let most = self.tokens;
        Err(format!("{} takes {least} tokens, but the limit is {most}; raise image_tokens", picture.name()))
    }

    /// Computes the vectors of a part of a picture.
    pub fn see(&self, shown: &Shown) -> Result<Seen, DecodeError> {
        let failed = |reason: String| DecodeError::Failed { rows: shown.rows, reason };
        let missing = || failed("the picture has fewer parts than were laid out".to_owned());
        let mut ready = lock(&self.ready);
        let one = match ready.take().filter(|one| one.hash == *shown.picture.hash()) {
            Some(one) => one,
            None => {
                let ((width, height), _) = self.placeholder(&shown.picture).map_err(failed)?;
                let pixels = shown.picture.pixels(width, height)?;
                let chunks = self.chunks(&shown.picture, width, height, Some(&pixels)).map_err(failed)?;
                Ready { hash: *shown.picture.hash(), chunks }
            }
        };
        let index = one.chunks.index_of(shown.part).ok_or_else(missing)?;
        let seen = self.compute(&one.chunks, index, shown.rows).map_err(failed)?;
        if one.chunks.index_of(shown.part + 1).is_some() {
            *ready = Some(one);
        }
        Ok(seen)
    }

    /// mtmd's chunks for a picture of this size: with `pixels`, three bytes each, or without, for
    /// counting only.
    fn chunks(&self, picture: &Picture, width: u32, height: u32, pixels: Option<&[u8]>) -> Result<Chunks, String> {
        let whole = 3 * width as usize * height as usize;
        if pixels.is_some_and(|pixels| pixels.len() != whole) {
            return Err(format!("{} does not have {width} × {height} pixels", picture.name()));
        }
        log::forget();
        // SAFETY: the bitmap copies `whole` bytes during the call, or none from a null pointer; it
        // and the chunks are freed by their owners. The part is read during the call.
        unsafe {
            let bytes = pixels.map_or(std::ptr::null(), |pixels| pixels.as_ptr());
            let bitmap = Bitmap(NonNull::new(sys::mtmd_bitmap_init(width, height, bytes)).ok_or("no memory for it")?);
            let chunks = Chunks(NonNull::new(sys::mtmd_input_chunks_init()).ok_or("no memory for it")?);
            let part = sys::mtmd_input_part { text: std::ptr::null(), bitmap: bitmap.0.as_ptr() };
            let parts = [&raw const part];
            let answer = sys::mtmd_tokenize_from_parts(
                self.raw.as_ptr(),
                chunks.0.as_ptr(),
                parts.as_ptr().cast_mut(),
                1,
                false,
            );
            if answer == 0 {
                return Ok(chunks);
            }
        }
        Err(log::reason().unwrap_or_else(|| format!("llama.cpp cannot prepare {}", picture.name())))
    }

    fn compute(&self, chunks: &Chunks, index: usize, rows: usize) -> Result<Seen, String> {
        let chunk = chunks.get(index);
        log::forget();
        // SAFETY: context and chunk are live; the result holds `width` floats for each of the
        // chunk's tokens until the next call, which waits for `ready`. A chunk with vectors has
        // image tokens, and positions are requested only for indices below their number.
        unsafe {
            let count = sys::mtmd_input_chunk_get_n_tokens(chunk);
            if count != rows {
                return Err(format!("it has {count} vectors instead of {rows}"));
            }
            if sys::mtmd_encode_chunk(self.raw.as_ptr(), chunk) != 0 {
                return Err(log::reason().unwrap_or_else(|| "the projector failed".to_owned()));
            }
            let first = sys::mtmd_get_output_embd(self.raw.as_ptr());
            if first.is_null() {
                return Err("the projector returned nothing".to_owned());
            }
            let vectors = std::slice::from_raw_parts(first, count * self.width).to_vec();
            let image = sys::mtmd_input_chunk_get_tokens_image(chunk);
            let grid = sys::mtmd_decode_use_mrope(self.raw.as_ptr()).then(|| {
                let place = |row| {
                    let at = sys::mtmd_image_tokens_get_decoder_pos(image, 0, row);
                    [at.t, at.y, at.x, at.z].map(|part| part as i32)
                };
                (0..count).map(place).collect()
            });
            let positions = usize::try_from(sys::mtmd_input_chunk_get_n_pos(chunk)).unwrap_or(count);
            let whole = sys::mtmd_decode_use_non_causal(self.raw.as_ptr(), chunk);
            Ok(Seen { vectors, width: self.width, grid, positions, whole })
        }
    }
}

impl Drop for Eye {
    fn drop(&mut self) {
        *lock(&self.ready) = None;
        // SAFETY: the context was made in `open` and is freed once.
        unsafe { sys::mtmd_free(self.raw.as_ptr()) };
    }
}

/// Calls mtmd; `model` may be null.
fn init(
    path: &Path,
    model: *const sys::llama_model,
    sharp: Sharpness,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<NonNull<sys::mtmd_context>, LlamaError> {
    let file = path.display().to_string();
    let mut progress = |_| go_on();
    let mut watch = Watch { progress: &mut progress, cancelled: false };
    let name = CString::new(path.as_os_str().as_bytes())
        .map_err(|_| LlamaError::Refused(format!("the path {file} has a zero byte; rename it")))?;
    log::forget();
    // SAFETY: the parameters are a plain structure; the path and the watch are used only during the
    // call, and outlive it.
    let raw = unsafe {
        let mut params = sys::mtmd_context_params_default();
        params.use_gpu = sharp.on_gpu;
        params.print_timings = false;
        params.n_threads = int(sharp.threads.max(1));
        params.image_max_tokens = i32::try_from(sharp.tokens).unwrap_or(i32::MAX);
        // If left to choose, it would take more memory than was reserved.
        params.flash_attn_type =
            if sharp.products { sys::LLAMA_FLASH_ATTN_TYPE_DISABLED } else { sys::LLAMA_FLASH_ATTN_TYPE_ENABLED };
        params.progress_callback = Some(report_progress);
        params.progress_callback_user_data = (&raw mut watch).cast();
        sys::mtmd_init_from_file(name.as_ptr(), model, params)
    };
    let reason = || log::reason().unwrap_or_else(|| "it refused the file without a reason".to_owned());
    NonNull::new(raw).ok_or_else(|| match watch.cancelled {
        true => LlamaError::Cancelled { file },
        false => LlamaError::Load { file, reason: reason() },
    })
}

struct Bitmap(NonNull<sys::mtmd_bitmap>);

impl Drop for Bitmap {
    fn drop(&mut self) {
        // SAFETY: it was made in `chunks` and is freed once.
        unsafe { sys::mtmd_bitmap_free(self.0.as_ptr()) };
    }
}

struct Chunks(NonNull<sys::mtmd_input_chunks>);

impl Drop for Chunks {
    fn drop(&mut self) {
        // SAFETY: as for `Bitmap`.
        unsafe { sys::mtmd_input_chunks_free(self.0.as_ptr()) };
    }
}

impl Chunks {
    fn len(&self) -> usize {
        // SAFETY: the list is live.
        unsafe { sys::mtmd_input_chunks_size(self.0.as_ptr()) }
    }

    /// `index` must be below [`Chunks::len`].
    fn get(&self, index: usize) -> *const sys::mtmd_input_chunk {
        // SAFETY: the list is live, and the chunk lives as long as the list.
        unsafe { sys::mtmd_input_chunks_get(self.0.as_ptr(), index) }
    }

    fn is_text(&self, index: usize) -> bool {
        // SAFETY: the chunk is live.
        unsafe { sys::mtmd_input_chunk_get_type(self.get(index)) == sys::MTMD_INPUT_CHUNK_TYPE_TEXT }
    }

    fn tokens(&self, index: usize) -> usize {
        // SAFETY: the chunk is live.
        unsafe { sys::mtmd_input_chunk_get_n_tokens(self.get(index)) }
    }

    /// Number of vectors in all chunks.
    fn vectors(&self) -> usize {
        (0..self.len()).filter(|index| !self.is_text(*index)).map(|index| self.tokens(index)).sum()
    }

    /// The index of the chunk with the vectors of part `part`.
    fn index_of(&self, part: usize) -> Option<usize> {
        (0..self.len()).filter(|index| !self.is_text(*index)).nth(part)
    }

    fn part(&self, index: usize) -> Result<Part, String> {
        if !self.is_text(index) {
            return match self.tokens(index) {
                0 => Err("it has a part without vectors".to_owned()),
                rows => Ok(Part::Vectors(rows)),
            };
        }
        let mut count = 0;
        // SAFETY: the chunk is live; the tokens live as long as it does, and are copied here.
        let tokens = unsafe {
            let first = sys::mtmd_input_chunk_get_tokens_text(self.get(index), &raw mut count);
            if first.is_null() { &[] } else { std::slice::from_raw_parts(first, count) }
        };
        Ok(Part::Text(tokens.iter().map(|token| Token(*token)).collect()))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::ffi::{CStr, c_char, c_void};

    use super::*;
    use crate::base::Bytes;
    use crate::budget::sight::{Seeing, SightEstimate};
    use crate::models::gguf::inspect;
    use crate::models::projector::tests::{write_sized, write_tiny};

    /// Held by tests that read mtmd's log, because one of them redirects it.
    static LOG: Mutex<()> = Mutex::new(());

    thread_local! {
        /// The lines that mtmd logs on this thread.
        static LINES: RefCell<String> = RefCell::default();
    }

    unsafe extern "C" fn note(_: sys::ggml_log_level, text: *const c_char, _: *mut c_void) {
        // SAFETY: mtmd passes a NUL-terminated text that lives until this returns.
        let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
        LINES.with_borrow_mut(|lines| lines.push_str(&text));
    }

    #[test]
    fn an_image_projector_takes_at_most_what_was_predicted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mmproj.gguf");
        backend().unwrap();
        let _log = lock(&LOG);
        // SAFETY: the callback needs no data and lives as long as the process.
        unsafe { sys::mtmd_log_set(Some(note), std::ptr::null_mut()) };
        // A picture of 1,024 patches without flash attention: the scores take most of the memory.
        for (side, products) in [(56, false), (448, false), (448, true)] {
            write_sized(&path, 576, side);
            let header = inspect(&path).unwrap();
            let predicted = SightEstimate::of(&header, Seeing { tokens: 1024, text_width: 576, products });
            LINES.with_borrow_mut(String::clear);
            let sharp = Sharpness { tokens: 1024, threads: 1, on_gpu: false, products };
            let raw = init(&path, std::ptr::null_mut(), sharp, &mut || true).unwrap();
            // SAFETY: the context was made above and is freed once.
            unsafe { sys::mtmd_free(raw.as_ptr()) };
            let lines = LINES.with_borrow(String::clone);
            let size = |what: &str| {
                let line = lines.lines().find(|line| line.contains(what)).expect(what);
                let number = line.rsplit_once(what).unwrap().1.split_whitespace().next().unwrap();
                Bytes((number.parse::<f64>().unwrap() * f64::from(1 << 20)) as u64)
            };
            let (weights, compute) = (size("model size:"), size("compute buffer size ="));
            println!("{side} {products}: predicted {predicted:?}, taken: weights {weights}, compute {compute}");
            assert!(weights.0.abs_diff(predicted.weights.0) < 1 << 14, "{weights} of {}", predicted.weights);
            assert!(compute <= predicted.compute, "{compute} of {}", predicted.compute);
            assert!(!products || predicted.compute.0 < 2 * compute.0, "{compute} of {}", predicted.compute);
        }
        log::start();
    }

    #[test]
    fn the_load_of_an_image_projector_can_be_cancelled() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mmproj.gguf");
        write_tiny(&path, 576);
        backend().unwrap();
        let sharp = Sharpness { tokens: 64, threads: 1, on_gpu: false, products: false };
        let told = init(&path, std::ptr::null_mut(), sharp, &mut || false).unwrap_err();
        assert!(matches!(told, LlamaError::Cancelled { .. }), "{told}");
    }

    #[test]
    fn a_damaged_image_projector_is_refused_with_its_reason() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mmproj.gguf");
        let writer = crate::models::gguf::write::HeaderWriter::new("clip")
            .bool("clip.has_vision_encoder", true)
            .text("clip.projector_type", "none of llama.cpp's");
        std::fs::write(&path, writer.finish()).unwrap();
        let _log = lock(&LOG);
        let told = Eye::rehearse(&inspect(&path).unwrap()).unwrap_err().to_string();
        assert!(told.contains("mmproj.gguf") && told.contains("unknown projector type"), "{told}");
    }
}
