//! `monobloc synth`: writes model files with the shape of real models and random weights.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use serde_json::json;

use crate::app::App;
use crate::measure::{self, Quant, Shape};
use crate::models::Role;

/// Write a GGUF with a known model's exact shape and random weights, to measure memory and time without the real
/// weights
#[derive(Args)]
pub struct Synth {
    /// lfm2-24b-a2b, lfm2-8b-a1b, lfm2-2.6b, lfm2-1.2b, tiny-lfm2, tiny-lfm2moe or tiny-bitnet
    #[arg(long)]
    shape: String,
    /// q4_0, q8_0, or ternary: tq1_0, tq2_0 (rows that are no multiple of 256 then get q4_0)
    #[arg(long, default_value = "q4_0")]
    quant: String,
    /// A GGUF whose vocabulary is copied, up to 65,536 tokens of it [default: the planner]
    #[arg(long, value_name = "FILE")]
    vocabulary: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// The file to write
    file: PathBuf,
}

impl Synth {
    pub fn run(self, app: &App) -> Result<()> {
        let shape = self.shape.parse::<Shape>()?;
        let quant = self.quant.parse::<Quant>()?;
        let vocabulary = match self.vocabulary {
            Some(file) => file,
            None => app.registry()?.get(Role::Planner)?.path.clone(),
        };
        let bar = super::bar("{bar:30} {bytes}/{total_bytes} {bytes_per_sec}");
        let written = measure::write(
            shape,
            quant,
            &vocabulary,
            &self.file,
            &mut |done, total| {
                bar.set_length(total);
                bar.set_position(done);
            },
            &app.cancel,
        )?;
        bar.finish_and_clear();
        if self.json {
            putln!("{}", json!({ "file": self.file, "bytes": written.0 }));
        } else {
            say!("{}: {written}, random weights: its text means nothing", self.file.display());
        }
        Ok(())
    }
}
