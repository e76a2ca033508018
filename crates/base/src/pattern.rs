//! Compiles the regular expressions in the source code.

use regex::Regex;

use super::OrBug;

/// Compiles a regular expression that is part of the source code.
///
/// # Panics
/// If the text is not a valid regular expression.
#[track_caller]
pub fn pattern(text: impl AsRef<str>) -> Regex {
    Regex::new(text.as_ref()).or_bug("a pattern of the source code compiles")
}

/// `static_regex!(NAME = r"…")` declares a regular expression that is compiled on first use.
#[macro_export]
macro_rules! static_regex {
    ($name:ident = $text:expr) => {
        static $name: std::sync::LazyLock<regex::Regex> = std::sync::LazyLock::new(|| $crate::pattern::pattern($text));
    };
}
pub use static_regex;
