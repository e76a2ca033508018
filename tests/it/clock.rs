//! Time in tests: measures how much a busy machine delays threads, and waits for conditions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Duration of one sleep of a [`Sleeper`].
const NAP: Duration = Duration::from_millis(20);
/// Maximum time that [`eventually`] waits.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// A thread that sleeps repeatedly and measures how late it wakes up. It ends when this value is
/// dropped.
pub struct Sleeper {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Overslept>>,
}

/// How late the thread woke up: at most, and in total.
#[derive(Clone, Copy, Default)]
pub struct Overslept {
    pub most: Duration,
    pub total: Duration,
}

impl Sleeper {
    pub fn start() -> Sleeper {
        let over = Arc::new(AtomicBool::new(false));
        let thread = thread::spawn({
            let over = over.clone();
            move || {
                let mut overslept = Overslept::default();
                while !over.load(Ordering::SeqCst) {
                    let from = Instant::now();
                    thread::sleep(NAP);
                    let late = from.elapsed().saturating_sub(NAP);
                    overslept = Overslept { most: overslept.most.max(late), total: overslept.total + late };
                }
                overslept
            }
        });
        Sleeper { over, thread: Some(thread) }
    }

    pub fn overslept(mut self) -> Overslept {
        self.over.store(true, Ordering::SeqCst);
        self.thread.take().and_then(|thread| thread.join().ok()).expect("a nap does not panic")
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
    }
}

/// Waits until `is` is true; fails with `what` after [`WAIT_MAX`].
pub fn eventually(what: &str, mut is: impl FnMut() -> bool) {
    let from = Instant::now();
    while !is() {
        assert!(from.elapsed() < WAIT_MAX, "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}
