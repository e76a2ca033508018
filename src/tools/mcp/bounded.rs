//! Ends a server's output when it floods: a line too long, too many lines, or too much in all since the last call.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::watch;

/// Longest message. Parsed it takes some twenty times as much memory; of its text 256 KiB are kept anyway.
pub const LINE_MAX_BYTES: usize = 4 << 20;
/// Most lines and bytes between two calls, of standard output or standard error.
pub const LINES_MAX: usize = 20_000;
pub const BYTES_MAX: usize = 32 << 20;

/// What a server has sent since the last call, and why it is heard no more.
#[derive(Debug, Default)]
pub struct Flow {
    lines: AtomicUsize,
    bytes: AtomicUsize,
    verdict: watch::Sender<Option<String>>,
}

impl Flow {
    /// A call begins: counts start again.
    pub fn restart(&self) {
        self.lines.store(0, Ordering::Relaxed);
        self.bytes.store(0, Ordering::Relaxed);
    }

    /// Counts what came; says whether it was too much.
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

    /// The first reason stays.
    pub fn end(&self, reason: String) {
        self.verdict.send_if_modified(|verdict| {
            let first = verdict.is_none();
            verdict.get_or_insert(reason);
            first
        });
    }

    pub fn verdict(&self) -> Option<String> {
        self.verdict.borrow().clone()
    }

    /// Waits until the server is heard no more, and says why.
    pub async fn ended(&self) -> String {
        let mut verdict = self.verdict.subscribe();
        // The sender is `self`, so the wait ends by a verdict alone.
        verdict.wait_for(Option::is_some).await.ok().and_then(|verdict| verdict.clone()).unwrap_or_default()
    }
}

/// Standard output of a server, which ends when the flow is too strong.
pub struct Bounded<R> {
    inner: R,
    flow: Arc<Flow>,
    /// Bytes of the line under way.
    line: usize,
}

impl<R> Bounded<R> {
    pub fn new(inner: R, flow: Arc<Flow>) -> Bounded<R> {
        Bounded { inner, flow, line: 0 }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Bounded<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.flow.verdict().is_some() {
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        std::task::ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        let new = &buffer.filled()[before..];
        let mut longest = 0;
        for byte in new {
            self.line = if *byte == b'\n' { 0 } else { self.line + 1 };
            longest = longest.max(self.line);
        }
        if longest > LINE_MAX_BYTES {
            self.flow.end(format!("it sent a message of more than {} MiB", LINE_MAX_BYTES >> 20));
        }
        if self.flow.add(new, "standard output") {
            buffer.set_filled(before);
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    async fn check(input: Vec<u8>, expected: Option<&str>) {
        let flow = Arc::new(Flow::default());
        let length = input.len();
        let mut read = Vec::new();
        Bounded::new(&input[..], flow.clone()).read_to_end(&mut read).await.unwrap();
        match (flow.verdict(), expected) {
            (None, None) => assert_eq!(read.len(), length),
            (Some(verdict), Some(part)) => {
                assert!(verdict.contains(part), "{verdict}");
                assert!(read.len() < length);
            }
            (verdict, expected) => panic!("{verdict:?}, expected {expected:?}"),
        }
    }

    #[tokio::test]
    async fn a_flood_ends_the_stream_and_says_why() {
        check(b"{}\n".to_vec(), None).await;
        check(vec![b'x'; LINE_MAX_BYTES + 9], Some("a message of more than 4 MiB")).await;
        check(vec![b'\n'; LINES_MAX + 9], Some("lines on standard output")).await;
        let mut long = vec![b'x'; LINE_MAX_BYTES / 2];
        long.push(b'\n');
        check(long.repeat(20), Some("more than 32 MiB")).await;
    }
}
