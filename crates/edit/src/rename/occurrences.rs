//! Finds the files that contain a name, and all its places in those files.

use std::io::ErrorKind;

use super::{Edits, Read, RenameError};
use crate::index::{Index, Names, Occurrence, language_of, names as places, whole_words};
use crate::text::line_of;

/// One file with every place of the name.
pub struct FileOccurrences {
    /// The index of the file in the snapshot.
    pub file: usize,
    pub path: String,
    pub language: &'static str,
    pub text: String,
    pub places: Vec<Occurrence>,
}

/// Path and text of every indexed file that contains the name as a word. Deleted files are skipped.
pub fn texts_with(index: &Index, files: &Read, name: &str) -> Result<Vec<(String, String)>, RenameError> {
    let mut found = Vec::new();
    for path in index.paths()? {
        match files(&path) {
            Ok(text) if whole_words(&text, name).next().is_some() => found.push((path, text)),
            Ok(_) => {}
            Err(gone) if gone.kind() == ErrorKind::NotFound => {}
            Err(source) => return Err(RenameError::Unreadable { path, source }),
        }
    }
    Ok(found)
}

/// The places of the name in code files. In other files, each line with the name becomes a mention.
pub fn read(
    names: &Names,
    texts: &[(String, String)],
    name: &str,
) -> Result<(Vec<FileOccurrences>, Edits), RenameError> {
    let (mut sheets, mut edits) = (Vec::new(), Edits::default());
    for (path, text) in texts {
        let language = language_of(path);
        match (places(language, text, name), names.file(path)) {
            (Some(Ok((places, _))), Some(file)) => {
                sheets.push(FileOccurrences { file, path: path.clone(), language, text: text.clone(), places })
            }
            (Some(Err(reason)), _) => {
                return Err(RenameError::NotUnderstood { path: path.clone(), name: name.to_owned(), reason });
            }
            _ => {
                for at in whole_words(text, name) {
                    edits.mention(path, text, line_of(text, at));
                }
            }
        }
    }
    Ok((sheets, edits))
}
