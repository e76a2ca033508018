//! `monobloc mcp`: works with the configured MCP servers (lists, allows, signs in, tests, calls), or is one.

mod login;

use std::io::{self, BufReader, IsTerminal as _};

use anyhow::{Context as _, Result, bail};
use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::output::Printer;
use crate::app::App;
use crate::config::{Address, Server};
use crate::models::dialect::RawCall;
use crate::protocol::Proposal;
use crate::remote::consent;
use crate::tools::call::check::check;
use crate::tools::confine::Root;
use crate::tools::mcp::offers::Offers;
use crate::tools::mcp::{Seen, consent_line};
use crate::tools::policy::Verdict;
use crate::tools::{Context, preview};
use crate::ui::mcp_server;

/// List, test or call the MCP servers in the configuration, or be one
#[derive(Args)]
pub struct Mcp {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the project's index, and whole requests, to an MCP client on standard input and output
    Serve,
    /// List the configured servers and their known tools; starts nothing
    List {
        #[arg(long)]
        json: bool,
    },
    /// Allow requests to a server behind a URL; until then, nothing is sent to it
    Allow {
        /// The name of a configured server, or the URL of one passed by an editor
        server: String,
        /// Allow it without being asked
        #[arg(long)]
        yes: bool,
        #[arg(long)]
        json: bool,
    },
    Login(login::Login),
    Logout(login::Logout),
    /// Start one server, or all, and request its tools, resources and prompts
    Test {
        server: Option<String>,
        #[arg(long)]
        json: bool,
    },
    /// Call one tool, with the same consent as in a request
    Call {
        /// The tool, as SERVER.TOOL
        tool: String,
        /// Its arguments, as a JSON object
        #[arg(default_value = "{}")]
        arguments: String,
        #[arg(long)]
        json: bool,
        /// Approve the call if it needs consent
        #[arg(long)]
        yes: bool,
    },
}

impl Mcp {
    pub async fn run(self, app: &App) -> Result<()> {
        match self.command {
            Command::Serve => mcp_server::serve(app, BufReader::new(io::stdin()), tokio::io::stdout()).await,
            Command::List { json } => list(app, json),
            Command::Allow { server, yes, json } => allow(app, &server, yes, json),
            Command::Login(login) => login.run(app).await,
            Command::Logout(logout) => logout.run(app).await,
            Command::Test { server, json } => test(app, server.as_deref(), json),
            Command::Call { tool, arguments, json, yes } => call(app, &tool, &arguments, json, yes).await,
        }
    }
}

fn list(app: &App, json: bool) -> Result<()> {
    let servers = &app.config.servers;
    if servers.is_empty() && !json {
        putln!(
            "no servers; write [mcp.NAME] with a `command` or `url` into the file that `monobloc config path` lists first"
        );
    }
    let mut all = Vec::new();
    for server in servers {
        let kept = app.servers().kept(&server.name);
        let (line, barred) = (server.line(), app.servers().barred(&server.name));
        if json {
            let tools = kept.as_ref().map(|(tools, _)| tools.iter().map(|one| &one.name).collect::<Vec<_>>());
            all.push(json!({ "name": server.name, "command": server.command, "args": server.args,
                "url": server.url.as_ref().map(ToString::to_string), "headers": server.headers.names().collect::<Vec<_>>(),
                "barred": barred, "signed_in": app.servers().is_signed_in(&server.name), "enabled": server.enabled, "tools": tools, "tools_age_s": kept.as_ref().map(|(_, age)| age.as_secs()) }));
            continue;
        }
        let state = match (&kept, server.enabled) {
            (_, false) => "off".to_owned(),
            _ if barred.is_some() => "nothing may be sent to it yet".to_owned(),
            (None, true) => "tools not listed yet".to_owned(),
            (Some((tools, age)), true) => format!("{} tools, listed {} min ago", tools.len(), age.as_secs() / 60),
        };
        let signed_in = if app.servers().is_signed_in(&server.name) { " (signed in)" } else { "" };
        say!("{:<16} {state:<32} {line}{signed_in}", server.name);
        for tool in kept.into_iter().flat_map(|(tools, _)| tools) {
            let hint = if tool.mutates { if tool.destructive { "destroys" } else { "changes" } } else { "reads" };
            say!("  {:<40} {hint:<9} {}", tool.name, tool.description.chars().take(60).collect::<String>());
        }
    }
    if json {
        putln!("{}", Value::Array(all));
    }
    Ok(())
}

fn allow(app: &App, name: &str, yes: bool, json: bool) -> Result<()> {
    let server = server_of(app, name)?;
    let Some(url) = server.url.clone() else {
        bail!("`{name}` is started here by `{}`; sending to it needs no consent", server.line());
    };
    let question = sent_to(&server, &url);
    if !json {
        say!("{question}");
    }
    if !yes {
        if json || !io::stdin().is_terminal() {
            bail!("without a terminal nobody can be asked whether to allow this; give --yes");
        }
        if !super::says_yes("Allow it?")? {
            bail!("not allowed; nothing is sent to {url}");
        }
    }
    consent::give(&consent::store(), &consent_line(&url)).context("your consent cannot be stored")?;
    if json {
        putln!("{}", json!({ "url": url.to_string(), "allowed": true }));
    } else {
        say!("{url} is allowed; this is recorded in {}", consent::store().display());
    }
    Ok(())
}

