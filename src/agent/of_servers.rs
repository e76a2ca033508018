//! Fetches what a request names on MCP servers: the text of `@server:uri`, and what a model reads in its pictures, is
//! handed over with the request; the text of `/server:prompt words` replaces it.
//!
//! The rules for tools apply to both, under the names of the protocol's methods:
//! `server.resources/read` with a `uri`, and `server.prompts/get` with a `name`.

use serde_json::Map;

use super::{Host, Toolkit, TurnError, pictures};
use crate::base::StepId;
use crate::protocol::{Decision, Event, GIVEN_BYTES_MAX, GIVEN_MAX, Given, Proposal, REQUEST_BYTES_MAX};
use crate::tools::ToolCall;
use crate::tools::mcp::offers::{self, Filled, Read};
use crate::tools::policy::Verdict;

/// Fetches everything that the request names, adds the texts to the toolkit and returns the final
/// request. A failure ends the turn before anything is done. Only the user's own text is searched
/// for names, not the text of a prompt.
pub async fn fetched(toolkit: &mut Toolkit, request: String, host: &dyn Host) -> Result<String, TurnError> {
    let Some(servers) = toolkit.context.as_ref().and_then(|context| context.servers.clone()) else {
        return Ok(request);
    };
    let cancel = toolkit.cancel.clone();
    let failed = |why: String| if cancel.is_cancelled() { TurnError::Cancelled } else { TurnError::NotFetched(why) };
    let is_server = |name: &str| servers.names().any(|known| known == name);
    for (server, uri) in offers::named(&request, is_server) {
        allowed(server, ("resources/read", "uri", uri), host).await?;
        let Read { text, pictures } = servers.read(server, uri, &cancel).await.map_err(failed)?;
        if pictures.is_empty() || !text.is_empty() {
            hand_over(toolkit, host, format!("@{server}:{uri}"), text).map_err(failed)?;
        }
        pictures::hand_over(toolkit, &pictures, &request, host).await?;
    }
    let Some((server, prompt, words)) = offers::called(&request, is_server) else { return Ok(request) };
    if is_server(server) {
        allowed(server, ("prompts/get", "name", prompt), host).await?;
    }
    let Filled { text, resources } = servers.prompt(server, prompt, words, &cancel).await.map_err(failed)?;
    for (uri, text) in resources {
        hand_over(toolkit, host, format!("@{server}:{uri}"), text).map_err(failed)?;
    }
    if text.trim().is_empty() || text.len() > REQUEST_BYTES_MAX {
        let size = text.len();
        return Err(failed(format!(
            "the prompt /{server}:{prompt} has {size} bytes; it must have 1 to {REQUEST_BYTES_MAX}"
        )));
    }
    host.notice(&format!("the request is the prompt /{server}:{prompt}:\n{text}"));
    Ok(text)
}

/// Checks the rules, and asks the user if a rule requires it, before a method of a server is
/// called.
async fn allowed(
    server: &str,
    (method, argument, value): (&str, &str, &str),
    host: &dyn Host,
) -> Result<(), TurnError> {
    let arguments = Map::from_iter([(argument.to_owned(), value.into())]);
    let call = ToolCall { tool: format!("{server}.{method}"), arguments };
    let named = if argument == "uri" { format!("@{server}:{value}") } else { format!("/{server}:{value}") };
    let refused = |why: &str| TurnError::NotFetched(format!("{named} was not fetched: {why}"));
    let reason = match host.policy().assess_named(&call) {
        Verdict::Allow => return Ok(()),
        Verdict::Deny { reason } => return Err(refused(&reason)),
        Verdict::Ask { reason } => reason,
    };
    let ToolCall { tool, arguments } = call;
    let preview = format!("{named} is fetched from the server `{server}` for the request.");
    let proposal = Proposal { tool, arguments, reason, preview, ..Proposal::default() };
    host.emit(Event::ApprovalRequested { step: StepId(0), proposal: proposal.clone() });
    match host.approve(StepId(0), &proposal).await {
        Decision::Approve | Decision::Always => Ok(()),
        Decision::Cancel => Err(TurnError::Cancelled),
        Decision::Reject => Err(refused("you said no")),
        Decision::Modify(_) => Err(refused("it can only be fetched exactly as named; name another")),
        Decision::NotAsked(why) => Err(refused(&why)),
    }
}

/// Adds a text to those handed over with the request; an error states which limit it exceeds.
pub(super) fn hand_over(toolkit: &mut Toolkit, host: &dyn Host, name: String, text: String) -> Result<(), String> {
    if text.len() as u64 > GIVEN_BYTES_MAX {
        return Err(format!(
            "{name} has {} bytes; the limit is {GIVEN_BYTES_MAX}; name a smaller resource",
            text.len()
        ));
    }
    if toolkit.given.len() == GIVEN_MAX {
        return Err(format!("{name} would be text {} of the request; at most {GIVEN_MAX} are accepted", GIVEN_MAX + 1));
    }
    host.notice(&format!("{name}: {} bytes are added to the request", text.len()));
    toolkit.given.push(Given { name, text });
    Ok(())
}
