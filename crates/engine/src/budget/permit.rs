//! Schedules access to a device: one holder at a time, for one chunk of work, the most urgent waiter first.

use crate::base::{OrBug, lock};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::base::Cancel;

/// How urgent a chunk of work is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Indexing and warming up.
    Background,
    /// A step of a plan.
    Step,
    /// Output that a user waits for.
    User,
}

/// A waiter rises one level each time it has waited this long (about eight chunks of 250 ms), so
/// that none starves.
const AGEING: Duration = Duration::from_secs(2);

/// How often a waiter checks whether to go on.
const LOOK: Duration = Duration::from_millis(50);

/// The permit of one device. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Permit(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    held: bool,
    next_ticket: u64,
    /// In order of arrival.
    waiting: Vec<Waiter>,
}

#[derive(Clone, Copy, Debug)]
struct Waiter {
    ticket: u64,
    priority: Priority,
    since: Instant,
}

/// The right to use the device, until dropped.
#[derive(Debug)]
pub struct Guard(Arc<Shared>);

impl Permit {
    pub fn new() -> Permit {
        Permit::default()
    }

    /// Waits for the device.
    pub fn take(&self, priority: Priority) -> Guard {
        self.take_unless(priority, &Cancel::new()).or_bug("nobody can cancel here")
    }

    /// Waits for the device; `None` if cancelled first.
    pub fn take_unless(&self, priority: Priority, cancel: &Cancel) -> Option<Guard> {
        self.take_while(priority, || !cancel.is_cancelled())
    }

    /// Waits for the device while `go_on` returns true; `None` once it returns false.
    pub fn take_while(&self, priority: Priority, go_on: impl Fn() -> bool) -> Option<Guard> {
        let mut state = self.0.lock();
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        state.waiting.push(Waiter { ticket, priority, since: Instant::now() });
        loop {
            if !go_on() {
                state.waiting.retain(|waiter| waiter.ticket != ticket);
                self.0.freed.notify_all();
                return None;
            }
            if !state.held && first(&state.waiting, Instant::now()) == Some(ticket) {
                state.waiting.retain(|waiter| waiter.ticket != ticket);
                state.held = true;
                return Some(Guard(self.0.clone()));
            }
            state = self.0.freed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Whether a waiter is more urgent than `priority`; a holder may then shorten its chunk.
    pub fn is_wanted_above(&self, priority: Priority) -> bool {
        self.0.lock().waiting.iter().any(|waiter| waiter.priority > priority)
    }

    /// The number of waiters.
    pub fn waiting(&self) -> usize {
        self.0.lock().waiting.len()
    }
}

impl Shared {
    /// Ignores poisoning: changes to the state cannot panic half-way, so it is consistent even
    /// after a panic.
    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.lock().held = false;
        self.0.freed.notify_all();
    }
}

/// The ticket whose turn it is: the one with the highest level, and among equals the oldest.
fn first(waiting: &[Waiter], now: Instant) -> Option<u64> {
    let level = |waiter: &Waiter| {
        let waited = now.saturating_duration_since(waiter.since);
        waiter.priority as u64 + waited.as_millis() as u64 / AGEING.as_millis() as u64
    };
    waiting.iter().max_by(|a, b| level(a).cmp(&level(b)).then(b.ticket.cmp(&a.ticket))).map(|waiter| waiter.ticket)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;

    use super::*;

    /// Each waiter is a priority and the seconds it has waited; tickets count from 0 in order of
    /// arrival.
    fn check(waiters: &[(Priority, u64)], expected: Option<u64>) {
        let now = Instant::now() + Duration::from_secs(100);
        let waiting: Vec<Waiter> = waiters
            .iter()
            .enumerate()
            .map(|(ticket, &(priority, seconds))| Waiter {
                ticket: ticket as u64,
                priority,
                since: now - Duration::from_secs(seconds),
            })
            .collect();
        assert_eq!(first(&waiting, now), expected, "{waiters:?}");
    }

    #[test]
    fn the_most_urgent_goes_first_equals_in_order_and_age_counts() {
        use Priority::{Background, Step, User};
        check(&[], None);
        check(&[(Background, 0), (Step, 0), (User, 0)], Some(2));
        check(&[(User, 0), (User, 0)], Some(0));
        check(&[(Step, 1), (User, 1)], Some(1));
        check(&[(Background, 2), (Step, 0)], Some(0));
        check(&[(Background, 3), (User, 0)], Some(1));
        check(&[(Background, 4), (User, 0)], Some(0));
        check(&[(Background, 60), (User, 1)], Some(0));
    }

    /// The order in which waiters with these priorities get the device, as indices into the list.
    fn order(priorities: &[Priority]) -> Vec<usize> {
        let permit = Permit::new();
        let (sender, order) = channel();
        let held = permit.take(Priority::Background);
        thread::scope(|scope| {
            for (number, &priority) in priorities.iter().enumerate() {
                let (sender, queue) = (sender.clone(), permit.clone());
                scope.spawn(move || {
                    let guard = queue.take(priority);
                    sender.send(number).unwrap();
                    drop(guard);
                });
                while permit.waiting() <= number {
                    thread::yield_now();
                }
            }
            assert!(order.try_recv().is_err(), "the device is held");
            let is_more_urgent = |priority: Priority| priorities.iter().any(|other| *other > priority);
            for priority in [Priority::Background, Priority::Step, Priority::User] {
                assert_eq!(permit.is_wanted_above(priority), is_more_urgent(priority));
            }
            drop(held);
        });
        assert!(!permit.is_wanted_above(Priority::Background), "nobody waits");
        order.try_iter().collect()
    }

    #[test]
    fn the_device_has_one_holder_and_goes_to_the_most_urgent_waiter() {
        use Priority::{Background, Step, User};
        assert_eq!(order(&[Background, User, Step]), [1, 2, 0]);
        assert_eq!(order(&[Step, Step, Step]), [0, 1, 2]);
    }

    #[test]
    fn a_cancelled_waiter_leaves_the_queue() {
        let permit = Permit::new();
        let held = permit.take(Priority::User);
        let cancel = Cancel::new();
        thread::scope(|scope| {
            let waiter = scope.spawn(|| permit.take_unless(Priority::User, &cancel).is_none());
            while permit.waiting() == 0 {
                thread::yield_now();
            }
            cancel.cancel();
            assert!(waiter.join().unwrap());
        });
        assert_eq!(permit.waiting(), 0);
        drop(held);
        drop(permit.take(Priority::Background));
    }
}
