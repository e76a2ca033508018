//! Runs a turn of a conversation for a front: first index and tools are brought up to date.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::App;
use crate::base::Cancel;
use crate::protocol::{Ask, Op};
use crate::session::{Message, Session};

/// Longest request, in bytes: a longer one would not fit into a slot's context.
pub const REQUEST_BYTES_MAX: usize = 64 << 10;

impl App {
    /// Refreshes index and tools, which takes milliseconds if nothing has changed, and then runs a turn.
    pub fn turn(&self, session: Arc<Session>, ask: Ask, cancel: Cancel) -> mpsc::UnboundedReceiver<Message> {
        let (sender, messages) = mpsc::unbounded_channel();
        let app = self.until(cancel.clone());
        tokio::spawn(async move {
            let (index, embedder) = (session.index(), session.embedder());
            let refreshed = tokio::task::spawn_blocking(move || {
                if let Some(index) = index {
                    app.refresh_for_turn(&index, embedder.as_ref(), &mut |_| ())?;
                }
                app.changed_tools(embedder.as_ref())
            });
            match refreshed.await {
                Ok(Ok(Some((catalog, prefilter)))) => session.offer(catalog, prefilter),
                Ok(Err(error)) => tracing::warn!(%error, "index and tools are as they were before"),
                _ => {}
            }
            let mut turn = session.submit_with(Op::Ask(ask), cancel);
            while let Some(message) = turn.recv().await {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        messages
    }
}
