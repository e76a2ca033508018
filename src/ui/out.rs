//! Writes to standard output and standard error. If standard output fails, the program ends with
//! one line instead of a panic.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};

use crate::app;

/// Exit code if the reader of the output is gone: 128 plus the number of SIGPIPE, as in shells.
const BROKEN_PIPE: i32 = 141;

/// Prints text to standard output, unchanged and immediately.
macro_rules! put {
    ($($part:tt)*) => { $crate::ui::out::put(format_args!($($part)*)) };
}

/// Prints a line to standard output, unchanged.
macro_rules! putln {
    () => { $crate::ui::out::putln(format_args!("")) };
    ($($part:tt)*) => { $crate::ui::out::putln(format_args!($($part)*)) };
}

/// Prints a line with text from files, models or tools to standard output.
macro_rules! say {
    ($($part:tt)*) => { $crate::ui::out::putln(format_args!("{}", $crate::base::visible(&format!($($part)*)))) };
}

/// Prints a line to standard error.
macro_rules! tell {
    () => { $crate::ui::out::tell(format_args!("")) };
    ($($part:tt)*) => { $crate::ui::out::tell(format_args!($($part)*)) };
}

pub fn put(text: Arguments) {
    let mut out = io::stdout().lock();
    or_end(out.write_fmt(text).and_then(|()| out.flush()));
}

pub fn putln(text: Arguments) {
    or_end(writeln!(io::stdout().lock(), "{text}"));
}

/// Ignores errors: there is nowhere to report a failure to write to standard error.
pub fn tell(text: Arguments) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Like [`tell()`], without the line ending.
pub fn whisper(text: Arguments) {
    let _ = io::stderr().lock().write_fmt(text);
}

/// Writes text that standard output still buffers.
pub fn flush() {
    or_end(io::stdout().lock().flush());
}

/// Standard output for code that needs a [`Write`]. It never returns an error, because an error
/// ends the program.
pub struct Out;

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(or_end(io::stdout().lock().write(bytes)))
    }

    fn flush(&mut self) -> io::Result<()> {
        flush();
        Ok(())
    }
}

fn or_end<T>(written: io::Result<T>) -> T {
    written.unwrap_or_else(|error| end(&error))
}

fn end(error: &io::Error) -> ! {
    if error.kind() == ErrorKind::BrokenPipe {
        app::exit(BROKEN_PIPE);
    }
    tell!("monobloc: cannot write the output: {error}");
    app::exit(1)
}
