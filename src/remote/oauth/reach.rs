//! Sends the requests of a sign-in: only to hosts that the user has agreed to, with one small
//! answer each, within a time limit.

use std::path::PathBuf;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::timeout;

use crate::config::Address;
use crate::remote::error::Why;
use crate::remote::http::{self, Failure, HeaderMap, HeaderValue, Sent, Way};
use crate::remote::{consent, said};

/// Maximum size of an answer. The metadata of large providers have about 10 KiB.
const ANSWER_MAX: usize = 256 << 10;

/// The server to sign in to, and the hosts that may be asked for it.
#[derive(Clone)]
pub struct Reach {
    pub server: Address,
    /// The file that records the user's consents.
    pub consents: PathBuf,
    /// Maximum time of one request.
    pub limit: Duration,
}

/// The line of the consent file that allows requests to the host `origin` for a sign-in.
pub fn consent_line(origin: &str, server: &Address) -> String {
    format!("sign in at {origin} for mcp {server}")
}

impl Reach {
    /// The host of `at`, if it is another than the server's and the user has not agreed to it yet.
    pub fn not_agreed(&self, at: &Address) -> Option<String> {
        let origin = at.origin();
        let is_agreed =
            origin == self.server.origin() || consent::given(&self.consents, &consent_line(&origin, &self.server));
        (!is_agreed).then_some(origin)
    }

    /// Reads the URL of a part of the sign-in from metadata. A server elsewhere may not lead to
    /// this machine, where other services would take the request for the user's.
    pub fn address(&self, what: &str, text: &str) -> Result<Address, String> {
        let shown = said::shown(text, None);
        let address = Address::new(text).map_err(|why| format!("{what} `{shown}` is not used: {why}"))?;
        if address.may_be_here() && !self.server.is_here() {
            return Err(format!("{what} `{shown}` is not used: it is on this machine, and {} is not", self.server));
        }
        Ok(address)
    }

    pub async fn get(&self, at: &Address) -> Result<Answered, String> {
        self.ask(at, Way::Get, HeaderMap::new()).await
    }

    /// Sends a request that asks for JSON.
    pub async fn ask(&self, at: &Address, way: Way, mut headers: HeaderMap) -> Result<Answered, String> {
        if let Some(origin) = self.not_agreed(at) {
            return Err(format!("you have not allowed to ask {origin} for the sign-in to {}", self.server));
        }
        headers.insert("accept", HeaderValue::from_static("application/json"));
        let sent = Sent { url: at.url(), way, headers, silence: self.limit };
        let work = async {
            let answer = http::send(sent).await.map_err(|failure| match failure {
                Failure::Passing(why) => format!("{at} does not answer ({why})"),
                Failure::Final(why) => failed(at, why),
            })?;
            let status = answer.status();
            let to = at.redirected(answer.header("location"));
            let text = answer.text(ANSWER_MAX).await.map_err(|why| failed(at, why))?;
            Ok(Answered { status, to, text })
        };
        let late = |_| Err(format!("{at} gave no whole answer within {} s", self.limit.as_secs()));
        timeout(self.limit, work).await.unwrap_or_else(late)
    }
}

fn failed(at: &Address, why: Why) -> String {
    match why {
        Why::Unreadable(what) => format!("the answer of {at} cannot be read ({what})"),
        Why::Silent(limit) => format!("no byte came from {at} for {} s", limit.as_secs()),
        Why::Cut(why) => format!("the answer of {at} broke off ({why})"),
        other => format!("{at}: {other}"),
    }
}

/// A whole answer.
pub struct Answered {
    pub status: u16,
    /// The target of a redirection, which is not followed.
    to: String,
    text: String,
}

impl Answered {
    /// The JSON of a successful answer.
    pub fn json<T: DeserializeOwned>(&self) -> Option<T> {
        if !(200..300).contains(&self.status) {
            return None;
        }
        serde_json::from_str(&self.text).ok()
    }

    /// The error code of OAuth in the answer; empty without one.
    pub fn code(&self) -> String {
        let value: Value = serde_json::from_str(&self.text).unwrap_or_default();
        value["error"].as_str().unwrap_or_default().to_owned()
    }

