//! How many threads a call uses: all, unless they wait for cores that others have. Pure.

use std::time::Duration;

/// Time of calls after which the share that was waited is judged. The clock of a core that is shared ticks every few
/// milliseconds.
const WINDOW: Duration = Duration::from_millis(30);
/// Share of their time that threads waited for a core, above which they are too many. With a core each it is below 0.02;
/// with one neighbour for two of them a third (measured on two cores).
const CROWDED: f64 = 0.1;
/// Time of calls without waiting after which more threads are tried, at first and after tries that failed.
const PATIENCE_MIN: Duration = Duration::from_millis(250);
const PATIENCE_MAX: Duration = Duration::from_secs(8);

/// Fewer threads at once where it is crowded, more after some time of calm, and after a try that failed a longer time: what
/// senders on a crowded network do.
#[derive(Clone, Debug)]
pub struct ThreadCount {
    most: usize,
    now: usize,
    /// Time of calls since the last judgement.
    wall: Duration,
    /// Time of calls since it was crowded or the number was changed.
    calm: Duration,
    patience: Duration,
    /// More are being tried; so many were used before.
    before: Option<usize>,
}

impl ThreadCount {
    /// At most `most`, of which `first` (1 to `most`) begin.
    pub fn new(most: usize, first: usize) -> ThreadCount {
        let (most, zero) = (most.max(1), Duration::ZERO);
        let now = first.clamp(1, most);
        ThreadCount { most, now, wall: zero, calm: zero, patience: PATIENCE_MIN, before: None }
    }

    pub fn now(&self) -> usize {
        self.now
    }

    /// Whether nothing was counted since the last judgement.
    pub fn is_new(&self) -> bool {
        self.wall.is_zero()
    }

    /// Whether enough was counted to judge.
    pub fn is_due(&self) -> bool {
        self.wall >= WINDOW
    }

    /// A call took so long.
    pub fn called(&mut self, wall: Duration) {
        self.wall += wall;
    }

    /// All threads together waited so long for cores since the last judgement.
    pub fn judge(&mut self, waited: Duration) {
        let wall = std::mem::take(&mut self.wall);
        let share = waited.as_secs_f64() / (wall.as_secs_f64() * self.now as f64).max(f64::MIN_POSITIVE);
        // All threads wait for the last one: of `n` threads that waited a share `w` of their time, the call took `n * w` of
        // its time longer, and one thread less would make it longer by `1 / (n - 1)`. Few threads are worth a little waiting.
        let few = 1.0 / (self.now * self.now) as f64;
        if share > few.max(CROWDED) {
            let fewer = self.now - (self.now / 4).max(1).min(self.now - 1);
            self.patience = self.before.map_or(PATIENCE_MIN, |_| (self.patience * 2).min(PATIENCE_MAX));
            (self.now, self.before, self.calm) = (self.before.unwrap_or(fewer), None, Duration::ZERO);
            return;
        }
        self.calm += wall;
        if self.before.is_some() && self.calm >= PATIENCE_MIN {
            (self.before, self.patience) = (None, PATIENCE_MIN);
        }
        if self.now < self.most && self.calm >= self.patience {
            // By half as many again, until that was too many once.
            let step = if self.patience > PATIENCE_MIN { 1 } else { (self.now / 2).max(1) };
            (self.before, self.calm) = (Some(self.now), Duration::ZERO);
            self.now = (self.now + step).min(self.most);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CALL: Duration = Duration::from_millis(10);

    /// Calls on a machine with `cores`, `busy` of which others use: the threads that are too many wait for theirs.
    /// Gives the number of threads of each call.
    fn calls(count: &mut ThreadCount, cores: usize, busy: usize, calls: usize) -> Vec<usize> {
        (0..calls)
            .map(|_| {
                let used = count.now();
                count.called(CALL);
                if count.is_due() {
                    let missing = (used + busy).saturating_sub(cores).min(used);
                    count.judge(WINDOW * missing as u32);
                }
                used
            })
            .collect()
    }

    #[test]
    fn a_quiet_machine_gives_all_its_cores_and_a_crowded_one_what_is_left() {
        let mut count = ThreadCount::new(8, 8);
        assert!(calls(&mut count, 8, 0, 500).iter().all(|used| *used == 8));
        let crowded = calls(&mut count, 8, 3, 2_000);
        let five = crowded[20..].iter().filter(|used| **used == 5).count();
        assert!(five > 1_900, "{five}: {crowded:?}");
        let quiet = calls(&mut count, 8, 0, 2_000);
        assert_eq!(quiet.last(), Some(&8));
    }

    #[test]
    fn tries_that_fail_become_rare() {
        let mut count = ThreadCount::new(2, 2);
        let used = calls(&mut count, 2, 1, 6_000);
        let tries = used.iter().filter(|used| **used == 2).count();
        assert!(tries <= 40 && used[5_000..].contains(&2), "{tries} of 6,000 calls, a minute");
    }

    proptest! {
        #[test]
        fn the_number_stays_between_one_and_all(most in 0usize..40, first in 0usize..50, waits in proptest::collection::vec(0u64..500, 0..200)) {
            let mut count = ThreadCount::new(most, first);
            for wait in waits {
                count.called(CALL * 3);
                count.judge(Duration::from_millis(wait));
                prop_assert!((1..=most.max(1)).contains(&count.now()));
            }
        }
    }
}
