//! The time limit of a turn: the user's, else a default that soon shows a waiting user a change.

use std::time::Duration;

/// Time within which a change must begin on a slow machine if a user is waiting for it.
const FIRST: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TurnTime {
    /// No limit is set, and a user is waiting.
    #[default]
    Waited,
    /// No user is waiting, or the user set no limit.
    Unlimited,
    /// No further round of a turn begins after this time.
    Most(Duration),
}

impl TurnTime {
    /// Converts the setting in seconds; 0 means no limit.
    pub fn of(seconds: Option<u64>) -> TurnTime {
        match seconds {
            None => TurnTime::Waited,
            Some(0) => TurnTime::Unlimited,
            Some(seconds) => TurnTime::Most(Duration::from_secs(seconds)),
        }
    }

    /// The same for a turn without a waiting user.
    pub fn in_background(self) -> TurnTime {
        if self == TurnTime::Waited { TurnTime::Unlimited } else { self }
    }

    /// The time within which a change should begin; `None` if it does not matter.
    pub fn first(self) -> Option<Duration> {
        match self {
            TurnTime::Waited => Some(FIRST),
            TurnTime::Unlimited => None,
            TurnTime::Most(time) => Some(time.min(FIRST)),
        }
    }

    /// The time after which no further round begins.
    pub fn whole(self) -> Option<Duration> {
        if let TurnTime::Most(time) = self { Some(time) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_sees_a_change_within_a_minute_and_nobody_else_has_a_limit_unless_it_is_said() {
        let check = |time: TurnTime, expected: (Option<u64>, Option<u64>)| {
            let seconds = |time: Option<Duration>| time.map(|time| time.as_secs());
            assert_eq!((seconds(time.first()), seconds(time.whole())), expected, "{time:?}");
        };
        check(TurnTime::of(None), (Some(60), None));
        check(TurnTime::of(None).in_background(), (None, None));
        check(TurnTime::of(Some(0)), (None, None));
        check(TurnTime::of(Some(300)), (Some(60), Some(300)));
        check(TurnTime::of(Some(20)).in_background(), (Some(20), Some(20)));
    }
}
