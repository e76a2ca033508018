//! An amount of memory, parsed and printed as people write it.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A number of bytes. Prints as `512 B`, `1.5 MiB`, `13.1 GiB`; reads `8GiB`, `50 MiB`, `1GB`, `123`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    pub const ZERO: Bytes = Bytes(0);

    pub const fn kib(n: u64) -> Bytes {
        Bytes(n << 10)
    }

    pub const fn mib(n: u64) -> Bytes {
        Bytes(n << 20)
    }

    pub const fn gib(n: u64) -> Bytes {
        Bytes(n << 30)
    }

    pub fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }
}

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Bytes) {
        *self = *self + other;
    }
}

impl Sub for Bytes {
    type Output = Bytes;
    fn sub(self, other: Bytes) -> Bytes {
        Bytes(self.0 - other.0)
    }
}

impl Mul<u64> for Bytes {
    type Output = Bytes;
    fn mul(self, times: u64) -> Bytes {
        Bytes(self.0.saturating_mul(times))
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Bytes>>(amounts: I) -> Bytes {
        amounts.fold(Bytes::ZERO, Add::add)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0 as f64;
        match self.0 {
            n if n < 1 << 10 => write!(f, "{n} B"),
            n if n < 1 << 20 => write!(f, "{:.1} KiB", bytes / f64::from(1 << 10)),
            n if n < 1 << 30 => write!(f, "{:.1} MiB", bytes / f64::from(1 << 20)),
            _ => write!(f, "{:.1} GiB", bytes / f64::from(1 << 30)),
        }
    }
}

/// The error for text that is not an amount of memory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an amount of memory; write it like 8GiB, 512MiB or a number of bytes")]
pub struct NotBytes(String);

impl FromStr for Bytes {
    type Err = NotBytes;

    fn from_str(text: &str) -> Result<Bytes, NotBytes> {
        let wrong = || NotBytes(text.to_owned());
        let trimmed = text.trim();
        let split = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(split);
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let scale: u64 = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" | "kib" => 1 << 10,
            "m" | "mib" => 1 << 20,
            "g" | "gib" => 1 << 30,
            "kb" => 1_000,
            "mb" => 1_000_000,
            "gb" => 1_000_000_000,
            _ => return Err(wrong()),
        };
        Ok(Bytes((number * scale as f64) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: u64) {
        assert_eq!(text.parse::<Bytes>().map(|b| b.0), Ok(expected), "{text}");
    }

    #[test]
    fn amounts_are_read_as_people_write_them() {
        check("8GiB", 8 << 30);
        check("50 MiB", 50 << 20);
        check("1GB", 1_000_000_000);
        check("1.5g", 3 << 29);
        check("123", 123);
    }

    #[test]
    fn a_text_that_is_no_amount_is_named_in_the_error() {
        assert!("much".parse::<Bytes>().unwrap_err().to_string().contains("`much`"));
        assert!("8 furlongs".parse::<Bytes>().is_err());
    }

    #[test]
    fn amounts_print_with_the_nearest_unit() {
        assert_eq!(Bytes(13_470_000_000).to_string(), "12.5 GiB");
        assert_eq!(Bytes::mib(50).to_string(), "50.0 MiB");
        assert_eq!(Bytes(17).to_string(), "17 B");
    }
}
