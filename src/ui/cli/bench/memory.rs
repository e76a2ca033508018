//! `monobloc bench memory`: compares predicted and measured memory.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;

use crate::app::App;
use crate::measure::bench::memory::{self, Case, Row};

/// Compare predicted and measured memory, for each model in a fresh process with every slot filled
#[derive(Args)]
pub struct Memory {
    #[command(flatten)]
    models: super::Models,
    /// Tokens per slot; each value gives one case
    #[arg(long, value_delimiter = ',', default_values_t = [512, 2048], value_parser = clap::value_parser!(u32).range(64..))]
    contexts: Vec<u32>,
    /// Number of slots; each value gives one case
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2], value_parser = clap::value_parser!(u8).range(1..=16))]
    slots: Vec<u8>,
    /// Allocate nothing, and compare the context's memory with the memory that llama.cpp would need
    /// (also for `synth --hollow`)
    #[arg(long)]
    dry: bool,
}

impl Memory {
    pub async fn run(self, app: &App) -> Result<()> {
        let program = std::env::current_exe().context("this program's own file was not found")?;
        let child = memory::Child {
            program,
            threads: app.config.threads,
            budget: app.config.budget,
            repack: app.config.repack,
            dry: self.dry,
        };
        let mut rows = Vec::new();
        let json = self.models.json;
        if !json {
            let [name, cells @ ..] = HEADING;
            putln!("{name:<32} {}", columns(cells.map(str::to_owned)));
        }
        for (file, kv_type) in self.models.files(app)? {
            for case in memory::cases(&file, &kv_type, &self.contexts, &self.slots) {
                let row = memory::run(&child, &case, &app.cancel).await?;
                if !json {
                    putln!("{}", line(&row));
                    if self.dry {
                        putln!("  {}", row.parts);
                    }
                }
                rows.push(row);
            }
        }
        if json {
            putln!("{}", serde_json::json!({ "models": rows }));
        } else {
            let exact = rows.iter().filter(|row| row.is_exact()).count();
            putln!("{exact} of {} within 3 % or 8 MiB (32 MiB of an accelerator)", rows.len());
        }
        Ok(())
    }
}

const HEADING: [&str; 8] = ["model", "context", "slots", "predicted", "measured", "anonymous", "mapped", "difference"];

fn line(row: &Row) -> String {
    let name = row.file.file_stem().unwrap_or_default().to_string_lossy();
    let verdict = if row.is_exact() { "" } else { "  OUTSIDE" };
    let cells = [
        row.context.to_string(),
        row.slots.to_string(),
        row.predicted_bytes.to_string(),
        row.measured().to_string(),
        row.anon_bytes.to_string(),
        row.mapped_bytes.to_string(),
        row.difference(),
    ];
    format!("{name:<32} {}{verdict}", columns(cells))
}

fn columns(cells: [String; 7]) -> String {
    cells.map(|cell| format!("{cell:>11}")).join(" ")
}

/// Run one case of `bench memory` in this process
#[derive(Args)]
pub struct MemoryChild {
    file: PathBuf,
    #[arg(long)]
    context: u32,
    #[arg(long)]
    slots: u8,
    #[arg(long)]
    kv_type: String,
    #[arg(long)]
    dry: bool,
}

impl MemoryChild {
    pub async fn run(self, app: &App) -> Result<()> {
        let case = Case { file: self.file, context: self.context, slots: self.slots, kv_type: self.kv_type };
        let pool = app.empty_pool();
        let row =
            if self.dry { memory::rehearse(&pool, case)? } else { memory::fill(&pool, case, &app.cancel).await? };
        putln!("{}", serde_json::json!(row));
        Ok(())
    }
}
