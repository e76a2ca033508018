//! Stores the owner and extended attributes of entries.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::CheckpointError;
use super::entry::Marks;
use super::store::Store;
use crate::base::overwrite::{About, Attributes};

impl Store {
    pub(super) fn put_marks(&self, about: &About) -> Result<Marks, CheckpointError> {
        let some = about.attributes.as_ref().filter(|attributes| !attributes.is_empty());
        let attributes = some.map(|attributes| self.put_blob(&to_bytes(attributes))).transpose()?;
        Ok(Marks { owner: about.owner, attributes, link: None })
    }

    /// The owner, mode and attributes of an entry to restore. Fails if its attributes are missing
    /// or damaged.
    pub(super) fn about(&self, mode: u32, marks: Marks) -> Result<About, CheckpointError> {
        let attributes = match marks.attributes {
            Some(hash) => from_bytes(&self.blob(hash)?).ok_or(CheckpointError::Damaged { hash })?,
            None => Attributes::new(),
        };
        // Entries of earlier versions have no owner or attributes.
        Ok(About { mode, owner: marks.owner, attributes: marks.owner.map(|_| attributes) })
    }
}

/// Each name and value, preceded by its length in eight bytes.
pub(super) fn to_bytes(attributes: &Attributes) -> Vec<u8> {
    let parts = attributes.iter().flat_map(|(name, value)| [name.as_bytes(), value]);
    parts.flat_map(|part| (part.len() as u64).to_le_bytes().into_iter().chain(part.iter().copied())).collect()
}

fn from_bytes(mut bytes: &[u8]) -> Option<Attributes> {
    let mut parts = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk() {
        let (part, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        parts.push(part);
        bytes = rest;
    }
    let (pairs, []) = parts.as_chunks::<2>() else { return None };
    let read = |[name, value]: &[&[u8]; 2]| (OsStr::from_bytes(name).to_owned(), value.to_vec());
    bytes.is_empty().then(|| pairs.iter().map(read).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_read_back_and_damaged_ones_are_refused() {
        let attributes: Attributes = vec![("user.a".into(), b"one".to_vec()), ("user.b".into(), Vec::new())];
        let bytes = to_bytes(&attributes);
        assert_eq!(from_bytes(&bytes), Some(attributes));
        assert_eq!(from_bytes(&[]), Some(Vec::new()));
        for end in [1, 8, 15, bytes.len() - 1, bytes.len() - 8] {
            assert_eq!(from_bytes(&bytes[..end]), None, "{end}");
        }
    }
}
