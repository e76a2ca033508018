//! Reads an MCP server from a configuration file: a program that offers tools over its standard input and output.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use toml::Spanned;

use super::file::{ConfigError, Place, Source, Value};

/// ```toml
/// [mcp.files]
/// command = "npx"
/// args = ["@modelcontextprotocol/server-filesystem", "${project}"]
/// env = { NODE_ENV = "production" }  # it sees only these, and PATH, HOME and the like
/// inherit = ["HTTP_PROXY"]           # variables of this process that it may see too
/// tools = ["read_*", "list_*"]       # all, when left out
/// timeout_s = 60                     # of one call
/// start_timeout_s = 20
/// reads = ["~/notes"]                # beside the project, programs, and absolute paths among its arguments
/// writes = ["~/notes/inbox"]         # beside the project without its `.git`; no undo covers them
/// network = true                     # it may open sockets of the internet and of other programs
/// confined = true                    # false: it may do anything you can, without limits
/// enabled = true
/// about = "files outside the project"
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    pub place: Place,
    /// Prefix of its tools' names: `files.read_text_file`.
    pub name: String,
    pub command: String,
    /// `${project}` is replaced by the project's folder, here and in `env` and `dir`.
    pub args: Vec<String>,
    pub env: BTreeMap<String, String>,
    pub inherit: Vec<String>,
    /// Its working folder; `None` means the project's folder.
    pub dir: Option<PathBuf>,
    /// Patterns of the tools that are offered; empty means all.
    pub tools: Vec<String>,
    pub timeout: Duration,
    pub start_timeout: Duration,
    /// Paths outside the project that it may read.
    pub reads: Vec<PathBuf>,
    pub writes: Vec<PathBuf>,
    pub network: bool,
    pub confined: bool,
    pub enabled: bool,
    /// A description for the planner.
    pub about: String,
}

const KEYS: [&str; 14] = [
    "command",
    "args",
    "env",
    "inherit",
    "dir",
    "tools",
    "timeout_s",
    "start_timeout_s",
    "reads",
    "writes",
    "network",
    "confined",
    "enabled",
    "about",
];
const TIMEOUT_DEFAULT_S: u64 = 60;
const START_TIMEOUT_DEFAULT_S: u64 = 20;
/// Longest timeout that a file may set.
const TIMEOUT_MAX_S: u64 = 600;
/// Longest name of a server. It is part of its tools' names, which small models read.
const NAME_MAX_BYTES: usize = 32;

impl Server {
    /// A server that a client of this program names, such as an editor. It gets what a table with only these keys would give it;
    /// `place` is where the user can write one that grants more. Characters that a name cannot have become `-`.
    pub fn passed(place: Place, name: &str, command: String, args: Vec<String>) -> Server {
        let plain = |c: char| if is_plain(c) { c } else { '-' };
        let name = name.chars().map(plain).take(NAME_MAX_BYTES).collect();
        Server { command, args, ..Server::by_default(place, name) }
    }

    /// A server without a command, every other key at its default.
    fn by_default(place: Place, name: String) -> Server {
        Server {
            place,
            name,
            command: String::new(),
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

/// Whether a server's name may have the character.
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
            format!("a server's name has 1 to {NAME_MAX_BYTES} letters, digits, _ or -; `{called}` does not"),
        ));
    }
    let mut server = Server::by_default(source.place(name.span()), called);
    for (name, value) in source.table("mcp", value)? {
        let key = name.get_ref().as_ref();
        let seconds = || source.count(key, value, 1, TIMEOUT_MAX_S).map(Duration::from_secs);
        match key {
            "command" => server.command = source.text(key, value)?,
            "args" => server.args = source.texts(key, value)?,
            "inherit" => server.inherit = source.texts(key, value)?,
            "tools" => server.tools = source.texts(key, value)?,
            "about" => server.about = source.text(key, value)?,
            "dir" => server.dir = Some(PathBuf::from(source.text(key, value)?)),
            "timeout_s" => server.timeout = seconds()?,
            "start_timeout_s" => server.start_timeout = seconds()?,
            "env" => {
                for (name, value) in source.table(key, value)? {
                    server.env.insert(name.get_ref().to_string(), source.text(name.get_ref(), value)?);
                }
            }
            "reads" => server.reads = source.paths(key, value)?,
            "writes" => server.writes = source.paths(key, value)?,
            "network" => server.network = source.switch(key, value)?,
            "confined" => server.confined = source.switch(key, value)?,
            "enabled" => server.enabled = source.switch(key, value)?,
            _ => return Err(source.unknown(name, "a server", KEYS)),
        }
    }
    if server.command.trim().is_empty() {
        return Err(
            source.wrong(name.span(), format!("[mcp.{}] has no `command`; name the program to start", server.name))
        );
    }
    Ok(server)
}
