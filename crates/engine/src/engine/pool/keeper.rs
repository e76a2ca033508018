//! Unloads models whose keep-alive has expired: one thread per pool, asleep until the next model is due.

use std::sync::{Arc, Weak, mpsc};
use std::thread;
use std::time::Duration;

use super::Inner;

/// Maximum sleep, needed because a model that becomes idle does not wake the thread.
const SLEEP_MAX: Duration = Duration::from_secs(60);
const SLEEP_MIN: Duration = Duration::from_millis(50);

impl Inner {
    /// Wakes the keep-alive thread, starting it at the first load.
    pub(super) fn keep_an_eye(self: &Arc<Inner>) {
        let wake = self.keeper.get_or_init(|| {
            let (wake, woken) = mpsc::channel();
            let pool = Arc::downgrade(self);
            // Not an error: without the thread, models stay until their memory is needed.
            if let Err(error) = thread::Builder::new().name("keep-alive".into()).spawn(move || watch(&pool, &woken)) {
                tracing::warn!(%error, "idle models will stay until another needs their memory");
            }
            wake
        });
        // Fails if the thread could not be started, see above.
        let _ = wake.send(());
    }

    /// Unloads models whose idle time has reached their keep-alive; returns the time until the next
    /// one is due.
    pub(super) fn sweep(&self) -> Option<Duration> {
        let mut resident = self.resident();
        let mut due: Option<Duration> = None;
        let mut over = Vec::new();
        for index in (0..resident.entries.len()).rev() {
            let entry = &resident.entries[index];
            let keep_alive = entry.spec.keep_alive;
            if entry.pinned || keep_alive.is_zero() {
                continue;
            }
            match entry.idle() {
                Some(idle) if idle >= keep_alive => over.push(resident.entries.swap_remove(index)),
                idle => {
                    let left = keep_alive.saturating_sub(idle.unwrap_or_default());
                    due = Some(due.map_or(left, |due| due.min(left)));
                }
            }
        }
        resident.see_off(&over);
        drop(resident);
        // Freeing gigabytes takes time, so it happens after the lock is released.
        drop(over);
        due
    }
}

/// The loop of the thread; ends when the pool is dropped.
fn watch(pool: &Weak<Inner>, woken: &mpsc::Receiver<()>) {
    while let Some(inner) = pool.upgrade() {
        let due = inner.sweep();
        drop(inner);
        let sleep = due.unwrap_or(SLEEP_MAX).clamp(SLEEP_MIN, SLEEP_MAX);
        if woken.recv_timeout(sleep) == Err(mpsc::RecvTimeoutError::Disconnected) {
            return;
        }
    }
}
