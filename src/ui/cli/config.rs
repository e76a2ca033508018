//! `monobloc config`: shows the settings and where each is set; trusts a project's settings file.

use std::io::IsTerminal;

use anyhow::{Context as _, Result, bail};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::app::App;
use crate::config::resolve::Resolved;
use crate::config::{Origin, Rule, Server, Settings, consent, file};
use crate::models::places;

/// Show the settings and where each is set, show the settings files, or trust a project's file
#[derive(Args)]
pub struct Config {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show every setting with its value and origin, then rules and servers
    Show {
        #[arg(long)]
        json: bool,
    },
    /// Show the files from which settings are read; the second overrides the first
    Path {
        #[arg(long)]
        json: bool,
    },
    /// Trust the project's file with its current content: it may then loosen rules, raise limits
    /// and start servers
    Trust {
        /// Withdraw the trust
        #[arg(long)]
        forget: bool,
        /// Do not ask for confirmation
        #[arg(long)]
        yes: bool,
        /// Print one JSON object and ask nothing
        #[arg(long)]
        json: bool,
    },
}

impl Config {
    pub fn run(self, app: &App, settings: &Settings) -> Result<()> {
        match self.command {
            Command::Show { json: true } => putln!("{}", as_json(app, settings)),
            Command::Show { json: false } => show(app, settings),
            Command::Path { json } => path(settings, json),
            Command::Trust { forget: true, json, .. } => forget_project(settings, json)?,
            Command::Trust { yes, json, .. } => trust(settings, yes, json)?,
        }
        Ok(())
    }
}

/// The origin of a setting, as text for people.
fn origin(one: &Resolved) -> String {
    match &one.origin {
        Origin::Default => "default".to_owned(),
        Origin::UserFile(place) | Origin::ProjectFile(place) => place.to_string(),
        Origin::Variable => one.setting.variable.to_owned(),
        Origin::Flag => format!("--{}", one.setting.flag),
    }
}

fn as_json(app: &App, settings: &Settings) -> Value {
    let kind = |origin: &Origin| match origin {
        Origin::Default => "default",
        Origin::UserFile(_) => "file",
        Origin::ProjectFile(_) => "project",
        Origin::Variable => "variable",
        Origin::Flag => "flag",
    };
    let value = |one: &Resolved| {
        let shown = one.value.as_ref().map(|value| value.to_string_lossy());
        json!({ "key": one.setting.key, "value": shown, "origin": kind(&one.origin), "where": origin(one),
            "variable": one.setting.variable, "flag": format!("--{}", one.setting.flag) })
    };
    let rule = |rule: &Rule| {
        json!({ "where": rule.place.to_string(), "decision": format!("{:?}", rule.decision).to_lowercase(),
            "tool": rule.tools, "paths": rule.paths, "reason": rule.reason })
    };
    let server = |one: &Server| {
        json!({ "name": one.name, "where": one.place.to_string(), "command": one.command, "args": one.args,
            "url": one.url.as_ref().map(ToString::to_string), "enabled": one.enabled })
    };
    let values: Vec<Value> = settings.values.iter().map(value).collect();
    let rules: Vec<Value> = settings.rules.iter().map(rule).collect();
    let servers: Vec<Value> = settings.servers.iter().map(server).collect();
    json!({ "settings": values, "rules": rules, "servers": servers, "left_out": settings.left_out,
        "commands": app.confinement(),
        "unknown_variables": settings.unknown_variables })
}

fn show(app: &App, settings: &Settings) {
    for one in &settings.values {
        let value = one.value.as_deref().map_or("-".to_owned(), |value| one.setting.kind.show(value));
        say!("{:<22} {:<28} {}", one.setting.key, value, origin(one));
    }
    for rule in &settings.rules {
        let decision = format!("{:?}", rule.decision).to_lowercase();
        say!("{:<22} {:<28} {}", "rule", format!("{decision} {}", rule.tools.join(", ")), rule.place);
    }
    for server in &settings.servers {
        let off = if server.enabled { "" } else { " (off)" };
        say!("{:<22} {:<28} {}", format!("mcp.{}", server.name), format!("{}{off}", server.line()), server.place);
    }
    say!("commands are {}", app.confinement());
    settings.unknown_variables.iter().for_each(|note| say!("note: {note}"));
    if !settings.left_out.is_empty() {
        putln!("not in effect without your consent (`monobloc config trust`):");
        settings.left_out.iter().for_each(|one| say!("  {one}"));
    }
}

fn path(settings: &Settings, json: bool) {
    if json {
        let file = |path: &std::path::Path| json!({ "file": path, "exists": path.exists() });
        let mut project = file(&settings.project_file);
        project["trusted"] = settings.consented.into();
        putln!("{}", json!({ "user": file(&settings.user_file), "project": project }));
        return;
    }
    let there = |path: &std::path::Path| if path.exists() { "" } else { " (not there)" };
    putln!("{}{}", settings.user_file.display(), there(&settings.user_file));
    let trusted = if settings.consented { " (trusted)" } else { "" };
    putln!("{}{}{trusted}", settings.project_file.display(), there(&settings.project_file));
}

fn trust(settings: &Settings, yes: bool, json: bool) -> Result<()> {
    let file = &settings.project_file;
    let Some(text) = file::text(file)? else {
        bail!("{} does not exist; there is nothing to consent to", file.display())
    };
    // Control characters could make the terminal show a text other than the one being trusted.
    if !json {
        text.lines().for_each(|line| say!("  {line}"));
    }
    if !yes {
        if json || !std::io::stdin().is_terminal() {
            bail!("without a terminal nobody can be asked whether to trust this file; read it, then give --yes");
        }
        if !super::says_yes("Apply all of this as if you had written it?")? {
            bail!("not trusted; settings that only make things stricter apply anyway");
        }
    }
    let store = places::config_dir().join("consents");
    consent::give(&store, project(settings), &text)
        .with_context(|| format!("{} cannot be written", store.display()))?;
    told(json, file, true, "applies as it is now; after a change you have to consent again");
    Ok(())
}

fn forget_project(settings: &Settings, json: bool) -> Result<()> {
    let store = places::config_dir().join("consents");
    let words = if consent::withdraw(&store, project(settings))? { "counts no more" } else { "was not trusted" };
    told(json, &settings.project_file, false, words);
    Ok(())
}

/// Prints whether a project's file is in effect now.
fn told(json: bool, file: &std::path::Path, trusted: bool, words: &str) {
    if json {
        putln!("{}", json!({ "file": file, "trusted": trusted }));
    } else {
        putln!("{} {words}", file.display());
    }
}

/// The project's folder: the one that contains `.monobloc/config.toml`.
fn project(settings: &Settings) -> &std::path::Path {
    settings.project_file.parent().and_then(std::path::Path::parent).unwrap_or(std::path::Path::new("."))
}
