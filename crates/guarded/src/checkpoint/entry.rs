//! The entry at a path in a project: a file with the hash of its content, a link or a folder, and its mode.

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

/// An entry's owner, attributes and hard link. `None` means unknown, as in entries of earlier
/// versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// User and group.
    pub owner: Option<(u32, u32)>,
    /// The stored list of extended attributes; `None` for an entry without attributes.
    pub attributes: Option<Hash>,
    /// The inode of a file with several names (hard links).
    pub link: Option<u64>,
}

impl Marks {
    /// Parses `1000:1000`, `1000:1000 <hash>` or `1000:1000 - 4711`.
    fn read(words: &[&str]) -> Result<Marks, ()> {
        let owner = |text: &str| {
            let (user, group) = text.split_once(':')?;
            Some((user.parse().ok()?, group.parse().ok()?))
        };
        let hash = |text: &str| if text == "-" { Ok(None) } else { text.parse().map(Some) };
        let (first, rest) = match words {
            [] => return Ok(Marks::default()),
            [first, rest @ ..] => (owner(first).ok_or(())?, rest),
        };
        let (attributes, link) = match rest {
            [] => (None, None),
            [attributes] => (hash(attributes)?, None),
            [attributes, link] => (hash(attributes)?, Some(link.parse().map_err(drop)?)),
            _ => return Err(()),
        };
        Ok(Marks { owner: Some(first), attributes, link })
    }
}

impl fmt::Display for Marks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((user, group)) = self.owner else { return Ok(()) };
        write!(f, " {user}:{group}")?;
        match (self.attributes, self.link) {
            (Some(hash), None) => write!(f, " {hash}"),
            (Some(hash), Some(link)) => write!(f, " {hash} {link}"),
            (None, Some(link)) => write!(f, " - {link}"),
            (None, None) => Ok(()),
        }
    }
}

/// Written as `f 644 <hash> 1000:1000`, `l 777 <hash>`, `d 755`; `f 644 ?` is a file whose content
/// was not stored; `-` means no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    Absent,
    /// Without a hash the content was not stored and cannot be restored.
    File {
        mode: u32,
        hash: Option<Hash>,
        marks: Marks,
    },
    Link {
        hash: Hash,
        marks: Marks,
    },
    Dir {
        mode: u32,
        marks: Marks,
    },
}

impl Entry {
    pub fn marks(&self) -> Marks {
        match self {
            Entry::File { marks, .. } | Entry::Link { marks, .. } | Entry::Dir { marks, .. } => *marks,
            Entry::Absent => Marks::default(),
        }
    }

    fn with(self, new: Marks) -> Entry {
        match self {
            Entry::Absent => Entry::Absent,
            Entry::File { mode, hash, .. } => Entry::File { mode, hash, marks: new },
            Entry::Link { hash, .. } => Entry::Link { hash, marks: new },
            Entry::Dir { mode, .. } => Entry::Dir { mode, marks: new },
        }
    }

    /// Whether both are known to be the same. False if neither content is stored, because then they
    /// cannot be compared.
    pub fn is_same(&self, other: &Entry) -> bool {
        let is_known = self.marks().owner.is_some() && other.marks().owner.is_some();
        // A hard link is identified by its inode, which changes when the file is recreated.
        let plain =
            |entry: &Entry| entry.with(if is_known { Marks { link: None, ..entry.marks() } } else { Marks::default() });
        self.is_restorable() && plain(self) == plain(other)
    }

    /// All stored contents that this entry needs.
    pub fn contents(&self) -> impl Iterator<Item = Hash> {
        self.content().into_iter().chain(self.marks().attributes)
    }

    /// The content of a file, or the target of a link.
    pub fn content(&self) -> Option<Hash> {
        match self {
            Entry::File { hash, .. } => *hash,
            Entry::Link { hash, .. } => Some(*hash),
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
            Entry::File { mode, hash: Some(hash), marks } => write!(f, "f {mode:o} {hash}{marks}"),
            Entry::File { mode, hash: None, marks } => write!(f, "f {mode:o} ?{marks}"),
            Entry::Link { hash, marks } => write!(f, "l 777 {hash}{marks}"),
            Entry::Dir { mode, marks } => write!(f, "d {mode:o}{marks}"),
        }
    }
}

impl FromStr for Entry {
    type Err = ();

    fn from_str(text: &str) -> Result<Entry, ()> {
        let words: Vec<&str> = text.split(' ').collect();
        let mode = |text: &str| u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o7777).ok_or(());
        match &words[..] {
            ["-"] => Ok(Entry::Absent),
            ["f", bits, "?", rest @ ..] => Ok(Entry::File { mode: mode(bits)?, hash: None, marks: Marks::read(rest)? }),
            ["f", bits, hash, rest @ ..] => {
                Ok(Entry::File { mode: mode(bits)?, hash: Some(hash.parse()?), marks: Marks::read(rest)? })
            }
            ["l", "777", hash, rest @ ..] => Ok(Entry::Link { hash: hash.parse()?, marks: Marks::read(rest)? }),
            ["d", bits, rest @ ..] => Ok(Entry::Dir { mode: mode(bits)?, marks: Marks::read(rest)? }),
            _ => Err(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entries() -> impl Strategy<Value = Entry> {
        let hash = || any::<[u8; 32]>().prop_map(Hash);
        let marks = || {
            let known = (any::<(u32, u32)>(), proptest::option::of(hash()), any::<Option<u64>>());
            let known = known.prop_map(|(owner, attributes, link)| Marks { owner: Some(owner), attributes, link });
            prop_oneof![Just(Marks::default()), known]
        };
        prop_oneof![
            Just(Entry::Absent),
            (0..=0o7777u32, proptest::option::of(hash()), marks()).prop_map(|(mode, hash, marks)| Entry::File {
                mode,
                hash,
                marks
            }),
            (hash(), marks()).prop_map(|(hash, marks)| Entry::Link { hash, marks }),
            (0..=0o7777u32, marks()).prop_map(|(mode, marks)| Entry::Dir { mode, marks }),
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
        for wrong in ["d 10000", "d", "d 755 0", "d 755 0:", "d 755 0:0 0", "--", ""] {
            assert_eq!(wrong.parse::<Entry>(), Err(()), "{wrong}");
        }
    }

    #[test]
    fn entries_of_earlier_versions_and_contents_that_were_not_stored_are_compared_with_care() {
        let of = |text: &str| text.parse::<Entry>().unwrap();
        let same = |one: &str, other: &str| of(one).is_same(&of(other));
        assert!(same("d 755", "d 755 0:0") && same("d 755 1:0", "d 755 1:0") && same("-", "-"));
        assert!(same("d 755 1:0 - 5", "d 755 1:0 - 6") && same("d 755 1:0 - 5", "d 755 1:0"));
        assert!(!same("d 755 1:0", "d 755 0:0") && !same("d 755", "d 700 0:0") && !same("f 644 ?", "f 644 ?"));
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
