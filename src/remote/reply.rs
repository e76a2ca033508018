//! A streamed reply. Dropping it closes the connection, which stops the server's work.

use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::error::{RemoteError, Why};
use super::piece::{Piece, Whole};

/// Maximum number of waiting pieces; at this limit, a slow reader slows down the server.
const PIECES_MAX: usize = 256;
/// Interval at which pulses are sent while no piece arrives.
const BEAT: Duration = Duration::from_secs(1);

/// A running reply.
pub struct Reply {
    pieces: mpsc::Receiver<Result<Piece, RemoteError>>,
    task: JoinHandle<()>,
    url: String,
    since: Instant,
    over: bool,
}

/// Where the task of a reply sends its pieces.
pub type Pieces = mpsc::Sender<Result<Piece, RemoteError>>;

impl Reply {
    /// Starts the task created by `work`. Needs the tokio runtime.
    pub(super) fn start<W>(url: &str, work: impl FnOnce(Pieces) -> W) -> Reply
    where
        W: Future<Output = ()> + Send + 'static,
    {
        let (sender, pieces) = mpsc::channel(PIECES_MAX);
        let task = tokio::spawn(work(sender));
        Reply { pieces, task, url: url.to_owned(), since: Instant::now(), over: false }
    }

    /// The next piece; `None` after [`Piece::Finished`] or an error. Returns a [`Piece::Pulse`] if
    /// nothing else arrives for a second. The future may be dropped without losing a piece.
    pub async fn next(&mut self) -> Result<Option<Piece>, RemoteError> {
        if self.over {
            return Ok(None);
        }
        match timeout(BEAT, self.pieces.recv()).await {
            Err(_) => Ok(Some(Piece::Pulse { waited_ms: self.since.elapsed().as_millis() as u64 })),
            Ok(received) => {
                self.since = Instant::now();
                let lost = || RemoteError { url: self.url.clone(), why: Why::Cut("its task has ended".to_owned()) };
                let piece = received.unwrap_or_else(|| Err(lost()));
                self.over = !matches!(&piece, Ok(piece) if !matches!(piece, Piece::Finished { .. }));
                piece.map(Some)
            }
        }
    }

    /// Waits for the end and returns everything.
    pub async fn collect(mut self) -> Result<Whole, RemoteError> {
        let mut whole = Whole::default();
        while let Some(piece) = self.next().await? {
            match piece {
                Piece::Thinking(text) => whole.thinking.push_str(&text),
                Piece::Text(text) => whole.text.push_str(&text),
                Piece::Call { call, is_certain, in_fields } => {
                    whole.calls.push((call, is_certain));
                    whole.in_fields = in_fields;
                }
                Piece::Finished { finish, usage } => (whole.finish, whole.usage) = (Some(finish), usage),
                Piece::Waiting { .. } | Piece::Pulse { .. } | Piece::Progress { .. } | Piece::LeftOut { .. } => {}
            }
        }
        Ok(whole)
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.task.abort();
    }
}
