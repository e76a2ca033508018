//! Reads an MCP server from a configuration file: a program to start here, or a URL.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, Error};
use toml::Spanned;

use super::address::{Address, Headers};
use super::file::{ConfigError, Place, Source, Texts, Value};
use super::secret::Secret;

/// ```toml
/// [mcp.files]
/// command = "npx"
/// args = ["@modelcontextprotocol/server-filesystem", "${project}"]
/// env = { NODE_ENV = "production" }  # it gets only these, and PATH, HOME and the like
/// inherit = ["HTTP_PROXY"]           # variables of this process that it may see too
/// tools = ["read_*", "list_*"]       # all, when left out
/// timeout_s = 60                     # of one call
/// start_timeout_s = 20
/// reads = ["~/notes"]                # besides the project, programs, and absolute paths among its arguments
/// writes = ["~/notes/inbox"]         # besides the project without its `.git`; no undo covers them
/// network = true                     # it may open sockets of the internet and of other programs
/// confined = true                    # false: it may do anything you can, without limits
/// enabled = true
/// about = "files outside the project"
///
/// [mcp.issues]
/// type = "http"                      # may be left out
/// url = "https://mcp.example.org/mcp"
/// headers = { Authorization = "Bearer ${ISSUES_TOKEN}" }  # the token is an environment variable
///
/// [mcp.plans]                        # `monobloc mcp login plans`; often the url is enough
/// url = "https://plans.example.org/mcp"
/// client_id = "monobloc-7f3a"        # of a client that you registered where one signs in
/// client_secret = "${PLANS_SECRET}"  # if it has one
/// issuer = "https://login.example.org"  # where one signs in, and the only place that gets them
/// callback_port = 8770               # if it was registered with http://127.0.0.1:8770/callback
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Server {
    #[serde(skip)]
    pub place: Place,
    /// Prefix of its tool names: `files.read_text_file`.
    #[serde(skip)]
    pub name: String,
    /// Whether an editor passed it, so that the command line finds it by its URL alone.
    #[serde(skip)]
    pub is_passed: bool,
    #[serde(rename = "type")]
    pub kind: Option<Kind>,
    /// The program to start; empty for a server behind a URL.
    pub command: String,
    pub url: Option<Address>,
    pub headers: Headers,
    /// The client to sign in as, for an authorisation server that registers none by itself.
    pub client_id: Option<String>,
    pub client_secret: Option<Secret>,
    /// The authorisation server at which the client was registered. A sign-in at another one fails.
    pub issuer: Option<Address>,
    /// The port for the browser's answer to a sign-in; `None` means a free one.
    pub callback_port: Option<NonZeroU16>,
    /// `${project}` is replaced by the project's folder, here and in `env` and `dir`.
    #[serde(deserialize_with = "texts")]
    pub args: Vec<String>,
    pub env: BTreeMap<String, String>,
    #[serde(deserialize_with = "texts")]
    pub inherit: Vec<String>,
    /// Its working folder; `None` means the project's folder.
    pub dir: Option<PathBuf>,
    /// Patterns for the offered tools; empty means all.
    #[serde(deserialize_with = "texts")]
    pub tools: Vec<String>,
    #[serde(rename = "timeout_s", deserialize_with = "seconds")]
    pub timeout: Duration,
    #[serde(rename = "start_timeout_s", deserialize_with = "seconds")]
    pub start_timeout: Duration,
    /// Paths outside the project that it may read.
    #[serde(deserialize_with = "paths")]
    pub reads: Vec<PathBuf>,
    #[serde(deserialize_with = "paths")]
    pub writes: Vec<PathBuf>,
    pub network: bool,
    pub confined: bool,
    pub enabled: bool,
    /// A description for the planner.
    pub about: String,
}

/// The values of `type` in other clients' configurations. The older two-connection transport,
/// `sse`, is not supported.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Stdio,
    #[serde(alias = "streamable-http", alias = "streamable_http")]
    Http,
}

const TIMEOUT_DEFAULT_S: u64 = 60;
const START_TIMEOUT_DEFAULT_S: u64 = 20;
/// Maximum timeout that can be set in a file.
const TIMEOUT_MAX_S: u64 = 600;
/// Maximum length of a server's name, in bytes. It is part of its tool names, which small models
/// must read.
const NAME_MAX_BYTES: usize = 32;

impl Server {
    /// A server named by a client of this program, such as an editor, without a command or URL yet.
    /// It has the defaults of a table with only these keys; `place` is where the user can configure
    /// it with more rights. Invalid characters in the name become `-`.
    pub fn passed(place: Place, name: &str) -> Server {
        let plain = |c: char| if is_plain(c) { c } else { '-' };
        let name = name.chars().map(plain).take(NAME_MAX_BYTES).collect();
        Server { place, name, is_passed: true, ..Server::default() }
    }

    /// The command line that starts the server, or its URL.
    pub fn line(&self) -> String {
        match &self.url {
            Some(url) => url.to_string(),
            None => format!("{} {}", self.command, self.args.join(" ")).trim_end().to_owned(),
        }
    }

