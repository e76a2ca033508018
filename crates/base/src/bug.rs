//! Unwraps values that must be present, and reports a missing one as a bug.

use std::fmt::Debug;
use std::panic::Location;

/// For values whose absence no caller can handle. Return an error for anything a caller can act on.
pub trait OrBug {
    type Value;

    /// The value.
    ///
    /// # Panics
    /// If the value is missing. The message names `rule`, the violated rule, and the source file.
    fn or_bug(self, rule: &str) -> Self::Value;
}

impl<T> OrBug for Option<T> {
    type Value = T;

    #[track_caller]
    fn or_bug(self, rule: &str) -> T {
        match self {
            Some(value) => value,
            None => panic!("{rule}; this is a bug in {}", Location::caller().file()),
        }
    }
}

impl<T, E: Debug> OrBug for Result<T, E> {
    type Value = T;

    #[track_caller]
    fn or_bug(self, rule: &str) -> T {
        match self {
            Ok(value) => value,
            Err(error) => panic!("{rule}: {error:?}; this is a bug in {}", Location::caller().file()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "a list has a first element; this is a bug in crates/base/src/bug.rs")]
    fn a_missing_value_names_the_rule_and_the_file() {
        [0; 0].first().or_bug("a list has a first element");
    }
}
