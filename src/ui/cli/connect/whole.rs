//! Marks a file that monobloc made whole, so that it is taken away or renewed only while nobody else has changed it.

use sha2::{Digest, Sha256};

use crate::base::hex;

const MARK: &str = "# made by monobloc connect, which may replace or remove this file while it is unchanged: ";

/// The text under a line with its checksum.
pub fn marked(text: &str) -> String {
    format!("{MARK}{}\n{text}", sum(text))
}

/// Whether monobloc made this text and nothing was changed since.
pub fn is_unchanged(text: &str) -> bool {
    let Some((first, rest)) = text.split_once('\n') else { return false };
    first.strip_prefix(MARK).is_some_and(|said| said == sum(rest))
}

/// Eight bytes suffice: nobody gains by forging it.
fn sum(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes())[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_is_no_longer_monoblocs() {
        let text = marked("a: 1\n");
        assert!(is_unchanged(&text));
        assert!(!is_unchanged(&format!("{text}b: 2\n")) && !is_unchanged("a: 1\n") && !is_unchanged(""));
    }
}
