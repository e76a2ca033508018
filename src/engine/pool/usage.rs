//! Counts who uses a model, tells how long it has been idle, and signals when its memory is freed.

use crate::base::lock;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The loans of one model. Clones share the count.
#[derive(Clone, Debug)]
pub struct Usage(Arc<Mutex<Count>>);

#[derive(Debug)]
struct Count {
    loans: usize,
    /// When the last loan ended.
    since: Instant,
}

/// One loan; ends when dropped.
#[derive(Debug)]
pub struct Loan(Usage);

impl Usage {
    pub fn new() -> Usage {
        Usage(Arc::new(Mutex::new(Count { loans: 0, since: Instant::now() })))
    }

    pub fn lend(&self) -> Loan {
        self.count().loans += 1;
        Loan(self.clone())
    }

    /// How long it has been unused; `None` while it is on loan.
    pub fn idle(&self) -> Option<Duration> {
        let count = self.count();
        (count.loans == 0).then(|| count.since.elapsed())
    }

    /// Each change is a single step that cannot panic midway, so a poisoned lock is ignored.
    fn count(&self) -> MutexGuard<'_, Count> {
        lock(&self.0)
    }
}

impl Clone for Loan {
    fn clone(&self) -> Loan {
        self.0.lend()
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        let mut count = self.0.count();
        count.loans -= 1;
        count.since = Instant::now();
    }
}

/// Waits for something to be dropped; its [`ReleaseSignal`] gives the signal.
#[derive(Clone, Debug, Default)]
pub struct ReleaseWait(Arc<(Mutex<bool>, Condvar)>);

/// Signals its [`ReleaseWait`] when dropped. As the last field of a struct it is dropped after the others.
#[derive(Debug)]
pub struct ReleaseSignal(ReleaseWait);

impl ReleaseWait {
    pub fn new() -> (ReleaseWait, ReleaseSignal) {
        let gone = ReleaseWait::default();
        (gone.clone(), ReleaseSignal(gone))
    }

    /// Waits, at most until `deadline`; false if it is not dropped by then.
    pub fn wait(&self, deadline: Instant) -> bool {
        let (gone, condvar) = &*self.0;
        let mut gone = lock(gone);
        while !*gone {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            gone = condvar.wait_timeout(gone, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

impl Drop for ReleaseSignal {
    fn drop(&mut self) {
        let (gone, condvar) = &*self.0.0;
        *lock(gone) = true;
        condvar.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_idle_once_its_last_loan_ends() {
        let usage = Usage::new();
        let first = usage.lend();
        let second = first.clone();
        drop(first);
        assert_eq!(usage.idle(), None);
        drop(second);
        assert!(usage.idle().is_some());
    }

    #[test]
    fn a_wait_ends_with_the_released_or_the_deadline() {
        let (gone, released) = ReleaseWait::new();
        assert!(!gone.wait(Instant::now()));
        let waiter = std::thread::spawn({
            let gone = gone.clone();
            move || gone.wait(Instant::now() + Duration::from_secs(60))
        });
        drop(released);
        assert!(waiter.join().unwrap() && gone.wait(Instant::now()));
    }
}
