//! The MCP servers that a client passes for a session: they run like those in the user's settings.

use std::path::Path;

use agent_client_protocol_schema::v1::{McpServer, McpServerHttp, McpServerSse};

use crate::config::Config;
use crate::config::{Place, Server};

/// Maximum number of servers that one session accepts from its client.
const SERVERS_MAX: usize = 32;

/// Adds the passed servers to a session's settings; returns notes about those that are left out. If
/// the settings in `file` have a server with the same name, that one is started: there the user
/// says what it may do.
pub fn add(config: &mut Config, passed: Vec<McpServer>, file: &Path) -> Vec<String> {
    let mut notes = Vec::new();
    for server in passed {
        let one = match server {
            McpServer::Stdio(one) => one,
            McpServer::Http(McpServerHttp { name, .. }) | McpServer::Sse(McpServerSse { name, .. }) => {
                notes.push(format!(
                    "the server `{name}` was left out: it is reached over the network, but only servers started here are used"
                ));
                continue;
            }
            _ => {
                notes.push("a server of an unknown kind was left out".to_owned());
                continue;
            }
        };
        let place = Place { file: file.to_owned(), line: 1 };
        let env = one.env.into_iter().map(|variable| (variable.name, variable.value)).collect();
        let server = Server { env, ..Server::passed(place, &one.name, one.command.display().to_string(), one.args) };
        if config.servers.iter().any(|other| other.name == server.name) {
            notes.push(format!("the server `{0}` is the one of [mcp.{0}] in the settings", server.name));
        } else if server.name.is_empty() || config.servers.len() >= SERVERS_MAX {
            notes.push(format!(
                "the server `{}` was left out: a session has at most {SERVERS_MAX} named servers",
                server.name
            ));
        } else {
            config.servers.push(server);
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn passed_servers_join_those_of_the_settings_and_do_not_replace_them() {
        let passed = json!([
            { "name": "My notes", "command": "/bin/notes", "args": ["-a"], "env": [{ "name": "A", "value": "1" }] },
            { "name": "My-notes", "command": "/bin/other", "args": [], "env": [] },
            { "type": "http", "name": "far", "url": "https://example.org", "headers": [] },
        ]);
        let mut config = Config::default();
        let passed = serde_json::from_value(passed).expect("servers");
        let notes = add(&mut config, passed, Path::new("/c.toml"));
        let [server] = config.servers.as_slice() else { panic!("{:?}", config.servers) };
        assert_eq!((server.name.as_str(), server.command.as_str()), ("My-notes", "/bin/notes"));
        assert_eq!((server.env["A"].as_str(), server.confined, server.network), ("1", true, false));
        assert!(notes.len() == 2 && notes[0].contains("[mcp.My-notes]") && notes[1].contains("`far`"), "{notes:?}");
    }
}
