//! `monobloc models`: lists models, shows a file's header, and downloads models.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::app::App;
use crate::models::gguf::{self, Header};
use crate::models::pull::{self, Download, Pull};
use crate::models::{Endpoint, Found, Role};
use crate::remote::consent;

/// List, show or fetch models
#[derive(Args)]
pub struct Models {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List the files in the model folder and their roles
    List {
        #[arg(long)]
        json: bool,
    },
    /// Show the header of a GGUF file; reads no weights
    Show {
        /// A GGUF file, or a role [default: planner]
        file: Option<PathBuf>,
        #[arg(long)]
        json: bool,
    },
    /// Test whether llama.cpp can load a file, in a separate process and without reading its
    /// weights
    Check {
        /// A GGUF file
        file: PathBuf,
        /// Test it in this process
        #[arg(long, hide = true)]
        here: bool,
        #[arg(long)]
        json: bool,
    },
    Add(super::add::Add),
    Probe(super::probe::Probe),
    /// Download the model for a role from the hub; opens a connection
    Pull {
        #[arg(value_parser = roles(&["planner", "router", "embedder", "reranker"]))]
        role: Role,
        /// Part of the model's name, if models.toml lists several
        name: Option<String>,
        /// Print one JSON object per file
        #[arg(long)]
        json: bool,
    },
}

/// Reads one of `names` as a role.
pub(super) fn roles(names: &'static [&'static str]) -> impl TypedValueParser<Value = Role> {
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Role>())
}

impl Models {
    /// Whether this is the child process of a trial.
    pub fn is_trial(&self) -> bool {
        matches!(self.command, Command::Check { here: true, .. })
    }

    pub async fn run(self, app: &App) -> Result<()> {
        match self.command {
            Command::Add(add) => add.run(app).await,
            Command::Probe(probe) => probe.run(app).await,
            Command::List { json } => list(app, json),
            Command::Check { file, here, json } => check(app, &file, here, json),
            Command::Show { file, json } => show(app, file, json),
            Command::Pull { role, name, json } => fetch(app, role, name.as_deref(), json),
        }
    }
}

fn list(app: &App, json: bool) -> Result<()> {
    let registry = app.registry()?;
    let path = |role: Role| match (registry.endpoint(role), role) {
        (Ok(Some(server)), _) => Ok(of_server(server)),
        (Ok(None), Role::Embedder) => {
            let found = registry.embedder().map(|spec| spec.path.display().to_string());
            found.ok_or_else(|| "none found; search uses words only".to_owned())
        }
        (Ok(None), Role::Reranker) => match registry.reranker() {
            Ok(Some(spec)) => Ok(spec.path.display().to_string()),
            Ok(None) => Err("none is set".to_owned()),
            Err(error) => Err(error.to_string()),
        },
        (Ok(None), _) => {
            registry.get(role).map(|spec| spec.path.display().to_string()).map_err(|error| error.to_string())
        }
        (Err(error), _) => Err(error.to_string()),
    };
    let played = Role::ALL.into_iter().filter(|role| registry.plays(*role));
    let roles: Vec<_> = played.map(|role| (role, path(role))).collect();
    // Nothing can be calculated without a planner or without the size of the machine's memory.
    let rungs = app.rungs().unwrap_or_default();
    if json {
        let file = |file: &Found| match &file.header {
            Ok(header) => {
                json!({ "path": file.path.to_string_lossy(), "name": file.name, "from": file.from, "kind": header.kind, "architecture": header.architecture, "parameters": header.parameters,
                "bytes": header.file_bytes })
            }
            Err(error) => json!({ "path": file.path.to_string_lossy(), "error": error.to_string() }),
        };
        let files: Vec<Value> = registry.files.iter().map(file).collect();
        let about = |(role, path): &(Role, Result<String, String>)| {
            let about = match (path, rungs.get(&role.to_string())) {
                (Err(error), _) => json!({ "error": error }),
                (Ok(path), Some(rung)) => json!({ "path": path, "rung": rung }),
                (Ok(path), None) => json!({ "path": path }),
            };
            (role.to_string(), about)
        };
        let roles: Value = roles.iter().map(about).collect();
        putln!(
            "{}",
            json!({ "folder": registry.dir.to_string_lossy(), "files": files, "roles": roles, "notes": registry.notes,
                "replaced": registry.replaced })
        );
        return Ok(());
    }
    putln!("{}", registry.dir.display());
    for file in &registry.files {
        let name = file.from.map_or_else(|| file.name.clone(), |from| format!("{} ({from})", file.name));
        match &file.header {
            Ok(header) if header.is_chat() => say!("  {name}: {}", in_short(header)),
            Ok(header) => say!("  {name}: {}; {}", header.kind.name(), in_short(header)),
            Err(error) => say!("  {name}: {error}"),
        }
    }
    for (role, file) in roles {
        let rung = rungs.get(&role.to_string()).filter(|_| file.is_ok()).map(|rung| format!(" ({rung})"));
        // Registry errors begin with the role too.
        let twice = format!("{role}: ");
        let told = file.unwrap_or_else(|error| error.strip_prefix(&twice).unwrap_or(&error).to_owned());
        say!("{role:>9}: {told}{}", rung.unwrap_or_default());
    }
    registry.notes.iter().chain(&registry.replaced).for_each(|note| say!("note: {note}"));
    Ok(())
}

