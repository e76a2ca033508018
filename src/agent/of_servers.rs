//! Fetches what a request names of MCP servers: `@server:uri` goes along as a text that the user hands over, and the text of
//! `/server:prompt words` takes the place of the request.

use super::{Host, Toolkit, TurnError};
use crate::protocol::{GIVEN_BYTES_MAX, GIVEN_MAX, Given, REQUEST_BYTES_MAX};
use crate::tools::mcp::offers;

/// The request after everything that it names is fetched; the texts are added to the toolkit. A failure ends the turn before
/// anything is done. Only what the user wrote is looked at, not the text of a prompt.
pub async fn fetched(toolkit: &mut Toolkit, request: String, host: &dyn Host) -> Result<String, TurnError> {
    let Some(servers) = toolkit.context.as_ref().and_then(|context| context.servers.clone()) else {
        return Ok(request);
    };
    let cancel = toolkit.cancel.clone();
    let failed = |why: String| if cancel.is_cancelled() { TurnError::Cancelled } else { TurnError::NotFetched(why) };
    let is_server = |name: &str| servers.names().any(|known| known == name);
    let named = offers::named(&request, is_server);
    if named.len() + toolkit.given.len() > GIVEN_MAX {
        return Err(failed(format!(
            "{} resources are named and {} texts handed over; {GIVEN_MAX} are taken together",
            named.len(),
            toolkit.given.len()
        )));
    }
    for (server, uri) in named {
        let text = servers.read(server, uri, &cancel).await.map_err(failed)?;
        let name = format!("@{server}:{uri}");
        if text.len() as u64 > GIVEN_BYTES_MAX {
            let size = text.len();
            return Err(failed(format!(
                "{name} has {size} bytes, {GIVEN_BYTES_MAX} are taken; name a smaller resource"
            )));
        }
        host.notice(&format!("{name}: {} bytes are handed over with the request", text.len()));
        toolkit.given.push(Given { name, text });
    }
    let Some((server, prompt, words)) = offers::called(&request, is_server) else { return Ok(request) };
    let text = servers.prompt(server, prompt, words, &cancel).await.map_err(failed)?;
    if text.trim().is_empty() || text.len() > REQUEST_BYTES_MAX {
        let size = text.len();
        return Err(failed(format!(
            "the prompt /{server}:{prompt} has {size} bytes; 1 to {REQUEST_BYTES_MAX} are taken"
        )));
    }
    host.notice(&format!("the request is the prompt /{server}:{prompt}:\n{text}"));
    Ok(text)
}
