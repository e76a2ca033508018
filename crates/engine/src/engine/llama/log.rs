//! Forwards llama.cpp's log, and keeps the calling thread's last errors and warnings to explain a failure.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_void};
use std::io::Write;

use llama_cpp_sys_2 as sys;

/// Maximum number of lines kept per thread.
const LINES_MAX: usize = 8;
/// Maximum number of bytes in a line; the rest is cut off.
const LINE_BYTES_MAX: usize = 2000;

#[derive(Default)]
struct Lines {
    /// A line that has not ended yet, with its level.
    open: Option<(sys::ggml_log_level, String)>,
    /// Errors and warnings since [`forget`], oldest first.
    complaints: Vec<(sys::ggml_log_level, String)>,
}

thread_local! {
    static LINES: RefCell<Lines> = RefCell::default();
}

/// Sets the callbacks of llama.cpp, ggml and mtmd. Called once, before anything else.
pub(super) fn start() {
    // SAFETY: the callbacks use no data, and live as long as the process.
    unsafe {
        sys::llama_log_set(Some(note), std::ptr::null_mut());
        sys::ggml_log_set(Some(note), std::ptr::null_mut());
        sys::mtmd_log_set(Some(note), std::ptr::null_mut());
        sys::ggml_set_abort_callback(Some(last_words));
    }
}

/// Drops the lines kept for this thread.
pub(super) fn forget() {
    LINES.with_borrow_mut(|lines| lines.complaints.clear());
}

/// The reason for the last failure, on one line: this thread's last three errors since [`forget`],
/// except those that only repeat that something failed; the warnings if there were no errors.
pub(super) fn reason() -> Option<String> {
    LINES.with_borrow(|lines| {
        let of = |level| -> Vec<&str> {
            let all = lines.complaints.iter().filter(|(found, _)| *found == level);
            let told = all.map(|(_, line)| line.trim()).filter(|line| !line.ends_with("failed to load model"));
            told.map(without_function).collect()
        };
        let errors = of(sys::GGML_LOG_LEVEL_ERROR);
        let lines = if errors.is_empty() { of(sys::GGML_LOG_LEVEL_WARN) } else { errors };
        let last = lines.len().saturating_sub(3);
        (!lines.is_empty()).then(|| lines[last..].join("; "))
    })
}

/// The line without the C++ function name that llama.cpp puts in front.
fn without_function(line: &str) -> &str {
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match line.split_once(": ") {
        Some((name, rest)) if is_name(name) => rest,
        _ => line,
    }
}

unsafe extern "C" fn note(level: sys::ggml_log_level, text: *const c_char, _data: *mut c_void) {
    if text.is_null() {
        return;
    }
    // SAFETY: llama.cpp passes a NUL-terminated text that lives until this call returns.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    // A thread that is ending no longer has its lines.
    let _ = LINES.try_with(|lines| lines.borrow_mut().add(level, &text));
}

/// Prints llama.cpp's last message before it ends the process. Without this callback, llama.cpp
/// would start a debugger, which may hang.
unsafe extern "C" fn last_words(message: *const c_char) {
    if !message.is_null() {
        // SAFETY: as in `note`.
        let message = unsafe { CStr::from_ptr(message) }.to_string_lossy();
        // Nothing can be done if standard error is closed.
        let _ = writeln!(std::io::stderr(), "llama.cpp ends the process: {}", message.trim());
    }
}

impl Lines {
    fn add(&mut self, level: sys::ggml_log_level, text: &str) {
        let (level, mut line) = match self.open.take() {
            Some((started, mut line)) if level == sys::GGML_LOG_LEVEL_CONT => {
                line.push_str(text);
                (started, line)
            }
            started => {
                if let Some((level, line)) = started {
                    self.end(level, &line);
                }
                (level, text.to_owned())
            }
        };
        if line.len() < LINE_BYTES_MAX && !line.ends_with('\n') {
            self.open = Some((level, line));
            return;
        }
        line.truncate(line.trim_end().floor_char_boundary(LINE_BYTES_MAX));
        self.end(level, &line);
    }

    fn end(&mut self, level: sys::ggml_log_level, line: &str) {
        match level {
            sys::GGML_LOG_LEVEL_ERROR => tracing::error!(target: "llama.cpp", "{line}"),
            sys::GGML_LOG_LEVEL_WARN => tracing::warn!(target: "llama.cpp", "{line}"),
            sys::GGML_LOG_LEVEL_INFO => tracing::info!(target: "llama.cpp", "{line}"),
            _ => tracing::debug!(target: "llama.cpp", "{line}"),
        }
        if level == sys::GGML_LOG_LEVEL_ERROR || level == sys::GGML_LOG_LEVEL_WARN {
            if self.complaints.len() == LINES_MAX {
                self.complaints.remove(0);
            }
            self.complaints.push((level, line.to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_what_the_errors_of_this_thread_say() {
        let say = |level, text: &str| LINES.with_borrow_mut(|lines| lines.add(level, text));
        forget();
        assert_eq!(reason(), None);
        say(sys::GGML_LOG_LEVEL_WARN, "load: empty token at index 3\n");
        assert_eq!(reason().as_deref(), Some("empty token at index 3"));
        say(sys::GGML_LOG_LEVEL_ERROR, "llama_model_load: error loading model: ");
        say(sys::GGML_LOG_LEVEL_CONT, "missing tensor 'output_norm.weight'\n");
        say(sys::GGML_LOG_LEVEL_ERROR, "llama_model_load_from_file_impl: failed to load model\n");
        assert_eq!(reason().as_deref(), Some("error loading model: missing tensor 'output_norm.weight'"));
        std::thread::spawn(|| assert_eq!(reason(), None)).join().unwrap();
        (0..50).for_each(|_| say(sys::GGML_LOG_LEVEL_ERROR, "again\n"));
        assert_eq!(reason().as_deref(), Some("again; again; again"));
        forget();
        assert_eq!(reason(), None);
    }
}
