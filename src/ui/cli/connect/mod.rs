//! `monobloc connect`: configures the given editors and agents to use monobloc, but only on request.

mod change;
mod copies;
mod entries;
mod setup;

use std::env;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde_json::json;

use crate::app::App;
use crate::base::near::nearest;
use crate::base::visible;
use crate::models::{Role, places};
use change::Change;
use setup::{Client, Form, Setup, Wish, clients, shell};

/// Connect an editor or agent to monobloc: print its configuration, write it into its file, or
/// remove it again
#[derive(Args)]
pub struct Connect {
    /// The client; if omitted, lists all clients and their files
    client: Option<String>,
    /// Write to the client's file; everything else in it stays, and the old file is kept next to it
    /// as NAME.before-monobloc
    #[arg(long, requires = "client", conflicts_with = "undo")]
    write: bool,
    /// Remove monobloc from the client's file again
    #[arg(long, requires = "client")]
    undo: bool,
    /// Write nothing: print the configuration, or with --write or --undo the diff
    #[arg(long)]
    dry_run: bool,
    /// The address on which `monobloc serve` listens
    #[arg(long, value_name = "ADDRESS", default_value = DEFAULT_LISTEN)]
    listen: SocketAddr,
    /// The file with the secret of `monobloc serve` [default: serve-token in the configuration
    /// folder]
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    token_file: Option<PathBuf>,
    /// Print one JSON object, or one per client
    #[arg(long)]
    json: bool,
}

/// The same as for `monobloc serve`.
const DEFAULT_LISTEN: &str = "127.0.0.1:8765";

impl Connect {
    pub fn run(self, app: &App) -> Result<()> {
        if self.listen.port() == 0 {
            bail!("--listen {}: a client needs the port that `monobloc serve` printed", self.listen);
        }
        let Some(name) = &self.client else {
            return list(&self.wish(app, None)?, self.json);
        };
        let setup = find(name)?.setup(&self.wish(app, context(app))?)?;
        if self.undo {
            told(name, &change::undo(name, &setup, self.dry_run)?, &[], self.json);
            return Ok(());
        }
        if self.write {
            told(name, &change::write(name, &setup, self.dry_run)?, &setup.remarks, self.json);
        } else {
            print(name, &setup, self.json)?;
        }
        if self.json {
            return Ok(());
        }
        for remark in &setup.remarks {
            tell!("monobloc: {remark}");
        }
        Ok(())
    }

    fn wish(&self, app: &App, context: Option<u32>) -> Result<Wish> {
        let absolute = |path: &Path| std::path::absolute(path).map(|path| path.display().to_string());
        let program = env::current_exe().context("the path of this program is not known")?;
        let mut serve = "monobloc serve".to_owned();
        if self.listen.to_string() != DEFAULT_LISTEN {
            serve += &format!(" --listen {}", self.listen);
        }
        let token_file = match &self.token_file {
            Some(file) => {
                let file = absolute(file)?;
                serve += &format!(" --token-file {}", shell(&file));
                file
            }
            None => absolute(&places::config_dir().join("serve-token"))?,
        };
        Ok(Wish {
            program: program.display().to_string(),
            server: format!("http://{}", self.listen),
            token_file,
            serve,
            project: absolute(&app.config.project)?,
            context,
        })
    }
}

fn find(name: &str) -> Result<Client> {
    let clients = clients()?;
    let names: Vec<String> = clients.iter().map(|client| client.name.clone()).collect();
    if let Some(client) = clients.into_iter().find(|client| client.name == name) {
        return Ok(client);
    }
    let meant = nearest(name, names.iter().map(String::as_str));
    let meant = meant.map_or(String::new(), |near| format!("; did you mean {near}?"));
    bail!("unknown client `{name}`; the clients are {}{meant}", names.join(", "))
}

/// Number of tokens per planner slot; `None` if no planner is found, so that the client's default
/// applies.
fn context(app: &App) -> Option<u32> {
    app.registry().ok()?.get(Role::Planner).ok().map(|spec| spec.context)
}

/// Prints the result of a write or removal.
fn told(client: &str, change: &Change, remarks: &[String], json: bool) {
    let Change { file, diff, changed, words } = change;
    if json {
        let all = json!({ "client": client, "file": file, "changed": changed, "diff": diff, "remarks": remarks });
        putln!("{all}");
        return;
    }
    if let Some(diff) = diff {
        put!("{}", visible(diff));
    }
    putln!("{words}");
}

fn list(wish: &Wish, json: bool) -> Result<()> {
    if json {
        for client in clients()? {
            let state = state(&client.setup(wish)?.form);
            putln!("{}", json!({ "client": client.name, "about": client.about, "state": state }));
        }
        return Ok(());
    }
    for client in clients()? {
        putln!("{:<15} {:<27} {}", client.name, client.about, state(&client.setup(wish)?.form));
    }
    putln!("`monobloc connect CLIENT` prints the configuration, `--write` writes it, `--undo` removes it again");
    Ok(())
}

/// The file, and whether monobloc is in it.
fn state(form: &Form) -> String {
    let (file, found) = match form {
        Form::Printed { .. } => return "is printed, not written".to_owned(),
        Form::Whole { file, .. } => (file, copies::read(file).map(|text| text.map(|text| text.contains("monobloc")))),
        Form::Entries { file, entries } => {
            let has = |text: String| entries::has(file, &text, entries);
            (file, copies::read(file).and_then(|text| text.map(has).transpose()))
        }
    };
    let state = match found {
        Ok(None) => "not there",
        Ok(Some(true)) => "has monobloc",
        Ok(Some(false)) => "there, without monobloc",
        Err(_) => "there, but cannot be read",
    };
    format!("{}: {state}", file.display())
}

/// Only the configuration goes to standard output, so that it can be piped.
fn print(client: &str, setup: &Setup, json: bool) -> Result<()> {
    let (text, place, how) = match &setup.form {
        Form::Entries { file, entries } => {
            (entries::put(file, "", entries)?, file.display().to_string(), "puts it there")
        }
        Form::Whole { file, text } => {
            (text.clone(), file.display().to_string(), "creates the file if it does not exist")
        }
        Form::Printed { place, text } => (text.clone(), place.clone(), ""),
    };
    if json {
        let remarks = &setup.remarks;
        putln!("{}", json!({ "client": client, "place": place, "text": text, "remarks": remarks }));
        return Ok(());
    }
    put!("{text}");
    if how.is_empty() {
        tell!("monobloc: this belongs in {place}");
    } else {
        tell!("monobloc: this belongs in {place}; `monobloc connect {client} --write` {how}");
    }
    Ok(())
}
