//! Who uses a model now, since when nobody does, and when its memory is given back.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The loans of one model. Clones count together.
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

    /// How long nobody has used it; `None` while somebody does.
    pub fn idle(&self) -> Option<Duration> {
        let count = self.count();
        (count.loans == 0).then(|| count.since.elapsed())
    }

    /// Changed in single steps that cannot panic half-way, so a poisoned lock still guards the truth.
    fn count(&self) -> MutexGuard<'_, Count> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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

/// Tells when something is gone: the other end is its [`Farewell`].
#[derive(Clone, Debug, Default)]
pub struct Gone(Arc<(Mutex<bool>, Condvar)>);

/// Kept beside what is to go, as its last field; says so when dropped.
#[derive(Debug)]
pub struct Farewell(Gone);

impl Gone {
    pub fn new() -> (Gone, Farewell) {
        let gone = Gone::default();
        (gone.clone(), Farewell(gone))
    }

    /// Waits, at most until `deadline`; false if it is still there then.
    pub fn wait(&self, deadline: Instant) -> bool {
        let (gone, told) = &*self.0;
        let mut gone = gone.lock().unwrap_or_else(PoisonError::into_inner);
        while !*gone {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            gone = told.wait_timeout(gone, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

impl Drop for Farewell {
    fn drop(&mut self) {
        let (gone, told) = &*self.0.0;
        *gone.lock().unwrap_or_else(PoisonError::into_inner) = true;
        told.notify_all();
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
    fn a_wait_ends_with_the_farewell_or_the_deadline() {
        let (gone, farewell) = Gone::new();
        assert!(!gone.wait(Instant::now()));
        let waiter = std::thread::spawn({
            let gone = gone.clone();
            move || gone.wait(Instant::now() + Duration::from_secs(60))
        });
        drop(farewell);
        assert!(waiter.join().unwrap() && gone.wait(Instant::now()));
    }
}
