//! Defines the entry at a path of a project: a file with its content's hash, a link or a folder, with its mode.

use std::fmt;
use std::str::FromStr;

/// SHA-256 of a file's content, or of a link's target.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hash(pub [u8; 32]);

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for Hash {
    type Err = ();

    fn from_str(text: &str) -> Result<Hash, ()> {
        let digits = text.as_bytes();
        if digits.len() != 64 || !digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(());
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            let value = |digit: u8| if digit <= b'9' { digit - b'0' } else { digit - b'a' + 10 };
            *byte = value(pair[0]) << 4 | value(pair[1]);
        }
        Ok(Hash(bytes))
    }
}

/// Written as `f 644 <hash>`, `l 777 <hash>`, `d 755`; `f 644 ?` is a file whose content was not stored; `-` is nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    Absent,
    /// Without a hash its content was not stored, so it cannot be restored.
    File {
        mode: u32,
        hash: Option<Hash>,
    },
    Link {
        hash: Hash,
    },
    Dir {
        mode: u32,
    },
}

impl Entry {
    /// The stored content that is needed to restore this entry.
    pub fn content(&self) -> Option<Hash> {
        match self {
            Entry::File { hash, .. } => *hash,
            Entry::Link { hash } => Some(*hash),
            Entry::Absent | Entry::Dir { .. } => None,
        }
    }

    pub fn is_restorable(&self) -> bool {
        !matches!(self, Entry::File { hash: None, .. })
    }

    pub fn is_dir(&self) -> bool {
        matches!(self, Entry::Dir { .. })
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Entry::Absent => f.write_str("-"),
            Entry::File { mode, hash: Some(hash) } => write!(f, "f {mode:o} {hash}"),
            Entry::File { mode, hash: None } => write!(f, "f {mode:o} ?"),
            Entry::Link { hash } => write!(f, "l 777 {hash}"),
            Entry::Dir { mode } => write!(f, "d {mode:o}"),
        }
    }
}

impl FromStr for Entry {
    type Err = ();

    fn from_str(text: &str) -> Result<Entry, ()> {
        let words: Vec<&str> = text.split(' ').collect();
        let mode = |text: &str| u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o7777).ok_or(());
        match words[..] {
            ["-"] => Ok(Entry::Absent),
            ["f", bits, "?"] => Ok(Entry::File { mode: mode(bits)?, hash: None }),
            ["f", bits, hash] => Ok(Entry::File { mode: mode(bits)?, hash: Some(hash.parse()?) }),
            ["l", "777", hash] => Ok(Entry::Link { hash: hash.parse()? }),
            ["d", bits] => Ok(Entry::Dir { mode: mode(bits)? }),
            _ => Err(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entries() -> impl Strategy<Value = Entry> {
        let hash = any::<[u8; 32]>().prop_map(Hash);
        prop_oneof![
            Just(Entry::Absent),
            (0..=0o7777u32, proptest::option::of(hash)).prop_map(|(mode, hash)| Entry::File { mode, hash }),
            any::<[u8; 32]>().prop_map(|bytes| Entry::Link { hash: Hash(bytes) }),
            (0..=0o7777u32).prop_map(|mode| Entry::Dir { mode }),
        ]
    }

    #[test]
    fn a_text_that_is_no_entry_is_refused() {
        let hash = "0a".repeat(32);
        assert!(format!("l 777 {hash}").parse::<Entry>().is_ok());
        let [short, long, other] = [hash[..62].to_owned(), format!("{hash}00"), hash.replace('a', "g")];
        for wrong in [short, long, other, "?".to_owned()] {
            assert_eq!(format!("l 777 {wrong}").parse::<Entry>(), Err(()), "{wrong}");
        }
        for wrong in ["d 10000", "d", "d 755 0", "--", ""] {
            assert_eq!(wrong.parse::<Entry>(), Err(()), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn a_written_entry_is_read_back(entry in entries()) {
            prop_assert_eq!(entry.to_string().parse(), Ok(entry));
        }

        #[test]
        fn reading_never_panics(text in ".{0,80}") {
            let _: Result<Entry, ()> = text.parse();
        }
    }
}
