//! Place for tests of occurrences; none yet.
