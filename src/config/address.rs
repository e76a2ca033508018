//! The URL of an MCP server and the headers sent to it; header values never appear in messages.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use serde::Deserialize;
use url::{Host, Url};

use super::secret::filled;

/// Maximum number of headers for a server.
const HEADERS_MAX: usize = 16;
/// Headers that the client itself sets.
const OWN_HEADERS: [&str; 11] = [
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "mcp-protocol-version",
    "mcp-session-id",
    "te",
    "transfer-encoding",
    "user-agent",
];

/// The URL of a server that provides MCP over streamable HTTP, such as
/// `https://mcp.example.org/mcp`.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Address(Url);

impl Address {
    /// Parses a URL. The error describes the expected form and contains no secrets.
    pub fn new(text: &str) -> Result<Address, String> {
        const WAY: &str = "write it as https://HOST/PATH";
        let url = Url::parse(text.trim()).map_err(|error| format!("it is not a URL ({error}); {WAY}"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err("it has a user name or password in it; leave it out, and use `headers`".to_owned());
        }
        if url.fragment().is_some() {
            return Err(format!("it has `#` in it; {WAY}"));
        }
        if url.port() == Some(0) {
            return Err(format!("it has port 0; {WAY}"));
        }
        match url.scheme() {
            "https" => Ok(Address(url)),
            "http" if is_here(&url) => Ok(Address(url)),
            "http" => {
                Err("plain http can be read in transit; use https://, or a tunnel and http://localhost".to_owned())
            }
            other => Err(format!("it begins with `{other}:`; {WAY}")),
        }
    }

    pub fn url(&self) -> &Url {
        &self.0
    }

    /// Whether the server runs on this machine.
    pub fn is_here(&self) -> bool {
        is_here(&self.0)
    }

    /// Whether a request to the URL could reach this machine, by an unusual spelling too.
    pub fn may_be_here(&self) -> bool {
        let is_here = |address: IpAddr| address.is_loopback() || address.is_unspecified();
        match self.0.host() {
            Some(Host::Domain(name)) => is_local(name.trim_end_matches('.')),
            Some(Host::Ipv4(address)) => is_here(address.into()),
            Some(Host::Ipv6(address)) => is_here(IpAddr::from(address).to_canonical()),
            None => false,
        }
    }

    /// Scheme, host and port, as `https://mcp.example.org`.
    pub fn origin(&self) -> String {
        self.0.origin().ascii_serialization()
    }

    /// The target of this server's redirection, without parts that may be secret.
    pub fn redirected(&self, location: &str) -> String {
        let url = self.0.join(location);
        url.map_or("another place".to_owned(), |url| format!("{}{}", url.origin().ascii_serialization(), url.path()))
    }
}

/// Whether the server runs on this machine.
fn is_here(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => is_local(name),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

fn is_local(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

impl TryFrom<String> for Address {
    type Error = String;

    fn try_from(text: String) -> Result<Address, String> {
        Address::new(&text)
    }
}

/// Omits the query, where users put keys.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut url = self.0.clone();
        url.set_query(None);
        f.write_str(url.as_str())
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The headers sent to a server, by name. `${NAME}` in a value stands for an environment variable.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "BTreeMap<String, String>")]
pub struct Headers {
    values: BTreeMap<String, String>,
    /// Whether `$` has no special meaning in the values, because they come from another program
    /// instead of a user's file.
    is_literal: bool,
}

impl Headers {
    /// The same headers with values taken literally.
    pub fn literal(self) -> Headers {
        Headers { is_literal: true, ..self }
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Names and values, with each variable replaced by the result of `value_of`. The error names a
    /// missing variable.
    pub fn filled(&self, value_of: impl Fn(&str) -> Option<String>) -> Result<Vec<(&str, String)>, String> {
        let filled = self.values.iter().map(|(name, text)| {
            let value = if self.is_literal { Ok(text.clone()) } else { filled(text, &value_of) };
            let value = value.map_err(|variable| {
                format!("its header {name} needs the environment variable {variable}, which is not set; set it")
            })?;
            if is_value(&value) {
                Ok((name.as_str(), value))
            } else {
                Err(format!("its header {name} is not printable ASCII once its variables are filled in; correct them"))
            }
        });
        filled.collect()
    }
}

impl TryFrom<BTreeMap<String, String>> for Headers {
    type Error = String;

