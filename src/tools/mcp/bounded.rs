//! Stops reading a server that sends too much: an overlong line, too many lines, or too many bytes
//! since the last call began.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::watch;

/// Maximum size of a message. When parsed, it takes about twenty times as much memory; at most 256
/// KiB of its text is kept.
pub const LINE_MAX_BYTES: usize = 4 << 20;
/// Maximum number of lines and of bytes per call, counted across standard output and standard
/// error.
pub const LINES_MAX: usize = 20_000;
pub const BYTES_MAX: usize = 32 << 20;

/// The amount that a server has sent since the last call began, and the reason why it is no longer
/// read.
#[derive(Debug, Default)]
pub struct Flow {
    lines: AtomicUsize,
    bytes: AtomicUsize,
    streams: AtomicUsize,
    verdict: watch::Sender<Option<String>>,
}

impl Flow {
    /// Resets the counts at the beginning of a call.
    pub fn restart(&self) {
        self.lines.store(0, Ordering::Relaxed);
        self.bytes.store(0, Ordering::Relaxed);
        self.streams.store(0, Ordering::Relaxed);
    }

    /// Counts a newly opened stream and returns the number of earlier ones.
    pub fn open(&self) -> usize {
        self.streams.fetch_add(1, Ordering::Relaxed)
    }

    /// Counts `bytes` from the stream `what` and returns whether the server is no longer read.
    pub fn add(&self, bytes: &[u8], what: &str) -> bool {
        let new = bytes.iter().filter(|byte| **byte == b'\n').count();
        let lines = self.lines.fetch_add(new, Ordering::Relaxed) + new;
        let total = self.bytes.fetch_add(bytes.len(), Ordering::Relaxed) + bytes.len();
        if lines > LINES_MAX {
            self.end(format!("it sent more than {LINES_MAX} lines on {what} during one call"));
        } else if total > BYTES_MAX {
            self.end(format!("it sent more than {} MiB on {what} during one call", BYTES_MAX >> 20));
        }
        self.verdict().is_some()
    }

    /// Stops reading the server; the first reason is kept.
    pub fn end(&self, reason: String) {
        self.verdict.send_if_modified(|verdict| {
            let first = verdict.is_none();
            verdict.get_or_insert(reason);
            first
        });
    }

    /// The reason why the server is no longer read; `None` while it is read.
    pub fn verdict(&self) -> Option<String> {
        self.verdict.borrow().clone()
    }

    /// Waits until the server is no longer read and returns the reason.
    pub async fn ended(&self) -> String {
        let mut verdict = self.verdict.subscribe();
        // `self` holds the sender, so only a verdict can end the wait.
        verdict.wait_for(Option::is_some).await.ok().and_then(|verdict| verdict.clone()).unwrap_or_default()
    }
}

/// Counts one stream of a server, and the bytes of its current message.
pub struct Meter {
    flow: Arc<Flow>,
    what: &'static str,
    /// Whether an empty line ends a message, as in a stream of events; otherwise every line end
    /// does.
    ends_by_empty_line: bool,
    line: usize,
    message: usize,
}

impl Meter {
    /// Counts a stream in which every line is a message; `what` is its name in error messages.
    pub fn of_lines(flow: Arc<Flow>, what: &'static str) -> Meter {
        Meter { flow, what, ends_by_empty_line: false, line: 0, message: 0 }
    }

    /// Like `of_lines`, but for a stream of server-sent events.
    pub fn of_events(flow: Arc<Flow>, what: &'static str) -> Meter {
        Meter { ends_by_empty_line: true, ..Meter::of_lines(flow, what) }
    }

    /// Counts `bytes` and returns whether the server is no longer read.
    pub fn add(&mut self, bytes: &[u8]) -> bool {
        let mut longest = 0;
        for byte in bytes {
            match byte {
                b'\n' => {
                    if !self.ends_by_empty_line || self.line == 0 {
                        self.message = 0;
                    }
                    self.line = 0;
                }
                b'\r' => {}
                _ => (self.line, self.message) = (self.line + 1, self.message + 1),
            }
            longest = longest.max(self.message);
        }
        if longest > LINE_MAX_BYTES {
            self.flow.end(format!("it sent a message of more than {} MiB", LINE_MAX_BYTES >> 20));
        }
        self.flow.add(bytes, self.what)
    }
}

/// Standard output of a server; it ends as soon as a limit is exceeded.
pub struct Bounded<R> {
    inner: R,
    meter: Meter,
}

impl<R> Bounded<R> {
    pub fn new(inner: R, flow: Arc<Flow>) -> Bounded<R> {
        Bounded { inner, meter: Meter::of_lines(flow, "standard output") }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Bounded<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.meter.flow.verdict().is_some() {
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        std::task::ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        if self.meter.add(&buffer.filled()[before..]) {
            buffer.set_filled(before);
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    /// A server in tests/it/mcp sends too many lines, and one message that is too long.
    #[tokio::test]
    async fn too_many_bytes_in_short_messages_end_the_stream() {
        let message = [vec![b'x'; LINE_MAX_BYTES / 2], vec![b'\n']].concat();
        let (input, flow, mut read) = (message.repeat(20), Arc::new(Flow::default()), Vec::new());
        Bounded::new(&input[..], flow.clone()).read_to_end(&mut read).await.unwrap();
        let verdict = flow.verdict().unwrap_or_default();
        assert!(verdict.contains("more than 32 MiB on standard output") && read.len() < input.len(), "{verdict}");
    }

    #[test]
    fn an_event_of_many_lines_is_one_message() {
        let line = [b"data: ".as_slice(), &vec![b'x'; LINE_MAX_BYTES / 4], b"\r\n"].concat();
        let verdict = |input: &[u8]| {
            let flow = Arc::new(Flow::default());
            Meter::of_events(flow.clone(), "its streams").add(input);
            flow.verdict().unwrap_or_default()
        };
        assert!(verdict(&line.repeat(5)).contains("a message of more than 4 MiB"));
        assert_eq!(verdict(&[line.as_slice(), b"\r\n"].concat().repeat(5)), "");
    }
}
