//! Loads a model file's weights and vocabulary, which are immutable and shared by all of its contexts.

use crate::base::lock;
use std::ffi::{CString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use llama_cpp_2::model::LlamaModel;
use llama_cpp_sys_2 as sys;

use super::context::{Context, pointer, wrapped};
use super::decoder::LlamaDecoder;
use super::encoder::Encoder;
use super::eye::{Eye, Sharpness};
use super::lora::Overlay;
use super::{CONTEXT_BLOCK, KvFormat, LlamaError, Shape, backend, devices, log, mapping, system_info};
use crate::budget::cache;
use crate::engine::decoder::{Laid, Sharing, Token, Vocabulary};
use crate::engine::llama::buffer_overrides::BufferOverrides;
use crate::engine::llama::read_ahead::ReadAhead;
use crate::models::dialect::{Piece, Prompt};
use crate::models::gguf::{self, Header, Kind};
use crate::models::{Exact, FlashAttention, Pooling};

/// Number of rows per call in the contexts that [`Weights::rehearse`] creates.
const REHEARSED_ROWS: usize = 64;

/// Occurs in [`system_info`] if llama.cpp was built for AMX and the processor supports it.
const AMX: &str = "AMX_INT8 = 1";

/// How weights are loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loading {
    /// Number of layers to put on the accelerator, counted from the last: 0 for none, more than
    /// exist for all.
    pub gpu_layers: u32,
    /// The experts of this many leading layers stay on the host.
    pub experts_on_host: u32,
    /// Whether weights may be copied into a layout that the CPU kernels read faster. The copies
    /// take as much anonymous memory as the originals; with them, the 24B model generates 28 tokens
    /// per second instead of 17.
    pub repack: bool,
    /// Whether the file is memory-mapped. Small files whose matrices are copied are read instead:
    /// the rest of the file is then in memory only once, whereas accessing a mapped file keeps
    /// blocks of up to 2 MiB.
    pub mapped: bool,
}

/// The weights of one model file, shared by every context made from them.
pub struct Weights {
    /// The projector, if one was loaded. It reads the model's vocabulary, so it is dropped before
    /// the model.
    eye: OnceLock<Eye>,
    model: LlamaModel,
    tokens: Vec<TokenText>,
    /// Whether matrices may be stored in tiles for AMX, Intel's matrix unit, without exceptions.
    tiled: bool,
    /// Whether some layers are on an accelerator.
    on_gpu: bool,
    header: Header,
    /// Held while the model changes. Creating a context changes it, so only one is created at a
    /// time (llama-cpp-2 states the same).
    model_lock: Mutex<()>,
}

struct TokenText {
    bytes: Vec<u8>,
    control: Option<Vec<u8>>,
    end: bool,
}

/// The data of the progress callback.
pub(super) struct Watch<'a> {
    pub progress: &'a mut dyn FnMut(f32) -> bool,
    pub cancelled: bool,
}

impl Weights {
    /// Loads the file of `header`. `progress` receives the share read so far, from 0 to 1, and
    /// cancels the load by returning false.
    pub fn load(
        header: &Header,
        loading: Loading,
        mut progress: impl FnMut(f32) -> bool,
    ) -> Result<Weights, LlamaError> {
        let path = ready(header)?;
        let ahead = loading.repack.then(|| ReadAhead::of(&header.files));
        let mut progress = |share| {
            ahead.iter().for_each(|ahead| ahead.reached(share));
            progress(share)
        };
        let mut watch = Watch { progress: &mut progress, cancelled: false };
        // SAFETY: the call returns a plain structure.
        let mut params = unsafe { sys::llama_model_default_params() };
        params.n_gpu_layers = i32::try_from(loading.gpu_layers).unwrap_or(i32::MAX);
        params.use_extra_bufts = loading.repack;
        params.load_mode = if loading.mapped { sys::LLAMA_LOAD_MODE_MMAP } else { sys::LLAMA_LOAD_MODE_NONE };
        params.progress_callback = Some(report_progress);
        params.progress_callback_user_data = (&raw mut watch).cast();
        // Without this, llama.cpp would multiply large batches on the accelerator even if it holds
        // no layers.
        let mut no_devices = [std::ptr::null_mut()];
        if loading.gpu_layers == 0 {
            params.devices = no_devices.as_mut_ptr();
        }
        let mut elsewhere = BufferOverrides::experts(loading.experts_on_host);
        let on_gpu = loading.gpu_layers > 0 && devices::accelerator().is_some();
        let wholly_on_gpu = on_gpu && loading.gpu_layers > header.layers && loading.experts_on_host == 0;
        let tiled = loading.repack && !wholly_on_gpu && !elsewhere.untile(header, on_gpu);
        let places = elsewhere.entries();
        params.tensor_buft_overrides = places.as_ptr();
        // SAFETY: path, watch, devices, names and places outlive the call and are used only by it.
        let model = unsafe { sys::llama_load_model_from_file(path.as_ptr(), params) };
        let cancelled = || LlamaError::Cancelled { file: header.path.display().to_string() };
        let model = NonNull::new(model).ok_or_else(|| if watch.cancelled { cancelled() } else { refused(header) })?;
        let model = wrapped(model);
        if loading.mapped && loading.repack {
            header.files.iter().for_each(|file| mapping::let_go(file));
        }
        Ok(Weights::of(model, header, tiled && system_info().contains(AMX), on_gpu))
    }

