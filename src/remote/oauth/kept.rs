//! The token of one server, in a file that only its owner can read.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::authority::Authority;
use super::client::Client;
use super::token::{Granted, SCOPE_MAX, now_s};
use crate::base::{hex, overwrite};
use crate::config::Address;

/// Maximum size of the file: two tokens of the maximum length, and the rest.
const FILE_MAX_BYTES: u64 = 256 << 10;
/// Pause between two attempts to lock the file.
const PAUSE: Duration = Duration::from_millis(50);

/// A sign-in that succeeded. It has no `Debug`, because it has tokens.
#[derive(Clone, Serialize, Deserialize)]
pub struct Kept {
    /// The hash of the server's whole URL. The token is for this URL, and no other gets it.
    server: String,
    /// The server's name at the authorisation server.
    pub(super) resource: String,
    pub(super) token_endpoint: String,
    pub(super) revocation_endpoint: Option<String>,
    pub(super) client: Client,
    pub(super) access_token: String,
    pub(super) refresh_token: Option<String>,
    /// When the user signed in; this and the other times are in seconds since 1970.
    #[serde(default)]
    pub since_s: u64,
    renew_at_s: Option<u64>,
    expires_at_s: Option<u64>,
    pub scope: Option<String>,
    /// The access token in the file, if this newer one could not be written to it.
    #[serde(skip)]
    pub(super) unwritten_over: Option<String>,
}

impl Kept {
    /// `asked` are the scopes that were asked for, which are also those that were given if the
    /// authorisation server does not say (RFC 6749, section 5.1).
    pub(super) fn new(authority: &Authority, client: Client, granted: Granted, asked: String) -> Kept {
        let asked = Some(asked).filter(|asked| !asked.is_empty() && asked.len() <= SCOPE_MAX);
        Kept {
            server: key(&authority.found.reach.server),
            resource: authority.found.resource.clone(),
            token_endpoint: authority.token.url().to_string(),
            revocation_endpoint: authority.revoke.as_ref().map(|at| at.url().to_string()),
            client,
            access_token: granted.access_token,
            refresh_token: granted.refresh_token,
            since_s: now_s(),
            renew_at_s: granted.renew_at_s,
            expires_at_s: granted.expires_at_s,
            scope: granted.scope.or(asked),
            unwritten_over: None,
        }
    }

    /// The same sign-in with new tokens. An authorisation server may leave out what stays as it is.
    pub(super) fn renewed(&self, granted: Granted) -> Kept {
        Kept {
            access_token: granted.access_token,
            refresh_token: granted.refresh_token.or_else(|| self.refresh_token.clone()),
            renew_at_s: granted.renew_at_s,
            expires_at_s: granted.expires_at_s,
            scope: granted.scope.or_else(|| self.scope.clone()),
            ..self.clone()
        }
    }

    /// Whether the token is about to expire and can be renewed.
    pub(super) fn is_due(&self) -> bool {
        self.refresh_token.is_some() && self.renew_at_s.is_some_and(|at| at <= now_s())
    }

    /// Whether the token is certain not to have expired.
    pub(super) fn is_valid(&self) -> bool {
        self.expires_at_s.is_some_and(|at| at > now_s())
    }

    /// Whether `new` is of another client. Some authorisation servers end all sign-ins of a client
    /// when the token of one is revoked.
    pub fn is_apart_from(&self, new: &Kept) -> bool {
        self.client.id != new.client.id
    }

    /// Seconds until the token is renewed, or until it expires if it cannot be; `None` if unknown.
    pub fn rest_s(&self) -> Option<u64> {
        self.renew_at_s.map(|at| at.saturating_sub(now_s()))
    }

    pub fn is_renewable(&self) -> bool {
        self.refresh_token.is_some()
    }

    /// The scopes that the token endpoint of `authority` gave; none if it was another one.
    pub fn scopes_of(&self, authority: &Authority) -> Vec<String> {
        let is_same = self.token_endpoint == authority.token.url().as_str();
        let scope = self.scope.as_deref().filter(|_| is_same).unwrap_or_default();
        // Some authorisation servers write commas between them.
        let each = scope.split(|letter: char| letter.is_whitespace() || letter == ',');
        each.filter(|one| !one.is_empty()).map(str::to_owned).collect()
    }

