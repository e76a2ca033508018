//! `monobloc serve`: provides the models and the agent to other programs through APIs, and the web page.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use serde_json::json;

use super::browser;
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
                opened = super::or_note(browser::open(&page)).flatten();
            }
            tell!("monobloc: the token is in {name}; models planner, router, embedder, agent; Ctrl-C ends");
        };
        let ended = serve::run(Server::new(app.clone())?, &options, ready).await;
        drop(opened);
        ended
    }
}
