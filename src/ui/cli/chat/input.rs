//! Reads standard input line by line on its own thread, so that commands are read while a request is running.

use std::io::{BufRead, Read};
use std::thread;

use tokio::sync::mpsc;

/// Number of lines read ahead; the reader waits at this limit.
const AHEAD: usize = 16;

/// One line, or a message about its fault.
pub type Read1 = Result<String, String>;

/// The lines of `input`; the channel closes at the end of the input.
pub fn lines(input: impl BufRead + Send + 'static, line_bytes_max: usize) -> mpsc::Receiver<Read1> {
    let (sender, receiver) = mpsc::channel(AHEAD);
    // Never joined: reading from a terminal cannot be interrupted, so the thread lives until the
    // process ends.
    thread::spawn(move || {
        let mut input = input;
        while let Some(line) = one(&mut input, line_bytes_max) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// The next line; `None` at the end of the input or if it cannot be read.
fn one(input: &mut impl BufRead, line_bytes_max: usize) -> Option<Read1> {
    let mut bytes = Vec::new();
    let read = input.take(line_bytes_max as u64 + 1).read_until(b'\n', &mut bytes).ok()?;
    if read == 0 {
        return None;
    }
    if read > line_bytes_max && bytes.last() != Some(&b'\n') {
        input.skip_until(b'\n').ok()?;
        return Some(Err(format!(
            "the line is longer than {line_bytes_max} bytes; put long text into a file of the project and name the file"
        )));
    }
    let text =
        String::from_utf8(bytes).map_err(|_| "the line is not UTF-8; convert it, for example with iconv".to_owned());
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &[u8], expected: &[Result<&str, &str>]) {
        let mut input = input;
        let mut lines = Vec::new();
        while let Some(line) = one(&mut input, 8) {
            lines.push(line);
        }
        assert_eq!(lines.len(), expected.len(), "{lines:?}");
        for (line, expected) in lines.iter().zip(expected) {
            match (line, expected) {
                (Ok(line), Ok(expected)) => assert_eq!(line.trim_end(), *expected),
                (Err(error), Err(expected)) => assert!(error.contains(expected), "{error}"),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn a_bad_line_does_not_affect_the_next_line() {
        check(b"", &[]);
        check(b"a\nb", &[Ok("a"), Ok("b")]);
        check(b"12345678\nok\n", &[Ok("12345678"), Ok("ok")]);
        check(b"123456789\nok\n", &[Err("longer than 8 bytes"), Ok("ok")]);
        check(b"123456789", &[Err("longer")]);
        check(b"\xff\nok\n", &[Err("not UTF-8"), Ok("ok")]);
    }
}