    /// The texts that no message may contain.
    pub(super) fn secrets(&self) -> Vec<&str> {
        let all = [Some(&self.access_token), self.refresh_token.as_ref(), self.client.secret.as_ref()];
        all.into_iter().flatten().map(String::as_str).collect()
    }

    /// The file for a server in the folder of all tokens.
    pub fn file(folder: &Path, server: &Address) -> PathBuf {
        folder.join(format!("{}.json", &key(server)[..24]))
    }

    /// The token for `server`; `None` if the user is not signed in.
    pub fn read(folder: &Path, server: &Address) -> Result<Option<Kept>, String> {
        let Some((kept, mode)) = Kept::load(folder, server)? else { return Ok(None) };
        if mode & 0o077 == 0 {
            return Ok(Some(kept));
        }
        let path = Kept::file(folder, server).display().to_string();
        Err(format!(
            "others can read your sign-in, in {path} (its mode is {mode:o}), so it is not used; close it by \
             `chmod 600 '{}'`, or sign in again",
            path.replace('\'', r"'\''")
        ))
    }

    /// The token for `server`, even if others can read the file, to revoke it; `None` if there is
    /// none, or only a damaged one.
    pub fn parsed(folder: &Path, server: &Address) -> Option<Kept> {
        Kept::load(folder, server).ok().flatten().map(|(kept, _)| kept)
    }

    /// The token for `server`, and the mode of its file.
    fn load(folder: &Path, server: &Address) -> Result<Option<(Kept, u32)>, String> {
        let path = Kept::file(folder, server);
        let name = path.display();
        let unread = |error: io::Error| format!("your sign-in, in {name}, cannot be read ({error}); sign in again");
        match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            // Opening a pipe without a writer would block.
            Ok(about) if !about.is_file() => return Err(format!("{name} is not a file; remove it and sign in again")),
            _ => {}
        }
        let file = File::open(&path).map_err(unread)?;
        // Query the opened file, because the name may lead elsewhere by now.
        let mode = file.metadata().map_err(unread)?.mode() & 0o777;
        let mut text = String::new();
        file.take(FILE_MAX_BYTES).read_to_string(&mut text).map_err(unread)?;
        // The position in the file is enough: serde's message would quote from it.
        let kept: Kept = serde_json::from_str(&text)
            .map_err(|error| format!("your sign-in, in {name}, is damaged (line {}); sign in again", error.line()))?;
        if kept.server != key(server) {
            return Err(format!("the sign-in in {name} is for another server, so it is not used; sign in again"));
        }
        Ok(Some((kept, mode)))
    }

    /// Locks the token of a server against other processes: two that renewed it at once would make
    /// each other's token for renewal invalid. Dropping the file unlocks it.
    pub async fn lock(folder: &Path, server: &Address, time_max: Duration) -> Result<File, String> {
        let path = Kept::file(folder, server).with_extension("lock");
        let failed = |error: io::Error| format!("{} cannot be locked: {error}", path.display());
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        let mut options = OpenOptions::new();
        let file = options.create(true).truncate(false).write(true).mode(0o600).open(&path).map_err(failed)?;
        let from = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
                Err(TryLockError::WouldBlock) if from.elapsed() > time_max => {
                    return Err(format!("another process has held {} for {} s", path.display(), time_max.as_secs()));
                }
                Err(TryLockError::WouldBlock) => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    /// Stores the token in the folder, which [`Kept::lock`] has made.
    pub fn write(&self, folder: &Path, server: &Address) -> Result<(), String> {
        let path = Kept::file(folder, server);
        let written = overwrite::replace(&path, |temporary| {
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(temporary)?;
            file.write_all(&serde_json::to_vec_pretty(self)?)?;
            file.sync_all()
        });
        written.map_err(|error| format!("your sign-in cannot be kept in {}: {error}", path.display()))
    }

    /// Removes the token for `server`; returns whether there was one.
    pub fn remove(folder: &Path, server: &Address) -> Result<bool, String> {
        let path = Kept::file(folder, server);
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(format!("your sign-in, in {}, cannot be removed: {error}", path.display())),
        }
    }
}

