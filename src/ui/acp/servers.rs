//! The MCP servers that a client passes for a session; they are used like those in the user's
//! settings.

use std::collections::BTreeMap;
use std::path::Path;

use agent_client_protocol_schema::v1::{McpServer, McpServerSse};

use crate::config::{Address, Config, Headers, Place, Server};

/// Maximum number of servers that one session accepts from its client.
const SERVERS_MAX: usize = 32;

/// Adds the passed servers to a session's settings; returns notes about omitted ones. If the
/// settings in `file` have a server with the same name, that one is used instead, because the user
/// has set its permissions there.
pub fn add(config: &mut Config, passed: Vec<McpServer>, file: &Path) -> Vec<String> {
    let mut notes = Vec::new();
    for server in passed {
        let place = Place { file: file.to_owned(), line: 1 };
        let server = match server {
            McpServer::Stdio(one) => Server {
                command: one.command.display().to_string(),
                args: one.args,
                env: one.env.into_iter().map(|variable| (variable.name, variable.value)).collect(),
                ..Server::passed(place, &one.name)
            },
            McpServer::Http(one) => {
                let headers =
                    one.headers.into_iter().map(|header| (header.name, header.value)).collect::<BTreeMap<_, _>>();
                match (Address::new(&one.url), Headers::try_from(headers)) {
                    (Ok(url), Ok(headers)) => {
                        Server { url: Some(url), headers: headers.literal(), ..Server::passed(place, &one.name) }
                    }
                    (Err(why), _) => {
                        notes.push(format!("the server `{}` was left out because of its URL: {why}", one.name));
                        continue;
                    }
                    (_, Err(why)) => {
                        notes.push(format!("the server `{}` was left out because of its headers: {why}", one.name));
                        continue;
                    }
                }
            }
            McpServer::Sse(McpServerSse { name, .. }) => {
                notes.push(format!(
                    "the server `{name}` was left out: it speaks the older transport by two connections; servers that are \
                     started, and those of streamable HTTP, are used"
                ));
                continue;
            }
            _ => {
                notes.push("a server of an unknown kind was left out".to_owned());
                continue;
            }
        };
        if config.servers.iter().any(|other| other.name == server.name) {
            notes.push(format!(
                "the server `{0}` is already configured as [mcp.{0}] in the settings, which is used instead",
                server.name
            ));
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
            { "type": "http", "name": "far", "url": "https://example.org/mcp", "headers": [{ "name": "X-Key", "value": "a" }] },
            { "type": "http", "name": "bare", "url": "http://example.org/mcp", "headers": [] },
            { "type": "sse", "name": "old", "url": "https://example.org/sse", "headers": [] },
        ]);
        let mut config = Config::default();
        let passed = serde_json::from_value(passed).expect("servers");
        let notes = add(&mut config, passed, Path::new("/c.toml"));
        let [server, far] = config.servers.as_slice() else { panic!("{:?}", config.servers) };
        assert_eq!((server.name.as_str(), server.command.as_str()), ("My-notes", "/bin/notes"));
        assert_eq!((server.env["A"].as_str(), server.confined, server.network), ("1", true, false));
        assert_eq!((far.line().as_str(), far.headers.names().collect()), ("https://example.org/mcp", vec!["X-Key"]));
        let [twice, bare, old] = notes.as_slice() else { panic!("{notes:?}") };
        assert!(twice.contains("[mcp.My-notes]") && bare.contains("`bare`") && bare.contains("https"), "{notes:?}");
        assert!(old.contains("`old`"), "{notes:?}");
    }
}