    /// The command that signs in to it. QUERY stands for that of a URL, which may be a secret.
    pub fn login(&self) -> String {
        match &self.url {
            Some(url) if self.is_passed && url.url().query().is_some() => format!("monobloc mcp login '{url}?QUERY'"),
            Some(url) if self.is_passed => format!("monobloc mcp login {url}"),
            _ => format!("monobloc mcp login {}", self.name),
        }
    }

    /// The contradiction between these keys, if any.
    fn contradiction(&self) -> Option<String> {
        let name = &self.name;
        let is_started = !self.command.trim().is_empty();
        let Some(_) = self.url else {
            return match (is_started, self.kind) {
                (_, Some(Kind::Http)) => Some(format!("[mcp.{name}] has no `url`; give the server's URL")),
                (false, _) => Some(format!(
                    "[mcp.{name}] has no `command` and no `url`; give the program to start, or the server's URL"
                )),
                (true, _) if !self.headers.is_empty() => {
                    Some(format!("[mcp.{name}] has `headers` without a `url`; use `env` for a program"))
                }
                (true, _)
                    if self.client_id.is_some()
                        || self.client_secret.is_some()
                        || self.issuer.is_some()
                        || self.callback_port.is_some() =>
                {
                    Some(format!("[mcp.{name}] has a client to sign in as, but no `url`; leave it out"))
                }
                (true, _) => None,
            };
        };
        if is_started || self.kind == Some(Kind::Stdio) {
            return Some(format!("[mcp.{name}] has a `url` but is also set to be started; leave out one of them"));
        }
        if self.client_secret.is_some() && self.client_id.is_none() {
            return Some(format!("[mcp.{name}] has a `client_secret` without the `client_id` that it is of"));
        }
        if self.client_id.is_some() && self.issuer.is_none() {
            return Some(format!(
                "[mcp.{name}] has a `client_id` without the `issuer` at which it was registered; add its URL"
            ));
        }
        let of_programs = [
            ("args", !self.args.is_empty()),
            ("env", !self.env.is_empty()),
            ("inherit", !self.inherit.is_empty()),
            ("dir", self.dir.is_some()),
            ("reads", !self.reads.is_empty()),
            ("writes", !self.writes.is_empty()),
            ("network", self.network),
            ("confined", !self.confined),
        ];
        let (key, _) = of_programs.into_iter().find(|(_, is_set)| *is_set)?;
        Some(format!("[mcp.{name}] has `{key}`, which only applies to a program started here; leave it out"))
    }
}

/// A server without a command or URL, and with all other keys at their defaults.
impl Default for Server {
    fn default() -> Server {
        Server {
            place: Place::default(),
            name: String::new(),
            is_passed: false,
            kind: None,
            command: String::new(),
            url: None,
            headers: Headers::default(),
            client_id: None,
            client_secret: None,
            issuer: None,
            callback_port: None,
            args: Vec::new(),
            env: BTreeMap::new(),
            inherit: Vec::new(),
            dir: None,
            tools: Vec::new(),
            timeout: Duration::from_secs(TIMEOUT_DEFAULT_S),
            start_timeout: Duration::from_secs(START_TIMEOUT_DEFAULT_S),
            reads: Vec::new(),
            writes: Vec::new(),
            network: false,
            confined: true,
            enabled: true,
            about: String::new(),
        }
    }
}

/// Whether a server's name may contain the character.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

pub(super) fn read(
    source: &Source<'_>,
    name: &Spanned<Cow<'_, str>>,
    value: &Value<'_>,
) -> Result<Server, ConfigError> {
    let called = name.get_ref().to_string();
    if called.is_empty() || called.len() > NAME_MAX_BYTES || !called.chars().all(is_plain) {
        return Err(source.wrong(
            name.span(),
            format!("a server name must have 1 to {NAME_MAX_BYTES} letters, digits, _ or -; `{called}` does not"),
        ));
    }
    let mut server: Server = source.typed(value)?;
    (server.place, server.name) = (source.place(name.span()), called);
    for path in server.reads.iter_mut().chain(&mut server.writes) {
        *path = source.path_of(&path.to_string_lossy());
    }
    if let Some(why) = server.contradiction() {
        return Err(source.wrong(name.span(), why));
    }
    Ok(server)
}

fn texts<'de, D: Deserializer<'de>>(value: D) -> Result<Vec<String>, D::Error> {
    Texts::deserialize(value).map(Vec::from)
}

fn paths<'de, D: Deserializer<'de>>(value: D) -> Result<Vec<PathBuf>, D::Error> {
    Ok(texts(value)?.into_iter().map(PathBuf::from).collect())
}

fn seconds<'de, D: Deserializer<'de>>(value: D) -> Result<Duration, D::Error> {
    let seconds = u64::deserialize(value)?;
    if (1..=TIMEOUT_MAX_S).contains(&seconds) {
        Ok(Duration::from_secs(seconds))
    } else {
        Err(D::Error::custom(format!("it is {seconds}; it must be a whole number from 1 to {TIMEOUT_MAX_S}")))
    }
}
