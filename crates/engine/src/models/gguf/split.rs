//! Joins the parts of a split model, which `llama-gguf-split` names `NAME-00001-of-00003.gguf`.
//!
//! The first part has the keys; every part has tensors. llama.cpp gets the first part and finds the
//! others by name.

use std::path::{Path, PathBuf};

use super::error::Flaw;
use super::parse::Parsed;

/// Larger than any model's number of parts.
const PARTS_MAX: u32 = 999;

/// A file name of the form `NAME-00002-of-00003.gguf`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Numbered {
    /// The path before the number: `…/NAME`.
    stem: String,
    pub number: u32,
    pub of: u32,
}

impl Numbered {
    pub fn of(path: &Path) -> Option<Numbered> {
        let name = path.to_str()?.strip_suffix(".gguf")?;
        let (rest, of) = name.rsplit_once("-of-")?;
        let (stem, number) = rest.rsplit_once('-')?;
        let count = |digits: &str| (digits.len() == 5).then(|| digits.parse::<u32>().ok()).flatten();
        let numbered = Numbered { stem: stem.to_owned(), number: count(number)?, of: count(of)? };
        (1..=numbered.of).contains(&numbered.number).then_some(numbered)
    }

    /// The path of another part.
    fn part(&self, number: u32) -> PathBuf {
        format!("{}-{number:05}-of-{:05}.gguf", self.stem, self.of).into()
    }

    /// The fields that all parts of one model share.
    pub fn of_model(&self) -> (String, u32) {
        (self.stem.clone(), self.of)
    }

    /// The paths of all parts, whether or not they exist.
    pub fn all(&self) -> impl Iterator<Item = PathBuf> {
        (1..=self.of.min(PARTS_MAX)).map(|number| self.part(number))
    }
}

/// The files of the model that the file at `path` with these keys belongs to, first part first; a
/// single file if the model is not split. Fails if a part is missing, or if the names are not those
/// that llama.cpp expects.
pub(super) fn files(path: &Path, parsed: &Parsed<'_>) -> Result<Vec<PathBuf>, Flaw> {
    let count = parsed.number("split.count").unwrap_or(1);
    if count <= 1 {
        return Ok(vec![path.to_owned()]);
    }
    if count > PARTS_MAX {
        return Err(Flaw::key("split.count", format!("is {count}; at most {PARTS_MAX} parts are allowed")));
    }
    let number = index(parsed)? + 1;
    let named = Numbered::of(path).filter(|named| (named.number, named.of) == (number, count));
    let Some(named) = named else { return Err(Flaw::PartName { number, count }) };
    match named.all().find(|part| !part.is_file()) {
        Some(part) => Err(Flaw::PartMissing { part, count }),
        None => Ok(named.all().collect()),
    }
}

/// `split.no`, counted from 0. llama.cpp ends the process if it is not a 16-bit integer.
pub(super) fn index(parsed: &Parsed<'_>) -> Result<u32, Flaw> {
    let number = parsed.number("split.no").filter(|_| parsed.has_type("split.no", UINT16));
    number.ok_or_else(|| Flaw::key("split.no", "is missing, or is not a 16-bit integer"))
}

/// `GGUF_TYPE_UINT16` of gguf.h.
const UINT16: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, expected: Option<(u32, u32)>) {
        assert_eq!(Numbered::of(Path::new(path)).map(|named| (named.number, named.of)), expected, "{path}");
    }

    #[test]
    fn parts_are_known_by_their_names() {
        check("dir/m-00002-of-00003.gguf", Some((2, 3)));
        check("dir/m-00004-of-00003.gguf", None);
        check("dir/m-00000-of-00003.gguf", None);
        check("dir/m-2-of-3.gguf", None);
        check("dir/m.gguf", None);
        let parts: Vec<PathBuf> = Numbered::of(Path::new("d/m-00002-of-00003.gguf")).unwrap().all().collect();
        assert_eq!(parts[0], Path::new("d/m-00001-of-00003.gguf"));
        assert_eq!(parts.len(), 3);
    }
}
