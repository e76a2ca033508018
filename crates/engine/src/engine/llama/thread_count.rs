//! Decides how many threads a call uses: all, or fewer if other programs keep them waiting for cores. Pure.

use std::time::Duration;

/// Call time after which waiting is assessed: several scheduler ticks of a few milliseconds each.
const WINDOW: Duration = Duration::from_millis(30);
/// There are too many threads if they waited for cores for more than this share of their time.
/// Measured on two cores: below 0.02 if each thread has a core, a third if another program keeps
/// one core busy.
const CROWDED: f64 = 0.1;
/// Call time without waiting before more threads are tried: the initial value, and the maximum
/// after failed attempts.
const PATIENCE_MIN: Duration = Duration::from_millis(250);
const PATIENCE_MAX: Duration = Duration::from_secs(8);

/// The number of threads, adapted the way senders adapt their rate on a congested network: reduced
/// at once when cores are crowded, raised after a time without waiting, which doubles after each
/// failed attempt.
#[derive(Clone, Debug)]
pub struct ThreadCount {
    most: usize,
    now: usize,
    /// Call time since the last assessment.
    wall: Duration,
    /// Call time since the cores were last crowded or the number last changed.
    calm: Duration,
    /// How long `calm` must be before more threads are tried.
    patience: Duration,
    /// The previous number, while more threads are being tried.
    before: Option<usize>,
}

impl ThreadCount {
    /// Starts with `most` threads and never uses more.
    pub fn new(most: usize) -> ThreadCount {
        let (most, zero) = (most.max(1), Duration::ZERO);
        ThreadCount { most, now: most, wall: zero, calm: zero, patience: PATIENCE_MIN, before: None }
    }

    pub fn now(&self) -> usize {
        self.now
    }

    /// Whether no call was counted since the last assessment.
    pub fn is_new(&self) -> bool {
        self.wall.is_zero()
    }

    /// Whether enough call time has passed for an assessment.
    pub fn is_due(&self) -> bool {
        self.wall >= WINDOW
    }

    /// Adds the duration of one call.
    pub fn called(&mut self, wall: Duration) {
        self.wall += wall;
    }

    /// Adapts the number. `waited`: the total time that all threads waited for cores since the last
    /// assessment.
    pub fn judge(&mut self, waited: Duration) {
        let wall = std::mem::take(&mut self.wall);
        let share = waited.as_secs_f64() / (wall.as_secs_f64() * self.now as f64).max(f64::MIN_POSITIVE);
        // A call ends with its slowest thread: if `n` threads waited for a share `w` of their time,
        // it took about `n * w` longer; with one thread fewer it would take about `1 / (n - 1)`
        // longer. So with few threads, more waiting is acceptable.
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
            // Adds half the current number, or one after a failed attempt.
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

    /// Simulates calls on a machine with `cores`, of which other programs use `busy`: threads
    /// beyond the free cores wait. Returns the number of threads used in each call.
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
    fn a_quiet_machine_uses_all_cores_and_a_crowded_one_the_free_cores() {
        let mut count = ThreadCount::new(8);
        assert!(calls(&mut count, 8, 0, 500).iter().all(|used| *used == 8));
        let crowded = calls(&mut count, 8, 3, 2_000);
        let five = crowded[20..].iter().filter(|used| **used == 5).count();
        assert!(five > 1_900, "{five}: {crowded:?}");
        let quiet = calls(&mut count, 8, 0, 2_000);
        assert_eq!(quiet.last(), Some(&8));
    }

    #[test]
    fn failed_attempts_to_use_more_threads_become_rare() {
        let mut count = ThreadCount::new(2);
        let used = calls(&mut count, 2, 1, 6_000);
        let tries = used.iter().filter(|used| **used == 2).count();
        assert!(tries <= 40 && used[5_000..].contains(&2), "{tries} of 6,000 calls, a minute");
    }

    proptest! {
        #[test]
        fn the_number_of_threads_stays_between_one_and_the_maximum(most in 0usize..40, waits in proptest::collection::vec(0u64..500, 0..200)) {
            let mut count = ThreadCount::new(most);
            for wait in waits {
                count.called(CALL * 3);
                count.judge(Duration::from_millis(wait));
                prop_assert!((1..=most.max(1)).contains(&count.now()));
            }
        }
    }
}