/// The configured server of that name or URL, or else the one at that URL that an editor passes.
fn server_of(app: &App, name: &str) -> Result<Server> {
    let at = Address::new(name);
    let is_it = |server: &&Server| server.name == name || server.url.as_ref().is_some_and(|url| Ok(url) == at.as_ref());
    if let Some(known) = app.config.servers.iter().find(is_it) {
        return Ok(known.clone());
    }
    let url = at.map_err(|why| {
        anyhow::anyhow!(
            "`{name}` is neither a configured server nor the URL of one ({why}); `monobloc mcp list` lists them"
        )
    })?;
    Ok(Server { url: Some(url), is_passed: true, ..Server::default() })
}

/// The data to whose sending a person consents.
fn sent_to(server: &Server, url: &Address) -> String {
    let headers = server.headers.names().collect::<Vec<_>>().join(", ");
    let headers =
        if headers.is_empty() { String::new() } else { format!(" Each request to it carries the header {headers}.") };
    format!(
        "The arguments of calls of its tools, the resources and prompts that you ask it for, and the name and version of \
         monobloc are sent to {url}.{headers} You are asked about calls as about those of other servers; nothing confines \
         what the server does with them."
    )
}

fn test(app: &App, name: Option<&str>, json: bool) -> Result<()> {
    let enabled = app.config.servers.iter().filter(|server| server.enabled);
    let names: Vec<&str> = enabled.map(|server| server.name.as_str()).collect();
    if let Some(name) = name.filter(|name| !names.contains(name)) {
        bail!("no server `{name}` is configured and enabled; the servers are: {}", names.join(", "));
    }
    let seen = app.servers().test(name);
    let offers = |one: &Seen| match one.failed {
        true => Offers::default(),
        false => app.servers().offers(Some(&one.server)),
    };
    let shown = |one: &Seen| {
        let Offers { resources, prompts, notes } = offers(one);
        let notes: Vec<&String> = one.notes.iter().chain(&notes).collect();
        json!({ "server": one.server, "ok": !one.failed, "tools": one.tools.len(), "notes": notes,
            "resources": resources, "prompts": prompts,
            "took_ms": one.took.as_millis() as u64 })
    };
    if json {
        putln!("{}", Value::Array(seen.iter().map(shown).collect()));
    } else {
        for one in &seen {
            let state = if one.failed { "failed" } else { "ok" };
            putln!("{:<16} {state:<7} {} tools in {} ms", one.server, one.tools.len(), one.took.as_millis());
            let Offers { resources, prompts, notes } = offers(one);
            one.notes.iter().chain(&notes).for_each(|note| say!("  note: {note}"));
            resources.iter().for_each(|it| say!("  {:<40} {}", it.written(), it.about));
            prompts.iter().for_each(|it| say!("  {:<40} {}", it.form(), it.about));
        }
    }
    match seen.iter().filter(|one| one.failed).count() {
        0 => Ok(()),
        failed => bail!("{failed} of {} servers did not work", seen.len()),
    }
}

async fn call(app: &App, tool: &str, arguments: &str, json: bool, yes: bool) -> Result<()> {
    let arguments: Map<String, Value> =
        serde_json::from_str(arguments).context("the arguments are not a JSON object")?;
    let (catalog, notes) = app.catalog();
    let raw = RawCall { name: tool.to_owned(), arguments };
    let outside: Vec<_> = catalog.specs().iter().filter(|spec| app.servers().has(&spec.name)).cloned().collect();
    let checked = check(&raw, &outside).with_context(|| notes.join("; "))?;
    checked.repairs.iter().for_each(super::warn);
    let (call, policy) = (checked.call, app.policy());
    let spec = catalog.get(&call.tool).context("the tool is gone; this is a bug in ui/cli/mcp")?;
    let context = Context {
        servers: Some(app.servers().clone()),
        ..Context::new(Root::open(&app.config.project)?, app.cancel.clone())
    };
    let approved = match policy.assess(&call, spec) {
        Verdict::Ask { reason } => {
            let preview = preview::of(&call, &context).map_err(anyhow::Error::msg)?;
            let arguments = call.arguments.clone();
            let proposal = Proposal {
                tool: call.tool.clone(),
                arguments,
                reason,
                preview: preview.text,
                changes: preview.changes,
                ..Proposal::default()
            };
            let decision = Printer::new(json).consent(proposal, yes)?;
            policy.approve(call, spec, decision)?
        }
        _ => policy.approved(call, spec)?,
    };
    let outcome = crate::tools::execute(approved, &context).await;
    if json {
        putln!("{}", serde_json::to_string(&outcome)?);
    } else {
        say!("{}", outcome.text);
    }
    if outcome.is_ok() { Ok(()) } else { bail!("the call failed") }
}
