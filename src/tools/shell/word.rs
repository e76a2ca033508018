//! A word of a command line, with the parts that are known before the command runs.

/// Stands for text that is unknown until the command runs. No line contains it, since `run_command`
/// refuses zero bytes.
const OPEN: char = '\0';

/// `src/a.rs` is known; `"$x.rs"` ends with `.rs`; `$x` may be anything, including several words or
/// none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// The text without quotes; unknown text is [`OPEN`].
    text: String,
    /// Whether it may become several words or none.
    many: bool,
}

impl Word {
    pub fn of(text: &str) -> Word {
        Word { text: text.to_owned(), many: false }
    }

    /// Any number of unknown words.
    pub fn open() -> Word {
        Word { text: OPEN.to_string(), many: true }
    }

    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Adds unknown text that does not split the word.
    pub fn push_open(&mut self) {
        self.text.push(OPEN);
    }

    /// Adds a wildcard for files: the word may become several words, all with the known parts.
    pub fn push_wildcard(&mut self) {
        self.text.push(OPEN);
        self.many = true;
    }

    /// The text, if all of it is known.
    pub fn known(&self) -> Option<&str> {
        Some(self.text.as_str()).filter(|text| !self.many && !text.contains(OPEN))
    }

    /// The text with `�` for unknown parts.
    pub fn shown(&self) -> String {
        self.text.replace(OPEN, "�")
    }

    pub fn is_many(&self) -> bool {
        self.many
    }

    /// The known beginning.
    pub fn start(&self) -> &str {
        self.text.split(OPEN).next().unwrap_or_default()
    }

    pub fn begins_open(&self) -> bool {
        self.text.starts_with(OPEN)
    }

    /// Whether it may turn out to equal `wanted`.
    pub fn may_be(&self, wanted: &str) -> bool {
        let mut parts = self.text.split(OPEN);
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = wanted.strip_prefix(first) else { return false };
        let mut parts = parts.peekable();
        if parts.peek().is_none() {
            return rest.is_empty();
        }
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                return rest.ends_with(part);
            }
            let Some(at) = rest.find(part) else { return false };
            rest = &rest[at + part.len()..];
        }
        true
    }

    /// `-x`, `--long` or `+x`.
    pub fn is_option(&self) -> bool {
        self.text.len() > 1 && self.text.starts_with(['-', '+'])
    }

    pub fn may_be_option(&self) -> bool {
        self.is_option() || self.begins_open()
    }

    /// Whether the letter is among the known letters after a single dash: `-lc` has `c`.
    pub fn has_letter(&self, letter: char) -> bool {
        self.start().starts_with('-') && !self.start().starts_with("--") && self.start().contains(letter)
    }

    /// The name of the program: without folders, in lower case, without `.exe`.
    pub fn program(&self) -> Word {
        let base = self.text.rsplit('/').next().unwrap_or_default().to_lowercase();
        let bare = [".exe", ".cmd", ".bat"].iter().find_map(|end| base.strip_suffix(end)).unwrap_or(&base);
        Word { text: bare.to_owned(), many: self.many }
    }

    /// Replaces every `mark` with unknown text, since `xargs` and `find` insert file names there.
    pub fn filled(&self, mark: &str) -> Word {
        let text = if mark.is_empty() { self.text.clone() } else { self.text.replace(mark, &OPEN.to_string()) };
        Word { text, many: self.many }
    }

    /// The part after the first `=`.
    pub fn value(&self) -> Option<Word> {
        let (_, value) = self.text.split_once('=')?;
        Some(Word { text: value.to_owned(), many: self.many })
    }

    /// The part before the first `=`; unknown text is [`OPEN`].
    pub fn name(&self) -> &str {
        self.text.split('=').next().unwrap_or_default()
    }
}

/// The name without a version: `python3.11` becomes `python`, `pip3` becomes `pip`.
pub fn unversioned(name: &str) -> &str {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if bare.is_empty() { name } else { bare.strip_suffix('-').filter(|rest| !rest.is_empty()).unwrap_or(bare) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_may_be_what_its_known_parts_allow() {
        let check = |parts: &[&str], wanted: &str, expected: bool| {
            let word = Word { text: parts.join("\0"), many: false };
            assert_eq!(word.may_be(wanted), expected, "{parts:?} {wanted}");
        };
        check(&["git"], "git", true);
        check(&["git"], "gi", false);
        check(&["g", "t"], "git", true);
        check(&["g", ""], "git", true);
        check(&["", "t"], "git", true);
        check(&["g", "i", "t"], "git", true);
        check(&["g", "x", "t"], "git", false);
        check(&["", ""], "", true);
    }

    #[test]
    fn a_program_is_named_without_folders_and_endings() {
        for path in ["git", "/usr/bin/git", "./GIT.exe", "~/bin/git"] {
            assert_eq!(Word::of(path).program(), Word::of("git"), "{path}");
        }
        for (name, expected) in [("python3.11", "python"), ("pip3", "pip"), ("gcc-13", "gcc"), ("7", "7")] {
            assert_eq!(unversioned(name), expected);
        }
    }
}
