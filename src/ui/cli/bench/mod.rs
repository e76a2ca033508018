//! `monobloc bench`: runs one measurement; each has its own file.

mod ab;
mod latency;
mod memory;
mod retrieval;
mod slots;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::app::App;
use crate::measure::bench::Figures;
use crate::models::Role;

/// Measure memory, latency and slots of models, and retrieval on a project
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
    Retrieval(retrieval::Retrieval),
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
            Command::Retrieval(retrieval) => retrieval.run(app),
            Command::Ab(ab) => ab.run(app).await,
            Command::MemoryChild(child) => child.run(app).await,
        }
    }
}

/// The files of planner and router, each file once.
fn roles(app: &App) -> Result<Vec<PathBuf>> {
    let registry = app.registry()?;
    let mut files = vec![registry.get(Role::Planner)?.path.clone()];
    files.extend(registry.get(Role::Router).ok().map(|spec| spec.path.clone()));
    files.dedup();
    Ok(files)
}

/// Runs `measure` on each of `files` (by default planner and router) and prints its figures; with `json`, prints all
/// figures as one object at the end.
async fn each(
    app: &App,
    files: Vec<PathBuf>,
    json: bool,
    measure: impl AsyncFn(PathBuf) -> Result<Figures>,
) -> Result<()> {
    let files = if files.is_empty() { roles(app)? } else { files };
    let mut models = Vec::new();
    for file in files {
        let figures = measure(file).await?;
        if !json {
            print(&figures);
        }
        models.push(figures.json);
    }
    if json {
        println!("{}", serde_json::json!({ "models": models }));
    }
    Ok(())
}

fn print(figures: &Figures) {
    if !figures.heading.is_empty() {
        println!("{}", figures.heading);
    }
    for (line, shown) in &figures.lines {
        println!("  {line:<56} {shown:>22}");
    }
}