    fn of(model: LlamaModel, header: &Header, tiled: bool, on_gpu: bool) -> Weights {
        let tokens = token_texts(&model);
        let (header, model_lock) = (header.clone(), Mutex::new(()));
        Weights { eye: OnceLock::new(), model, tokens, tiled, on_gpu, header, model_lock }
    }

    /// Does everything that a load on the CPU does, except for reading weights and allocating
    /// memory for them or their contexts (`no_alloc`).
    pub(super) fn hollow(header: &Header) -> Result<Weights, LlamaError> {
        let path = ready(header)?;
        // SAFETY: the call returns a plain structure.
        let mut params = unsafe { sys::llama_model_default_params() };
        let mut no_devices = [std::ptr::null_mut()];
        params.no_alloc = true;
        params.n_gpu_layers = 0;
        params.devices = no_devices.as_mut_ptr();
        params.load_mode = sys::LLAMA_LOAD_MODE_NONE;
        // SAFETY: path and devices outlive the call and are used only by it.
        let model = unsafe { sys::llama_load_model_from_file(path.as_ptr(), params) };
        let model = wrapped(NonNull::new(model).ok_or_else(|| refused(header))?);
        Ok(Weights::of(model, header, false, false))
    }

    /// Loads a file without its weights, tokenises a text and creates a small context. If the file
    /// makes llama.cpp end the process, it does so here: see [`crate::engine::trial`].
    pub fn rehearse(header: &Header) -> Result<(), LlamaError> {
        if header.kind == Kind::Projector {
            return Eye::rehearse(header);
        }
        let weights = Weights::hollow(header)?;
        // All characters of the two shortest UTF-8 lengths and some of the others, so that every
        // first byte occurs.
        let text: String = ('\0'..'\u{800}').chain(('\u{800}'..=char::MAX).step_by(997)).collect();
        weights.tokenize(&Prompt::default().text(text));
        if header.kind == Kind::Embedding {
            let pooling = Pooling::of(header, None).unwrap_or(Pooling::Mean);
            return Encoder::new(Arc::new(weights), pooling, REHEARSED_ROWS, 1).map(drop);
        }
        if header.kind == Kind::Reranker {
            return Encoder::ranking(Arc::new(weights), REHEARSED_ROWS, 1).map(drop);
        }
        let shape = Shape {
            slots: 1,
            context: CONTEXT_BLOCK,
            kv: KvFormat::F16,
            flash: FlashAttention::Auto,
            threads: 1,
            chunk: REHEARSED_ROWS,
            exact: Exact::Auto,
        };
        weights.context(&shape).map(drop)
    }

    pub(super) fn model(&self) -> &LlamaModel {
        &self.model
    }

