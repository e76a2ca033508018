//! `monobloc serve`: provides the models and the agent to other programs through APIs, and the web page.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use clap::Args;
use serde_json::json;
use tempfile::{Builder, NamedTempFile};

use crate::app::App;
use crate::models::places;
use crate::serve::{self, Options, Ready, Server};

/// Serve other programs on this machine: the APIs of OpenAI and Anthropic, for planner, router,
/// embedder and the whole agent
#[derive(Args)]
pub struct Serve {
    /// Loopback address with a port; port 0 selects a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8765")]
    listen: SocketAddr,
    /// The file with the secret that every request must include; created if it does not exist
    /// [default: serve-token in the configuration folder]
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    token_file: Option<PathBuf>,
    /// Print the address of the web page, and open it in the desktop's browser; keep the address to
    /// yourself
    #[arg(long)]
    open: bool,
    /// Print one JSON object once requests are answered: the server's address, the token file, and
    /// the page with
    /// --open
    #[arg(long)]
    json: bool,
}

impl Serve {
    pub async fn run(self, app: &App) -> Result<()> {
        let token_file = self.token_file.unwrap_or_else(|| places::config_dir().join("serve-token"));
        for note in app.recover()? {
            super::warn(note);
        }
        let options = Options { listen: self.listen, token_file };
        let name = options.token_file.display().to_string();
        // Held until the server ends, because the browser may read it late.
        let mut opened = None;
        let ready = |Ready { address, page }: Ready| {
            let shown = self.open.then_some(&page);
            if self.json {
                putln!("{}", json!({ "address": format!("http://{address}"), "token_file": name, "page": shown }));
            } else {
                putln!("listening on http://{address}");
                shown.into_iter().for_each(|page| putln!("page: {page}"));
            }
            if self.open {
                opened = super::or_note(open(&page)).flatten();
            }
            tell!("monobloc: the token is in {name}; models planner, router, embedder, agent; Ctrl-C ends");
        };
        let ended = serve::run(Server::new(app.clone())?, &options, ready).await;
        drop(opened);
        ended
    }
}

/// The program that opens files on a Mac, and on other systems.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// Opens `address`, which contains a secret; `None` without a desktop. Program arguments are
/// visible to everyone, so the browser gets a file that only its owner can read and that redirects
/// there. Dropping the returned value removes the file.
fn open(address: &str) -> Result<Option<NamedTempFile>> {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if !cfg!(target_os = "macos") && !is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY") {
        return Ok(None);
    }
    let way_out = "the page was not opened; open the address above in a browser";
    let mut file = Builder::new().prefix("monobloc-").suffix(".html").tempfile().context(way_out)?;
    file.write_all(leading_to(address).as_bytes()).context(way_out)?;
    let mut opener = Command::new(OPENER);
    opener.arg(file.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut opener = opener.spawn().with_context(|| format!("{OPENER} cannot be started: {way_out}"))?;
    // It ends once the address has been passed to the browser, and its exit status must be read.
    std::thread::spawn(move || opener.wait());
    Ok(Some(file))
}

fn leading_to(address: &str) -> String {
    format!(
        "<!doctype html><meta charset=\"utf-8\"><title>monobloc</title>\
         <meta http-equiv=\"refresh\" content=\"0; url={address}\"><a href=\"{address}\">monobloc</a>\n"
    )
}
