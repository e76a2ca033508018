//! `monobloc acp`: serves an editor by the Agent Client Protocol.

use std::io::{self, BufReader};

use anyhow::Result;
use clap::Args;

use crate::app::App;
use crate::base::config::Given;
use crate::ui::acp;

/// Serve an editor by the Agent Client Protocol (ACP) on standard input and output: Zed, JetBrains, Neovim and others
#[derive(Args)]
pub struct Acp {}

impl Acp {
    pub async fn run(self, app: &App, given: Given) -> Result<()> {
        acp::serve(app, given, BufReader::new(io::stdin()), io::stdout()).await
    }
}
