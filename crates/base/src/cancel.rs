//! A cancellation flag; everything that waits or computes holds a clone of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// A cancellation flag shared by its clones. Once set it stays set.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<Flag>);

#[derive(Debug, Default)]
struct Flag {
    set: AtomicBool,
    changed: Notify,
}

impl Cancel {
    pub fn new() -> Cancel {
        Cancel::default()
    }

    pub fn cancel(&self) {
        self.0.set.store(true, Ordering::SeqCst);
        self.0.changed.notify_waiters();
    }

    pub fn is_cancelled(&self) -> bool {
        self.0.set.load(Ordering::SeqCst)
    }

    /// Returns once the flag is set.
    pub async fn cancelled(&self) {
        // Subscribe before reading the flag, so that a change in between is not missed.
        let changed = self.0.changed.notified();
        if !self.is_cancelled() {
            changed.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn everyone_who_waits_hears_of_a_cancellation() {
        let cancel = Cancel::new();
        let waiting: Vec<_> = (0..3)
            .map(|_| {
                tokio::spawn({
                    let cancel = cancel.clone();
                    async move { cancel.cancelled().await }
                })
            })
            .collect();
        tokio::task::yield_now().await;
        cancel.cancel();
        for one in waiting {
            one.await.expect("it ends");
        }
        cancel.cancelled().await;
    }
}
