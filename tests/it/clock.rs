//! Time in tests: what a machine that others keep busy adds to every wait, and waiting for what has to come.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long a thread that wants to wake up is let sleep.
const NAP: Duration = Duration::from_millis(20);
/// What has not come by then does not come.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// A thread that naps, and notes how much longer it slept than it wanted to. It ends with this value, however a test ends.
pub struct Sleeper {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Overslept>>,
}

/// What naps took too long: the worst of them, and all together.
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

pub fn eventually(what: &str, mut is: impl FnMut() -> bool) {
    let from = Instant::now();
    while !is() {
        assert!(from.elapsed() < WAIT_MAX, "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}
