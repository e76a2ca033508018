//! A role's server: its URL and settings, from `models.toml` and the options. Opens no connection.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use url::{Host, Url};

use crate::base::server_url;

/// How long a server may be silent before the connection is closed, unless `timeout_silence_s`
/// states otherwise: a CPU may read a long prompt for minutes.
pub const SILENCE_DEFAULT: Duration = Duration::from_secs(600);
/// Values of `timeout_silence_s`.
pub const SILENCE_S: std::ops::RangeInclusive<u64> = 1..=24 * 3600;
/// Maximum number of additional headers.
const HEADERS_MAX: usize = 16;
/// Headers that the client sets itself; `X-Conversation-Id` would make llama-server keep computing
/// after the connection is closed.
const OWN_HEADERS: [&str; 9] = [
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "accept",
    "host",
    "te",
    "transfer-encoding",
    "x-conversation-id",
];

/// The server for a role, and how to query it.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The API's base URL, such as `http://gpu-box:8000/v1`; contains no user name, password, query
    /// or fragment.
    url: Url,
    /// The model's name on the server; `None` selects the server's only model.
    pub model: Option<String>,
    pub key: Key,
    /// Context in tokens; with `None`, the server is asked.
    pub context: Option<usize>,
    /// A connection that is silent for this long is closed.
    pub silence: Duration,
    /// Additional headers. Their values may be secret.
    pub headers: BTreeMap<String, String>,
    /// Whether addresses, numbers and keys in requests are replaced by placeholders.
    pub mask: bool,
}

/// Where the key comes from. The key itself is read when a connection is opened, and is not stored
/// anywhere else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Key {
    #[default]
    None,
    /// A file that only its owner can read.
    File(PathBuf),
    /// The name of an environment variable.
    Variable(String),
}

impl Endpoint {
    /// The server at `url`, with defaults for everything else; the error describes the expected URL
    /// and does not repeat any secrets.
    pub fn new(url: &str) -> Result<Endpoint, String> {
        let (model, key, headers) = (None, Key::None, BTreeMap::new());
        Ok(Endpoint {
            url: server_url(url)?,
            model,
            key,
            context: None,
            silence: SILENCE_DEFAULT,
            headers,
            mask: false,
        })
    }

    /// The base URL without a trailing `/`.
    pub fn url(&self) -> &str {
        self.url.as_str().trim_end_matches('/')
    }

    /// The URL of an API path below the base, such as `chat/completions`.
    pub fn of_api(&self, path: &str) -> Url {
        joined(&self.url, &[self.url.path().trim_end_matches('/'), path])
    }

    /// The URL of a path that belongs to the server rather than the common API, such as `props`:
    /// next to `/v1`.
    pub fn of_server(&self, path: &str) -> Url {
        let above = self.url.path().trim_end_matches('/').trim_end_matches("/v1");
        joined(&self.url, &[above, path])
    }

    /// Host and port, such as `gpu-box:8000`.
    pub fn host(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        match self.url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    /// Whether the server runs on this machine.
    pub fn is_here(&self) -> bool {
        match self.url.host() {
            Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        }
    }

    /// Whether others on the network can read the traffic: plain `http` to another machine.
    pub fn is_readable_on_the_way(&self) -> bool {
        self.url.scheme() == "http" && !self.is_here()
    }

    /// Adds a header; the error says why it is not allowed.
    pub fn set_header(&mut self, name: &str, value: &str) -> Result<(), String> {
        let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        if name.is_empty() || !name.chars().all(is_token) {
            return Err(format!("has the header `{name}`; a name consists of letters, digits and !#$%&'*+-.^_`|~"));
        }
        if OWN_HEADERS.iter().any(|own| own.eq_ignore_ascii_case(name)) {
            return Err(format!("sets the header {name}, which monobloc sets itself (a key: key_file or key_env)"));
        }
        if value.is_empty() || !value.chars().all(|c| c == ' ' || c.is_ascii_graphic()) {
            return Err(format!("has a value other than printable ASCII for the header {name}"));
        }
        if self.headers.len() >= HEADERS_MAX {
            return Err(format!("has more than {HEADERS_MAX} headers"));
        }
        self.headers.insert(name.to_owned(), value.to_owned());
        Ok(())
    }
}

/// Hides the values of headers.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("url", &self.url())
            .field("model", &self.model)
            .field("key", &self.key)
            .field("headers", &self.headers.keys())
            .finish_non_exhaustive()
    }
}

impl Key {
    /// Reads the key; `None` if the server needs none. The error states the source but never the
    /// key.
    pub fn read(&self) -> Result<Option<String>, String> {
        let (text, place) = match self {
            Key::None => return Ok(None),
            Key::Variable(name) => {
                let place = format!("the variable {name}");
                let missing = || format!("{place} (key_env) is not set; set it, or name another in models.toml");
                (std::env::var(name).map_err(|_| missing())?, place)
            }
            Key::File(path) => {
                let place = path.display().to_string();
                (of_owner(path).map_err(|why| format!("{place} (key_file) {why}"))?, place)
            }
        };
        let key = text.trim();
        if key.is_empty() || !key.chars().all(|c| c.is_ascii_graphic()) {
            return Err(format!("{place} contains no key; a key is one line of printable ASCII without spaces"));
        }
        Ok(Some(key.to_owned()))
    }
}

