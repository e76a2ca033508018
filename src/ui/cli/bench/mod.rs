//! `monobloc bench`: runs one measurement; each has its own file.

#[cfg(feature = "lab")]
mod ab;
mod latency;
mod memory;
#[cfg(feature = "lab")]
mod retrieval;
mod slots;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::app::App;
use crate::measure::bench::Figures;
use crate::models::Role;
use crate::models::manifest::KV_TYPES;

/// Measure the memory, latency and slots of models, and retrieval in a project
#[derive(Args)]
pub struct Bench {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Memory(memory::Memory),
    Latency(latency::Latency),
    Slots(slots::Slots),
    #[cfg(feature = "lab")]
    Retrieval(retrieval::Retrieval),
    #[cfg(feature = "lab")]
    Ab(ab::Ab),
    #[command(hide = true)]
    MemoryChild(memory::MemoryChild),
}

impl Bench {
    pub async fn run(self, app: &App) -> Result<()> {
        match self.command {
            Command::Memory(memory) => memory.run(app).await,
            Command::Latency(latency) => latency.run(app).await,
            Command::Slots(slots) => slots.run(app).await,
            #[cfg(feature = "lab")]
            Command::Retrieval(retrieval) => retrieval.run(app),
            #[cfg(feature = "lab")]
            Command::Ab(ab) => ab.run(app).await,
            Command::MemoryChild(child) => child.run(app).await,
        }
    }
}

// The models for a benchmark to measure.
#[derive(Args)]
struct Models {
    /// GGUF files [default: planner and router]
    files: Vec<PathBuf>,
    /// KV cache type [default: the model's type in models.toml, else f16, or q8_0 in a build for an
    /// accelerator]
    #[arg(long, value_parser = KV_TYPES)]
    kv_type: Option<String>,
    /// Print the figures as one JSON object on the last line
    #[arg(long)]
    json: bool,
}

impl Models {
    /// Each distinct file, with its KV cache type.
    fn files(&self, app: &App) -> Result<Vec<(PathBuf, String)>> {
        let mut files = self.files.clone();
        if files.is_empty() {
            let registry = app.registry()?;
            files.push(registry.get(Role::Planner)?.path.clone());
            files.extend(registry.get(Role::Router).ok().map(|spec| spec.path.clone()));
            files.dedup();
        }
        files.into_iter().map(|file| Ok((file.clone(), app.kv_type(self.kv_type.as_deref(), &file)?))).collect()
    }

    /// Runs `measure` on each file and prints its figures; with `--json`, prints all figures as one
    /// object at the end.
    async fn each(&self, app: &App, measure: impl AsyncFn(PathBuf, String) -> Result<Figures>) -> Result<()> {
        let mut models = Vec::new();
        for (file, kv_type) in self.files(app)? {
            let figures = measure(file, kv_type).await?;
            if !self.json {
                print(&figures);
            }
            models.push(figures.json);
        }
        if self.json {
            putln!("{}", serde_json::json!({ "models": models }));
        }
        Ok(())
    }
}

fn print(figures: &Figures) {
    if !figures.heading.is_empty() {
        putln!("{}", figures.heading);
    }
    for (line, shown) in &figures.lines {
        putln!("  {line:<56} {shown:>22}");
    }
}
