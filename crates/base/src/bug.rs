//! Takes values that the code cannot be without, and says that it is a bug if one is missing.

use std::fmt::Debug;
use std::panic::Location;

/// For a value whose absence nobody can act on. What a caller can act on is an error instead.
pub trait OrBug {
    type Value;

    /// The value.
    ///
    /// # Panics
    /// If it is missing: the message is `rule`, which the code has broken, and the file at fault.
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
