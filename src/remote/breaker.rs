//! Circuit breaker: after repeated failures a server is skipped for a while, so that not every
//! request waits for its timeouts.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::error::{RemoteError, Why};
use crate::base::lock;

/// Number of consecutive failures after which a server rests.
const FAILURES_MAX: u32 = 3;
/// The same for an embedder; search continues at once without it.
const EMBEDDER_FAILURES_MAX: u32 = 1;
/// Duration of the first rest; each further failure doubles it, up to [`REST_MAX`].
const REST: Duration = Duration::from_secs(15);
const REST_MAX: Duration = Duration::from_secs(300);

/// Shared by all requests to one server.
#[derive(Clone, Debug)]
pub struct Breaker {
    state: Arc<Mutex<State>>,
    failures_max: u32,
}

impl Default for Breaker {
    fn default() -> Breaker {
        Breaker { state: Arc::default(), failures_max: FAILURES_MAX }
    }
}

#[derive(Debug, Default)]
struct State {
    failures: u32,
    last: String,
    rests_until: Option<Instant>,
}

impl Breaker {
    /// For a server that computes vectors.
    pub fn of_embedder() -> Breaker {
        Breaker { failures_max: EMBEDDER_FAILURES_MAX, ..Breaker::default() }
    }

    /// Whether the server may be asked now. The first request after a rest is a trial: until it
    /// ends, all others wait for another rest.
    pub fn enter(&self, now: Instant) -> Result<(), Why> {
        let mut state = lock(&self.state);
        match state.rests_until {
            Some(until) if now < until => Err(Why::Resting {
                failures: state.failures,
                last: state.last.clone(),
                again: (until - now).max(Duration::from_secs(1)),
            }),
            Some(_) => {
                state.rests_until = Some(now + rest(state.failures, self.failures_max));
                Ok(())
            }
            None => Ok(()),
        }
    }

    pub fn succeeded(&self) {
        *lock(&self.state) = State::default();
    }

    /// Counts an error if it means that the server is unreachable.
    pub fn failed(&self, error: &RemoteError, now: Instant) {
        if !error.is_gone() {
            return;
        }
        let mut state = lock(&self.state);
        state.failures += 1;
        state.last = error.why.to_string();
        state.rests_until =
            (state.failures >= self.failures_max).then(|| now + rest(state.failures, self.failures_max));
    }
}

fn rest(failures: u32, failures_max: u32) -> Duration {
    REST.saturating_mul(1 << failures.saturating_sub(failures_max).min(8)).min(REST_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(why: Why) -> RemoteError {
        RemoteError { url: "http://box/v1".to_owned(), why }
    }

    #[test]
    fn a_dead_server_rests_longer_and_longer_and_one_success_ends_it() {
        let (breaker, gone, start) = (Breaker::default(), error(Why::Cut("closed".to_owned())), Instant::now());
        for _ in 0..2 {
            breaker.failed(&gone, start);
            assert_eq!(breaker.enter(start), Ok(()));
        }
        breaker.failed(&gone, start);
        assert!(matches!(breaker.enter(start), Err(Why::Resting { failures: 3, .. })));
        let later = start + REST;
        assert_eq!(breaker.enter(later), Ok(()), "one may try");
        assert!(breaker.enter(later).is_err(), "and the others wait for it");
        breaker.failed(&gone, later);
        assert!(breaker.enter(later + REST).is_err());
        assert_eq!(breaker.enter(later + 2 * REST), Ok(()));
        breaker.succeeded();
        assert_eq!(breaker.enter(later), Ok(()));
    }

    #[test]
    fn a_refused_request_says_nothing_about_the_server() {
        let breaker = Breaker::default();
        for _ in 0..10 {
            breaker.failed(&error(Why::Refused(401)), Instant::now());
        }
        assert_eq!(breaker.enter(Instant::now()), Ok(()));
    }
}
