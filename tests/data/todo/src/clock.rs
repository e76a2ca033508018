//! Tells how long ago an entry was written.

/// Seconds of a day.
pub const DAY_SECONDS: u64 = 86_400;

/// Whole days between two times in seconds.
pub fn days_between(from: u64, to: u64) -> u64 {
    to.saturating_sub(from) / DAY_SECONDS
}