    fn try_from(all: BTreeMap<String, String>) -> Result<Headers, String> {
        let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        if all.len() > HEADERS_MAX {
            return Err(format!("there are {} headers; at most {HEADERS_MAX} are allowed", all.len()));
        }
        for (name, value) in &all {
            if name.is_empty() || !name.chars().all(is_token) {
                return Err(format!(
                    "`{name}` is not a header name; a name consists of letters, digits and !#$%&'*+-.^_`|~"
                ));
            }
            if OWN_HEADERS.iter().any(|own| own.eq_ignore_ascii_case(name)) {
                return Err(format!("monobloc sets the header {name} itself; leave it out"));
            }
            if !is_value(value) {
                return Err(format!("the value of the header {name} is not printable ASCII"));
            }
        }
        Ok(Headers { values: all, is_literal: false })
    }
}

/// Hides the values.
impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

fn is_value(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c == ' ' || c.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let got = Address::new(text).map_or_else(|why| why, |address| address.to_string());
        assert!(got == expected || !expected.starts_with("http") && got.contains(expected), "{text}: {got}");
    }

    #[test]
    fn only_this_machine_is_reached_without_encryption() {
        check("https://mcp.example.org/mcp", "https://mcp.example.org/mcp");
        check("http://localhost:8000/mcp", "http://localhost:8000/mcp");
        check("http://[::1]:8000", "http://[::1]:8000/");
        check("http://box:8000/mcp", "use https://");
        check("http://127.0.0.1.example.org/", "use https://");
        check("ftp://box/mcp", "begins with `ftp:`");
        check("mcp", "is not a URL");
    }

    #[test]
    fn a_secret_in_a_url_is_not_shown() {
        check("https://box/mcp?key=hunter2", "https://box/mcp");
        assert!(!format!("{:?}", Address::new("https://box/mcp?key=hunter2")).contains("hunter2"));
        let from = Address::new("https://box/mcp").unwrap();
        assert_eq!(from.redirected("https://me:hunter2@other/login?key=hunter2"), "https://other/login");
        assert_eq!(from.redirected("/mcp/"), "https://box/mcp/");
        assert!(Address::new("https://me:hunter2@box/mcp").is_err_and(|why| !why.contains("hunter2")));
    }

    #[test]
    fn a_header_takes_its_value_from_a_variable_and_shows_none() {
        let headers =
            |name: &str, value: &str| Headers::try_from(BTreeMap::from([(name.to_owned(), value.to_owned())]));
        let set = |name: &str| (name == "TOKEN").then(|| "sesame".to_owned());
        let one = headers("Authorization", "Bearer ${TOKEN}").unwrap();
        assert_eq!(one.filled(set), Ok(vec![("Authorization", "Bearer sesame".to_owned())]));
        assert!(one.filled(|_| None).is_err_and(|why| why.contains("the environment variable TOKEN")));
        assert!(one.filled(|_| Some("a\nb: c".to_owned())).is_err_and(|why| !why.contains("b: c")));
        let plain = headers("X-Team", "pays ${5 and $6").unwrap();
        assert_eq!(plain.filled(set), Ok(vec![("X-Team", "pays ${5 and $6".to_owned())]));
        assert!(!format!("{plain:?}").contains("pays"));
        for (name, value) in [("Host", "a"), ("MCP-Session-Id", "a"), ("a b", "a"), ("X-Team", "a\r\nb: c")] {
            assert!(headers(name, value).is_err_and(|why| why.contains(name) && !why.contains("b: c")), "{name}");
        }
    }
}
