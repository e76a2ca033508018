//! A secret that requests must carry: for the APIs in a file that only its owner can read, for the page only in memory.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use subtle::ConstantTimeEq;

/// Minimum length of a token from a file, in characters.
const LENGTH_MIN: usize = 16;
/// Maximum length of a token, so that a large file specified by mistake is not read.
const LENGTH_MAX: usize = 4096;
const BYTES: usize = 32;

#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// The token in `file`; creates the file with a new token if it does not exist.
    pub fn of(file: &Path) -> Result<Token> {
        let name = file.display();
        // Open only a plain file: opening a pipe without a writer would block.
        match fs::metadata(file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Token::made(file),
            Ok(about) if !about.is_file() => bail!("the token file {name} is not a file; name one with --token-file"),
            _ => {}
        }
        let unread = || format!("the token file {name} cannot be read");
        let opened = File::open(file).with_context(unread)?;
        // Query the opened file, because the name may now lead elsewhere.
        let about = opened.metadata().with_context(unread)?;
        if about.mode() & 0o077 != 0 {
            bail!(
                "others can read the token file {name} (its mode is {:o}); `chmod 600 {name}` fixes this",
                about.permissions().mode() & 0o777
            );
        }
        let mut text = String::new();
        opened.take(LENGTH_MAX as u64 + 1).read_to_string(&mut text).with_context(unread)?;
        let token = text.trim();
        if !(LENGTH_MIN..=LENGTH_MAX).contains(&token.len()) || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            bail!(
                "the token in {name} must be {LENGTH_MIN} to {LENGTH_MAX} letters, digits and signs without spaces; remove the file to have one made"
            );
        }
        Ok(Token(token.to_owned()))
    }

    /// A new token that is not stored.
    pub fn fresh() -> Result<Token> {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes).context("the system provides no random bytes")?;
        Ok(Token(crate::base::hex(&bytes)))
    }

    fn made(file: &Path) -> Result<Token> {
        let name = file.display();
        let token = Token::fresh()?;
        if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder)
                .with_context(|| format!("the folder of the token file {name} cannot be created"))?;
        }
        // `create_new` never writes through a link or to a file that has appeared in the meantime.
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
        let mut made = made.with_context(|| format!("the token file {name} cannot be created"))?;
        writeln!(made, "{}", token.0).with_context(|| format!("the token file {name} is not writable"))?;
        Ok(token)
    }

    /// The secret itself, for passing it on.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Whether `given` is the token; takes the same time no matter which characters are wrong.
    pub fn is(&self, given: &str) -> bool {
        self.0.as_bytes().ct_eq(given.as_bytes()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_made_once_and_its_owner_alone_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new/token");
        let first = Token::of(&file).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(first.is(&Token::of(&file).unwrap().0) && first.0.len() == 2 * BYTES);
        assert!(!first.is("") && !first.is(&first.0[1..]));
    }

    #[test]
    fn a_file_that_holds_no_secret_token_is_refused_with_the_way_out() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        let check = |text: &str, mode: u32, refused: Option<&str>| {
            fs::write(&file, text).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            let why = Token::of(&file).err().map(|error| error.to_string());
            assert_eq!(why.is_none(), refused.is_none(), "{why:?}");
            assert!(why.unwrap_or_default().contains(refused.unwrap_or_default()), "{refused:?}");
        };
        check("0123456789abcdef\n", 0o644, Some("chmod 600"));
        check("0123456789abcdef\n", 0o600, None);
        check("short", 0o600, Some("16 to 4096"));
        check(&"x".repeat(LENGTH_MAX + 1), 0o600, Some("16 to 4096"));
        check(&("x".repeat(LENGTH_MAX - 1) + "\n"), 0o600, None);
        assert!(Token::of(folder.path()).err().unwrap().to_string().contains("is not a file"));
    }
}