    /// The refusal in words, without the secrets that were sent.
    pub fn refusal(&self, secrets: &[&str]) -> String {
        let value: Value = serde_json::from_str(&self.text).unwrap_or_default();
        let part = |name: &str| value[name].as_str().map(|text| shown(text, secrets)).filter(|text| !text.is_empty());
        let said = match (part("error"), part("error_description")) {
            (Some(error), Some(more)) => format!(", {error}: {more}"),
            (Some(one), None) | (None, Some(one)) => format!(", {one}"),
            (None, None) => String::new(),
        };
        match self.status {
            300..=399 => format!("a redirection to {}, which is not followed", shown(&self.to, secrets)),
            200..=299 => format!("no usable answer (status {}{said})", self.status),
            status => format!("status {status}{said}"),
        }
    }
}

/// A server's text for a message: one line, short, and without these secrets.
pub fn shown(text: &str, secrets: &[&str]) -> String {
    let text = secrets.iter().filter(|one| !one.is_empty()).fold(text.to_owned(), |text, one| text.replace(one, "[…]"));
    said::shown(&text, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(server: &str) -> (tempfile::TempDir, Reach) {
        let folder = tempfile::tempdir().unwrap();
        let (server, consents) = (Address::new(server).unwrap(), folder.path().join("servers"));
        (folder, Reach { server, consents, limit: Duration::from_secs(1) })
    }

    #[tokio::test]
    async fn another_host_is_asked_only_with_consent_for_this_server() {
        let (_folder, reach) = reach("https://one.example/mcp");
        let (own, other) = (Address::new("https://one.example/token").unwrap(), "https://login.example");
        let at = Address::new("https://login.example/token").unwrap();
        assert_eq!((reach.not_agreed(&own), reach.not_agreed(&at).as_deref()), (None, Some(other)));
        let refused = reach.get(&at).await.err().unwrap();
        assert!(refused.contains("not allowed to ask https://login.example"), "{refused}");
        consent::give(&reach.consents, &consent_line(other, &reach.server)).unwrap();
        assert_eq!(reach.not_agreed(&at), None);
        let elsewhere = Reach { server: Address::new("https://two.example/mcp").unwrap(), ..reach };
        assert!(elsewhere.not_agreed(&at).is_some());
    }

    #[test]
    fn addresses_of_metadata_are_encrypted_or_of_this_machine_for_a_server_that_is() {
        let check = |server: &str, text: &str, refused: Option<&str>| {
            let why = reach(server).1.address("its token endpoint", text).err();
            assert_eq!(why.is_some(), refused.is_some(), "{why:?}");
            assert!(why.unwrap_or_default().contains(refused.unwrap_or_default()), "{text}");
        };
        check("https://one.example/mcp", "https://login.example/token", None);
        check("https://one.example/mcp", "http://login.example/token", Some("use https://"));
        check("https://one.example/mcp", "http://127.0.0.1:80/token", Some("is on this machine"));
        for host in
            ["0.0.0.0", "127.1", "[::]", "[::1]", "[::ffff:127.0.0.1]", "localhost.", "LOCALHOST", "a.localhost."]
        {
            check("https://one.example/mcp", &format!("https://{host}/token"), Some("is on this machine"));
        }
        check("http://127.0.0.1:1/mcp", "http://localhost:2/token", None);
        check("https://one.example/mcp", "javascript:alert(1)", Some("begins with `javascript:`"));
        check("https://one.example/mcp", "\u{1b}[2J", Some("is not a URL"));
    }

    #[test]
    fn a_refusal_shows_no_secret() {
        let text = r#"{"error":"invalid_grant","error_description":"refresh-7 is\nunknown"}"#.to_owned();
        let answered = Answered { status: 400, to: String::new(), text };
        assert_eq!(answered.refusal(&["refresh-7", ""]), "status 400, invalid_grant: […] is unknown");
        assert_eq!(answered.code(), "invalid_grant");
    }
}
