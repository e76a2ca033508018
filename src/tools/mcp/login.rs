//! Asks an MCP server without a token, to learn how it wants the user to sign in.

use serde_json::json;

use super::http::{fault, headers};
use crate::config::{Address, Server};
use crate::remote::http::{self, Failure, Sent, Way};
use crate::remote::oauth::Challenge;

/// The revision of MCP that this request is written in.
const VERSION: &str = "2025-06-18";

/// The server's answer to the first message of a session. The session is not used further.
pub async fn challenge(config: &Server, address: &Address) -> Result<Challenge, String> {
    let message = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": VERSION,
        "capabilities": {},
        "clientInfo": { "name": "monobloc", "version": env!("CARGO_PKG_VERSION") },
    } });
    let way = Way::Post(message.to_string());
    let sent = Sent { url: address.url(), way, headers: headers(config)?, silence: config.start_timeout };
    match http::send(sent).await {
        Ok(answer) => Ok(Challenge::of(answer.status(), answer.values("www-authenticate"))),
        Err(Failure::Passing(why)) => Err(format!("{address} does not answer ({why}); check that the URL is right")),
        Err(Failure::Final(why)) => Err(format!("{address}: {}", fault(why))),
    }
}
