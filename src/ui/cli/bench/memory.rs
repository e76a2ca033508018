//! `monobloc bench memory`: compares predicted with measured memory.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;

use crate::app::App;
use crate::measure::bench::memory::{self, Case, Row};
use crate::models::manifest::KV_TYPES;

/// Compare predicted with measured memory, each model in a fresh process with every slot filled
#[derive(Args)]
pub struct Memory {
    /// GGUF files [default: planner and router]
    files: Vec<PathBuf>,
    /// Tokens per slot, one case for each
    #[arg(long, value_delimiter = ',', default_values_t = [512, 2048], value_parser = clap::value_parser!(u32).range(64..))]
    contexts: Vec<u32>,
    /// Numbers of slots, one case for each
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2], value_parser = clap::value_parser!(u8).range(1..=16))]
    slots: Vec<u8>,
    /// KV cache type [default: that of the model in models.toml, else f16, or q8_0 in a build for an accelerator]
    #[arg(long, value_parser = KV_TYPES)]
    kv_type: Option<String>,
    /// Print the figures as one JSON object on the last line
    #[arg(long)]
    json: bool,
}

impl Memory {
    pub async fn run(self, app: &App) -> Result<()> {
        let files = if self.files.is_empty() { super::roles(app)? } else { self.files };
        let program = std::env::current_exe().context("this program's own file was not found")?;
        let child = memory::Child {
            program,
            threads: app.config.threads,
            budget: app.config.budget,
            repack: app.config.repack,
        };
        let mut rows = Vec::new();
        if !self.json {
            println!("{}", heading());
        }
        for file in files {
            let kv_type = app.kv_type(self.kv_type.as_deref(), &file)?;
            for case in memory::cases(&file, &kv_type, &self.contexts, &self.slots) {
                let row = memory::run(&child, &case, &app.cancel).await?;
                if !self.json {
                    println!("{}", line(&row));
                }
                rows.push(row);
            }
        }
        if self.json {
            println!("{}", serde_json::json!({ "models": rows }));
        } else {
            let exact = rows.iter().filter(|row| row.is_exact()).count();
            println!("{exact} of {} within 3 % or 8 MiB (32 MiB of an accelerator)", rows.len());
        }
        Ok(())
    }
}

fn heading() -> String {
    let names = ["model", "context", "slots", "predicted", "measured", "anonymous", "mapped", "difference"];
    columns(names.map(str::to_owned))
}

fn line(row: &Row) -> String {
    let name = row.file.file_stem().unwrap_or_default().to_string_lossy();
    let verdict = if row.is_exact() { "" } else { "  OUTSIDE" };
    let cells = [
        name.into_owned(),
        row.context.to_string(),
        row.slots.to_string(),
        row.predicted_bytes.to_string(),
        row.measured().to_string(),
        row.anon_bytes.to_string(),
        row.mapped_bytes.to_string(),
        row.difference(),
    ];
    columns(cells) + verdict
}

fn columns(cells: [String; 8]) -> String {
    let [name, context, slots, rest @ ..] = cells;
    let rest: Vec<String> = rest.iter().map(|cell| format!("{cell:>11}")).collect();
    format!("{name:<32} {context:>7} {slots:>5} {}", rest.join(" "))
}

/// One case of `bench memory`, in this process
#[derive(Args)]
pub struct MemoryChild {
    file: PathBuf,
    #[arg(long)]
    context: u32,
    #[arg(long)]
    slots: u8,
    #[arg(long)]
    kv_type: String,
}

impl MemoryChild {
    pub async fn run(self, app: &App) -> Result<()> {
        let case = Case { file: self.file, context: self.context, slots: self.slots, kv_type: self.kv_type };
        let row = memory::fill(&app.empty_pool(), case, &app.cancel).await?;
        println!("{}", serde_json::json!(row));
        Ok(())
    }
}