/// URLs that differ only in their query may be different accounts. The query itself may be a
/// secret, so its hash is kept.
fn key(server: &Address) -> String {
    hex(&Sha256::digest(server.url().as_str()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn kept(server: &Address) -> Kept {
        Kept {
            server: key(server),
            resource: server.to_string(),
            token_endpoint: "https://login.example/token".to_owned(),
            revocation_endpoint: None,
            client: Client { id: "c".to_owned(), secret: None, posts_secret: false },
            access_token: "access-4711".to_owned(),
            refresh_token: Some("refresh-4711".to_owned()),
            since_s: 0,
            renew_at_s: Some(0),
            expires_at_s: Some(0),
            scope: None,
            unwritten_over: None,
        }
    }

    #[tokio::test]
    async fn a_token_is_for_one_server_and_its_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("new/mcp");
        let (one, other) = (Address::new("https://a/mcp?me").unwrap(), Address::new("https://a/mcp?you").unwrap());
        let time_max = Duration::from_millis(100);
        let locked = Kept::lock(&folder, &one, time_max).await.unwrap();
        kept(&one).write(&folder, &one).unwrap();
        assert!(Kept::lock(&folder, &one, time_max).await.unwrap_err().contains("another process"));
        drop(locked);
        assert!(Kept::lock(&folder, &one, time_max).await.is_ok());
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&Kept::file(&folder, &one)), mode(&folder)), (0o600, 0o700));
        assert!(Kept::read(&folder, &one).unwrap().is_some_and(|kept| kept.access_token == "access-4711"));
        assert!(Kept::read(&folder, &other).unwrap().is_none());
        fs::copy(Kept::file(&folder, &one), Kept::file(&folder, &other)).unwrap();
        let why = Kept::read(&folder, &other).err().unwrap();
        assert!(why.contains("for another server") && !why.contains("4711"), "{why}");
        assert_eq!((Kept::remove(&folder, &one), Kept::remove(&folder, &one)), (Ok(true), Ok(false)));
        assert!(Kept::read(&folder, &one).unwrap().is_none());
    }

    #[test]
    fn a_sign_in_of_a_build_that_did_not_write_its_time_is_used() {
        let dir = tempfile::tempdir().unwrap();
        let server = Address::new("https://a/mcp").unwrap();
        let mut old = serde_json::to_value(Kept { since_s: 7, ..kept(&server) }).unwrap();
        assert_eq!(old.as_object_mut().unwrap().remove("since_s"), Some(7.into()));
        let path = Kept::file(dir.path(), &server);
        fs::write(&path, old.to_string()).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(Kept::read(dir.path(), &server).unwrap().is_some_and(|kept| kept.since_s == 0));
    }

    #[test]
    fn a_file_that_is_damaged_or_open_to_others_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let server = Address::new("https://a/mcp").unwrap();
        let path = Kept::file(dir.path(), &server);
        let check = |mode: u32, text: &str, part: &str| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let why = Kept::read(dir.path(), &server).err().unwrap();
            assert!(why.contains(part) && why.contains("sign in again") && !why.contains("4711"), "{why}");
        };
        let whole = serde_json::to_string(&kept(&server)).unwrap();
        check(0o640, &whole, "`chmod 600 '/");
        check(0o604, &whole, "its mode is 604");
        check(0o600, &whole[..whole.len() - 9], "damaged (line 1)");
        check(0o600, "{\"access_token\": 4711}", "damaged");
        check(0o600, &format!("{}{whole}", " ".repeat(FILE_MAX_BYTES as usize)), "damaged");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(Kept::read(dir.path(), &server).err().unwrap().contains("is not a file"));
    }
}
