//! `monobloc models add`: determines the abilities of a server's model and writes them to models.toml.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde_json::json;

use super::models::roles;
use crate::app::App;
use crate::base::file;
use crate::models::{Endpoint, Key, Role, role_table};
use crate::remote::{self, Abilities, Remote, consent};

/// Let the model of an OpenAI-compatible server play a role: determine its abilities and write
/// models.toml
#[derive(Args)]
pub struct Add {
    /// Base URL of the API, such as http://gpu-box:8000/v1
    url: String,
    /// The role of the model
    #[arg(long, default_value = "planner", value_parser = roles(&["planner", "router", "embedder"]))]
    role: Role,
    /// The model's name on the server [default: the only one]
    #[arg(long)]
    model: Option<String>,
    /// File with the server's key, readable only by you
    #[arg(long, conflicts_with = "key_env")]
    key_file: Option<PathBuf>,
    /// Environment variable with the server's key
    #[arg(long)]
    key_env: Option<String>,
    /// Context in tokens [default: as reported by the server]
    #[arg(long, value_parser = clap::value_parser!(u32).range(256..=1 << 20))]
    context: Option<u32>,
    #[arg(long)]
    json: bool,
}

impl Add {
    pub async fn run(self, app: &App) -> Result<()> {
        if app.config.offline {
            bail!("--offline is on, so no server can be asked; leave it out");
        }
        let mut endpoint = Endpoint::new(&self.url).map_err(|why| anyhow::anyhow!("the URL {why}"))?;
        endpoint.model = self.model;
        endpoint.context = self.context.map(|context| context as usize);
        endpoint.key = match (self.key_file, self.key_env) {
            (Some(file), _) => Key::File(std::path::absolute(&file).unwrap_or(file)),
            (None, Some(name)) => Key::Variable(name),
            (None, None) => Key::None,
        };
        let file = file_of(app)?;
        if !self.json {
            say!("asking {}", endpoint.url());
        }
        let (opened, length) = match self.role {
            Role::Embedder => {
                let (opened, sample) = Remote::probe_embedder(&endpoint, &remote::folder(), &app.cancel).await?;
                (opened, Some(sample.vector.len()))
            }
            _ => (Remote::probe(&endpoint, &remote::folder(), &app.cancel).await?, None),
        };
        let can = opened.abilities();
        write(&file, self.role, &endpoint)?;
        consent::give(&consent::store(), endpoint.url()).context("your consent cannot be stored")?;
        if self.json {
            putln!(
                "{}",
                json!({ "role": self.role.to_string(), "url": endpoint.url(), "abilities": can, "vector": length, "file": file })
            );
            return Ok(());
        }
        match length {
            Some(length) => say!("{}: vectors of {length} numbers", opened.name()),
            None => shown(&opened, can),
        }
        say!("[{}] in {} names it now. {}", self.role, file.display(), consent::question(&endpoint));
        Ok(())
    }
}

fn shown(opened: &Remote, can: &Abilities) {
    say!("{}: {}, context {} (by {})", opened.name(), can.kind.name(), can.context, can.context_from);
    let missing = can.missing();
    if !missing.is_empty() {
        say!("it works without: {}", missing.join(", "));
    }
}

/// The models.toml that the program reads, or would read.
fn file_of(app: &App) -> Result<PathBuf> {
    Ok(match &app.config.models_file {
        Some(file) => std::path::absolute(file).unwrap_or(file.clone()),
        None => app.registry()?.dir.join("models.toml"),
    })
}

fn write(path: &Path, role: Role, endpoint: &Endpoint) -> Result<()> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => bail!("{} cannot be read: {error}", path.display()),
    };
    let written =
        role_table::with_server(&text, role, endpoint).map_err(|why| anyhow::anyhow!("{} {why}", path.display()))?;
    file::replace(path, written.as_bytes()).with_context(|| format!("{} cannot be written", path.display()))
}