    /// The exclusive right to create a context.
    pub(super) fn alone(&self) -> MutexGuard<'_, ()> {
        lock(&self.model_lock)
    }

    /// The tokens of a text; if `framed`, with the special tokens that enclose a text.
    pub fn words(&self, text: &str, framed: bool) -> Vec<u32> {
        let mut tokens = Vec::new();
        self.model.vocab().tokenize_into(text.as_bytes(), &mut tokens, framed, false);
        tokens.into_iter().filter_map(|token| u32::try_from(token.0).ok()).collect()
    }

    /// The special tokens before, between and after two texts that a re-ranker reads together, such
    /// as `[CLS] a [SEP] b [SEP]` and `<s> a </s></s> b </s>`: those around any text, and the
    /// separator that the vocabulary adds to its end mark.
    pub fn around_pair(&self) -> [Vec<u32>; 3] {
        let (bare, framed) = (self.words("a", false), self.words("a", true));
        let at = (0..framed.len()).find(|at| framed[*at..].starts_with(&bare)).unwrap_or(0);
        let (before, after) = (framed[..at].to_vec(), framed.get(at + bare.len()..).unwrap_or_default().to_vec());
        // SAFETY: the model is live, and so is its vocabulary.
        let separator = unsafe {
            let vocabulary = sys::llama_model_get_vocab(pointer(&self.model));
            let adds = sys::llama_vocab_get_add_sep(vocabulary) && sys::llama_vocab_get_add_eos(vocabulary);
            adds.then(|| sys::llama_vocab_sep(vocabulary)).and_then(|token| u32::try_from(token).ok())
        };
        let between = after.iter().copied().chain(separator).collect();
        [before, between, after]
    }

    /// Names of the control tokens, which only a prompt's own text may contain.
    pub fn controls(&self) -> impl Iterator<Item = &str> {
        let names = self.tokens.iter().filter_map(|token| str::from_utf8(token.control.as_ref()?).ok());
        names.filter(|name| name.len() > 1)
    }

    /// Whether there are recurrent layers, which can only return to checkpoints.
    pub(super) fn recurs(&self) -> bool {
        self.model.is_hybrid() || self.model.is_recurrent()
    }

    /// Size of the sliding window in tokens, if it is smaller than a context of `positions`. If the
    /// header does not state an architecture's window, contexts keep all cells (`swa_full`).
    pub(super) fn window(&self, positions: usize) -> Option<usize> {
        self.header.sliding_window?;
        // SAFETY: the model is live.
        let tokens = unsafe { sys::llama_model_n_swa(pointer(&self.model)) } as usize;
        (tokens > 0 && tokens < positions).then_some(tokens)
    }

    /// Number of checkpoints that a slot keeps in its context's memory.
    pub(super) fn own_marks(&self, shape: &Shape) -> usize {
        cache::own_marks(&self.header, &shape.settings()) as usize
    }

    /// Loads the projector of `header`, so that prompts may then contain pictures. If one is
    /// already loaded, that one stays. `go_on` cancels the load by returning false.
    pub fn open_eye(
        &self,
        header: &Header,
        sharp: Sharpness,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<(), LlamaError> {
        let _held = lock(&self.model_lock);
        if self.eye.get().is_none() {
            // The lock is held, so nothing else sets it.
            let _ = self.eye.set(Eye::open(header, &self.model, sharp, go_on)?);
        }
        Ok(())
    }

    /// The projector, if one was loaded.
    pub(super) fn eye(&self) -> Option<&Eye> {
        self.eye.get()
    }

    pub fn sees(&self) -> bool {
        self.eye.get().is_some()
    }

    /// Whether some layers are on an accelerator.
    pub fn is_on_gpu(&self) -> bool {
        self.on_gpu
    }

    /// Whether sequences may share a call. With recurrent layers in AMX tiles they may not (see
    /// [`repack::untiled`](crate::budget::repack::untiled)). With sliding windows or experts,
    /// logits are known to differ, so sequences share calls only if exact logits are not required,
    /// which is the default on a GPU. The experts' router is a matrix of floats, and ggml sums in a
    /// different order for two rows than for one (`llamafile_sgemm`). Rounding hides this in most
    /// calls, so the first few prove nothing: small mixtures produced different tokens only after
    /// 15 to 1,700 tokens.
    pub fn sharing(&self, exact: Exact) -> Sharing {
        let wanted = match exact {
            Exact::Auto => self.on_gpu,
            Exact::On => false,
            Exact::Off => true,
        };
        let differs = self.header.sliding_window.is_some() || self.header.experts > 0;
        match (self.recurs() && self.tiled, wanted) {
            (true, _) => Sharing::Never,
            (false, true) => Sharing::Wanted,
            (false, false) if differs => Sharing::Never,
            (false, false) => Sharing::IfProved,
        }
    }

    /// Creates a context with `shape`; it borrows the weights.
    pub fn context(&self, shape: &Shape) -> Result<LlamaDecoder<'_>, LlamaError> {
        self.context_with(shape, &[])
    }

    /// The same with LoRA adapters, each with its scale, applied to this context only.
    pub fn context_with(&self, shape: &Shape, adapters: &[(PathBuf, f32)]) -> Result<LlamaDecoder<'_>, LlamaError> {
        let overlay = Overlay::read(&self.model, &self.model_lock, adapters)?;
        let context = shape.context.next_multiple_of(CONTEXT_BLOCK);
        let held = self.alone();
        log::forget();
        let (undo, windows) = (cache::undo_rows(&self.header), self.window(context).is_some());
        let raw = Context::new(&self.model, shape, context, undo, windows);
        drop(held);
        let reason =
            log::reason().unwrap_or_else(|| "it refused; MONOBLOC_LOG=debug shows its own messages".to_owned());
        let mut raw = raw.ok_or(LlamaError::Context { slots: shape.slots, context, reason })?;
        if !adapters.is_empty() && !raw.lay_over(overlay) {
            let reason = "it refused the LoRA adapters".to_owned();
            return Err(LlamaError::Context { slots: shape.slots, context, reason });
        }
        Ok(LlamaDecoder::new(raw, self, shape, context))
    }
}