/// A role's model on a server, and whether data may already be sent there.
fn of_server(server: &Endpoint) -> String {
    let model = server.model.iter().map(|model| format!("{model} at ")).collect::<String>();
    let context = server.context.map(|context| format!(", context {context}")).unwrap_or_default();
    let consent =
        if consent::given(&consent::store(), server.url()) { "" } else { " (you are asked before the first use)" };
    format!("{model}{}{context}{consent}", server.url())
}

fn in_short(header: &Header) -> String {
    let Header { architecture, file_bytes, context_train, .. } = header;
    let (billions, quantisation) = (header.parameters as f64 / 1e9, header.quantisation());
    format!("{architecture}, {billions:.2} billion parameters, {quantisation}, {file_bytes}, context {context_train}")
}

/// The child process of a trial runs this with `here`.
fn check(app: &App, file: &Path, here: bool, json: bool) -> Result<()> {
    let header = gguf::inspect(file)?;
    app.check_model(&header, here)?;
    if json {
        putln!("{}", json!({ "file": header.path.to_string_lossy(), "kind": header.kind, "loads": true }));
    } else {
        say!("{}: llama.cpp can load it; {}, {}", header.path.display(), header.kind.name(), in_short(&header));
    }
    Ok(())
}

fn show(app: &App, file: Option<PathBuf>, json: bool) -> Result<()> {
    let of_role = |role: Role| anyhow::Ok((*app.registry()?.get(role)?.header).clone());
    let header = match file {
        None => of_role(Role::Planner)?,
        Some(file) if file.exists() => gguf::inspect(&file)?,
        Some(file) => match file.to_str() {
            Some("planner") => of_role(Role::Planner)?,
            Some("router") => of_role(Role::Router)?,
            _ => bail!("{} does not exist; name a GGUF file, or planner or router", file.display()),
        },
    };
    let header = &header;
    if json {
        putln!("{}", serde_json::to_string(header)?);
        return Ok(());
    }
    say!("{}\n  {}: {}", header.path.display(), header.name, in_short(header));
    putln!(
        "  layers {}, embedding {}, heads {}, KV heads a layer {:?}",
        header.layers,
        header.embedding_length,
        header.heads,
        header.kv_heads
    );
    if header.experts > 0 {
        putln!("  experts {}, of which {} are used", header.experts, header.experts_used);
    }
    for (kind, share) in &header.mix {
        putln!("  {kind}: {} tensors, {} parameters, {}", share.tensors, share.parameters, share.bytes);
    }
    putln!(
        "  vocabulary {}, chat template: {}",
        header.vocabulary,
        if header.is_chat() { "yes" } else { "none (a base model)" }
    );
    Ok(())
}

fn fetch(app: &App, role: Role, name: Option<&str>, json: bool) -> Result<()> {
    if app.config.offline {
        bail!("--offline is on, so nothing can be fetched; leave it out");
    }
    let registry = app.registry()?;
    let wanted = name.unwrap_or("").to_lowercase();
    let hubs: Vec<_> = registry
        .candidates(role)
        .into_iter()
        .filter(|candidate| candidate.hub.as_ref().is_some_and(|hub| hub.to_lowercase().contains(&wanted)))
        .collect();
    let names: Vec<&str> = hubs.iter().filter_map(|candidate| candidate.hub.as_deref()).collect();
    let candidate = match hubs.as_slice() {
        [] => bail!("models.toml names no hub repository like `{wanted}` for [{role}]; add hub = \"owner/name\""),
        [one] => one,
        _ => bail!("name one: `monobloc models pull {role} NAME`, with NAME a part of one of {}", names.join(", ")),
    };
    let bar = super::bar("{msg} {bar:30} {bytes}/{total_bytes}, {bytes_per_sec}, {eta} left");
    for download in Download::of(role, candidate) {
        bar.set_message(download.file.clone());
        let path = pull::pull(&download, &Pull::default(), &app.cancel, &mut |done, total| {
            bar.set_length(total.0);
            bar.set_position(done.0);
        })?;
        bar.suspend(|| match json {
            true => putln!("{}", json!({ "role": role.to_string(), "file": path })),
            false => putln!("{}", path.display()),
        });
    }
    bar.finish_and_clear();
    Ok(())
}
