//! Lets the user edit text in their own editor.

use std::io::Write;
use std::process::Command;

use crate::protocol::{GIVEN_BYTES_MAX, GIVEN_MAX};

/// Maximum size of text to read back, in bytes: a request with all the pastes that can accompany
/// it.
const TEXT_BYTES_MAX: u64 = GIVEN_BYTES_MAX * (GIVEN_MAX as u64 + 1);

/// The command line of the editor: `$VISUAL`, else `$EDITOR`, else vi.
fn command() -> String {
    let said = |name: &str| std::env::var(name).ok().filter(|line| !line.trim().is_empty());
    said("VISUAL").or_else(|| said("EDITOR")).unwrap_or_else(|| "vi".to_owned())
}

/// The text after the editor was closed; the error explains why there is none. `ending` is the file
/// extension, from which the editor recognises the language.
pub fn edited(text: &str, ending: &str) -> Result<String, String> {
    edited_with(&command(), text, ending)
}

fn edited_with(editor: &str, text: &str, ending: &str) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("the editor `{editor}` could not be used: {error}; set $EDITOR");
    let mut file = tempfile::Builder::new().prefix("monobloc-").suffix(ending).tempfile().map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.flush().map_err(failed)?;
    // The shell splits the line, because EDITOR can contain arguments, such as `code --wait`.
    let ended = Command::new("/bin/sh").arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(file.path()).status();
    let ended = ended.map_err(failed)?;
    if !ended.success() {
        return Err(format!("the editor `{editor}` ended with {ended}: the text is unchanged"));
    }
    // Some editors replace the file, so it is opened again by name.
    let about = std::fs::metadata(file.path()).map_err(failed)?;
    if about.len() > TEXT_BYTES_MAX {
        return Err(format!("the edited text has {} bytes; the limit is {TEXT_BYTES_MAX}", about.len()));
    }
    std::fs::read_to_string(file.path()).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_comes_back_as_the_editor_leaves_it() {
        assert_eq!(edited_with("printf b >", "a", ".md"), Ok("b".to_owned()));
        assert!(edited_with("false", "a", ".md").unwrap_err().contains("the text is unchanged"));
    }
}