/// Starts llama.cpp, checks the header and returns the path of its file.
fn ready(header: &Header) -> Result<CString, LlamaError> {
    backend()?;
    gguf::before_load(header).map_err(|error| LlamaError::Refused(error.to_string()))?;
    log::forget();
    CString::new(header.path.as_os_str().as_bytes())
        .map_err(|_| LlamaError::Refused(format!("the path {} has a zero byte; rename it", header.path.display())))
}

/// The error for a file that llama.cpp refused.
fn refused(header: &Header) -> LlamaError {
    let reason = log::reason().unwrap_or_else(|| "it refused the file without a reason".to_owned());
    LlamaError::Load { file: header.path.display().to_string(), reason }
}

/// Called by llama.cpp while it reads tensors; false cancels the load.
pub(super) unsafe extern "C" fn report_progress(share: f32, watch: *mut c_void) -> bool {
    // SAFETY: `watch` is the address of the `Watch` that the caller holds during the whole load, on
    // the same thread.
    let watch = unsafe { &mut *watch.cast::<Watch<'_>>() };
    let go_on = (watch.progress)(share);
    watch.cancelled |= !go_on;
    go_on
}

fn token_texts(model: &LlamaModel) -> Vec<TokenText> {
    let vocab = model.vocab();
    vocab
        .tokens()
        .map(|token| {
            let control = vocab.is_control(token) || vocab.is_eog(token);
            TokenText {
                bytes: if control { Vec::new() } else { vocab.token_to_piece(token, false, None) },
                control: control.then(|| vocab.token_to_piece(token, true, None)),
                end: vocab.is_eog(token),
            }
        })
        .collect()
}

impl Weights {
    /// The tokens of a prompt with its pictures. `unseen` is called with the reason for each
    /// picture that is left out.
    fn laid(&self, prompt: &Prompt, unseen: &mut dyn FnMut(String) -> Result<(), String>) -> Result<Laid, String> {
        let vocab = self.model.vocab();
        let mut laid = Laid::default();
        let words = |text: &str, laid: &mut Laid, special: bool| {
            let mut tokens = Vec::new();
            vocab.tokenize_into(text.as_bytes(), &mut tokens, false, special);
            laid.tokens.extend(tokens.into_iter().map(|token| Token(token.0)));
        };
        for piece in &prompt.pieces {
            match piece {
                Piece::Special(text) => words(text, &mut laid, true),
                Piece::Text(text) => words(text, &mut laid, false),
                Piece::Picture(picture) => {
                    let eye = self.eye().ok_or_else(|| "it has no projector in memory".to_owned());
                    let shown = eye.and_then(|eye| laid.push(eye.name(), picture, &eye.lay_out(picture)?));
                    shown.or_else(&mut *unseen)?;
                }
            }
        }
        let begin = Token(vocab.bos().0);
        if vocab.should_add_bos() && laid.tokens.first() != Some(&begin) {
            laid.begin_with(begin);
        }
        Ok(laid)
    }
}

impl Vocabulary for Weights {
    fn size(&self) -> usize {
        self.tokens.len()
    }

    fn tokenize(&self, prompt: &Prompt) -> Vec<Token> {
        // Pictures that cannot be seen are omitted; they are an error only where they must be seen.
        self.laid(prompt, &mut |_| Ok(())).map(|laid| laid.tokens).unwrap_or_default()
    }

    fn lay_out(&self, prompt: &Prompt) -> Result<Laid, String> {
        self.laid(prompt, &mut Err)
    }

    fn bytes(&self, token: Token) -> &[u8] {
        self.tokens.get(token.0 as usize).map_or(&[], |text| &text.bytes)
    }

    fn control(&self, token: Token) -> Option<&[u8]> {
        self.tokens.get(token.0 as usize)?.control.as_deref()
    }

    fn is_end(&self, token: Token) -> bool {
        self.tokens.get(token.0 as usize).is_some_and(|text| text.end)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::models::gguf;

    #[test]
    fn the_wrapper_is_the_pointer() {
        let models = std::env::var_os("MONOBLOC_TEST_MODELS").map(PathBuf::from);
        let models = models.unwrap_or_else(crate::models::places::model_dir);
        let header = gguf::inspect(&models.join("SmolLM2-135M-Instruct.Q4_1.gguf")).unwrap();
        let loading = Loading { gpu_layers: 0, experts_on_host: 0, repack: false, mapped: true };
        let weights = Weights::load(&header, loading, |_| true).unwrap();
        // SAFETY: the model is live.
        let counted = unsafe { sys::llama_model_n_params(pointer(&weights.model)) };
        assert_eq!(counted, weights.model.n_params());
        assert!(counted > 100_000_000, "{counted}");
    }
}