/// The content of a small file that only its owner can read.
fn of_owner(path: &Path) -> Result<String, String> {
    use std::io::Read as _;
    use std::os::unix::fs::PermissionsExt as _;
    const KEY_MAX: u64 = 16 << 10;
    let mut file = std::fs::File::open(path).map_err(|error| format!("cannot be read: {error}"))?;
    let about = file.metadata().map_err(|error| format!("cannot be read: {error}"))?;
    if !about.is_file() || about.len() > KEY_MAX {
        return Err(format!("is not a file of at most {KEY_MAX} bytes; put only the key in it"));
    }
    if about.permissions().mode() & 0o077 != 0 {
        return Err("can be read by other users; run `chmod 600` on it".to_owned());
    }
    let mut text = String::new();
    file.by_ref().take(KEY_MAX).read_to_string(&mut text).map_err(|error| format!("cannot be read: {error}"))?;
    Ok(text)
}

fn joined(base: &Url, parts: &[&str]) -> Url {
    let mut url = base.clone();
    url.set_path(
        &parts.iter().map(|part| part.trim_matches('/')).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/"),
    );
    url
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn check(text: &str, expected: &str) {
        let got = Endpoint::new(text).map_or_else(|why| why, |endpoint| endpoint.url().to_owned());
        assert!(got == expected || !expected.starts_with("http") && got.contains(expected), "{text}: {got}");
    }

    #[test]
    fn a_url_is_the_base_of_the_api() {
        check("http://box:8000/v1", "http://box:8000/v1");
        check(" http://box:8000/v1/ ", "http://box:8000/v1");
        check("http://box:8000", "http://box:8000/v1");
        check("https://box/openai/v1/chat/completions", "https://box/openai/v1");
        check("box:8000", "begins with `box:`");
        check("", "is not a URL");
        check("ftp://box", "begins with `ftp:`");
        check("http://box/v1?a=b", "`?` or `#`");
    }

    #[test]
    fn no_password_in_a_url_is_taken_or_repeated() {
        let why = Endpoint::new("https://me:hunter2@box/v1").unwrap_err();
        assert!(why.contains("key_file") && !why.contains("hunter2"), "{why}");
    }

    #[test]
    fn paths_of_the_api_lie_below_the_base_and_those_of_the_server_beside_it() {
        let endpoint = Endpoint::new("http://box:1/a/v1").unwrap();
        assert_eq!(endpoint.of_api("models").as_str(), "http://box:1/a/v1/models");
        assert_eq!(endpoint.of_server("api/ps").as_str(), "http://box:1/a/api/ps");
        assert_eq!(endpoint.host(), "box:1");
    }

    #[test]
    fn only_loopback_is_this_machine() {
        for (url, here) in [
            ("http://localhost:1", true),
            ("http://127.0.0.2:1", true),
            ("http://[::1]:1", true),
            ("http://box:1", false),
            ("http://10.0.0.1", false),
            ("http://localhost.example.org", false),
        ] {
            let endpoint = Endpoint::new(url).unwrap();
            assert_eq!((endpoint.is_here(), endpoint.is_readable_on_the_way()), (here, !here), "{url}");
        }
        assert!(!Endpoint::new("https://box").unwrap().is_readable_on_the_way());
    }

    #[test]
    fn a_header_of_the_client_cannot_be_set_and_no_value_is_shown() {
        let mut endpoint = Endpoint::new("http://box").unwrap();
        for name in ["Authorization", "host", "X-Conversation-ID", "a b", ""] {
            assert!(endpoint.set_header(name, "x").is_err(), "{name}");
        }
        assert!(endpoint.set_header("X-Team", "a\r\nb: c").is_err());
        endpoint.set_header("X-Team", "sesame").unwrap();
        assert!(!format!("{endpoint:?}").contains("sesame"));
    }

    #[test]
    fn a_key_is_read_from_a_file_of_its_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        std::fs::write(&path, "sesame\n").unwrap();
        let mode = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let key = Key::File(path.clone());
        mode(0o644);
        let why = key.read().unwrap_err();
        assert!(why.contains("chmod 600") && !why.contains("sesame"), "{why}");
        mode(0o600);
        assert_eq!(key.read(), Ok(Some("sesame".to_owned())));
        std::fs::write(&path, "two words").unwrap();
        assert!(key.read().is_err_and(|why| !why.contains("two words")));
        assert!(Key::Variable("MONOBLOC_NO_SUCH_KEY".to_owned()).read().is_err_and(|why| why.contains("key_env")));
        assert_eq!(Key::None.read(), Ok(None));
    }
}
