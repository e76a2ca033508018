//! Serves the Agent Client Protocol, version 1, to an editor over standard input and output: one JSON-RPC message per
//! line.
//!
//! The editor opens sessions on projects, sends prompts and receives plan, tool calls and answer as
//! they arise. Nothing else is written to standard output, and no port is opened.
//! <https://agentclientprotocol.com>

mod agent;
mod calls;
mod client;
mod content;
mod hunks;
mod options;
mod permission;
mod replay;
mod servers;
mod talk;
mod updates;
pub(in crate::ui) mod wire;

use std::io::{BufRead, Write};

use agent_client_protocol_schema::v1::ErrorCode;
use anyhow::{Result, bail};
use serde_json::Value;

use self::agent::Agent;
use self::client::Client;
use crate::app::App;
use crate::base::Cancel;
use crate::config::Given;
use crate::ui::cli::chat::input;

/// Serves one client until its input ends. `given` holds the flags and variables of this process,
/// for each project's settings.
pub async fn serve(
    app: &App,
    given: Given,
    input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
) -> Result<()> {
    let gone = Cancel::new();
    let (client, writer) = Client::reading(output, gone.clone());
    let mut lines = input::lines(input, wire::LINE_BYTES_MAX);
    let mut agent = Agent::new(app.clone(), given, client.clone());
    loop {
        tokio::select! {
            line = lines.recv() => match line {
                Some(Ok(line)) if line.trim().is_empty() => {}
                Some(Ok(line)) => agent.take(&line).await,
                Some(Err(why)) => {
                    client.answer::<Value>(&Value::Null, Err(wire::error(ErrorCode::ParseError, why))).await;
                }
                None => break,
            },
            () = gone.cancelled() => break,
            () = app.cancel.cancelled() => break,
        }
    }
    agent.end().await;
    drop(client);
    writer.end().await;
    if app.cancel.is_cancelled() { bail!("cancelled") } else { Ok(()) }
}
