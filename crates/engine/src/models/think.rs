//! How much models think before answering, as written by a user: `off`, `auto` or a number of tokens.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer};

/// Maximum number of tokens allowed for thoughts.
const TOKENS_MAX: usize = 1 << 20;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Think {
    /// Models answer immediately.
    Off,
    /// As much as time and context allow.
    #[default]
    Auto,
    /// At most this many tokens before an answer.
    Tokens(usize),
}

impl FromStr for Think {
    type Err = String;

    fn from_str(text: &str) -> Result<Think, String> {
        match (text.trim(), text.trim().parse::<usize>()) {
            ("off", _) | (_, Ok(0)) => Ok(Think::Off),
            ("auto", _) => Ok(Think::Auto),
            (_, Ok(tokens)) if tokens <= TOKENS_MAX => Ok(Think::Tokens(tokens)),
            _ => Err(format!("off, auto or a number of tokens up to {TOKENS_MAX}")),
        }
    }
}

impl fmt::Display for Think {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Think::Off => f.write_str("off"),
            Think::Auto => f.write_str("auto"),
            Think::Tokens(tokens) => write!(f, "{tokens}"),
        }
    }
}

/// A text or a number.
#[derive(Deserialize)]
#[serde(untagged, expecting = "it must be off, auto or a number of tokens")]
enum Written {
    Text(String),
    Tokens(usize),
}

impl<'de> Deserialize<'de> for Think {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Think, D::Error> {
        let text = match Written::deserialize(deserializer)? {
            Written::Text(text) => text,
            Written::Tokens(tokens) => tokens.to_string(),
        };
        text.parse().map_err(|expected| serde::de::Error::custom(format!("`{text}` must be {expected}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<Think>) {
        assert_eq!(text.parse().ok(), expected, "{text}");
    }

    #[test]
    fn thinking_is_off_auto_or_a_number() {
        check("off", Some(Think::Off));
        check("0", Some(Think::Off));
        check(" auto ", Some(Think::Auto));
        check("512", Some(Think::Tokens(512)));
        check("-1", None);
        check("9999999999", None);
        check("much", None);
    }
}
