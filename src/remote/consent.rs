//! Remembers the servers to which the user has consented to send data, one entry per URL.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::base::{file, places};
use crate::models::Endpoint;

/// Maximum number of servers recorded; the oldest consent is dropped first.
const SERVERS_MAX: usize = 200;

/// The file with this user's consents.
pub fn store() -> PathBuf {
    places::config_dir().join("servers")
}

/// The text for consent: the server and the data sent to it.
pub fn question(endpoint: &Endpoint) -> String {
    let url = endpoint.url();
    let way = if endpoint.is_readable_on_the_way() { " Plain http can be read in transit." } else { "" };
    let mask = if endpoint.mask {
        " Addresses, numbers and keys in texts are replaced by placeholders first, but those in pictures are not."
    } else {
        ""
    };
    format!("Requests, code, paths and pictures of the project, and results of tools will be sent to {url}.{way}{mask}")
}

/// Whether the user has consented to sending data to `server`: the URL of a role's server, or the
/// name of another kind of server.
pub fn given(store: &Path, server: &str) -> bool {
    lines(store).iter().any(|line| line == server)
}

/// Remembers the consent.
pub fn give(store: &Path, server: &str) -> io::Result<()> {
    let folder = store.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    // Held only while the file is replaced, so that two processes keep each other's consents. A
    // file system without locks is no reason to refuse one.
    let locked = File::open(folder).and_then(|folder| folder.lock().map(|()| folder));
    let mut kept = lines(store);
    kept.retain(|line| line != server);
    kept.push(server.to_owned());
    let text: String = kept[kept.len().saturating_sub(SERVERS_MAX)..].iter().map(|line| format!("{line}\n")).collect();
    let replaced = file::replace(store, text.as_bytes());
    drop(locked);
    replaced
}

fn lines(store: &Path) -> Vec<String> {
    fs::read_to_string(store).unwrap_or_default().lines().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consent_holds_for_one_url() {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("new/servers");
        let (one, other) = (Endpoint::new("http://box:1").unwrap(), Endpoint::new("http://box:2").unwrap());
        assert!(!given(&store, one.url()));
        give(&store, one.url()).unwrap();
        give(&store, one.url()).unwrap();
        assert!(given(&store, one.url()) && !given(&store, other.url()));
        assert_eq!(std::fs::read_to_string(&store).unwrap(), "http://box:1/v1\n");
        assert!(question(&one).contains("http://box:1/v1") && question(&one).contains("read in transit"));
    }

    #[test]
    fn consents_that_are_given_at_once_are_all_remembered() {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("servers");
        std::thread::scope(|scope| {
            for one in 0..8 {
                let store = &store;
                scope.spawn(move || (0..10).for_each(|more| give(store, &format!("{one}.{more}")).unwrap()));
            }
        });
        assert_eq!(lines(&store).len(), 80);
    }
}
