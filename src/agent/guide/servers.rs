//! Summarises the abilities of connected servers for the model that reads a request: one line each,
//! without tool definitions.

use crate::agent::player::Player;
use crate::agent::toolkit::Toolkit;
use crate::index::words::parts;
use crate::language::words;
use crate::tools::ToolSpec;
use crate::tools::spec::without_server;

/// The line before the list.
const OPENING: &str =
    "Other programs are connected. What one of them is to do is a step `run`, in the words of the request:";
/// Maximum length of the line about a server, in characters.
const LINE_CHARS: usize = 200;

/// A text to append to a prompt that describes the servers' abilities in at most `tokens` tokens.
/// Servers whose tools retrieval ranks best for `request` come first. Empty without servers.
pub async fn summary(toolkit: &Toolkit, model: &Player, request: &str, tokens: usize) -> String {
    let specs = toolkit.catalog.specs();
    let is_of_server = |spec: &&ToolSpec| !spec.server.is_empty() && !toolkit.catalog.is_builtin(&spec.name);
    if !specs.iter().any(|spec| is_of_server(&spec)) {
        return String::new();
    }
    let ranked = toolkit.ranked(request, specs.len()).await;
    let theirs = ranked.iter().filter_map(|one| specs.get(one.index)).filter(is_of_server);
    let mut servers: Vec<Vec<&ToolSpec>> = Vec::new();
    for spec in theirs {
        match servers.iter_mut().find(|tools| tools[0].server == spec.server) {
            Some(tools) => tools.push(spec),
            None => servers.push(vec![spec]),
        }
    }
    let mut text = String::new();
    for tools in &servers {
        let longer = format!("{text}\n{}", line(tools));
        if model.count(OPENING) + model.count(&longer) > tokens {
            break;
        }
        text = longer;
    }
    if text.is_empty() { text } else { format!("\n\n{OPENING}{text}") }
}

/// `calendar: Local calendar: create event, list events`, from the tools of one server.
fn line(tools: &[&ToolSpec]) -> String {
    let name = |tool: &&ToolSpec| parts(without_server(&tool.name)).join(" ");
    let can = tools.iter().map(name).collect::<Vec<_>>().join(", ");
    let (server, about) = (&tools[0].server, tools[0].server_description.trim_end_matches('.'));
    let about = if about.is_empty() { String::new() } else { format!("{}: ", words::shorten(about, LINE_CHARS / 2)) };
    words::shorten(&format!("{server}: {about}{can}"), LINE_CHARS)
}
