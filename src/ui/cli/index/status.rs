//! `monobloc index status`: shows what the index covers and which files have changed since the last refresh.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;

use super::lazy::Lazy;
use crate::app::App;
use crate::base::visible;
use crate::index::Index;
use crate::ui::lookup::status;

/// Show what the index covers, files changed since its last refresh, skipped files with reasons,
/// sizes and model; changes nothing
#[derive(Args)]
pub struct Status {
    /// Folder of the project [default: the project]
    dir: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Status {
    pub fn run(self, app: &App) -> Result<()> {
        let dir = self.dir.unwrap_or_else(|| app.config.project.clone());
        if !dir.is_dir() {
            bail!("{} is not a folder; name the folder of a project", dir.display());
        }
        if !Index::exists(&dir) {
            bail!("{0} has no index yet; make one with `monobloc index {0}`", dir.display());
        }
        let index = Index::open(&dir)?;
        if let Some(note) = index.note() {
            crate::ui::cli::warn(note);
        }
        let model = Lazy::new(&app.on(&dir)).fingerprint;
        let status = index.status(model.as_deref())?;
        if self.json {
            putln!("{}", status::json(&status, model.as_deref()));
        } else {
            put!("{}", visible(&status::text(&status, model.as_deref())));
            super::summary("skipped", &status.skipped);
            super::summary("read in part", &status.partial);
        }
        Ok(())
    }
}
