//! Determines a context's memory in llama.cpp, without allocating weights, KV cache or working memory.
//!
//! llama.cpp reports these sizes only in its log, so this captures the log for the rest of the
//! process. Uses `no_alloc`.

use std::ffi::{CStr, c_char, c_void};
use std::sync::Mutex;

use llama_cpp_sys_2 as sys;

use super::{LlamaError, Shape, Weights};
use crate::base::{Bytes, lock};
use crate::models::gguf::Header;

/// A context's memory as computed by llama.cpp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rehearsal {
    pub kv: Bytes,
    pub state: Bytes,
    pub compute: Bytes,
    pub output: Bytes,
}

/// Lines of llama.cpp's log since [`rehearse`] began capturing it.
static LINES: Mutex<String> = Mutex::new(String::new());

/// Simulates the creation of a context with `shape` for the file of `header`, on the CPU.
pub fn rehearse(header: &Header, shape: &Shape) -> Result<Rehearsal, LlamaError> {
    let weights = Weights::hollow(header)?;
    // SAFETY: the callback needs no data, and lives as long as the process.
    unsafe { sys::llama_log_set(Some(note), std::ptr::null_mut()) };
    drop(weights.context(shape)?);
    Ok(read(&lock(&LINES)))
}

/// The log callback.
unsafe extern "C" fn note(_: sys::ggml_log_level, text: *const c_char, _: *mut c_void) {
    // SAFETY: llama.cpp passes a NUL-terminated string that lives until this function returns.
    let text = unsafe { CStr::from_ptr(text) };
    lock(&LINES).push_str(&text.to_string_lossy());
}

/// Adds up the sizes in lines like these; a model with windows has two caches.
/// ```text
/// llama_kv_cache: size =   85.00 MiB (  8192 cells,  10 layers,  1/1 seqs), K (q8_0): …
/// llama_memory_recurrent: size =   62.81 MiB (     1 cells,  40 layers, …
/// sched_reserve:        CPU compute buffer size =   78.04 MiB
/// llama_context:        CPU  output buffer size =    0.50 MiB
/// ```
fn read(lines: &str) -> Rehearsal {
    let sum = |is_one: &dyn Fn(&str) -> bool| -> Bytes {
        let sizes = lines.lines().filter(|line| is_one(line)).filter_map(|line| {
            let number = line.split_once("size =")?.1.split_whitespace().next()?;
            number.parse::<f64>().ok()
        });
        Bytes((sizes.sum::<f64>() * f64::from(1 << 20)) as u64)
    };
    Rehearsal {
        kv: sum(&|line| line.starts_with("llama_kv_cache: size =")),
        state: sum(&|line| line.starts_with("llama_memory_recurrent: size =")),
        compute: sum(&|line| line.contains("compute buffer size =")),
        output: sum(&|line| line.contains("output buffer size =")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_from_the_log_and_added_up() {
        let log = "llama_kv_cache:        CPU KV buffer size =     0.00 MiB\n\
                   llama_kv_cache: size =   10.50 MiB (  2048 cells,   2 layers,  4/4 seqs), K (q8_0):    5.25 MiB\n\
                   llama_kv_cache: size =    1.50 MiB (  2048 cells,   4 layers,  4/4 seqs), K (q8_0):    0.75 MiB\n\
                   llama_memory_recurrent: size =    2.25 MiB (     4 cells,   8 layers,  4 seqs  0 rs_seq), R (f32)\n\
                   llama_context:        CPU  output buffer size =     1.00 MiB\n\
                   sched_reserve:        CPU compute buffer size =    78.00 MiB\n";
        let expected =
            Rehearsal { kv: Bytes::mib(12), state: Bytes::kib(2304), compute: Bytes::mib(78), output: Bytes::mib(1) };
        assert_eq!(read(log), expected);
    }
}
